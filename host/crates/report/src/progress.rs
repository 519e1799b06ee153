//! Live progress on stderr: a bar on a terminal, plain lines elsewhere.

use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc::UnboundedReceiver;

use super::escape;
pub use pibench_core::progress::{Progress, Spent};

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

/// Shows events until the last sender is gone.
pub fn display(mut events: UnboundedReceiver<Progress>, look: Look) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let bar = (look == Look::Terminal).then(bar);
        let show = |event: Progress| match &bar {
            Some(bar) => show(bar, &event),
            None if look == Look::Silent => {}
            None => {
                if let Some(line) = line(&event) {
                    eprintln!("{line}");
                }
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

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {pos}/{len} sessions  {elapsed}  eta {eta}  {wide_msg}",
    );
    // A template that does not parse would fall back to indicatif's own.
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: &ProgressBar, event: &Progress) {
    match event {
        Progress::Planned { sessions, finished } => {
            bar.set_length(*sessions as u64);
            bar.set_position(*finished as u64);
        }
        Progress::SessionStarted {
            persona, session, ..
        } => bar.set_message(format!("{persona}/{session}")),
        Progress::TurnFinished {
            persona,
            session,
            turn,
            ..
        } => {
            bar.set_message(format!("{persona}/{session}, turn {turn}"));
        }
        Progress::Preflight(_) | Progress::Compiling { .. } | Progress::Compiled { .. } => {
            bar.println(line(event).unwrap_or_default());
        }
        Progress::SessionFinished { .. } => {
            if let Some(line) = line(event) {
                bar.println(line);
            }
            bar.inc(1);
        }
    }
}

/// A line for logs; turns are too many for one each.
fn line(event: &Progress) -> Option<String> {
    match event {
        Progress::Planned {
            sessions,
            finished: 0,
        } => Some(format!("{sessions} sessions")),
        Progress::Planned { sessions, finished } => {
            Some(format!("{sessions} sessions, {finished} finished before"))
        }
        Progress::Preflight(said) => Some(format!("preflight: {}", escape::line(said))),
        Progress::Compiling { plugin } => Some(format!("compiling {plugin}, once")),
        Progress::Compiled { plugin, ms } => {
            let seconds = ms.div_ceil(1000);
            Some(format!("compiling {plugin}, once: {seconds} s"))
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
        } => {
            let spent = match spent {
                Spent::Nothing => String::new(),
                Spent::Known(spent) => format!("; {spent} so far"),
                Spent::Unknown => "; cost unknown".into(),
            };
            let outcome = serde_json::to_value(outcome).unwrap_or_default();
            let comp = comp.map_or_else(|| "-".into(), |comp| format!("{:.1}", comp * 100.0));
            Some(format!(
                "{persona}/{session} run {run}: {}, {turns} turns, Proc {:.1}, Comp {comp}{spent}",
                outcome.as_str().unwrap_or_default(),
                proc * 100.0,
            ))
        }
        Progress::SessionStarted { .. } | Progress::TurnFinished { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use pibench_core::cost::MicroUsd;
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
            proc: 0.25,
            comp: None,
            spent: Spent::Known(MicroUsd(1_500_000)),
        };
        assert_eq!(
            line(&event).unwrap(),
            "p/s run 2: max_turns, 30 turns, Proc 25.0, Comp -; 1.50 USD so far"
        );
    }
}
