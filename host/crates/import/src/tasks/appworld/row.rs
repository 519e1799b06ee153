//! One row of a table, and an account of what of it is lost: every value that is there and is not read as it stands is
//! counted by its column. It reads no database.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use rusqlite::types::ValueRef;
use serde_json::{Number, Value};

/// What was lost: rows by table, column and reason. A value that is looked at twice is lost once.
pub(super) type Losses = Rc<RefCell<BTreeMap<(Rc<str>, String, &'static str), BTreeSet<usize>>>>;

/// One row: the columns that are there.
#[derive(Debug)]
pub(super) struct Row {
    table: Rc<str>,
    number: usize,
    values: BTreeMap<&'static str, Value>,
    losses: Losses,
}

impl Row {
    pub(super) fn new(table: &Rc<str>, number: usize, losses: &Losses) -> Self {
        Self {
            table: Rc::clone(table),
            number,
            values: BTreeMap::new(),
            losses: Rc::clone(losses),
        }
    }

    /// Takes a value as the database has it.
    pub(super) fn take(&mut self, column: &'static str, value: ValueRef<'_>) {
        let value = match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => Number::from_f64(number).map_or_else(
                || {
                    self.note_loss(column, "no finite number");
                    Value::Null
                },
                Value::Number,
            ),
            ValueRef::Text(text) => {
                if std::str::from_utf8(text).is_err() {
                    self.note_loss(column, "changed: not UTF-8");
                }
                String::from_utf8_lossy(text).into_owned().into()
            }
            ValueRef::Blob(_) => {
                self.note_loss(column, "bytes and no text");
                Value::Null
            }
        };
        self.values.insert(column, value);
    }

    /// A value of this row is dropped or changed.
    pub(super) fn note_loss(&self, column: &str, reason: &'static str) {
        let key = (Rc::clone(&self.table), column.to_owned(), reason);
        self.losses
            .borrow_mut()
            .entry(key)
            .or_default()
            .insert(self.number);
    }

    /// Passes `value` on; where there is none although the column says something, that is lost.
    pub(super) fn or_lost<T>(
        &self,
        value: Option<T>,
        column: &str,
        reason: &'static str,
    ) -> Option<T> {
        if value.is_none() && self.says(column) {
            self.note_loss(column, reason);
        }
        value
    }

    /// Whether something stands in a column.
    fn says(&self, column: &str) -> bool {
        match self.values.get(column) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        }
    }

    pub(super) fn id(&self) -> Option<i64> {
        self.integer("id")
    }

    pub(super) fn integer(&self, column: &str) -> Option<i64> {
        let number = match self.values.get(column)? {
            Value::String(text) => text.parse().ok().filter(|n: &i64| n.to_string() == *text),
            value => value.as_i64().or_else(|| whole(value.as_f64()?)),
        };
        self.or_lost(number, column, "no whole number")
    }

    /// A whole number that the app takes: one outside of it becomes the nearest.
    pub(super) fn within(&self, column: &str, least: i64, most: i64) -> Option<i64> {
        let number = self.integer(column)?;
        if !(least..=most).contains(&number) {
            self.note_loss(column, "changed to the nearest that the app takes");
        }
        Some(number.clamp(least, most))
    }

    pub(super) fn number(&self, column: &str) -> Option<f64> {
        let number = match self.values.get(column)? {
            Value::String(text) => text.parse().ok().filter(|n: &f64| n.is_finite()),
            value => value.as_f64(),
        };
        self.or_lost(number, column, "no number")
    }

    pub(super) fn text(&self, column: &str) -> Option<String> {
        match self.values.get(column)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            // SQLite keeps what looks like a number as one.
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// One of some words, in small letters.
    pub(super) fn word(&self, column: &str, known: &[&str]) -> Option<String> {
        let word = self.text(column)?.to_lowercase();
        let word = known.contains(&word.as_str()).then_some(word);
        self.or_lost(word, column, "a word that the app does not have")
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        match self.text(column).as_deref() {
            Some("true") => true,
            Some("false") => false,
            _ => self.integer(column).is_some_and(|flag| flag != 0),
        }
    }

    fn civil(&self, column: &str) -> Option<DateTime> {
        let text = self.text(column)?.replacen(' ', "T", 1);
        if text.parse::<Timestamp>().is_ok() {
            self.note_loss(column, "changed: its offset from UTC is not kept");
        }
        // Without the offset: apps know the time of their users alone.
        let moment = text.trim_end_matches(['Z', 'z']).parse();
        self.or_lost(moment.ok(), column, "no moment")
    }

    /// A moment as records have it: `2026-02-27T18:00:00`.
    pub(super) fn moment(&self, column: &str) -> Option<String> {
        let moment = self.civil(column)?;
        Some(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }

    /// A day: `2026-02-27`.
    pub(super) fn day(&self, column: &str) -> Option<String> {
        let moment = self.civil(column)?;
        if moment.time() != jiff::civil::Time::midnight() {
            self.note_loss(column, "changed: its time of day is not kept");
        }
        Some(moment.strftime("%Y-%m-%d").to_string())
    }

    /// A list that is kept as JSON.
    pub(super) fn list(&self, column: &str) -> Vec<Value> {
        let items = match self.values.get(column) {
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(items)) => Some(items),
                Ok(Value::Null) => return Vec::new(),
                _ => None,
            },
            _ => None,
        };
        self.or_lost(items, column, "no list in JSON")
            .unwrap_or_default()
    }

    pub(super) fn integers(&self, column: &str) -> Vec<i64> {
        let items = self.list(column);
        let numbers: Vec<i64> = items.iter().filter_map(Value::as_i64).collect();
        if numbers.len() < items.len() {
            self.note_loss(column, "not whole: an item is no number");
        }
        numbers
    }
}

