//! One database, read only and held in memory, with an account of what was looked at. A stranger wrote it: no view,
//! trigger, virtual table or extension of it runs, what is read is bounded, and no other file is opened.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB};
use serde_json::{Number, Value};

/// Rows of one table.
const ROW_LIMIT: usize = 500_000;

/// Bytes of one value.
const VALUE_LIMIT: i32 = 16 << 20;

/// Steps of the database's machine between two looks, and how many looks one query has: some seconds.
const STEPS: i32 = 1_000_000;
const LOOKS: u32 = 2_000;

/// One row: the columns that are there.
#[derive(Debug)]
pub(super) struct Row(BTreeMap<&'static str, Value>);

impl Row {
    pub(super) fn id(&self) -> Option<i64> {
        self.integer("id")
    }

    pub(super) fn integer(&self, column: &str) -> Option<i64> {
        self.0.get(column)?.as_i64()
    }

    pub(super) fn text(&self, column: &str) -> Option<String> {
        match self.0.get(column)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            // SQLite keeps what looks like a number as one.
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        self.integer(column).is_some_and(|flag| flag != 0)
    }

    /// The value as it is; null where there is none.
    pub(super) fn value(&self, column: &str) -> Value {
        self.0.get(column).cloned().unwrap_or_default()
    }

    /// A moment as records have it: `2026-02-27T18:00:00`.
    pub(super) fn moment(&self, column: &str) -> Option<String> {
        let text = self.text(column)?;
        let text = text.replacen(' ', "T", 1);
        let moment: DateTime = text.parse().ok()?;
        Some(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }

    /// A day: `2026-02-27`.
    pub(super) fn day(&self, column: &str) -> Option<String> {
        let moment = self.moment(column)?;
        moment.split('T').next().map(str::to_owned)
    }

    /// A list that is kept as JSON.
    pub(super) fn list(&self, column: &str) -> Vec<Value> {
        let Some(Value::String(text)) = self.0.get(column) else {
            return Vec::new();
        };
        match serde_json::from_str(text) {
            Ok(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    pub(super) fn integers(&self, column: &str) -> Vec<i64> {
        self.list(column).iter().filter_map(Value::as_i64).collect()
    }
}

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    /// Columns by table.
    tables: BTreeMap<String, Vec<String>>,
    /// What was read, by table.
    used: BTreeMap<String, BTreeSet<String>>,
    /// Rows that were not taken, by table and reason.
    skipped: BTreeMap<(String, &'static str), usize>,
    broken: Option<String>,
}

impl Database {
    pub(super) fn open(content: &[u8]) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_LIMIT)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        let mut looks = 0;
        connection.progress_handler(
            STEPS,
            Some(move || {
                looks += 1;
                looks > LOOKS
            }),
        )?;
        let mut content = content.to_vec();
        // A database that was written with a log beside it says so here (SQLite's file format, section 1.3.3); in memory
        // there is none.
        for version in content
            .iter_mut()
            .skip(18)
            .take(2)
            .filter(|version| **version == 2)
        {
            *version = 1;
        }
        connection.deserialize_read_exact(MAIN_DB, &content[..], content.len(), true)?;
        let mut database = Self {
            connection,
            tables: BTreeMap::new(),
            used: BTreeMap::new(),
            skipped: BTreeMap::new(),
            broken: None,
        };
        database.tables = database.read_tables()?;
        Ok(database)
    }

    /// Ordinary tables only, by what the database says of itself.
    fn read_tables(&self) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
        let names = "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%'";
        let mut statement = self.connection.prepare(names)?;
        let names: Vec<String> = statement
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut tables = BTreeMap::new();
        for name in names {
            let mut columns = self
                .connection
                .prepare("SELECT name FROM pragma_table_info(?1)")?;
            let columns: Vec<String> = columns
                .query_map([&name], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            tables.insert(name, columns);
        }
        Ok(tables)
    }

    /// The table by this name, or by it in the plural.
    fn table(&self, name: &str) -> Option<String> {
        let plural = match name.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if name.ends_with('s') => format!("{name}es"),
            None => format!("{name}s"),
        };
        let names = self.tables.keys();
        names
            .clone()
            .find(|table| table.eq_ignore_ascii_case(name) || table.eq_ignore_ascii_case(&plural))
            .cloned()
    }

    /// Every row of a table in the order of its ids, with these of its columns; nothing where there is no such table.
    pub(super) fn rows(&mut self, name: &str, wanted: &[&'static str]) -> Vec<Row> {
        let Some(table) = self.table(name) else {
            return Vec::new();
        };
        let columns: Vec<&'static str> = wanted
            .iter()
            .copied()
            .filter(|column| self.tables[&table].iter().any(|known| known == column))
            .collect();
        let used = self.used.entry(table.clone()).or_default();
        used.extend(columns.iter().map(|column| (*column).to_owned()));
        match self.select(&table, &columns) {
            Ok(rows) => rows,
            Err(error) => {
                self.broken
                    .get_or_insert_with(|| format!("table `{table}` cannot be read: {error}"));
                Vec::new()
            }
        }
    }

    fn select(&self, table: &str, columns: &[&'static str]) -> rusqlite::Result<Vec<Row>> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let list: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let order = if columns.contains(&"id") {
            "\"id\""
        } else {
            "rowid"
        };
        let query = format!(
            "SELECT {} FROM {} ORDER BY {order} LIMIT {}",
            list.join(", "),
            quoted(table),
            ROW_LIMIT + 1
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if found.len() == ROW_LIMIT {
                return Err(rusqlite::Error::ToSqlConversionFailure(
                    format!("more than {ROW_LIMIT} rows").into(),
                ));
            }
            let mut values = BTreeMap::new();
            for (place, column) in columns.iter().enumerate() {
                values.insert(*column, value(row.get_ref(place)?));
            }
            found.push(Row(values));
        }
        Ok(found)
    }

    /// Columns that say nothing of their own: they follow from others, or only count.
    pub(super) fn derived(&mut self, name: &str, columns: &[&str]) {
        if let Some(table) = self.table(name) {
            let used = self.used.entry(table).or_default();
            used.extend(columns.iter().map(|column| (*column).to_owned()));
        }
    }

    /// A row was not taken.
    pub(super) fn skip(&mut self, name: &str, reason: &'static str) {
        let table = self.table(name).unwrap_or_else(|| name.to_owned());
        *self.skipped.entry((table, reason)).or_default() += 1;
    }

    /// What has not been taken, and what could not be read.
    pub(super) fn finish(self) -> (Vec<String>, Option<String>) {
        let mut lines = Vec::new();
        for ((table, reason), count) in &self.skipped {
            lines.push(format!("table `{table}`: {count} rows: {reason}"));
        }
        for (table, columns) in &self.tables {
            let Some(used) = self.used.get(table) else {
                match self.count(table, "") {
                    Ok(0) => {}
                    Ok(count) => lines.push(format!(
                        "table `{table}`: {count} rows: no app has a place for them"
                    )),
                    Err(error) => lines.push(format!("table `{table}`: {error}")),
                }
                continue;
            };
            for column in columns.iter().filter(|column| !used.contains(*column)) {
                // What stands at nothing says nothing.
                let filter = format!(
                    " WHERE {0} IS NOT NULL AND {0} NOT IN ('', 0, '[]', '{{}}', 'null')",
                    quoted(column)
                );
                match self.count(table, &filter) {
                    Ok(0) => {}
                    Ok(count) => lines.push(format!(
                        "table `{table}`, column `{column}`: {count} values: no app has a place for them"
                    )),
                    Err(error) => {
                        lines.push(format!("table `{table}`, column `{column}`: {error}"));
                    }
                }
            }
        }
        (lines, self.broken)
    }

    fn count(&self, table: &str, filter: &str) -> rusqlite::Result<i64> {
        let query = format!("SELECT COUNT(*) FROM {}{filter}", quoted(table));
        self.connection.query_row(&query, [], |row| row.get(0))
    }
}

/// A name as SQL takes any.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}
