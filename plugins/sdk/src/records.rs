//! Strict reading of seed records: every error names the record, and nothing is left unread.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A json object of which lists are taken one by one; what is left at the end is unknown.
#[derive(Debug)]
pub struct Records {
    entries: Map<String, Value>,
    /// What was asked for, there or not.
    known: Vec<String>,
}

impl Records {
    /// Reads an object from its text.
    pub fn parse(json: &str) -> Result<Self, String> {
        match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(Self::new(map)),
            Ok(_) => Err("an object is expected".to_owned()),
            Err(error) => Err(format!("no JSON: {error}")),
        }
    }

    fn new(entries: Map<String, Value>) -> Self {
        let known = Vec::new();
        Self { entries, known }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.known.push(name.to_owned());
        self.entries.remove(name)
    }

    /// The list of this name, empty if it is not there. An error begins with the record: `notes[3]: ...`.
    pub fn take_list<T: DeserializeOwned>(&mut self, name: &str) -> Result<Vec<T>, String> {
        let items = match self.take(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(format!("{name}: a list is expected")),
        };
        let read = |(index, item)| {
            serde_json::from_value(item).map_err(|error| format!("{name}[{index}]: {error}"))
        };
        items.into_iter().enumerate().map(read).collect()
    }

    /// The object of this name as records of its own, empty if it is not there.
    pub fn take_records(&mut self, name: &str) -> Result<Self, String> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(Self::new(Map::new())),
            Some(Value::Object(map)) => Ok(Self::new(map)),
            Some(_) => Err(format!("{name}: an object is expected")),
        }
    }

    /// The flag of this name, `or` if it is not there.
    pub fn take_flag(&mut self, name: &str, or: bool) -> Result<bool, String> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(or),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(format!("{name}: true or false is expected")),
        }
    }

    /// Reports what nobody took, and what there is to take.
    pub fn finish(&self) -> Result<(), String> {
        let Some(name) = self.entries.keys().next() else {
            return Ok(());
        };
        let begins_alike = |known: &&String| {
            !name.is_empty() && (known.starts_with(name) || name.starts_with(known.as_str()))
        };
        let near = match self.known.iter().find(begins_alike) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        let known = match self.known.join("`, `") {
            known if known.is_empty() => String::new(),
            known => format!(", expected one of `{known}`"),
        };
        Err(format!("unknown key {name:?}{known}{near}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &Result<Vec<u8>, &str>) {
        let read = || {
            let mut records = Records::parse(json)?;
            let list = records.take_list("list")?;
            records.finish()?;
            Ok::<_, String>(list)
        };
        assert_eq!(
            read().as_deref().map_err(String::as_str),
            expected.as_deref().map_err(|error| *error)
        );
    }

    #[test]
    fn a_list_that_is_missing_is_empty() {
        check("{}", &Ok(vec![]));
        check(r#"{"list": [1, 2]}"#, &Ok(vec![1, 2]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        check(
            r#"{"list": [1, "x"]}"#,
            &Err(r#"list[1]: invalid type: string "x", expected u8"#),
        );
        check(r#"{"list": 1}"#, &Err("list: a list is expected"));
        check(
            r#"{"lists": []}"#,
            &Err(r#"unknown key "lists", expected one of `list`; did you mean `list`?"#),
        );
        check(
            r#"{"list": [], "rows": []}"#,
            &Err(r#"unknown key "rows", expected one of `list`"#),
        );
        check("[]", &Err("an object is expected"));
    }
}
