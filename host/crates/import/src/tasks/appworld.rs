//! Databases of an AppWorld-like installation, one file of `SQLite` per app (`gmail.db`, `amazon.db`, ...), as people and
//! records of our apps. What our apps have no place for is counted, table by table and column by column; a table or a
//! column that is not there is no error, for installations differ. It knows names of tables and columns and holds no data.

mod amazon;
mod database;
mod file_system;
mod gmail;
mod opening;
mod phone;
mod row;
mod simple_note;
mod splitwise;
mod spotify;
mod todoist;

use std::collections::{BTreeMap, HashMap};

use camino::Utf8Path;
use serde_json::{Map, Value, json};

use self::database::Database;
pub use self::opening::OpenApp;
use self::row::Row;
use pibench_suite::manifest::Person;
use pibench_suite::pack::{Pack, ReadError};
use pibench_suite::problem::Problem;

/// Bytes of one database.
const FILE_LIMIT: u64 = 256 << 20;

/// What `SQLite` keeps beside a database: changes that are not in it yet, and an index of them.
const LOGS: [&str; 2] = ["-wal", "-journal"];
const INDEX: &str = "-shm";

/// The records of an app, as its seed has them.
type Records = Map<String, Value>;

/// Makes records out of an app's tables.
type Reader = fn(&mut Database, &Users) -> Records;

/// The apps, in the order in which people are collected from them: phones, which have no addresses, come last.
const APPS: [(&str, Reader); 8] = [
    ("gmail", gmail::records),
    ("amazon", amazon::records),
    ("file_system", file_system::records),
    ("simple_note", simple_note::records),
    ("splitwise", splitwise::records),
    ("spotify", spotify::records),
    ("todoist", todoist::records),
    ("phone", phone::records),
];

/// What the databases hold for us.
#[derive(Debug, Default)]
pub(super) struct Seed {
    pub(super) people: Vec<Person>,
    /// By app.
    pub(super) apps: BTreeMap<String, Value>,
    /// What has no place here, one line each.
    pub(super) left_out: Vec<String>,
}

/// The apps that databases are read of.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    APPS.iter().map(|(app, _)| *app)
}

/// Reads every database of a folder that one of our apps has the name of.
pub(super) fn read(dir: &Utf8Path) -> Result<Seed, Box<Problem>> {
    let mut pack = Pack::open(dir).map_err(|error| {
        let message = format!("cannot open the folder: {error}");
        Box::new(Problem::of_file(dir, message))
    })?;
    let problem =
        |path: &str, message: String| Box::new(Problem::of_file(&dir.join(path), message));
    let mut seed = Seed::default();
    let mut people = People::default();
    for (app, records) in APPS {
        let file = format!("{app}.db");
        let content = match pack.read(&file, FILE_LIMIT) {
            Ok(content) => content,
            Err(ReadError::Missing(_)) => {
                seed.left_out
                    .push(format!("{file}: there is none; the app starts empty"));
                continue;
            }
            Err(error) => return Err(problem(&file, format!("cannot {error}"))),
        };
        if content.is_empty() {
            return Err(problem(
                &file,
                "the file is empty, so no database".to_owned(),
            ));
        }
        for ending in LOGS {
            let log = format!("{file}{ending}");
            if !matches!(pack.read(&log, 0), Ok(_) | Err(ReadError::Missing(_))) {
                let help = format!(
                    "close the program that writes it, and put them in: sqlite3 {file} 'PRAGMA wal_checkpoint(TRUNCATE)'"
                );
                let what = format!("holds changes that are not in `{file}` yet");
                return Err(Box::new(problem(&log, what).help(help)));
            }
        }
        let mut database =
            Database::open(&content).map_err(|reason| problem(&file, reason.to_string()))?;
        let users = people.of_app(app, &mut database);
        let found = records(&mut database, &users);
        let (rest, broken) = database.finish();
        if let Some(broken) = broken {
            return Err(problem(&file, broken));
        }
        seed.left_out
            .extend(rest.into_iter().map(|line| format!("{file}: {line}")));
        if !found.is_empty() {
            seed.apps.insert(app.to_owned(), Value::Object(found));
        }
    }
    if seed.apps.is_empty() && people.all.is_empty() {
        let names: Vec<String> = APPS.iter().map(|(app, _)| format!("{app}.db")).collect();
        let message = format!("no database of an app: {}", names.join(", "));
        return Err(Box::new(Problem::of_file(dir, message)));
    }
    let names = pack.names("").unwrap_or_default();
    let of_app = |name: &str| {
        let endings = LOGS.into_iter().chain([INDEX, ""]);
        let mut bases = endings.filter_map(|ending| name.strip_suffix(ending));
        bases.any(|base| {
            let app = base.strip_suffix(".db");
            app.is_some_and(|app| APPS.iter().any(|(known, _)| *known == app))
        })
    };
    for name in names.iter().filter(|name| !of_app(name)) {
        seed.left_out
            .push(format!("{name}: there is no app of that name"));
    }
    seed.people = people.all;
    Ok(seed)
}

