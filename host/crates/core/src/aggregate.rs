//! Scores of many sessions: dependency groups, personas, a run, several runs (protocol, "Aggregation"). It works on the
//! scores of finished sessions and never looks at what happened in one. Scores are fractions, 0 to 1.
//!
//! What is not scored (a judge fault, broken infrastructure) leaves numerator and denominator, is never a zero, and is
//! told by a [`Tally`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::Outcome;
use super::score::IntentCounts;
use crate::vocabulary::Protocol;

/// What one session of an episode scored by itself. Each session that was to be played has one, whatever its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionScore {
    pub id: String,
    /// The other sessions of the group, in a group's final session.
    pub depends_on: Vec<String>,
    /// A later session depends on this one, so it is not scored by itself.
    pub dependency_only: bool,
    pub has_checklist: bool,
    /// The session's own intents.
    pub intents: IntentCounts,
    /// Equation 4; None without a checklist.
    pub comp: Option<f64>,
    pub outcome: Outcome,
}

/// How many sessions a score stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Sessions with a score.
    pub scored: u32,
    /// Sessions that should have one.
    pub of: u32,
}

impl Tally {
    pub fn is_whole(self) -> bool {
        self.scored == self.of
    }

    fn add(self, other: Self) -> Self {
        Self {
            scored: self.scored + other.scored,
            of: self.of + other.of,
        }
    }
}

/// One session's part in its persona's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionResult {
    pub id: String,
    /// Over the session's own intents; None if the session is unscored.
    pub proc: Option<f64>,
    /// Over the intents of the whole group. None for sessions that are only dependencies, and for a final session one
    /// of whose group is unscored: to pool the rest would let a fault of a judge move the score either way.
    pub proc_scored: Option<f64>,
    /// None without a checklist, and if the session is unscored. A dependency's fault does not touch it: the checklist
    /// is the session's own.
    pub comp: Option<f64>,
    /// Sessions of the group that were to be played, this one among them; 0 for those that are only dependencies.
    pub weight: u32,
    pub intents: IntentCounts,
    pub outcome: Outcome,
}

/// One persona in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaScore {
    pub id: String,
    /// Mean of `proc_scored`, weighted by group size; None if nothing is scored.
    pub proc: Option<f64>,
    /// Mean of `comp` over the same sessions and weights, as far as they have a checklist.
    pub comp: Option<f64>,
    pub proc_sessions: Tally,
    pub comp_sessions: Tally,
    /// Over all intents of the sessions that were scored or pooled (Table 7): micro-averaged, where `proc` is macro.
    pub intents: IntentCounts,
    /// In the order of the episode.
    pub sessions: Vec<SessionResult>,
}

impl PersonaScore {
    /// `sessions` are those of one episode that were to be played. A dependency that is not among them was left out on
    /// purpose (a selection of sessions, the ablation without dependencies): its group is smaller by it. One that was
    /// to be played and could not be has the outcome `infrastructure`.
    ///
    /// In `pi-bench`, only sessions with a checklist are scored at all.
    pub fn new(id: &str, protocol: Protocol, sessions: &[SessionScore]) -> Self {
        let results: Vec<SessionResult> = sessions
            .iter()
            .map(|session| result(protocol, session, sessions))
            .collect();
        let counted = sessions.iter().filter(|session| session.outcome.scored());
        let with_checklist = sessions
            .iter()
            .zip(&results)
            .filter(|(session, _)| session.has_checklist);
        let proc = weigh(
            results
                .iter()
                .map(|result| (result.weight, result.proc_scored)),
        );
        let comp = weigh(with_checklist.map(|(_, result)| (result.weight, result.comp)));
        Self {
            id: id.to_owned(),
            proc: proc.mean,
            comp: comp.mean,
            proc_sessions: proc.tally,
            comp_sessions: comp.tally,
            intents: counted.map(|session| session.intents).sum(),
            sessions: results,
        }
    }
}

