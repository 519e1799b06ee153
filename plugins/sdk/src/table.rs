//! Rows with ids: counted from 1 in the order in which they are inserted, after those of the world, and never given
//! again.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::layer::{Base, Layer, RowState};
use crate::search::Words;

/// Records of one kind, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table<T> {
    rows: Layer<u32, T>,
    /// The id of the latest row, deleted or not; 0 before the first.
    last_id: u32,
}

impl<T: Base<u32>> Table<T> {
    /// With the world's rows, or empty.
    pub fn new(world: bool) -> Self {
        let rows = Layer::new(world);
        let last_id = rows.last_key().copied().unwrap_or(0);
        Self { rows, last_id }
    }

    /// Keeps a row and answers its id.
    pub fn insert(&mut self, row: T) -> u32 {
        self.insert_with(|_| row)
    }

    /// The same for a row that knows its own id.
    pub fn insert_with(&mut self, row: impl FnOnce(u32) -> T) -> u32 {
        self.last_id += 1;
        self.rows.insert(self.last_id, row(self.last_id));
        self.last_id
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.rows.get(&id)
    }

    /// See [`Layer::words`].
    pub fn words(&self, id: u32, text: impl FnOnce(Option<&T>) -> String) -> Rc<Words> {
        self.rows.words(&id, text)
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.rows.get_mut(&id)
    }

    pub fn remove(&mut self, id: u32) -> Option<T> {
        self.rows.remove(&id)
    }

    /// Keeps only the rows for which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(u32, &T) -> bool) {
        self.rows.retain(|id, row| keep(*id, row));
    }

    /// All rows, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    /// See [`Layer::state`].
    pub fn state<'a, S: Serialize>(
        &'a self,
        mut view: impl FnMut(u32, &'a T) -> S,
    ) -> Vec<RowState<S>> {
        self.rows.state(|id, row| view(*id, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Word(String);

    impl Base<u32> for Word {
        fn base() -> &'static [(u32, Self)] {
            static ROWS: &[(u32, Word)] = &[(1, Word(String::new())), (2, Word(String::new()))];
            ROWS
        }
    }

    fn word(text: &str) -> Word {
        Word(text.to_owned())
    }

    #[test]
    fn an_id_is_never_given_again_not_even_after_a_snapshot() {
        for (world, first) in [(false, 1), (true, 3)] {
            let mut table = Table::new(world);
            assert_eq!(
                (table.insert(word("a")), table.insert(word("b"))),
                (first, first + 1)
            );
            assert_eq!(table.remove(first + 1), Some(word("b")));
            let json = serde_json::to_string(&table).unwrap();
            let mut table: Table<Word> = serde_json::from_str(&json).unwrap();
            assert_eq!(table.insert(word("c")), first + 2);
            let ids: Vec<u32> = table.iter().map(|(id, _)| id).collect();
            assert_eq!(ids[ids.len() - 2..], [first, first + 2]);
        }
    }

    #[test]
    fn rows_are_changed_in_place_and_filtered() {
        let mut table = Table::new(false);
        for text in ["a", "b", "c"] {
            table.insert(word(text));
        }
        *table.get_mut(1).unwrap() = word("z");
        table.retain(|id, row| id != 2 && row.0 != "c");
        assert_eq!(table.iter().collect::<Vec<_>>(), [(1, &word("z"))]);
        assert_eq!(table.get(4), None);
    }
}
