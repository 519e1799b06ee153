//! Live progress on stderr: a bar on a terminal, plain lines elsewhere.

use std::fmt::Write;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{escape, grid};
use pibench_core::count::count;
use pibench_core::progress::{AtWork, Counted};
pub use pibench_core::progress::{Progress, Pulse, Spent};

/// How long the display rests when it has shown something: it need not be woken by every event of hundreds of episodes.
const REST: Duration = Duration::from_millis(10);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A bar that moves.
    Terminal,
    /// A line for each session.
    Lines,
    Silent,
}

/// Between two lines that tell how far a run is, where nothing ends.
const QUIET: Duration = Duration::from_secs(30);

/// Shows events until the last sender is gone.
pub fn display(mut events: UnboundedReceiver<Progress>, look: Look) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let bar = (look == Look::Terminal).then(bar);
        let mut state = Standing::default();
        let mut told = Instant::now();
        let mut show = |event: Progress| {
            state.enter(&event);
            let line = line(&event);
            match (&bar, line) {
                (Some(bar), line) => show(bar, &event, line, &state),
                (None, _) if look == Look::Silent => {}
                (None, Some(line)) => {
                    crate::tell!("{line}");
                    told = Instant::now();
                }
                (None, None) if told.elapsed() >= QUIET => {
                    crate::tell!("{}", state.line());
                    told = Instant::now();
                }
                (None, None) => {}
            }
        };
        while let Some(event) = events.blocking_recv() {
            show(event);
            while let Ok(event) = events.try_recv() {
                show(event);
            }
            if !events.is_closed() {
                std::thread::sleep(REST);
            }
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    })
}

/// How often the clock of the bar moves while nothing ends.
const TICK: Duration = Duration::from_millis(500);

fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:20} {pos}/{len} sessions  {elapsed}{left}\n{msg}");
    // While nothing has ended there is nothing to reckon from.
    let style = style.map(|style| {
        style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
            if state.pos() > 0 {
                let _ = write!(out, "  eta {:#}", HumanDuration(state.eta()));
            }
        })
    });
    // A template that does not parse would fall back to indicatif's own.
    let bar =
        ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(TICK);
    bar
}

/// A line with a clock that moves, for what goes on before there are sessions. It is gone when it is dropped.
#[derive(Debug)]
pub struct Moving(ProgressBar);

