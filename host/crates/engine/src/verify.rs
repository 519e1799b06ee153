//! Verifying a finished run: does every score follow from the record? Nothing is played and no model is asked. The chain
//! of hashes and the blobs are checked, the session's rules and the graders run again, and what they give is compared
//! with what is written. What a model judged has to follow from its replies, which are in the blobs and taken as they
//! stand; what a scripted judge found is not made again.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;

use futures::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::episode;
use super::error::EpisodeError;
use super::error::RunError;
use super::grading::{is_rubric, wrong_verdicts};
use super::outline::outline;
use super::plan::Plan;
use super::replay::{Ended, Replay};
use super::session::{inputs, outcome, tracker};
use super::times::{Timed, Times};
use crate::judge::Judge;
use crate::role::prompts::PromptName;
use crate::role::{Exchange, reread};
use crate::user::UserAgent;
use pibench_core::record::Status;
use pibench_core::score;
use pibench_core::score::IntentCounts;
use pibench_record::event::{
    Event, IntentJudgement, ItemVerdict, SessionFinished, SessionStarted, Stage, Turn,
};
use pibench_record::folder::{FolderError, read_manifest};
use pibench_record::journal;
use pibench_record::results::difference;
use pibench_record::standing::told;
use pibench_suite::suite::{Item, Persona};

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    pub sessions: usize,
    pub turns: usize,
    /// Rule verdicts that were made again.
    pub rules: usize,
    /// What does not follow from the record; empty when everything does.
    pub problems: Vec<String>,
    /// Episodes that are not played to their end. Nothing is wrong with them.
    pub unfinished: usize,
    /// What the times of its turns tell. No score follows from them.
    pub times: Times,
}

/// What of a run folder is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// As a run is sent: without the workspaces, which follow from the journals.
    Sent,
}

/// Verifies every episode of a run folder, as many at a time as there are processors.
pub async fn verify(plan: &Arc<Plan>, extent: Extent) -> Result<Verified, RunError> {
    let mut each = stream::iter(plan.episodes())
        .map(|(run, persona)| begin(Arc::clone(plan), run, persona.id.clone(), extent))
        .buffered(Handle::current().metrics().num_workers());
    let mut verified = Verified::default();
    let (mut timed, mut episodes) = (BTreeMap::new(), plan.episodes());
    while let (Some(episode), Some((run, persona))) = (each.next().await, episodes.next()) {
        let (episode, turns) = episode.unwrap_or_else(|panic| resume_unwind(panic.into_panic()))?;
        timed.insert((persona.id.clone(), run), turns);
        verified.sessions += episode.sessions;
        verified.turns += episode.turns;
        verified.rules += episode.rules;
        verified.problems.extend(episode.problems);
        verified.unfinished += episode.unfinished;
    }
    verified.times = Times::of(plan.folder.root(), timed);
    let outline = outline(plan).await?;
    if !plan.folder.has_outline(&outline)? {
        let problem = "outline.json: it is not what the suite and the plugins say";
        verified.problems.push(problem.into());
    }
    if verified.unfinished > 0 && !plan.folder.has_ended() {
        // A process that is at work, or was killed, has written neither results nor seal.
        return Ok(verified);
    }
    verify_seal(plan, &mut verified)?;
    let manifest = read_manifest(plan.folder.root())?;
    // A journal that cannot be read is told above, by its name.
    if let Ok((found, _)) = told(plan.folder.root(), &manifest, &outline.personas) {
        let again = manifest.made_anew();
        let difference = difference(found, &again, |found| plan.folder.has_results(found))?;
        verified.problems.extend(difference);
    }
    Ok(verified)
}

/// Begins to verify an episode. No async function, so that this crate compiles it and none above.
fn begin(
    plan: Arc<Plan>,
    run: u32,
    persona: String,
    extent: Extent,
) -> JoinHandle<Result<(Verified, Timed), EpisodeError>> {
    tokio::spawn(verify_episode(plan, run, persona, extent))
}

