//! Writes the world's notes as a constant table (`src/world.rs`).

use std::io;

use pibench_world::rust::{email, list, moment, text};
use pibench_world::{Note, SEED, World, rust};

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let row = |(id, note): (u32, &Note)| {
        let row = format!(
            "Note {{ id: {id}, owner: {}, title: {}, content: {}, tags: {}, pinned: {}, created_at: {}, updated_at: {} }}",
            email(&world.people[note.owner].email),
            text(&note.title),
            text(&note.content),
            list(note.tags.iter().map(|tag| text(tag))),
            note.pinned,
            moment(note.created_at),
            moment(note.updated_at),
        );
        (id, row)
    };
    let notes = world.notes();
    let rows = (1..).zip(&notes).map(row);
    rust::write(&rust::table("NOTES", "u32", "Note", rows))
}
