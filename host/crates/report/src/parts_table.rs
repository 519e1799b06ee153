//! The parts of a run that is played apart, added up: who plays which, for how long nothing was heard of it, how far it is. From
//! the folders alone.

use std::time::{Duration, SystemTime};

use comfy_table::CellAlignment;
use schemars::JsonSchema;
use serde::Serialize;

use super::escape::line;
use super::grid::{fitting, paragraph};
use pibench_record::parts::{Part, PartState};

/// A part, as tables and the page show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartLine {
    /// Which of how many, such as `1/4`.
    pub part: String,
    pub agent: String,
    /// The machine that plays it or played it last; null before anybody began.
    pub node: Option<String>,
    /// How often it was begun; null as above.
    pub start: Option<u32>,
    /// The age of its last line when it was looked at, such as `12 s`; null without one.
    pub last: Option<String>,
    pub sessions: usize,
    pub finished: usize,
    /// `playing`, `nobody plays it` or `played`.
    pub state: &'static str,
}

impl PartLine {
    pub fn new(part: &Part, state: &PartState) -> Self {
        let start = state.start.as_ref();
        let is_left = state.far.episodes > 0;
        Self {
            part: part.shard.to_string(),
            agent: part.manifest.agent.clone(),
            node: start.map(|start| start.node.clone()),
            start: start.map(|start| start.number),
            last: state.last.map(since),
            sessions: state.far.sessions,
            finished: state.far.finished,
            state: match (state.is_worked_on, is_left) {
                (true, _) => "playing",
                (false, true) => "nobody plays it",
                (false, false) => "played",
            },
        }
    }
}

/// One line for each part, and how far all are.
pub fn parts_table(parts: &[(Part, PartState)]) -> String {
    let mut rows = fitting();
    rows.set_header([
        "part",
        "agent",
        "node",
        "start",
        "last line",
        "sessions",
        "state",
    ]);
    for column in rows.column_iter_mut().skip(3).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let (mut sessions, mut finished, mut playing, mut left) = (0, 0, 0, 0);
    for (part, state) in parts {
        let one = PartLine::new(part, state);
        sessions += one.sessions;
        finished += one.finished;
        playing += usize::from(state.is_worked_on);
        left += usize::from(state.far.episodes > 0 && !state.is_worked_on);
        let none = || "-".to_owned();
        rows.add_row([
            one.part,
            line(&one.agent),
            one.node.map_or_else(none, |node| line(&node)),
            one.start.map_or_else(none, |start| start.to_string()),
            one.last.unwrap_or_else(none),
            format!("{}/{}", one.finished, one.sessions),
            one.state.to_owned(),
        ]);
    }
    let of: usize = parts.first().map_or(0, |(part, _)| part.shard.of as usize);
    let begun = parts.iter().map(|(part, _)| part.shard.index);
    let begun = begun.collect::<std::collections::BTreeSet<u32>>().len();
    let far = format!(
        "{finished} of {sessions} sessions finished in the {begun} of {of} parts that are begun, {playing} playing, {left} \
         waiting to be gone on with"
    );
    format!("{rows}\n{}", paragraph(&far))
}

/// Since a moment. Clocks of two machines differ: what is to come is now.
fn since(then: SystemTime) -> String {
    age(then.elapsed().unwrap_or_default())
}

/// A time in the largest unit that it has at least two of.
fn age(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit_that_can_be_read() {
        let told = |seconds| age(Duration::from_secs(seconds));
        assert_eq!(told(119), "119 s");
        assert_eq!(told(121), "2 min");
        assert_eq!(told(7_300), "2 h");
        assert_eq!(told(200_000), "2 d");
    }
}
