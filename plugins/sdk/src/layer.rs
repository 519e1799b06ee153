//! Records over a constant base: what a table holds is the base world's rows, until they are changed, and its own.
//!
//! The base is a `static` of the component, sorted by key, so opening it costs nothing. Only what differs from it is
//! ever copied, saved or shown to graders. An app that is opened without the world has an empty base.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::iter::Peekable;
use std::rc::Rc;
use std::slice;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::search::Words;

/// A record of which the world may hold some.
pub trait Base<K>: Clone + 'static {
    /// The world's rows, by ascending key, each key once.
    fn base() -> &'static [(K, Self)];
}

/// Records by key. It is used like a `BTreeMap`; a base row is copied when it is first changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize, V: Serialize",
    deserialize = "K: Deserialize<'de>, V: Deserialize<'de>"
))]
pub struct Layer<K: Ord, V> {
    world: bool,
    /// What is not as in the base; `None` for a base row that is gone. Saved as pairs, for keys need not be texts. Copies
    /// of the layer share the rows until one of them changes: records are added to a copy of the app.
    #[serde(with = "pairs")]
    changed: BTreeMap<K, Option<Rc<V>>>,
    /// See [`Layer::words`]. Whatever changes a row takes its words away.
    #[serde(skip)]
    words: RefCell<BTreeMap<K, Rc<Words>>>,
}

impl<K: Ord + Clone + 'static, V: Base<K>> Layer<K, V> {
    /// Over the world, or over nothing.
    pub fn new(world: bool) -> Self {
        Self {
            world,
            changed: BTreeMap::new(),
            words: RefCell::default(),
        }
    }

    fn base(&self) -> &'static [(K, V)] {
        if self.world { V::base() } else { &[] }
    }

    fn of_base(&self, key: &K) -> Option<&'static V> {
        let base = self.base();
        let at = base.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        base.get(at).map(|(_, row)| row)
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        match self.changed.get(key) {
            Some(row) => row.as_deref(),
            None => self.of_base(key),
        }
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The words by which a row is found, or what stands in its place if there is none: counted when they are first
    /// asked for, and again after the row has changed. `text` must follow from key and row alone, and be the same at every call.
    pub fn words(&self, key: &K, text: impl FnOnce(Option<&V>) -> String) -> Rc<Words> {
        if let Some(words) = self.words.borrow().get(key) {
            return Rc::clone(words);
        }
        let words = Rc::new(Words::of(&text(self.get(key))));
        let mut known = self.words.borrow_mut();
        known.insert(key.clone(), Rc::clone(&words));
        words
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.words.get_mut().remove(key);
        if !self.changed.contains_key(key) {
            let row = self.of_base(key)?.clone();
            self.changed.insert(key.clone(), Some(Rc::new(row)));
        }
        self.changed.get_mut(key)?.as_mut().map(Rc::make_mut)
    }

    /// The row of this key, made first if there is none.
    pub fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.words.get_mut().remove(key);
        let base = if self.changed.contains_key(key) {
            None
        } else {
            self.of_base(key)
        };
        let row = self
            .changed
            .entry(key.clone())
            .or_insert_with(|| base.cloned().map(Rc::new))
            .get_or_insert_with(|| Rc::new(make()));
        Rc::make_mut(row)
    }

    /// Puts a row in the place of an earlier one, if there was any.
    pub fn insert(&mut self, key: K, row: V) {
        self.words.get_mut().remove(&key);
        self.changed.insert(key, Some(Rc::new(row)));
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.words.get_mut().remove(key);
        let base = self.of_base(key);
        let own = self.changed.remove(key);
        if base.is_some() {
            self.changed.insert(key.clone(), None);
        }
        match own {
            Some(row) => row.map(Rc::unwrap_or_clone),
            None => base.cloned(),
        }
    }

    /// Keeps only the rows for which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        let gone: Vec<K> = self
            .iter()
            .filter(|(key, row)| !keep(key, row))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &gone {
            self.remove(key);
        }
    }

    /// All rows, by key.
    pub fn iter(&self) -> Rows<'_, K, V> {
        Rows {
            base: self.base().iter().peekable(),
            changed: self.changed.range::<K, _>(..).peekable(),
        }
    }

    /// The rows from a key on.
    pub fn iter_from(&self, from: &K) -> Rows<'_, K, V> {
        let base = self.base();
        let start = base.partition_point(|(key, _)| key < from);
        Rows {
            base: base[start..].iter().peekable(),
            changed: self.changed.range::<K, _>(from..).peekable(),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, row)| row)
    }

    /// The rows that the world does not have, by key.
    pub fn added(&self) -> impl Iterator<Item = (&K, &V)> {
        self.changed
            .iter()
            .filter(|(key, _)| self.of_base(key).is_none())
            .filter_map(|(key, row)| Some((key, row.as_deref()?)))
    }

    /// The rows that are not as in the world, by key.
    pub fn changes(&self) -> impl Iterator<Item = &V> {
        self.changed.values().filter_map(Option::as_deref)
    }

    /// The highest key that was ever in use: what lies in the base and is gone counts.
    pub fn last_key(&self) -> Option<&K> {
        let base = self.base().last().map(|(key, _)| key);
        let changed = self.changed.last_key_value().map(|(key, _)| key);
        base.max(changed)
    }

    /// What graders see: the rows that are not as in the world, by key. The view of a world's row that was changed gets
    /// `world`, an object with the fields of it that the world has otherwise, as they are there; of a row that is gone
    /// remains `{"id": .., "world": "removed"}`.
    pub fn state<'a, S: Serialize>(
        &'a self,
        mut view: impl FnMut(&'a K, &'a V) -> S,
    ) -> Vec<RowState<S>>
    where
        K: Serialize,
    {
        let state = |(key, row): (&'a K, &'a Option<Rc<V>>)| {
            let Some(row) = row else {
                return RowState::OfWorld(json!({"id": key, "world": "removed"}));
            };
            let state = view(key, row);
            let Some(base) = self.of_base(key) else {
                return RowState::Own(state);
            };
            let mut state = json!(state);
            state["world"] = differing(&state, json!(view(key, base)));
            RowState::OfWorld(state)
        };
        self.changed.iter().map(state).collect()
    }
}

