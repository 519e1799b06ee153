//! The one way in which a file of a run folder is opened to be read, or to be added to. The folder may be a stranger's: no link in it
//! is followed, what is no regular file is not waited for, and none is read that is longer than a run makes them. It writes nothing.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

/// Bytes of a line of a journal: a turn, with all that its calls gave.
pub const LINE_LIMIT: u64 = 256 << 20;

/// Bytes of a file that is held as a whole.
const HELD_LIMIT: u64 = 512 << 20;

/// A folder, as far as it is needed to open what lies in it; where a system has no such thing, as one that is read.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Nobody may write on the other side of a pipe.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The same of one that is written.
const PLAIN: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .bits()
    .cast_signed();

/// Opens a file by its path, which is that of the run folder and the file's name or path in it.
///
/// # Errors
///
/// `NotFound` and `NotADirectory` as of any file; `FileTooLarge` for one that is longer than its kind may be; one that is reached by
/// a link, or is no regular file.
pub fn open_file(folder: &Path, path: &Path) -> io::Result<File> {
    let names = names(folder, path)?;
    let Some((name, above)) = names.split_last() else {
        return Err(not_regular());
    };
    let dir = open_folder(folder, above)?;
    let file = openat(dir, *name, FILE, Mode::empty()).map_err(|error| match error {
        // A link, and a socket.
        Errno::LOOP | Errno::NXIO => not_regular(),
        error => error.into(),
    })?;
    let file = File::from(file);
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(not_regular());
    }
    within(data.len(), limit_of(names[0]))?;
    Ok(file)
}

/// Opens a file of the folder itself to add to its end, and makes it where there is none.
///
/// # Errors
///
/// Those of any file; one that is a link, is no regular file, or has a second name, which may stand elsewhere.
pub fn open_end(path: &Path) -> io::Result<File> {
    open_own(path, File::options().append(true).create(true))
}

/// Opens a file to write to it, as `open_end` does, in another way.
pub(super) fn open_own(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    let file = how.custom_flags(PLAIN).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::NXIO) => not_regular(),
        _ => error,
    })?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(not_regular());
    }
    if data.nlink() > 1 {
        return Err(io::Error::other(
            "it has another name too, and what is written here would stand there; put a copy in its place",
        ));
    }
    Ok(file)
}

/// All bytes of a file that is opened so.
///
/// # Errors
///
/// Those of `open_file`; `FileTooLarge` also for one that is too long to be held.
pub fn read_file(folder: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let file = open_file(folder, path)?;
    let length = file.metadata()?.len();
    within(length, HELD_LIMIT)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(HELD_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The lines of an open file, each without its end. They end before one that is longer than `limit` bytes.
pub fn lines(file: File, limit: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut reader = BufReader::new(file);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = reader.by_ref().take(limit).read_until(b'\n', &mut line);
        let is_cut = line.last() != Some(&b'\n');
        match read.ok()? {
            0 => return None,
            length if is_cut && length as u64 == limit => return None,
            _ if is_cut => {}
            _ => {
                line.pop();
            }
        }
        Some(line)
    })
}

/// Whether a path of the run folder leads to a folder, and no link to one.
pub fn is_folder(folder: &Path, path: &Path) -> bool {
    names(folder, path).is_ok_and(|names| open_folder(folder, &names).is_ok())
}

/// Whether a word of a record may become a part of a path: a folder from a stranger must not name files outside of it.
pub fn is_plain(id: &str) -> bool {
    !id.is_empty() && !id.contains(['/', '\0']) && id != ".." && id != "."
}

/// What lies in a folder that is no link to one.
pub(super) fn read_dir(dir: &Path) -> io::Result<fs::ReadDir> {
    // With a slash behind its name a link would be followed.
    let dir = dir.components().as_path();
    if dir.symlink_metadata()?.is_dir() {
        fs::read_dir(dir)
    } else {
        Err(Errno::NOTDIR.into())
    }
}

/// Bytes that a file may have, by its place, or what it lies in: those of long runs stay far below.
fn limit_of(first: &OsStr) -> u64 {
    match first.to_str() {
        // Read line by line, but for journals, which have one for each turn of an episode.
        Some(
            "journal" | "results.json" | "seal.json" | "timing.jsonl" | "preflight.jsonl"
            | "log.jsonl",
        ) => 4 << 30,
        // A file of a workspace has 64 MiB at most, and the state of an app lies in its memory.
        Some("blobs" | "trajectories" | "outline.json") => 256 << 20,
        // All of one has no more.
        Some("workspaces") => 1 << 30,
        _ => 4 << 20,
    }
}

