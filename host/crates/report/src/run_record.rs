//! A run folder as reports read it: what was asked for, what the suite holds, and the scores; of a run that still plays,
//! the scores so far. It writes nothing and takes no lock.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::parts_table::PartLine;
use pibench_core::count::count;
use pibench_core::player::{Mark, Player, Players};
use pibench_core::record::Outcome;
use pibench_core::vocabulary::Category;
use pibench_record::event::Event;
use pibench_record::folder::{
    FolderError, Manifest, Timing, read_blob, read_manifest, read_outline, read_results,
    read_timings,
};
use pibench_record::folder_lock::is_worked_on;
use pibench_record::foreign::{LINE_LIMIT, lines, open_file};
use pibench_record::journal::JournalError;
use pibench_record::outline::Outline;
use pibench_record::parts::{Part, PartError, parts_in, runs_in};
use pibench_record::private::read_record;
use pibench_record::results::{FaultLine, RunResults, SessionLine};
use pibench_record::rows::{InFile, Rows, Told, read_told};
use pibench_record::standing::{
    EpisodeResults, Homes, episode, is_plain, journal_path, standing, standing_of_parts,
};
use pibench_vault::keyring;

/// Why a run cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(
        "report {}: it is not played to its end; go on with it by `pibench-host run --resume {}`",
        path.display(), path.display()
    )]
    Unfinished { path: PathBuf },
    #[error(
        "follow {}: it has no outline.json: it was cut off while it was begun; go on with it by `pibench-host run --resume {}`",
        path.display(), path.display()
    )]
    NoOutline { path: PathBuf },
}

/// One run folder.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// The run folder, or the folder of its parts.
    pub dir: PathBuf,
    /// Where it is, as that is told: `dir`, or the place in a store that `dir` is a copy of.
    pub place: String,
    /// Where its episodes lie if not in `dir`.
    homes: Option<Homes>,
    /// The agent, with the folder's name where two runs have the same agent.
    pub label: String,
    pub manifest: Manifest,
    /// None for folders of before there was one.
    pub outline: Option<Outline>,
    /// Without sessions where those are read whenever they are asked for: see `each_session`.
    pub results: RunResults,
    /// Where the sessions lie that are not held.
    rows: Option<InFile>,
    /// Every session is played, and the run has ended.
    pub complete: bool,
    /// It has results: nobody plays it. Where it is not complete it was not played to its end.
    pub ended: bool,
    /// Its sessions, those of each run counted.
    pub sessions: usize,
    /// Those of them that have an end.
    pub played: usize,
    /// Whether it is ranked among those beside which it is reported.
    pub is_rival: bool,
    /// Of a run that is played apart and not merged yet: its parts, as they were when it was read.
    pub parts: Vec<PartLine>,
    categories: BTreeMap<(String, String), Category>,
}

impl RunRecord {
    /// Reads a finished run.
    pub fn read_finished(dir: &Path) -> Result<Self, RecordError> {
        let manifest = read_manifest(dir)?;
        if !dir.join("results.json").exists() {
            return Err(RecordError::Unfinished {
                path: dir.to_owned(),
            });
        }
        let outline = read_outline(dir)?;
        let results = read_results(dir)?;
        Self::new(dir, manifest, outline, results, true).counted()
    }

    /// Reads a finished run of any length: its sessions are not held, but read by `each_session`.
    pub fn read_unheld(dir: &Path) -> Result<Self, RecordError> {
        let manifest = read_manifest(dir)?;
        if !dir.join("results.json").exists() {
            return Err(RecordError::Unfinished {
                path: dir.to_owned(),
            });
        }
        let Some(outline) = read_outline(dir)? else {
            // One of before there were any: its categories are looked for session by session.
            return Self::read_finished(dir);
        };
        let Told { mut head, rows } = read_told(dir)?;
        let faults = rows.each(&mut |fault: &FaultLine| {
            head.faults.push(fault.clone());
            Ok(())
        });
        faults.map_err(|error| unread(dir, &error))?;
        let mut record = Self::new(dir, manifest, Some(outline), head, true);
        record.rows = Some(rows);
        record.counted()
    }

