//! What became of an app's records between two states. It judges nothing.
//!
//! A state holds only what differs from the world (`wit/tools.wit`): a record of the world that was changed carries,
//! under `world`, the fields that were otherwise, and of one that is gone only the id is left. Here they become pairs
//! like all others, so that a record of the world that is first changed in the session counts as changed, not as added.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::matcher::same;
use crate::scene::Lists;
use crate::shown::shown;

/// A record at two moments; at one of them at least. It is copied only where the world has a say in it.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) list: &'a str,
    before: Option<Cow<'a, Value>>,
    now: Option<Cow<'a, Value>>,
}

/// All records of two states, by list and id.
pub(crate) fn pairs<'a>(before: &'a Lists, now: &'a Lists) -> Vec<Pair<'a>> {
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
            list,
            before: before.and_then(|seen| seen.record),
            now: now.and_then(|seen| seen.record),
        }
    });
    pairs
        .filter(|pair| pair.before.is_some() || pair.now.is_some())
        .collect()
}

/// A record as one state tells it.
struct Seen<'a> {
    /// None for one of the world that is gone.
    record: Option<Cow<'a, Value>>,
    /// What it is in the world; none for a record of its own.
    world: Option<Value>,
}

impl<'a> Seen<'a> {
    fn new(record: &'a Value) -> Self {
        if record.get("world").is_none() {
            return Self {
                record: Some(Cow::Borrowed(record)),
                world: None,
            };
        }
        let mut own = record.clone();
        let world = own.as_object_mut().and_then(|own| own.remove("world"));
        let Some(Value::Object(fields)) = world else {
            return Self {
                record: None,
                world: Some(own),
            };
        };
        let mut world = own.clone();
        for (field, value) in fields {
            world[field] = value;
        }
        Self {
            record: Some(Cow::Owned(own)),
            world: Some(world),
        }
    }

    /// The same record as it is in the world.
    fn world(&self) -> Self {
        Self {
            record: self.world.clone().map(Cow::Owned),
            world: self.world.clone(),
        }
    }
}

impl Pair<'_> {
    pub(crate) fn before(&self) -> Option<&Value> {
        self.before.as_deref()
    }

    pub(crate) fn now(&self) -> Option<&Value> {
        self.now.as_deref()
    }

    pub(crate) fn differs(&self) -> bool {
        match (self.before(), self.now()) {
            // Of a state that did not change there is one copy.
            (Some(before), Some(now)) => !std::ptr::eq(before, now) && !same(before, now),
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
        let record = self.now().or(self.before());
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
        let (before, now) = (state(before), state(now));
        let pairs = pairs(&before, &now);
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
