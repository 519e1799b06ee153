//! Verifying a finished run: does every score follow from the record? Nothing is played and no model is asked. The chain
//! of hashes and the blobs are checked, the session's rules and the graders run again, and what they give is compared
//! with what is written. What a model judged is taken as it stands: its replies are in the blobs.

use std::collections::BTreeMap;
use std::path::Path;

use camino::Utf8Path;

use super::dispatcher::RunError;
use super::episode::{EpisodeError, write};
use super::grading::{self, Checklist, Graders};
use super::outline::outline;
use super::plan::Plan;
use super::results;
use super::session::{outcome, tracker};
use crate::eval::record::{CallRecord, FileChange, Speaker, Utterance};
use crate::eval::score::{self, IntentCounts};
use crate::plugin::App;
use crate::plugin::app::app_key;
use crate::plugin::grader::{AppState, Evidence};
use crate::store::event::{
    AppMark, EpisodeStarted, Event, ItemVerdict, SessionFinished, SessionStarted, Step, Turn,
    VERSION,
};
use crate::store::folder::FolderError;
use crate::store::journal;
use crate::store::trajectory::{Place, Trajectory};
use crate::task::suite::{Grading, Persona, Session};
use crate::workspace::{Quota, Workspace, WorkspacePath};

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    pub sessions: usize,
    pub turns: usize,
    /// Rule verdicts that were made again.
    pub rules: usize,
    /// What does not follow from the record; empty when everything does.
    pub problems: Vec<String>,
}

/// Verifies every episode of a run folder.
pub async fn verify(plan: &Plan) -> Result<Verified, RunError> {
    let mut verified = Verified::default();
    for (run, persona) in plan.episodes() {
        let name = format!("journal/{}.r{run}.jsonl", persona.id);
        match journal::events(&plan.folder.journal(&persona.id, run)) {
            Ok(events) => {
                let mut episode = Replay::new(plan, persona, run, &mut verified)?;
                episode.events(&events).await?;
            }
            Err(error) => verified.problems.push(format!("{name}: failed to {error}")),
        }
    }
    if !plan.folder.has_outline(&outline(plan).await?)? {
        let problem = "outline.json: it is not what the suite and the plugins say";
        verified.problems.push(problem.into());
    }
    verify_seal(plan, &mut verified)?;
    match results::collect(plan) {
        Ok(found) if plan.folder.has_results(&found)? => {}
        Ok(_) => verified
            .problems
            .push("results.json: its scores are not those of the journals".into()),
        // Told above, with the journal's name.
        Err(_) => {}
    }
    Ok(verified)
}

fn verify_seal(plan: &Plan, verified: &mut Verified) -> Result<(), FolderError> {
    for (name, broken) in plan.folder.broken_seals()? {
        verified.problems.push(format!("{name}: {broken}"));
    }
    Ok(())
}

/// One episode, followed through its journal.
struct Replay<'a> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    graders: Graders,
    /// The workspace at the moment of the record.
    workspace: Workspace,
    _dir: tempfile::TempDir,
    apps: BTreeMap<String, AppMark>,
    session: Option<InSession<'a>>,
    verified: &'a mut Verified,
}

struct InSession<'a> {
    session: &'a Session,
    started: SessionStarted,
    turns: Vec<Turn>,
    checklist: Checklist,
    before: BTreeMap<String, String>,
}

impl<'a> Replay<'a> {
    fn new(
        plan: &'a Plan,
        persona: &'a Persona,
        run: u32,
        verified: &'a mut Verified,
    ) -> Result<Self, EpisodeError> {
        let failed = |reason: String| EpisodeError::Record {
            persona: persona.id.clone(),
            run,
            reason,
        };
        let dir = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let path = Utf8Path::from_path(dir.path()).ok_or_else(|| failed("no UTF-8 path".into()))?;
        Ok(Self {
            workspace: Workspace::open(path, Quota::default())?,
            graders: grading::load(plan, plan.sessions(persona))?,
            plan,
            persona,
            run,
            _dir: dir,
            apps: BTreeMap::new(),
            session: None,
            verified,
        })
    }

