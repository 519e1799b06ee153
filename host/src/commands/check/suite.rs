//! A suite, a persona or a session for its author: what is wrong with it, and what it holds.

use std::collections::BTreeSet;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use super::{Found, against, pilots};
use crate::cli::CheckArgs;
use crate::commands::{machine, pack, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_agent::Toolbox;
use pibench_core::message::ToolSpec;
use pibench_engine::check::{
    CheckError, Ground, Plays, Refusals, There, Told, as_read, play_scripted,
};
use pibench_engine::plan::{Guests, search};
use pibench_report::check as report;
use pibench_report::check::Offered;
use pibench_suite::load::{readable, suite_above, suite_file};
use pibench_suite::problem::Problem;
use pibench_suite::statistics::{categories_table, personas_table, statistics};
use pibench_suite::suite::{Persona, Suite};
use pibench_suite::validate::{Authored, Tools, material_tokens};

/// The most tools that `OpenAI` takes in a request.
const MOST_TOOLS: usize = 128;

/// A suite, as far as it could be read: its plugins, its content, and how the scripted agents fare with what is sound. A
/// persona or session alone names no plugins and cannot be played: it says where that can be done.
pub(super) fn check(
    path: &Utf8Path,
    mut problems: Vec<Problem>,
    args: &CheckArgs,
) -> Result<Found, Failure> {
    let file = suite_file(path);
    let (Some(mut suite), _) = readable(&file) else {
        problems.extend(pack::problems(&file));
        return Ok(read_only(path, problems));
    };
    let broken: BTreeSet<Utf8PathBuf> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .map(|problem| problem.file().to_owned())
        .collect();
    if broken.is_empty() {
        check_session_names(&suite, args)?;
    }
    if let Some(policy) = &args.policy {
        suite.policy = Some(policy.clone());
    }
    let machine = machine()?;
    let dirs = search(&machine, args.plugins.as_deref())?;
    let Guests { plugins, .. } = Guests::of(&machine, &suite, dirs, suite.policy.as_deref())?;
    let runtime = runtime()?;
    let there = runtime.block_on(There::of(&suite, &plugins));
    let absent = there.absent();
    let as_read = runtime.block_on(as_read(&suite, &plugins, &mut problems));
    let authored = Authored::read(&as_read).or_exit(Exit::Io)?;
    let tools = Tools {
        known: &there.tools,
        absent: &absent,
    };
    // A letter that is wrong is told once, by the plugin that is not there.
    problems.retain(|problem| !tools.is_told(problem));
    let faults = there.faults.iter();
    problems.extend(faults.map(|(name, reason)| authored.plugin_problem(name, reason, &tools)));
    problems.extend(authored.problems(&tools));
    let offered = offered(&suite, &there.specs).or_exit(Exit::InvalidInput)?;
    problems.extend(too_many_tools(&authored, &offered));
    let asked = Refusals::of(&suite, &authored, &plugins, &absent);
    let refusals = runtime.block_on(asked);
    problems.extend_from_slice(&refusals.problems);
    let ground = Ground {
        machine: &machine,
        plugins: args.plugins.as_deref(),
        authored: &authored,
        absent: &absent,
        broken: &broken,
        refusals: &refusals,
        sessions: &args.session,
    };
    let Told {
        plays,
        problems: told,
        stopped,
    } = runtime.block_on(play_scripted(&suite, &ground))?;
    problems.extend(told);
    if let Some(error) = stopped {
        problems.push(unplayed(&suite, error)?);
    }
    let names: Vec<String> = there.tools.into_iter().map(|tool| tool.name).collect();
    let (table, of_pilots) = pilots::read(&file, &suite);
    problems.extend(of_pilots);
    problems.extend(pack::problems(&file));
    let mut found = held(&suite, &names, &offered, &plays, problems);
    found.text.push_str(&table);
    against::hold(&file, args, &mut found)?;
    Ok(found)
}

/// The files of what a suite names, which are only read where they are checked alone.
const PARTS: [&str; 2] = ["persona.toml", "session.toml"];

/// A path that is not played: of a persona or session, which suite plays it.
fn read_only(path: &Utf8Path, problems: Vec<Problem>) -> Found {
    let found = Found::of(problems);
    let is_part = if path.is_dir() {
        !suite_file(path).is_file() && PARTS.iter().any(|name| path.join(name).is_file())
    } else {
        path.is_file() && path.file_name().is_some_and(|name| PARTS.contains(&name))
    };
    if !is_part {
        return found;
    }
    let suite = suite_above(path);
    let named = suite.as_deref().map_or("that names it", Utf8Path::as_str);
    Found {
        text: format!("Read only: to play it, check the suite {named}.\n"),
        value: json!({ "read_only": true, "suite": suite }),
        ..found
    }
}

/// What a suite holds, with what was found wrong of it.
fn held(
    suite: &Suite,
    tools: &[String],
    offered: &[Offered],
    plays: &Plays,
    problems: Vec<Problem>,
) -> Found {
    let sessions = report::Sessions {
        suite,
        tokens: &material_tokens(suite),
        turns: plays
            .agents
            .iter()
            .map(|play| (play.agent, &play.turns))
            .collect(),
    };
    let statistics = statistics(suite, tools);
    Found {
        problems,
        text: [
            personas_table(&statistics),
            "\n".into(),
            categories_table(&statistics),
            "\n".into(),
            report::offered(offered),
            sessions.render(),
            played(plays),
        ]
        .concat(),
        value: json!({
            "statistics": statistics,
            "tools": offered,
            "sessions": sessions.value(),
            "plays": plays,
        }),
    }
}

/// The agents' table, and a line for each thing that was not played.
fn played(plays: &Plays) -> String {
    let line = |what: &String| format!("Not played: {what}.\n");
    let left_out: String = plays.left_out.iter().map(line).collect();
    if plays.agents.is_empty() && !left_out.is_empty() {
        return left_out;
    }
    let agents = plays.agents.iter();
    let lines: Vec<_> = agents
        .map(|play| (play.agent, play.proc, play.comp))
        .collect();
    report::plays(&lines, plays.seconds) + &left_out
}

/// Why a play did not come to its end, beside what was found before: but for a user who stopped it.
fn unplayed(suite: &Suite, error: CheckError) -> Result<Problem, Failure> {
    let failure = Failure::from(error);
    if failure.exit == Exit::Interrupted {
        return Err(failure);
    }
    let message = format!("cannot {}", failure.reason());
    Ok(Problem::of_file(&suite.path, message))
}

/// A session that the suite does not have is a mistake on the command line.
fn check_session_names(suite: &Suite, args: &CheckArgs) -> Result<(), Failure> {
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    let known: BTreeSet<&str> = sessions.map(|session| session.id.as_str()).collect();
    match args.session.iter().find(|id| !known.contains(id.as_str())) {
        None => Ok(()),
        Some(id) => {
            let path = &suite.path;
            Err(anyhow!(
                "find session `{id}`: {path} has no such session; `pibench-host list sessions {path}` names those that it has"
            ))
            .or_exit(Exit::Usage)
        }
    }
}

/// What each persona's agent is offered with every question. `tools` are those of the host and of all apps.
fn offered(suite: &Suite, tools: &[ToolSpec]) -> anyhow::Result<Vec<Offered>> {
    let offered = |persona: &Persona| {
        let apps = tools.iter().filter(|tool| persona.has_tool(&tool.name));
        let toolbox = Toolbox::new(suite.scaffold, apps.cloned())
            .map_err(|reason| anyhow!("prepare the tools of `{}`: {reason}", persona.id))?;
        Ok(Offered {
            persona: persona.id.clone(),
            tools: toolbox.specs().len(),
            tokens: toolbox.tokens(),
        })
    };
    suite.personas.iter().map(offered).collect()
}

/// Personas whose agent is offered more tools than every provider takes.
fn too_many_tools(authored: &Authored<'_>, offered: &[Offered]) -> Vec<Problem> {
    let many = offered.iter().filter(|one| one.tools > MOST_TOOLS);
    many.flat_map(|one| {
        let message = format!(
            "the agent is offered {} tools, the host's own among them; OpenAI takes {MOST_TOOLS}",
            one.tools
        );
        let help = "name the tools that the work needs instead of all of an app";
        authored.persona_problem(&one.persona, "tools", &message, help)
    })
    .collect()
}
