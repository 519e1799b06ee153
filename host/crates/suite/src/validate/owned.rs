//! Whose records are: an app shows its user what is theirs, and nothing of what is between others.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::recipients::{ENDS, texts};
use crate::suite::Persona;

/// The people of a persona, as records name them: by mail address or phone number.
pub(super) struct People {
    user: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl People {
    pub(super) fn of(persona: &Persona) -> Self {
        let (mut user, mut others) = (BTreeSet::new(), BTreeSet::new());
        for person in &persona.people {
            let names = if persona.is_user(person) {
                &mut user
            } else {
                &mut others
            };
            names.insert(person.email.to_lowercase());
            let number = person.phone_number.as_deref().map(folded);
            names.extend(number.filter(|number| !number.is_empty()));
        }
        Self { user, others }
    }

    /// The records that the user sees, and those that are between others: such a one names somebody else as its owner, or
    /// as whom it is from or to, and the user nowhere. Of a user without an account nothing is known.
    pub(super) fn split(&self, records: &Value) -> (Value, Value) {
        let is_seen = |record: &Value| {
            let ends = ENDS.iter().flat_map(|key| texts(&record[*key]));
            let mut named = ends.chain(record["owner"].as_str());
            let is_others = named.any(|name| self.others.contains(&folded(name)));
            let is_public = record["public"] == true;
            self.user.is_empty() || !is_others || is_public || self.is_about_user(record)
        };
        let Value::Object(lists) = records else {
            return (records.clone(), records.clone());
        };
        let (mut seen, mut unseen) = (Map::new(), Map::new());
        for (name, list) in lists {
            let (mine, others) = match list {
                Value::Array(list) => {
                    let split = list.iter().cloned().partition(is_seen);
                    let (mine, others): (Vec<Value>, Vec<Value>) = split;
                    (mine.into(), others.into())
                }
                other => (other.clone(), other.clone()),
            };
            seen.insert(name.clone(), mine);
            unseen.insert(name.clone(), others);
        }
        (seen.into(), unseen.into())
    }

    fn is_about_user(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.user.contains(&folded(text)),
            Value::Array(entries) => entries.iter().any(|entry| self.is_about_user(entry)),
            Value::Object(fields) => fields.values().any(|field| self.is_about_user(field)),
            _ => false,
        }
    }
}

/// A mail address or a phone number as it is compared.
fn folded(name: &str) -> String {
    if name.contains('@') {
        return name.to_lowercase();
    }
    let kept = |c: &char| c.is_ascii_digit() || *c == '+';
    name.chars().filter(kept).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_between_others_is_apart_from_what_the_user_sees() {
        let names = |names: &[&str]| names.iter().map(|name| folded(name)).collect();
        let people = People {
            user: names(&["ida@vale.example", "5550140217"]),
            others: names(&["bo@lund.example", "+1 555 014 0201"]),
        };
        let seen = [
            json!({ "owner": "ida@vale.example" }),
            json!({ "owner": "bo@lund.example", "collaborators": ["Ida@vale.example"] }),
            json!({ "owner": "bo@lund.example", "public": true }),
            json!({ "from": "office@lind.example", "to": ["bo@lund.example", "ida@vale.example"] }),
            json!({ "from": "+15550140201", "to": "555 014 0217" }),
            json!({ "title": "bo@lund.example" }),
        ];
        let unseen = [
            json!({ "owner": "bo@lund.example", "content": "x" }),
            json!({ "from": "bo@lund.example", "to": ["id@vale.example"] }),
            json!({ "from": "+15550140201", "to": "5550140299" }),
        ];
        let both = [seen.as_slice(), unseen.as_slice()].concat();
        let all = json!({ "list": both });
        let (mine, others) = people.split(&all);
        assert_eq!(mine, json!({ "list": seen }));
        assert_eq!(others, json!({ "list": unseen }));

        let nobody = People {
            user: BTreeSet::new(),
            others: people.others,
        };
        assert_eq!(nobody.split(&all).0, all);
    }
}
