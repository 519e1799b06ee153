//! A suite's settings one by one: what the command line puts in the place of the file's, and where each effective value
//! comes from. What a value means, and whether it is a good one, is for the loader.

use std::fmt;
use std::str::FromStr;

use camino::Utf8Path;
use serde_json::Value;
use toml::Table;

use super::{Loader, SuiteFile, folder_and_name};
use crate::document::{Document, Report};
use crate::problem::{Problem, Problems};

/// A setting by its dotted key, as the command line puts it: `session.max_turns=5`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    text: String,
    path: Vec<String>,
    value: toml::Value,
}

impl FromStr for Assignment {
    type Err = String;

    /// A value that is no TOML is a text: `agent=nop` is `agent="nop"`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "want KEY=VALUE, such as session.max_turns=5";
        let (key, value) = text.split_once('=').ok_or(wanted)?;
        let path = path(key.trim()).ok_or_else(|| format!("`{key}` is no key; {wanted}"))?;
        let value = value.trim();
        let read = toml::from_str::<Table>(&format!("value = {value}")).ok();
        let read = read.filter(|table| table.len() == 1);
        let read = read.and_then(|mut table| table.remove("value"));
        Ok(Self {
            text: text.to_owned(),
            path,
            value: read.unwrap_or_else(|| value.into()),
        })
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The parts of a dotted key.
fn path(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r']) {
        return None;
    }
    let mut table: Table = toml::from_str(&format!("{key} = 0")).ok()?;
    let mut path = Vec::new();
    loop {
        let (key, value) = table.into_iter().next()?;
        path.push(key);
        match value {
            toml::Value::Table(inner) if inner.len() == 1 => table = inner,
            toml::Value::Integer(0) => return Some(path),
            _ => return None,
        }
    }
}

/// The suite file's text with these settings in it. Comments and places are lost.
pub(super) fn assigned(text: &str, set: &[Assignment]) -> Result<String, String> {
    let mut table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    for Assignment { path, value, .. } in set {
        put(&mut table, path, value);
    }
    toml::to_string(&table).map_err(|error| error.to_string())
}

fn put(table: &mut Table, path: &[String], value: &toml::Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value.clone());
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(first.clone())
                .or_insert_with(|| Table::new().into());
            if !inner.is_table() {
                // The schema says that this is no table.
                *inner = Table::new().into();
            }
            if let toml::Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// One effective setting of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Dotted.
    pub key: String,
    /// Null where nothing is set and there is no default.
    pub value: Value,
    pub from: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The line of the suite file.
    Line(usize),
    /// An assignment.
    Assigned(String),
}

/// Every setting of a suite file that is sound, in the order of the format: a table's one by one, a list as a whole.
pub fn settings(path: &Utf8Path, set: &[Assignment]) -> Result<Vec<Setting>, Problems> {
    let (folder, name) = folder_and_name(path);
    let failed = |message: String| Problems(vec![Problem::of_file(path, message)]);
    let source = Loader::open(folder)?.source(name).map_err(failed)?;
    let text = assigned(&source.text, set).map_err(failed)?;
    let file: SuiteFile = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let value = serde_json::to_value(file).map_err(|error| failed(error.to_string()))?;
    let mut report = Report::new(&source);
    let document = Document::parse(&source.text, &mut report);
    let Some(document) = document else {
        return Err(Problems(report.finish()));
    };
    let origin = |path: &[String]| {
        let mut assigned = set.iter().rev();
        if let Some(found) = assigned.find(|one| path.starts_with(&one.path)) {
            return Origin::Assigned(found.text.clone());
        }
        let place = path
            .iter()
            .fold(document.root(), |place, key| place.key(key));
        if place.is_there() {
            let before = source.text.get(..place.span().start).unwrap_or_default();
            Origin::Line(before.matches('\n').count() + 1)
        } else {
            Origin::Default
        }
    };
    let mut settings = Vec::new();
    leaves(&value, &mut Vec::new(), &mut |path, value| {
        settings.push(Setting {
            key: path.join("."),
            value: value.clone(),
            from: origin(path),
        });
    });
    Ok(settings)
}

fn leaves(value: &Value, path: &mut Vec<String>, found: &mut impl FnMut(&[String], &Value)) {
    let Value::Object(fields) = value else {
        return found(path, value);
    };
    for (key, value) in fields {
        path.push(key.clone());
        leaves(value, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> (Vec<String>, toml::Value) {
        let Assignment { path, value, .. } = text.parse().unwrap();
        (path, value)
    }

    #[test]
    fn an_assignment_is_a_dotted_key_and_a_value_of_toml_or_a_text() {
        let path =
            |parts: &[&str]| -> Vec<String> { parts.iter().map(|&part| part.into()).collect() };
        assert_eq!(
            parsed("session.max_turns=5"),
            (path(&["session", "max_turns"]), 5.into())
        );
        assert_eq!(parsed("agent = nop"), (path(&["agent"]), "nop".into()));
        assert_eq!(parsed("agent=\"nop\""), (path(&["agent"]), "nop".into()));
        assert_eq!(
            parsed("models.\"a.b\".price.input=0.5"),
            (path(&["models", "a.b", "price", "input"]), 0.5.into())
        );
        for bad in ["agent", "=1", "a b=1", "a..b=1", "[a]\nb=1"] {
            let read = bad.parse::<Assignment>();
            assert!(read.is_err(), "{bad}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}", file in "[a-z=\\[\\]\n\"0-9. ]{0,60}") {
            if let Ok(assignment) = text.parse::<Assignment>() {
                let _ = assigned(&file, &[assignment]);
            }
        }

        #[test]
        fn what_is_put_is_there_and_the_rest_stays(number in any::<i32>()) {
            let set = [format!("session.max_turns={number}").parse().unwrap()];
            let text = assigned("id = \"a\"\n[session]\nmax_iterations = 3\n", &set).unwrap();
            let table: Table = toml::from_str(&text).unwrap();
            prop_assert_eq!(table["id"].as_str(), Some("a"));
            prop_assert_eq!(table["session"]["max_iterations"].as_integer(), Some(3));
            prop_assert_eq!(table["session"]["max_turns"].as_integer(), Some(i64::from(number)));
        }
    }
}
