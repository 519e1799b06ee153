//! How a list tool answers: what matches the query, sorted, one page of it.

use std::borrow::{Borrow, Cow};
use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::refusal::ToolError;
use crate::search::{self, Words};

/// The number of the page, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageIndex(pub u32);

/// How much stands on a page: 1 to `MOST`, 5 if not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct PageLimit<const MOST: u64 = 20>(u64);

/// Of lists whose pages may be as long as one wants.
pub const NO_LIMIT: u64 = i64::MAX as u64;

impl<const MOST: u64> Default for PageLimit<MOST> {
    fn default() -> Self {
        Self(5)
    }
}

impl<const MOST: u64> TryFrom<u64> for PageLimit<MOST> {
    type Error = String;

    fn try_from(limit: u64) -> Result<Self, String> {
        if (1..=MOST).contains(&limit) {
            Ok(Self(limit))
        } else {
            Err(format!("page_limit must be from 1 to {MOST}, not {limit}"))
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

impl<const MOST: u64> JsonSchema for PageLimit<MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PageLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Each list has it: the bounds are told in words, once, and a call beyond them is refused by the app.
        match MOST {
            NO_LIMIT => json_schema!({"type": "integer", "description": "5, without a limit."}),
            _ => json_schema!({"type": "integer", "description": format!("5, at most {MOST}.")}),
        }
    }
}

/// Which page is asked for. The arguments of a list have this, or one of the two below, as a flattened field, beside
/// those of their own.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
pub struct Page<const MOST: u64 = 20> {
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit<MOST>,
}

/// What is looked for, and which page of it.
// Not with a flattened page in it: serde would take its fields for unknown ones.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct Search<const MOST: u64 = 20> {
    pub query: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit<MOST>,
}

/// What is looked for, in which order, and which page of it. [`Tools::sorted_by`](crate::tool::Tools::sorted_by) tells
/// of the orders.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct List<const MOST: u64 = 20> {
    pub query: Option<String>,
    pub sort_by: Option<String>,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit<MOST>,
}

impl<const MOST: u64> Page<MOST> {
    /// The page of the rows.
    pub fn of<R>(self, rows: Vec<R>) -> Vec<R> {
        let start = u64::from(self.page_index.0).saturating_mul(self.page_limit.0);
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rows = rows.into_iter().skip(whole(start));
        rows.take(whole(self.page_limit.0)).collect()
    }
}

impl<const MOST: u64> Search<MOST> {
    pub fn page(&self) -> Page<MOST> {
        Page {
            page_index: self.page_index,
            page_limit: self.page_limit,
        }
    }

    /// The page of the rows that match, best first. `text` is what is searched.
    pub fn of<R>(&self, rows: Vec<R>, text: impl Fn(&R) -> String) -> Vec<R> {
        self.page().of(matching(rows, self.query.as_deref(), text))
    }
}

impl<const MOST: u64> List<MOST> {
    pub fn page(&self) -> Page<MOST> {
        Page {
            page_index: self.page_index,
            page_limit: self.page_limit,
        }
    }

    /// The page of the rows that match, sorted. 422 for a `sort_by` that is none of the fields.
    pub fn of<R: Borrow<T>, T>(
        &self,
        rows: Vec<R>,
        text: impl Fn(&R) -> String,
        fields: &[Field<T>],
    ) -> Result<Vec<R>, ToolError> {
        self.of_matching(matching(rows, self.query.as_deref(), text), fields)
    }

    /// The same for rows that are known to match, the best first.
    pub fn of_matching<R: Borrow<T>, T>(
        &self,
        mut rows: Vec<R>,
        fields: &[Field<T>],
    ) -> Result<Vec<R>, ToolError> {
        if ALL_ROWS.get() && asked(self.query.as_deref()).is_some() {
            let mut page = self.page().of(rows);
            sort(&mut page, self.sort_by.as_deref(), fields)?;
            return Ok(page);
        }
        sort(&mut rows, self.sort_by.as_deref(), fields)?;
        Ok(self.page().of(rows))
    }
}

thread_local! {
    static ALL_ROWS: Cell<bool> = const { Cell::new(false) };
}

/// Whether queries put what matches first and leave nothing out, and pages are cut before they are sorted, as in the
/// released benchmark. Set before each call, as the seed has it.
pub(crate) fn keep_all_rows(keep: bool) {
    ALL_ROWS.set(keep);
}

/// A query that says something.
fn asked(query: Option<&str>) -> Option<&str> {
    query.filter(|query| !query.trim().is_empty())
}

