//! File System: a tree of directories and text files for each account, which nobody else sees.
//!
//! A path begins at the tree's root (`/`, which a tool's argument may leave out) or at the home directory (`~`), which
//! bears the owner's first name in lower case and lies in the root's directory `home`; all three exist from the beginning
//! and stay. What is in the home directory is shown from there (`~/notes`), however it was named. A path holds no `.` or
//! `..`. A copy or a move names the new path itself, not the directory to put something in; what it replaces is gone. An
//! entry that is moved keeps its id, one that is copied gets a new one. A directory's dates are its own: they do not follow
//! what happens in it. What is created, copied or moved to a place gets the directories that are missing on the way.
//! Answers give paths from the root, a directory's with a slash at its end.
//!
//! The host reads a file by the tool `show_file` to hand it to another app; it is none of the agent's tools.
//!
//! # Records
//!
//! ```toml
//! [[apps.file_system.directories]]
//! owner = "ida@vale.example"        # somebody with an account
//! path = "~/study/contracts"        # must not exist yet; directories on the way are made too
//! created_at = "2026-01-05T18:00:00"  # the clock's now if left out
//! updated_at = "2026-01-06T09:00:00"  # created_at if left out
//!
//! [[apps.file_system.files]]
//! owner = "ida@vale.example"
//! path = "~/study/reading.txt"      # must not exist yet; directories on the way are made too
//! content = "..."                   # empty if left out
//! created_at = "2026-01-05T18:00:00"
//! updated_at = "2026-01-06T09:00:00"
//! ```
//!
//! Unknown keys are errors. Ids count from 1 for directories and files together: first the root, `home` and the home
//! directory of each account by address, then the records in their order, each after the directories that are made for it; ids are
//! not reused.
//!
//! # State
//!
//! `{"directories": [{id, owner, path, created_at, updated_at}], "files": [{id, owner, path, content, created_at,
//! updated_at}]}`, by id; of the world's files only those that differ. What lies in a directory of the world that was
//! moved is not told again.

