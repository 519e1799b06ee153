//! A run as it may be shown while its suite stays private: the same folder with the same scores, and of what was said and asked
//! only what its owner allows. What is withheld leaves a name under the pack's key, by which its owner can tell it again.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use super::event::{
    EpisodeStarted, Event, Fault, IntentJudgement, IntentStatus, ItemVerdict, SessionFinished,
    SessionStarted, Turn, Wake,
};
use super::folder::{
    FolderError, Graded, Imported, Manifest, ProcessMark, Published, RunFolder, Transcripts,
    read_outline, read_results,
};
use super::journal::{self, Journal, JournalError};
use super::outline::{IntentOutline, ItemOutline, Outline, PersonaOutline, SessionOutline};
use super::private::key_of;
use super::results::{RunResults, difference};
use super::standing::{EpisodeResults, played, standing};
use super::trajectory::{Place, Trajectory};
use pibench_core::record::{FileChange, Status};
use pibench_core::score::ItemScore;
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
        Ok(found) => {
            let is_written = |found: &RunResults| Ok::<_, Infallible>(*found == results);
            let Ok(difference) = difference(found, &manifest.made_anew(), is_written);
            problems.extend(difference);
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
        let Outline {
            version: _,
            suite: _,
            title: _,
            scripted: _,
            personas,
            tools,
            skills,
        } = &mut outline;
        for PersonaOutline { id, name, sessions } in &mut *personas {
            // Its file is one of those that a private pack encrypts. What the agent was told of it stands in the transcript.
            name.clone_from(id);
            for session in sessions {
                self.session(id, session, told);
            }
        }
        // Which persona has them is not told, so those of one that was not played stand among the others.
        let is_played = |one: &PersonaOutline| one.sessions.iter().any(|session| session.planned);
        if !(self.is_shown() && personas.iter().all(is_played)) {
            tools.clear();
            skills.clear();
        }
        outline
    }

    fn session(&self, persona: &str, session: &mut SessionOutline, told: &Told) {
        let SessionOutline {
            id: session,
            title,
            category: _,
            planned,
            depends_on: _,
            dependency_only: _,
            no_offline_matcher: _,
            request,
            intents,
            checklist,
        } = session;
        WITHHELD.clone_into(title);
        // No agent was asked what was not played.
        if !(self.is_shown() && *planned) {
            WITHHELD.clone_into(request);
        }
        let place = format!("{persona}/{session}");
        for intent in intents {
            let IntentOutline {
                id,
                content,
                scope: _,
                found_in,
            } = intent;
            let whole = (persona.to_owned(), session.clone(), id.clone());
            found_in.clear();
            if !(self.is_shown() && told.contains(&whole)) {
                WITHHELD.clone_into(content);
            }
            *id = self.name(&place, id);
        }
        for item in checklist {
            let ItemOutline {
                id,
                criterion,
                weight: _,
                at_end: _,
                grader: _,
            } = item;
            *id = self.name(&place, id);
            WITHHELD.clone_into(criterion);
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
        let mut open: Option<(SessionStarted, Vec<Turn>)> = None;
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
            // Every field by name, here and below, so that a new one has to be thought about: what is forgotten would be shown.
            Event::EpisodeStarted(EpisodeStarted {
                version: _,
                suite: _,
                suite_digest: _,
                persona: _,
                run: _,
                seed: _,
                protocol: _,
                agent: _,
                user: _,
                judge: _,
            })
            | Event::EpisodeFinished => event,
            Event::SessionStarted(started) => {
                Event::SessionStarted(self.session_started(folder, started)?)
            }
            Event::Turn(turn) => Event::Turn(Box::new(self.turn(folder, told, persona, *turn)?)),
            Event::SessionFinished(finished) => {
                let finished = self.session_finished(folder, persona, *finished)?;
                Event::SessionFinished(Box::new(finished))
            }
            Event::Wake(wake) => Event::Wake(Box::new(self.wake(folder, *wake)?)),
        })
    }

    fn session_started(
        &self,
        folder: &RunFolder,
        started: SessionStarted,
    ) -> Result<SessionStarted, PublishError> {
        let SessionStarted {
            session,
            clock,
            message,
            system,
            inputs,
            changes,
            folders,
            apps: _,
            faults,
        } = started;
        Ok(SessionStarted {
            session,
            clock,
            message: self.text(message),
            system: self.blob(folder, &system)?,
            inputs: self.shown(inputs),
            changes: self.changes(folder, changes)?,
            folders: self.shown(folders),
            apps: BTreeMap::new(),
            faults: self.faults(faults),
        })
    }

    fn turn(
        &self,
        folder: &RunFolder,
        told: &Told,
        persona: &str,
        turn: Turn,
    ) -> Result<Turn, PublishError> {
        let Turn {
            session,
            turn,
            clock,
            message,
            steps,
            response,
            written_calls,
            changes,
            folders,
            apps: _,
            judgements,
            intents,
            items,
            jobs,
            faults,
            next,
            answers_fact,
            next_exchange,
            outcome,
            usage,
        } = turn;
        let place = (persona, session.as_str());
        let judgements = judgements.into_iter();
        let judgements = judgements.map(|one| self.judgement(folder, told, place, one));
        let items = items.into_iter();
        let items = items.map(|one| self.verdict(folder, place, one));
        Ok(Turn {
            turn,
            clock,
            message: self.text(message),
            steps: self.shown(steps),
            response: self.text(response),
            written_calls,
            changes: self.changes(folder, changes)?,
            folders: self.shown(folders),
            apps: BTreeMap::new(),
            judgements: judgements.collect::<Result<_, _>>()?,
            // Numbers alone.
            intents,
            items: items.collect::<Result<_, _>>()?,
            jobs: self.shown(jobs),
            faults: self.faults(faults),
            next: next.map(|next| self.text(next)),
            answers_fact,
            next_exchange: self.exchange(folder, next_exchange)?,
            outcome,
            usage,
            session,
        })
    }

    fn judgement(
        &self,
        folder: &RunFolder,
        told: &Told,
        (persona, session): (&str, &str),
        judgement: IntentJudgement,
    ) -> Result<IntentJudgement, FolderError> {
        let IntentJudgement {
            intent,
            stage,
            yes,
            reason,
            exchange,
        } = judgement;
        let id = (persona.to_owned(), session.to_owned(), intent);
        let is_told = self.is_open() || self.is_shown() && told.contains(&id);
        let (_, _, intent) = id;
        Ok(IntentJudgement {
            intent: self.id(&format!("{persona}/{session}"), intent),
            stage,
            yes,
            reason: if is_told { reason } else { String::new() },
            exchange: self.exchange(folder, exchange)?,
        })
    }

    fn verdict(
        &self,
        folder: &RunFolder,
        (persona, session): (&str, &str),
        verdict: ItemVerdict,
    ) -> Result<ItemVerdict, FolderError> {
        let ItemVerdict {
            item,
            pass,
            reason,
            votes,
            exchange,
        } = verdict;
        Ok(ItemVerdict {
            item: self.id(&format!("{persona}/{session}"), item),
            pass,
            reason: if self.is_open() {
                reason
            } else {
                String::new()
            },
            // Names of models, which the manifest has.
            votes,
            exchange: self.exchange(folder, exchange)?,
        })
    }

    fn session_finished(
        &self,
        folder: &RunFolder,
        persona: &str,
        finished: SessionFinished,
    ) -> Result<SessionFinished, PublishError> {
        let SessionFinished {
            session,
            outcome,
            turns,
            intents,
            items,
            proc,
            comp,
            memory,
            changes,
            faults,
            usage,
        } = finished;
        let place = format!("{persona}/{session}");
        let intents = intents.into_iter();
        let intents = intents.map(|IntentStatus { intent, status }| IntentStatus {
            intent: self.id(&place, intent),
            status,
        });
        let items = items.into_iter();
        let items = items.map(|ItemScore { id, weight, met }| ItemScore {
            id: self.id(&place, id),
            weight,
            met,
        });
        Ok(SessionFinished {
            session,
            outcome,
            turns,
            intents: intents.collect(),
            items: items.collect(),
            proc,
            comp,
            memory: self.shown(memory),
            changes: self.changes(folder, changes)?,
            faults: self.faults(faults),
            usage,
        })
    }

    fn wake(&self, folder: &RunFolder, wake: Wake) -> Result<Wake, PublishError> {
        let Wake {
            by,
            clock,
            message,
            folded,
            system,
            steps,
            changes,
            folders,
            apps: _,
            faults,
            jobs,
            usage,
        } = wake;
        Ok(Wake {
            by: self.text(by),
            clock,
            message: self.text(message),
            folded,
            system: self.blob(folder, &system)?,
            steps: self.shown(steps),
            changes: self.changes(folder, changes)?,
            folders: self.shown(folders),
            apps: BTreeMap::new(),
            faults: self.faults(faults),
            jobs: self.shown(jobs),
            usage,
        })
    }

    /// What is said and done, or nothing of it.
    fn shown<T: Default>(&self, what: T) -> T {
        if self.is_shown() { what } else { T::default() }
    }

    /// The id of an intent or an item at a place.
    fn id(&self, place: &str, id: String) -> String {
        if self.is_open() {
            id
        } else {
            self.name(place, &id)
        }
    }

    /// An exchange with a model of the user agent's or a judge's.
    fn exchange(
        &self,
        folder: &RunFolder,
        exchange: Option<String>,
    ) -> Result<Option<String>, FolderError> {
        let exchange = exchange.filter(|_| self.is_open());
        let kept = exchange.map(|name| folder.put_blob(&self.source.blob(&name)?));
        kept.transpose()
    }

    /// What broke is told, and not in words: a grader's hold what it looked for.
    fn faults(&self, faults: Vec<Fault>) -> Vec<Fault> {
        let shown = |fault| {
            let Fault {
                kind,
                source,
                cause,
                message,
            } = fault;
            let message = if self.is_open() {
                message
            } else {
                WITHHELD.to_owned()
            };
            Fault {
                kind,
                source,
                cause,
                message,
            }
        };
        faults.into_iter().map(shown).collect()
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
    let Manifest {
        version: _,
        host: _,
        started: _,
        suite: _,
        suite_path,
        suite_digest: _,
        suite_parts: _,
        protocol: _,
        protocol_version: _,
        scaffold: _,
        scaffold_prompt: _,
        scaffold_prompt_digest: _,
        agent: _,
        user: _,
        judge: _,
        players: _,
        models: _,
        process,
        runs: _,
        seed: _,
        personas: _,
        sessions: _,
        ablate: _,
        shard: _,
        graded,
        set: _,
        max_cost: _,
        plugin_dirs: _,
        prompts,
        prompts_version: _,
        prompts_digest: _,
        policy,
        policy_digest: _,
        plugins: _,
        limits: _,
        imported,
        published: _,
    } = manifest;
    let process = process.clone().map(|mark| ProcessMark {
        command: mark.command.iter().map(plain).collect(),
        read: mark.read.iter().map(name).collect(),
        ..mark
    });
    Manifest {
        process,
        suite_path: name(suite_path),
        plugin_dirs: Vec::new(),
        prompts: prompts.as_ref().map(name),
        policy: policy.as_ref().map(name),
        graded: graded.clone().map(|graded| Graded {
            from: name(&graded.from),
            ..graded
        }),
        imported: imported.clone().map(|imported| Imported {
            path: name(&imported.path),
            ..imported
        }),
        set: Vec::new(),
        max_cost: None,
        ..manifest.clone()
    }
}
