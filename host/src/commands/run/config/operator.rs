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
        plugin_dirs,
        policy,
        plugins,
        ..
    } = &settled.manifest;
    let mut rows: Vec<Row> = options(args, &settled.manifest)
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

/// Each option of one value, with what was given and what is taken otherwise.
fn options(
    args: &RunArgs,
    manifest: &Manifest,
) -> Vec<(&'static str, Option<String>, Option<String>)> {
    // Named one by one, so that none which comes later is forgotten here.
    let RunArgs {
        max_cost,
        log_level,
        otlp,
        otlp_messages,
        no_preflight,
        grace,
        exit_zero,
        out,
        tape,
        // As the manifest has them.
        shard: _,
        prompts: _,
        // Each is told in a way of its own.
        settings: _,
        sync: _,
        no_sync: _,
        // What is done in place of this, how, and how it is printed.
        resume: _,
        trust_record: _,
        dry_run: _,
        print_config: _,
        json: _,
    } = args;
    let TapeArgs {
        record,
        replay,
        judge_cache,
    } = tape;
    let Manifest {
        shard,
        prompts,
        suite,
        ..
    } = manifest;
    let path = |path: &Option<Utf8PathBuf>| path.as_ref().map(ToString::to_string);
    let flag = |given: bool| given.then(|| "true".to_owned());
    let off = || Some("false".to_owned());
    let folder = format!("runs/{suite}-<UTC time>");
    let level = log_level.map(|level| level.to_string());
    let grace = grace.map(|seconds| seconds.to_string());
    vec![
        ("shard", shard.map(|shard| shard.to_string()), None),
        ("out", path(out), Some(folder)),
        ("prompts", prompts.clone(), Some("built in".into())),
        ("max-cost", max_cost.map(|usd| usd.to_string()), None),
        ("log-level", level, Some("info".into())),
        ("otlp", otlp.clone(), None),
        ("otlp-messages", flag(*otlp_messages), off()),
        ("no-preflight", flag(*no_preflight), off()),
        ("grace", grace, Some(GRACE.to_string())),
        ("exit-zero", flag(*exit_zero), off()),
        ("record", path(record), None),
        ("replay", path(replay), None),
        ("judge-cache", path(judge_cache), None),
    ]
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
