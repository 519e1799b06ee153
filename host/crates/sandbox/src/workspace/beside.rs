//! What a process beside the host does in the folder: an agent of the operator's own works there as in any directory. All
//! files are remembered at the start of a period and looked at again at its end, so that what changed is found by comparison,
//! whoever wrote it. Links, devices and what is above the quotas stay where they are and count as nothing: the door opens
//! none of them.

use super::{Usage, Workspace, WorkspaceError, view};
use pibench_core::path::WorkspacePath;

/// What is told of things that were left out, at most.
const MOST_TOLD: usize = 20;

impl Workspace {
    /// Remembers every file, so that the changes of this period are all that happens until the next look.
    pub fn watch(&mut self) -> Result<(), WorkspaceError> {
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
            large,
        } = self.look()?;
        let mut books = self.books();
        for path in &files {
            books.tracker.note_new(path);
        }
        for path in &large {
            books.tracker.leave_out(path);
        }
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
        self.look_into(&WorkspacePath::ROOT, &mut found)?;
        Ok(found)
    }

    fn look_into(&self, folder: &WorkspacePath, found: &mut Found) -> Result<(), WorkspaceError> {
        let quota = *self.view.quota();
        let entries = match self.view.list(folder, false) {
            Ok(entries) => entries,
            // It went while it was looked at.
            Err(WorkspaceError::NotFound(_) | WorkspaceError::NotADirectory(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        for view::Entry { path, kind, size } in entries {
            if found.usage.files >= quota.files {
                found.left_out.push(format!(
                    "{path} and what comes after it: {} files and folders are looked at",
                    quota.files
                ));
                return Ok(());
            }
            found.usage.files += 1;
            match kind {
                view::EntryKind::Refused => {}
                view::EntryKind::Directory if path.depth() as u64 >= u64::from(quota.depth) => {
                    found.left_out.push(format!(
                        "{path}: folders are looked at {} deep",
                        quota.depth
                    ));
                }
                view::EntryKind::Directory => self.look_into(&path, found)?,
                view::EntryKind::File => {
                    let sum = found.usage.bytes.saturating_add(size);
                    if size > quota.file_bytes || sum > quota.bytes {
                        found.left_out.push(format!(
                            "{path}: {size} bytes; a file may have {}, all together {}",
                            quota.file_bytes, quota.bytes
                        ));
                        found.large.push(path);
                    } else {
                        found.usage.bytes = sum;
                        found.files.push(path);
                    }
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<WorkspacePath>,
    pub(super) usage: Usage,
    left_out: Vec<String>,
    /// Files that are not looked at for their size.
    large: Vec<WorkspacePath>,
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::super::{Quota, Workspace};
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
        assert_eq!(workspace.compare().unwrap(), Vec::<String>::new());
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
}