    fn problem(&mut self, what: impl std::fmt::Display) {
        let Self {
            persona,
            run,
            session,
            verified,
            ..
        } = self;
        let session = session
            .as_ref()
            .map_or_else(String::new, |open| format!("/{}", open.session.id));
        let turn = session_turn(self.session.as_ref());
        verified
            .problems
            .push(format!("{}{session}, run {run}{turn}: {what}", persona.id));
    }

    async fn events(&mut self, events: &[Event]) -> Result<(), EpisodeError> {
        for event in events {
            match event {
                Event::EpisodeStarted(started) => self.episode_started(started),
                Event::SessionStarted(started) => self.session_started(started).await?,
                Event::Turn(turn) => self.turn(turn).await?,
                Event::SessionFinished(finished) => self.session_finished(finished)?,
                Event::Wake(wake) => {
                    self.change(&wake.changes)?;
                    self.blob(&wake.system)?;
                    self.apps.extend(wake.apps.clone());
                }
                Event::EpisodeFinished => {}
            }
        }
        if !matches!(events.last(), Some(Event::EpisodeFinished)) {
            self.problem("the episode is not played to its end");
        }
        self.same_workspace()
    }

    fn episode_started(&mut self, started: &EpisodeStarted) {
        let Plan {
            suite,
            protocol,
            seed,
            roles,
            ..
        } = self.plan;
        let planned = EpisodeStarted {
            version: VERSION,
            suite: suite.id.clone(),
            suite_digest: suite.digest.clone(),
            persona: self.persona.id.clone(),
            run: self.run,
            seed: *seed,
            protocol: *protocol,
            agent: roles.agent_name.clone(),
            user: roles.user_name.clone(),
            judge: roles.judge_name.clone(),
        };
        if *started != planned {
            self.problem("the journal is of another run than the manifest");
        }
    }

    async fn session_started(&mut self, started: &SessionStarted) -> Result<(), EpisodeError> {
        let found = self
            .plan
            .sessions(self.persona)
            .find(|session| session.id == started.session);
        let Some(session) = found else {
            self.problem(format!("the suite has no session `{}`", started.session));
            return Ok(());
        };
        self.change(&started.changes)?;
        self.blob(&started.system)?;
        self.apps.extend(started.apps.clone());
        let before = self.states().await?;
        self.session = Some(InSession {
            session,
            started: started.clone(),
            turns: Vec::new(),
            checklist: Checklist::new(&session.checklist),
            before,
        });
        Ok(())
    }

    async fn turn(&mut self, turn: &Turn) -> Result<(), EpisodeError> {
        self.verified.turns += 1;
        self.change(&turn.changes)?;
        self.apps.extend(turn.apps.clone());
        let exchanges = turn
            .judgements
            .iter()
            .filter_map(|judgement| judgement.exchange.clone());
        let exchanges: Vec<String> = exchanges
            .chain(turn.next_exchange.clone())
            .chain(turn.items.iter().filter_map(|item| item.exchange.clone()))
            .collect();
        for exchange in exchanges {
            self.blob(&exchange)?;
        }
        let Some(mut open) = self.session.take() else {
            self.problem("a turn outside of a session");
            return Ok(());
        };
        open.turns.push(turn.clone());
        let graded = self.grade(&open, turn).await?;
        open.checklist.take(&open.session.checklist, &turn.items);
        self.session = Some(open);
        if let Some(difference) = graded {
            self.problem(difference);
        }
        Ok(())
    }

