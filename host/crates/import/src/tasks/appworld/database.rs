//! One database, read only and held in memory, with an account of what was looked at. A stranger wrote it: no view,
//! trigger, virtual table or extension of it runs, what is read is bounded, and no other file is opened.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB};

use super::row::{Losses, Row};

/// Rows of one table.
const ROW_LIMIT: usize = 500_000;

/// Bytes of one value.
const VALUE_LIMIT: i32 = 16 << 20;

/// Steps of the database's machine between two looks, and how many looks one query has: some seconds.
const STEPS: i32 = 1_000_000;
const LOOKS: u32 = 2_000;

/// A table as the database describes it.
#[derive(Debug)]
struct Table {
    columns: Vec<String>,
    /// Whether its rows have ids of their own, by which they can be put in order.
    numbered: bool,
}

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    tables: BTreeMap<String, Table>,
    /// What was read, by table.
    used: BTreeMap<String, BTreeSet<String>>,
    /// Rows that were not taken, by table and reason.
    skipped: BTreeMap<(String, &'static str), usize>,
    losses: Losses,
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
            losses: Losses::default(),
            broken: None,
        };
        database.tables = database.read_tables()?;
        Ok(database)
    }

    /// Ordinary tables only, by what the database says of itself.
    fn read_tables(&self) -> rusqlite::Result<BTreeMap<String, Table>> {
        let names = "SELECT name, wr FROM pragma_table_list \
            WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%'";
        let mut statement = self.connection.prepare(names)?;
        let names: Vec<(String, bool)> = statement
            .query_map([], |row| Ok((row.get(0)?, !row.get::<_, bool>(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut tables = BTreeMap::new();
        for (name, numbered) in names {
            // Generated columns among them, whose expressions have the limits of every query.
            let mut columns = self
                .connection
                .prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1")?;
            let columns: Vec<String> = columns
                .query_map([&name], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            tables.insert(name, Table { columns, numbered });
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
            .filter(|column| {
                self.tables[&table]
                    .columns
                    .iter()
                    .any(|known| known == column)
            })
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
        let all = list.join(", ");
        let order = match self.tables.get(table) {
            _ if columns.contains(&"id") => "\"id\"",
            Some(table) if !table.numbered => &all,
            _ => "rowid",
        };
        let query = format!(
            "SELECT {all} FROM {} ORDER BY {order} LIMIT {}",
            quoted(table),
            ROW_LIMIT + 1
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        let name: Rc<str> = table.into();
        while let Some(row) = rows.next()? {
            if found.len() == ROW_LIMIT {
                return Err(rusqlite::Error::ToSqlConversionFailure(
                    format!("more than {ROW_LIMIT} rows").into(),
                ));
            }
            let mut values = Row::new(&name, found.len(), &self.losses);
            for (place, column) in columns.iter().enumerate() {
                values.take(column, row.get_ref(place)?);
            }
            found.push(values);
        }
        Ok(found)
    }

    /// Columns that say nothing of their own: they follow from others, or only count.
    pub(super) fn mark_derived(&mut self, name: &str, columns: &[&str]) {
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
        for ((table, column, reason), rows) in self.losses.borrow().iter() {
            let count = rows.len();
            lines.push(format!(
                "table `{table}`, column `{column}`: {count} values: {reason}"
            ));
        }
        for (table, Table { columns, .. }) in &self.tables {
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
