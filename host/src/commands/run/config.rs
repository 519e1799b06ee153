//! `run --print-config`: every setting that a run would have, and where each value comes from. It plays nothing and makes
//! no folder.

mod operator;

use anyhow::anyhow;
use camino::Utf8Path;
use serde::Serialize;
use serde_json::{Value, json};

use super::{load_wanted, wanted};
use crate::cli::{RunArgs, SettingArgs};
use crate::commands::machine;
use crate::commands::output::print_json;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Settled, agents, at_once, settle};
use pibench_report::escape;
use pibench_report::grid::listing;
use pibench_sandbox::GuestLimits;
use pibench_suite::load::{OPTIONS, Origin, Setting, settings};
use pibench_suite::manifest::LimitOverrides;

/// One setting as it is shown.
#[derive(Debug, Serialize)]
struct Row {
    key: String,
    /// Null: not set.
    value: Value,
    /// `default`, a file with its line, or an option of the command line.
    from: String,
}

const DEFAULT: &str = "default";

/// Prints the settings as a table, or as one JSON list.
pub(super) fn print(args: &RunArgs) -> Result<Exit, Failure> {
    let suite = load_wanted(args)?;
    let path = &suite.path;
    let of_suite = settings(path, &suite.assigned)
        .map_err(|problems| anyhow!("load {path}: {} problems", problems.0.len()))
        .or_exit(Exit::InvalidInput)?;
    let agents = agents(&suite)?;
    // All but the agent is the same for each.
    let settled = settle(&machine()?, &suite, &wanted(args)?, &agents[0])?;
    let mut effective = json!(settled.manifest);
    effective["agent"] = json!(agents.join(","));
    effective["jobs"] = json!(at_once(&suite));
    effective["memory"] = json!(suite.memory);
    let mut rows: Vec<Row> = of_suite
        .iter()
        .filter(|setting| !setting.key.starts_with("limits."))
        .map(|setting| of_setting(setting, args, path, &effective))
        .collect();
    rows.extend(limits(&settled, &of_suite, path, &suite.limits));
    rows.extend(operator::rows(args, &settled));
    if args.json {
        print_json(&rows)?;
    } else {
        print!("{}", listing(&rows.iter().map(cells).collect::<Vec<_>>()));
    }
    Ok(Exit::Complete)
}

fn cells(Row { key, value, from }: &Row) -> [String; 3] {
    let value = match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        // A line breaks at blanks: JSON's own text of a list has none.
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            format!("[{}]", values.join(", "))
        }
        value => value.to_string(),
    };
    [key, &value, from].map(|text| escape::line(text))
}

fn of_origin(from: &Origin, path: &Utf8Path) -> String {
    match from {
        Origin::Default => DEFAULT.into(),
        Origin::Line(line) => format!("{path}:{line}"),
        Origin::Assigned(text) => format!("--set {text}"),
        Origin::Chosen(option) => format!("--{option}"),
    }
}

/// A setting of the suite file. What an option may say otherwise is shown as it comes to be: as the manifest would have it,
/// by the last part of its key.
fn of_setting(setting: &Setting, args: &RunArgs, path: &Utf8Path, effective: &Value) -> Row {
    let Setting { key, value, from } = setting;
    let is_option = OPTIONS.iter().any(|choice| choice.key == key);
    let name = key.rsplit('.').next().unwrap_or(key);
    let value = if is_option { &effective[name] } else { value };
    let own_prompt = key == "scaffold_prompt" && value == "own";
    Row {
        key: key.clone(),
        value: value.clone(),
        from: match from {
            Origin::Chosen(_) => of_origin(from, path),
            _ if own_prompt => "--prompts".into(),
            Origin::Assigned(text) if !is_typed(text, &args.settings) => {
                format!("--{}", how_asked(key, &args.settings))
            }
            from => of_origin(from, path),
        },
    }
}

/// Whether a `--set` stands on the command line, and does not come from an option that says how the agent's model is asked.
fn is_typed(text: &str, args: &SettingArgs) -> bool {
    args.set.iter().any(|one| one.text() == Some(text))
}

/// Which of those options a setting comes from. The rest of a model's entry comes with what is said of the model.
fn how_asked(key: &str, args: &SettingArgs) -> &'static str {
    if key.starts_with("providers.") {
        "base-url"
    } else if args.temperature.is_none()
        || args.max_output_tokens.is_some() && key.ends_with(".max_output_tokens")
    {
        "max-output-tokens"
    } else {
        "temperature"
    }
}

/// The limits of guests in effect: the host's, unless suite or policy lower them.
fn limits(
    settled: &Settled,
    of_suite: &[Setting],
    path: &Utf8Path,
    by_suite: &LimitOverrides,
) -> Vec<Row> {
    let policy = settled.policy.as_ref().map(|loaded| loaded.policy.limits);
    let lowered = |by: Option<LimitOverrides>| {
        let lowered = by.and_then(|by| GuestLimits::default().lowered(by).ok());
        lowered.unwrap_or_default().named()
    };
    let (host, suite) = (GuestLimits::default().named(), lowered(Some(*by_suite)));
    let policy = lowered(policy);
    let rows = settled.limits.named().into_iter().enumerate();
    rows.map(|(at, (key, value))| {
        let written = of_suite.iter().find(|setting| setting.key == key);
        let from = if value == host[at].1 {
            DEFAULT.into()
        } else if value == suite[at].1 {
            written.map_or_else(
                || path.to_string(),
                |setting| of_origin(&setting.from, path),
            )
        } else if value == policy[at].1 {
            settled.manifest.policy.clone().unwrap_or_default()
        } else {
            path.to_string()
        };
        Row {
            key,
            value: value.into(),
            from,
        }
    })
    .collect()
}
