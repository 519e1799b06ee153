//! What the command line puts in the place of a setting, as it is written. What a value means is for the loader.

use std::str::FromStr;

use serde_json::Value;
use toml::Table;

/// What the command line puts in the place of a setting of the suite file.
#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// By its dotted key, `--set session.max_turns=5`: put into the file's text, which is then read as any other.
    Set {
        text: String,
        path: Vec<String>,
        value: toml::Value,
    },
    /// By an option of its own, `--runs 2`: put on the suite that was read.
    Chosen {
        /// Its name, as in [`OPTIONS`](crate::load::OPTIONS).
        option: &'static str,
        value: Value,
    },
}

impl Assignment {
    /// What an option of [`OPTIONS`](crate::load::OPTIONS) says.
    pub fn chosen(option: &'static str, value: impl Into<Value>) -> Self {
        Self::Chosen {
            option,
            value: value.into(),
        }
    }

    /// The text of a `--set`.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Set { text, .. } => Some(text),
            Self::Chosen { .. } => None,
        }
    }

    /// Whether it is by this option.
    pub(super) fn is_of(&self, name: &str) -> bool {
        matches!(self, Self::Chosen { option, .. } if *option == name)
    }
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
        Ok(Self::Set {
            text: text.to_owned(),
            path,
            value: read.unwrap_or_else(|| value.into()),
        })
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
