//! `pibench-host check`: everything that is wrong with task files and plugins, at once.

mod play;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::anyhow;
use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    guest_limits, offered_tools, plugin_dirs, plugins, policy, runtime, show_problems,
    warn_of_unknown,
};
use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure, OrExit};
use crate::model::ToolSpec;
use crate::plugin::grader::Grader;
use crate::plugin::policy::Grants;
use crate::plugin::{App, GuestLimits, Limits, Plugin, Plugins, World};
use crate::report::check as report;
use crate::task::check::{Checked, check as check_task};
use crate::task::load::load;
use crate::task::manifest::PolicyFile;
use crate::task::problem::Problem;
use crate::task::statistics::statistics;
use crate::task::suite::{Grading, Persona, Suite};
use crate::task::validate::{Authored, ToolText, material_tokens};

/// What was found of one path.
struct Found {
    problems: Vec<Problem>,
    /// What it holds: text for people, and the same for programs.
    text: String,
    value: Value,
}

impl Found {
    fn of(problems: Vec<Problem>) -> Self {
        Self {
            problems,
            text: String::new(),
            value: Value::Null,
        }
    }
}

/// Checks each path.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut sound = true;
    let mut paths = Vec::new();
    for path in &args.paths {
        let found = check_path(path, args)?;
        show_problems(&found.problems);
        let errors = found.problems.iter().filter(|problem| problem.is_error());
        let errors = errors.count();
        let warnings = found.problems.len() - errors;
        sound &= errors == 0;
        if args.json {
            paths.push(json!({
                "path": path,
                "errors": errors,
                "warnings": warnings,
                "problems": found.problems.iter().map(problem_value).collect::<Vec<_>>(),
                "holds": found.value,
            }));
        } else {
            print!("{}", found.text);
            println!("{path}: {errors} errors, {warnings} warnings");
        }
    }
    if args.json {
        println!("{}", json!({ "version": 1, "paths": paths }));
    }
    Ok(if sound {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}

fn problem_value(problem: &Problem) -> Value {
    json!({
        "severity": if problem.is_error() { "error" } else { "warning" },
        "file": problem.file(),
        "line": problem.line(),
        "column": problem.column(),
        "message": problem.message(),
        "remedy": problem.remedy(),
    })
}

fn check_path(path: &Utf8Path, args: &CheckArgs) -> Result<Found, Failure> {
    match check_task(path) {
        Checked::Task(problems) if problems.iter().any(Problem::is_error) => {
            Ok(Found::of(problems))
        }
        Checked::Task(problems) => check_suite(path, problems, args),
        Checked::Plugin => check_plugin(path, args),
    }
}

/// A suite that is well-formed: its plugins, its content, and how the scripted agents fare. A persona or session alone
/// names no plugins and cannot be played, so of these nothing more is said.
fn check_suite(
    path: &Utf8Path,
    mut problems: Vec<Problem>,
    args: &CheckArgs,
) -> Result<Found, Failure> {
    let file = if path.is_dir() {
        path.join("suite.toml")
    } else {
        path.to_owned()
    };
    let Ok(loaded) = load(&file) else {
        return Ok(Found::of(problems));
    };
    let suite = loaded.suite;
    check_session_names(&suite, args)?;
    let policy = policy_of(args, suite.policy.as_deref())?;
    let limits = guest_limits(&suite, &policy)?;
    let dirs = plugin_dirs(args.plugins.as_deref());
    let in_policy: Vec<String> = policy.plugins.keys().cloned().collect();
    let plugins = plugins(
        suite.plugins.clone(),
        dirs,
        &limits,
        policy,
        suite.lock.as_deref(),
    )?;
    warn_of_unknown(&plugins, in_policy.iter());
    for name in suite.plugin_names() {
        if let Err(error) = plugins.get(&name) {
            problems.push(Problem::of_file(&suite.path, error.to_string()));
        }
    }
    if problems.iter().any(Problem::is_error) {
        return Ok(Found::of(problems));
    }
    let apps: BTreeSet<String> = suite.personas.iter().flat_map(Persona::app_names).collect();
    let tools = runtime()?.block_on(offered_tools(&suite, &plugins, apps))?;
    let tools: Vec<ToolText> = tools.iter().map(tool_text).collect();
    let authored = Authored::read(&suite).or_exit(Exit::Io)?;
    problems.extend(authored.problems(&tools));
    problems.extend(runtime()?.block_on(check_rules(&suite, &plugins)));
    if problems.iter().any(Problem::is_error) {
        return Ok(Found::of(problems));
    }
    let (plays, told) = play::check(&suite, &authored, args)?;
    problems.extend(told);
    let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
    let sessions = report::Sessions {
        suite: &suite,
        tokens: &material_tokens(&suite),
        turns: plays
            .agents
            .iter()
            .map(|play| (play.agent, &play.turns))
            .collect(),
    };
    let statistics = statistics(&suite, &names);
    Ok(Found {
        problems,
        text: sessions.render() + &report::plays(&plays.lines(), plays.seconds),
        value: json!({ "statistics": statistics, "sessions": sessions.value(), "plays": plays }),
    })
}

/// A session that the suite does not have is a mistake on the command line.
fn check_session_names(suite: &Suite, args: &CheckArgs) -> Result<(), Failure> {
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    let known: BTreeSet<&str> = sessions.map(|session| session.id.as_str()).collect();
    match args.session.iter().find(|id| !known.contains(id.as_str())) {
        None => Ok(()),
        Some(id) => {
            Err(anyhow!("find session `{id}`: {} has none", suite.path)).or_exit(Exit::Usage)
        }
    }
}

fn tool_text(spec: &ToolSpec) -> ToolText {
    ToolText {
        name: spec.name.clone(),
        text: format!("{}\n{}", spec.description, spec.parameters.text()),
    }
}

/// A plugin by itself: it loads, imports nothing foreign, and says what it has.
fn check_plugin(path: &Utf8Path, args: &CheckArgs) -> Result<Found, Failure> {
    let policy = policy_of(args, None)?;
    let limits = GuestLimits::default();
    let plugins = plugins([].into(), Vec::new(), &limits, policy, None)?;
    let name = path.file_stem().unwrap_or("plugin");
    let plugin = match plugins.load_file(name, path.as_std_path()) {
        Ok(plugin) => Arc::new(plugin),
        Err(error) => return Ok(Found::of(vec![Problem::of_file(path, error.to_string())])),
    };
    if plugin.world() != World::ToolApp {
        let world = plugin.world().name();
        return Ok(Found {
            problems: Vec::new(),
            text: format!(
                "{path}: {world}, {} bytes; {}\n",
                plugin.size,
                asks(&plugin)
            ),
            value: json!({
                "world": world,
                "bytes": plugin.size,
                "asks": plugin.declared.names(),
                "grants": plugin.grants.names(),
            }),
        });
    }
    match runtime()?.block_on(App::list_tools(&plugin, Limits::APP)) {
        Ok(tools) => Ok(Found {
            problems: Vec::new(),
            text: format!(
                "{path}: tool app, {} tools, {} bytes; {}\n",
                tools.len(),
                plugin.size,
                asks(&plugin)
            ),
            value: json!({
                "world": "tool-app",
                "tools": tools.len(),
                "bytes": plugin.size,
                "asks": plugin.declared.names(),
                "grants": plugin.grants.names(),
            }),
        }),
        Err(error) => Ok(Found::of(vec![Problem::of_file(path, error.to_string())])),
    }
}

/// What a plugin asks for, and what of it it gets.
fn asks(plugin: &Plugin) -> String {
    let list = |grants: Grants| match grants.names().as_slice() {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    format!(
        "asks for {}, is granted {}",
        list(plugin.declared),
        list(plugin.grants)
    )
}

fn policy_of(args: &CheckArgs, of_suite: Option<&Utf8Path>) -> Result<PolicyFile, Failure> {
    let policy = policy(args.policy.as_deref().or(of_suite))?;
    Ok(policy.map(|loaded| loaded.policy).unwrap_or_default())
}

async fn check_rules(suite: &Suite, plugins: &Plugins) -> Vec<Problem> {
    let mut problems = Vec::new();
    let sessions = suite.personas.iter().flat_map(|persona| &persona.sessions);
    for (session, item) in
        sessions.flat_map(|session| session.checklist.iter().map(move |item| (session, item)))
    {
        let Grading::Rule(rule) = &item.grading else {
            continue;
        };
        let limits = if rule.grader == "python" {
            Limits::PYTHON
        } else {
            Limits::GRADER
        };
        let grader = plugins
            .get(&rule.grader)
            .and_then(|plugin| Grader::new(plugin, limits));
        let found = match grader {
            Ok(grader) => grader
                .list_checks(&rule.config)
                .await
                .map_err(|fault| format!("`{}` {fault}", rule.grader)),
            Err(error) => Err(error.to_string()),
        };
        let wrong = match (found, &rule.check) {
            (Err(reason), _) => reason,
            (Ok(checks), Some(check)) if !checks.iter().any(|found| found.id == *check) => {
                format!("`{}` has no check `{check}`", rule.grader)
            }
            (Ok(checks), None) if checks.len() != 1 => {
                format!(
                    "`{}` has {} checks; say which with `check`",
                    rule.grader,
                    checks.len()
                )
            }
            _ => continue,
        };
        let message = format!("session {}, item {}: {wrong}", session.id, item.id);
        problems.push(Problem::of_file(&suite.path, message));
    }
    problems
}
