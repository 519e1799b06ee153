//! One session for the page: its trajectory, what its turns changed in files, and what models said behind the scenes. The
//! trajectory is passed on as it is, so that the page shows what newer records hold.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::failure;
use crate::run_record::RunRecord;
use pibench_core::failure::Made;
use pibench_record::Name;
use pibench_record::results::SessionLine;

/// Files above this are not compared: nobody reads such a difference in a page.
const COMPARED_BYTES: usize = 256 * 1024;

/// Lines of a difference that are shown.
const DIFF_LINES: usize = 1_500;

/// Characters of a reply or a prompt that are shown.
const SHOWN: usize = 20_000;

/// How long the turns of an episode took, in milliseconds by session and turn.
type EpisodeTimes = BTreeMap<String, BTreeMap<u32, u64>>;

/// Those of some episodes of a run: its file is read once for all.
pub(super) struct Times(BTreeMap<(Name, u32), EpisodeTimes>);

impl Times {
    pub(super) fn of(run: &RunRecord, lines: &[SessionLine]) -> Self {
        let mut times: BTreeMap<_, EpisodeTimes> = lines
            .iter()
            .map(|line| ((line.persona.clone(), line.run), EpisodeTimes::new()))
            .collect();
        for timing in run.timings() {
            let episode = (timing.persona.as_str().into(), timing.run);
            if let Some(times) = times.get_mut(&episode) {
                let turns = times.entry(timing.session).or_default();
                *turns.entry(timing.turn).or_default() += timing.ms;
            }
        }
        Self(times)
    }

    /// Those of the episode that has these lines.
    pub(super) fn take(&mut self, lines: &[SessionLine]) -> EpisodeTimes {
        let key = lines.first().map(|line| (line.persona.clone(), line.run));
        key.and_then(|key| self.0.remove(&key)).unwrap_or_default()
    }
}

/// The sessions of one episode, in its order, each made when it is asked for: files are followed from one to the next.
/// Null for what is not played.
pub fn episode_chunks<'a>(
    run: &'a RunRecord,
    lines: &'a [SessionLine],
    times: EpisodeTimes,
) -> impl Iterator<Item = Value> + use<'a> {
    let mut episode = Episode::of(run, lines, times);
    lines.iter().map(move |line| episode.chunk(line))
}

/// What stands beside the trajectories of an episode.
struct Episode<'a> {
    files: Files<'a>,
    times: EpisodeTimes,
    /// By the session that came after.
    wakes: BTreeMap<String, Vec<Value>>,
    made: Made,
}

impl<'a> Episode<'a> {
    fn of(run: &'a RunRecord, lines: &[SessionLine], times: EpisodeTimes) -> Self {
        let wakes = lines
            .first()
            .map(|line| run.wakes(&line.persona, line.run))
            .unwrap_or_default();
        let files = Files {
            run,
            blobs: BTreeMap::new(),
        };
        Self {
            files,
            times,
            wakes,
            made: Made::new(),
        }
    }

    fn chunk(&mut self, line: &SessionLine) -> Value {
        let run = self.files.run;
        let mut wakes = self.wakes.remove(&*line.id).unwrap_or_default();
        for wake in &mut wakes {
            let diffs = self.files.changes(wake);
            wake["diffs"] = diffs.into();
        }
        let Some(mut trajectory) = run.trajectory(line) else {
            return Value::Null;
        };
        let failures = failure::session(run, line, &trajectory, &mut self.made);
        // Made anew below with what is new in them too: both would say the same twice.
        if let Some(fields) = trajectory.as_object_mut() {
            fields.remove("diffs");
        }
        let diffs = self.files.follow(&mut trajectory);
        json!({
            "system": system(run, &trajectory),
            "exchanges": exchanges(run, &trajectory),
            "diffs": diffs,
            "ms": self.times.get(&*line.id),
            "wakes": wakes,
            "missed": failures.missed,
            "trajectory": trajectory,
        })
    }
}

/// The workspace's files by the blob that each holds now.
struct Files<'a> {
    run: &'a RunRecord,
    blobs: BTreeMap<String, String>,
}

