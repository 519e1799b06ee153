//! What the lines of an episode's journal come to: the one walk of everything that follows a journal, to go on with an
//! episode, to show its judges the same evidence again, or to verify it. It knows names of blobs and reads none.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::SessionClock;
use super::event::{AppMark, Event, Jobs, SessionFinished, SessionStarted, Step, Turn};
use pibench_core::vocabulary::Ablation;

/// An episode after one of its lines.
#[derive(Debug, Default)]
pub struct EpisodeState {
    ablate: Option<Ablation>,
    /// The first line was there.
    pub started: bool,
    /// The last line was there.
    pub over: bool,
    /// The workspace: path to blob.
    pub files: BTreeMap<String, String>,
    /// The workspace's folders that hold nothing.
    pub folders: Vec<String>,
    pub apps: BTreeMap<String, AppMark>,
    /// What the agent wants to be woken for.
    pub jobs: Jobs,
    /// The session clock; None before the first session.
    pub clock: Option<SessionClock>,
    /// How often the agent was woken since the last session began.
    pub woken: u32,
    /// The sessions that ended.
    pub finished: BTreeSet<String>,
    /// The session that began last.
    pub session: Option<SessionState>,
}

/// A session of the record, from its first line on.
#[derive(Debug, Clone)]
pub struct SessionState {
    pub started: SessionStarted,
    pub turns: Vec<Turn>,
    /// None while it is played, or where it was cut off.
    pub finished: Option<Box<SessionFinished>>,
}

impl EpisodeState {
    /// Before the first line of an episode that is played without what `ablate` takes away.
    pub fn new(ablate: Option<Ablation>) -> Self {
        Self {
            ablate,
            ..Self::default()
        }
    }

    /// After these lines.
    pub fn of(events: &[Event], ablate: Option<Ablation>) -> Self {
        let mut state = Self::new(ablate);
        for event in events {
            state.apply(event);
        }
        state
    }

    /// Takes in the journal's next line. A turn or an end outside of a session is left out.
    pub fn apply(&mut self, event: &Event) {
        self.change(event);
        match event {
            Event::EpisodeStarted(_) => self.started = true,
            Event::SessionStarted(started) => self.begin(started),
            Event::Turn(turn) => {
                self.pass(&turn.clock, &turn.steps, turn.jobs.as_ref());
                if let Some(open) = self.open_session() {
                    open.turns.push((**turn).clone());
                }
            }
            Event::SessionFinished(finished) => {
                self.finished.insert(finished.session.clone());
                if let Some(open) = self.open_session() {
                    open.finished = Some(finished.clone());
                }
            }
            Event::Wake(wake) => {
                self.pass(&wake.clock, &wake.steps, Some(&wake.jobs));
                self.woken += 1;
            }
            Event::EpisodeFinished => self.over = true,
        }
    }

    /// The session that has begun and not ended.
    pub fn open_session(&mut self) -> Option<&mut SessionState> {
        self.session
            .as_mut()
            .filter(|session| session.finished.is_none())
    }

    /// Gives away the session that has begun and not ended.
    pub fn take_open_session(&mut self) -> Option<SessionState> {
        self.session.take_if(|session| session.finished.is_none())
    }

    fn begin(&mut self, started: &SessionStarted) {
        // A session that is played alone begins without the jobs of others.
        if self.ablate == Some(Ablation::Dependencies) {
            self.jobs.open.clear();
        }
        self.woken = 0;
        if let Ok(clock) = started.clock.parse() {
            self.clock = Some(SessionClock::new(clock));
        }
        self.session = Some(SessionState {
            started: started.clone(),
            turns: Vec::new(),
            finished: None,
        });
    }

    fn change(&mut self, event: &Event) {
        for change in event.changes() {
            match &change.blob {
                Some(blob) => self.files.insert(change.path.clone(), blob.clone()),
                None => self.files.remove(&change.path),
            };
        }
        if let Some(folders) = event.folders() {
            self.folders = folders.to_vec();
        }
        for (app, mark) in event.apps() {
            self.apps.insert(app.clone(), mark.clone());
        }
    }