    /// Makes the turn's rule verdicts again; what differs.
    async fn grade(
        &mut self,
        open: &InSession<'a>,
        turn: &Turn,
    ) -> Result<Option<String>, EpisodeError> {
        let is_rule =
            |item: &&(usize, &crate::task::suite::Item)| matches!(item.1.grading, Grading::Rule(_));
        let due = open
            .checklist
            .due(&open.session.checklist, turn.outcome.is_some());
        let due: Vec<_> = due.iter().filter(is_rule).copied().collect();
        let recorded: Vec<&ItemVerdict> = turn
            .items
            .iter()
            .filter(|verdict| due.iter().any(|(_, item)| item.id == verdict.item))
            .collect();
        if due.is_empty() {
            return Ok(None);
        }
        let now = self.states().await?;
        let apps: Vec<AppState> = open
            .before
            .iter()
            .map(|(app, before)| AppState {
                app: app.clone(),
                before: before.clone(),
                now: now.get(app).unwrap_or(before).clone(),
            })
            .collect();
        let calls = calls(&open.turns);
        let messages = messages(&open.turns);
        let changes: Vec<FileChange> = open
            .turns
            .iter()
            .flat_map(|turn| turn.changes.clone())
            .collect();
        let evidence = Evidence {
            turn: turn.turn,
            calls: &calls,
            messages: &messages,
            changes: &changes,
            apps: &apps,
        };
        let view = self.workspace.view().clone();
        let again = grading::grade(&self.graders, self.plan.protocol, &due, &evidence, &view).await;
        self.verified.rules += again.verdicts.len();
        let differs = again
            .verdicts
            .iter()
            .find(|verdict| !recorded.contains(verdict));
        Ok(differs.map(|verdict| {
            let ItemVerdict {
                item, pass, reason, ..
            } = verdict;
            let now = if *pass { "passes" } else { "does not pass" };
            format!("the rule of item `{item}` now {now} ({reason}), and the record says otherwise")
        }))
    }

    fn session_finished(&mut self, finished: &SessionFinished) -> Result<(), EpisodeError> {
        self.verified.sessions += 1;
        self.change(&finished.changes)?;
        let Some(open) = self.session.take() else {
            self.problem("a session ends that did not begin");
            return Ok(());
        };
        let differences = [
            self.wrong_statuses(&open, finished),
            wrong_scores(&open, finished),
            self.wrong_trajectory(&open, finished)?,
        ];
        self.session = Some(open);
        for difference in differences.into_iter().flatten() {
            self.problem(difference);
        }
        self.session = None;
        Ok(())
    }

    /// The session's rules run again over the recorded changes.
    fn wrong_statuses(&self, open: &InSession<'_>, finished: &SessionFinished) -> Option<String> {
        match tracker(self.plan, open.session, &open.turns) {
            Err(error) => Some(format!(
                "the session's rules do not give its changes: {error}"
            )),
            Ok(tracker) => {
                let recorded: Vec<_> = finished
                    .intents
                    .iter()
                    .map(|intent| intent.status)
                    .collect();
                let statuses = tracker.statuses() != recorded;
                let outcome = outcome(&tracker, &open.turns) != Some(finished.outcome);
                let turns = tracker.turns() != finished.turns;
                (statuses || outcome || turns)
                    .then(|| "its intents, turns or outcome do not follow from its turns".into())
            }
        }
    }

    fn wrong_trajectory(
        &self,
        open: &InSession<'_>,
        finished: &SessionFinished,
    ) -> Result<Option<String>, FolderError> {
        let place = Place {
            suite: &self.plan.suite.id,
            persona: &self.persona.id,
            run: self.run,
            title: &open.session.title,
            category: open.session.category,
        };
        let trajectory = Trajectory::new(
            &place,
            open.started.clone(),
            open.turns.clone(),
            finished.clone(),
            &self.plan.folder,
        );
        // A blob that is gone or changed is told where it is named.
        let Ok(trajectory) = trajectory else {
            return Ok(None);
        };
        let (persona, session) = (&self.persona.id, &open.session.id);
        let same = self
            .plan
            .folder
            .has_trajectory(persona, self.run, session, &trajectory)?;
        Ok((!same).then(|| "its trajectory is not what the journal says".into()))
    }