/// A float without a fraction, where it is exact.
fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "in range")]
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text is read as, and why it is lost.
    fn read<T>(text: &str, how: impl Fn(&Row) -> T) -> (T, Option<&'static str>) {
        let losses = Losses::default();
        let mut row = Row::new(&"t".into(), 0, &losses);
        row.take("c", ValueRef::Text(text.as_bytes()));
        let read = how(&row);
        let lost = losses.borrow().keys().next().map(|(_, _, reason)| *reason);
        (read, lost)
    }

    #[test]
    fn a_value_that_is_not_read_as_it_stands_is_counted() {
        let moment = |text: &str| read(text, |row| row.moment("c").unwrap_or_default());
        assert_eq!(
            moment("2026-01-02 03:04:05.678"),
            ("2026-01-02T03:04:05".into(), None)
        );
        assert_eq!(moment("2026-01-02"), ("2026-01-02T00:00:00".into(), None));
        assert_eq!(moment(""), (String::new(), None));
        assert_eq!(moment("soon"), (String::new(), Some("no moment")));
        for text in ["2026-01-02 03:04:05+02:00", "2026-01-02T03:04:05Z"] {
            assert_eq!(
                moment(text),
                (
                    "2026-01-02T03:04:05".into(),
                    Some("changed: its offset from UTC is not kept")
                )
            );
        }
        let day = |text: &str| read(text, |row| row.day("c").unwrap_or_default());
        assert_eq!(day("1990-05-12 00:00:00"), ("1990-05-12".into(), None));
        assert_eq!(
            day("1990-05-12 10:00:00"),
            (
                "1990-05-12".into(),
                Some("changed: its time of day is not kept")
            )
        );
        let integer = |text: &str| read(text, |row| row.integer("c"));
        assert_eq!(integer("12"), (Some(12), None));
        assert_eq!(integer("02134"), (None, Some("no whole number")));
        assert_eq!(
            read("[1, \"x\"]", |row| row.integers("c")),
            (vec![1], Some("not whole: an item is no number"))
        );
        assert_eq!(
            read("[1,", |row| row.list("c")),
            (Vec::new(), Some("no list in JSON"))
        );
        assert_eq!(
            read("99", |row| row.within("c", 0, 60)),
            (Some(60), Some("changed to the nearest that the app takes"))
        );
    }
}
