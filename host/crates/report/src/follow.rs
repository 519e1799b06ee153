//! Runs watched from their folders while another process plays them: what is new since the last look, as progress, and the
//! whole state at one moment. It reads only, and takes no lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use comfy_table::CellAlignment;

use super::escape::line;
use super::grid::{fitting, keep_words, paragraph};
use super::progress::doing;
use super::run_record::{RunRecord, State, marked, name};
use super::table;
use pibench_core::progress::{Counted, Playing, Progress, Pulse, Spent};
use pibench_core::record::Outcome;
use pibench_record::Name;
use pibench_record::folder_lock::is_worked_on;
use pibench_record::pulse::read_pulse;
use pibench_record::results::{RunResults, SessionLine};

/// What was seen of runs so far.
#[derive(Debug, Default)]
pub struct Follow {
    /// Each session's state and turns.
    seen: BTreeMap<(PathBuf, Name, u32, Name), (State, u32)>,
    planned: bool,
}

impl Follow {
    /// What happened since the last look; at the first one, how much there is to play.
    pub fn look(&mut self, runs: &[RunRecord]) -> Vec<Progress> {
        let mut news = Vec::new();
        let first = !self.planned;
        if first {
            self.planned = true;
            news.push(planned(runs));
        }
        for run in runs {
            let persona = |line: &SessionLine| {
                if runs.len() > 1 {
                    format!("{}: {}", run.results.agent, line.persona)
                } else {
                    line.persona.to_string()
                }
            };
            for one in &run.results.sessions {
                let key = (
                    run.dir.clone(),
                    one.persona.clone(),
                    one.run,
                    one.id.clone(),
                );
                let now = (state_of(run, one), one.turns);
                let before = self.seen.insert(key, now);
                let (was, turns) = before.unwrap_or((State::Waiting, 0));
                if was == State::Finished || first && now.0 == State::Finished {
                    continue;
                }
                news.extend(new(one, persona(one), turns, now, spent(&run.results)));
            }
        }
        let dirs = runs.iter().map(|run| &*run.dir);
        news.extend(pulse(dirs).map(Progress::Pulse));
        news
    }
}

/// How the models of all these runs are doing; None where none is asked now.
pub(super) fn pulse<'a>(dirs: impl Iterator<Item = &'a Path>) -> Option<Pulse> {
    dirs.filter_map(read_pulse).reduce(|mut all, one| {
        all.calls += one.calls;
        all.tokens += one.tokens;
        all.spent = all.spent + one.spent;
        all.waits.extend(one.waits);
        all.playing.extend(one.playing);
        all
    })
}

/// A session's trajectory is there a moment before the journal has its end.
fn state_of(run: &RunRecord, one: &SessionLine) -> State {
    match run.state(one) {
        State::Finished if one.outcome == Outcome::Unplayed => State::Playing,
        state => state,
    }
}

fn planned(runs: &[RunRecord]) -> Progress {
    let states = runs
        .iter()
        .flat_map(|run| run.results.sessions.iter().map(|one| state_of(run, one)));
    let states: Vec<State> = states.collect();
    Progress::Planned {
        sessions: states.len(),
        finished: count(&states, State::Finished),
    }
}

fn count(states: &[State], of: State) -> usize {
    states.iter().filter(|state| **state == of).count()
}

/// What is new of one session, which had so many turns.
fn new(
    one: &SessionLine,
    persona: String,
    turns: u32,
    now: (State, u32),
    spent: Spent,
) -> Option<Progress> {
    let (run, session) = (one.run, one.id.to_string());
    match now {
        (State::Finished, _) => Some(Progress::SessionFinished {
            persona,
            run,
            session,
            outcome: one.outcome,
            turns: one.turns,
            proc: one.proc.map(|percent| percent / 100.0),
            comp: one.comp.map(|percent| percent / 100.0),
            counted: one.proc_scored.map(|percent| Counted {
                proc: percent / 100.0,
                weight: one.weight,
            }),
            spent,
        }),
        (State::Playing | State::Interrupted, turn) if turn > turns => {
            Some(Progress::TurnFinished {
                persona,
                run,
                session,
                turn,
                is_last: false,
            })
        }
        (State::Playing | State::Interrupted | State::Waiting, _) => None,
    }
}

fn spent(results: &RunResults) -> Spent {
    match results.cost {
        _ if results.scripted => Spent::Nothing,
        Some(cost) => Spent::Known(cost),
        None => Spent::Unknown,
    }
}

fn under_way(run: &RunRecord, states: &[State]) -> String {
    match count(states, State::Interrupted) {
        _ if !run.complete && run.results.imported => "the others not imported".into(),
        _ if !run.complete && !is_worked_on(&run.dir) => format!(
            "interrupted (go on with `pibench-host run --resume {}`)",
            run.dir.display()
        ),
        interrupted => format!("{} playing", count(states, State::Playing) + interrupted),
    }
}

/// A run at one moment: how much is played, the scores so far, each session, what broke.
pub fn state(run: &RunRecord) -> String {
    let results = &run.results;
    let mut sessions = fitting();
    sessions.set_header(["session", "run", "turns", "Proc", "Comp", "state"]);
    for column in sessions.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let pulse = read_pulse(&run.dir);
    // A session's first turn leaves nothing in the folder before its end.
    let at_work = pulse.as_ref().map_or(&[][..], |pulse| &pulse.playing);
    let mut states = Vec::new();
    let mut last = None;
    for one in &results.sessions {
        let is_it = |at: &Playing| {
            (&*at.persona, at.run, &*at.session) == (&*one.persona, one.run, &*one.id)
        };
        let state = match state_of(run, one) {
            State::Waiting if at_work.iter().any(is_it) => State::Playing,
            state => state,
        };
        states.push(state);
        // A persona has a line of its own, where its sessions begin.
        let begins = Some((&one.persona, one.run));
        if last != begins {
            sessions.add_row([line(&one.persona)]);
            last = begins;
        }
        sessions.add_row([
            format!("  {}", line(&one.id)),
            one.run.to_string(),
            one.turns.to_string(),
            table::score(one.proc),
            table::score(one.comp),
            match state {
                State::Finished => name(&one.outcome),
                State::Playing => "playing".into(),
                State::Interrupted => "interrupted".into(),
                State::Waiting => "waiting".into(),
            },
        ]);
    }
    keep_words(&mut sessions, 0..6);
    let mut parts = vec![
        paragraph(&format!(
            "{}: {}",
            run.dir.display(),
            line(&marked(&results.agent, results.players))
        )),
        sessions.to_string(),
        paragraph(&format!(
            "{} of {} sessions finished, {}. So far: Proc {}, Comp {}{}",
            count(&states, State::Finished),
            states.len(),
            under_way(run, &states),
            table::score(results.proc),
            table::score(results.comp),
            match spent(results) {
                _ if count(&states, State::Finished) == 0 => String::new(),
                Spent::Nothing => String::new(),
                Spent::Known(spent) => format!("; {spent} spent"),
                Spent::Unknown => "; cost unknown".into(),
            }
        )),
    ];
    if let Some(pulse) = pulse {
        let now = format!("Now: {}", doing(&pulse).join("; "));
        parts.push(paragraph(&now));
    }
    parts.extend(super::tables::unanswered(results).map(|note| paragraph(&note)));
    parts.extend(super::tables::written_calls(results).map(|note| paragraph(&note)));
    parts.extend(table::faults(&results.faults));
    parts.join("\n")
}
