//! Verifying a finished run: does every score follow from the record? Nothing is played and no model is asked. The chain
//! of hashes and the blobs are checked, the session's rules and the graders run again, and what they give is compared
//! with what is written. What a model judged has to follow from its replies, which are in the blobs and taken as they
//! stand; what a scripted judge found is not made again, and is missed where it is not there.

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
use super::session::{inputs, lacks_verdicts, outcome, tracker};
use super::times::{Timed, Times};
use crate::judge::majority;
use crate::role::parse::Verdict;
use crate::role::prompts::PromptName;
use crate::role::{Exchange, Judgement, reread};
use pibench_core::record::{Outcome, Status};
use pibench_core::score;
use pibench_core::score::IntentCounts;
use pibench_core::session::{Style, Tracker};
use pibench_model::client::Client;
use pibench_record::event::{
    Event, IntentJudgement, ItemVerdict, SessionFinished, SessionStarted, Stage, Turn, Vote,
};
use pibench_record::folder::{FolderError, read_manifest};
use pibench_record::journal;
use pibench_record::results::difference;
use pibench_record::standing::told;
use pibench_suite::suite::{Intent, Item, Persona};

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
            verified.problems = episode.replay.into_problems();
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
    /// How a question asks, where that is told.
    style: Option<Style>,
    /// Of several judges; journals of before they were told have none.
    votes: &'a [Vote],
    exchange: Option<&'a str>,
}

impl Claim<'_> {
    /// What the verdicts of these models, of each on all texts, say otherwise.
    fn contradicted(&self, models: &[&str], said: &[Vec<Verdict>]) -> Option<&'static str> {
        let said = said.iter().map(|said| &said[self.at]);
        let is_styled = |verdict: &Verdict| verdict.style == self.style;
        let has_style = said.clone().all(is_styled);
        let Judgement { yes, votes, .. } = majority(models.iter().copied().zip(said));
        match (yes, self.yes) {
            (true, false) => Some("say yes, and the record says no"),
            (false, true) => Some("say no, and the record says yes"),
            _ if !has_style => Some("tell another style than the record"),
            _ if !self.votes.is_empty() && self.votes != votes => {
                Some("give other votes than the record")
            }
            _ => None,
        }
    }
}

/// What each of these models said of each text in a blob of replies; or why these do not tell it.
fn read(
    blob: &[u8],
    names: [PromptName; 2],
    texts: &[&str],
    models: &[&str],
) -> Result<Vec<Vec<Verdict>>, &'static str> {
    let no_verdict = "give no verdict on it";
    let exchanges: Vec<Exchange> = serde_json::from_slice(blob).map_err(|_| no_verdict)?;
    // Of before the model was told: as they stand.
    let is_by = |(exchange, model): (&Exchange, &&str)| {
        exchange.model.is_empty() || exchange.model == **model
    };
    if exchanges.len() != models.len() || !exchanges.iter().zip(models).all(is_by) {
        return Err("are not those of the models that the manifest names, one of each");
    }
    reread::verdicts(&exchanges, names, texts).ok_or(no_verdict)
}

