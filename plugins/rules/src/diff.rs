//! What became of an app's records between two states. It judges nothing.
//!
//! A state holds only what differs from the world (`wit/tools.wit`): a record of the world that was changed carries,
//! under `world`, the fields that were otherwise, and of one that is gone only the id is left. Here they become pairs
//! like all others, so that a record of the world that is first changed in the session counts as changed, not as added.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::matcher::{same, shown};

/// A record at two moments; at one of them at least.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) list: String,
    pub(crate) before: Option<Value>,
    pub(crate) now: Option<Value>,
}

/// All records of two states, by list and id.
pub(crate) fn pairs(before: &Map<String, Value>, now: &Map<String, Value>) -> Vec<Pair> {
    let mut pairs: BTreeMap<(&str, String), [Option<Seen>; 2]> = BTreeMap::new();
    for (moment, state) in [before, now].into_iter().enumerate() {
        for (list, record) in records(state) {
            let pair = pairs.entry((list, identity(record))).or_default();
            pair[moment] = Some(Seen::new(record));
        }
    }
    let pairs = pairs.into_iter().map(|((list, _), [before, now])| {
        // What a state does not tell is as in the world, or was never there.
        let before = before.or_else(|| now.as_ref().map(Seen::world));
        let now = now.or_else(|| before.as_ref().map(Seen::world));
        Pair {
            list: list.to_owned(),
            before: before.and_then(|seen| seen.record),
            now: now.and_then(|seen| seen.record),
        }
    });
    pairs
        .filter(|pair| pair.before.is_some() || pair.now.is_some())
        .collect()
}

/// A record as one state tells it.
struct Seen {
    /// None for one of the world that is gone.
    record: Option<Value>,
    /// What it is in the world; none for a record of its own.
    world: Option<Value>,
}

impl Seen {
    fn new(record: &Value) -> Self {
        let mut own = record.clone();
        let world = own.as_object_mut().and_then(|own| own.remove("world"));
        match world {
            None => Self {
                record: Some(own),
                world: None,
            },
            Some(Value::Object(fields)) => {
                let mut world = own.clone();
                for (field, value) in fields {
                    world[field] = value;
                }
                Self {
                    record: Some(own),
                    world: Some(world),
                }
            }
            Some(_) => Self {
                record: None,
                world: Some(own),
            },
        }
    }

    /// The same record as it is in the world.
    fn world(&self) -> Self {
        Self {
            record: self.world.clone(),
            world: self.world.clone(),
        }
    }
}

impl Pair {
    pub(crate) fn differs(&self) -> bool {
        match (&self.before, &self.now) {
            (Some(before), Some(now)) => !same(before, now),
            _ => true,
        }
    }

    /// The dotted paths of the fields that differ; a list is one field. None for a record that was added or removed.
    pub(crate) fn fields(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if let (Some(before), Some(now)) = (&self.before, &self.now) {
            collect(before, now, "", &mut fields);
        }
        fields
    }

    /// As reasons name it: `tasks 4`.
    pub(crate) fn title(&self) -> String {
        let record = self.now.as_ref().or(self.before.as_ref());
        let record = record.unwrap_or(&Value::Null);
        format!(
            "{} {}",
            self.list,
            shown(record.get("id").unwrap_or(record))
        )
    }

    /// What became of it: `tasks 4 changed (title, due_date)`.
    pub(crate) fn told(&self) -> String {
        let title = self.title();
        match (&self.before, &self.now) {
            (None, _) => format!("{title} added"),
            (_, None) => format!("{title} removed"),
            _ => format!("{title} changed ({})", self.fields().join(", ")),
        }
    }
}

fn collect(before: &Value, now: &Value, path: &str, fields: &mut Vec<String>) {
    let (Value::Object(before), Value::Object(now)) = (before, now) else {
        if !same(before, now) {
            fields.push(path.to_owned());
        }
        return;
    };
    let new = now.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(new) {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        let at = |side: &Map<String, Value>| side.get(key).cloned().unwrap_or_default();
        collect(&at(before), &at(now), &path, fields);
    }
}

/// Every record with its list; an entry that is no list counts as a list of one.
fn records(state: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    state.iter().flat_map(|(list, value)| {
        let records = value
            .as_array()
            .map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        records.iter().map(move |record| (list.as_str(), record))
    })
}

/// What makes a record the same one at two moments: its `id`; without one, all of it.
fn identity(record: &Value) -> String {
    record.get("id").unwrap_or(record).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is told of the records that differ.
    fn told(before: &Value, now: &Value) -> Vec<String> {
        let state = |records: &Value| Map::from_iter([("tasks".to_owned(), records.clone())]);
        let pairs = pairs(&state(before), &state(now));
        let differing = pairs.iter().filter(|pair| pair.differs());
        differing.map(Pair::told).collect()
    }

    #[test]
    fn a_record_is_added_changed_or_removed_and_its_fields_are_named() {
        let before = json!([
            {"id": 1, "title": "a", "who": {"name": "Bo", "age": 5}, "tags": [1]},
            {"id": 2},
            {"id": 3},
        ]);
        let now = json!([
            {"id": 1, "title": "b", "who": {"name": "Bo", "age": 6, "new": 1}, "tags": [1, 2]},
            {"id": 3},
            {"id": 4},
        ]);
        assert_eq!(
            told(&before, &now),
            [
                "tasks 1 changed (title, who.age, who.new, tags)",
                "tasks 2 removed",
                "tasks 4 added",
            ]
        );
    }

    #[test]
    fn a_record_of_the_world_is_changed_and_not_added() {
        let changed = json!([{"id": 1, "stock": 4, "name": "lamp", "world": {"stock": 5}}]);
        let more = json!([{"id": 1, "stock": 3, "name": "lamp", "world": {"stock": 5}}]);
        let as_it_was = json!([{"id": 1, "stock": 5, "name": "lamp", "world": {}}]);
        let gone = json!([{"id": 1, "world": "removed"}]);
        let none = json!([]);
        assert_eq!(told(&none, &changed), ["tasks 1 changed (stock)"]);
        assert_eq!(told(&changed, &more), ["tasks 1 changed (stock)"]);
        assert_eq!(told(&changed, &none), ["tasks 1 changed (stock)"]);
        assert!(told(&none, &as_it_was).is_empty());
        assert_eq!(told(&none, &gone), ["tasks 1 removed"]);
        assert_eq!(told(&changed, &gone), ["tasks 1 removed"]);
        assert!(told(&gone, &gone).is_empty());
    }
}
