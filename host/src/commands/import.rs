//! `pibench-host import`: foreign task data to a suite of ours, foreign results to a run folder.

mod results;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use camino::Utf8Path;
use serde_json::{Value, json};

use super::{machine, runtime, show_problems};
use crate::cli::{ImportArgs, ImportFormat};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::app_seed;
use pibench_engine::plan::{open, search};
use pibench_import::tasks::{
    Databases, FIRST_CLOCK, ImportError, Report, import as import_pi_bench,
};
use pibench_report::escape;
use pibench_sandbox::{App, Grader, GuestLimits, Limits, OpenError, Plugins, World};
use pibench_suite::manifest::{Person, PolicyFile};

/// Imports, and says everything that was left out.
pub(super) fn import(args: ImportArgs) -> Result<Exit, Failure> {
    match args.format {
        ImportFormat::PiBench {
            dir,
            apps,
            out,
            plugins,
        } => pi_bench(&dir, apps.as_deref(), &out, plugins.as_deref()),
        ImportFormat::Results {
            dir,
            suite,
            model,
            out,
        } => results::results(&dir, &suite, model.as_deref(), &out),
    }
}

fn pi_bench(
    dir: &Utf8Path,
    apps: Option<&Utf8Path>,
    out: &Utf8Path,
    plugins: Option<&Utf8Path>,
) -> Result<Exit, Failure> {
    let machine = machine()?;
    let dirs = search(&machine, plugins)?;
    let (limits, policy) = (GuestLimits::default(), PolicyFile::default());
    let plugins = open(&machine, [].into(), dirs, &limits, policy, None)?;
    let runtime = runtime()?;
    let mut list_checks = |script: &str| runtime.block_on(checks(&plugins, script));
    let known: RefCell<BTreeMap<String, Option<Vec<String>>>> = RefCell::default();
    let is_there = |name: &str| {
        let app = name.split_once("__").map_or(name, |(app, _)| app);
        let mut known = known.borrow_mut();
        let tools = known
            .entry(app.to_owned())
            .or_insert_with(|| runtime.block_on(tools_of(&plugins, app)));
        tools
            .as_ref()
            .is_some_and(|tools| name == app || tools.iter().any(|tool| tool == name))
    };
    let mut open_app = |app: &str, people: &[Person], records: &Value| {
        runtime.block_on(self::open_app(&plugins, app, people, records))
    };
    let apps = apps.map(|dir| Databases {
        dir,
        open_app: &mut open_app,
    });
    match import_pi_bench(dir, apps, out, &mut list_checks, &is_there) {
        Ok(report) => Ok(show(&report, out.as_str())),
        Err(ImportError::Rejected(problems) | ImportError::Unloadable(problems)) => {
            show_problems(&problems.0);
            Err(anyhow!("import {dir}: nothing was written")).or_exit(Exit::InvalidInput)
        }
        Err(ImportError::Nothing(left_out)) => {
            show_left_out(&left_out);
            Err(anyhow!("import {dir}: nothing was written")).or_exit(Exit::InvalidInput)
        }
        Err(error) => Err(error).or_exit(Exit::Io),
    }
}

/// The names of an app's tools; None where there is no such app, or none that could be played with.
async fn tools_of(plugins: &Plugins, app: &str) -> Option<Vec<String>> {
    if let Some(tools) = plugins.described(app) {
        return Some(tools.into_iter().map(|(name, _)| name).collect());
    }
    let plugin = plugins.get(app).ok();
    let plugin = plugin.filter(|plugin| plugin.world() == World::ToolApp)?;
    let tools = App::list_tools(&plugin, Limits::APP).await.ok()?;
    Some(tools.into_iter().map(|tool| tool.name).collect())
}

/// The names of a rule script's checks: what its `score([])` answers in the sandbox.
async fn checks(plugins: &Plugins, script: &str) -> Result<Vec<String>, String> {
    let plugin = plugins.get("python").map_err(|error| error.to_string())?;
    let grader = Grader::new(plugin, Limits::PYTHON).map_err(|error| error.to_string())?;
    let checks = grader.list_checks(&json!({ "script": script })).await;
    let checks = checks.map_err(|fault| format!("the script {fault}"))?;
    Ok(checks.into_iter().map(|check| check.id).collect())
}

/// Nothing that is drawn while an app opens decides whether it does.
const KEY: [u8; 32] = [0; 32];

/// Opens an app as the first session of an imported episode does; why it cannot be otherwise, in its own words where it
/// says some.
async fn open_app(
    plugins: &Plugins,
    app: &str,
    people: &[Person],
    records: &Value,
) -> Result<(), String> {
    let plugin = plugins.get(app).map_err(|error| error.to_string())?;
    let seed = app_seed(people, records, false, app);
    let again = Arc::clone(&plugin);
    let opened = match App::open(plugin, Limits::APP, KEY, &seed, FIRST_CLOCK).await {
        // A slow machine gets a second try.
        Err(OpenError::Fault { fault, .. }) if fault.is_infrastructure() => {
            App::open(again, Limits::APP, KEY, &seed, FIRST_CLOCK).await
        }
        other => other,
    };
    match opened {
        Ok(_) => Ok(()),
        Err(OpenError::Records { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

fn show_left_out(lines: &[String]) {
    for line in lines {
        pibench_report::tell!("left out: {}", escape::line(line));
    }
}

fn show(report: &Report, out: &str) -> Exit {
    let Report {
        personas,
        sessions,
        intents,
        rubrics,
        rules,
        files,
        people,
        records,
        left_out,
        notes,
    } = report;
    for note in notes {
        pibench_report::tell!("note: {}", escape::line(note));
    }
    show_left_out(left_out);
    println!(
        "{out}/suite.toml: {}, {}, {}, {}, {}, {}, {people} people and {} of apps; {} left out",
        count(*personas, "persona"),
        count(*sessions, "session"),
        count(*intents, "hidden intent"),
        count(*rubrics, "rubric"),
        count(*rules, "rule"),
        count(*files, "file"),
        count(*records, "record"),
        left_out.len()
    );
    if left_out.is_empty() {
        Exit::Complete
    } else {
        Exit::InvalidInput
    }
}