/// One episode, followed through its journal.
struct Episode<'a, 'v> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    replay: Replay<'a>,
    /// The rules of the session that is open; None from where they do not give its changes.
    tracker: Option<Tracker>,
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
            tracker: None,
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
                    self.tracker = self.replay.session().map(|session| {
                        let most = self.plan.suite.session.max_turns;
                        Tracker::new(self.plan.played_by, session.intents.len(), most)
                    });
                }
                Event::Turn(turn) if self.replay.is_in_play() => self.turn(turn).await?,
                Event::SessionFinished(finished) => self.session_finished(finished)?,
                Event::Turn(_) | Event::Wake(_) | Event::EpisodeFinished => {}
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
            self.replay.check_blob(exchange)?;
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
        for (_, item) in due {
            let has_one = turn.items.iter().any(|verdict| verdict.item == item.id);
            // A judge answers for all of them, or for none.
            if !has_one && !lacks_verdicts(turn) {
                let id = &item.id;
                self.replay.problem(format!(
                    "item `{id}` is graded in this turn, and has no verdict"
                ));
            }
        }
        let claims = turn.items.iter().filter_map(|verdict| {
            let at = due.iter().position(|(_, item)| item.id == verdict.item)?;
            Some(Claim {
                name: format!("item `{}`", verdict.item),
                at,
                yes: verdict.pass,
                style: None,
                votes: &verdict.votes,
                exchange: verdict.exchange.as_deref(),
            })
        });
        let claims: Vec<Claim<'_>> = claims.collect();
        let judges = self.plan.roles.judge.clients();
        let judges: Vec<&str> = judges.map(Client::spec).collect();
        self.hold(&claims, &texts, reread::RUBRIC, &judges);
    }

    /// The intents that the user agent judges in a turn, by stage and as the session's rules say; None where these do not
    /// give the turn's changes.
    fn judged(&mut self, turn: &Turn) -> Option<[Vec<usize>; 2]> {
        // A turn that was broken off is not judged.
        let is_whole = matches!(
            turn.outcome,
            None | Some(Outcome::Complete | Outcome::MaxTurns | Outcome::JudgeFault)
        );
        if !is_whole {
            return Some([Vec::new(), Vec::new()]);
        }
        let facts: Vec<u32> = turn.answers_fact.then_some(turn.turn).into_iter().collect();
        let judged = self.tracker.as_mut()?.replay_turn(&turn.intents, &facts);
        if let Err(error) = &judged {
            self.tracker = None;
            self.replay.problem(format!(
                "the session's rules do not give its changes: {error}"
            ));
        }
        judged.ok()
    }

    /// Holds the intents that became terminal against what the user agent found, and that against its replies.
    fn intents(&mut self, turn: &Turn) {
        let Some(session) = self.replay.session() else {
            return;
        };
        let Some([first, second]) = self.judged(turn) else {
            return;
        };
        let user = self.plan.roles.user.client().map(Client::spec);
        let user: Vec<&str> = user.into_iter().collect();
        let (completed, inferred) = (Status::Completed, Status::Inferred);
        for (stage, status, names, open) in [
            (Stage::Satisfaction, completed, reread::SATISFACTION, first),
            (Stage::Question, inferred, reread::QUESTION, second),
        ] {
            let judged = turn.judgements.iter();
            let judged: Vec<&IntentJudgement> =
                judged.filter(|judged| judged.stage == stage).collect();
            let change = |index: usize| {
                let mut changes = turn.intents.iter();
                changes.find(|change| change.intent == index && change.status == status)
            };
            for (index, intent) in session.intents.iter().enumerate() {
                let found = judged.iter().any(|one| one.yes && one.intent == intent.id);
                if found != change(index).is_some() {
                    let id = &intent.id;
                    self.replay.problem(format!(
                        "the status of intent `{id}` does not follow from what the user agent found"
                    ));
                }
            }
            let intents = open.iter().filter_map(|&index| session.intents.get(index));
            let intents: Vec<&Intent> = intents.collect();
            // Without an answer of the user agent's there are none.
            if judged.is_empty() && turn.outcome == Some(Outcome::JudgeFault) {
                continue;
            }
            let found = judged.iter().map(|judged| &judged.intent);
            if !found.eq(intents.iter().map(|intent| &intent.id)) {
                let problem = "the user agent judges each intent that is open, and the record has other judgements";
                self.replay.problem(problem);
                continue;
            }
            let claims = judged.iter().zip(open).enumerate();
            let claims = claims.map(|(at, (judged, index))| Claim {
                name: format!("intent `{}`", judged.intent),
                at,
                yes: judged.yes,
                style: change(index).and_then(|change| change.style),
                votes: &[],
                exchange: judged.exchange.as_deref(),
            });
            let claims: Vec<Claim<'_>> = claims.collect();
            let texts = intents.iter().map(|intent| intent.content.as_str());
            let texts: Vec<&str> = texts.collect();
            self.hold(&claims, &texts, names, &user);
        }
    }

    /// Tells what the replies of these models about `texts` do not say. A blob that is gone or changed is told where it is
    /// named.
    fn hold(
        &mut self,
        claims: &[Claim<'_>],
        texts: &[&str],
        names: [PromptName; 2],
        models: &[&str],
    ) {
        let mut replies = BTreeMap::new();
        for claim in claims {
            let name = &claim.name;
            let Some(exchange) = claim.exchange else {
                if !models.is_empty() {
                    let problem = format!("{name}: no reply of the model that judged it is named");
                    self.replay.problem(problem);
                }
                continue;
            };
            let said = replies.entry(exchange).or_insert_with(|| {
                let blob = self.plan.folder.blob(exchange).ok()?;
                Some(read(&blob, names, texts, models))
            });
            let wrong = match said {
                Some(Ok(said)) => claim.contradicted(models, said),
                Some(Err(unread)) => Some(*unread),
                None => None,
            };
            if let Some(wrong) = wrong {
                let problem = format!("{name}: the replies in blob {exchange} {wrong}");
                self.replay.problem(problem);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(yes: bool, style: Option<Style>) -> Verdict {
        Verdict {
            yes,
            evidence: String::new(),
            style,
        }
    }

    fn claim(yes: bool, style: Option<Style>, votes: &[Vote]) -> Claim<'_> {
        Claim {
            name: String::new(),
            at: 0,
            yes,
            style,
            votes,
            exchange: None,
        }
    }

    #[test]
    fn the_style_of_a_question_and_the_votes_of_a_panel_are_those_of_the_replies() {
        let said = [vec![verdict(true, Some(Style::Options))]];
        let styled = |style| claim(true, style, &[]).contradicted(&["a/m"], &said);
        assert_eq!(styled(Some(Style::Options)), None);
        for other in [Some(Style::Clarify), None] {
            assert_eq!(styled(other), Some("tell another style than the record"));
        }
        let said = [true, false].map(|yes| vec![verdict(yes, None)]);
        let held =
            |yes, votes: &[Vote]| claim(yes, None, votes).contradicted(&["a/m", "b/m"], &said);
        let votes = |first, second| {
            [("a/m", first), ("b/m", second)].map(|(judge, pass)| Vote {
                judge: judge.into(),
                pass,
            })
        };
        for told in [&votes(true, false)[..], &[]] {
            assert_eq!(held(false, told), None, "{told:?}");
        }
        for other in [&votes(false, true)[..], &votes(true, false)[..1]] {
            let wrong = Some("give other votes than the record");
            assert_eq!(held(false, other), wrong, "{other:?}");
        }
        // A tie is a doubt.
        let wrong = Some("say no, and the record says yes");
        assert_eq!(held(true, &[]), wrong);
    }
}