/// What was found of an episode, and the turns of its journal.
async fn verify_episode(
    plan: Arc<Plan>,
    run: u32,
    persona: String,
    extent: Extent,
) -> Result<(Verified, Timed), EpisodeError> {
    let (mut verified, mut timed) = (Verified::default(), Timed::new());
    let Some(persona) = plan.personas().find(|known| known.id == persona) else {
        return Ok((verified, timed));
    };
    let path = plan.folder.journal(&persona.id, run);
    if !path.exists() {
        // One that is gone is missed by the seal.
        verified.unfinished = 1;
        return Ok((verified, timed));
    }
    match journal::events(&path) {
        Ok(events) => {
            for event in &events {
                if let Event::Turn(turn) = event {
                    timed.entry(turn.session.clone()).or_default().push(false);
                }
            }
            let mut episode = Episode::new(&plan, persona, run, &mut verified)?;
            episode.events(&events).await?;
            // What a turn that was cut off had written is not in the journal.
            let is_open = !matches!(events.last(), Some(Event::EpisodeFinished));
            if extent == Extent::Whole && !is_open {
                episode.replay.same_workspace()?;
            }
            verified.problems = episode.replay.problems;
            verified.unfinished = usize::from(is_open);
        }
        Err(error) => {
            let name = format!("journal/{}.r{run}.jsonl", persona.id);
            let problem = format!("{name}: failed to {error}");
            verified.problems.push(problem);
        }
    }
    Ok((verified, timed))
}

/// Whether an episode that the plan plays has a workspace of this name. `playing`: the place of each persona in a run.
fn is_workspace(plan: &Plan, playing: &BTreeMap<&str, usize>, name: &str) -> bool {
    let Some((persona, number)) = name.rsplit_once(".r") else {
        return false;
    };
    let Ok(run) = number.parse::<u32>() else {
        return false;
    };
    let is_written_so = run.to_string() == number && (1..=plan.runs).contains(&run);
    let place = playing.get(persona).filter(|_| is_written_so);
    place.is_some_and(|place| {
        let before = (run as usize - 1) * playing.len();
        plan.shard.is_none_or(|shard| shard.has(before + place))
    })
}

fn verify_seal(plan: &Plan, verified: &mut Verified) -> Result<(), FolderError> {
    let playing = plan.playing().map(|persona| persona.id.as_str());
    let playing: BTreeMap<&str, usize> = playing.zip(0..).collect();
    let is_added = |name: &Result<String, FolderError>| match name {
        Ok(name) => !is_workspace(plan, &playing, name),
        Err(_) => true,
    };
    let added = plan.folder.workspace_names()?.filter(is_added);
    for name in added.collect::<Result<BTreeSet<_>, _>>()? {
        let problem = format!("workspaces/{name}: it was added after the run");
        verified.problems.push(problem);
    }
    for (name, broken) in plan.folder.broken_seals()? {
        verified.problems.push(format!("{name}: {broken}"));
    }
    Ok(())
}

/// What the record says that a model found.
struct Claim<'a> {
    /// The item or intent, as messages name it.
    name: String,
    /// Its place among the texts that were asked about.
    at: usize,
    yes: bool,
    exchange: Option<&'a str>,
}

/// One episode, followed through its journal.
struct Episode<'a, 'v> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    replay: Replay<'a>,
    verified: &'v mut Verified,
}

impl<'a, 'v> Episode<'a, 'v> {
    fn new(
        plan: &'a Plan,
        persona: &'a Persona,
        run: u32,
        verified: &'v mut Verified,
    ) -> Result<Self, EpisodeError> {
        Ok(Self {
            plan,
            persona,
            run,
            replay: Replay::new(plan, persona, run)?,
            verified,
        })
    }

    async fn events(&mut self, events: &[Event]) -> Result<(), EpisodeError> {
        for event in events {
            self.replay.follow(event)?;
            match event {
                Event::EpisodeStarted(started) => {
                    if *started != episode::started(self.plan, self.persona, self.run) {
                        let problem = "the journal is of another run than the manifest";
                        self.replay.problem(problem);
                    }
                }
                Event::SessionStarted(started) => {
                    self.inputs(started);
                    for fault in self.replay.begin(started).await? {
                        self.replay.problem(fault.message);
                    }
                }
                Event::Turn(turn) => self.turn(turn).await?,
                Event::SessionFinished(finished) => self.session_finished(finished)?,
                Event::Wake(_) | Event::EpisodeFinished => {}
            }
        }
        Ok(())
    }

