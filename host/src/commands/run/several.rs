//! Several agents of one suite side by side: a run folder for each below one folder, under one number of jobs, one sum of
//! money and one way to each provider. Each folder is an ordinary run.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    clients, default_out, displayed, ended, limit, may_go_on, placed, prepared, ready,
    reopened_with, roles, shared, tape, tools_fit, web,
};
use crate::cli::{RunArgs, TapeArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::{Finished, Plan, play_all};
use pibench_model::client::Clients;
use pibench_model::web::Web;
use pibench_record::RunFolder;
use pibench_record::folder::runs_in;
use pibench_record::results::RunResults;
use pibench_report::table;
use pibench_suite::suite::Suite;

/// Plans of several agents, and the folder that holds theirs.
pub(super) struct Several {
    folder: Utf8PathBuf,
    plans: Vec<Plan>,
}

impl Several {
    /// Plays them; one table of all.
    pub(super) fn play(self, args: &RunArgs) -> Result<Exit, Failure> {
        let Self { folder, plans } = self;
        let resume = args.resume.is_some();
        let finished = displayed(|sender| play_all(plans, resume, sender))?;
        let results: Vec<&RunResults> = finished
            .iter()
            .filter_map(|one| match one {
                Finished::All { results, .. } => Some(&**results),
                Finished::Interrupted => None,
            })
            .collect();
        if results.len() == finished.len() {
            if args.json {
                println!("{}", serde_json::to_string(&results).or_exit(Exit::Bug)?);
            } else {
                println!("{}", table::agents(&results));
            }
            eprintln!("Run folders: {folder}/");
        }
        let again = format!("pibench-host run --resume {folder}");
        Ok(ended(&finished, &again))
    }
}

/// The plans of several agents, in new folders.
pub(super) fn planned(
    suite: &Suite,
    agents: &[String],
    args: &RunArgs,
) -> Result<Several, Failure> {
    let folder = match &args.out {
        Some(out) => out.clone(),
        None => Utf8PathBuf::try_from(default_out(&suite.id)).or_exit(Exit::Io)?,
    };
    if folder.exists() {
        return Err(anyhow!(
            "make {folder}: it is there already; go on with it by `pibench-host run --resume {folder}`, or choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    let mut all = Vec::new();
    for agent in agents {
        let name = folder_of(agent);
        if all.iter().any(|(other, _)| *other == name) {
            return Err(anyhow!(
                "play `{agent}` beside another whose folder is `{name}`, too"
            ))
            .or_exit(Exit::Usage);
        }
        let own = RunArgs {
            agent: vec![agent.clone()],
            out: Some(folder.join(&name)),
            tape: tape_of(&args.tape, &name),
            ..args.clone()
        };
        all.push((name, own));
    }
    let shared = shared(suite, args)?;
    let shared_tape = TapeArgs {
        judge_cache: args.tape.judge_cache.clone(),
        ..TapeArgs::default()
    };
    let mut clients = clients(suite, tape(&shared_tape, false)?);
    // Each is prepared before the first folder is made: a mistake leaves nothing behind.
    let mut ready = Vec::new();
    for (_, own) in all {
        retape(&mut clients, &own.tape, false)?;
        let one = prepared(suite, &own, &shared, &mut clients)?;
        tools_fit(suite, &shared, &one)?;
        let web = web(suite, &own.tape)?;
        ready.push((own, one, web));
    }
    let mut plans = Vec::new();
    for (own, one, web) in ready {
        let plan = placed(suite.clone(), &own, &shared, one)?;
        plans.push(beside(plan, web, &own)?);
    }
    Ok(Several { folder, plans })
}

/// One of several, ready to be played.
fn beside(plan: Plan, web: Web, own: &RunArgs) -> Result<Plan, Failure> {
    Ok(Plan {
        beside: true,
        ..ready(plan, web, own)?
    })
}

/// The plans of a folder of several, gone on with; None when it is a run folder itself.
pub(super) fn resumed(dir: &Utf8Path, args: &RunArgs) -> Result<Option<Several>, Failure> {
    let runs = runs_in(dir.as_std_path());
    if let [one] = runs.as_slice()
        && one == dir.as_std_path()
    {
        return Ok(None);
    }
    let mut plans: Vec<Plan> = Vec::new();
    let mut shared: Option<Clients<'static>> = None;
    for run in &runs {
        let run = Utf8Path::from_path(run)
            .ok_or_else(|| anyhow!("go on with {}: it is not UTF-8", run.display()))
            .or_exit(Exit::Io)?;
        let own = RunArgs {
            tape: tape_of(&args.tape, run.file_name().unwrap_or_default()),
            ..args.clone()
        };
        let recording = tape(&own.tape, true)?;
        let opened = RunFolder::open(run.as_std_path());
        let mut plan = reopened_with(run, opened, args.jobs, |suite, names, prompts| {
            let clients = match &mut shared {
                Some(clients) => {
                    clients.tape(recording);
                    clients
                }
                None => shared.insert(clients(suite, recording)),
            };
            roles(names, prompts, clients)
        })?;
        may_go_on(run, &plan)?;
        plan.spending.limit = limit(&plan.roles, args.max_cost)?;
        let web = web(&plan.suite, &own.tape)?;
        plans.push(beside(plan, web, &own)?);
    }
    let folder = dir.to_owned();
    Ok(Some(Several { folder, plans }))
}

/// A recording knows one agent's answers, so each has a folder of its own; the answers of judges are everybody's.
fn tape_of(tape: &TapeArgs, name: &str) -> TapeArgs {
    let below = |dir: &Option<Utf8PathBuf>| dir.as_ref().map(|dir| dir.join(name));
    TapeArgs {
        record: below(&tape.record),
        replay: below(&tape.replay),
        judge_cache: tape.judge_cache.clone(),
    }
}

fn retape(clients: &mut Clients<'_>, own: &TapeArgs, resume: bool) -> Result<(), Failure> {
    if own.record.is_some() || own.replay.is_some() {
        clients.tape(tape(own, resume)?);
    }
    Ok(())
}

/// An agent's name as a folder.
fn folder_of(agent: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    agent.chars().map(plain).collect()
}
