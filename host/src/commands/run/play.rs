//! A plan played to its end: progress while it plays, results and what kept it from its end, the exit.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;

use super::again::Again;
use super::broken::{exit_of_error, print_broken};
use crate::commands::confine::reachable;
use crate::commands::{finished, look, output, runtime, stored, talk};
use crate::exit::{Exit, Failure};
use pibench_core::message::Usage;
use pibench_engine::{AgentRole, Finished, Plan, RunError};
use pibench_record::results::{FaultLine, RunResults, SessionLine};
use pibench_record::rows::Rows;
use pibench_report::grid::paragraph;
use pibench_report::progress;
use pibench_report::{escape, table};

/// Where the results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Output {
    Table,
    Json,
    /// The table, on stderr: stdout is somebody else's.
    Stderr,
}

/// How long what stands beside a run may take to end when the run is over.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Plays, with something else that is under way as long.
pub(in crate::commands) fn play_plan(
    plan: Plan,
    resume: bool,
    output: Output,
    beside: impl Future<Output = ()>,
) -> Result<Exit, Failure> {
    let folder = plan.folder.root().to_owned();
    let verb = match (&plan.roles.agent, output) {
        (AgentRole::External(_), Output::Stderr) => "serve --stdio",
        (AgentRole::External(_), _) => "serve",
        _ => "run",
    };
    let again = format!("pibench-host {verb} --resume {}", folder.display());
    let again = Again::of(&again, Some(&plan));
    if resume {
        say_bound(&again);
    }
    if !talk().quiet {
        for mark in plan.roles.players().marks() {
            pibench_report::tell!("{}", paragraph(mark.sentence()));
        }
    }
    say_reachable(&plan.roles.agent_name, &plan);
    let played = play_shown(|sender| async move {
        let playing = pibench_engine::play(plan, resume, sender);
        tokio::pin!(playing);
        tokio::pin!(beside);
        tokio::select! {
            finished = &mut playing => {
                let _ = tokio::time::timeout(LAST_WORD, beside).await;
                finished
            }
            () = &mut beside => playing.await,
        }
    });
    let finished = match played {
        Ok(finished) => finished,
        Err(failure) => return print_broken(failure, &folder.display().to_string(), &again),
    };
    if let Finished::All { results, .. } = &finished {
        match output {
            Output::Table => show(results, false, &folder)?,
            Output::Json => show(results, true, &folder)?,
            Output::Stderr => pibench_report::tell!("{}", table::results(results)),
        }
    }
    Ok(print_end(&[finished], &again))
}

/// Says what of the machine these agents reach although they are confined.
pub(super) fn say_reachable(agents: &str, plan: &Plan) {
    let found = reachable(agents, &plan.suite.agents).filter(|_| !talk().quiet);
    if let Some(found) = found {
        pibench_report::tell!("{}", paragraph(&format!("Warning: {found}")));
    }
}

/// Says what bounds the cost of a run that is gone on with.
pub(super) fn say_bound(again: &Again) {
    if let Some(bound) = again.bound().filter(|_| !talk().quiet) {
        pibench_report::tell!("{}", paragraph(&bound));
    }
}

/// Plays with a display of its progress.
pub(super) fn play_shown<T, F: Future<Output = Result<T, RunError>>>(
    play: impl FnOnce(mpsc::UnboundedSender<progress::Progress>) -> F,
) -> Result<T, Failure> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let display = progress::display(receiver, look());
    let runtime = runtime()?;
    let played = runtime.block_on(play(sender));
    // All episodes have ended: what is left are connections, closed beside what is left to do here.
    runtime.shutdown_background();
    // The display ends when the last sender is gone.
    let _ = display.join();
    played.map_err(|error| Failure {
        exit: exit_of_error(&error),
        error: error.into(),
    })
}

/// Says what kept runs from their end, and how to go on; the exit of all together.
pub(super) fn print_end(all: &[Finished], again: &Again) -> Exit {
    let go_on = again.command();
    let (mut cut, mut out_of_money, mut rejected, mut is_gone) = (false, false, false, false);
    let mut results_of = Vec::new();
    for one in all {
        let (broken, spent, setup) = match one {
            Finished::All {
                results,
                broken,
                spent,
                setup,
                lost: _,
            } => {
                results_of.push(&**results);
                (broken, spent.as_ref(), setup)
            }
            Finished::NotBegun {
                broken,
                setup,
                is_kept,
            } => {
                is_gone |= !is_kept;
                (broken, None, setup)
            }
            Finished::Interrupted { lost } => {
                if let Some(lost) = of_lost(lost) {
                    pibench_report::tell!("{lost}");
                }
                pibench_report::tell!("Interrupted. Go on with: {go_on}");
                return Exit::Interrupted;
            }
        };
        for reason in broken.iter().chain(spent).chain(setup) {
            // A server's words stand in it.
            pibench_report::tell!("error: failed to {}", escape::line(reason));
        }
        if let Finished::All { lost, .. } = one
            && let Some(lost) = of_lost(lost)
        {
            pibench_report::tell!("{lost}");
        }
        cut |= !broken.is_empty();
        out_of_money |= spent.is_some();
        rejected |= setup.is_some();
    }
    if is_gone {
        let mend = if rejected {
            "Mend it, then give"
        } else {
            "Give"
        };
        let gone = "the same command again: nothing was played, and no run folder was kept.";
        pibench_report::tell!("{}", paragraph(&format!("{mend} {gone}")));
    } else if rejected {
        pibench_report::tell!("Mend it, then go on with: {go_on}");
        pibench_report::tell!(
            "A run keeps its models, settings and suite: with others it is a new one, by the same command and another \
             --out."
        );
    } else if out_of_money {
        pibench_report::tell!("Go on with a higher bound: {}", again.beyond());
    } else if cut {
        pibench_report::tell!("{}", again.after_break());
    }
    if rejected {
        Exit::Setup
    } else if out_of_money {
        Exit::Spent
    } else if cut {
        Exit::Infrastructure
    } else {
        finished(results_of)
    }
}

/// What was paid for turns that were cut off, which no table has.
fn of_lost(lost: &Usage) -> Option<String> {
    if lost.calls == 0 {
        return None;
    }
    let cost = lost.known_cost();
    let cost = cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    Some(format!(
        "{} answers of turns that were cut off are not in the table; what they cost: {cost}",
        lost.calls
    ))
}

pub(in crate::commands) fn show(
    results: &RunResults,
    json: bool,
    folder: &Path,
) -> Result<(), Failure> {
    show_rows((results, results), results, json, folder)
}

/// The same of results whose lines lie elsewhere. `whole`: what is printed for programs.
pub(in crate::commands) fn show_rows<R: Rows<SessionLine> + Rows<FaultLine>>(
    (head, rows): (&RunResults, &R),
    whole: &impl Serialize,
    json: bool,
    folder: &Path,
) -> Result<(), Failure> {
    let printed = if json {
        output::print_json(whole)
    } else {
        output::print(|to| table::write(head, rows, to))
    };
    if !talk().quiet {
        pibench_report::tell!(
            "Run folder: {}",
            stored::name(&folder.display().to_string())
        );
    }
    // The folder is whole all the same.
    printed
}
