//! Copying and moving: one procedure for files and directories, which checks everything before it touches anything.

use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::path::{MAX_PATH, Path, too_long};
use crate::tree::{Content, Dates, Entry};
use crate::{FileSystem, nothing};

/// For copying and moving files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceFile {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_file_path: String,
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_file_path: String,
    #[serde(default)]
    pub overwrite: bool,
    #[serde(default)]
    pub retain_dates: bool,
}

/// For copying and moving directories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceDirectory {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_directory_path: String,
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_directory_path: String,
    #[serde(default)]
    pub overwrite: bool,
    #[serde(default)]
    pub retain_dates: bool,
}

/// Something is to lie at `destination` as it lies at `source`.
struct Placing {
    source: Path,
    destination: Path,
    overwrite: bool,
    retain_dates: bool,
}

/// A placing that keeps the rules.
struct Allowed {
    /// The entry that is copied or moved.
    id: u32,
    /// How many directories are missing on the way there.
    missing: usize,
    /// What it replaces there.
    replaced: Option<u32>,
    /// None keeps those of the source.
    dates: Option<Dates>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

impl Kind {
    fn of(entry: &Entry) -> Self {
        match entry.content {
            Content::Directory(_) => Self::Directory,
            Content::File(_) => Self::File,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
        }
    }
}

impl FileSystem {
    pub(crate) fn copy_file(
        &mut self,
        me: &Email,
        arguments: PlaceFile,
    ) -> Result<Value, ToolError> {
        let placing = self.placing_of_file(me, arguments)?;
        let destination = self.copy(me, &placing, Kind::File)?;
        Ok(json!({"message": "The file is copied.", "destination_file_path": destination}))
    }

    pub(crate) fn move_file(
        &mut self,
        me: &Email,
        arguments: PlaceFile,
    ) -> Result<Value, ToolError> {
        let placing = self.placing_of_file(me, arguments)?;
        let destination = self.relocate(me, &placing, Kind::File)?;
        Ok(json!({"message": "The file is moved.", "destination_file_path": destination}))
    }

    pub(crate) fn copy_directory(
        &mut self,
        me: &Email,
        arguments: PlaceDirectory,
    ) -> Result<Value, ToolError> {
        let placing = self.placing_of_directory(me, arguments)?;
        let destination = self.copy(me, &placing, Kind::Directory)? + "/";
        Ok(
            json!({"message": "The directory is copied.", "destination_directory_path": destination}),
        )
    }

    pub(crate) fn move_directory(
        &mut self,
        me: &Email,
        arguments: PlaceDirectory,
    ) -> Result<Value, ToolError> {
        let placing = self.placing_of_directory(me, arguments)?;
        let destination = self.relocate(me, &placing, Kind::Directory)? + "/";
        Ok(json!({"message": "The directory is moved.", "destination_directory_path": destination}))
    }

    fn placing_of_file(&self, me: &Email, arguments: PlaceFile) -> Result<Placing, ToolError> {
        let PlaceFile {
            source_file_path,
            destination_file_path,
            overwrite,
            retain_dates,
        } = arguments;
        let home = self.home(me)?;
        Ok(Placing {
            source: Path::file(&source_file_path, &home)?,
            destination: Path::file(&destination_file_path, &home)?,
            overwrite,
            retain_dates,
        })
    }

    fn placing_of_directory(
        &self,
        me: &Email,
        arguments: PlaceDirectory,
    ) -> Result<Placing, ToolError> {
        let PlaceDirectory {
            source_directory_path,
            destination_directory_path,
            overwrite,
            retain_dates,
        } = arguments;
        let home = self.home(me)?;
        Ok(Placing {
            source: Path::directory(&source_directory_path, &home)?,
            destination: Path::directory(&destination_directory_path, &home)?,
            overwrite,
            retain_dates,
        })
    }

    /// Returns where the copy lies.
    fn copy(&mut self, me: &Email, placing: &Placing, kind: Kind) -> Result<String, ToolError> {
        let allowed = self.allowed(me, placing, kind)?;
        self.check_room_for_copy(&allowed)?;
        let Allowed {
            id,
            replaced,
            dates,
            ..
        } = allowed;
        let directory = self.directory_around(me, &placing.destination)?;
        let copy = self.tree.copy(id, dates);
        self.settle(placing, directory, replaced, copy)
    }