    /// The blob is there and whole.
    fn blob(&mut self, name: &str) -> Result<Option<Vec<u8>>, EpisodeError> {
        match self.plan.folder.blob(name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error @ FolderError::Read { .. }) => {
                self.problem(format!("failed to {error}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn change(&mut self, changes: &[FileChange]) -> Result<(), EpisodeError> {
        for change in changes {
            match &change.blob {
                Some(blob) => {
                    if let Some(content) = self.blob(blob)? {
                        write(&mut self.workspace, &change.path, &content)?;
                    }
                }
                None => {
                    if let Ok(path) = WorkspacePath::parse(&change.path) {
                        self.workspace.remove(&path)?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn states(&mut self) -> Result<BTreeMap<String, String>, EpisodeError> {
        let mut states = BTreeMap::new();
        for (name, mark) in self.apps.clone() {
            let Some(snapshot) = self.blob(&mark.snapshot)? else {
                continue;
            };
            let key = app_key(self.plan.seed, self.run, &self.persona.id, &name);
            let plugin = self.plan.plugins.get(&name)?;
            let mut app =
                App::resume(plugin, self.plan.app_limits, key, snapshot, mark.calls).await?;
            match app.state().await {
                Ok(state) => {
                    states.insert(name, state);
                }
                Err(fault) => self.problem(format!("{name} {fault}")),
            }
        }
        Ok(states)
    }

    /// The agent's folder holds what the journal says, and nothing else.
    fn same_workspace(&mut self) -> Result<(), EpisodeError> {
        let kept = self.plan.folder.workspace(&self.persona.id, self.run);
        let Some(kept) = Utf8Path::from_path(&kept).filter(|path| Path::new(path).exists()) else {
            self.problem("the workspace is gone");
            return Ok(());
        };
        let kept = Workspace::open(kept, Quota::default())?;
        let files = |workspace: &Workspace| -> Result<Vec<(String, Vec<u8>)>, EpisodeError> {
            let entries = workspace.list(&WorkspacePath::ROOT, true)?;
            let files = entries
                .iter()
                .filter(|entry| entry.kind == crate::workspace::EntryKind::File);
            files
                .map(|entry| Ok((entry.path.to_string(), workspace.read(&entry.path)?)))
                .collect()
        };
        if files(&kept)? != files(&self.workspace)? {
            self.problem("the workspace is not what the journal says");
        }
        Ok(())
    }
}

fn session_turn(open: Option<&InSession<'_>>) -> String {
    let turn = open
        .and_then(|open| open.turns.last())
        .map(|turn| turn.turn);
    turn.map_or_else(String::new, |turn| format!(", turn {turn}"))
}

fn wrong_scores(open: &InSession<'_>, finished: &SessionFinished) -> Option<String> {
    let items = open.checklist.scores(&open.session.checklist);
    let statuses: Vec<_> = finished
        .intents
        .iter()
        .map(|intent| intent.status)
        .collect();
    let proc = IntentCounts::of(&statuses).proc().unwrap_or_default();
    let same = finished.comp == score::comp(&items)
        && finished.items == items
        && (finished.proc - proc).abs() < f64::EPSILON;
    (!same).then(|| "its scores do not follow from its verdicts and statuses".into())
}

fn calls(turns: &[Turn]) -> Vec<CallRecord> {
    let steps = turns.iter().flat_map(|turn| &turn.steps);
    steps.flat_map(Step::calls).cloned().collect()
}

fn messages(turns: &[Turn]) -> Vec<Utterance> {
    let said = |turn: &Turn, speaker, text: &str| Utterance {
        turn: turn.turn,
        speaker,
        text: text.to_owned(),
    };
    turns
        .iter()
        .flat_map(|turn| {
            [
                said(turn, Speaker::User, &turn.message),
                said(turn, Speaker::Agent, &turn.response),
            ]
        })
        .collect()
}
