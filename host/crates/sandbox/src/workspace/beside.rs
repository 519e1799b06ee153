//! What a process beside the host does in the folder: an agent of the operator's own works there as in any directory. All
//! files are remembered when it is begun to watch and looked at again at the end of each period, so that what changed is found by
//! comparison, whoever wrote it and whenever: what was found is what the next period is compared with. Links, devices, what is
//! above the quotas and what cannot be read stay where they are and count as nothing: the door opens none of them.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};

use super::{Quota, Usage, Workspace, WorkspaceError, rights, view};
use pibench_core::path::WorkspacePath;

/// What is told of things that were left out, at most.
const MOST_TOLD: usize = 20;

impl Workspace {
    /// Remembers every file, so that the changes of this period and of those after it are all that happens between two looks.
    /// Once is enough.
    pub fn watch(&mut self) -> Result<(), WorkspaceError> {
        if self.read_books().tracker.watching {
            return Ok(());
        }
        let found = self.look()?;
        let mut books = self.books();
        for path in &found.files {
            books.tracker.touch(&self.view, path)?;
        }
        books.tracker.watching = true;
        Ok(())
    }

    /// Finds what was changed beside the door since [`Self::watch`], for the next [`Self::take_changes`], and counts what there
    /// is now. What is not kept is told, a line each. Does nothing in a period that is not watched.
    pub fn compare(&mut self) -> Result<Vec<String>, WorkspaceError> {
        if !self.books().tracker.watching {
            return Ok(Vec::new());
        }
        let Found {
            files,
            usage,
            mut left_out,
            skipped,
        } = self.look()?;
        let mut books = self.books();
        for path in &files {
            books.tracker.note_new(path);
        }
        books.tracker.leave_out(skipped);
        books.usage = usage;
        if left_out.len() > MOST_TOLD {
            let more = left_out.len() - MOST_TOLD;
            left_out.truncate(MOST_TOLD);
            left_out.push(format!("and {more} more"));
        }
        Ok(left_out)
    }

    /// Everything in the folder, as far as the quotas go.
    pub(super) fn look(&self) -> Result<Found, WorkspaceError> {
        let mut found = Found::default();
        // Where it is refused, the listing says so.
        let _ = self.take_rights(&WorkspacePath::ROOT, rights::TO_READ);
        self.look_into(&WorkspacePath::ROOT, &mut found)?;
        Ok(found)
    }