    /// A session that is played alone has its group's inputs.
    fn inputs(&mut self, started: &SessionStarted) {
        let mut sessions = self.persona.sessions.iter();
        let session = sessions.find(|session| session.id == started.session);
        let wanted = session.map(|session| inputs(self.plan, self.persona, session));
        if wanted.is_some_and(|wanted| wanted != started.inputs) {
            let session = &started.session;
            self.replay.problem(format!(
                "`{session}` was not given what its group brings that is not played"
            ));
        }
    }

    async fn turn(&mut self, turn: &Turn) -> Result<(), EpisodeError> {
        self.verified.turns += 1;
        let exchanges = turn
            .judgements
            .iter()
            .filter_map(|judgement| judgement.exchange.as_ref());
        let exchanges = exchanges
            .chain(&turn.next_exchange)
            .chain(turn.items.iter().filter_map(|item| item.exchange.as_ref()));
        for exchange in exchanges {
            self.replay.blob(exchange)?;
        }
        self.grade(turn).await?;
        self.intents(turn);
        self.replay.take(&turn.items);
        Ok(())
    }

    /// Makes the turn's rule verdicts again, reads those on rubrics in the judge's replies, and tells what differs.
    async fn grade(&mut self, turn: &Turn) -> Result<(), EpisodeError> {
        let due = self.replay.due(turn.outcome.is_some());
        for wrong in wrong_verdicts(due.iter().map(|(_, item)| *item), &turn.items) {
            self.replay.problem(wrong);
        }
        let (rubrics, rules): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|(_, item)| is_rubric(item));
        self.rubrics(turn, &rubrics);
        let again = self.replay.rules(&rules).await?;
        self.verified.rules += again.verdicts.len();
        let is_recorded = |verdict: &&ItemVerdict| turn.items.contains(verdict);
        let differs = again.verdicts.iter().find(|verdict| !is_recorded(verdict));
        for fault in again.unread {
            if !turn.faults.contains(&fault) {
                self.replay.problem(fault.message);
            }
        }
        if let Some(verdict) = differs {
            let ItemVerdict {
                item, pass, reason, ..
            } = verdict;
            let now = if *pass { "passes" } else { "does not pass" };
            self.replay.problem(format!(
                "the rule of item `{item}` now {now} ({reason}), and the record says otherwise"
            ));
        }
        Ok(())
    }

    /// Holds the verdicts on rubrics against the replies of those who judged.
    fn rubrics(&mut self, turn: &Turn, due: &[(usize, &Item)]) {
        let texts = due.iter().map(|(_, item)| item.criterion.as_str());
        let texts: Vec<&str> = texts.collect();
        let claims = turn.items.iter().filter_map(|verdict| {
            let at = due.iter().position(|(_, item)| item.id == verdict.item)?;
            Some(Claim {
                name: format!("item `{}`", verdict.item),
                at,
                yes: verdict.pass,
                exchange: verdict.exchange.as_deref(),
            })
        });
        let claims: Vec<Claim<'_>> = claims.collect();
        let by_model = matches!(self.plan.roles.judge, Judge::Panel(_));
        self.hold(&claims, &texts, reread::RUBRIC, by_model);
    }

    /// Holds the intents that became terminal against what the user agent found, and that against its replies.
    fn intents(&mut self, turn: &Turn) {
        let Some(session) = self.replay.session() else {
            return;
        };
        for (stage, status, names) in [
            (Stage::Satisfaction, Status::Completed, reread::SATISFACTION),
            (Stage::Question, Status::Inferred, reread::QUESTION),
        ] {
            let judged = turn.judgements.iter();
            let judged: Vec<&IntentJudgement> =
                judged.filter(|judged| judged.stage == stage).collect();
            for (index, intent) in session.intents.iter().enumerate() {
                let found = judged.iter().any(|one| one.yes && one.intent == intent.id);
                let mut changes = turn.intents.iter();
                let is_changed =
                    changes.any(|change| change.intent == index && change.status == status);
                if found != is_changed {
                    let id = &intent.id;
                    self.replay.problem(format!(
                        "the status of intent `{id}` does not follow from what the user agent found"
                    ));
                }
            }
            let text = |judged: &&IntentJudgement| {
                let intent = session.intents.iter().find(|one| one.id == judged.intent);
                intent.map_or("", |intent| intent.content.as_str())
            };
            let texts: Vec<&str> = judged.iter().map(text).collect();
            let claims = judged.iter().enumerate().map(|(at, judged)| Claim {
                name: format!("intent `{}`", judged.intent),
                at,
                yes: judged.yes,
                exchange: judged.exchange.as_deref(),
            });
            let claims: Vec<Claim<'_>> = claims.collect();
            let by_model = matches!(self.plan.roles.user, UserAgent::Prompted(_));
            self.hold(&claims, &texts, names, by_model);
        }
    }

    /// Tells what the replies about `texts` do not say. A blob that is gone or changed is told where it is named.
    fn hold(
        &mut self,
        claims: &[Claim<'_>],
        texts: &[&str],
        names: [PromptName; 2],
        by_model: bool,
    ) {
        let mut read = BTreeMap::new();
        for Claim {
            name,
            at,
            yes,
            exchange,
        } in claims
        {
            let Some(exchange) = *exchange else {
                if by_model {
                    let problem = format!("{name}: no reply of the model that judged it is named");
                    self.replay.problem(problem);
                }
                continue;
            };
            let said = read.entry(exchange).or_insert_with(|| {
                let blob = self.plan.folder.blob(exchange).ok()?;
                let exchanges: Option<Vec<Exchange>> = serde_json::from_slice(&blob).ok();
                Some(exchanges.and_then(|exchanges| reread::majority(&exchanges, names, texts)))
            });
            let Some(said) = said else {
                continue;
            };
            match said.as_ref().map(|said| said[*at]) {
                Some(said) if said == *yes => {}
                Some(said) => {
                    let (said, other) = if said { ("yes", "no") } else { ("no", "yes") };
                    self.replay.problem(format!(
                        "{name}: the replies in blob {exchange} say {said}, and the record says {other}"
                    ));
                }
                None => self.replay.problem(format!(
                    "{name}: the replies in blob {exchange} give no verdict on it"
                )),
            }
        }
    }

    fn session_finished(&mut self, finished: &SessionFinished) -> Result<(), EpisodeError> {
        self.verified.sessions += 1;
        let Some(ended) = self.replay.end() else {
            return Ok(());
        };
        let differences = [
            self.wrong_statuses(&ended, finished),
            wrong_scores(&ended, finished),
            self.wrong_trajectory(&ended, finished)?,
        ];
        for difference in differences.into_iter().flatten() {
            self.replay.problem_in(&ended, difference);
        }
        Ok(())
    }

    /// The session's rules run again over the recorded changes.
    fn wrong_statuses(&self, ended: &Ended<'_>, finished: &SessionFinished) -> Option<String> {
        match tracker(self.plan, ended.session, &ended.record.turns) {
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
                let outcome = outcome(&tracker, &ended.record.turns) != Some(finished.outcome);
                let turns = tracker.turns() != finished.turns;
                (statuses || outcome || turns)
                    .then(|| "its intents, turns or outcome do not follow from its turns".into())
            }
        }
    }

    fn wrong_trajectory(
        &self,
        ended: &Ended<'_>,
        finished: &SessionFinished,
    ) -> Result<Option<String>, FolderError> {
        // A blob that is gone or changed is told where it is named.
        let Ok(trajectory) = self.replay.trajectory(ended, finished.clone()) else {
            return Ok(None);
        };
        let (persona, session) = (&self.persona.id, &ended.session.id);
        let folder = &self.plan.folder;
        let same = folder.has_trajectory(persona, self.run, session, &trajectory)?;
        Ok((!same).then(|| "its trajectory is not what the journal says".into()))
    }
}

fn wrong_scores(ended: &Ended<'_>, finished: &SessionFinished) -> Option<String> {
    let items = ended.checklist.scores(&ended.session.checklist);
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
