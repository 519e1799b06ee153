//! One session in one file, for readers: what its journal lines say, together, and what became of each file. Made from
//! the journal and the blobs; nothing that plays or scores reads it.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use super::event::{SessionFinished, SessionStarted, Turn, VERSION};
use super::folder::{FolderError, RunFolder, Timing, read_timings};
use super::foreign::is_plain;
use super::private::read_record;
use pibench_core::record::{ChangeKind, FileChange, GuestCall};
use pibench_core::vocabulary::Category;

/// Bytes of a file, before or after, above which no difference is shown: the time is quadratic in the worst case.
const MAX_BYTES: usize = 256 << 10;

/// Lines before times lines after, of all changes of a session: the time of comparing them, in the worst case. Behind that
/// no difference is shown.
const MAX_COMPARED: usize = 1 << 30;

/// Bytes of all differences of a session.
const MAX_SHOWN: usize = 16 << 20;

/// Lines around a change.
const CONTEXT: usize = 3;

/// `trajectories/<persona>.r<run>/<session>.json`, and what `pibench-host trajectory` prints. Messages, reasoning, calls
/// with their whole results and the tokens stand in `turns`, on the session clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trajectory {
    /// 1.
    pub version: u32,
    pub suite: String,
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    pub title: String,
    pub category: Option<Category>,
    pub started: SessionStarted,
    pub turns: Vec<Turn>,
    pub finished: SessionFinished,
    /// What each turn made of each file.
    pub diffs: Vec<FileDiff>,
    /// What each turn took in real time. It differs from run to run: so the file of the run folder is without, and
    /// `pibench-host trajectory` puts it in from `timing.jsonl`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing: Vec<TurnTiming>,
}

/// What a turn took in real time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnTiming {
    /// 1, 2, 3, ...
    pub turn: u32,
    /// Milliseconds, from the message to the journal's line: the models' time and the tools'.
    pub ms: u64,
    /// UTC.
    pub ended: String,
    /// The calls into guests since the turn before, in the order of apps, graders, shell.
    pub guests: Vec<GuestCall>,
}

/// What a turn made of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// 0 for what was staged, and for what the memory step wrote.
    pub turn: u32,
    pub path: String,
    pub kind: ChangeKind,
    /// A unified diff; null where the file is no text, is too large, or is new with the session.
    pub diff: Option<String>,
}

/// Which session it is.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    pub suite: &'a str,
    pub persona: &'a str,
    pub run: u32,
    pub title: &'a str,
    pub category: Option<Category>,
}

impl Trajectory {
    /// Puts a session together.
    pub fn new(
        place: &Place<'_>,
        started: SessionStarted,
        turns: Vec<Turn>,
        finished: SessionFinished,
        folder: &RunFolder,
    ) -> Result<Self, FolderError> {
        let of_turns = turns.iter().flat_map(|turn| &turn.changes);
        let changes = of_turns.chain(&finished.changes);
        let mut diffs: Vec<FileDiff> = started.changes.iter().map(staged).collect();
        let mut room = Room::default();
        for change in changes {
            diffs.push(diff(change, folder, &mut room)?);
        }
        Ok(Self {
            version: VERSION,
            suite: place.suite.into(),
            persona: place.persona.into(),
            run: place.run,
            title: place.title.into(),
            category: place.category,
            started,
            turns,
            finished,
            diffs,
            timing: Vec::new(),
        })
    }
}

/// The trajectories of a run folder, with what their turns took.
#[derive(Debug)]
pub struct Timed<'a> {
    folder: &'a Path,
    /// By persona, run and session.
    timings: BTreeMap<(String, u32, String), Vec<TurnTiming>>,
}

impl<'a> Timed<'a> {
    /// Reads what the turns took.
    pub fn new(folder: &'a Path) -> Self {
        let mut timings: BTreeMap<_, Vec<TurnTiming>> = BTreeMap::new();
        for timing in read_timings(folder) {
            let Timing {
                persona,
                run,
                session,
                turn,
                ms,
                ended,
                guests,
            } = timing;
            let turns = timings.entry((persona, run, session)).or_default();
            turns.push(TurnTiming {
                turn,
                ms,
                ended,
                guests,
            });
        }
        Self { folder, timings }
    }