/// A field that a list may be sorted by, with its order.
pub type Field<T> = (&'static str, fn(&T, &T) -> Ordering);

/// The rows that a query matches, best first; all of them, as they were, without a query. `text` is what is searched.
pub fn matching<T>(rows: Vec<T>, query: Option<&str>, text: impl Fn(&T) -> String) -> Vec<T> {
    let Some(query) = asked(query) else {
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
    let Some(query) = asked(query) else {
        return rows;
    };
    let texts: Vec<Vec<Rc<Words>>> = rows.iter().map(words).collect();
    picked(rows, search::rank_counted(query, &texts))
}

/// The rows that are hits, in their order; then the others, where none is left out.
pub fn picked<T>(rows: Vec<T>, hits: Vec<usize>) -> Vec<T> {
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    let hits = hits.into_iter();
    let mut picked: Vec<T> = hits.filter_map(|index| rows[index].take()).collect();
    if ALL_ROWS.get() {
        picked.extend(rows.into_iter().flatten());
    }
    picked
}

/// Sorts by `+field` or `-field`; without it the rows stay as they are. 422 for a field that is not in the list.
pub fn sort<R: Borrow<T>, T>(
    rows: &mut [R],
    sort_by: Option<&str>,
    fields: &[Field<T>],
) -> Result<(), ToolError> {
    let Some(sort_by) = asked(sort_by).map(str::trim) else {
        return Ok(());
    };
    let descending = sort_by.starts_with('-');
    let name = sort_by.strip_prefix(['+', '-']);
    let Some((_, order)) = fields.iter().find(|(field, _)| Some(*field) == name) else {
        let known: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
        return Err(ToolError::invalid(format!(
            "sort_by must be + or - and one of {}, not {sort_by:?}.",
            known.join(", ")
        )));
    };
    rows.sort_by(|a, b| {
        let (a, b) = (a.borrow(), b.borrow());
        if descending { order(b, a) } else { order(a, b) }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field<u32>] = &[("size", u32::cmp)];

    #[test]
    fn a_page_is_cut_from_the_rows_and_may_be_empty() {
        let page = |index, limit| {
            let page: Page = Page {
                page_index: PageIndex(index),
                page_limit: PageLimit::try_from(limit).unwrap(),
            };
            page.of((0..7).collect())
        };
        assert_eq!(page(0, 5), [0, 1, 2, 3, 4]);
        assert_eq!(page(1, 5), [5, 6]);
        assert_eq!(page(u32::MAX, 20), [0; 0]);
    }

    #[test]
    fn a_page_limit_out_of_bounds_is_refused() {
        for wrong in [0, 21] {
            assert!(PageLimit::<20>::try_from(wrong).is_err());
        }
        assert!(PageLimit::<NO_LIMIT>::try_from(0).is_err());
        assert!(PageLimit::<NO_LIMIT>::try_from(NO_LIMIT).is_ok());
    }

    #[test]
    fn what_does_not_match_stands_behind_where_nothing_is_left_out_and_a_page_is_cut_before_it_is_sorted()
     {
        let list = List::<2> {
            query: Some("apple".into()),
            sort_by: Some("+size".into()),
            page_index: PageIndex(0),
            page_limit: PageLimit(2),
        };
        let fields: &[Field<(u32, &str)>] = &[("size", |a, b| a.0.cmp(&b.0))];
        let page = || {
            let rows = vec![(1, "a pear"), (3, "an apple"), (2, "an apple, an apple")];
            let page = list.of(rows, |row| row.1.to_owned(), fields).unwrap();
            page.iter().map(|row| row.0).collect::<Vec<u32>>()
        };
        assert_eq!(page(), [2, 3]);
        keep_all_rows(true);
        let all = (
            page(),
            matching(vec!["b", "a"], Some("a"), |row| (*row).to_owned()),
        );
        keep_all_rows(false);
        assert_eq!(all, (vec![2, 3], vec!["a", "b"]));
    }

    #[test]
    fn rows_are_sorted_up_and_down() {
        let sorted = |sort_by| {
            let mut rows = vec![&2, &3, &1];
            sort(&mut rows, sort_by, FIELDS).map(|()| rows)
        };
        assert_eq!(sorted(None).unwrap(), [&2, &3, &1]);
        assert_eq!(sorted(Some("+size")).unwrap(), [&1, &2, &3]);
        assert_eq!(sorted(Some("-size")).unwrap(), [&3, &2, &1]);
        for wrong in ["-colour", "size"] {
            let error = sorted(Some(wrong)).unwrap_err();
            let message = format!("sort_by must be + or - and one of size, not {wrong:?}.");
            assert_eq!(error.message, message);
        }
    }

    #[test]
    fn a_blank_query_matches_all_and_another_only_what_fits() {
        let rows = || vec!["red apples", "pears", "an apple pie with apples"];
        let text = |row: &&str| (*row).to_owned();
        assert_eq!(matching(rows(), Some("  "), text), rows());
        assert_eq!(matching(rows(), Some("apple"), text).len(), 2);
    }
}