mod path;
mod placing;
mod record;
mod tree;
mod world;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::records::Records;
use pibench_sdk::tool::{ToolError, Tools};
use pibench_sdk::{clock, export_tool_app};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::path::{MAX_PATH, Path};
use crate::placing::{other_kind, root};
use crate::tree::{Content, Dates, Entry, Tree};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDirectory {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub directory_path: String,
    /// Parents, too.
    #[serde(default)]
    pub recursive: bool,
    #[serde(default = "yes")]
    pub allow_if_exists: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateFile {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file_path: String,
    #[schemars(length(max = MAX_CONTENT))]
    pub content: Option<String>,
    #[serde(default)]
    pub overwrite: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowFile {
    pub file_path: String,
}

/// The longest content of a file, in characters.
const MAX_CONTENT: usize = 64 * 1024;
/// The most directories and files, and the most bytes of content, of all accounts: copies double what there is, and the
/// whole state, with the longest paths, must stay below the 8 MiB that the host takes.
const MAX_ENTRIES: usize = 5000;
const MAX_BYTES: usize = 1024 * 1024;

export_tool_app!(FileSystem);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileSystem {
    accounts: Accounts,
    tree: Tree,
}

impl ToolApp for FileSystem {
    fn tools() -> Tools<Self> {
        Tools::new()
            .login()
            .private(
                "create_directory",
                "Paths begin with / or ~/; destinations end in the new name.",
                Self::create_directory,
            )
            .private("create_file", "With its content.", Self::create_file)
            .private("copy_file", "To a new path.", Self::copy_file)
            .private("move_file", "To a new path.", Self::move_file)
            .private("copy_directory", "With all in it.", Self::copy_directory)
            .private("move_directory", "With all in it.", Self::move_directory)
            .private(
                "show_file",
                "For the host, which attaches it.",
                Self::show_file,
            )
            .unlisted()
    }

    /// Homes are as old as their accounts.
    fn open(accounts: Accounts) -> Self {
        let mut tree = Tree::new(accounts.world());
        for account in accounts.added() {
            let dates = Dates::both(account.registered_at);
            tree.plant(account.email.clone(), &Path::home(account), dates);
        }
        Self { accounts, tree }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        let places = self.tree.walk();
        let entry = |entry: &Entry| {
            let Dates {
                created_at,
                updated_at,
            } = entry.dates;
            let place = places.get(&entry.id);
            let mut view = json!({
                "id": entry.id, "owner": place.map(|place| place.0), "path": place.map(|place| &place.1),
            });
            if let Content::File(content) = &entry.content {
                view["content"] = json!(content);
            }
            view["created_at"] = json!(created_at);
            view["updated_at"] = json!(updated_at);
            view
        };
        let is_file = |view: &Value| view.get("content").is_some();
        let (files, directories): (Vec<_>, Vec<_>) =
            self.tree.state(entry).into_iter().partition(is_file);
        json!({"directories": directories, "files": files})
    }
}

impl FileSystem {
    fn create_directory(
        &mut self,
        me: &Email,
        arguments: CreateDirectory,
    ) -> Result<Value, ToolError> {
        let CreateDirectory {
            directory_path,
            recursive,
            allow_if_exists,
        } = arguments;
        let path = Path::directory(&directory_path, &self.home(me)?)?;
        if let Some(entry) = self.tree.find(me, &path) {
            if matches!(entry.content, Content::File(_)) {
                return Err(other_kind(&path, entry));
            }
            if !allow_if_exists {
                return Err(ToolError::invalid(format!(
                    "{path} is a directory that exists already."
                )));
            }
            return Ok(json!({"message": format!("The directory {path} exists already.")}));
        }
        if let Some((around, _)) = path.split().filter(|_| !recursive) {
            self.directory(me, &around)?;
        }
        self.make_directories(me, &path, Dates::both(clock::now()))?;
        Ok(json!({"message": format!("The directory {path} is created.")}))
    }

    fn create_file(&mut self, me: &Email, arguments: CreateFile) -> Result<Value, ToolError> {
        let CreateFile {
            file_path,
            content,
            overwrite,
        } = arguments;
        let path = Path::file(&file_path, &self.home(me)?)?;
        let content = checked_content(content.unwrap_or_default())?;
        let now = clock::now();
        let Some(entry) = self.tree.find(me, &path) else {
            let (around, name) = path.split().ok_or_else(root)?;
            self.check_room(1 + self.find_missing(me, &around)?.1.len(), content.len())?;
            let directory = self.make_directories(me, &around, Dates::both(now))?;
            self.tree.insert(
                directory,
                name,
                Content::File(content.into()),
                Dates::both(now),
            );
            return Ok(json!({"message": "The file is created.", "file_path": path.absolute()}));
        };
        let (id, freed) = (entry.id, entry.content.bytes());
        if matches!(entry.content, Content::Directory(_)) {
            return Err(other_kind(&path, entry));
        }
        if !overwrite {
            return Err(ToolError::invalid(format!(
                "{path} is a file that exists already."
            )));
        }
        self.check_room(0, content.len().saturating_sub(freed))?;
        self.tree.write(id, content, now);
        let message = "The file's content is replaced.";
        Ok(json!({"message": message, "file_path": path.absolute()}))
    }

    /// What the host reads of a file that another app is to attach.
    fn show_file(
        &mut self,
        me: &Email,
        ShowFile { file_path }: ShowFile,
    ) -> Result<Value, ToolError> {
        let path = Path::file(&file_path, &self.home(me)?)?;
        let entry = self.tree.find(me, &path);
        let entry = entry.ok_or_else(|| nothing("file", &path))?;
        match &entry.content {
            Content::Directory(_) => Err(other_kind(&path, entry)),
            Content::File(content) => Ok(json!({"path": path.absolute(), "content": content})),
        }
    }

    /// The directory at a path, made with all that is missing on the way. 422 if a file is in the way.
    pub(crate) fn make_directories(
        &mut self,
        me: &Email,
        path: &Path,
        dates: Dates,
    ) -> Result<u32, ToolError> {
        let (directory, missing) = self.find_missing(me, path)?;
        self.check_room(missing.len(), 0)?;
        let make = |around, name: &String| {
            self.tree
                .insert(around, name, Content::empty_directory(), dates)
        };
        Ok(missing.iter().rev().fold(directory, make))
    }

    /// The last directory on the way to a path that is there, and the names of those that are missing behind it, the
    /// last one first. 422 if a file is in the way.
    pub(crate) fn find_missing(
        &self,
        me: &Email,
        path: &Path,
    ) -> Result<(u32, Vec<String>), ToolError> {
        let mut missing = Vec::new();
        let mut there = path.clone();
        while self.tree.find(me, &there).is_none()
            && let Some((around, name)) = there.split()
        {
            missing.push(name.to_owned());
            there = around;
        }
        Ok((self.directory(me, &there)?, missing))
    }

    /// The directory at a path: 422 if there is nothing, or a file.
    fn directory(&self, me: &Email, path: &Path) -> Result<u32, ToolError> {
        let entry = self.tree.find(me, path);
        let entry = entry.ok_or_else(|| nothing("directory", path))?;
        match entry.content {
            Content::Directory(_) => Ok(entry.id),
            Content::File(_) => Err(other_kind(path, entry)),
        }
    }

    fn home(&self, me: &Email) -> Result<Path, ToolError> {
        Ok(Path::home(self.accounts.known(me)?))
    }

    /// 422 if so much more does not fit.
    fn check_room(&self, entries: usize, bytes: usize) -> Result<(), ToolError> {
        let size = self.tree.size();
        if size.entries + entries > MAX_ENTRIES || size.bytes + bytes > MAX_BYTES {
            return Err(ToolError::invalid(format!(
                "The disk is full: at most {MAX_ENTRIES} directories and files with {MAX_BYTES} bytes fit."
            )));
        }
        Ok(())
    }
}

pub(crate) fn nothing(kind: &str, path: &Path) -> ToolError {
    ToolError::invalid(format!("There is no {kind} {path}."))
}

/// Text within the limit: with tabs and line breaks, without other control characters.
fn checked_content(content: String) -> Result<String, ToolError> {
    let length = content.chars().count();
    if length > MAX_CONTENT {
        return Err(ToolError::invalid(format!(
            "The content has {length} characters; at most {MAX_CONTENT} fit."
        )));
    }
    if content
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
    {
        return Err(ToolError::invalid(
            "The content holds control characters: a file holds text only.",
        ));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
