//! What lies in a folder, in the order of names and with a bound on what is held of it: a run of a million sessions has as many
//! files in one folder.

use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

use super::error::FolderError;
use super::foreign::read_dir;

/// Names that are held at once: 8 MB of blobs' names. Of a folder with more it is read again for the next ones.
const HELD: usize = 1 << 16;

/// The names in a folder, sorted; that of a folder ends in a slash, as it does in the paths below it.
#[derive(Debug)]
pub(super) struct Names {
    dir: PathBuf,
    held: usize,
    /// From last to first.
    next: Vec<String>,
    last: Option<String>,
    is_at_end: bool,
}

impl Names {
    pub(super) fn of(dir: &Path) -> Self {
        Self::holding(dir, HELD)
    }

    fn holding(dir: &Path, held: usize) -> Self {
        Self {
            dir: dir.to_owned(),
            held,
            next: Vec::new(),
            last: None,
            is_at_end: false,
        }
    }

    /// Reads the folder for the names that come next.
    fn read(&mut self) -> io::Result<()> {
        let mut first = BinaryHeap::new();
        for entry in read_dir(&self.dir)? {
            let entry = entry?;
            let mut name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                name.push('/');
            }
            if self.last.as_ref().is_some_and(|last| name <= *last) {
                continue;
            }
            if first.len() < self.held {
                first.push(name);
            } else if let Some(mut last) = first.peek_mut()
                && name < *last
            {
                *last = name;
            }
        }
        self.is_at_end = first.len() < self.held;
        self.next = first.into_sorted_vec();
        self.last = self.next.last().cloned();
        self.next.reverse();
        Ok(())
    }
}

impl Iterator for Names {
    type Item = Result<String, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next.is_empty()
            && !self.is_at_end
            && let Err(error) = self.read()
        {
            self.is_at_end = true;
            return Some(Err(FolderError::Read {
                path: self.dir.clone(),
                reason: error.to_string(),
            }));
        }
        self.next.pop().map(Ok)
    }
}

/// Files below a folder: relative paths, sorted.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// From the top down: the path of a folder, with its slash, and what is left of it.
    open: Vec<(String, Left)>,
}

#[derive(Debug)]
enum Left {
    /// Of the top: from last to first.
    Chosen(Vec<String>),
    All(Names),
}

impl Files {
    /// Those of `names`, in which a folder has its slash, and all below these.
    pub(super) fn of(root: &Path, mut names: Vec<String>) -> Self {
        names.sort_by(|one, other| other.cmp(one));
        Self {
            root: root.to_owned(),
            open: vec![(String::new(), Left::Chosen(names))],
        }
    }
}

impl Iterator for Files {
    type Item = Result<String, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (above, left) = self.open.last_mut()?;
            let name = match left {
                Left::Chosen(names) => names.pop().map(Ok),
                Left::All(names) => names.next(),
            };
            let path = match name {
                None => {
                    self.open.pop();
                    continue;
                }
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(name)) => format!("{above}{name}"),
            };
            if !path.ends_with('/') {
                return Some(Ok(path));
            }
            let names = Names::of(&self.root.join(&path));
            self.open.push((path, Left::All(names)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_that_is_read_in_parts_gives_the_same_names() {
        let dir = tempfile::tempdir().unwrap();
        let mut all: Vec<String> = (0..100).map(|number| format!("p.r{number}")).collect();
        for name in &all {
            fs::write(dir.path().join(name), "").unwrap();
        }
        all.sort();
        for held in [1, 7, 50, 100, 101] {
            let names = Names::holding(dir.path(), held);
            let names: Vec<String> = names.map(Result::unwrap).collect();
            assert_eq!(names, all, "{held} at once");
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_paths() {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = [
            "a/p.r1/s",
            "a/p.r10/s",
            "a/p.r1.json",
            "a/p.r2/t/u",
            "b",
            "c",
        ];
        for path in paths {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let chosen = vec!["b".to_owned(), "a/".to_owned()];
        let files = Files::of(dir.path(), chosen);
        let files: Vec<String> = files.map(Result::unwrap).collect();
        paths.sort_unstable();
        assert_eq!(files, paths[..5]);
        let mut gone = Files::of(dir.path(), vec!["d/".to_owned()]);
        assert!(gone.next().unwrap().is_err() && gone.next().is_none());
    }
}
