//! The parts of a run that is played apart, added up: who plays which, for how long nothing was heard of it, how far it is. From
//! the folders alone.

use std::time::{Duration, SystemTime};

use comfy_table::CellAlignment;

use super::escape::line;
use super::grid::fitting;
use pibench_record::parts::{Part, PartState};

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
        let start = state.start.as_ref();
        let is_left = state.far.episodes > 0;
        sessions += state.far.sessions;
        finished += state.far.finished;
        playing += usize::from(state.is_worked_on);
        left += usize::from(is_left && !state.is_worked_on);
        rows.add_row([
            part.shard.to_string(),
            line(&part.manifest.agent),
            start.map_or("-".into(), |start| line(&start.node)),
            start.map_or("-".into(), |start| start.number.to_string()),
            state.last.map_or("-".into(), since),
            format!("{}/{}", state.far.finished, state.far.sessions),
            match (state.is_worked_on, is_left) {
                (true, _) => "playing",
                (false, true) => "nobody plays it",
                (false, false) => "played",
            }
            .into(),
        ]);
    }
    let of: usize = parts.first().map_or(0, |(part, _)| part.shard.of as usize);
    let begun = parts.iter().map(|(part, _)| part.shard.index);
    let begun = begun.collect::<std::collections::BTreeSet<u32>>().len();
    format!(
        "{rows}\n{finished} of {sessions} sessions finished in the {begun} of {of} parts that are begun, {playing} playing, {left} \
         waiting to be gone on with"
    )
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