fn within(length: u64, limit: u64) -> io::Result<()> {
    if length <= limit {
        return Ok(());
    }
    let told = format!("it has {length} bytes, more than the limit of {limit}");
    Err(io::Error::new(ErrorKind::FileTooLarge, told))
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file, and no link is followed")
}

/// The names on the way to what lies in the folder.
fn names<'a>(folder: &Path, path: &'a Path) -> io::Result<Vec<&'a OsStr>> {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let names = below.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(not_regular()),
    });
    names.collect()
}

/// The folder itself is the operator's to name, and may be a link; what lies in it may not.
fn open_folder(folder: &Path, names: &[&OsStr]) -> io::Result<OwnedFd> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let mut dir = open(folder, FOLDER, Mode::empty())?;
    for name in names {
        dir = openat(&dir, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::manifest;
    use crate::folder::RunFolder;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_below_the_folder_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("run");
        fs::create_dir_all(root.join("journal/deep")).unwrap();
        fs::write(root.join("journal/deep/a"), "there").unwrap();
        fs::write(dir.path().join("a"), "elsewhere").unwrap();
        let read = |path: &str| read_file(&root, &root.join(path));
        assert_eq!(read("journal/deep/a").unwrap(), b"there");
        symlink(&root, dir.path().join("named")).unwrap();
        let named = dir.path().join("named");
        let found = read_file(&named, &named.join("journal/deep/a"));
        assert_eq!(found.unwrap(), b"there", "the folder's own name");

        symlink(dir.path().join("a"), root.join("journal/b")).unwrap();
        symlink("deep/a", root.join("journal/near")).unwrap();
        symlink(root.join("journal"), root.join("blobs")).unwrap();
        let pipe = root.join("lock");
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        for path in [
            "journal/b",
            "journal/near",
            "lock",
            "socket",
            "journal",
            "",
            "../a",
            "journal/../../a",
        ] {
            let said = read(path).unwrap_err().to_string();
            assert!(said.contains("not a regular file"), "{path}: {said}");
        }
        let beside = read_file(&root, &dir.path().join("a"));
        assert!(beside.is_err());
        let linked = read("blobs/deep/a").unwrap_err();
        assert_eq!(linked.kind(), ErrorKind::NotADirectory);
        assert_eq!(read("gone").unwrap_err().kind(), ErrorKind::NotFound);

        assert!(is_folder(&root, &root.join("journal/deep")) && read_dir(&root).is_ok());
        assert!(!is_folder(&root, &root.join("blobs")));
        for dir in ["blobs", "blobs/"] {
            assert!(read_dir(&root.join(dir)).is_err(), "{dir}");
        }
    }

    #[test]
    fn lines_are_added_to_plain_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let [victim, path] = ["victim", "log.jsonl"].map(|name| dir.path().join(name));
        fs::write(&victim, "mine").unwrap();
        let add = || open_end(&path).and_then(|mut file| file.write_all(b"line\n"));
        let refused = |said: &str| {
            let told = add().unwrap_err().to_string();
            assert!(told.contains(said), "{told}");
            fs::remove_file(&path).unwrap();
        };
        symlink(&victim, &path).unwrap();
        refused("not a regular file");
        symlink(dir.path().join("not there"), &path).unwrap();
        refused("not a regular file");
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        refused("not a regular file");
        fs::hard_link(&victim, &path).unwrap();
        refused("another name too");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(!dir.path().join("not there").exists());
        // One that is not there is made.
        for lines in ["line\n", "line\nline\n"] {
            add().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), lines);
        }
    }

    #[test]
    fn a_folder_with_a_link_for_something_of_a_run_is_not_opened_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("run");
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let folder = RunFolder::create(&root, &manifest()).unwrap();
        drop(folder);
        let open = || {
            let opened = RunFolder::open(&root).map(drop);
            opened.map_err(|error| error.to_string())
        };
        for name in [
            "log.jsonl",
            "timing.jsonl",
            "preflight.jsonl",
            "agents",
            "agents/p.r1",
            "workspaces/p.r1",
            "trajectories/p.r1",
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(&elsewhere, &path).unwrap();
            let told = open().unwrap_err();
            assert!(told.contains(name) && told.contains("a link"), "{told}");
            fs::remove_file(&path).unwrap();
            assert_eq!(open(), Ok(()), "{name}");
        }
        for name in ["blobs", "journal", "workspaces", "trajectories", "lock"] {
            let (path, moved) = (root.join(name), dir.path().join("moved"));
            fs::rename(&path, &moved).unwrap();
            symlink(&moved, &path).unwrap();
            let told = open().unwrap_err();
            assert!(told.contains(name) && told.contains("a link"), "{told}");
            fs::remove_file(&path).unwrap();
            fs::rename(&moved, &path).unwrap();
            assert_eq!(open(), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_of_a_record_lead_nowhere_out_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("run");
        let folder = RunFolder::create(&root, &manifest()).unwrap();
        let victim = dir.path().join("settings.json");
        fs::write(&victim, "mine").unwrap();
        let own = victim.with_extension("");
        for (persona, session) in [
            ("p", own.to_str().unwrap()),
            ("p", "../../../settings"),
            ("../..", "s"),
            (own.to_str().unwrap(), "s"),
            ("p", ".."),
            ("p", ""),
        ] {
            let told = folder.put_trajectory(persona, 1, session, &"forged");
            let told = told.unwrap_err().to_string();
            assert!(told.contains("no names of a session"), "{told}");
            assert!(
                folder
                    .has_trajectory(persona, 1, session, &"forged")
                    .is_err()
            );
        }
        for persona in ["../../settings", own.to_str().unwrap()] {
            for path in [
                folder.journal(persona, 1),
                folder.workspace(persona, 1),
                folder.agent(persona, 1),
            ] {
                assert!(path.starts_with(folder.root()), "{}", path.display());
                assert!(File::create(&path).is_err() && fs::create_dir_all(&path).is_err());
            }
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        folder.put_trajectory("p", 1, "s", &"true").unwrap();
        assert!(folder.has_trajectory("p", 1, "s", &"true").unwrap());
        File::create(folder.journal("p", 1)).unwrap();
    }

    #[test]
    fn what_is_taken_over_from_a_run_is_written_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| RunFolder::create(&dir.path().join(name), &manifest()).unwrap();
        let (played, graded) = (make("played"), make("graded"));
        let name = played.put_blob(b"content").unwrap();
        fs::write(played.root().join("timing.jsonl"), "times\n").unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let blob = graded.root().join("blobs").join(&name);
        symlink(&victim, &blob).unwrap();
        fs::hard_link(&victim, graded.root().join("timing.jsonl")).unwrap();
        graded.adopt_play(&played).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(graded.blob(&name).unwrap(), b"content");
        let times = graded.root().join("timing.jsonl");
        assert_eq!(fs::read_to_string(times).unwrap(), "times\n");
        let workspaces = graded.root().join("workspaces");
        fs::remove_dir(&workspaces).unwrap();
        symlink(dir.path(), &workspaces).unwrap();
        let told = graded.adopt_play(&played).unwrap_err().to_string();
        assert!(told.contains("workspaces: Not a directory"), "{told}");
    }

    #[test]
    fn a_merge_takes_nothing_that_a_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let part = RunFolder::create(&dir.path().join("part"), &manifest()).unwrap();
        let merged = |name: &str| {
            let draft = RunFolder::draft(&dir.path().join(name), &manifest(), [&part]);
            draft.map(drop).map_err(|error| error.to_string())
        };
        merged("whole").unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("a"), "mine").unwrap();
        fs::remove_dir(part.root().join("blobs")).unwrap();
        symlink(&elsewhere, part.root().join("blobs")).unwrap();
        let told = merged("linked").unwrap_err();
        assert!(told.contains("part/blobs: Not a directory"), "{told}");
    }

    #[test]
    fn a_file_is_as_long_as_its_kind_may_be() {
        let dir = tempfile::tempdir().unwrap();
        for (name, limit) in [
            ("manifest.json", 4 << 20),
            ("outline.json", 256 << 20),
            ("journal", 4 << 30),
        ] {
            let path = dir.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(limit).unwrap();
            assert!(open_file(dir.path(), &path).is_ok(), "{name}");
            file.set_len(limit + 1).unwrap();
            let error = open_file(dir.path(), &path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{name}: {error}");
        }
        let held = dir.path().join("results.json");
        File::create(&held)
            .unwrap()
            .set_len(HELD_LIMIT + 1)
            .unwrap();
        assert!(open_file(dir.path(), &held).is_ok() && read_file(dir.path(), &held).is_err());
    }

    #[test]
    fn lines_end_before_one_that_is_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timing.jsonl");
        let lines = |text: &str, limit| {
            fs::write(&path, text).unwrap();
            lines(File::open(&path).unwrap(), limit).collect::<Vec<_>>()
        };
        assert_eq!(lines("one\n\ntwo", 100), [&b"one"[..], b"", b"two"]);
        assert_eq!(lines("one\nlonger\nx\n", 5), [b"one"]);
        assert!(lines("", 5).is_empty());
    }
}
