//! What only the command line says: which part is played, with which files, how and to where; and what plugins may use.

use camino::Utf8PathBuf;
use serde_json::json;

use super::{DEFAULT, Row};
use crate::cli::{GRACE, RunArgs, TapeArgs};
use pibench_engine::plan::Settled;
use pibench_record::Manifest;
use pibench_record::folder::PluginMark;
use pibench_suite::load::LoadedPolicy;

/// Each option with its value.
pub(super) fn rows(args: &RunArgs, settled: &Settled) -> Vec<Row> {
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
    let path = |path: &Option<Utf8PathBuf>| path.as_ref().map(ToString::to_string);
    let out = path(&args.out);
    let flag = |given: bool| given.then(|| "true".to_owned());
    let grace = (args.grace != GRACE).then(|| args.grace.to_string());
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
        (
            "otlp-messages",
            flag(args.otlp_messages),
            Some("false".into()),
        ),
        (
            "no-preflight",
            flag(args.no_preflight),
            Some("false".into()),
        ),
        ("grace", grace, Some(GRACE.to_string())),
        ("exit-zero", flag(args.exit_zero), Some("false".into())),
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
    rows.push(sync(args));
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

/// Two options say the one or the other.
fn sync(args: &RunArgs) -> Row {
    let (value, from) = match (args.sync, args.no_sync) {
        (true, _) => ("true", "--sync"),
        (_, true) => ("false", "--no-sync"),
        (false, false) => ("where a real model takes part", DEFAULT),
    };
    Row {
        key: "sync".into(),
        value: value.into(),
        from: from.into(),
    }
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