    /// Gives each session in its order.
    pub fn each_session(&self, mut take: impl FnMut(&SessionLine)) -> Result<(), RecordError> {
        let Some(rows) = &self.rows else {
            self.results.sessions.iter().for_each(take);
            return Ok(());
        };
        let given = rows.each(&mut |line: &SessionLine| {
            take(line);
            Ok(())
        });
        Ok(given.map_err(|error| unread(&self.dir, &error))?)
    }

    /// Reads a run that may still be playing.
    pub fn so_far(dir: &Path) -> Result<Self, RecordError> {
        if dir.join("results.json").exists() {
            return Self::read_finished(dir);
        }
        let manifest = read_manifest(dir)?;
        let outline = read_outline(dir)?.ok_or_else(|| RecordError::NoOutline {
            path: dir.to_owned(),
        })?;
        let results = standing(dir, &manifest, &outline.personas, EpisodeResults::new())?;
        Self::new(dir, manifest, Some(outline), results, false).counted()
    }

    /// Reads what a folder holds: a run, those of several agents, or the parts of a run added up.
    pub fn all_so_far(path: &Path) -> Result<Vec<Self>, RecordError> {
        let runs = runs_in(path);
        let mut parts = parts_in(path)?;
        // What they were merged to is read as any other run.
        parts.retain(|_, parts| parts.iter().all(|part| runs.contains(&part.dir)));
        if parts.is_empty() {
            return runs.iter().map(|dir| Self::so_far(dir)).collect();
        }
        parts
            .values()
            .map(|parts| Self::add_up(path, parts))
            .collect()
    }

    /// Parts of one agent's run, before they are merged.
    fn add_up(path: &Path, parts: &[Part]) -> Result<Self, RecordError> {
        let mut outline = None;
        for part in parts {
            outline = match outline {
                None => read_outline(&part.dir)?,
                found => found,
            };
        }
        let (Some(outline), Some(first)) = (outline, parts.first()) else {
            return Err(RecordError::NoOutline {
                path: path.to_owned(),
            });
        };
        let manifest = Manifest {
            shard: None,
            ..first.manifest.clone()
        };
        let played = parts
            .iter()
            .map(|part| (part.dir.as_path(), &part.manifest));
        let homes = Homes::new(played, &outline.personas);
        let results = standing_of_parts(&manifest, &outline.personas, &homes)?;
        let is_played = |part: &Part| part.dir.join("results.json").exists();
        let ended = parts.len() == first.shard.of as usize && parts.iter().all(is_played);
        let mut record = Self::new(path, manifest, Some(outline), results, ended).counted()?;
        record.homes = Some(homes);
        for part in parts {
            record.parts.push(PartLine::new(part, &part.state()?));
        }
        Ok(record)
    }

    /// The folders that hold it.
    pub fn folders(&self) -> Vec<&Path> {
        match &self.homes {
            Some(homes) => homes.dirs().into_iter().collect(),
            None => vec![&self.dir],
        }
    }

    /// The folder of an episode. That of a part that nobody has begun is not there.
    fn home(&self, run: u32, persona: &str) -> &Path {
        let home = self.homes.as_ref().and_then(|homes| homes.of(run, persona));
        home.unwrap_or(&self.dir)
    }

    /// Whether somebody plays it.
    pub fn is_worked_on(&self) -> bool {
        self.folders().into_iter().any(is_worked_on)
    }

    /// Bytes that its record names; None if they are not there.
    pub fn blob(&self, name: &str) -> Option<Vec<u8>> {
        let mut folders = self.folders().into_iter();
        folders.find_map(|dir| read_blob(dir, name).ok())
    }

    /// How long its turns took.
    pub fn timings(&self) -> impl Iterator<Item = Timing> {
        self.folders().into_iter().flat_map(read_timings)
    }

    /// How long the turns of an episode took, in milliseconds by session and turn.
    pub fn times(&self, persona: &str, run: u32) -> BTreeMap<String, BTreeMap<u32, u64>> {
        let mut times: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
        for timing in read_timings(self.home(run, persona)) {
            if (timing.persona.as_str(), timing.run) == (persona, run) {
                let turns = times.entry(timing.session).or_default();
                *turns.entry(timing.turn).or_default() += timing.ms;
            }
        }
        times
    }