    fn look_into(&self, folder: &WorkspacePath, found: &mut Found) -> Result<(), WorkspaceError> {
        let quota = *self.view.quota();
        let entries = match self.entries(folder, &mut found.left_out) {
            Ok(entries) => entries,
            // It went while it was looked at.
            Err(WorkspaceError::NotFound(_) | WorkspaceError::NotADirectory(_)) => return Ok(()),
            Err(error) if error.is_of_the_file() => {
                let what = format!("{folder}: it cannot be looked into: failed to {error}");
                found.left_out.push(what);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (entry, refused) in entries {
            let view::Entry { path, kind, size } = entry;
            if found.usage.files >= quota.files {
                found.left_out.push(format!(
                    "{path} and what comes after it: {} files and folders are looked at",
                    quota.files
                ));
                return Ok(());
            }
            found.usage.files += 1;
            match kind {
                view::EntryKind::Refused => found.left_out.push(format!(
                    "{path}: it is a link, a file of more names than this, or no file at all"
                )),
                view::EntryKind::Directory if path.depth() as u64 >= u64::from(quota.depth) => {
                    found.left_out.push(format!(
                        "{path}: folders are looked at {} deep",
                        quota.depth
                    ));
                }
                view::EntryKind::Directory => self.look_into(&path, found)?,
                view::EntryKind::File => {
                    let sum = found.usage.bytes.saturating_add(size);
                    if let Some(error) = refused {
                        let what = format!("{path}: it cannot be read: {error}");
                        found.left_out.push(what);
                        found.skipped.push(path);
                    } else if size > quota.file_bytes || sum > quota.bytes {
                        found.left_out.push(format!(
                            "{path}: {size} bytes; a file may have {}, all together {}",
                            quota.file_bytes, quota.bytes
                        ));
                        found.skipped.push(path);
                    } else {
                        found.usage.bytes = sum;
                        found.files.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// The entries of a folder, sorted by path, each with why it cannot be read, where the right to it was taken away and is not
    /// to be had back. How many more have a name that no path can hold is told.
    fn entries(
        &self,
        folder: &WorkspacePath,
        left_out: &mut Vec<String>,
    ) -> Result<Vec<(view::Entry, Option<Error>)>, WorkspaceError> {
        let directory = self.view.directory(folder)?;
        let (mut entries, mut nameless) = (Vec::new(), 0_u64);
        let mut visit = |path: Option<WorkspacePath>, found: &Metadata| {
            let Some(path) = path else {
                nameless += 1;
                return;
            };
            let name = path.split_last().map_or("", |(_, name)| name);
            let taken = rights::take(&directory, name, found, rights::TO_READ);
            // One that has gone is not there to be read.
            let refused = taken
                .err()
                .filter(|error| error.kind() != ErrorKind::NotFound);
            entries.push((view::entry(path, found), refused));
        };
        self.view.walk(&directory, folder, false, &mut visit)?;
        if nameless > 0 {
            left_out.push(format!(
                "{folder}/: {nameless} with a name that no path can have"
            ));
        }
        entries.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        Ok(entries)
    }
}

/// Why a folder in which a process beside the host works holds more bytes, or files and folders, than it may; None where it does
/// not. Looks at no more than that, follows no link in it, and takes the rights to look into folders.
pub fn overfull(folder: &Path, quota: &Quota) -> Option<String> {
    let closed = |error: Error| {
        // It went while it was looked at, and may be another thing by now.
        let is_gone = [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind());
        (!is_gone).then(|| format!("one of its folders cannot be looked into: {error}"))
    };
    let root = match opened(folder) {
        Ok(root) => root,
        Err(error) => return closed(error),
    };
    let (mut bytes, mut files) = (0_u64, 0_u64);
    let mut folders = vec![PathBuf::from(".")];
    while let Some(folder) = folders.pop() {
        let entries = match root.read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => match closed(error) {
                None => continue,
                reason => return reason,
            },
        };
        for entry in entries {
            files += 1;
            if files > quota.files {
                let most = quota.files;
                return Some(format!("it holds more than {most} files and folders"));
            }
            let looked = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)));
            let (name, found) = match looked {
                Ok(looked) => looked,
                Err(error) => match closed(error) {
                    None => continue,
                    reason => return reason,
                },
            };
            if found.is_dir() {
                let path = folder.join(name);
                // Where it is refused, the listing says so.
                let _ = rights::take(&root, &path, &found, rights::TO_READ);
                folders.push(path);
            }
            // What a file with holes says of its length takes no room.
            bytes = bytes.saturating_add(found.len().min(found.blocks().saturating_mul(512)));
            if bytes > quota.bytes {
                return Some(format!("it holds more than {} bytes", quota.bytes));
            }
        }
    }
    None
}

/// Opens a folder, whose own rights a process may have taken too. Those above it are the host's.
fn opened(folder: &Path) -> Result<Dir, Error> {
    let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(Error::other("the path has no name at its end"));
    };
    let above = Dir::open_ambient_dir(above, ambient_authority())?;
    let _ = rights::take(
        &above,
        name,
        &above.symlink_metadata(name)?,
        rights::TO_READ,
    );
    above.open_dir(name)
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<WorkspacePath>,
    pub(super) usage: Usage,
    left_out: Vec<String>,
    /// Files that are not looked at: for their size, or because they cannot be read.
    skipped: Vec<WorkspacePath>,
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::super::{Quota, Workspace};
    use super::overfull;
    use pibench_core::path::WorkspacePath;
    use pibench_core::record::ChangeKind;

    fn watched(quota: Quota) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        let mut workspace = Workspace::create(Utf8Path::from_path(&path).unwrap(), quota).unwrap();
        let path = |text: &str| WorkspacePath::parse(text).unwrap();
        for name in ["same.md", "changed.md", "gone.md", "deep/er/old.md"] {
            workspace.write(&path(name), b"one\n").unwrap();
        }
        workspace.take_changes().unwrap();
        (folder, workspace)
    }

    #[test]
    fn what_a_process_does_beside_the_door_is_found_by_comparison() {
        let (folder, mut workspace) = watched(Quota::default());
        let root = folder.path().join("w");
        std::fs::write(root.join("before.md"), "unseen").unwrap();
        // Nobody watched yet.
        assert_eq!(workspace.compare().unwrap(), Vec::<String>::new());
        workspace.watch().unwrap();
        std::fs::write(root.join("changed.md"), "one\ntwo\n").unwrap();
        std::fs::remove_file(root.join("gone.md")).unwrap();
        std::fs::write(root.join("deep/er/new.md"), "new\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let own = WorkspacePath::parse("own.md").unwrap();
        workspace.write(&own, b"by the door\n").unwrap();
        let told = workspace.compare().unwrap();
        assert!(told.len() == 1 && told[0].starts_with("link: "), "{told:?}");
        let changes = workspace.take_changes().unwrap();
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.path.to_string(), change.kind, change.added.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("changed.md".into(), ChangeKind::Modified, "two\n"),
                ("deep/er/new.md".into(), ChangeKind::Created, "new\n"),
                ("gone.md".into(), ChangeKind::Deleted, ""),
                ("own.md".into(), ChangeKind::Created, "by the door\n"),
            ]
        );
        // Six files, the link and two folders.
        assert_eq!(workspace.usage().files, 9);
    }

