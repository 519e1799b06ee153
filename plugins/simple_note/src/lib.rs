//! Simple Note: notes with titles, tags and pins, each with one owner.
//!
//! # Records
//!
//! ```toml
//! [[apps.simple_note.notes]]
//! owner = "ida@vale.example"        # somebody with an account
//! title = "Reading list"
//! content = "..."
//! tags = ["study"]                  # none if left out
//! pinned = true                     # false if left out
//! created_at = "2026-02-27T18:00:00"  # the clock's now if left out
//! updated_at = "2026-02-28T09:30:00"  # created_at if left out
//! ```
//!
//! Unknown keys are errors. Notes get ids in the order in which they are added, after those of the world: 1, 2, 3, ...
//! without it. Ids are not reused.
//!
//! # State
//!
//! `{"notes": [{id, owner, title, content, tags, pinned, created_at, updated_at}]}`, by id; of the world's notes only
//! those that differ.

mod record;
mod world;

use jiff::civil::DateTime;
use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::layer::RowState;
use pibench_sdk::list::List;
use pibench_sdk::records::Records;
use pibench_sdk::table::Table;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::{NoArguments, ToolError, Tools};
use pibench_sdk::{clock, export_tool_app, listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::record::NoteRecord;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProfile {
    pub email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchNotes {
    /// Any of these.
    pub tags: Option<Vec<String>>,
    pub pinned: Option<bool>,
    pub dont_reorder_pinned: Option<bool>,
    #[serde(flatten)]
    pub list: listing::List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteId {
    pub note_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateNote {
    pub title: String,
    pub content: String,
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub pinned: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateNote {
    pub note_id: u32,
    pub title: Option<String>,
    pub content: Option<String>,
    pub tags: Option<Vec<String>>,
    pub pinned: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContent {
    pub note_id: u32,
    pub append_or_prepend: Place,
    pub added_content: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Append,
    Prepend,
}

/// The longest content, in bytes: a page of 20 notes stays within what an answer may hold.
const MAX_CONTENT: usize = 32 * 1024;
/// The longest title, in bytes.
const MAX_TITLE: usize = 500;
/// The most tags of a note, and the longest tag in bytes.
const MAX_TAGS: usize = 50;
const MAX_TAG: usize = 100;

const NOTE_FIELDS: &[listing::Field<Note>] = &[
    ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
    ("updated_at", |a, b| a.updated_at.cmp(&b.updated_at)),
];

export_tool_app!(SimpleNote);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SimpleNote {
    accounts: Accounts,
    notes: Table<Note>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    id: u32,
    owner: Email,
    title: Text,
    content: Text,
    tags: List<Text>,
    pinned: bool,
    created_at: DateTime,
    updated_at: DateTime,
}

/// What graders see.
#[derive(Serialize)]
struct State<'a> {
    notes: Vec<RowState<&'a Note>>,
}

impl ToolApp for SimpleNote {
    fn tools() -> Tools<Self> {
        Tools::new()
            .login()
            .logout()
            .private("show_account", "Your own one.", Self::show_account)
            .public("show_profile", "Of anybody.", Self::show_profile)
            .private(
                "search_notes",
                "By title, content and tags, latest change first.",
                Self::search_notes,
            )
            .sorted_by(NOTE_FIELDS)
            .private("show_note", "With its text.", Self::show_note)
            .private("create_note", "A new note.", Self::create_note)
            .private("update_note", "Only what is given.", Self::update_note)
            .private(
                "add_content_to_note",
                "On a line of its own.",
                Self::add_content_to_note,
            )
            .private("delete_note", "Deletes it for good.", Self::delete_note)
    }

    fn open(accounts: Accounts) -> Self {
        Self {
            notes: Table::new(accounts.world()),
            accounts,
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        for (index, record) in records
            .take_list::<NoteRecord>("notes")?
            .into_iter()
            .enumerate()
        {
            let note = self
                .read(record)
                .map_err(|error| format!("notes[{index}]: {error}"))?;
            self.notes.insert_with(|id| Note { id, ..note });
        }
        Ok(())
    }

    fn state(&self) -> impl Serialize {
        // Nothing of a note is hidden from graders.
        State {
            notes: self.notes.state(|_, note| note),
        }
    }
}

impl SimpleNote {
    fn show_account(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        let account = self.accounts.known(me)?;
        Ok(json!({
            "first_name": account.first_name,
            "last_name": account.last_name,
            "email": account.email,
            "registered_at": account.registered_at,
            "last_logged_in": account.last_logged_in,
            "verified": true,
        }))
    }

    fn show_profile(&mut self, arguments: ShowProfile) -> Result<Value, ToolError> {
        let email = arguments
            .email
            .ok_or_else(|| ToolError::invalid("Whose profile? Give the email address."))?;
        let email = Email::parse(&email)?;
        let account = self.accounts.known(&email)?;
        Ok(json!({
            "first_name": account.first_name,
            "last_name": account.last_name,
            "email": account.email,
            "registered_at": account.registered_at,
        }))
    }

    fn search_notes(
        &mut self,
        me: &Email,
        arguments: SearchNotes,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchNotes {
            tags,
            pinned,
            dont_reorder_pinned,
            list,
        } = arguments;
        let wanted = |note: &Note| {
            note.owner == *me
                && pinned.is_none_or(|pinned| note.pinned == pinned)
                && tags
                    .as_ref()
                    .is_none_or(|tags| tags.is_empty() || tags.iter().any(|tag| note.has_tag(tag)))
        };
        let notes = self.notes.iter().map(|(_, note)| note);
        let mut notes: Vec<&Note> = notes.filter(|note| wanted(note)).collect();
        notes.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then(b.id.cmp(&a.id)));
        let mut notes = listing::matching_words(notes, list.query.as_deref(), |note| {
            let text = |note: Option<&Note>| note.map_or_else(String::new, Note::searchable);
            vec![self.notes.words(note.id, text)]
        });
        listing::sort(&mut notes, list.sort_by.as_deref(), NOTE_FIELDS)?;
        if !dont_reorder_pinned.unwrap_or_default() {
            notes.sort_by_key(|note| !note.pinned);
        }
        Ok(list
            .page()
            .of(notes)
            .into_iter()
            .map(Note::summary)
            .collect())
    }

    fn show_note(&mut self, me: &Email, NoteId { note_id }: NoteId) -> Result<Value, ToolError> {
        let note = self.note(me, note_id)?;
        Ok(json!({
            "note_id": note_id, "title": note.title, "content": note.content, "tags": note.tags,
            "created_at": note.created_at, "updated_at": note.updated_at, "pinned": note.pinned,
        }))
    }

    fn create_note(&mut self, me: &Email, arguments: CreateNote) -> Result<Value, ToolError> {
        let CreateNote {
            title,
            content,
            tags,
            pinned,
        } = arguments;
        let now = clock::now();
        let title = checked_title(title)?;
        self.check_unique(me, &title, None)?;
        let note = Note {
            id: 0,
            owner: me.clone(),
            title,
            content: checked_content(content)?,
            tags: checked_tags(tags.unwrap_or_default())?,
            pinned,
            created_at: now,
            updated_at: now,
        };
        let note_id = self.notes.insert_with(|id| Note { id, ..note });
        Ok(json!({"message": format!("Note {note_id} is created."), "note_id": note_id}))
    }

    fn update_note(&mut self, me: &Email, arguments: UpdateNote) -> Result<Value, ToolError> {
        let UpdateNote {
            note_id,
            title,
            content,
            tags,
            pinned,
        } = arguments;
        self.note(me, note_id)?;
        let title = title.map(checked_title).transpose()?;
        let content = content.map(checked_content).transpose()?;
        let tags = tags.map(checked_tags).transpose()?;
        if let Some(title) = &title {
            self.check_unique(me, title, Some(note_id))?;
        }
        let note = self.note(me, note_id)?;
        note.title = title.unwrap_or_else(|| std::mem::take(&mut note.title));
        note.content = content.unwrap_or_else(|| std::mem::take(&mut note.content));
        note.tags = tags.unwrap_or_else(|| std::mem::take(&mut note.tags));
        note.pinned = pinned.unwrap_or(note.pinned);
        note.updated_at = clock::now();
        Ok(json!({"message": format!("Note {note_id} is updated.")}))
    }

    fn add_content_to_note(
        &mut self,
        me: &Email,
        arguments: AddContent,
    ) -> Result<Value, ToolError> {
        let AddContent {
            note_id,
            append_or_prepend,
            added_content,
        } = arguments;
        let note = self.note(me, note_id)?;
        let content = match append_or_prepend {
            Place::Append => joined(&note.content, &added_content),
            Place::Prepend => joined(&added_content, &note.content),
        };
        note.content = checked_content(content)?;
        note.updated_at = clock::now();
        Ok(json!({"message": format!("The content is added to note {note_id}.")}))
    }

    fn delete_note(&mut self, me: &Email, NoteId { note_id }: NoteId) -> Result<Value, ToolError> {
        self.note(me, note_id)?;
        self.notes.remove(note_id);
        Ok(json!({"message": format!("Note {note_id} is deleted.")}))
    }

    /// 409 if another note of the owner's has the title. Records may bring such ones.
    fn check_unique(&self, me: &Email, title: &Text, own_id: Option<u32>) -> Result<(), ToolError> {
        let mut notes = self.notes.iter();
        let same = |note: &Note| note.owner == *me && note.title == *title;
        match notes.find(|(id, note)| same(note) && Some(*id) != own_id) {
            None => Ok(()),
            Some((id, _)) => Err(ToolError::taken(format!(
                "Note {id} has the title {title:?} already."
            ))),
        }
    }

    /// One's own note: 409 if there is none, 422 if it is somebody else's.
    fn note(&mut self, me: &Email, id: u32) -> Result<&mut Note, ToolError> {
        let note = self
            .notes
            .get_mut(id)
            .ok_or_else(|| ToolError::conflict("note", id))?;
        if note.owner != *me {
            return Err(ToolError::invalid(format!(
                "Note {id} belongs to another account."
            )));
        }
        Ok(note)
    }

    /// A note that keeps the rules; it has no id yet.
    fn read(&self, record: NoteRecord) -> Result<Note, String> {
        let NoteRecord {
            owner,
            title,
            content,
            tags,
            pinned,
            created_at,
            updated_at,
        } = record;
        if !self.accounts.contains(&owner) {
            return Err(format!("owner: {owner} has no account"));
        }
        let created_at = created_at.unwrap_or_else(clock::now);
        let updated_at = updated_at.unwrap_or(created_at);
        if updated_at < created_at {
            return Err(format!(
                "updated_at {updated_at} is before created_at {created_at}"
            ));
        }
        let title = checked_title(title).map_err(|error| error.message)?;
        let content = checked_content(content).map_err(|error| error.message)?;
        let tags = checked_tags(tags).map_err(|error| error.message)?;
        Ok(Note {
            id: 0,
            owner,
            title,
            content,
            tags,
            pinned,
            created_at,
            updated_at,
        })
    }
}

impl Note {
    fn has_tag(&self, tag: &str) -> bool {
        let tag = tag.trim().to_lowercase();
        self.tags.iter().any(|own| own.to_lowercase() == tag)
    }

    fn searchable(&self) -> String {
        format!(
            "{}\n{}\n{}",
            self.title,
            self.content,
            self.tags
                .iter()
                .map(Text::as_str)
                .collect::<Vec<_>>()
                .join(" ")
        )
    }

    fn summary(&self) -> Value {
        json!({
            "note_id": self.id, "title": self.title, "tags": self.tags, "created_at": self.created_at,
            "updated_at": self.updated_at, "pinned": self.pinned,
        })
    }
}

/// One text behind the other, beginning with a line of its own.
fn joined(first: &str, second: &str) -> String {
    let between = if first.is_empty() || first.ends_with('\n') || second.starts_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{first}{between}{second}")
}

fn checked_title(title: String) -> Result<Text, ToolError> {
    if title.trim().is_empty() {
        return Err(ToolError::invalid("The title must not be empty."));
    }
    Ok(text::at_most("title", title, MAX_TITLE)?.into())
}

fn checked_content(content: String) -> Result<Text, ToolError> {
    Ok(text::at_most("content", content, MAX_CONTENT)?.into())
}

/// Trimmed, each once, none empty.
fn checked_tags(tags: Vec<String>) -> Result<List<Text>, ToolError> {
    let mut checked: Vec<Text> = Vec::new();
    for tag in tags {
        let tag = text::not_empty("tag", &tag, MAX_TAG)?.into();
        if !checked.contains(&tag) {
            checked.push(tag);
        }
    }
    if checked.len() > MAX_TAGS {
        return Err(ToolError::invalid(format!(
            "A note has at most {MAX_TAGS} tags."
        )));
    }
    Ok(checked.into())
}

#[cfg(test)]
mod tests;