/// All personas in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunScore {
    /// Plain mean over the personas that have a score; None if none has.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    pub proc_sessions: Tally,
    pub comp_sessions: Tally,
    /// Micro-averaged (Table 7).
    pub intents: IntentCounts,
    pub personas: Vec<PersonaScore>,
}

impl RunScore {
    pub fn new(personas: Vec<PersonaScore>) -> Self {
        let scores = |of: fn(&PersonaScore) -> Option<f64>| -> Vec<f64> {
            personas.iter().filter_map(of).collect()
        };
        Self {
            proc: mean(&scores(|persona| persona.proc)),
            comp: mean(&scores(|persona| persona.comp)),
            proc_sessions: tally(personas.iter().map(|persona| persona.proc_sessions)),
            comp_sessions: tally(personas.iter().map(|persona| persona.comp_sessions)),
            intents: personas.iter().map(|persona| persona.intents).sum(),
            personas,
        }
    }
}

/// Independent runs of the same suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteScore {
    /// Plain mean over the personas that have a score, each over the runs that scored it.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    /// Sample standard deviation over the runs' overall scores; None for fewer than two, and where a run lacks the score of a
    /// persona that another has.
    pub proc_std: Option<f64>,
    pub comp_std: Option<f64>,
    pub runs: u32,
    pub proc_sessions: Tally,
    pub comp_sessions: Tally,
    /// Micro-averaged over all runs (Table 7).
    pub intents: IntentCounts,
    /// In the order of the first run.
    pub personas: Vec<PersonaSummary>,
}

/// One persona over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaSummary {
    pub id: String,
    pub proc: Option<f64>,
    pub comp: Option<f64>,
    pub proc_sessions: Tally,
    pub comp_sessions: Tally,
    pub intents: IntentCounts,
}

/// Runs that are added up one after the other. Of a run its two overall scores are held, for the deviation is of all of them.
#[derive(Debug, Default)]
pub struct SuiteSum {
    procs: Vec<f64>,
    comps: Vec<f64>,
    runs: u32,
    proc_sessions: Tally,
    comp_sessions: Tally,
    intents: IntentCounts,
    /// In the order of first sight.
    personas: Vec<PersonaSum>,
    places: BTreeMap<String, usize>,
}

#[derive(Debug, Default)]
struct PersonaSum {
    id: String,
    proc: Scores,
    comp: Scores,
    proc_sessions: Tally,
    comp_sessions: Tally,
    intents: IntentCounts,
}

/// Scores that a mean is taken of.
#[derive(Debug, Clone, Copy, Default)]
struct Scores {
    sum: f64,
    count: u32,
}