    /// Returns where the entry lies now.
    fn relocate(&mut self, me: &Email, placing: &Placing, kind: Kind) -> Result<String, ToolError> {
        let Allowed {
            id,
            replaced,
            dates,
            ..
        } = self.allowed(me, placing, kind)?;
        if self.home(me)?.is_within(&placing.source) {
            return Err(ToolError::invalid(format!(
                "Your home directory stays where it is: {} cannot be moved.",
                placing.source
            )));
        }
        let directory = self.directory_around(me, &placing.destination)?;
        if let Some((around, name)) = placing.source.split() {
            let around = self.directory(me, &around)?;
            self.tree.detach(around, name);
        }
        if let Some(dates) = dates {
            self.tree.date(id, dates);
        }
        self.settle(placing, directory, replaced, id)
    }

    /// The directory that is to hold a path, made if it is missing.
    fn directory_around(&mut self, me: &Email, path: &Path) -> Result<u32, ToolError> {
        let (around, _) = path.split().ok_or_else(root)?;
        self.make_directories(me, &around, Dates::both(clock::now()))
    }

    /// Puts an entry that stands nowhere to its destination.
    fn settle(
        &mut self,
        placing: &Placing,
        directory: u32,
        replaced: Option<u32>,
        id: u32,
    ) -> Result<String, ToolError> {
        let (_, name) = placing.destination.split().ok_or_else(root)?;
        if replaced.is_some() {
            self.tree.remove(directory, name);
        }
        self.tree.attach(directory, name, id);
        Ok(placing.destination.absolute())
    }

    /// The rules that copying and moving share.
    fn allowed(&self, me: &Email, placing: &Placing, kind: Kind) -> Result<Allowed, ToolError> {
        let Placing {
            source,
            destination,
            overwrite,
            retain_dates,
        } = placing;
        let entry = self.entry(me, source, kind)?;
        if source == destination {
            return Err(ToolError::invalid(format!(
                "{source} is both the source and the destination."
            )));
        }
        if destination.is_within(source) {
            return Err(ToolError::invalid(format!(
                "{destination} lies within {source}: nothing can hold itself."
            )));
        }
        if source.is_within(destination) {
            return Err(ToolError::invalid(format!(
                "{source} lies within {destination} and cannot take its place."
            )));
        }
        let (around, name) = destination.split().ok_or_else(root)?;
        let (directory, missing) = self.find_missing(me, &around)?;
        let replaced = self
            .tree
            .child(directory, name)
            .filter(|_| missing.is_empty());
        if replaced.is_some() {
            self.check_replaceable(me, destination, kind, *overwrite)?;
        }
        let length = destination.length() + self.tree.depth(entry.id);
        if length > MAX_PATH {
            return Err(ToolError::invalid(format!(
                "The longest path in it would be too long: {}.",
                too_long(length)
            )));
        }
        Ok(Allowed {
            id: entry.id,
            missing: missing.len(),
            replaced,
            dates: (!retain_dates).then(|| Dates::both(clock::now())),
        })
    }

    fn entry(&self, me: &Email, path: &Path, kind: Kind) -> Result<&Entry, ToolError> {
        let entry = self.tree.find(me, path);
        let entry = entry.ok_or_else(|| nothing(kind.name(), path))?;
        if Kind::of(entry) == kind {
            Ok(entry)
        } else {
            Err(other_kind(path, entry))
        }
    }

    /// Whether what lies at a path may be replaced by something of this kind.
    fn check_replaceable(
        &self,
        me: &Email,
        path: &Path,
        kind: Kind,
        overwrite: bool,
    ) -> Result<(), ToolError> {
        self.entry(me, path, kind)?;
        if !overwrite {
            return Err(ToolError::invalid(format!(
                "{path} exists already. Set overwrite to replace it."
            )));
        }
        if self.home(me)?.is_within(path) {
            return Err(ToolError::invalid(format!(
                "Your home directory stays where it is: {path} cannot be replaced."
            )));
        }
        Ok(())
    }

    fn check_room_for_copy(&self, allowed: &Allowed) -> Result<(), ToolError> {
        let freed = allowed.replaced.map(|id| self.tree.size_of(id));
        let freed = freed.unwrap_or_default();
        let added = self.tree.size_of(allowed.id);
        self.check_room(
            (added.entries + allowed.missing).saturating_sub(freed.entries),
            added.bytes.saturating_sub(freed.bytes),
        )
    }
}

pub(crate) fn root() -> ToolError {
    // Cannot happen: the root always exists, so every tool refuses it as a destination in its own words before.
    ToolError::invalid("/ cannot be replaced.")
}

pub(crate) fn other_kind(path: &Path, entry: &Entry) -> ToolError {
    ToolError::invalid(format!("{path} is a {}.", Kind::of(entry).name()))
}