/// The people of all databases: the same address is the same person.
#[derive(Debug, Default)]
struct People {
    all: Vec<Person>,
    /// Places by address, and by first and last name.
    by_email: HashMap<String, usize>,
    by_name: HashMap<(String, String), Vec<usize>>,
}

impl People {
    /// The users of one app, who join the others.
    fn of_app(&mut self, app: &str, database: &mut Database) -> Users {
        let mut users = Users::default();
        database.mark_derived("user", &["last_logged_in", "search_text"]);
        for row in database.rows("user", &USER) {
            let (Some(first_name), Some(last_name)) =
                (row.text("first_name"), row.text("last_name"))
            else {
                database.skip("user", "no name");
                continue;
            };
            let number = row.text("phone_number");
            if let (Some(id), Some(number)) = (row.id(), &number) {
                users.numbers.insert(id, number.clone());
            }
            let email = row.text("email").or_else(|| {
                let name = (first_name.clone(), last_name.clone());
                // Of two people with one name nobody knows whose phone it is.
                match self.by_name.get(&name).map(Vec::as_slice) {
                    Some([place]) => Some(self.all[*place].email.clone()),
                    _ => None,
                }
            });
            let Some(email) = email.filter(|email| email.contains('@')) else {
                database.skip("user", "no address, and nobody of that name in another app");
                continue;
            };
            let email = email.trim().to_lowercase();
            let person = self.person(&email, first_name, last_name);
            if person.phone_number.is_none() {
                person.phone_number = number;
            }
            if let Some(password) = row.text("password") {
                person.passwords.insert(app.to_owned(), password);
            }
            if let Some(id) = row.id() {
                users.emails.insert(id, email);
            }
        }
        users
    }

    fn person(&mut self, email: &str, first_name: String, last_name: String) -> &mut Person {
        let place = self.by_email.get(email).copied().unwrap_or_else(|| {
            let place = self.all.len();
            self.by_email.insert(email.to_owned(), place);
            let name = (first_name.clone(), last_name.clone());
            self.by_name.entry(name).or_default().push(place);
            self.all.push(Person {
                first_name,
                last_name,
                email: email.to_owned(),
                phone_number: None,
                password: None,
                passwords: BTreeMap::new(),
            });
            place
        });
        &mut self.all[place]
    }
}

/// The columns of every app's users that accounts have a place for.
const USER: [&str; 6] = [
    "id",
    "first_name",
    "last_name",
    "email",
    "phone_number",
    "password",
];

/// Whom the rows of an app name.
#[derive(Debug, Default)]
struct Users {
    emails: BTreeMap<i64, String>,
    numbers: BTreeMap<i64, String>,
}

impl Users {
    /// The address of the user in a column.
    fn email(&self, row: &Row, column: &str) -> Option<Value> {
        let id = row.integer(column)?;
        self.emails.get(&id).map(|email| json!(email))
    }

    /// The addresses of the users in a list.
    fn emails(&self, row: &Row, column: &str) -> Vec<Value> {
        let ids = row.integers(column);
        let known = ids.iter().filter_map(|id| self.emails.get(id));
        let known: Vec<Value> = known.map(|email| json!(email)).collect();
        if known.len() < ids.len() {
            row.note_loss(column, "not whole: somebody without an account");
        }
        known
    }
}

/// An object without its nulls: what is not given stays at the app's default.
fn record(fields: Value) -> Value {
    match fields {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            Value::Object(fields)
        }
        other => other,
    }
}

/// Puts a list into the records, unless it is empty.
fn put(records: &mut Records, list: &str, items: Vec<Value>) {
    if !items.is_empty() {
        records.insert(list.to_owned(), Value::Array(items));
    }
}

/// What records call a row of a table.
fn key(table: &str, id: i64) -> String {
    format!("{table}-{id}")
}
