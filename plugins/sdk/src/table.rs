//! Rows with ids: counted from 1 in the order in which they are inserted, and never given again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Records of one kind, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table<T> {
    rows: BTreeMap<u32, T>,
    /// The id of the latest row, deleted or not; 0 before the first.
    last_id: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            last_id: 0,
        }
    }
}

impl<T> Table<T> {
    /// Keeps a row and answers its id.
    pub fn insert(&mut self, row: T) -> u32 {
        self.last_id += 1;
        self.rows.insert(self.last_id, row);
        self.last_id
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.rows.get(&id)
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
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &T)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    /// All rows, by id, to be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (u32, &mut T)> {
        self.rows.iter_mut().map(|(id, row)| (*id, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_never_given_again_not_even_after_a_snapshot() {
        let mut table = Table::default();
        assert_eq!((table.insert("a"), table.insert("b")), (1, 2));
        assert_eq!(table.remove(2), Some("b"));
        let json = serde_json::to_string(&table).unwrap();
        let mut table: Table<&str> = serde_json::from_str(&json).unwrap();
        assert_eq!(table.insert("c"), 3);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(1, &"a"), (3, &"c")]);
    }

    #[test]
    fn rows_are_changed_in_place_and_filtered() {
        let mut table = Table::default();
        for number in 1..=4 {
            table.insert(number * 10);
        }
        for (_, row) in table.iter_mut() {
            *row += 1;
        }
        *table.get_mut(1).unwrap() = 0;
        table.retain(|id, row| id != 2 && *row < 40);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(1, &0), (3, &31)]);
        assert_eq!(table.get(4), None);
    }
}
