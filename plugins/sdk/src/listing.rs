//! How a list tool answers: what matches the query, sorted, one page of it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::search::{self, Words};
use crate::tool::ToolError;

/// The number of the page, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageIndex(pub u32);

/// How much stands on a page: 1 to 20, 5 if not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct PageLimit(u32);

impl PageLimit {
    const MAX: u32 = 20;
}

impl Default for PageLimit {
    fn default() -> Self {
        Self(5)
    }
}

impl TryFrom<u32> for PageLimit {
    type Error = String;

    fn try_from(limit: u32) -> Result<Self, String> {
        if (1..=Self::MAX).contains(&limit) {
            Ok(Self(limit))
        } else {
            Err(format!(
                "page_limit must be from 1 to {}, not {limit}",
                Self::MAX
            ))
        }
    }
}

impl JsonSchema for PageIndex {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PageIndex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0})
    }
}

impl JsonSchema for PageLimit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PageLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Each list has it: the bounds are told once, at login, and a call beyond them is refused by the app.
        json_schema!({"type": "integer"})
    }
}

/// A field that a list may be sorted by, with its order.
pub type Field<T> = (&'static str, fn(&T, &T) -> Ordering);

/// The rows that a query matches, best first; all of them, as they were, without a query. `text` is what is searched.
pub fn matching<T>(rows: Vec<T>, query: Option<&str>, text: impl Fn(&T) -> String) -> Vec<T> {
    let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
        return rows;
    };
    let texts: Vec<String> = rows.iter().map(text).collect();
    picked(rows, search::rank(query, &texts))
}

/// The same for rows whose words are counted already.
pub fn matching_words<T>(
    rows: Vec<T>,
    query: Option<&str>,
    words: impl Fn(&T) -> Vec<Rc<Words>>,
) -> Vec<T> {
    let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
        return rows;
    };
    let texts: Vec<Vec<Rc<Words>>> = rows.iter().map(words).collect();
    picked(rows, search::rank_counted(query, &texts))
}

fn picked<T>(rows: Vec<T>, hits: Vec<usize>) -> Vec<T> {
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    let hits = hits.into_iter();
    hits.filter_map(|index| rows[index].take()).collect()
}

/// Sorts by `+field` or `-field`; without it the rows stay as they are. 422 for a field that is not in the list.
pub fn sort<T>(
    rows: &mut [&T],
    sort_by: Option<&str>,
    fields: &[Field<T>],
) -> Result<(), ToolError> {
    let Some(sort_by) = sort_by.map(str::trim).filter(|sort_by| !sort_by.is_empty()) else {
        return Ok(());
    };
    let descending = sort_by.starts_with('-');
    let name = sort_by.strip_prefix(['+', '-']).unwrap_or(sort_by);
    let Some((_, order)) = fields.iter().find(|(field, _)| *field == name) else {
        let known: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
        return Err(ToolError::invalid(format!(
            "sort_by must be + or - and one of {}, not {sort_by:?}.",
            known.join(", ")
        )));
    };
    rows.sort_by(|a, b| if descending { order(b, a) } else { order(a, b) });
    Ok(())
}

/// One page of the rows.
pub fn page<T>(rows: Vec<T>, index: PageIndex, limit: PageLimit) -> Vec<T> {
    let start = u64::from(index.0) * u64::from(limit.0);
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    rows.into_iter()
        .skip(start)
        .take(limit.0 as usize)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field<u32>] = &[("size", u32::cmp)];

    #[test]
    fn a_page_is_cut_from_the_rows_and_may_be_empty() {
        let page = |index, limit| {
            page(
                (0..7).collect(),
                PageIndex(index),
                PageLimit::try_from(limit).unwrap(),
            )
        };
        assert_eq!(page(0, 5), [0, 1, 2, 3, 4]);
        assert_eq!(page(1, 5), [5, 6]);
        assert_eq!(page(u32::MAX, 20), [0; 0]);
    }

    #[test]
    fn a_page_limit_out_of_bounds_is_refused() {
        assert!(PageLimit::try_from(0).is_err());
        assert!(PageLimit::try_from(21).is_err());
    }

    #[test]
    fn rows_are_sorted_up_and_down() {
        let sorted = |sort_by| {
            let mut rows = vec![&2, &3, &1];
            sort(&mut rows, sort_by, FIELDS).map(|()| rows)
        };
        assert_eq!(sorted(None).unwrap(), [&2, &3, &1]);
        assert_eq!(sorted(Some("+size")).unwrap(), [&1, &2, &3]);
        assert_eq!(sorted(Some("size")).unwrap(), [&1, &2, &3]);
        assert_eq!(sorted(Some("-size")).unwrap(), [&3, &2, &1]);
        let error = sorted(Some("-colour")).unwrap_err();
        assert_eq!(
            error.message,
            "sort_by must be + or - and one of size, not \"-colour\"."
        );
    }

    #[test]
    fn a_blank_query_matches_all_and_another_only_what_fits() {
        let rows = || vec!["red apples", "pears", "an apple pie with apples"];
        let text = |row: &&str| (*row).to_owned();
        assert_eq!(matching(rows(), Some("  "), text), rows());
        assert_eq!(matching(rows(), Some("apple"), text).len(), 2);
    }
}