    fn new(
        dir: &Path,
        manifest: Manifest,
        outline: Option<Outline>,
        results: RunResults,
        ended: bool,
    ) -> Self {
        let categories = match &outline {
            Some(outline) => categories(outline),
            None => categories_of_trajectories(dir, &results),
        };
        Self {
            dir: dir.to_owned(),
            place: dir.display().to_string(),
            homes: None,
            label: manifest.agent.clone(),
            manifest,
            outline,
            results,
            rows: None,
            complete: ended,
            ended,
            sessions: 0,
            played: 0,
            is_rival: true,
            parts: Vec::new(),
            categories,
        }
    }

    /// Counts its sessions. By their outcomes: files of before it was told do not say how many were not played.
    fn counted(mut self) -> Result<Self, RecordError> {
        let (mut sessions, mut played) = (0, 0);
        self.each_session(|line| {
            sessions += 1;
            played += usize::from(line.outcome != Outcome::Unplayed);
        })?;
        (self.sessions, self.played) = (sessions, played);
        self.complete = self.ended && played == sessions;
        Ok(self)
    }

    /// Whether it ended before it was played to its end.
    pub fn is_cut(&self) -> bool {
        self.ended && !self.complete
    }

    /// How much of a run that ended early was played, in words; None of others.
    pub(super) fn cut(&self) -> Option<String> {
        let told = || format!("{} of {}", self.played, count(self.sessions, "session"));
        self.is_cut().then(told)
    }

