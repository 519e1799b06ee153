//! What programs need beside whole files: parts of a file, folders, new names. The same door with the same quotas; a
//! part that is written changes its file in place.

#[cfg(test)]
mod tests;

use std::io::{Seek, SeekFrom, Write};

use cap_std::fs::OpenOptions;

use super::{Books, Entry, EntryKind, Workspace, WorkspaceError, WorkspacePath, parse_path, view};

impl Workspace {
    /// Adds to the end of a file; makes the file, and the folders above it, if there is none.
    pub fn append(&mut self, path: &WorkspacePath, content: &[u8]) -> Result<(), WorkspaceError> {
        match self.stat(path) {
            Ok(found) => self.write_at(path, found.size, content),
            Err(WorkspaceError::NotFound(_)) => self.write(path, content),
            Err(error) => Err(error),
        }
    }

    /// Writes over a part of a file that exists. Behind its end the file grows, with zeros up to `offset`.
    pub fn write_at(
        &mut self,
        path: &WorkspacePath,
        offset: u64,
        content: &[u8],
    ) -> Result<(), WorkspaceError> {
        let end = offset.saturating_add(content.len() as u64);
        self.change(
            path,
            |old| old.max(end),
            |file| {
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(content)
            },
        )
    }

    /// Cuts a file that exists, or fills it up with zeros.
    pub fn set_size(&mut self, path: &WorkspacePath, size: u64) -> Result<(), WorkspaceError> {
        self.change(path, |_| size, |file| file.set_len(size))
    }

    /// Changes a file in place, to a size that `after` tells from the old one.
    fn change(
        &mut self,
        path: &WorkspacePath,
        after: impl FnOnce(u64) -> u64,
        apply: impl FnOnce(&mut cap_std::fs::File) -> std::io::Result<()>,
    ) -> Result<(), WorkspaceError> {
        let mut books = self.books();
        let (mut file, old) = self.view.open_file(path, OpenOptions::new().write(true))?;
        let new = after(old);
        self.view.check_file_bytes(new, path)?;
        self.check_room(books.usage, path, Some(old), new)?;
        books.tracker.touch(&self.view, path)?;
        let applied = apply(&mut file);
        // A part may have been written before it failed.
        let now = file.metadata().map_or(new, |found| found.len());
        books.usage.resize(old, now);
        applied.map_err(|source| WorkspaceError::io(path, source))
    }

    /// Makes one folder; the one above it must exist.
    pub fn make_directory(&mut self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::Exists(path.clone()));
        };
        self.view.check_depth(path)?;
        let mut books = self.books();
        let directory = self.view.directory(&parent)?;
        if view::metadata(&directory, name, path).is_ok() {
            return Err(WorkspaceError::Exists(path.clone()));
        }
        self.check_room(books.usage, path, None, 0)?;
        directory
            .create_dir(name)
            .map_err(|source| WorkspaceError::io(path, source))?;
        books.usage.files += 1;
        Ok(())
    }

    /// Renames a file or a folder with everything in it. A file, or an empty folder, that has the new name is replaced
    /// by one of its kind. How many files were moved.
    pub fn rename(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
    ) -> Result<usize, WorkspaceError> {
        let (Some((from_parent, from_name)), Some((to_parent, to_name))) =
            (from.split_last(), to.split_last())
        else {
            return Err(WorkspaceError::NotAFile(WorkspacePath::ROOT));
        };
        let moved = self.stat(from)?;
        let replaced = match self.stat(to) {
            Err(WorkspaceError::NotFound(_)) => None,
            found => Some(found?),
        };
        if from == to {
            return Ok(0);
        }
        for entry in [Some(&moved), replaced.as_ref()].into_iter().flatten() {
            if entry.kind == EntryKind::Refused {
                return Err(WorkspaceError::Link(entry.path.clone()));
            }
        }
        let mut books = self.books();
        let files = self.touch_moved(&mut books, &moved, to)?;
        let target = self.view.directory(&to_parent)?;
        self.view
            .directory(&from_parent)?
            .rename(from_name, &target, to_name)
            .map_err(|source| WorkspaceError::io(to, source))?;
        if let Some(replaced) = replaced {
            books.usage.files = books.usage.files.saturating_sub(1);
            books.usage.resize(replaced.size, 0);
        }
        for file in &files {
            books.tracker.note_gone(file);
        }
        Ok(files.len())
    }

    /// Remembers every file that a move takes away or replaces, before it does; those that it takes away.
    fn touch_moved(
        &self,
        books: &mut Books,
        moved: &Entry,
        to: &WorkspacePath,
    ) -> Result<Vec<WorkspacePath>, WorkspaceError> {
        self.view.check_depth(to)?;
        if moved.kind == EntryKind::File {
            books.tracker.touch(&self.view, &moved.path)?;
            books.tracker.touch(&self.view, to)?;
            return Ok(vec![moved.path.clone()]);
        }
        let mut files = Vec::new();
        for entry in self.view.list(&moved.path, true)? {
            let Some(rest) = entry.path.as_str().strip_prefix(moved.path.as_str()) else {
                continue;
            };
            let target = parse_path(&format!("{}{rest}", to.as_str()))?;
            self.view.check_depth(&target)?;
            if entry.kind == EntryKind::File {
                books.tracker.touch(&self.view, &entry.path)?;
                books.tracker.touch(&self.view, &target)?;
                files.push(entry.path);
            }
        }
        Ok(files)
    }
}