    /// A turn was played: what the clock showed after it, and which jobs were open.
    fn pass(&mut self, clock: &str, steps: &[Step], jobs: Option<&Jobs>) {
        if let Ok(start) = clock.parse() {
            self.clock = Some(SessionClock::after_turn(start, steps));
        }
        if let Some(jobs) = jobs {
            self.jobs.clone_from(jobs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Job, When};
    use jiff::civil::date;
    use pibench_core::record::{ChangeKind, FileChange, Outcome};

    fn file(path: &str, blob: Option<&str>) -> FileChange {
        FileChange {
            turn: 1,
            path: path.into(),
            kind: ChangeKind::Modified,
            blob: blob.map(str::to_owned),
            before: None,
            added: String::new(),
        }
    }

    fn begin(session: &str, changes: Vec<FileChange>) -> Event {
        Event::SessionStarted(SessionStarted {
            session: session.into(),
            clock: "2026-03-02T09:00:00".into(),
            message: String::new(),
            system: String::new(),
            inputs: Vec::new(),
            changes,
            folders: None,
            apps: BTreeMap::new(),
            faults: Vec::new(),
        })
    }

    fn turn(changes: Vec<FileChange>) -> Event {
        let job = Job {
            id: "job-1".into(),
            message: String::new(),
            when: When::At,
            next: date(2026, 3, 3).at(9, 0, 0, 0),
        };
        Event::Turn(Box::new(Turn {
            clock: "2026-03-02T09:00:00".into(),
            changes,
            jobs: Some(Jobs {
                made: 1,
                open: vec![job],
            }),
            ..Turn::default()
        }))
    }

    fn end(session: &str) -> Event {
        Event::SessionFinished(Box::new(SessionFinished {
            session: session.into(),
            outcome: Outcome::Complete,
            turns: 1,
            intents: Vec::new(),
            items: Vec::new(),
            proc: 1.0,
            comp: None,
            memory: Vec::new(),
            changes: vec![file("memory.md", Some("m"))],
            faults: Vec::new(),
            usage: crate::event::RoleUsage::default(),
        }))
    }

    #[test]
    fn files_and_clock_are_as_the_last_line_left_them() {
        let staged = vec![file("a.md", Some("a1")), file("b.md", Some("b1"))];
        let changed = vec![file("a.md", Some("a2")), file("b.md", None)];
        let state = EpisodeState::of(&[begin("s", staged), turn(changed), end("s")], None);
        let files: Vec<_> = state
            .files
            .iter()
            .map(|(path, blob)| (path.as_str(), blob.as_str()))
            .collect();
        assert_eq!(files, [("a.md", "a2"), ("memory.md", "m")]);
        assert_eq!(state.clock.unwrap().to_string(), "2026-03-02T09:01:00");
    }

    #[test]
    fn a_session_is_open_until_its_end_and_a_turn_behind_it_is_in_none() {
        let mut state = EpisodeState::of(&[begin("s", Vec::new()), turn(Vec::new())], None);
        assert_eq!(state.open_session().unwrap().turns.len(), 1);
        state.apply(&end("s"));
        state.apply(&turn(Vec::new()));
        assert!(state.open_session().is_none() && state.take_open_session().is_none());
        assert_eq!(state.session.unwrap().turns.len(), 1);
        assert!(state.finished.contains("s"));
    }

    #[test]
    fn a_session_that_is_played_alone_begins_without_jobs_and_any_other_keeps_them() {
        let lines = [
            begin("a", Vec::new()),
            turn(Vec::new()),
            end("a"),
            begin("b", Vec::new()),
        ];
        let open = |ablate| EpisodeState::of(&lines, ablate).jobs.open.len();
        assert_eq!(open(None), 1);
        assert_eq!(open(Some(Ablation::Dependencies)), 0);
    }
}