    /// Whether both were read from one folder, whatever the paths by which it was named.
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        place(&self.dir) == place(&other.dir)
    }

    /// The label with what sets its scores apart.
    pub fn marked(&self) -> String {
        let mut marked = marked(&self.label, self.results.players);
        if self.is_cut() {
            marked.extend([" (", CUT, ")"]);
        }
        marked
    }

    /// Whether its scores say nothing beside those of agents that models judged.
    pub fn is_apart(&self) -> bool {
        let marks = self.results.players.marks();
        marks.into_iter().any(Mark::is_apart)
    }

    /// Said of a run that plays sessions which the scripted judges cannot see; None of others.
    pub(super) fn unseen(&self) -> Option<String> {
        let personas = self.outline.iter().flat_map(|outline| &outline.personas);
        let sessions = personas.flat_map(|persona| &persona.sessions);
        let unseen = sessions.filter(|one| one.planned && one.no_offline_matcher);
        let unseen = unseen.count();
        (unseen > 0).then(|| {
            format!(
                "of {} the scripted judges cannot see intents or rubrics, for which there is no offline matcher: the scores of \
                 these say nothing, but they count.",
                count(unseen, "session")
            )
        })
    }

    /// The category of a session; None if its file names none.
    pub fn category(&self, persona: &str, session: &str) -> Option<Category> {
        let key = (persona.to_owned(), session.to_owned());
        self.categories.get(&key).copied()
    }

    /// One session as it was recorded, or as far as it is; None if nothing of it is.
    pub fn trajectory(&self, line: &SessionLine) -> Option<Value> {
        read_trajectory(self.home(line.run, &line.persona), line)
            .or_else(|| self.played_so_far(line))
    }

    /// What woke the agent before each session of an episode: the journal's lines of that kind, as they are.
    pub fn wakes(&self, persona: &str, run: u32) -> BTreeMap<String, Vec<Value>> {
        let mut waiting = Vec::new();
        let mut wakes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let home = self.home(run, persona);
        let journal: Box<dyn Iterator<Item = Vec<u8>>> = if keyring::is_private(home) {
            let events = episode(home, persona, run).unwrap_or_default();
            let line = |event: Event| serde_json::to_vec(&event).ok();
            Box::new(events.into_iter().filter_map(line))
        } else {
            let path = journal_path(home, persona, run);
            let file = path.and_then(|path| open_file(home, &path).ok());
            Box::new(file.into_iter().flat_map(|file| lines(file, LINE_LIMIT)))
        };
        // Most lines are turns, which are not read twice.
        let told = |line: &Vec<u8>| {
            str::from_utf8(line).is_ok_and(|line| {
                ["\"event\":\"wake\"", "\"event\":\"session_started\""]
                    .iter()
                    .any(|event| line.contains(event))
            })
        };
        for line in journal.filter(told) {
            let Ok(event) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            match (event["event"].as_str(), event["session"].as_str()) {
                (Some("wake"), _) => waiting.push(event),
                (Some("session_started"), Some(session)) if !waiting.is_empty() => {
                    wakes.insert(session.to_owned(), std::mem::take(&mut waiting));
                }
                _ => {}
            }
        }
        wakes
    }

    /// How far a session of a run that still plays is.
    pub fn state(&self, line: &SessionLine) -> State {
        let home = self.home(line.run, &line.persona);
        // One that is published has no trajectories where no transcripts are shown.
        let is_published = self.manifest.published.is_some() && line.outcome != Outcome::Unplayed;
        if is_published || trajectory_path(home, line).is_some_and(|path| path.exists()) {
            State::Finished
        } else if line.turns > 0 && is_worked_on(home) {
            State::Playing
        } else if line.turns > 0 {
            State::Interrupted
        } else {
            State::Waiting
        }
    }

    /// A trajectory without an end, from the journal.
    fn played_so_far(&self, line: &SessionLine) -> Option<Value> {
        let events = episode(self.home(line.run, &line.persona), &line.persona, line.run).ok()?;
        let started = events.iter().find_map(|event| match event {
            Event::SessionStarted(started) if line.id == started.session => Some(started),
            _ => None,
        })?;
        let turns: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Turn(turn) if line.id == turn.session => Some(turn),
                _ => None,
            })
            .collect();
        Some(json!({
            "suite": self.results.suite,
            "persona": line.persona,
            "run": line.run,
            "started": started,
            "turns": turns,
        }))
    }

    /// The last part of the folder's path.
    pub fn folder_name(&self) -> String {
        let name = self.dir.file_name();
        name.map_or_else(
            || self.dir.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

fn unread(dir: &Path, error: &io::Error) -> FolderError {
    FolderError::Read {
        path: dir.join("results.json"),
        reason: error.to_string(),
    }
}

/// The mark of a run that ended before it was played to its end.
pub(super) const CUT: &str = "not played to its end";

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Waiting,
    Playing,
    /// It was played, and nobody goes on with it.
    Interrupted,
    Finished,
}

/// Something that makes a difference whoever the agent is.
struct Rule {
    what: &'static str,
    /// How it was in a run; None where there is nothing to hold against other runs, empty where nobody knows, as of an import.
    is: Option<String>,
    /// Whether a label says it where runs differ in it.
    in_label: bool,
}

/// The settings of a role's model, behind which the role stands.
const SETTINGS: &str = "settings of the ";

/// The rules of a run. Patterns have a mark of their own, and of an import nobody knows the prompts.
fn rules(manifest: &Manifest) -> [Rule; 9] {
    let Manifest {
        players, models, ..
    } = manifest;
    let first = |digest: &str| digest.chars().take(8).collect::<String>();
    let by_model = |player: Player, name: &str| (player == Player::Model).then(|| name.to_owned());
    let settings = |role: &str| models.get(role).map(|all| json!(all).to_string());
    let of_agent = manifest.scaffold_prompt_digest.as_deref().map(first);
    // The others have their wording behind the label.
    let is_own = manifest.scaffold_prompt.as_deref() == Some("own");
    let version = manifest.protocol_version.to_string();
    [
        ("protocol", Some(name(&manifest.protocol)), true),
        ("protocol version", Some(version), true),
        ("scaffold", Some(name(&manifest.scaffold)), true),
        ("prompts", Some(first(&manifest.prompts_digest)), true),
        ("agent's prompts", of_agent, is_own),
        ("user", by_model(players.user, &manifest.user), true),
        ("settings of the user", settings("user"), false),
        ("judge", by_model(players.judge, &manifest.judge), true),
        ("settings of the judge", settings("judge"), false),
    ]
    .map(|(what, is, in_label)| Rule { what, is, in_label })
}

/// In which of these some runs differ from others.
pub(super) fn differing(runs: &[&RunRecord]) -> Vec<&'static str> {
    let all: Vec<_> = runs.iter().map(|run| rules(&run.manifest)).collect();
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let differs = |at: usize| {
        let mut known = all.iter().filter_map(|rules| rules[at].is.as_ref());
        let one = known.next();
        one.is_some_and(|one| known.any(|other| other != one))
    };
    let mut found = Vec::new();
    for (at, rule) in first.iter().enumerate() {
        // Another model has other settings.
        let role = rule.what.strip_prefix(SETTINGS);
        if differs(at) && role.is_none_or(|role| !found.contains(&role)) {
            found.push(rule.what);
        }
    }
    found
}