impl Files<'_> {
    /// The differences of each list of changes, by place: `start`, a turn's number, `end`. Texts that a difference shows
    /// leave the trajectory.
    fn follow(&mut self, trajectory: &mut Value) -> Value {
        let mut diffs = Map::new();
        let mut add = |place: String, holder: Option<&mut Value>| {
            if let Some(texts) = holder.map(|holder| self.changes(holder)) {
                diffs.insert(place, texts.into());
            }
        };
        add("start".into(), trajectory.get_mut("started"));
        if let Some(turns) = trajectory.get_mut("turns").and_then(Value::as_array_mut) {
            for turn in turns {
                let number = turn.get("turn").and_then(Value::as_u64).unwrap_or(0);
                add(number.to_string(), Some(turn));
            }
        }
        add("end".into(), trajectory.get_mut("finished"));
        diffs.into()
    }

    /// The differences of one list of changes.
    fn changes(&mut self, holder: &mut Value) -> Vec<Value> {
        let changes = holder.get_mut("changes").and_then(Value::as_array_mut);
        changes.map_or_else(Vec::new, |changes| {
            changes
                .iter_mut()
                .map(|change| self.change(change))
                .collect()
        })
    }

    fn change(&mut self, change: &mut Value) -> Value {
        let text = |key: &str| change.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(path) = text("path") else {
            return Value::Null;
        };
        let blob = text("blob");
        // What the record itself says of the content before goes first: files change between sessions too.
        let told = text("before");
        let followed = match &blob {
            Some(blob) => self.blobs.insert(path, blob.clone()),
            None => self.blobs.remove(&path),
        };
        let before = told.or(followed);
        let diff = self.diff(before.as_deref(), blob.as_deref());
        if let (Value::String(_), Some(fields)) = (&diff, change.as_object_mut()) {
            fields.remove("added");
        }
        diff
    }

    /// A unified difference as one text; an object with sizes for files that are no text or too large; null if a blob is
    /// not there.
    fn diff(&self, before: Option<&str>, after: Option<&str>) -> Value {
        let read = |name: Option<&str>| match name {
            None => Some(Vec::new()),
            Some(name) => self.run.blob(name),
        };
        let (Some(old), Some(new)) = (read(before), read(after)) else {
            return Value::Null;
        };
        let sizes = json!({ "before": old.len(), "after": new.len() });
        if old.len().max(new.len()) > COMPARED_BYTES {
            return sizes;
        }
        match (String::from_utf8(old), String::from_utf8(new)) {
            (Ok(old), Ok(new)) => unified(&old, &new).into(),
            _ => sizes,
        }
    }
}

fn unified(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let text = diff.unified_diff().context_radius(3).to_string();
    let lines = text.lines().count();
    if lines <= DIFF_LINES {
        return text;
    }
    let head: Vec<&str> = text.lines().take(DIFF_LINES).collect();
    format!("{}\n[{} more lines]", head.join("\n"), lines - DIFF_LINES)
}

fn text_blob(run: &RunRecord, name: &str) -> Option<String> {
    String::from_utf8(run.blob(name)?).ok()
}

fn head(text: &str) -> String {
    let all = text.chars().count();
    if all <= SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!(
        "{head}\n[{} more characters are in the run folder]",
        all - SHOWN
    )
}

fn system(run: &RunRecord, trajectory: &Value) -> Option<String> {
    let name = trajectory.pointer("/started/system")?.as_str()?;
    Some(head(&text_blob(run, name)?))
}

/// Every exchange with a judge that the trajectory names, by its blob.
fn exchanges(run: &RunRecord, trajectory: &Value) -> Value {
    let mut names = Vec::new();
    collect(trajectory, &mut names);
    let mut found = Map::new();
    for name in names {
        if found.contains_key(&name) {
            continue;
        }
        let parsed = text_blob(run, &name).and_then(|text| serde_json::from_str(&text).ok());
        if let Some(mut exchange) = parsed {
            shorten(&mut exchange);
            found.insert(name, exchange);
        }
    }
    found.into()
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(name) if key.ends_with("exchange") => names.push(name.clone()),
                    value => collect(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = head(text),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_with_its_surroundings() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
        let text = unified(old, &old.replace("five", "5"));
        assert!(text.starts_with("@@ -2,7 +2,7 @@\n two\n"), "{text}");
        assert!(
            text.contains("-five\n+5\n") && !text.contains("one"),
            "{text}"
        );
    }

    #[test]
    fn an_endless_difference_is_cut_and_says_so() {
        let new: Vec<String> = (0..5000).map(|at| format!("{at}\n")).collect();
        let new = new.concat();
        let text = unified("", &new);
        assert!(
            text.ends_with("[3501 more lines]"),
            "{}",
            &text[text.len() - 40..]
        );
    }
}
