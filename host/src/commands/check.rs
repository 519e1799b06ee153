//! `pibench-host check`: everything that is wrong with task files and plugins, at once.

mod history;
mod play;
mod reading;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{machine, runtime, show_problems};
use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_agent::{Toolbox, builtin};
use pibench_core::message::ToolSpec;
use pibench_engine::plan::{Guests, open, read_policy, search};
use pibench_report::check as report;
use pibench_report::check::Offered;
use pibench_sandbox::grader::Grader;
use pibench_sandbox::policy::Grants;
use pibench_sandbox::{App, GuestLimits, Limits, LoadError, Plugin, Plugins, World};
use pibench_suite::check::{Checked, check as check_task};
use pibench_suite::load::readable;
use pibench_suite::problem::Problem;
use pibench_suite::statistics::{categories_table, personas_table, statistics};
use pibench_suite::suite::{Grading, Persona, Rule, Suite};
use pibench_suite::validate::{Authored, Part, ToolText, Tools, material_tokens};

/// The most tools that `OpenAI` takes in a request.
const MOST_TOOLS: usize = 128;

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
        Checked::Task(problems) => check_suite(path, problems, args),
        Checked::Plugin => check_plugin(path, args),
    }
}

/// A suite, as far as it could be read: its plugins, its content, and how the scripted agents fare with what is sound. A
/// persona or session alone names no plugins and cannot be played, so of these nothing more is said.
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
    let (Some(mut suite), _) = readable(&file) else {
        return Ok(Found::of(problems));
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
    let dirs = search(&machine, args.plugins.as_deref());
    let Guests { plugins, .. } = Guests::of(&machine, &suite, dirs, suite.policy.as_deref())?;
    let runtime = runtime()?;
    let there = runtime.block_on(There::of(&suite, &plugins, &mut problems));
    let as_read = runtime.block_on(reading::as_read(&suite, &plugins, &mut problems));
    let authored = Authored::read(&as_read).or_exit(Exit::Io)?;
    problems.extend(authored.problems(&Tools {
        known: &there.tools,
        absent: &there.absent,
    }));
    let offered = offered(&suite, &there.specs).or_exit(Exit::InvalidInput)?;
    problems.extend(too_many_tools(&authored, &offered));
    problems.extend(runtime.block_on(check_rules(&suite, &authored, &plugins, &there.absent)));
    let ground = play::Ground {
        authored: &authored,
        absent: &there.absent,
        broken: &broken,
        args,
    };
    let (plays, told) = play::check(&suite, &ground)?;
    problems.extend(told);
    let names: Vec<String> = there.tools.into_iter().map(|tool| tool.name).collect();
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
        text: [
            personas_table(&statistics),
            "\n".into(),
            categories_table(&statistics),
            "\n".into(),
            report::offered(&offered),
            sessions.render(),
            plays.text(),
        ]
        .concat(),
        value: json!({
            "statistics": statistics,
            "tools": offered,
            "sessions": sessions.value(),
            "plays": plays,
        }),
    })
}

/// What of the plugins that a suite needs is there.
struct There {
    /// The tools of the host and of the apps.
    specs: Vec<ToolSpec>,
    /// The same as authors' texts are held against them.
    tools: Vec<ToolText>,
    /// The plugins that cannot be used, for which a problem was told.
    absent: BTreeSet<String>,
}

impl There {
    async fn of(suite: &Suite, plugins: &Plugins, problems: &mut Vec<Problem>) -> Self {
        let apps: BTreeSet<String> = suite.personas.iter().flat_map(Persona::app_names).collect();
        let mut specs = builtin(suite.scaffold);
        let mut absent = BTreeSet::new();
        for name in suite.plugin_names() {
            match tools_of(plugins, &name, apps.contains(&name)).await {
                Ok(listed) => specs.extend(listed),
                Err(reason) => {
                    problems.push(Problem::of_file(&suite.path, format!("cannot {reason}")));
                    absent.insert(name);
                }
            }
        }
        Self {
            tools: specs.iter().map(tool_text).collect(),
            specs,
            absent,
        }
    }
}

/// The tools of a plugin that a run would take; a grader has none.
async fn tools_of(plugins: &Plugins, name: &str, is_app: bool) -> Result<Vec<ToolSpec>, LoadError> {
    let plugin = plugins.get(name)?;
    plugins.decided(name, &plugin.papers())?;
    if is_app {
        return App::list_tools(&plugin, Limits::APP).await;
    }
    Ok(Vec::new())
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

fn tool_text(spec: &ToolSpec) -> ToolText {
    ToolText {
        name: spec.name.clone(),
        text: format!("{}\n{}", spec.description, spec.parameters.text()),
    }
}

/// A plugin by itself: it loads, imports nothing foreign, and says what it has.
fn check_plugin(path: &Utf8Path, args: &CheckArgs) -> Result<Found, Failure> {
    let policy = args.policy.as_deref().map(read_policy).transpose()?;
    let policy = policy.map(|loaded| loaded.policy).unwrap_or_default();
    let limits = GuestLimits::default();
    let plugins = open(&machine()?, [].into(), Vec::new(), &limits, policy, None)?;
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

/// Whether each rule's grader takes its configuration and has its check.
async fn check_rules(
    suite: &Suite,
    authored: &Authored<'_>,
    plugins: &Plugins,
    absent: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for persona in &suite.personas {
        for session in &persona.sessions {
            for (index, item) in session.checklist.iter().enumerate() {
                let Grading::Rule(rule) = &item.grading else {
                    continue;
                };
                if absent.contains(&rule.grader) {
                    continue;
                }
                if let Some(reason) = refused(rule, plugins).await {
                    let message = format!("the rule of `{}` cannot be used: {reason}", item.id);
                    let part = Part::Item(index);
                    problems.push(authored.session_problem(
                        &persona.id,
                        &session.id,
                        part,
                        message,
                        "mend the rule, or name another grader or check",
                    ));
                }
            }
        }
    }
    problems
}

/// Why a grader does not take a rule.
async fn refused(rule: &Rule, plugins: &Plugins) -> Option<String> {
    let limits = if rule.grader == "python" {
        Limits::PYTHON
    } else {
        Limits::GRADER
    };
    let grader = plugins
        .get(&rule.grader)
        .and_then(|plugin| Grader::new(plugin, limits));
    let found = match grader {
        Ok(grader) => grader.list_checks(&rule.config).await,
        Err(error) => return Some(error.to_string()),
    };
    match (found, &rule.check) {
        (Err(fault), _) => Some(format!("`{}` {fault}", rule.grader)),
        (Ok(checks), Some(check)) if !checks.iter().any(|found| found.id == *check) => {
            Some(format!("`{}` has no check `{check}`", rule.grader))
        }
        (Ok(checks), None) if checks.len() != 1 => Some(format!(
            "`{}` has {} checks; say which with `check`",
            rule.grader,
            checks.len()
        )),
        _ => None,
    }
}