/// The temperature that the agent's model is asked with, and how many tokens its answers may have; None where none was set.
pub(super) fn asked(manifest: &Manifest) -> (Option<&Value>, Option<u32>) {
    let model = manifest.models.get("agent").and_then(|all| all.first());
    let temperature = model.and_then(|model| model.fields.get("temperature"));
    (temperature, model.and_then(|model| model.max_output_tokens))
}

/// Gives runs of the same agent, and those that were not played alike, labels that tell them apart.
pub fn tell_apart(runs: &mut [RunRecord]) {
    let differing = differing(&runs.iter().collect::<Vec<_>>());
    let mut labels: BTreeMap<String, u32> = BTreeMap::new();
    let mut folders: BTreeMap<(String, String), u32> = BTreeMap::new();
    for run in runs.iter() {
        *labels.entry(run.label.clone()).or_default() += 1;
        let folder = (run.label.clone(), run.folder_name());
        *folders.entry(folder).or_default() += 1;
    }
    for run in runs {
        if labels[&run.label] > 1 {
            let folder = (run.label.clone(), run.folder_name());
            let is_only = folders[&folder] == 1;
            let (label, name) = folder;
            run.label = if is_only {
                format!("{label} ({name})")
            } else {
                format!("{label} ({})", run.place)
            };
        }
        for Rule { what, is, in_label } in rules(&run.manifest) {
            let is = is.filter(|is| in_label && !is.is_empty());
            if differing.contains(&what) {
                run.label.extend(is.map(|is| format!(" ({what} {is})")));
            }
        }
    }
}

fn trajectory_path(dir: &Path, line: &SessionLine) -> Option<PathBuf> {
    let plain = is_plain(&line.persona) && is_plain(&line.id);
    let episode = format!("{}.r{}", line.persona, line.run);
    let file = format!("{}.json", line.id);
    plain.then(|| dir.join("trajectories").join(episode).join(file))
}

fn read_trajectory(dir: &Path, line: &SessionLine) -> Option<Value> {
    let path = trajectory_path(dir, line)?;
    serde_json::from_slice(&read_record(dir, &path).ok()?).ok()
}

fn categories(outline: &Outline) -> BTreeMap<(String, String), Category> {
    let mut categories = BTreeMap::new();
    for persona in &outline.personas {
        for session in &persona.sessions {
            if let Some(category) = session.category {
                categories.insert((persona.id.clone(), session.id.clone()), category);
            }
        }
    }
    categories
}

fn categories_of_trajectories(
    dir: &Path,
    results: &RunResults,
) -> BTreeMap<(String, String), Category> {
    let category = |line: &SessionLine| {
        let value = read_trajectory(dir, line)?.get("category")?.clone();
        let category = serde_json::from_value(value).ok()?;
        Some(((line.persona.to_string(), line.id.to_string()), category))
    };
    results.sessions.iter().filter_map(category).collect()
}

/// A word as the record writes it.
pub fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// A name with what sets its scores apart.
pub(super) fn marked(name: &str, players: Players) -> String {
    let marks = players.marks().into_iter();
    let marks: Vec<String> = marks.map(|mark| format!(" ({})", mark.words())).collect();
    format!("{name}{}", marks.concat())
}