/// What graders see of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RowState<S> {
    /// The view of one that the world does not have.
    Own(S),
    OfWorld(Value),
}

impl From<RowState<Value>> for Value {
    fn from(row: RowState<Value>) -> Self {
        match row {
            RowState::Own(state) | RowState::OfWorld(state) => state,
        }
    }
}

/// The fields of the second object that the first one has otherwise.
fn differing(now: &Value, world: Value) -> Value {
    let Value::Object(mut world) = world else {
        return json!({});
    };
    world.retain(|field, value| now.get(field) != Some(value));
    Value::Object(world)
}

impl<V: Base<u32>> Layer<u32, V> {
    /// The id after the last one.
    pub fn next_id(&self) -> u32 {
        self.last_key().map_or(1, |id| id + 1)
    }
}

impl<'a, K: Ord + Clone + 'static, V: Base<K>> IntoIterator for &'a Layer<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Rows<'a, K, V>;

    fn into_iter(self) -> Rows<'a, K, V> {
        self.iter()
    }
}

/// See [`Layer::iter`].
#[derive(Debug)]
pub struct Rows<'a, K: 'static, V: 'static> {
    base: Peekable<slice::Iter<'static, (K, V)>>,
    changed: Peekable<btree_map::Range<'a, K, Option<Rc<V>>>>,
}

impl<'a, K: Ord, V> Iterator for Rows<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((key, _)) = self.changed.peek() else {
                return self.base.next().map(|(key, row)| (key, row));
            };
            if let Some((key, row)) = self.base.next_if(|(base, _)| base < *key) {
                return Some((key, row));
            }
            // What was changed hides the base row of the same key.
            self.base.next_if(|(base, _)| base == *key);
            if let Some((key, Some(row))) = self.changed.next() {
                return Some((key, row));
            }
        }
    }
}

