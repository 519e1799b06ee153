//! Directories and files.

use serde_json::json;

use super::{Database, Records, Row, Users, put, record};

const DIRECTORY: [&str; 5] = ["id", "user_id", "path", "created_at", "updated_at"];
const FILE: [&str; 6] = [
    "id",
    "user_id",
    "path",
    "content",
    "created_at",
    "updated_at",
];

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut directories = Vec::new();
    database.mark_derived("directory", &["tilde_path", "search_text"]);
    let mut rows = database.rows("directory", &DIRECTORY);
    // A directory is made with those above it: the shorter path comes first.
    rows.sort_by_key(|row| row.text("path").map_or(0, |path| path.len()));
    for row in rows {
        let (Some(owner), Some(path)) = (users.email(&row, "user_id"), row.text("path")) else {
            database.skip("directory", "no known owner or no path");
            continue;
        };
        // These exist from the beginning.
        if matches!(
            path.trim_matches('/').split('/').collect::<Vec<_>>()[..],
            ["" | "home"] | ["home", _]
        ) {
            continue;
        }
        directories.push(record(json!({
            "owner": owner,
            "path": path.trim_end_matches('/'),
            "created_at": row.moment("created_at"),
            "updated_at": later(&row),
        })));
    }
    let mut files = Vec::new();
    database.mark_derived("file", &["tilde_path", "search_text"]);
    for row in database.rows("file", &FILE) {
        let (Some(owner), Some(path)) = (users.email(&row, "user_id"), row.text("path")) else {
            database.skip("file", "no known owner or no path");
            continue;
        };
        files.push(record(json!({
            "owner": owner,
            "path": path,
            "content": row.text("content"),
            "created_at": row.moment("created_at"),
            "updated_at": later(&row),
        })));
    }
    let mut records = Records::new();
    put(&mut records, "directories", directories);
    put(&mut records, "files", files);
    records
}

/// The app has no change before the beginning.
fn later(row: &Row) -> Option<String> {
    let (created, updated) = (row.moment("created_at"), row.moment("updated_at"));
    let updated =
        updated.filter(|updated| created.as_ref().is_none_or(|created| updated >= created));
    row.or_lost(updated, "updated_at", "before it was created")
}
