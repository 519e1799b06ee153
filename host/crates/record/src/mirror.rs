//! A second place for run folders that outlives this machine. A folder is mounted once by the program; what is written below
//! it goes there too, in the order that makes the journal true: a line is there only when all that it names is.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::draft::is_draft;

/// The way to that place. Paths are relative to the folder that is mounted.
pub trait Mirror: Debug + Send + Sync {
    /// Begins to send a file. An error is told by the next line, or by `finish`.
    fn put(&self, path: &Path, bytes: Vec<u8>);

    /// Makes a file that nobody has made before.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` where another one is there by that name.
    fn create(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()>;

    /// Adds a line to a journal (1, 2, 3, ...), when all that was put before is there.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` where another process has written a line of that number: it goes on with the episode, and this one
    /// must not. Others, when the place cannot be reached for long.
    fn add_line(&self, path: &Path, number: u64, line: &[u8]) -> io::Result<()>;

    /// Takes a file away.
    fn remove(&self, path: &Path);

    /// Returns when all is there that was put.
    fn finish(&self) -> io::Result<()>;

    /// A file as it is there when all that was put before is; None without one.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;

    /// The files right below a folder, as they are there when all that was put before is.
    fn read_all(&self, dir: &Path) -> io::Result<Vec<(String, Vec<u8>)>>;

    /// The paths of all files below a folder, as they are there when all that was put before is.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
}

#[derive(Debug)]
struct Mount {
    root: PathBuf,
    mirror: Arc<dyn Mirror>,
}

/// The one folder of this process that is a copy of another place.
static MOUNT: OnceLock<Mount> = OnceLock::new();

/// From now on what is written below a folder goes to the mirror too.
///
/// # Errors
///
/// The folder is not there. A second mount is a mistake of the program.
pub fn mount(root: &Path, mirror: Arc<dyn Mirror>) -> io::Result<()> {
    let root = fs::canonicalize(root)?;
    let mount = Mount { root, mirror };
    MOUNT
        .set(mount)
        .map_err(|_| io::Error::other("a folder is mounted already"))
}

/// Where a file or folder also is: the mirror, and its path there. None for all that is not below the mount, and for what is
/// not whole yet.
pub(super) fn find(path: &Path) -> Option<(&'static dyn Mirror, &Path)> {
    let Mount { root, mirror } = MOUNT.get()?;
    let path = path.strip_prefix(root).ok()?;
    (!is_draft(path)).then_some((mirror.as_ref(), path))
}

/// Makes a folder a run's.
const MANIFEST: &str = "manifest.json";

/// Sends what there is of a run folder that is to be played; its manifest first, which only one process makes.
pub(super) fn send_folder(root: &Path) -> io::Result<()> {
    let Some((mirror, path)) = find(root) else {
        return Ok(());
    };
    mirror.create(&path.join(MANIFEST), fs::read(root.join(MANIFEST))?)?;
    send_below(mirror, root, path, &|name| name != MANIFEST)?;
    mirror.finish()
}

/// Sends a run folder that is whole; its manifest last, so that nobody takes a part of it for a run. What was left there by a
/// process that was killed over the same goes.
pub(super) fn send_whole(root: &Path) -> io::Result<()> {
    let Some((mirror, path)) = find(root) else {
        return Ok(());
    };
    send_below(mirror, root, path, &|name| name != MANIFEST)?;
    for there in mirror.list(path)? {
        let is_ours = there
            .strip_prefix(path)
            .is_ok_and(|name| root.join(name).is_file());
        if !is_ours {
            mirror.remove(&there);
        }
    }
    mirror.create(&path.join(MANIFEST), fs::read(root.join(MANIFEST))?)
}

/// Takes away, here, what a process that was killed had sent of a whole run folder: one without its manifest or its seal. True if
/// that is what it was; a folder that is in no other place is there whole or not at all.
pub fn forget_unsent(root: &Path) -> io::Result<bool> {
    let Some((mirror, path)) = find(root) else {
        return Ok(false);
    };
    let is_whole = [MANIFEST, "seal.json"]
        .iter()
        .all(|name| root.join(name).exists());
    if is_whole || !root.is_dir() {
        return Ok(false);
    }
    mirror.remove(&path.join(MANIFEST));
    fs::remove_dir_all(root)?;
    Ok(true)
}

/// Sends the files of a folder that are named, and of all folders in it.
pub(super) fn send_below(
    mirror: &dyn Mirror,
    dir: &Path,
    path: &Path,
    is_sent: &dyn Fn(&str) -> bool,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let (below, path) = (entry.path(), path.join(&name));
        if kind.is_dir() {
            send_below(mirror, &below, &path, &|_| true)?;
        } else if kind.is_file() && name.to_str().is_some_and(is_sent) {
            mirror.put(&path, fs::read(below)?);
        }
    }
    Ok(())
}