    #[test]
    fn what_is_above_the_quotas_is_left_out_with_a_word() {
        let quota = Quota {
            bytes: 100,
            files: 10,
            file_bytes: 50,
            depth: 3,
        };
        let (folder, mut workspace) = watched(quota);
        let root = folder.path().join("w");
        workspace.watch().unwrap();
        std::fs::write(root.join("large"), [b'x'; 51]).unwrap();
        std::fs::create_dir_all(root.join("a/b/c/d")).unwrap();
        let told = workspace.compare().unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("a/b/c: folders"), "{told:?}");
        assert!(told[1].starts_with("large: 51 bytes"), "{told:?}");
        assert!(workspace.take_changes().unwrap().is_empty());
    }

    #[test]
    fn what_has_two_names_or_none_that_a_path_can_have_is_left_out_with_a_word() {
        let (folder, mut workspace) = watched(Quota::default());
        let root = folder.path().join("w");
        workspace.watch().unwrap();
        std::fs::write(root.join("report.md"), "done\n").unwrap();
        std::fs::hard_link(root.join("report.md"), root.join("deep/report.bak")).unwrap();
        std::fs::write(root.join("deep/a\\b"), "done\n").unwrap();
        std::fs::write(root.join("own.md"), "done\n").unwrap();
        let told = workspace.compare().unwrap();
        let names = told.iter().filter_map(|told| told.split(':').next());
        let names: Vec<&str> = names.collect();
        assert_eq!(names, ["deep/", "deep/report.bak", "report.md"], "{told:?}");
        let changes = workspace.take_changes().unwrap();
        let changes = changes.iter().map(|change| change.path.as_str());
        assert_eq!(changes.collect::<Vec<_>>(), ["own.md"]);
    }

    /// Writes beside the door, with the rights that this mode leaves.
    fn write_with(path: &std::path::Path, content: &str, mode: u32) {
        std::fs::write(path, content).unwrap();
        lock(path, mode);
    }

    fn lock(path: &std::path::Path, mode: u32) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    }

    fn mode(path: &std::path::Path) -> u32 {
        std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap()) & 0o777
    }

    #[test]
    fn what_a_process_locked_is_opened_and_what_it_left_open_stays_as_it_is() {
        let (folder, mut workspace) = watched(Quota::default());
        let root = folder.path().join("w");
        workspace.watch().unwrap();
        write_with(&root.join("open.md"), "open\n", 0o444);
        write_with(&root.join("locked.md"), "locked\n", 0o000);
        write_with(&root.join("changed.md"), "one\ntwo\n", 0o000);
        std::fs::create_dir(root.join("locked")).unwrap();
        std::fs::write(root.join("locked/in.md"), "in\n").unwrap();
        lock(&root.join("locked"), 0o000);
        lock(&root, 0o000);
        assert_eq!(workspace.compare().unwrap(), Vec::<String>::new());
        let changes = workspace.take_changes().unwrap();
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.path.as_str(), change.added.as_str()))
            .collect();
        let expected = [
            ("changed.md", "two\n"),
            ("locked.md", "locked\n"),
            ("locked/in.md", "in\n"),
            ("open.md", "open\n"),
        ];
        assert_eq!(told, expected);
        assert_eq!(workspace.empty_folders().unwrap(), [""; 0]);
        let modes = ["open.md", "locked.md", "locked"].map(|name| mode(&root.join(name)));
        assert_eq!(modes, [0o444, 0o400, 0o500]);
        workspace.clear().unwrap();
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_holds_as_much_as_it_may_and_no_more_whatever_is_locked_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("w");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        write_with(&root.join("a/b/c"), &"x".repeat(100_000), 0o000);
        // Neither a link nor a hole is counted.
        std::os::unix::fs::symlink("/usr", root.join("link")).unwrap();
        let hole = std::fs::File::create(root.join("hole")).unwrap();
        hole.set_len(1 << 40).unwrap();
        let folders = [root.join("a/b"), root.join("a"), root.clone()];
        for folder in &folders {
            lock(folder, 0o000);
        }
        let counted = |bytes, files| {
            let quota = Quota {
                bytes,
                files,
                ..Quota::default()
            };
            overfull(&root, &quota)
        };
        assert_eq!(counted(200_000, 5), None);
        assert_eq!(folders.each_ref().map(|folder| mode(folder)), [0o500; 3]);
        assert_eq!(mode(&root.join("a/b/c")), 0o000);
        assert!(counted(200_000, 4).unwrap().contains("4 files and folders"));
        assert!(counted(99_999, 5).unwrap().contains("99999 bytes"));
        // So that it can be removed.
        for folder in &folders {
            lock(folder, 0o700);
        }
    }

    #[test]
    fn a_file_is_read_once_and_what_comes_later_is_of_the_next_period() {
        let (folder, mut workspace) = watched(Quota::default());
        let path = folder.path().join("w/changed.md");
        workspace.watch().unwrap();
        let mut take = |later: &str| {
            assert_eq!(workspace.compare().unwrap(), Vec::<String>::new());
            let mut given = Vec::new();
            let taken = workspace.take_contents(|change, content| {
                // The agent goes on meanwhile.
                std::fs::write(&path, later).unwrap();
                given.push((change.kind, content.map(<[u8]>::to_vec)));
                Ok::<_, super::WorkspaceError>(())
            });
            taken.unwrap();
            // As after each turn.
            workspace.watch().unwrap();
            given
        };
        let one = |kind, content: Option<&[u8]>| vec![(kind, content.map(<[u8]>::to_vec))];
        std::fs::write(&path, "first").unwrap();
        let first = one(ChangeKind::Modified, Some(b"first"));
        assert_eq!(take("second"), first);
        let second = one(ChangeKind::Modified, Some(b"second"));
        assert_eq!(take("second"), second);
        assert!(take("never").is_empty());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(take("again"), one(ChangeKind::Deleted, None));
        let again = one(ChangeKind::Created, Some(b"again"));
        assert_eq!(take("again"), again);
    }

    #[test]
    fn what_is_left_out_for_a_while_is_what_it_was() {
        let quota = Quota {
            file_bytes: 50,
            ..Quota::default()
        };
        let (folder, mut workspace) = watched(quota);
        let path = folder.path().join("w/changed.md");
        workspace.watch().unwrap();
        std::fs::write(&path, [b'x'; 51]).unwrap();
        assert_eq!(workspace.compare().unwrap().len(), 1);
        assert!(workspace.take_changes().unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
        assert!(workspace.compare().unwrap().is_empty());
        let kinds = workspace.take_changes().unwrap();
        let kinds: Vec<ChangeKind> = kinds.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Deleted]);
    }

    #[test]
    fn files_that_come_and_go_while_they_are_looked_at_stop_nothing() {
        let (folder, mut workspace) = watched(Quota::default());
        let root = folder.path().join("w");
        workspace.watch().unwrap();
        // A file, a folder with a file and a link, each for a moment.
        let churn = |path: std::path::PathBuf| {
            for _ in 0..2_000 {
                let _ = std::fs::write(&path, "x");
                let locked = std::os::unix::fs::PermissionsExt::from_mode(0o000);
                let _ = std::fs::set_permissions(&path, locked);
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::create_dir(&path);
                let _ = std::fs::write(path.join("in"), "y");
                let _ = std::fs::remove_dir_all(&path);
                let _ = std::os::unix::fs::symlink("same.md", &path);
                let _ = std::fs::remove_file(&path);
            }
        };
        std::thread::scope(|scope| {
            let threads = ["c1", "c2"].map(|name| {
                let path = root.join(name);
                scope.spawn(move || churn(path))
            });
            let staged = WorkspacePath::parse("c1").unwrap();
            while !threads
                .iter()
                .all(std::thread::ScopedJoinHandle::is_finished)
            {
                workspace.compare().unwrap();
                for change in workspace.take_changes().unwrap() {
                    assert!(change.path.as_str().starts_with('c'), "{change:?}");
                }
                workspace.empty_folders().unwrap();
                workspace.stage(&staged, b"staged").unwrap();
            }
        });
        workspace.compare().unwrap();
        workspace.clear().unwrap();
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    }
}
