//! A run as it may be shown while its suite stays private: the same folder with the same scores, and of what was said and asked
//! only what its owner allows. What is withheld leaves a name under the pack's key, by which its owner can tell it again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::event::{Event, Fault, Turn};
use super::folder::{
    FolderError, Graded, Imported, Manifest, ProcessMark, Published, RunFolder, Transcripts,
    read_outline, read_results,
};
use super::journal::{self, Journal, JournalError};
use super::outline::{Outline, PersonaOutline, SessionOutline};
use super::private::key_of;
use super::results::RunResults;
use super::standing::{EpisodeResults, played, standing};
use super::trajectory::{Place, Trajectory};
use pibench_core::record::{FileChange, Status};
use pibench_vault::Key;

/// What stands in the place of a text that is withheld.
const WITHHELD: &str = "withheld";

/// Why a run is not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("publish {}: {reason}", path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Writes a finished run as it may be shown into a new folder.
pub fn publish(run: &Path, out: &Path, transcripts: Transcripts) -> Result<(), PublishError> {
    let (source, manifest) = RunFolder::read(run)?;
    let unfit = |reason: &str| PublishError::Unfit {
        path: run.to_owned(),
        reason: reason.to_owned(),
    };
    if manifest.published.is_some() {
        return Err(unfit("it is published already"));
    }
    if !run.join("results.json").exists() {
        return Err(unfit("it is not finished; go on with it by `run --resume`"));
    }
    if let Some((name, what)) = source.broken_seals()?.into_iter().next() {
        return Err(unfit(&format!("{name}: {what}")));
    }
    let outline = read_outline(run)?.ok_or_else(|| unfit("it has no outline.json"))?;
    let seal = source.seal()?;
    let shown = Shown {
        key: key_of(run)?,
        transcripts,
        source: &source,
        outline: &outline,
    };
    shown.write(&manifest, Published { seal, transcripts }, out)
}

/// What of a published run is not as it says.
pub fn check(dir: &Path) -> Result<(RunResults, Vec<String>), PublishError> {
    let (folder, manifest) = RunFolder::read(dir)?;
    let broken = folder.broken_seals()?.into_iter();
    let mut problems: Vec<_> = broken
        .map(|(name, what)| format!("{name}: {what}"))
        .collect();
    let results = read_results(dir)?;
    let outline = read_outline(dir)?;
    let personas = outline.map(|outline| outline.personas).unwrap_or_default();
    match standing(dir, &manifest, &personas, EpisodeResults::new()) {
        Ok(mut found) => {
            while found != results && found.forget_newest() {}
            if found != results {
                problems.push("results.json: its scores are not those of the journals".into());
            }
        }
        Err(error) => problems.push(format!("failed to {error}")),
    }
    Ok((results, problems))
}

/// The name of what is withheld at a place, which is its persona and session: the same each time, and nothing to whoever has no key.
pub(super) fn hidden(key: Option<&Key>, place: &str, id: &str) -> String {
    let text = format!("{place}/{id}");
    let name = match key {
        Some(key) => key.name(&text),
        None => blake3::hash(text.as_bytes()).to_hex().to_string(),
    };
    format!("hidden-{}", &name[..16])
}

struct Shown<'a> {
    key: Option<Key>,
    transcripts: Transcripts,
    source: &'a RunFolder,
    outline: &'a Outline,
}

