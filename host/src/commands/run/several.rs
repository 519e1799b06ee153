//! Several agents of one suite side by side: a run folder for each below one folder, under one number of jobs, one sum of
//! money and one way to each provider. Each folder is an ordinary run.

use std::sync::Arc;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    EMBEDDED, agents, clients, default_out, displayed, ended, limit, load_suite, log, placed,
    prepared, reopened_with, shared, tape, was_played, web,
};
use crate::cli::{RunArgs, TapeArgs};
use crate::exit::{Exit, Failure, OrExit};
use crate::model::client::Clients;
use crate::report::table;
use crate::run::{Finished, Plan, Spending, play_all};
use crate::store::folder::runs_in;
use crate::store::results::RunResults;
use crate::task::suite::Suite;

/// Plans of several agents, and the folder that holds theirs.
pub(super) struct Several {
    folder: Utf8PathBuf,
    plans: Vec<Plan>,
}

/// The plans of a command line that names several agents, or a folder of several; None when it is about one.
pub(super) fn plans(args: &RunArgs) -> Result<Option<Several>, Failure> {
    let several = match &args.resume {
        Some(dir) => resumed(dir, args)?,
        None => planned(args)?,
    };
    several
        .map(|mut several| {
            for plan in &mut several.plans {
                plan.beside = true;
                plan.log = log(plan, args)?;
            }
            Ok(several)
        })
        .transpose()
}

/// Plays them; one table of all.
pub(super) fn play(several: Several, args: &RunArgs) -> Result<Exit, Failure> {
    let Several { folder, plans } = several;
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
    Ok(ended(
        &finished,
        &format!("pibench-host run --resume {folder}"),
    ))
}

fn planned(args: &RunArgs) -> Result<Option<Several>, Failure> {
    let path = args.suite.clone().unwrap_or_else(|| EMBEDDED.into());
    let suite = load_suite(&path, &args.set)?;
    let agents = agents(args, &suite)?;
    if agents.len() < 2 {
        return Ok(None);
    }
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
    for agent in &agents {
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
    let shared = shared(&suite, args)?;
    let shared_tape = TapeArgs {
        judge_cache: args.tape.judge_cache.clone(),
        ..TapeArgs::default()
    };
    let mut clients = clients(&suite, tape(&shared_tape, false)?)?;
    // Each is prepared before the first folder is made: a mistake leaves nothing behind.
    let mut ready = Vec::new();
    for (_, own) in all {
        retape(&mut clients, &own.tape, false)?;
        let one = prepared(&suite, &own, &shared, &mut clients)?;
        ready.push((own, one));
    }
    let mut plans = Vec::new();
    for (own, one) in ready {
        let mut plan = placed(suite.clone(), &own, &shared, one)?;
        plan.web = Arc::new(web(&plan.suite, &own.tape)?);
        plans.push(plan);
    }
    Ok(Some(Several { folder, plans }))
}

/// The plans of a folder of several, gone on with.
fn resumed(dir: &Utf8Path, args: &RunArgs) -> Result<Option<Several>, Failure> {
    let runs = runs_in(dir.as_std_path());
    if let [one] = runs.as_slice()
        && one == dir.as_std_path()
    {
        return Ok(None);
    }
    let mut plans: Vec<Plan> = Vec::new();
    for run in &runs {
        let run = Utf8Path::from_path(run)
            .ok_or_else(|| anyhow!("go on with {}: it is not UTF-8", run.display()))
            .or_exit(Exit::Io)?;
        let own = tape_of(&args.tape, run.file_name().unwrap_or_default());
        let recording = tape(&own, true)?;
        let spending = plans.first().map(|first| Arc::clone(&first.spending.meter));
        let with = |suite: &Suite| {
            let mut clients = clients(suite, recording)?;
            if let Some(meter) = spending {
                clients.share(meter);
            }
            Ok(clients)
        };
        let mut plan = reopened_with(run, args.jobs, |names| names, with)?;
        was_played(&plan)?;
        plan.spending = Spending {
            limit: limit(&plan.roles, args.max_cost)?,
            ..plan.spending
        };
        plan.web = Arc::new(web(&plan.suite, &own)?);
        plans.push(plan);
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
