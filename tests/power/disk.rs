//! A disk that forgets: what is in its files and folders, and beside it what is left when the power goes.

use std::collections::BTreeMap;

/// A change, in the order in which they were asked for. Files and folders are known by a number.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Make {
        place: Place,
        node: u64,
        is_dir: bool,
    },
    Write {
        node: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
        node: u64,
        length: usize,
    },
    Link {
        node: u64,
        place: Place,
    },
    Rename {
        from: Place,
        to: Place,
    },
    Remove(Place),
    /// Of a file its content, of a folder its names.
    Sync(u64),
}

/// A name in a folder.
pub(super) type Place = (u64, String);

/// The folder that all else is in.
pub(super) const ROOT: u64 = 1;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    pub(super) is_dir: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) names: BTreeMap<String, u64>,
    synced_bytes: Vec<u8>,
    synced_names: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub(super) nodes: BTreeMap<u64, Node>,
}

/// What a power cut leaves of what was not synced.
#[derive(Debug, Clone, Copy)]
pub(super) enum Luck {
    Nothing,
    /// The names, and of their contents the length.
    Names,
}

/// Paths with the bytes of files; None is a folder.
pub(super) type Tree = BTreeMap<String, Option<Vec<u8>>>;

impl Disk {
    pub(super) fn new() -> Self {
        let root = Node {
            is_dir: true,
            ..Node::default()
        };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
        }
    }

    pub(super) fn node(&self, number: u64) -> &Node {
        &self.nodes[&number]
    }

    pub(super) fn at(&self, (dir, name): &Place) -> Option<u64> {
        self.nodes.get(dir)?.names.get(name).copied()
    }

    pub(super) fn does(&mut self, change: &Change) {
        match change {
            Change::Make {
                place,
                node,
                is_dir,
            } => {
                let is_dir = *is_dir;
                let made = Node {
                    is_dir,
                    ..Node::default()
                };
                self.nodes.insert(*node, made);
                self.name(place, *node);
            }
            Change::Write { node, at, bytes } => {
                let content = &mut self.of(*node).bytes;
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*at..end].copy_from_slice(bytes);
            }
            Change::Cut { node, length } => self.of(*node).bytes.resize(*length, 0),
            Change::Link { node, place } => self.name(place, *node),
            Change::Rename { from, to } => {
                let node = self.of(from.0).names.remove(&from.1).unwrap();
                self.name(to, node);
            }
            Change::Remove((dir, name)) => {
                self.of(*dir).names.remove(name);
            }
            Change::Sync(node) => {
                let node = self.of(*node);
                node.synced_bytes.clone_from(&node.bytes);
                node.synced_names.clone_from(&node.names);
            }
        }
    }

    fn of(&mut self, node: u64) -> &mut Node {
        self.nodes.get_mut(&node).unwrap()
    }

    fn name(&mut self, (dir, name): &Place, node: u64) {
        self.of(*dir).names.insert(name.clone(), node);
    }

    /// What is found when the power is back.
    pub(super) fn left(&self, luck: Luck) -> Tree {
        let mut tree = Tree::new();
        self.find(ROOT, "", luck, &mut tree);
        tree
    }

    fn find(&self, dir: u64, above: &str, luck: Luck, tree: &mut Tree) {
        let folder = self.node(dir);
        let names = match luck {
            Luck::Nothing => &folder.synced_names,
            Luck::Names => &folder.names,
        };
        for (name, number) in names {
            let path = format!("{above}{name}");
            let node = self.node(*number);
            if node.is_dir {
                self.find(*number, &format!("{path}/"), luck, tree);
                tree.insert(path, None);
                continue;
            }
            let mut bytes = node.synced_bytes.clone();
            if let Luck::Names = luck {
                bytes.resize(node.bytes.len(), 0);
            }
            tree.insert(path, Some(bytes));
        }
    }

    /// The path of a file or folder that has one.
    pub(super) fn path(&self, number: u64) -> Option<String> {
        if number == ROOT {
            return Some(String::new());
        }
        let (dir, name) = self.nodes.iter().find_map(|(dir, node)| {
            let mut names = node.names.iter();
            let (name, _) = names.find(|(_, of)| **of == number)?;
            Some((*dir, name))
        })?;
        Some(format!("{}/{name}", self.path(dir)?))
    }
}
