//! Lists within records.

use std::borrow::Cow;
use std::ops::Deref;
use std::slice;
use std::vec;

use serde::{Deserialize, Serialize};

/// A list of a record: a part of the component for the world's rows, on the heap for others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[serde(bound(
    serialize = "T: Serialize + Clone",
    deserialize = "T: Deserialize<'de> + Clone"
))]
pub struct List<T: Clone + 'static>(Cow<'static, [T]>);

impl<T: Clone> List<T> {
    /// For the world's rows.
    pub const fn constant(items: &'static [T]) -> Self {
        Self(Cow::Borrowed(items))
    }

    /// To be changed; a constant list is copied first.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        self.0.to_mut()
    }
}

impl<T: Clone> Default for List<T> {
    fn default() -> Self {
        Self::constant(&[])
    }
}

impl<T: Clone> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Clone> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Cow::Owned(items))
    }
}

impl<T: Clone> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Clone> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.0.into_owned().into_iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_list_is_copied_when_it_changes() {
        static ITEMS: &[u32] = &[1, 2];
        let mut list = List::constant(ITEMS);
        list.to_mut().push(3);
        assert_eq!((&*list, ITEMS), (&[1, 2, 3][..], &[1, 2][..]));
        let saved = serde_json::to_string(&list).unwrap();
        assert_eq!(serde_json::from_str::<List<u32>>(&saved).unwrap(), list);
        assert_eq!(saved, "[1,2,3]");
    }
}