impl Moving {
    pub fn begin(text: String) -> Self {
        let style = ProgressStyle::with_template("{msg}  {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let line = ProgressBar::new_spinner().with_style(style);
        line.set_message(text);
        line.enable_steady_tick(TICK);
        Self(line)
    }

    /// Shows a line above.
    pub fn above(&self, line: &str) {
        self.0.println(line);
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn show(bar: &ProgressBar, event: &Progress, line: Option<String>, state: &Standing) {
    if let Progress::Planned { sessions, finished } = event {
        bar.set_length(*sessions as u64);
        bar.set_position(*finished as u64);
    } else if let Some(line) = line {
        bar.println(line);
    }
    if let Progress::SessionFinished { .. } = event {
        bar.inc(1);
    }
    // A terminal of no known width has 80 columns.
    let width = console::Term::stderr().size_checked();
    let width = width.map_or(grid::WIDTH, |(_, columns)| columns);
    bar.set_message(state.lines(usize::from(width)).join("\n"));
}

/// How far everything is.
#[derive(Debug, Default)]
struct Standing {
    sessions: usize,
    finished: usize,
    /// Sum and count of what the table counts: a dependency group that is whole, by its size.
    proc: (f64, u32),
    /// Of the sessions that have one.
    comp: (f64, u32),
    pulse: Pulse,
    /// What the journals tell of it, for who follows a run that has no pulse here.
    at_work: AtWork,
    /// A plugin, and since when.
    compiling: Option<(String, Instant)>,
}

impl Standing {
    fn enter(&mut self, event: &Progress) {
        self.at_work.enter(event);
        match event {
            Progress::Planned { sessions, finished } => {
                (self.sessions, self.finished) = (*sessions, *finished);
            }
            Progress::SessionFinished {
                counted,
                comp,
                spent,
                ..
            } => {
                self.finished += 1;
                self.pulse.spent = *spent;
                if let Some(Counted { proc, weight }) = *counted {
                    add(&mut self.proc, proc, weight);
                }
                if let Some(comp) = *comp {
                    add(&mut self.comp, comp, 1);
                }
            }
            Progress::Pulse(pulse) => self.pulse.clone_from(pulse),
            Progress::Compiling { plugin } => {
                self.compiling = Some((plugin.clone(), Instant::now()));
            }
            Progress::Compiled { .. } => self.compiling = None,
            Progress::Preflight(_)
            | Progress::SessionStarted { .. }
            | Progress::TurnFinished { .. } => {}
        }
    }

    /// A line where nothing ended for a while.
    fn line(&self) -> String {
        let Self {
            sessions, finished, ..
        } = self;
        format!("{finished} of {sessions} sessions; {}", self.under_way())
    }

    /// What is at work, what is waited for, what was used, the mean scores so far. What the table would withhold is not shown.
    fn under_way(&self) -> String {
        let pulse = self.pulse();
        let mut parts: Vec<String> = self.compiling().into_iter().collect();
        parts.extend(doing(&pulse));
        parts.extend(self.scores());
        parts.join("; ")
    }

    /// The same below the bar, a line for each kind, none wider than the terminal: a name of many episodes is cut and no number.
    fn lines(&self, width: usize) -> Vec<String> {
        let pulse = self.pulse();
        let mut numbers = used(&pulse);
        numbers.extend(self.scores());
        let wait = self.compiling().into_iter().chain(waiting(&pulse));
        let wait: Vec<String> = wait.collect();
        let lines = [numbers.join("; "), wait.join("; "), at_work(&pulse, width)];
        let lines = lines.iter().filter(|line| !line.is_empty());
        lines
            .map(|line| console::truncate_str(line, width, "…").into_owned())
            .collect()
    }

    fn pulse(&self) -> Pulse {
        let mut pulse = self.pulse.clone();
        if pulse.playing.is_empty() {
            pulse.playing = self.at_work.all();
        }
        pulse
    }

    fn compiling(&self) -> Option<String> {
        let (plugin, begun) = self.compiling.as_ref()?;
        let seconds = begun.elapsed().as_secs();
        Some(format!("compiling {plugin}, {seconds} s"))
    }

    fn scores(&self) -> impl Iterator<Item = String> {
        let means = [("Proc", self.proc), ("Comp", self.comp)].into_iter();
        means
            .filter(|(_, (_, count))| *count > 0)
            .map(|(name, (sum, count))| {
                format!("{name} {:.1} so far", sum / f64::from(count) * 100.0)
            })
    }
}

/// How the models are doing, in words. What keeps everything up is seen first: a reader may go no further.
pub(super) fn doing(pulse: &Pulse) -> Vec<String> {
    let mut parts: Vec<String> = waiting(pulse).into_iter().collect();
    if !pulse.playing.is_empty() {
        parts.push(at_work(pulse, usize::MAX));
    }
    parts.extend(used(pulse));
    parts
}

fn waiting(pulse: &Pulse) -> Option<String> {
    let first = escape::line(pulse.waits.first()?);
    Some(match pulse.waits.len() {
        1 => first,
        all => format!("{first} ({} more waiting)", all - 1),
    })
}

/// How many episodes are at work, and as many of their names as have room; nothing of none.
fn at_work(pulse: &Pulse, width: usize) -> String {
    let all = pulse.playing.len();
    if all == 0 {
        return String::new();
    }
    let mut text = format!("{all} at work: ");
    for (number, playing) in pulse.playing.iter().enumerate() {
        let before = if number == 0 { "" } else { ", " };
        let name = format!("{before}{}", escape::line(&playing.to_string()));
        let rest = format!(", +{}", all - number - 1);
        let room = width.saturating_sub(if number + 1 == all { 0 } else { rest.len() });
        if number > 0 && text.chars().count() + name.chars().count() > room {
            let _ = write!(text, ", +{}", all - number);
            break;
        }
        text.push_str(&name);
    }
    text
}

fn used(pulse: &Pulse) -> Vec<String> {
    let Pulse {
        calls,
        tokens,
        spent,
        ..
    } = pulse;
    let mut parts = Vec::new();
    if *calls > 0 {
        parts.push(format!("{} in flight", count(*calls, "call")));
    }
    if *tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    match spent {
        Spent::Known(spent) => parts.push(spent.to_string()),
        Spent::Unknown => parts.push("cost unknown".into()),
        Spent::Nothing => {}
    }
    parts
}

fn add((sum, count): &mut (f64, u32), score: f64, weight: u32) {
    *sum += score * f64::from(weight);
    *count += weight;
}

/// A line for logs; turns are too many for one each.
fn line(event: &Progress) -> Option<String> {
    match event {
        Progress::Planned {
            sessions,
            finished: 0,
        } => Some(count(*sessions, "session")),
        Progress::Planned { sessions, finished } => Some(format!(
            "{}, {finished} finished before",
            count(*sessions, "session")
        )),
        Progress::Preflight(said) => Some(format!("preflight: {}", escape::line(said))),
        Progress::Compiling { plugin } => Some(format!("compiling {plugin}, once")),
        Progress::Compiled { plugin, ms } => {
            let seconds = ms.div_ceil(1000);
            Some(format!("compiled {plugin}: {seconds} s"))
        }
        Progress::SessionFinished {
            persona,
            run,
            session,
            outcome,
            turns,
            proc,
            comp,
            spent,
            counted: _,
        } => {
            let spent = match spent {
                Spent::Nothing => String::new(),
                Spent::Known(spent) => format!("; {spent} so far"),
                Spent::Unknown => "; cost unknown".into(),
            };
            let outcome = serde_json::to_value(outcome).unwrap_or_default();
            let score = |score: &Option<f64>| {
                score.map_or_else(|| "-".into(), |score| format!("{:.1}", score * 100.0))
            };
            let what = if *turns == 1 { "turn" } else { "turns" };
            Some(format!(
                "{persona}/{session} run {run}: {}, {turns} {what}, Proc {}, Comp {}{spent}",
                outcome.as_str().unwrap_or_default(),
                score(proc),
                score(comp),
            ))
        }
        Progress::SessionStarted { .. } | Progress::TurnFinished { .. } | Progress::Pulse(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use pibench_core::cost::MicroUsd;
    use pibench_core::progress::Playing;
    use pibench_core::record::Outcome;

    use super::*;

    #[test]
    fn a_finished_session_is_one_line() {
        let event = Progress::SessionFinished {
            persona: "p".into(),
            run: 2,
            session: "s".into(),
            outcome: Outcome::MaxTurns,
            turns: 30,
            proc: Some(0.25),
            comp: None,
            counted: None,
            spent: Spent::Known(MicroUsd(1_500_000)),
        };
        assert_eq!(
            line(&event).unwrap(),
            "p/s run 2: max_turns, 30 turns, Proc 25.0, Comp -; 1.50 USD so far"
        );
    }

    #[test]
    fn what_is_under_way_names_waits_first_and_no_score_that_there_is_not() {
        let mut state = Standing::default();
        let (sessions, finished) = (3, 0);
        state.enter(&Progress::Planned { sessions, finished });
        let started = |persona: &str| Progress::SessionStarted {
            persona: persona.into(),
            run: 1,
            session: "s".into(),
        };
        state.enter(&started("p"));
        state.enter(&started("q"));
        let ended = |persona: &str, outcome, proc| Progress::SessionFinished {
            persona: persona.into(),
            run: 1,
            session: "s".into(),
            outcome,
            turns: 1,
            proc,
            comp: None,
            counted: proc.map(|proc| Counted { proc, weight: 1 }),
            spent: Spent::Unknown,
        };
        state.enter(&ended("p", Outcome::JudgeFault, None));
        assert_eq!(
            state.line(),
            "1 of 3 sessions; 1 at work: q/s turn 1; cost unknown"
        );
        state.enter(&ended("q", Outcome::Complete, Some(0.5)));
        let playing = |persona: &str, turn| Playing {
            persona: persona.into(),
            run: 1,
            session: "s".into(),
            turn,
            is_ending: false,
        };
        state.enter(&Progress::Pulse(Pulse {
            calls: 2,
            tokens: 1200,
            spent: Spent::Known(MicroUsd(840_000)),
            runs: 1,
            waits: vec![
                "openai: status 429, waiting 12 s, try 3 of 7".into(),
                "b".into(),
            ],
            playing: vec![playing("q", 2), playing("r", 1)],
        }));
        assert_eq!(
            state.line(),
            "2 of 3 sessions; openai: status 429, waiting 12 s, try 3 of 7 (1 more waiting); 2 at work: q/s turn 2, r/s turn 1; 2 calls in flight; 1200 tokens; 0.84 USD; Proc 50.0 so far"
        );
        assert_eq!(
            state.lines(80),
            [
                "2 calls in flight; 1200 tokens; 0.84 USD; Proc 50.0 so far",
                "openai: status 429, waiting 12 s, try 3 of 7 (1 more waiting)",
                "2 at work: q/s turn 2, r/s turn 1"
            ]
        );
        assert_eq!(
            state.lines(30)[1..],
            [
                "openai: status 429, waiting 1…",
                "2 at work: q/s turn 2, +1"
            ]
        );
        let one = line(&ended("p", Outcome::JudgeFault, None)).unwrap();
        assert_eq!(
            one,
            "p/s run 1: judge_fault, 1 turn, Proc -, Comp -; cost unknown"
        );
    }

    #[test]
    fn a_group_that_lost_a_session_has_no_score_so_far() {
        let mut state = Standing::default();
        let ended = |counted| Progress::SessionFinished {
            persona: "p".into(),
            run: 1,
            session: "s".into(),
            outcome: Outcome::Complete,
            turns: 1,
            proc: Some(1.0),
            comp: None,
            counted,
            spent: Spent::Nothing,
        };
        state.enter(&ended(None));
        assert_eq!(state.under_way(), "");
        let (proc, weight) = (0.5, 3);
        state.enter(&ended(Some(Counted { proc, weight })));
        let (proc, weight) = (1.0, 1);
        state.enter(&ended(Some(Counted { proc, weight })));
        assert_eq!(state.under_way(), "Proc 62.5 so far");
    }
}
