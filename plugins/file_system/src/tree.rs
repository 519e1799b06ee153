//! Everybody's directories and files. A directory holds its entries by name, and every entry but the roots stands in
//! exactly one directory: paths are walked, never stored. Rules about what may go where are decided elsewhere.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Layer;
use pibench_sdk::list::List;
use pibench_sdk::table::Table;
use pibench_sdk::text::Text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    Directory(Names),
    /// A text.
    File(Text),
}

/// Entries by name, in the order of the names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Names(pub List<(Text, u32)>);

impl Names {
    /// Where a name stands, or belongs.
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    fn get(&self, name: &str) -> Option<u32> {
        let at = self.find(name).ok()?;
        self.0.get(at).map(|(_, id)| *id)
    }

    /// In place of an earlier entry of the name.
    fn insert(&mut self, name: &str, id: u32) {
        match self.find(name) {
            Ok(at) => self.0.to_mut()[at].1 = id,
            Err(at) => self.0.to_mut().insert(at, (name.into(), id)),
        }
    }

    fn remove(&mut self, name: &str) -> Option<u32> {
        let at = self.find(name).ok()?;
        Some(self.0.to_mut().remove(at).1)
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(_, id)| *id)
    }
}

impl Content {
    pub(crate) fn empty_directory() -> Self {
        Self::Directory(Names::default())
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    pub entries: usize,
    /// Of all files' content.
    pub bytes: usize,
}

/// Where the paths of an owner begin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Roots {
    pub root: u32,
    pub home: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tree {
    entries: Table<Entry>,
    roots: Layer<Email, Roots>,
    /// What lies here besides the world's entries.
    size: Size,
}

impl Tree {
    /// With the world's files, or without any.
    pub(crate) fn new(world: bool) -> Self {
        Self {
            entries: Table::new(world),
            roots: Layer::new(world),
            size: Size::default(),
        }
    }

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
        self.entries.get(id?)
    }

    /// The entry of this name in a directory.
    pub(crate) fn child(&self, directory: u32, name: &str) -> Option<u32> {
        match &self.entries.get(directory)?.content {
            Content::Directory(names) => names.get(name),
            Content::File(_) => None,
        }
    }

    /// Replaces what a file holds.
    pub(crate) fn write(&mut self, id: u32, content: String, now: DateTime) {
        if let Some(entry) = self.entries.get_mut(id) {
            self.size.bytes =
                (self.size.bytes + content.len()).saturating_sub(entry.content.bytes());
            entry.content = Content::File(content.into());
            entry.dates.updated_at = now;
        }
    }

    /// Dates an entry and all that is in it.
    pub(crate) fn date(&mut self, id: u32, dates: Dates) {
        for id in self.within(id) {
            if let Some(entry) = self.entries.get_mut(id) {
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
        match &mut self.entries.get_mut(directory)?.content {
            Content::Directory(names) => names.remove(name),
            Content::File(_) => None,
        }
    }

    /// Puts an entry that stands nowhere into a directory.
    pub(crate) fn attach(&mut self, directory: u32, name: &str, id: u32) {
        let directory = self.entries.get_mut(directory);
        if let Some(Content::Directory(names)) = directory.map(|entry| &mut entry.content) {
            names.insert(name, id);
        }
    }

    /// Takes an entry out of its directory for good, with all that is in it.
    pub(crate) fn remove(&mut self, directory: u32, name: &str) {
        if let Some(id) = self.detach(directory, name) {
            for id in self.within(id) {
                let removed = self.entries.remove(id);
                let bytes = removed.map_or(0, |entry| entry.content.bytes());
                // The world's own entries were never counted.
                self.size.bytes = self.size.bytes.saturating_sub(bytes);
                self.size.entries = self.size.entries.saturating_sub(1);
            }
        }
    }

    /// A copy of an entry with all that is in it, with new ids; it must be attached. Without `dates` each keeps its own.
    pub(crate) fn copy(&mut self, id: u32, dates: Option<Dates>) -> u32 {
        // An entry is in the tree as long as something holds its id.
        let Some(entry) = self.entries.get(id).cloned() else {
            return id;
        };
        let twin = self.create(entry.content.clone(), dates.unwrap_or(entry.dates));
        let Content::Directory(names) = entry.content else {
            return twin;
        };
        let within = names.0.into_iter();
        let within = within.map(|(name, id)| (name, self.copy(id, dates)));
        let within = Names(within.collect());
        if let Some(entry) = self.entries.get_mut(twin) {
            entry.content = Content::Directory(within);
        }
        twin
    }

    /// An entry and all that is in it.
    pub(crate) fn within(&self, id: u32) -> Vec<u32> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(id) = found.get(next) {
            next += 1;
            if let Some(Content::Directory(names)) =
                self.entries.get(*id).map(|entry| &entry.content)
            {
                found.extend(names.ids());
            }
        }
        found
    }

    /// The longest way down from an entry, in bytes of path.
    pub(crate) fn depth(&self, id: u32) -> usize {
        match self.entries.get(id).map(|entry| &entry.content) {
            Some(Content::Directory(names)) => {
                let below = names
                    .0
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
        for entry in self
            .within(id)
            .iter()
            .filter_map(|id| self.entries.get(*id))
        {
            size.entries += 1;
            size.bytes += entry.content.bytes();
        }
        size
    }

    /// The room that everything takes but what the world brought.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// How many entries there are, the world's too.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.entries.iter().count()
    }

    /// What graders see of the entries: see [`Table::state`].
    pub(crate) fn state(&self, view: impl Fn(&Entry) -> Value) -> Vec<Value> {
        let entries = self.entries.state(|_, entry| view(entry));
        entries.into_iter().map(Value::from).collect()
    }

    /// Every entry with its owner and its path as paths are shown, by id.
    pub(crate) fn walk(&self) -> BTreeMap<u32, (&Email, String, &Entry)> {
        let mut found = BTreeMap::new();
        for (owner, Roots { root, home }) in &self.roots {
            let mut open = vec![(*root, String::new())];
            while let Some((id, path)) = open.pop() {
                let Some(entry) = self.entries.get(id) else {
                    continue;
                };
                let path = if id == *home { "~".to_owned() } else { path };
                if let Content::Directory(names) = &entry.content {
                    open.extend(
                        names
                            .0
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
        self.size.bytes += content.bytes();
        self.size.entries += 1;
        self.entries.insert_with(|id| Entry { id, content, dates })
    }
}