impl Scores {
    fn add(&mut self, score: Option<f64>) {
        if let Some(score) = score {
            self.sum += score;
            self.count += 1;
        }
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl SuiteSum {
    /// Adds the next run. Runs, or personas in runs, without any score are left out of means; the tallies tell.
    pub fn add(&mut self, run: &RunScore) {
        self.procs.extend(run.proc);
        self.comps.extend(run.comp);
        self.runs = self.runs.saturating_add(1);
        self.proc_sessions = self.proc_sessions.add(run.proc_sessions);
        self.comp_sessions = self.comp_sessions.add(run.comp_sessions);
        self.intents = self.intents + run.intents;
        for persona in &run.personas {
            let place = match self.places.get(&persona.id) {
                Some(place) => *place,
                None => self.begin(&persona.id),
            };
            self.personas[place].add(persona);
        }
    }

    fn begin(&mut self, persona: &str) -> usize {
        let place = self.personas.len();
        self.places.insert(persona.to_owned(), place);
        self.personas.push(PersonaSum {
            id: persona.to_owned(),
            ..PersonaSum::default()
        });
        place
    }

    /// What all come to.
    pub fn score(self) -> SuiteScore {
        let (proc, proc_std) = self.overall(&self.procs, |persona| persona.proc);
        let (comp, comp_std) = self.overall(&self.comps, |persona| persona.comp);
        let personas = self.personas.into_iter();
        SuiteScore {
            proc,
            comp,
            proc_std,
            comp_std,
            runs: self.runs,
            proc_sessions: self.proc_sessions,
            comp_sessions: self.comp_sessions,
            intents: self.intents,
            personas: personas.map(PersonaSum::summary).collect(),
        }
    }

    /// Mean and deviation of one score. `runs`: what each run came to by itself.
    fn overall(&self, runs: &[f64], of: fn(&PersonaSum) -> Scores) -> (Option<f64>, Option<f64>) {
        let personas = || self.personas.iter().map(of);
        let is_whole = personas().all(|scores| scores.count == 0 || scores.count == self.runs);
        if is_whole {
            // The same number by fewer roundings, and as it stands in results that are verified to the last digit.
            return (mean(runs), sample_std(runs));
        }
        // Means of runs are of different personas, and do not compare.
        let means: Vec<f64> = personas().filter_map(Scores::mean).collect();
        (mean(&means), None)
    }
}

impl PersonaSum {
    fn add(&mut self, persona: &PersonaScore) {
        self.proc.add(persona.proc);
        self.comp.add(persona.comp);
        self.proc_sessions = self.proc_sessions.add(persona.proc_sessions);
        self.comp_sessions = self.comp_sessions.add(persona.comp_sessions);
        self.intents = self.intents + persona.intents;
    }

    fn summary(self) -> PersonaSummary {
        PersonaSummary {
            id: self.id,
            proc: self.proc.mean(),
            comp: self.comp.mean(),
            proc_sessions: self.proc_sessions,
            comp_sessions: self.comp_sessions,
            intents: self.intents,
        }
    }
}

/// Arithmetic mean; None of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of a sample (divided by n - 1); None for fewer than two values.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

fn result(protocol: Protocol, session: &SessionScore, episode: &[SessionScore]) -> SessionResult {
    let scored = session.outcome.scored();
    let group = group(session, episode);
    let own_score =
        !session.dependency_only && (protocol == Protocol::Paper || session.has_checklist);
    SessionResult {
        id: session.id.clone(),
        proc: session.intents.proc().filter(|_| scored),
        proc_scored: pooled(&group).filter(|_| own_score),
        comp: session.comp.filter(|_| scored),
        weight: if own_score {
            u32::try_from(group.len()).unwrap_or(u32::MAX)
        } else {
            0
        },
        intents: session.intents,
        outcome: session.outcome,
    }
}

/// The session and the played ones that it depends on.
fn group<'a>(session: &'a SessionScore, episode: &'a [SessionScore]) -> Vec<&'a SessionScore> {
    let member =
        |other: &&SessionScore| other.id == session.id || session.depends_on.contains(&other.id);
    episode.iter().filter(member).collect()
}

/// Covered intents of all intents in the group; None if one of its sessions is unscored.
fn pooled(group: &[&SessionScore]) -> Option<f64> {
    if group.iter().any(|session| !session.outcome.scored()) {
        return None;
    }
    group
        .iter()
        .map(|session| session.intents)
        .sum::<IntentCounts>()
        .proc()
}

struct Weighed {
    mean: Option<f64>,
    tally: Tally,
}

/// The weighted mean of the scores that are there. Weight 0 does not take part.
fn weigh(scores: impl Iterator<Item = (u32, Option<f64>)>) -> Weighed {
    let (mut sum, mut weights) = (0.0, 0);
    let mut tally = Tally::default();
    for (weight, score) in scores.filter(|&(weight, _)| weight > 0) {
        tally.of += 1;
        if let Some(score) = score {
            tally.scored += 1;
            weights += weight;
            sum += f64::from(weight) * score;
        }
    }
    Weighed {
        mean: (weights > 0).then(|| sum / f64::from(weights)),
        tally,
    }
}

fn tally(tallies: impl Iterator<Item = Tally>) -> Tally {
    tallies.fold(Tally::default(), Tally::add)
}

#[cfg(test)]
mod tests;