    /// One session; None while it is not played to its end.
    pub fn trajectory(
        &mut self,
        persona: &str,
        run: u32,
        session: &str,
    ) -> Result<Option<Trajectory>, FolderError> {
        let path = Path::new("trajectories")
            .join(format!("{persona}.r{run}"))
            .join(format!("{session}.json"));
        let path = self.folder.join(path);
        let failed = |reason: String| FolderError::Read {
            path: path.clone(),
            reason,
        };
        if !is_plain(persona) || !is_plain(session) {
            return Err(failed("a name in it is no part of a path".into()));
        }
        let text = match read_record(self.folder, &path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut trajectory: Trajectory =
            serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let key = (persona.to_owned(), run, session.to_owned());
        trajectory.timing = self.timings.remove(&key).unwrap_or_default();
        Ok(Some(trajectory))
    }
}

/// A staged file stands in the suite: it is named, and not shown again.
fn staged(change: &FileChange) -> FileDiff {
    FileDiff {
        turn: change.turn,
        path: change.path.clone(),
        kind: change.kind,
        diff: None,
    }
}

/// What is left for the differences of a session.
#[derive(Debug)]
struct Room {
    compared: usize,
    shown: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            compared: MAX_COMPARED,
            shown: MAX_SHOWN,
        }
    }
}

fn diff(change: &FileChange, folder: &RunFolder, room: &mut Room) -> Result<FileDiff, FolderError> {
    let content = |blob: &Option<String>| match blob {
        Some(blob) => folder.blob(blob),
        None => Ok(Vec::new()),
    };
    let (old, new) = (content(&change.before)?, content(&change.blob)?);
    // What the scaffold kept of a call's result repeats that call.
    let repeated = change.added.is_empty() && change.kind == ChangeKind::Created && !new.is_empty();
    let diff = if repeated {
        None
    } else {
        write_diff(&old, &new, &change.path, room)
    };
    Ok(FileDiff {
        diff,
        ..staged(change)
    })
}

fn write_diff(old: &[u8], new: &[u8], path: &str, room: &mut Room) -> Option<String> {
    if old.len().max(new.len()) > MAX_BYTES {
        return None;
    }
    let (old, new) = (
        std::str::from_utf8(old).ok()?,
        std::str::from_utf8(new).ok()?,
    );
    let compared = old.lines().count().saturating_mul(new.lines().count());
    room.compared = room.compared.checked_sub(compared)?;
    let diff = TextDiff::from_lines(old, new);
    let text = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    room.shown = room.shown.checked_sub(text.len())?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(old: &[u8], new: &[u8], path: &str) -> Option<String> {
        super::write_diff(old, new, path, &mut Room::default())
    }

    #[test]
    fn the_differences_of_a_session_have_a_bound_together() {
        let many: Vec<String> = (0..20_000).map(|line| format!("{line}\n")).collect();
        let (old, new) = (
            many.concat(),
            many.iter().rev().cloned().collect::<String>(),
        );
        let mut room = Room::default();
        let mut shown = |old: &str, new: &str| {
            super::write_diff(old.as_bytes(), new.as_bytes(), "a", &mut room).is_some()
        };
        assert!(shown(&old, &old));
        assert!(shown(&old, &old));
        assert!(!shown(&old, &new));
        assert!(shown("one\n", "two\n"));
        let mut full = Room {
            shown: 10,
            ..Room::default()
        };
        assert_eq!(super::write_diff(b"", b"one\n", "a", &mut full), None);
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
        let new = old.replace("five", "5");
        insta::assert_snapshot!(unified(old.as_bytes(), new.as_bytes(), "a.md").unwrap(), @r"
        --- a/a.md
        +++ b/a.md
        @@ -2,5 +2,5 @@
         two
         three
         four
        -five
        +5
         six
        ");
    }

    #[test]
    fn what_is_no_text_or_too_large_is_not_shown() {
        assert_eq!(unified(b"", b"\xff", "a"), None);
        assert_eq!(unified(b"", &vec![b'x'; MAX_BYTES + 1], "a"), None);
        assert!(unified(b"", &vec![b'x'; MAX_BYTES], "a").is_some());
    }
}
