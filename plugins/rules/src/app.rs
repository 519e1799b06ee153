//! The condition `app`: which records an app holds, and what became of them since the session began.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::condition::{Finding, Undecided};
use crate::matcher::{Captures, Fields, Names, same, shown};
use crate::range::Range;
use crate::scene::Scene;
use crate::table::{ConfigError, Node};

/// How many records a reason mentions.
const MENTIONED: usize = 3;

/// What is asked of an app's records.
pub(crate) struct App {
    name: String,
    /// The lists to look at; none for all.
    lists: Option<Vec<String>>,
    change: Option<Change>,
    now: Option<Fields>,
    was: Option<Fields>,
    except: Option<Fields>,
    count: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    Changed,
    Unchanged,
    Touched,
}

/// A record at the session's start and now; at least one of them.
struct Pair<'a> {
    list: &'a str,
    before: Option<&'a Value>,
    now: Option<&'a Value>,
}

impl App {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let path = table.path.clone();
        let fields = |node| Fields::parse(node, Names::NONE);
        let app = Self {
            name: table.require("name")?.text()?,
            lists: table.read("records", |node| {
                node.one_or_more()?.into_iter().map(Node::text).collect()
            })?,
            now: table.read("where", fields)?,
            was: table.read("was", fields)?,
            except: table.read("except", fields)?,
            change: table.read("change", |node| change(&node))?,
            count: table.read("count", Range::parse)?.unwrap_or(Range::SOME),
        };
        table.finish()?;
        if app.change == Some(Change::Added) && app.was.is_some() {
            return Err(ConfigError::new(
                &path,
                "`was` is of no use with `change = \"added\"`: there was nothing",
            ));
        }
        Ok(app)
    }

    /// An app of which the session has no state counts as one without records.
    pub(crate) fn judge(&self, scene: &Scene) -> Result<Finding, Undecided> {
        let (before, now) = match scene.apps.iter().find(|state| state.app == self.name) {
            Some(state) => (self.lists_of(&state.before)?, self.lists_of(&state.now)?),
            None => (Map::new(), Map::new()),
        };
        self.known_lists(&before, &now)?;
        let pairs = self.pairs(&before, &now);
        let fitting: Vec<&Pair> = pairs.iter().filter(|pair| self.fits(pair)).collect();
        let mentioned: Vec<String> = fitting
            .iter()
            .take(MENTIONED)
            .map(|pair| pair.title())
            .collect();
        let mentioned = if mentioned.is_empty() {
            String::new()
        } else {
            format!(": {}", mentioned.join("; "))
        };
        let near = if fitting.is_empty() {
            self.near_miss(&pairs)
        } else {
            String::new()
        };
        Ok(Finding {
            pass: self.count.holds(fitting.len() as u64),
            reason: format!(
                "{} of {} records of {} fit{}, {} wanted{mentioned}{near}",
                fitting.len(),
                pairs.len(),
                self.name,
                self.change
                    .map(|change| format!(" as {}", change.name()))
                    .unwrap_or_default(),
                self.count,
            ),
        })
    }

    fn lists_of(&self, state: &str) -> Result<Map<String, Value>, Undecided> {
        match serde_json::from_str(state) {
            Ok(Value::Object(lists)) => Ok(lists),
            _ => Err(Undecided(format!(
                "the state of {} is no JSON object",
                self.name
            ))),
        }
    }

    /// A list that the state has never had is a slip of the author.
    fn known_lists(
        &self,
        before: &Map<String, Value>,
        now: &Map<String, Value>,
    ) -> Result<(), Undecided> {
        if before.is_empty() && now.is_empty() {
            return Ok(());
        }
        let unknown = |list: &&String| !before.contains_key(*list) && !now.contains_key(*list);
        let Some(list) = self.lists.iter().flatten().find(unknown) else {
            return Ok(());
        };
        let known = now.keys().cloned().collect::<Vec<_>>().join("`, `");
        Err(Undecided(format!(
            "the state of {} has no list `{list}`; it has `{known}`",
            self.name
        )))
    }

    fn pairs<'a>(
        &self,
        before: &'a Map<String, Value>,
        now: &'a Map<String, Value>,
    ) -> Vec<Pair<'a>> {
        let mut pairs: BTreeMap<(&str, String), Pair> = BTreeMap::new();
        let looked_at = |list: &str| {
            self.lists
                .as_ref()
                .is_none_or(|lists| lists.iter().any(|name| name == list))
        };
        for (list, record) in records(before).filter(|(list, _)| looked_at(list)) {
            pairs.insert(
                (list, identity(record)),
                Pair {
                    list,
                    before: Some(record),
                    now: None,
                },
            );
        }
        for (list, record) in records(now).filter(|(list, _)| looked_at(list)) {
            pairs
                .entry((list, identity(record)))
                .and_modify(|pair| pair.now = Some(record))
                .or_insert(Pair {
                    list,
                    before: None,
                    now: Some(record),
                });
        }
        pairs.into_values().collect()
    }

    fn fits(&self, pair: &Pair) -> bool {
        let Self {
            name: _,
            lists: _,
            change,
            now,
            was,
            except,
            count: _,
        } = self;
        let Some(record) = pair.shown(*change) else {
            return false;
        };
        let fields =
            |fields: &Fields, record: &Value| fields.mismatch(record, &Captures::new()).is_none();
        now.as_ref().is_none_or(|wanted| fields(wanted, record))
            && was
                .as_ref()
                .is_none_or(|wanted| pair.before.is_some_and(|before| fields(wanted, before)))
            && !except
                .as_ref()
                .is_some_and(|unwanted| fields(unwanted, record))
    }

    /// Why the last record with the right change does not do.
    fn near_miss(&self, pairs: &[Pair]) -> String {
        let Some(wanted) = &self.now else {
            return String::new();
        };
        let miss = pairs.iter().rev().find_map(|pair| {
            let reason = wanted.mismatch(pair.shown(self.change)?, &Captures::new())?;
            Some(format!("; but of {} {reason}", pair.title()))
        });
        miss.unwrap_or_default()
    }
}

