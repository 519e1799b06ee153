//! A suite's settings one by one: what the command line puts in the place of the file's, and where each effective value
//! comes from. What a value means, and whether it is a good one, is for the loader.

use camino::Utf8Path;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::Table;

use super::{Loader, SuiteFile, folder_and_name};
use crate::assignment::Assignment;
use crate::problem::{Problem, Problems, Report, place};
use crate::suite::Suite;
use crate::toml_file::Document;
use pibench_core::vocabulary::Ablation;

/// A setting that has an option of its own.
#[derive(Debug)]
pub struct Choice {
    /// The option's name, without its dashes.
    pub option: &'static str,
    /// The setting's dotted key.
    pub key: &'static str,
    put: fn(&mut Suite, Value) -> serde_json::Result<()>,
}

/// Every setting that has an option of its own. Options come after `--set`.
#[rustfmt::skip]
pub const OPTIONS: [Choice; 14] = [
    Choice { option: "agent", key: "agent", put: |suite, value| put_on(&mut suite.agent, value) },
    Choice { option: "user", key: "user", put: |suite, value| put_on(&mut suite.user, value) },
    Choice { option: "judge", key: "judge", put: |suite, value| put_on(&mut suite.judge, value) },
    Choice { option: "persona", key: "filter.personas", put: |suite, value| put_on(&mut suite.filter.personas, value) },
    Choice { option: "session", key: "filter.sessions", put: |suite, value| put_on(&mut suite.filter.sessions, value) },
    Choice { option: "runs", key: "runs", put: |suite, value| put_on(&mut suite.runs, value) },
    Choice { option: "jobs", key: "jobs", put: |suite, value| put_on(&mut suite.jobs, value) },
    Choice { option: "memory", key: "memory", put: |suite, value| put_on(&mut suite.memory, value) },
    Choice { option: "protocol", key: "protocol", put: |suite, value| put_on(&mut suite.protocol, value) },
    Choice { option: "scaffold", key: "scaffold", put: |suite, value| put_on(&mut suite.scaffold, value) },
    Choice { option: SCAFFOLD_PROMPT, key: "scaffold_prompt", put: |suite, value| put_on(&mut suite.scaffold_prompt, value) },
    Choice { option: "seed", key: "seed", put: |suite, value| put_on(&mut suite.seed, value) },
    Choice { option: "policy", key: "policy", put: |suite, value| {
        let mut path = String::new();
        put_on(&mut path, value)?;
        suite.policy = Some(path.into());
        Ok(())
    } },
    Choice { option: "ablate", key: "ablate", put: |suite, value| {
        let mut ablate: Option<Ablation> = None;
        if value != "none" {
            put_on(&mut ablate, value)?;
        }
        suite.ablate = ablate;
        Ok(())
    } },
];

/// The option that names the wording of the agent's system prompt.
pub const SCAFFOLD_PROMPT: &str = "scaffold-prompt";

fn put_on<T: DeserializeOwned>(setting: &mut T, value: Value) -> serde_json::Result<()> {
    *setting = serde_json::from_value(value)?;
    Ok(())
}

impl Suite {
    /// Puts what options say on it; assignments to the file are in it already. It remembers both. The error names the option
    /// whose value cannot be that of its setting.
    pub fn put(&mut self, assignments: &[Assignment]) -> Result<(), String> {
        for assignment in assignments {
            if let Assignment::Chosen { option, value } = assignment {
                let choice = OPTIONS.iter().find(|choice| choice.option == *option);
                let put = choice.ok_or_else(|| format!("there is no option --{option}"))?;
                (put.put)(self, value.clone())
                    .map_err(|error| format!("use --{option} {value}: {error}"))?;
            }
            self.assigned.push(assignment.clone());
        }
        Ok(())
    }

    /// Whether this option was given.
    pub fn has_option(&self, option: &str) -> bool {
        self.assigned.iter().any(|one| one.is_of(option))
    }
}

/// The suite file's text with these settings in it. Comments and places are lost.
pub(super) fn assigned(text: &str, set: &[Assignment]) -> Result<String, String> {
    // The file may be one that a stranger's record names: nothing of it is quoted.
    let mut table: Table = toml::from_str(text).map_err(|error| {
        let place = place(text, error.span());
        format!("{place}: it is no TOML")
    })?;
    for assignment in set {
        if let Assignment::Set { path, value, .. } = assignment {
            put(&mut table, path, value);
        }
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
    /// A `--set`.
    Assigned(String),
    /// An option of its own.
    Chosen(&'static str),
}

/// Every setting of a suite file that is sound, in the order of the format: a table's one by one, a list as a whole. The value
/// is the file's and that of `--set`: what an option makes of it stands in the suite.
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
        let key = path.join(".");
        let choice = OPTIONS.iter().find(|choice| choice.key == key);
        if let Some(choice) = choice.filter(|choice| set.iter().any(|one| one.is_of(choice.option)))
        {
            return Origin::Chosen(choice.option);
        }
        let assigned = set.iter().rev().find_map(|one| match one {
            Assignment::Set {
                text, path: put, ..
            } if path.starts_with(put) => Some(text),
            _ => None,
        });
        if let Some(text) = assigned {
            return Origin::Assigned(text.clone());
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
        match text.parse().unwrap() {
            Assignment::Set { path, value, .. } => (path, value),
            chosen @ Assignment::Chosen { .. } => panic!("{chosen:?}"),
        }
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
