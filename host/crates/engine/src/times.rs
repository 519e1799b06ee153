//! What `timing.jsonl` tells of how a run came about. A turn's line is added behind that of the journal and never taken away, so that
//! what was cut out of a journal and played anew stands there more often than in it. Whoever writes a record anew can write this
//! anew, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pibench_core::count::{count, list_first};
use pibench_record::folder::{Timing, read_timings};

/// The turns of an episode's journal by session: whether each has a line.
pub(super) type Timed = BTreeMap<String, Vec<bool>>;

/// In what the times of a run are not those of its journals.
#[derive(Debug, Default)]
pub struct Times {
    /// Lines beyond one for each turn.
    again: usize,
    /// The sessions of which they are, as far as the journals have them.
    sessions: BTreeSet<String>,
    /// Turns without a line.
    lacking: usize,
    /// Episodes of which no turn has one.
    untimed: Vec<String>,
}

impl Times {
    /// Holds the lines of a run against its journals' turns, by persona and run.
    pub(super) fn of(folder: &Path, mut episodes: BTreeMap<(String, u32), Timed>) -> Self {
        let mut times = Self::default();
        for timing in read_timings(folder) {
            times.take(timing, &mut episodes);
        }
        for ((persona, run), timed) in episodes {
            let all: Vec<bool> = timed.into_values().flatten().collect();
            let without = all.iter().filter(|has_line| !**has_line).count();
            times.lacking += without;
            // A process that is killed loses some; of a run in a store those of a session.
            if without > 0 && without == all.len() {
                times.untimed.push(format!("{persona}.r{run}"));
            }
        }
        times
    }

    fn take(&mut self, timing: Timing, episodes: &mut BTreeMap<(String, u32), Timed>) {
        let Timing {
            persona,
            run,
            session,
            turn,
            ..
        } = timing;
        let name = format!("{persona}/{session}, run {run}");
        let timed = episodes.get_mut(&(persona, run));
        let timed = timed.and_then(|timed| timed.get_mut(&session));
        let Some(timed) = timed else {
            self.again += 1;
            return;
        };
        let place = (turn as usize).checked_sub(1);
        match place.and_then(|place| timed.get_mut(place)) {
            Some(has_line) if !*has_line => *has_line = true,
            _ => {
                self.again += 1;
                self.sessions.insert(name);
            }
        }
    }

    /// Why a run does not stand beside others; empty if nothing is wrong.
    pub fn problems(&self) -> Vec<String> {
        let untimed = (!self.untimed.is_empty()).then(|| {
            let episodes = list_first(&self.untimed, 6);
            format!("timing.jsonl: no turn of {episodes} has a line in it")
        });
        self.told_again().into_iter().chain(untimed).collect()
    }

    /// What whoever verifies the run is told.
    pub fn notes(&self) -> Vec<String> {
        let lacking = (self.lacking > 0).then(|| {
            let turns = count(self.lacking, "turn");
            format!(
                "timing.jsonl has no line of {turns}: a process that was killed loses some, or lines were taken away"
            )
        });
        self.told_again().into_iter().chain(lacking).collect()
    }

    fn told_again(&self) -> Option<String> {
        let of = if self.sessions.is_empty() {
            "sessions that are in no journal".into()
        } else {
            list_first(&self.sessions, 6)
        };
        (self.again > 0).then(|| {
            let lines = count(self.again, "line");
            format!(
                "turns of finished sessions were played again: timing.jsonl has {lines} beyond one for each turn of the journals ({of})"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a run of one session of two turns by lines of these turns.
    fn told(turns: &[(&str, u32)]) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let lines = turns.iter().map(|(session, turn)| {
            let timing = Timing {
                persona: "ana".into(),
                run: 1,
                session: (*session).into(),
                turn: *turn,
                ms: 1,
                ended: "2026-11-30T12:00:00Z".into(),
                guests: Vec::new(),
            };
            serde_json::to_string(&timing).unwrap() + "\n"
        });
        let lines: String = lines.collect();
        std::fs::write(dir.path().join("timing.jsonl"), lines).unwrap();
        let timed = Timed::from([("one".to_owned(), vec![false; 2])]);
        let found = Times::of(dir.path(), BTreeMap::from([(("ana".to_owned(), 1), timed)]));
        (found.problems(), found.notes())
    }

    #[test]
    fn what_was_played_again_is_told_and_a_turn_that_a_kill_lost_the_time_of_is_no_problem() {
        assert_eq!(told(&[("one", 1), ("one", 2)]), (vec![], vec![]));
        for more in [("one", 1), ("one", 3), ("one", 0)] {
            let (problems, notes) = told(&[("one", 1), ("one", 2), more]);
            assert!(problems[0].contains("were played again"), "{problems:?}");
            assert!(
                problems[0].contains("1 line beyond one for each turn"),
                "{problems:?}"
            );
            assert!(problems[0].ends_with("(ana/one, run 1)"), "{problems:?}");
            assert_eq!(notes, problems);
        }
        let (problems, _) = told(&[("one", 1), ("two", 1), ("one", 2)]);
        assert!(problems[0].contains("in no journal"), "{problems:?}");
        let (problems, notes) = told(&[("one", 1)]);
        assert_eq!(problems, Vec::<String>::new());
        assert!(notes[0].contains("no line of 1 turn:"), "{notes:?}");
        let (problems, _) = told(&[]);
        assert!(
            problems[0].contains("no turn of ana.r1 has a line"),
            "{problems:?}"
        );
    }
}