impl<'a> Pair<'a> {
    /// The record to look at, if the change is the wanted one.
    fn shown(&self, change: Option<Change>) -> Option<&'a Value> {
        let same = match (self.before, self.now) {
            (Some(before), Some(now)) => Some(same(before, now)),
            _ => None,
        };
        match change {
            None => self.now,
            Some(Change::Added) => {
                if self.before.is_none() {
                    self.now
                } else {
                    None
                }
            }
            Some(Change::Removed) => {
                if self.now.is_none() {
                    self.before
                } else {
                    None
                }
            }
            Some(Change::Changed) => {
                if same == Some(false) {
                    self.now
                } else {
                    None
                }
            }
            Some(Change::Unchanged) => {
                if same == Some(true) {
                    self.now
                } else {
                    None
                }
            }
            Some(Change::Touched) => {
                if same == Some(true) {
                    None
                } else {
                    self.now.or(self.before)
                }
            }
        }
    }

    /// As reasons name it.
    fn title(&self) -> String {
        let record = self.now.or(self.before).unwrap_or(&Value::Null);
        format!(
            "{} {}",
            self.list,
            shown(record.get("id").unwrap_or(record))
        )
    }
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Touched => "touched",
        }
    }
}

fn change(node: &Node) -> Result<Change, ConfigError> {
    let all = [
        Change::Added,
        Change::Removed,
        Change::Changed,
        Change::Unchanged,
        Change::Touched,
    ];
    let named = all
        .into_iter()
        .find(|change| node.value.as_str() == Some(change.name()));
    named.ok_or_else(|| {
        node.error("must be \"added\", \"removed\", \"changed\", \"unchanged\" or \"touched\"")
    })
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
