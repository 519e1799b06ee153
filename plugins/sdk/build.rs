//! Writes the people of the world as a constant table (`src/world.rs`).

use std::io;

use pibench_world::rust::{literal, moment};
use pibench_world::{Person, SEED, World, rust};

fn main() -> io::Result<()> {
    let row = |person: &Person| {
        let Person {
            first_name,
            last_name,
            email,
            phone_number,
            registered_at,
            ..
        } = person;
        let texts = [first_name, last_name, email, phone_number].map(|text| literal(text));
        let account = format!(
            "Account::of_world({}, {})",
            texts.join(", "),
            moment(*registered_at)
        );
        (rust::email(email), account)
    };
    let people = World::new(SEED).people;
    let rows = people.iter().map(row);
    rust::write(&rust::table("PEOPLE", "Email", "Account", rows))
}
