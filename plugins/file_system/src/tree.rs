//! Everybody's directories and files. A directory holds its entries by name, and every entry but the roots stands in
//! exactly one directory: paths are walked, never stored. Rules about what may go where are decided elsewhere.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::{Deserialize, Serialize};

use crate::path::Path;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub id: u32,
    pub content: Content,
    pub dates: Dates,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Content {
    /// Entries by name.
    Directory(BTreeMap<String, u32>),
    /// A text.
    File(String),
}

impl Content {
    pub(crate) fn empty_directory() -> Self {
        Self::Directory(BTreeMap::new())
    }

    /// The bytes that count on the disk.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Directory(_) => 0,
            Self::File(content) => content.len(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dates {
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

impl Dates {
    pub(crate) fn both(moment: DateTime) -> Self {
        Self {
            created_at: moment,
            updated_at: moment,
        }
    }
}

/// How much room entries take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub entries: usize,
    /// Of all files' content.
    pub bytes: usize,
}

/// Where the paths of an owner begin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Roots {
    root: u32,
    home: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tree {
    entries: BTreeMap<u32, Entry>,
    roots: BTreeMap<Email, Roots>,
    /// Of all files' content.
    bytes: usize,
    /// The id of the latest entry; 0 before the first.
    last_id: u32,
}

impl Tree {
    /// A tree for somebody with nothing in it but the home directory.
    pub(crate) fn plant(&mut self, owner: Email, home: &Path, dates: Dates) {
        let root = self.create(Content::empty_directory(), dates);
        let home = home.names().fold(root, |around, name| {
            self.insert(around, name, Content::empty_directory(), dates)
        });
        self.roots.insert(owner, Roots { root, home });
    }

    /// What lies at a path.
    pub(crate) fn find(&self, owner: &Email, path: &Path) -> Option<&Entry> {
        let root = self.roots.get(owner)?.root;
        let id = path.names().try_fold(root, |id, name| self.child(id, name));
        self.entries.get(&id?)
    }

    /// The entry of this name in a directory.
    pub(crate) fn child(&self, directory: u32, name: &str) -> Option<u32> {
        match &self.entries.get(&directory)?.content {
            Content::Directory(entries) => entries.get(name).copied(),
            Content::File(_) => None,
        }
    }

    /// Replaces what a file holds.
    pub(crate) fn write(&mut self, id: u32, content: String, now: DateTime) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.bytes = self.bytes + content.len() - entry.content.bytes();
            entry.content = Content::File(content);
            entry.dates.updated_at = now;
        }
    }

    /// Dates an entry and all that is in it.
    pub(crate) fn date(&mut self, id: u32, dates: Dates) {
        for id in self.within(id) {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.dates = dates;
            }
        }
    }

    /// Puts a new entry into a directory, under a name that is free there.
    pub(crate) fn insert(
        &mut self,
        directory: u32,
        name: &str,
        content: Content,
        dates: Dates,
    ) -> u32 {
        let id = self.create(content, dates);
        self.attach(directory, name, id);
        id
    }

    /// Takes an entry out of its directory; it must be attached again.
    pub(crate) fn detach(&mut self, directory: u32, name: &str) -> Option<u32> {
        match &mut self.entries.get_mut(&directory)?.content {
            Content::Directory(entries) => entries.remove(name),
            Content::File(_) => None,
        }
    }

    /// Puts an entry that stands nowhere into a directory.
    pub(crate) fn attach(&mut self, directory: u32, name: &str, id: u32) {
        let directory = self.entries.get_mut(&directory);
        if let Some(Content::Directory(entries)) = directory.map(|entry| &mut entry.content) {
            entries.insert(name.to_owned(), id);
        }
    }

    /// Takes an entry out of its directory for good, with all that is in it.
    pub(crate) fn remove(&mut self, directory: u32, name: &str) {
        if let Some(id) = self.detach(directory, name) {
            for id in self.within(id) {
                let removed = self.entries.remove(&id);
                self.bytes -= removed.map_or(0, |entry| entry.content.bytes());
            }
        }
    }

    /// A copy of an entry with all that is in it, with new ids; it must be attached. Without `dates` each keeps its own.
    pub(crate) fn copy(&mut self, id: u32, dates: Option<Dates>) -> u32 {
        // An entry is in the tree as long as something holds its id.
        let Some(entry) = self.entries.get(&id).cloned() else {
            return id;
        };
        let copied = self.create(entry.content, dates.unwrap_or(entry.dates));
        let mut inner = match self.entries.get(&copied).map(|entry| &entry.content) {
            Some(Content::Directory(entries)) => entries.clone(),
            _ => return copied,
        };
        for id in inner.values_mut() {
            *id = self.copy(*id, dates);
        }
        if let Some(entry) = self.entries.get_mut(&copied) {
            entry.content = Content::Directory(inner);
        }
        copied
    }

    /// An entry and all that is in it.
    pub(crate) fn within(&self, id: u32) -> Vec<u32> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(id) = found.get(next) {
            next += 1;
            if let Some(Content::Directory(entries)) =
                self.entries.get(id).map(|entry| &entry.content)
            {
                found.extend(entries.values());
            }
        }
        found
    }

    /// The longest way down from an entry, in bytes of path.
    pub(crate) fn depth(&self, id: u32) -> usize {
        match self.entries.get(&id).map(|entry| &entry.content) {
            Some(Content::Directory(entries)) => {
                let below = entries
                    .iter()
                    .map(|(name, id)| 1 + name.len() + self.depth(*id));
                below.max().unwrap_or_default()
            }
            _ => 0,
        }
    }

    /// The room that an entry takes with all that is in it.
    pub(crate) fn size_of(&self, id: u32) -> Size {
        let mut size = Size::default();
        for entry in self.within(id).iter().filter_map(|id| self.entries.get(id)) {
            size.entries += 1;
            size.bytes += entry.content.bytes();
        }
        size
    }

    /// The room that everything takes.
    pub(crate) fn size(&self) -> Size {
        Size {
            entries: self.entries.len(),
            bytes: self.bytes,
        }
    }

    /// Every entry with its owner and its path as paths are shown, by id.
    pub(crate) fn walk(&self) -> BTreeMap<u32, (&Email, String, &Entry)> {
        let mut found = BTreeMap::new();
        for (owner, Roots { root, home }) in &self.roots {
            let mut open = vec![(*root, String::new())];
            while let Some((id, path)) = open.pop() {
                let Some(entry) = self.entries.get(&id) else {
                    continue;
                };
                let path = if id == *home { "~".to_owned() } else { path };
                if let Content::Directory(entries) = &entry.content {
                    open.extend(
                        entries
                            .iter()
                            .map(|(name, id)| (*id, format!("{path}/{name}"))),
                    );
                }
                let path = if id == *root { "/".to_owned() } else { path };
                found.insert(id, (owner, path, entry));
            }
        }
        found
    }

    fn create(&mut self, content: Content, dates: Dates) -> u32 {
        self.last_id += 1;
        let id = self.last_id;
        self.bytes += content.bytes();
        self.entries.insert(id, Entry { id, content, dates });
        id
    }
}
