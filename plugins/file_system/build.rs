//! Writes the world's files as constant tables (`src/world.rs`): for everybody a root, in it `home`, in that the home
//! directory, and in that what the generator made.

use std::collections::BTreeMap;
use std::io;

use pibench_world::rust::{email, list, literal, moment, table, text};
use pibench_world::{Home, Person, SEED, World, rust};

/// Ids count from 1; a directory holds the ids of its entries by name.
#[derive(Default)]
struct Entries(Vec<Entry>);

struct Entry {
    content: Option<String>,
    names: BTreeMap<String, usize>,
    created_at: String,
}

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let mut entries = Entries::default();
    let roots: Vec<(String, String)> = world
        .homes()
        .iter()
        .map(|home| entries.add_home(&world.people[home.owner], home))
        .collect();
    let rows = (1..)
        .zip(&entries.0)
        .map(|(id, entry)| (id, row(id, entry)));
    let source = [
        table("ENTRIES", "u32", "Entry", rows),
        table("ROOTS", "Email", "Roots", roots),
    ];
    rust::write(&source.concat())
}

impl Entries {
    fn add_home(&mut self, person: &Person, home: &Home) -> (String, String) {
        let registered_at = moment(person.registered_at);
        let root = self.add(None, &registered_at);
        let homes = self.insert(root, "home", None, &registered_at);
        // As the app names it: the first name in lower case.
        let name = person.first_name.to_lowercase();
        let own = self.insert(homes, &name, None, &registered_at);
        let mut places = BTreeMap::from([("", own)]);
        for entry in &home.entries {
            let (around, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            let created_at = moment(entry.created_at);
            let id = self.insert(places[around], name, entry.content.as_deref(), &created_at);
            places.insert(&entry.path, id);
        }
        let roots = format!("Roots {{ root: {root}, home: {own} }}");
        (email(&person.email), roots)
    }

    fn insert(&mut self, around: usize, name: &str, content: Option<&str>, at: &str) -> usize {
        let id = self.add(content.map(str::to_owned), at);
        self.0[around - 1].names.insert(name.to_owned(), id);
        id
    }

    fn add(&mut self, content: Option<String>, created_at: &str) -> usize {
        self.0.push(Entry {
            content,
            names: BTreeMap::new(),
            created_at: created_at.to_owned(),
        });
        self.0.len()
    }
}

fn row(id: usize, entry: &Entry) -> String {
    let names = entry.names.iter();
    let content = match &entry.content {
        Some(content) => format!("File({})", text(content)),
        None => format!(
            "Directory(Names({}))",
            list(names.map(|(name, id)| format!("(Text::constant({}), {id})", literal(name))))
        ),
    };
    let at = &entry.created_at;
    format!(
        "Entry {{ id: {id}, content: Content::{content}, dates: Dates {{ created_at: {at}, updated_at: {at} }} }}"
    )
}
