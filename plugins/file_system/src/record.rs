//! What a seed may hold, and how it becomes trees; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::records::Records;
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, time};
use serde::Deserialize;

use crate::path::Path;
use crate::tree::{Content, Dates};
use crate::{FileSystem, checked_content};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectoryRecord {
    owner: Email,
    path: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    updated_at: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRecord {
    owner: Email,
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    #[serde(default, deserialize_with = "time::read_moment")]
    updated_at: Option<DateTime>,
}

impl FileSystem {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        for (index, record) in records.take_list("directories")?.into_iter().enumerate() {
            self.add_directory(record)
                .map_err(|error| format!("directories[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("files")?.into_iter().enumerate() {
            self.add_file(record)
                .map_err(|error| format!("files[{index}]: {error}"))?;
        }
        Ok(())
    }

    fn add_directory(&mut self, record: DirectoryRecord) -> Result<(), String> {
        let DirectoryRecord {
            owner,
            path,
            created_at,
            updated_at,
        } = record;
        let home = self.home_of(&owner)?;
        Path::check_begin(&path).map_err(message)?;
        let path = Path::directory(&path, &home).map_err(message)?;
        let dates = dates(created_at, updated_at)?;
        self.insert_new(&owner, &path, Content::empty_directory(), dates)
    }

    fn add_file(&mut self, record: FileRecord) -> Result<(), String> {
        let FileRecord {
            owner,
            path,
            content,
            created_at,
            updated_at,
        } = record;
        let home = self.home_of(&owner)?;
        Path::check_begin(&path).map_err(message)?;
        let path = Path::file(&path, &home).map_err(message)?;
        let dates = dates(created_at, updated_at)?;
        let content = checked_content(content).map_err(message)?;
        self.insert_new(&owner, &path, Content::File(content.into()), dates)
    }

    /// Puts something where nothing is, with the directories on the way.
    fn insert_new(
        &mut self,
        owner: &Email,
        path: &Path,
        content: Content,
        dates: Dates,
    ) -> Result<(), String> {
        let free = path
            .split()
            .filter(|_| self.tree.find(owner, path).is_none());
        let Some((around, name)) = free else {
            return Err(format!("path: {path} exists already"));
        };
        let created = Dates::both(dates.created_at);
        let directory = self
            .make_directories(owner, &around, created)
            .map_err(message)?;
        self.check_room(1, content.bytes()).map_err(message)?;
        self.tree.insert(directory, name, content, dates);
        Ok(())
    }

    fn home_of(&self, owner: &Email) -> Result<Path, String> {
        self.accounts
            .get(owner)
            .map(Path::home)
            .ok_or_else(|| format!("owner: {owner} has no account"))
    }
}

fn dates(created_at: Option<DateTime>, updated_at: Option<DateTime>) -> Result<Dates, String> {
    let created_at = created_at.unwrap_or_else(clock::now);
    let updated_at = updated_at.unwrap_or(created_at);
    if updated_at < created_at {
        return Err(format!(
            "updated_at {updated_at} is before created_at {created_at}"
        ));
    }
    Ok(Dates {
        created_at,
        updated_at,
    })
}

fn message(error: ToolError) -> String {
    error.message
}
