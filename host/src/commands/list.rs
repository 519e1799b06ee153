//! `pibench-host list`: what a suite holds, and the tools that there are.

use anyhow::anyhow;
use camino::Utf8PathBuf;
use serde::Serialize;

use super::output::print_json;
use super::{embedded_suite, machine, offered_tools, runtime, show_problems};
use crate::cli::{ListArgs, ListCommand};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::vocabulary::Category;
use pibench_engine::plan::{limits, open, search};
use pibench_report::escape;
use pibench_report::grid::{fitting, keep_words};
use pibench_suite::load::load;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::statistics::{Statistics, render, statistics};
use pibench_suite::suite::Suite;

/// A session, for programs.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    persona: &'a str,
    id: &'a str,
    title: &'a str,
    /// A letter of the paper's Table 5; null where the file names none.
    category: Option<Category>,
    /// Earlier sessions of its group; empty unless it is a group's last.
    depends_on: &'a [String],
    /// Whether it is scored only as a part of its group.
    dependency_only: bool,
    intents: usize,
    checklist: usize,
}

/// All of a suite, for programs: its counts, and what is counted.
#[derive(Debug, Serialize)]
struct All<'a> {
    #[serde(flatten)]
    counts: &'a Statistics,
    sessions: Vec<Listed<'a>>,
}

/// Prints the counts of the paper's Tables 2, 3 and 5, or the sessions.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    if let Some(ListCommand::Sessions { suite, json }) = &args.what {
        return sessions(&load_named(suite.as_ref())?, *json);
    }
    let suite = load_named(args.suite.as_ref())?;
    let machine = machine()?;
    let policy = PolicyFile::default();
    let limits = limits(&suite, &policy)?;
    let dirs = search(&machine, args.plugins.as_deref())?;
    let of_suite = suite.plugins.clone();
    let plugins = open(&machine, of_suite, dirs, &limits, policy, None)?;
    let apps = plugins.tool_apps().or_exit(Exit::InvalidInput)?;
    let tools = runtime()?.block_on(offered_tools(&suite, &plugins, apps))?;
    let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
    let statistics = statistics(&suite, &names);
    if args.json {
        let all = All {
            counts: &statistics,
            sessions: listed(&suite).collect(),
        };
        print_json(&all)?;
    } else {
        print!("{}", render(&statistics));
    }
    Ok(Exit::Complete)
}

fn load_named(path: Option<&Utf8PathBuf>) -> Result<Suite, Failure> {
    let path = path.cloned().map_or_else(embedded_suite, Ok)?;
    let loaded = load(&path).map_err(|problems| {
        show_problems(&problems.0);
        Failure {
            exit: Exit::InvalidInput,
            error: anyhow!("load {path}"),
        }
    })?;
    Ok(loaded.suite)
}

fn listed(suite: &Suite) -> impl Iterator<Item = Listed<'_>> {
    suite.personas.iter().flat_map(|persona| {
        persona.sessions.iter().map(|session| Listed {
            persona: &persona.id,
            id: &session.id,
            title: &session.title,
            category: session.category,
            depends_on: &session.depends_on,
            dependency_only: session.dependency_only,
            intents: session.intents.len(),
            checklist: session.checklist.len(),
        })
    })
}

fn sessions(suite: &Suite, json: bool) -> Result<Exit, Failure> {
    if json {
        let all: Vec<Listed<'_>> = listed(suite).collect();
        print_json(&all)?;
        return Ok(Exit::Complete);
    }
    let mut table = fitting();
    table.set_header(["session", "", "title", "depends on"]);
    let mut last = "";
    for one in listed(suite) {
        // A persona has a line of its own, where its sessions begin.
        if last != one.persona {
            table.add_row([one.persona]);
            last = one.persona;
        }
        let category = one.category.map(|category| format!("{category:?}"));
        table.add_row([
            format!("  {}", one.id),
            category.unwrap_or_default(),
            escape::line(one.title),
            one.depends_on.join(" "),
        ]);
    }
    keep_words(&mut table, [0, 1, 3]);
    println!("{table}");
    Ok(Exit::Complete)
}
