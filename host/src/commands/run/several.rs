//! Several agents of one suite side by side: a run folder for each below one folder, under one number of jobs, one sum of
//! money and one way to each provider. Each folder is an ordinary run.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::again::Again;
use super::broken::print_broken;
use super::play::{play_shown, print_end, say_bound, say_reachable};
use super::{going_on, open_playing, wanted};
use crate::cli::RunArgs;
use crate::commands::output::print_json;
use crate::commands::{machine, pack, part, runtime, stored};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{
    Answers, Machine, Seat, default_out, go_on_all, resolve_all, same_plan,
};
use pibench_engine::{Finished, Plan, play_all};
use pibench_record::parts::runs_in;
use pibench_record::results::RunResults;
use pibench_report::table;
use pibench_suite::suite::Suite;

/// Plans of several agents, and the folder that holds theirs.
pub(super) struct Several {
    folder: Utf8PathBuf,
    plans: Vec<Plan>,
    /// Whether they were begun before.
    resume: bool,
}

impl Several {
    /// Plays them; one table of all.
    pub(super) fn play(self, args: &RunArgs) -> Result<Exit, Failure> {
        let Self {
            folder,
            plans,
            resume,
        } = self;
        let again = format!("pibench-host run --resume {folder}");
        let again = Again::of(&again, plans.first());
        if resume {
            say_bound(&again);
        }
        if let Some(first) = plans.first() {
            let agents = plans.iter().map(|plan| plan.roles.agent_name.as_str());
            say_reachable(&agents.collect::<Vec<_>>().join(","), first);
        }
        let played = play_shown(|sender| play_all(plans, resume, sender));
        let finished = match played {
            Ok(finished) => finished,
            Err(failure) => return print_broken(failure, folder.as_str(), &again),
        };
        let results: Vec<&RunResults> = finished
            .iter()
            .filter_map(|one| match one {
                Finished::All { results, .. } => Some(&**results),
                Finished::NotBegun { .. } | Finished::Interrupted { .. } => None,
            })
            .collect();
        if results.len() == finished.len() {
            if args.json {
                print_json(&results)?;
            } else {
                let runs = results.iter().map(|&run| (run.agent.as_str(), run));
                println!("{}", table::agents(&runs.collect::<Vec<_>>()));
            }
            pibench_report::tell!("Run folders: {}/", stored::name(folder.as_str()));
        }
        Ok(print_end(&finished, &again))
    }
}

/// The plans of several agents, in new folders, or in those of a part that was begun before.
pub(super) fn begin(suite: &Suite, agents: &[String], args: &RunArgs) -> Result<Several, Failure> {
    let folder = match &args.out {
        Some(out) => out.clone(),
        None => Utf8PathBuf::try_from(default_out(&suite.id)).or_exit(Exit::Io)?,
    };
    let is_begun = part::begun(args).is_some();
    if folder.exists() && !is_begun {
        return Err(anyhow!(
            "make {folder}: it is there already; go on with it by `pibench-host run --resume {folder}`, or choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    let mut seats: Vec<Seat> = Vec::new();
    for agent in agents {
        let name = folder_of(agent);
        let out = folder.join(&name);
        if seats.iter().any(|seat| seat.out.as_ref() == Some(&out)) {
            return Err(anyhow!(
                "play `{agent}` beside another whose folder is `{name}`, too"
            ))
            .or_exit(Exit::Usage);
        }
        seats.push(Seat {
            agent: agent.clone(),
            out: Some(out),
            answers: args.tape.answers().of_agent(&name),
        });
    }
    let (machine, wanted) = (machine()?, wanted(args)?);
    if is_begun {
        return begin_again(&machine, suite, folder, seats, args);
    }
    let plans = runtime()?.block_on(resolve_all(&machine, suite, &wanted, &seats))?;
    Ok(Several {
        folder,
        plans,
        resume: false,
    })
}

/// The plans of a part that was begun before. A process may have been killed before it had made the folders of all agents.
fn begin_again(
    machine: &Machine,
    suite: &Suite,
    folder: Utf8PathBuf,
    seats: Vec<Seat>,
    args: &RunArgs,
) -> Result<Several, Failure> {
    let wanted = wanted(args)?;
    for seat in &seats {
        part::clear_blank(args, seat.out.as_deref())?;
    }
    let (there, missing): (Vec<Seat>, Vec<Seat>) = seats.iter().cloned().partition(is_there);
    let mut is_said = true;
    for seat in &there {
        if let Some(out) = &seat.out {
            is_said &= same_plan(machine, suite, &wanted, &seat.agent, out)?;
            pack::check_suite_of(out, None)?;
        }
    }
    if !missing.is_empty() {
        // They are let go of at once: all are gone on with by one way to each provider.
        drop(runtime()?.block_on(resolve_all(machine, suite, &wanted, &missing))?);
    }
    let runs = seats.into_iter();
    let runs = runs.filter_map(|seat| Some((seat.out?, seat.answers)));
    let runs: Vec<(Utf8PathBuf, Answers)> = runs.collect();
    let how = going_on(args, true, is_said);
    let plans = go_on_all(machine, &runs, &open_playing(args)?, &how)?;
    Ok(Several {
        folder,
        plans,
        resume: true,
    })
}

fn is_there(seat: &Seat) -> bool {
    seat.out.as_ref().is_some_and(|out| out.exists())
}

/// The plans of a folder of several, gone on with; None when it is a run folder itself.
pub(super) fn resume(dir: &Utf8Path, args: &RunArgs) -> Result<Option<Several>, Failure> {
    let found = runs_in(dir.as_std_path());
    if let [one] = found.as_slice()
        && one == dir.as_std_path()
    {
        return Ok(None);
    }
    let mut runs: Vec<(Utf8PathBuf, Answers)> = Vec::new();
    for run in found {
        let run = Utf8PathBuf::try_from(run)
            .map_err(|run| anyhow!("go on with {}: it is not UTF-8", run.as_path().display()))
            .or_exit(Exit::Io)?;
        pack::check_suite_of(&run, None)?;
        let name = run.file_name().unwrap_or_default();
        let answers = args.tape.answers().of_agent(name);
        runs.push((run, answers));
    }
    let plans = go_on_all(
        &machine()?,
        &runs,
        &open_playing(args)?,
        &going_on(args, true, false),
    )?;
    let folder = dir.to_owned();
    Ok(Some(Several {
        folder,
        plans,
        resume: true,
    }))
}

/// An agent's name as a folder.
pub(in crate::commands) fn folder_of(agent: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    agent.chars().map(plain).collect()
}
