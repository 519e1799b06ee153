//! Notes.

use serde_json::json;

use super::{Database, Records, Users, put, record};

const NOTE: [&str; 8] = [
    "id",
    "user_id",
    "title",
    "content",
    "tags",
    "pinned",
    "created_at",
    "updated_at",
];

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut notes = Vec::new();
    database.mark_derived("note", &["search_text"]);
    for row in database.rows("note", &NOTE) {
        let Some(owner) = users.email(&row, "user_id") else {
            database.skip("note", "no known owner");
            continue;
        };
        notes.push(record(json!({
            "owner": owner,
            "title": row.text("title").unwrap_or_default(),
            "content": row.text("content").unwrap_or_default(),
            "tags": row.list("tags"),
            "pinned": row.flag("pinned"),
            "created_at": row.moment("created_at"),
            "updated_at": row.moment("updated_at"),
        })));
    }
    let mut records = Records::new();
    put(&mut records, "notes", notes);
    records
}