impl Shown<'_> {
    fn write(
        &self,
        manifest: &Manifest,
        published: Published,
        out: &Path,
    ) -> Result<(), PublishError> {
        let mut episodes = Vec::new();
        for (run, persona) in played(manifest, &self.outline.personas) {
            let events = journal::events(&self.source.journal(&persona.id, run))?;
            episodes.push((persona.id.clone(), run, events));
        }
        let told = told(&episodes);
        let manifest = Manifest {
            published: Some(published),
            ..without_paths(manifest)
        };
        let mut folder = RunFolder::draft(out, &manifest, [])?;
        let outline = self.outline(&told);
        folder.put_outline(&outline)?;
        for (persona, run, events) in episodes {
            self.episode(&folder, &outline, &told, (&persona, run), events)?;
        }
        let root = folder.root().to_owned();
        let results = standing(&root, &manifest, &outline.personas, EpisodeResults::new())?;
        folder.put_results(&results)?;
        folder.publish()?;
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.transcripts == Transcripts::All
    }

    fn is_shown(&self) -> bool {
        self.transcripts != Transcripts::None
    }

    fn name(&self, place: &str, id: &str) -> String {
        hidden(self.key.as_ref(), place, id)
    }

    fn text(&self, text: String) -> String {
        if self.is_shown() || text.is_empty() {
            text
        } else {
            WITHHELD.to_owned()
        }
    }

    fn outline(&self, told: &Told) -> Outline {
        let mut outline = self.outline.clone();
        if self.is_open() {
            return outline;
        }
        for persona in &mut outline.personas {
            // Its file is one of those that a private pack encrypts. What the agent was told of it stands in the transcript.
            persona.name.clone_from(&persona.id);
            for session in &mut persona.sessions {
                self.session(&persona.id, session, told);
            }
        }
        // Which persona has them is not told, so those of one that was not played stand among the others.
        let is_played = |one: &PersonaOutline| one.sessions.iter().any(|session| session.planned);
        if !(self.is_shown() && outline.personas.iter().all(is_played)) {
            outline.tools.clear();
            outline.skills.clear();
        }
        outline
    }

    fn session(&self, persona: &str, session: &mut SessionOutline, told: &Told) {
        WITHHELD.clone_into(&mut session.title);
        // No agent was asked what was not played.
        if !(self.is_shown() && session.planned) {
            WITHHELD.clone_into(&mut session.request);
        }
        let place = format!("{persona}/{}", session.id);
        for intent in &mut session.intents {
            let id = (persona.to_owned(), session.id.clone(), intent.id.clone());
            intent.found_in.clear();
            if !(self.is_shown() && told.contains(&id)) {
                WITHHELD.clone_into(&mut intent.content);
            }
            intent.id = self.name(&place, &intent.id);
        }
        for item in &mut session.checklist {
            item.id = self.name(&place, &item.id);
            WITHHELD.clone_into(&mut item.criterion);
        }
    }

    fn episode(
        &self,
        folder: &RunFolder,
        outline: &Outline,
        told: &Told,
        (persona, run): (&str, u32),
        events: Vec<Event>,
    ) -> Result<(), PublishError> {
        let mut journal = Journal::create(&folder.journal(persona, run))?;
        let mut open: Option<(super::event::SessionStarted, Vec<Turn>)> = None;
        for event in events {
            let event = self.event(folder, told, persona, event)?;
            journal.append(&event)?;
            match event {
                Event::SessionStarted(started) => open = Some((started, Vec::new())),
                Event::Turn(turn) => {
                    if let Some((_, turns)) = &mut open {
                        turns.push(*turn);
                    }
                }
                Event::SessionFinished(finished) if self.is_shown() => {
                    let Some((started, turns)) = open.take() else {
                        continue;
                    };
                    let sessions = outline.personas.iter().filter(|one| one.id == persona);
                    let mut sessions = sessions.flat_map(|one| &one.sessions);
                    let id = finished.session.clone();
                    let session = sessions.find(|one| one.id == id);
                    let place = Place {
                        suite: &outline.suite,
                        persona,
                        run,
                        title: session.map_or("", |one| &one.title),
                        category: session.and_then(|one| one.category),
                    };
                    let whole = Trajectory::new(&place, started, turns, *finished, folder)?;
                    folder.put_trajectory(persona, run, &id, &whole)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An event as it may be shown.
    fn event(
        &self,
        folder: &RunFolder,
        told: &Told,
        persona: &str,
        event: Event,
    ) -> Result<Event, PublishError> {
        Ok(match event {
            Event::EpisodeStarted(_) | Event::EpisodeFinished => event,
            Event::SessionStarted(mut started) => {
                started.message = self.text(started.message);
                started.system = self.blob(folder, &started.system)?;
                started.changes = self.changes(folder, started.changes)?;
                started.apps.clear();
                if !self.is_shown() {
                    started.inputs.clear();
                }
                self.faults(&mut started.faults);
                Event::SessionStarted(started)
            }
            Event::Turn(turn) => Event::Turn(Box::new(self.turn(folder, told, persona, *turn)?)),
            Event::SessionFinished(mut finished) => {
                if !self.is_open() {
                    let place = format!("{persona}/{}", finished.session);
                    for intent in &mut finished.intents {
                        intent.intent = self.name(&place, &intent.intent);
                    }
                    for item in &mut finished.items {
                        item.id = self.name(&place, &item.id);
                    }
                }
                if !self.is_shown() {
                    finished.memory.clear();
                }
                finished.changes = self.changes(folder, finished.changes)?;
                self.faults(&mut finished.faults);
                Event::SessionFinished(finished)
            }
            Event::Wake(mut wake) => {
                wake.message = self.text(wake.message);
                wake.system = self.blob(folder, &wake.system)?;
                wake.changes = self.changes(folder, wake.changes)?;
                wake.apps.clear();
                if !self.is_shown() {
                    wake.steps.clear();
                    wake.jobs = super::event::Jobs::default();
                }
                self.faults(&mut wake.faults);
                Event::Wake(wake)
            }
        })
    }

    fn turn(
        &self,
        folder: &RunFolder,
        told: &Told,
        persona: &str,
        mut turn: Turn,
    ) -> Result<Turn, PublishError> {
        let place = format!("{persona}/{}", turn.session);
        turn.message = self.text(turn.message);
        turn.response = self.text(turn.response);
        turn.next = turn.next.map(|next| self.text(next));
        turn.changes = self.changes(folder, turn.changes)?;
        turn.apps.clear();
        self.faults(&mut turn.faults);
        if !self.is_shown() {
            turn.steps.clear();
            turn.jobs = None;
        }
        if self.is_open() {
            for exchange in exchanges(&mut turn) {
                *exchange = folder.put_blob(&self.source.blob(exchange)?)?;
            }
            return Ok(turn);
        }
        turn.next_exchange = None;
        for judged in &mut turn.judgements {
            let id = (
                persona.to_owned(),
                turn.session.clone(),
                judged.intent.clone(),
            );
            if !(self.is_shown() && told.contains(&id)) {
                judged.reason.clear();
            }
            judged.exchange = None;
            judged.intent = self.name(&place, &judged.intent);
        }
        for item in &mut turn.items {
            item.item = self.name(&place, &item.item);
            item.reason.clear();
            item.exchange = None;
        }
        Ok(turn)
    }

    /// What broke is told, and not in words: a grader's hold what it looked for.
    fn faults(&self, faults: &mut [Fault]) {
        if !self.is_open() {
            for fault in faults {
                WITHHELD.clone_into(&mut fault.message);
            }
        }
    }

    fn changes(
        &self,
        folder: &RunFolder,
        changes: Vec<FileChange>,
    ) -> Result<Vec<FileChange>, FolderError> {
        if !self.is_shown() {
            return Ok(Vec::new());
        }
        let kept = |mut change: FileChange| {
            for blob in [&mut change.blob, &mut change.before].into_iter().flatten() {
                *blob = folder.put_blob(&self.source.blob(blob)?)?;
            }
            Ok(change)
        };
        changes.into_iter().map(kept).collect()
    }

    fn blob(&self, folder: &RunFolder, name: &str) -> Result<String, FolderError> {
        if self.is_shown() {
            folder.put_blob(&self.source.blob(name)?)
        } else {
            folder.put_blob(WITHHELD.as_bytes())
        }
    }
}

fn exchanges(turn: &mut Turn) -> impl Iterator<Item = &mut String> {
    let judgements = turn.judgements.iter_mut();
    let items = turn.items.iter_mut();
    let judgements = judgements.filter_map(|one| one.exchange.as_mut());
    let items = items.filter_map(|one| one.exchange.as_mut());
    judgements.chain(items).chain(&mut turn.next_exchange)
}

/// The intents that the user told the agent in any run: persona, session, id.
type Told = BTreeSet<(String, String, String)>;

fn told(episodes: &[(String, u32, Vec<Event>)]) -> Told {
    let mut told = Told::new();
    for (persona, _, events) in episodes {
        for event in events {
            let Event::SessionFinished(finished) = event else {
                continue;
            };
            for intent in &finished.intents {
                if matches!(intent.status, Status::Provided | Status::Inferred) {
                    told.insert((
                        persona.clone(),
                        finished.session.clone(),
                        intent.intent.clone(),
                    ));
                }
            }
        }
    }
    told
}

/// A manifest without the places of its owner's machine.
fn without_paths(manifest: &Manifest) -> Manifest {
    let name = |path: &String| {
        let name = Path::new(path).file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let plain = |word: &String| {
        if word.contains('/') {
            name(word)
        } else {
            word.clone()
        }
    };
    let process = manifest.process.clone().map(|mark| ProcessMark {
        command: mark.command.iter().map(plain).collect(),
        read: mark.read.iter().map(name).collect(),
        ..mark
    });
    Manifest {
        process,
        suite_path: name(&manifest.suite_path),
        plugin_dirs: Vec::new(),
        prompts: manifest.prompts.as_ref().map(name),
        policy: manifest.policy.as_ref().map(name),
        graded: manifest.graded.clone().map(|graded| Graded {
            from: name(&graded.from),
            ..graded
        }),
        imported: manifest.imported.clone().map(|imported| Imported {
            path: name(&imported.path),
            ..imported
        }),
        set: Vec::new(),
        max_cost: None,
        ..manifest.clone()
    }
}
