//! The condition `unchanged`: nothing became of any record of the apps but what is named.

use crate::app::App;
use crate::diff::pairs;
use crate::finding::{Finding, Undecided};
use crate::scene::{Lists, Scene};
use crate::table::{ConfigError, Node};

/// How many changes a reason mentions.
const MENTIONED: usize = 5;

/// Which apps must be as they were, and what may have changed in them.
pub(crate) struct Unchanged {
    /// None for all.
    apps: Option<Vec<String>>,
    except: Vec<App>,
}

impl Unchanged {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let apps = table.read("apps", |node| {
            node.one_or_more()?.into_iter().map(Node::text).collect()
        })?;
        let except = table.read("except", |node| {
            let each = node.one_or_more()?.into_iter();
            each.map(App::parse_exception).collect()
        })?;
        table.finish()?;
        Ok(Self {
            apps,
            except: except.unwrap_or_default(),
        })
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Result<Finding, Undecided> {
        let mut changes = Vec::new();
        for state in &scene.apps {
            let looked_at = self
                .apps
                .as_ref()
                .is_none_or(|apps| apps.iter().any(|app| app == state.name()));
            if !looked_at {
                continue;
            }
            let (before, now) = state.lists()?;
            changes.extend(self.unexpected(state.name(), before, now)?);
        }
        let reason = if changes.is_empty() {
            "nothing else changed".to_owned()
        } else {
            let count = changes.len();
            changes.truncate(MENTIONED);
            format!("{count} other changes: {}", changes.join("; "))
        };
        Ok(Finding {
            pass: changes.is_empty(),
            reason,
        })
    }

    fn unexpected(&self, app: &str, before: &Lists, now: &Lists) -> Result<Vec<String>, Undecided> {
        let exceptions: Vec<&App> = self.except.iter().filter(|it| it.is_about(app)).collect();
        for exception in &exceptions {
            exception.check_lists(before, now)?;
        }
        let pairs = pairs(before, now);
        let unexpected = pairs
            .iter()
            .filter(|pair| pair.differs() && !exceptions.iter().any(|it| it.fits(pair)));
        Ok(unexpected
            .map(|pair| format!("{app} {}", pair.told()))
            .collect())
    }
}
