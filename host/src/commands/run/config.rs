//! `run --print-config`: every setting that a run would have, and where each value comes from. It plays nothing and makes
//! no folder.

use anyhow::anyhow;
use camino::Utf8Path;
use serde::Serialize;
use serde_json::{Value, json};

use super::{load_wanted, wanted};
use crate::cli::{RunArgs, TapeArgs};
use crate::commands::machine;
use crate::commands::output::print_json;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Settled, agents, at_once, settle};
use pibench_record::Manifest;
use pibench_record::folder::PluginMark;
use pibench_report::escape;
use pibench_report::grid::listing;
use pibench_sandbox::GuestLimits;
use pibench_suite::load::{LoadedPolicy, OPTIONS, Origin, Setting, settings};
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
        .map(|setting| of_setting(setting, path, &effective))
        .collect();
    rows.extend(limits(&settled, &of_suite, path, &suite.limits));
    rows.extend(of_operator(args, &settled));
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
fn of_setting(setting: &Setting, path: &Utf8Path, effective: &Value) -> Row {
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
            from => of_origin(from, path),
        },
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

/// What only the command line says: which part is played, with which files, how and to where.
fn of_operator(args: &RunArgs, settled: &Settled) -> Vec<Row> {
    let Manifest {
        shard,
        plugin_dirs,
        prompts,
        policy,
        plugins,
        ..
    } = &settled.manifest;
    let TapeArgs {
        record,
        replay,
        judge_cache,
    } = &args.tape;
    let path = |path: &Option<camino::Utf8PathBuf>| path.as_ref().map(ToString::to_string);
    let out = path(&args.out);
    let messages = args.otlp_messages.then(|| "true".to_owned());
    let options = [
        ("shard", shard.map(|shard| shard.to_string()), None),
        (
            "out",
            out,
            Some(format!("runs/{}-<UTC time>", settled.manifest.suite)),
        ),
        ("prompts", prompts.clone(), Some("built in".into())),
        ("max-cost", args.max_cost.map(|usd| usd.to_string()), None),
        (
            "log-level",
            args.log_level.map(|level| level.to_string()),
            Some("info".into()),
        ),
        ("otlp", args.otlp.clone(), None),
        ("otlp-messages", messages, Some("false".into())),
        ("record", path(record), None),
        ("replay", path(replay), None),
        ("judge-cache", path(judge_cache), None),
    ];
    let mut rows: Vec<Row> = options
        .into_iter()
        .map(|(key, given, default)| Row {
            from: match given {
                Some(_) => format!("--{key}"),
                None => DEFAULT.into(),
            },
            key: key.into(),
            value: json!(given.or(default)),
        })
        .collect();
    for (at, dir) in plugin_dirs.iter().enumerate() {
        let own = at == 0 && args.settings.plugins.is_some();
        rows.push(Row {
            key: "plugins".into(),
            value: dir.as_str().into(),
            from: if own { "--plugins" } else { DEFAULT }.into(),
        });
    }
    for (name, mark) in plugins {
        rows.extend(of_plugin(
            name,
            mark,
            settled.policy.as_ref(),
            policy.as_deref(),
        ));
    }
    rows
}

/// What is known of a plugin: whether a lock vouches for it, and what it may use.
fn of_plugin(
    name: &str,
    mark: &PluginMark,
    loaded: Option<&LoadedPolicy>,
    policy: Option<&str>,
) -> [Row; 2] {
    let PluginMark {
        sha256,
        pinned,
        grants,
        signed,
        ..
    } = mark;
    let granted = loaded.is_some_and(|loaded| loaded.policy.plugins.contains_key(name));
    [
        Row {
            key: format!("plugin.{name}.sha256"),
            value: sha256.as_str().into(),
            from: if *pinned { "pibench.lock" } else { "the file" }.into(),
        },
        Row {
            key: format!("plugin.{name}.grants"),
            value: json!(grants),
            from: match (policy, signed) {
                (Some(policy), _) if granted => policy.into(),
                (Some(policy), Some(signed)) => format!("{policy}, as {} signed it", signed.by),
                _ => DEFAULT.into(),
            },
        },
    ]
}
