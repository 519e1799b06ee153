//! Who marked what: likes, library entries, follows and downloads all are marks, each with its moment.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use serde::{Deserialize, Serialize};

/// Marks on things of one kind. A person marks a thing once or not at all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Marks {
    by_thing: BTreeMap<u32, BTreeMap<Email, DateTime>>,
}

impl Marks {
    /// Whether the mark is new; the moment of an older one stays.
    pub(crate) fn set(&mut self, thing: u32, who: &Email, at: DateTime) -> bool {
        let marks = self.by_thing.entry(thing).or_default();
        let new = !marks.contains_key(who);
        if new {
            marks.insert(who.clone(), at);
        }
        new
    }

    /// Whether there was one.
    pub(crate) fn remove(&mut self, thing: u32, who: &Email) -> bool {
        let Some(marks) = self.by_thing.get_mut(&thing) else {
            return false;
        };
        let removed = marks.remove(who).is_some();
        // The same marks are the same value, whatever happened before.
        if marks.is_empty() {
            self.by_thing.remove(&thing);
        }
        removed
    }

    pub(crate) fn has(&self, thing: u32, who: &Email) -> bool {
        self.by_thing
            .get(&thing)
            .is_some_and(|marks| marks.contains_key(who))
    }

    pub(crate) fn count(&self, thing: u32) -> u64 {
        self.by_thing
            .get(&thing)
            .map_or(0, |marks| marks.len() as u64)
    }

    /// What somebody marked, the latest first, of one moment the highest id first.
    pub(crate) fn of(&self, who: &Email) -> Vec<(u32, DateTime)> {
        let own =
            |(thing, marks): (&u32, &BTreeMap<Email, DateTime>)| Some((*thing, *marks.get(who)?));
        let mut own: Vec<_> = self.by_thing.iter().filter_map(own).collect();
        own.sort_by(|a, b| b.1.cmp(&a.1).then(b.0.cmp(&a.0)));
        own
    }

    /// All marks, by thing and person.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Email, DateTime)> {
        self.by_thing
            .iter()
            .flat_map(|(thing, marks)| marks.iter().map(|(who, at)| (*thing, who, *at)))
    }
}