/// Sends files of a folder as they are now; one that is not there is none to send.
pub(super) fn send_files(
    mirror: &dyn Mirror,
    dir: &Path,
    path: &Path,
    names: &[&str],
) -> io::Result<()> {
    for name in names {
        match fs::read(dir.join(name)) {
            Ok(bytes) => mirror.put(&path.join(name), bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends the workspaces of a run that is over. Until then they are made anew from the journal.
pub(super) fn send_workspaces(root: &Path) -> io::Result<()> {
    let dir = root.join("workspaces");
    match find(&dir) {
        Some((mirror, path)) => send_below(mirror, &dir, path, &|_| true),
        None => Ok(()),
    }
}

/// Returns when all of a folder is where it also is.
pub(super) fn finish(root: &Path) -> io::Result<()> {
    find(root).map_or(Ok(()), |(mirror, _)| mirror.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;
    use crate::disk::tests::manifest;
    use crate::folder::{Manifest, RunFolder};
    use crate::parts::Books;
    use pibench_core::cost::MicroUsd;

    /// What is in the other place, and the paths in the order in which they were made or taken away.
    #[derive(Debug, Default)]
    struct Other {
        files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
        made: Mutex<Vec<PathBuf>>,
    }

    impl Other {
        fn has(&self, path: &str) -> bool {
            self.files.lock().unwrap().contains_key(Path::new(path))
        }

        fn add(&self, path: &str, text: &str) {
            self.put(Path::new(path), text.into());
        }
    }

    impl Mirror for Other {
        fn put(&self, path: &Path, bytes: Vec<u8>) {
            self.made.lock().unwrap().push(path.to_owned());
            self.files.lock().unwrap().insert(path.to_owned(), bytes);
        }

        fn create(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
            self.put(path, bytes);
            Ok(())
        }

        fn add_line(&self, path: &Path, number: u64, line: &[u8]) -> io::Result<()> {
            self.create(&path.join(number.to_string()), line.to_vec())
        }

        fn remove(&self, path: &Path) {
            self.files.lock().unwrap().remove(path);
        }

        fn finish(&self) -> io::Result<()> {
            Ok(())
        }

        fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
            Ok(self.files.lock().unwrap().get(path).cloned())
        }

        fn read_all(&self, dir: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
            let files = self.files.lock().unwrap();
            let below = files.iter().filter(|(path, _)| path.parent() == Some(dir));
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            Ok(below
                .map(|(path, bytes)| (name(path), bytes.clone()))
                .collect())
        }

        fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
            let files = self.files.lock().unwrap();
            Ok(files
                .keys()
                .filter(|path| path.starts_with(dir))
                .cloned()
                .collect())
        }
    }

    /// One test, since a process has one mount.
    #[test]
    fn a_merged_run_has_its_manifest_last_and_a_part_what_it_spent_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().join("here");
        fs::create_dir(&here).unwrap();
        let other = Arc::new(Other::default());
        mount(&here, Arc::clone(&other) as Arc<dyn Mirror>).unwrap();
        let here = fs::canonicalize(here).unwrap();

        let parts = ["1/2", "2/2"].map(|shard| {
            let manifest = Manifest {
                shard: Some(shard.parse().unwrap()),
                ..manifest()
            };
            RunFolder::create(&dir.path().join(&shard[..1]), &manifest).unwrap()
        });
        parts[0].put_blob(b"bytes").unwrap();
        // Left by a merge that was killed.
        other.add("all/run/journal/p.r1.jsonl/00000001", "{}");
        let run = here.join("all/run");
        let mut merged = RunFolder::draft(&run, &manifest(), &parts).unwrap();
        fs::write(merged.root().join("outline.json"), "{}").unwrap();
        merged.put_results(&serde_json::json!({})).unwrap();
        other.made.lock().unwrap().clear();
        merged.publish().unwrap();
        drop(merged);
        let made = other.made.lock().unwrap().clone();
        assert!(made.len() > 3, "{made:?}");
        assert_eq!(made.last().unwrap(), Path::new("all/run/manifest.json"));
        assert!(
            other.has("all/run/seal.json") && !other.has("all/run/journal/p.r1.jsonl/00000001")
        );
        assert!(!forget_unsent(&run).unwrap());
        fs::remove_file(run.join("manifest.json")).unwrap();
        assert!(forget_unsent(&run).unwrap() && !run.exists());
        assert!(!other.has("all/run/manifest.json"));
        // What is in no other place is no business of a store's.
        fs::create_dir(dir.path().join("empty")).unwrap();
        assert!(!forget_unsent(&dir.path().join("empty")).unwrap());

        other.add("all/spent/1", "60\n");
        let [first, second] = [1, 2].map(|index| Books::of(&here.join("all"), index));
        assert_eq!(first.own().unwrap(), MicroUsd(60));
        assert_eq!(second.own().unwrap(), MicroUsd(0));
        assert_eq!(second.others().unwrap(), MicroUsd(60));
        second.mark("5-left-of-9").unwrap();
        assert!(other.has("all/spent/5-left-of-9"));
        other.add("all/spent/2-left-of-9", "");
        assert!(first.is_marked("2-left-of-9").unwrap(), "made elsewhere");
        assert!(!first.is_marked("1-left-of-9").unwrap());
    }
}
