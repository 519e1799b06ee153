//! Conditions and how they combine.

use crate::app::App;
use crate::call::{Called, Order};
use crate::file::File;
use crate::finding::{Finding, Undecided};
use crate::said::Said;
use crate::scene::Scene;
use crate::table::{ConfigError, Node};
use crate::unchanged::Unchanged;

/// One condition of a configuration.
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Called(Called),
    Order(Order),
    File(File),
    App(App),
    Said(Said),
    Unchanged(Unchanged),
}

const KINDS: &str = "`all`, `any`, `not`, `called`, `order`, `file`, `app`, `unchanged` or `said`";

impl Condition {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let table = node.table()?;
        let path = table.path.clone();
        let mut entries: Vec<(String, Node)> = table.into_nodes().collect();
        let names: Vec<String> = entries
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let (Some((kind, node)), true) = (entries.pop(), names.len() == 1) else {
            let found = if names.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            };
            return Err(ConfigError::new(
                &path,
                format!("must have exactly one key, {KINDS}, and has {found}"),
            ));
        };
        match kind.as_str() {
            "all" => Ok(Self::All(parse_all(node)?)),
            "any" => Ok(Self::Any(parse_all(node)?)),
            "not" => Ok(Self::Not(Box::new(Self::parse(node)?))),
            "called" => Ok(Self::Called(Called::parse(node)?)),
            "order" => Ok(Self::Order(Order::parse(node)?)),
            "file" => Ok(Self::File(File::parse(node)?)),
            "app" => Ok(Self::App(App::parse(node)?)),
            "unchanged" => Ok(Self::Unchanged(Unchanged::parse(node)?)),
            "said" => Ok(Self::Said(Said::parse(node)?)),
            _ => Err(node.error(format!("unknown condition; must be {KINDS}"))),
        }
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Result<Finding, Undecided> {
        match self {
            Self::All(conditions) => all(conditions, scene),
            Self::Any(conditions) => any(conditions, scene),
            Self::Not(condition) => {
                let Finding { pass, reason } = condition.judge(scene)?;
                Ok(Finding {
                    pass: !pass,
                    reason: format!("not: {reason}"),
                })
            }
            Self::Called(called) => Ok(called.judge(scene)),
            Self::Order(order) => order.judge(scene),
            Self::File(file) => file.judge(scene),
            Self::App(app) => app.judge(scene),
            Self::Said(said) => Ok(said.judge(scene)),
            Self::Unchanged(unchanged) => unchanged.judge(scene),
        }
    }
}

fn parse_all(node: Node) -> Result<Vec<Condition>, ConfigError> {
    node.list()?.into_iter().map(Condition::parse).collect()
}

fn all(conditions: &[Condition], scene: &Scene) -> Result<Finding, Undecided> {
    let mut reasons = Vec::new();
    for condition in conditions {
        let finding = condition.judge(scene)?;
        if !finding.pass {
            return Ok(finding);
        }
        reasons.push(finding.reason);
    }
    Ok(Finding {
        pass: true,
        reason: reasons.join("; "),
    })
}

fn any(conditions: &[Condition], scene: &Scene) -> Result<Finding, Undecided> {
    let mut reasons = Vec::new();
    for condition in conditions {
        let finding = condition.judge(scene)?;
        if finding.pass {
            return Ok(finding);
        }
        reasons.push(finding.reason);
    }
    Ok(Finding {
        pass: false,
        reason: reasons.join("; "),
    })
}
