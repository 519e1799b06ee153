//! The condition `app`: which records an app holds, and what became of them since the session began.

use serde_json::Value;

use crate::diff::{Pair, pairs};
use crate::finding::{Finding, Undecided};
use crate::matcher::{Captures, Fields, Names};
use crate::range::Range;
use crate::scene::{Lists, ParsedApp, Scene};
use crate::table::{ConfigError, Node, Table};

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
    /// The only fields that may have changed.
    only: Option<Vec<String>>,
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

impl App {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let count = table.read("count", Range::parse)?;
        Self::of(table, count.unwrap_or(Range::SOME))
    }

    /// What may have changed beside the rest: it is not counted.
    pub(crate) fn parse_exception(node: Node) -> Result<Self, ConfigError> {
        Self::of(node.table()?, Range::SOME)
    }

    fn of(mut table: Table, count: Range) -> Result<Self, ConfigError> {
        let path = table.path.clone();
        let texts = |node: Node| node.one_or_more()?.into_iter().map(Node::text).collect();
        let fields = |node| Fields::parse(node, Names::NONE);
        let app = Self {
            name: table.require("name")?.text()?,
            lists: table.read("records", texts)?,
            now: table.read("where", fields)?,
            was: table.read("was", fields)?,
            except: table.read("except", fields)?,
            change: table.read("change", |node| change(&node))?,
            only: table.read("only", texts)?,
            count,
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
        let none = Lists::new();
        let state = scene.apps.iter().find(|state| state.name() == self.name);
        let (before, now) = state.map_or(Ok((&none, &none)), ParsedApp::lists)?;
        self.check_lists(before, now)?;
        let mut pairs = pairs(before, now);
        pairs.retain(|pair| self.looks_at(pair.list));
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

    /// A list that the state has never had is a slip of the author.
    pub(crate) fn check_lists(&self, before: &Lists, now: &Lists) -> Result<(), Undecided> {
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

    pub(crate) fn is_about(&self, app: &str) -> bool {
        self.name == app
    }

    fn looks_at(&self, list: &str) -> bool {
        let lists = self.lists.as_ref();
        lists.is_none_or(|lists| lists.iter().any(|name| name == list))
    }

    pub(crate) fn fits(&self, pair: &Pair) -> bool {
        let Self {
            name: _,
            lists: _,
            change,
            now,
            was,
            except,
            only,
            count: _,
        } = self;
        let Some(record) = shown(pair, *change).filter(|_| self.looks_at(pair.list)) else {
            return false;
        };
        let fields =
            |fields: &Fields, record: &Value| fields.mismatch(record, &Captures::new()).is_none();
        now.as_ref().is_none_or(|wanted| fields(wanted, record))
            && was
                .as_ref()
                .is_none_or(|wanted| pair.before().is_some_and(|it| fields(wanted, it)))
            && !except
                .as_ref()
                .is_some_and(|unwanted| fields(unwanted, record))
            && only.as_ref().is_none_or(|only| only_these(pair, only))
    }

    /// Why the last record with the right change does not do.
    fn near_miss(&self, pairs: &[Pair]) -> String {
        let Some(wanted) = &self.now else {
            return String::new();
        };
        let miss = pairs.iter().rev().find_map(|pair| {
            let reason = wanted.mismatch(shown(pair, self.change)?, &Captures::new())?;
            Some(format!("; but of {} {reason}", pair.title()))
        });
        miss.unwrap_or_default()
    }
}

/// The record to look at, if the change is the wanted one.
fn shown<'a>(pair: &'a Pair, change: Option<Change>) -> Option<&'a Value> {
    let (before, now) = (pair.before(), pair.now());
    let both = before.and(now);
    match change {
        None => now,
        Some(Change::Added) => now.filter(|_| before.is_none()),
        Some(Change::Removed) => before.filter(|_| now.is_none()),
        Some(Change::Changed) => both.filter(|_| pair.differs()),
        Some(Change::Unchanged) => both.filter(|_| !pair.differs()),
        Some(Change::Touched) => now.or(before).filter(|_| pair.differs()),
    }
}

/// Whether a record changed in these fields, or what is in them, and in no others.
fn only_these(pair: &Pair, only: &[String]) -> bool {
    let fields = pair.fields();
    let named = |field: &String| {
        let mut only = only.iter();
        only.any(|name| {
            field
                .strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    !fields.is_empty() && fields.iter().all(named)
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
