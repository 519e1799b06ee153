//! What the host itself does to a workspace: it puts in what a session brings, what a journal remembers and what the
//! scaffold keeps as memory, and empties it.
//! Neither the quota, which bounds the agent, nor anything that the agent left in the way keeps it from that.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use super::{
    EntryKind, Room, TIMES, Usage, Workspace, WorkspaceError, WorkspacePath, parse_path, rights,
};

impl Workspace {
    /// Makes or replaces a file beyond the quota of the whole workspace. A folder that has its name, or a file that has the
    /// name of a folder above it, is renamed: `NAME.before`, or `NAME.before-2` and so on where that is taken. A link or
    /// device in its way is removed, since it counts as nothing.
    pub fn stage(&mut self, path: &WorkspacePath, content: &[u8]) -> Result<(), WorkspaceError> {
        let mut times = 1;
        loop {
            match self.put_in(path, content) {
                Err(error) if error.is_of_the_file() && times < TIMES => times += 1,
                staged => return staged,
            }
        }
    }

    fn put_in(&mut self, path: &WorkspacePath, content: &[u8]) -> Result<(), WorkspaceError> {
        self.take_rights(&WorkspacePath::ROOT, rights::TO_WRITE)?;
        let above = std::iter::successors(path.parent(), WorkspacePath::parent);
        let above: Vec<WorkspacePath> = above.filter(|folder| !folder.is_root()).collect();
        for folder in above.iter().rev() {
            self.make_way(folder, EntryKind::Directory)?;
        }
        self.make_way(path, EntryKind::File)?;
        self.put(path, content, Room::Beyond)
    }

    /// Only what is of this kind may have the name.
    fn make_way(&mut self, path: &WorkspacePath, kind: EntryKind) -> Result<(), WorkspaceError> {
        let (found, size) = match self.stat(path) {
            Err(WorkspaceError::NotFound(_)) => return Ok(()),
            found => found.map(|found| (found.kind, found.size))?,
        };
        // What is too large for a file counts as nothing, too.
        if found == EntryKind::Refused || size > self.view.quota().file_bytes {
            return self.destroy(path);
        }
        self.take_rights(path, rights::TO_WRITE)?;
        if found == kind {
            return Ok(());
        }
        // What is moved is looked into, and looking takes the rights to that.
        self.look()?;
        let mut number = 1;
        let free = loop {
            let name = parse_path(&match number {
                1 => format!("{path}.before"),
                _ => format!("{path}.before-{number}"),
            });
            // A name that is as long as a name can be has no longer one.
            let Ok(name) = name else {
                return self.destroy(path);
            };
            match self.stat(&name) {
                Err(WorkspaceError::NotFound(_)) => break name,
                found => drop(found?),
            }
            number += 1;
        };
        match self.rename(path, &free) {
            // What a process beside the host made too deep for a path, or does not let go, goes.
            Err(error) if error.is_of_the_file() => self.destroy(path),
            renamed => renamed.map(drop),
        }
    }

    /// Removes what has this name, whatever it is, with all that is in it.
    fn destroy(&mut self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Ok(());
        };
        self.touch_all(|file| file.as_str().starts_with(&format!("{path}/")))?;
        let failed = |source| WorkspaceError::io(path, source);
        remove(&*self.view.directory(&parent)?, name.as_ref()).map_err(failed)?;
        let usage = self.look()?.usage;
        self.books().usage = usage;
        Ok(())
    }

    /// Removes everything, links, devices and names that no path can hold among it.
    pub fn clear(&mut self) -> Result<(), WorkspaceError> {
        self.take_rights(&WorkspacePath::ROOT, rights::TO_WRITE)?;
        self.touch_all(|_| true)?;
        let root = self.view.root();
        let failed = |source| WorkspaceError::io(&WorkspacePath::ROOT, source);
        for entry in root.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            remove(root, &name).map_err(failed)?;
        }
        self.books().usage = Usage::default();
        Ok(())
    }

    /// Remembers these files as they are.
    fn touch_all(&self, wanted: impl Fn(&WorkspacePath) -> bool) -> Result<(), WorkspaceError> {
        let found = self.look()?;
        let mut books = self.books();
        for file in found.files.iter().filter(|file| wanted(file)) {
            books.tracker.touch(&self.view, file)?;
        }
        Ok(())
    }

    /// The folders that hold neither a file nor a folder, sorted: what is there beside the files. What a process does beside the
    /// door is seen once it was compared.
    pub fn empty_folders(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut books = self.read_books();
        if let Some(known) = &books.empty_folders {
            return Ok(known.clone());
        }
        let empty = self.view.empty_folders()?.into_iter();
        let mut empty: Vec<String> = empty.map(|folder| folder.to_string()).collect();
        empty.sort();
        books.empty_folders = Some(empty.clone());
        Ok(empty)
    }

    /// Makes these the only folders that hold nothing, beyond the quota. One that is a file by now stays one.
    pub fn set_empty_folders(&mut self, folders: &[String]) -> Result<(), WorkspaceError> {
        loop {
            let mut others = self.view.empty_folders()?;
            others.retain(|folder| !folders.iter().any(|known| known == folder.as_str()));
            if others.is_empty() {
                break;
            }
            for folder in &others {
                self.remove(folder)?;
            }
        }
        for text in folders {
            let folder = parse_path(text)?;
            let mut usage = self.books().usage;
            match self.make_directories(&mut usage, &folder) {
                Ok(_) => self.books().usage = usage,
                Err(WorkspaceError::NotADirectory(_) | WorkspaceError::NotAFile(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Removes what has this name, with all that is in it. A process beside the host may have taken the rights to that, and may
/// still be putting things in.
pub(super) fn remove(directory: &Dir, name: &OsStr) -> io::Result<()> {
    let mut times = 1;
    while let Err(error) = remove_as_it_is(directory, name) {
        if times == TIMES {
            return Err(error);
        }
        times += 1;
    }
    Ok(())
}

/// A folder within a folder is moved up first: no depth takes a stack, open files or a path that is too long.
fn remove_as_it_is(directory: &Dir, name: &OsStr) -> io::Result<()> {
    let found = match directory.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.is_dir() {
        return directory.remove_file(name);
    }
    rights::take(directory, name, &found, rights::TO_WRITE)?;
    let top = directory.open_dir(name)?;
    let (mut ahead, mut number) = (Vec::new(), 0);
    move_up(&top, &top, &mut ahead, &mut number)?;
    while let Some(folder) = ahead.pop() {
        move_up(&top.open_dir(&folder)?, &top, &mut ahead, &mut number)?;
        top.remove_dir(&folder)?;
    }
    directory.remove_dir(name)
}

/// Removes the files of a folder and moves the folders in it to the top, each under a number that is free there.
fn move_up(folder: &Dir, top: &Dir, ahead: &mut Vec<String>, number: &mut u64) -> io::Result<()> {
    let names = folder.entries()?;
    let names = names.map(|entry| entry.map(|entry| entry.file_name()));
    for name in names.collect::<io::Result<Vec<_>>>()? {
        let found = folder.symlink_metadata(&name)?;
        if !found.is_dir() {
            folder.remove_file(&name)?;
            continue;
        }
        // To be moved it has to be written, too.
        rights::take(folder, &name, &found, rights::TO_WRITE)?;
        let free = loop {
            *number += 1;
            let free = number.to_string();
            match top.symlink_metadata(&free) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break free,
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        };
        folder.rename(&name, top, &free)?;
        ahead.push(free);
    }
    Ok(())
}
