//! The world's rows as Rust source, for build scripts that write them into a component.

use std::fmt::{Display, Write as _};

use jiff::civil::{Date, DateTime};

/// A string literal.
pub fn literal(text: &str) -> String {
    format!("{text:?}")
}

/// A `Text`.
pub fn text(text: &str) -> String {
    format!("Text::constant({text:?})")
}

/// An `Email`.
pub fn email(address: &str) -> String {
    format!("Email::constant({address:?})")
}

/// `Some` or `None` of a value that is source already.
pub fn option(value: Option<String>) -> String {
    value.map_or_else(|| "None".to_owned(), |value| format!("Some({value})"))
}

/// A `List` of values that are source already.
pub fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let mut list = "List::constant(const { &[".to_owned();
    for value in values {
        let _ = write!(list, "{value}, ");
    }
    list + "] })"
}

/// A `DateTime`.
pub fn moment(moment: DateTime) -> String {
    let (year, month, day) = (moment.year(), moment.month(), moment.day());
    let (hour, minute, second) = (moment.hour(), moment.minute(), moment.second());
    format!("datetime({year}, {month}, {day}, {hour}, {minute}, {second}, 0)")
}

/// A `Date`.
pub fn day(day: Date) -> String {
    format!("date({}, {}, {})", day.year(), day.month(), day.day())
}

/// A table of rows with their keys, both source already. The keys must ascend.
pub fn table<K: Display>(
    name: &str,
    key: &str,
    row: &str,
    rows: impl IntoIterator<Item = (K, String)>,
) -> String {
    let mut table = format!("pub(crate) static {name}: &[({key}, {row})] = &[\n");
    for (key, row) in rows {
        let _ = writeln!(table, "    ({key}, {row}),");
    }
    table + "];\n"
}

/// Writes a build script's source to where the crate includes it, and says that it follows from nothing in the crate's
/// own folder but the script.
pub fn write(source: &str) -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(std::path::Path::new(&folder).join("world.rs"), source)
}