mod pairs {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        rows: &BTreeMap<K, Option<Rc<V>>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows.iter().map(|(key, row)| (key, row.as_deref())))
    }

    pub(super) fn deserialize<
        'de,
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    >(
        deserializer: D,
    ) -> Result<BTreeMap<K, Option<Rc<V>>>, D::Error> {
        let rows = Vec::<(K, Option<V>)>::deserialize(deserializer)?.into_iter();
        Ok(rows.map(|(key, row)| (key, row.map(Rc::new))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::search::rank_counted;

    static ROWS: &[(u32, &str)] = &[(1, "one"), (2, "two"), (5, "five")];

    impl Base<u32> for &'static str {
        fn base() -> &'static [(u32, Self)] {
            ROWS
        }
    }

    #[derive(Debug, Clone)]
    enum Deed {
        Insert(u32, &'static str),
        Remove(u32),
        Change(u32),
        Make(u32),
        Retain(u32),
        Save,
    }

    fn deed() -> impl Strategy<Value = Deed> {
        let key = 0..8_u32;
        prop_oneof![
            key.clone().prop_map(|key| Deed::Insert(key, "new")),
            key.clone().prop_map(Deed::Remove),
            key.clone().prop_map(Deed::Change),
            key.clone().prop_map(Deed::Make),
            key.prop_map(Deed::Retain),
            Just(Deed::Save),
        ]
    }

    proptest! {
        #[test]
        fn a_layer_is_a_map_that_begins_with_the_base(
            world: bool,
            deeds in proptest::collection::vec(deed(), 0..20),
        ) {
            let mut layer: Layer<u32, &str> = Layer::new(world);
            let mut map: BTreeMap<u32, &str> = layer.base().iter().copied().collect();
            for deed in deeds {
                let (copy, as_it_was) = (layer.clone(), map.clone());
                match deed {
                    Deed::Insert(key, row) => {
                        layer.insert(key, row);
                        map.insert(key, row);
                    }
                    Deed::Remove(key) => prop_assert_eq!(layer.remove(&key), map.remove(&key)),
                    Deed::Change(key) => {
                        if let Some(row) = layer.get_mut(&key) {
                            *row = "changed";
                        }
                        if let Some(row) = map.get_mut(&key) {
                            *row = "changed";
                        }
                    }
                    Deed::Make(key) => {
                        *layer.get_or_insert_with(&key, || "made") = "made";
                        map.insert(key, "made");
                    }
                    Deed::Retain(bound) => {
                        layer.retain(|key, _| *key < bound);
                        map.retain(|key, _| *key < bound);
                    }
                    Deed::Save => layer = leaked(&layer),
                }
                prop_assert!(layer.iter().eq(map.iter()));
                prop_assert!(copy.iter().eq(as_it_was.iter()));
                prop_assert!((0..9).all(|key| layer.get(&key) == map.get(&key)));
                prop_assert!((0..9).all(|key| layer.iter_from(&key).eq(map.range(key..))));
                prop_assert!(layer.next_id() > map.last_key_value().map_or(0, |(key, _)| *key));
                // Asked for after each deed, so that what is kept would be stale.
                for key in 0..9 {
                    let found = |text: &str| {
                        let words = layer.words(&key, |row| row.copied().unwrap_or("none").to_owned());
                        rank_counted(text, &[vec![words]]) == [0]
                    };
                    prop_assert!(found(map.get(&key).copied().unwrap_or("none")));
                    prop_assert!(!found("other"));
                }
            }
        }
    }

    /// A copy by way of its text; the text must outlive it, because rows here are borrowed.
    fn leaked(layer: &Layer<u32, &'static str>) -> Layer<u32, &'static str> {
        let text: &'static str = Box::leak(serde_json::to_string(layer).unwrap().into_boxed_str());
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn only_what_differs_is_saved_and_shown() {
        let mut layer: Layer<u32, &str> = Layer::new(true);
        assert_eq!(
            serde_json::to_string(&layer).unwrap(),
            r#"{"world":true,"changed":[]}"#
        );
        layer.remove(&1);
        *layer.get_mut(&2).unwrap() = "deux";
        assert_eq!(layer.next_id(), 6);
        layer.insert(6, "six");
        layer.insert(7, "seven");
        layer.remove(&7);
        let expected = [
            json!({"id": 1, "world": "removed"}),
            json!({"id": 2, "word": "deux", "world": {"word": "two"}}),
            json!({"id": 6, "word": "six"}),
        ];
        let state = layer.state(|id, word| json!({"id": id, "word": word}));
        assert_eq!(json!(state), json!(expected));
        assert!(layer.added().eq([(&6, &"six")]));
    }
}
