//! Where something stands in a list that people order by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A position from 0 on; -1, or one beyond the end, is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub(crate) struct OrderIndex(Option<usize>);

impl OrderIndex {
    pub(crate) const END: Self = Self(None);

    /// Puts a new id there.
    pub(crate) fn insert(self, id: u32, list: &mut Vec<u32>) {
        let at = self.0.map_or(list.len(), |at| at.min(list.len()));
        list.insert(at, id);
    }

    /// Puts an id of the list there.
    pub(crate) fn move_to(self, id: u32, list: &mut Vec<u32>) {
        remove(id, list);
        self.insert(id, list);
    }
}

impl Default for OrderIndex {
    fn default() -> Self {
        Self::END
    }
}

impl TryFrom<i64> for OrderIndex {
    type Error = String;

    fn try_from(index: i64) -> Result<Self, String> {
        match index {
            -1 => Ok(Self::END),
            0.. => Ok(Self(Some(usize::try_from(index).unwrap_or(usize::MAX)))),
            _ => Err(format!("order_index must be -1 or from 0 on, not {index}")),
        }
    }
}

impl From<OrderIndex> for i64 {
    fn from(index: OrderIndex) -> Self {
        let at = index.0.map(|at| Self::try_from(at).unwrap_or(Self::MAX));
        at.unwrap_or(-1)
    }
}

impl JsonSchema for OrderIndex {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OrderIndex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": -1})
    }
}

/// Where an id stands; 0 for one that is not in the list. Ids are small and lie together: even a thousand of them are
/// looked through in a fraction of what a call costs.
pub(crate) fn position(id: u32, list: &[u32]) -> usize {
    list.iter().position(|other| *other == id).unwrap_or(0)
}

pub(crate) fn remove(id: u32, list: &mut Vec<u32>) {
    if let Some(at) = list.iter().position(|other| *other == id) {
        list.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(index: i64) -> OrderIndex {
        OrderIndex::try_from(index).unwrap()
    }

    #[test]
    fn a_position_beyond_the_end_is_the_end() {
        let put = |at| {
            let mut list = vec![1, 2];
            index(at).insert(9, &mut list);
            list
        };
        assert_eq!(put(0), [9, 1, 2]);
        assert_eq!(put(1), [1, 9, 2]);
        assert_eq!(
            [put(2), put(-1), put(i64::MAX)],
            [[1, 2, 9], [1, 2, 9], [1, 2, 9]]
        );
        assert!(OrderIndex::try_from(-2).is_err());
    }

    #[test]
    fn what_is_moved_stands_where_it_was_told_to() {
        let moved = |id, at| {
            let mut list = vec![1, 2, 3];
            index(at).move_to(id, &mut list);
            assert_eq!(list[position(id, &list)], id);
            list
        };
        assert_eq!(moved(1, 1), [2, 1, 3]);
        assert_eq!(moved(3, 0), [3, 1, 2]);
        assert_eq!(moved(1, -1), [2, 3, 1]);
    }
}
