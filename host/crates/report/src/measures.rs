//! The figures of one run that tables, figures and pages share. Means are taken as the protocol says, in percent; it reads
//! finished scores and judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failures;
use super::run_record::{RecordError, RunRecord};
use pibench_core::aggregate::{mean, sample_std};
use pibench_core::score::{IntentCounts, percent};
use pibench_core::statistics::{
    Comparison, Estimate, Measure, PASS_THRESHOLD, PassK, SessionScores, compare, estimate, pass_k,
};
use pibench_core::vocabulary::Category;
use pibench_record::Name;
use pibench_record::outline::SessionOutline;
use pibench_record::results::{Scores as ScoresByRun, SessionLine};

/// A mean over runs and the sample standard deviation over them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    pub mean: f64,
    /// None for fewer than two runs.
    pub std: Option<f64>,
}

/// Proc and Comp of one thing; None where nothing is scored.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Scores {
    pub proc: Option<Spread>,
    pub comp: Option<Spread>,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measures {
    /// Macro: sessions weighted by group size, then runs, then personas.
    pub overall: Scores,
    /// Proc and Comp, were the sessions without a score counted as 0. None where each has one.
    #[serde(skip)]
    pub(super) least: Option<[Option<f64>; 2]>,
    pub personas: BTreeMap<String, Scores>,
    /// Plain mean over the category's sessions, each over its own intents and checklist.
    pub categories: BTreeMap<Category, Scores>,
    /// Plain mean over final sessions of dependency groups, each over its own intents and checklist.
    pub finals: Scores,
    /// Micro: every intent of a scored session counts once, over all runs.
    pub intents: IntentCounts,
    /// Turns of a scored session.
    pub turns: Option<Spread>,
    /// How the scores would move with other sessions of the same kind.
    pub proc_estimate: Option<Estimate>,
    pub comp_estimate: Option<Estimate>,
    pub pass_k: Vec<PassK>,
    /// None where the run's record does not tell.
    pub failures: Option<Failures>,
}

impl Measures {
    /// Measures a run; `seed` is that of the resampling.
    pub fn of(run: &RunRecord, seed: u64) -> Result<Self, RecordError> {
        Ok(Self::with_scores(run, seed)?.0)
    }

    /// The same with each session's scores. No line of a session is held.
    pub(super) fn with_scores(
        run: &RunRecord,
        seed: u64,
    ) -> Result<(Self, Vec<SessionScores>), RecordError> {
        let results = &run.results;
        let runs = results.runs;
        let finals = finals(run);
        let mut scores = ScoresByRun::of(runs);
        let mut personas: BTreeMap<Name, Both> = BTreeMap::new();
        let mut categories: BTreeMap<Category, Both> = BTreeMap::new();
        let (mut of_finals, mut turns) = (Both::default(), ByRun::default());
        let mut intents = IntentCounts::default();
        run.each_session(|line| {
            scores.add(line);
            let persona = match personas.get_mut(&line.persona) {
                Some(persona) => persona,
                None => personas.entry(line.persona.clone()).or_default(),
            };
            if line.weight > 0 {
                persona.add(line, line.weight, line.proc_scored);
            }
            if let Some(category) = run.category(&line.persona, &line.id) {
                categories
                    .entry(category)
                    .or_default()
                    .add(line, 1, line.proc);
            }
            if finals.contains(&(line.persona.as_str(), line.id.as_str())) {
                of_finals.add(line, 1, line.proc);
            }
            if line.outcome.scored() {
                intents = intents + line.intents;
                turns.add(line.run, 1, Some(f64::from(line.turns)));
            }
        })?;
        let scores = scores.all;
        let spread = |mean: Option<f64>, std| mean.map(|mean| Spread { mean, std });
        let measures = Self {
            overall: Scores {
                proc: spread(results.proc, results.proc_std),
                comp: spread(results.comp, results.comp_std),
            },
            least: least(run)?,
            personas: personas
                .into_iter()
                .map(|(id, persona)| (id.to_string(), persona.scores(runs)))
                .collect(),
            categories: categories
                .into_iter()
                .map(|(category, sums)| (category, sums.scores(runs)))
                .collect(),
            finals: of_finals.scores(runs),
            intents,
            turns: turns.spread(runs),
            proc_estimate: estimate(&scores, Measure::Proc, seed),
            comp_estimate: estimate(&scores, Measure::Comp, seed),
            pass_k: pass_k(&scores, PASS_THRESHOLD),
            failures: Failures::of(run)?,
        };
        Ok((measures, scores))
    }

    /// Micro-averaged Proc, in percent.
    pub fn micro_proc(&self) -> Option<f64> {
        self.intents.proc().map(percent)
    }
}

/// The scores by which two runs of one suite are compared.
pub fn comparable_scores(a: &RunRecord, b: &RunRecord) -> Result<Pair, RecordError> {
    match own_scores(a, b)? {
        Some(own) => Ok(own),
        None => Ok((scores(a, ScoresByRun::add)?, scores(b, ScoresByRun::add)?)),
    }
}

/// Those of two runs of which one was given less (an ablation); None for others. What only the other was given is no fair part of
/// it: then own intents count, of the sessions that the ablation has.
pub(super) fn own_scores(a: &RunRecord, b: &RunRecord) -> Result<Option<Pair>, RecordError> {
    if a.results.ablate == b.results.ablate {
        return Ok(None);
    }
    let ablated = if a.results.ablate.is_some() { a } else { b };
    let mut sessions = BTreeSet::new();
    ablated.each_session(|line| {
        sessions.insert((line.persona.clone(), line.id.clone()));
    })?;
    let add = |scores: &mut ScoresByRun, line: &SessionLine| {
        if sessions.contains(&(line.persona.clone(), line.id.clone())) {
            scores.add_own(line);
        }
    };
    Ok(Some((scores(a, add)?, scores(b, add)?)))
}

/// Compares runs by these scores. Where a run lacks the score of a session that another has, the deviation over runs is that of
/// another mean than the one over sessions, and is left out.
pub fn compare_runs(a: &[SessionScores], b: &[SessionScores], seed: u64) -> Comparison {
    let is_ragged = |session: &SessionScores, measure: Measure| {
        let runs = measure.of(session);
        runs.iter().any(Option::is_some) && runs.iter().any(Option::is_none)
    };
    let mut found = compare(a, b, seed);
    let of_proc = (&mut found.proc, Measure::Proc);
    for (compared, measure) in [of_proc, (&mut found.comp, Measure::Comp)] {
        if let Some(overall) = &mut compared.overall {
            let lacks = |side: &[SessionScores]| side.iter().any(|one| is_ragged(one, measure));
            overall.std_a.take_if(|_| lacks(a));
            overall.std_b.take_if(|_| lacks(b));
        }
    }
    found
}

/// Scores of two runs.
type Pair = (Vec<SessionScores>, Vec<SessionScores>);

fn scores(
    run: &RunRecord,
    add: impl Fn(&mut ScoresByRun, &SessionLine),
) -> Result<Vec<SessionScores>, RecordError> {
    let mut scores = ScoresByRun::of(run.results.runs);
    run.each_session(|line| add(&mut scores, line))?;
    Ok(scores.all)
}

/// Proc and Comp with 0 for each session that should have a score and has none: the least that they can be.
fn least(run: &RunRecord) -> Result<Option<[Option<f64>; 2]>, RecordError> {
    if run.results.scored.is_whole() {
        return Ok(None);
    }
    let unchecked = sessions(run, |session| session.checklist.is_empty());
    let mut personas: BTreeMap<Name, [ByRun; 2]> = BTreeMap::new();
    run.each_session(|line| {
        let [proc, comp] = personas.entry(line.persona.clone()).or_default();
        proc.add(line.run, line.weight, line.proc_scored.or(Some(0.0)));
        if !unchecked.contains(&(line.persona.as_str(), line.id.as_str())) {
            comp.add(line.run, line.weight, line.comp.or(Some(0.0)));
        }
    })?;
    let overall = |at: usize| {
        let spreads = personas
            .values()
            .map(|sums| sums[at].spread(run.results.runs));
        let means: Vec<f64> = spreads.flatten().map(|spread| spread.mean).collect();
        mean(&means)
    };
    Ok(Some([overall(0), overall(1)]))
}

/// The final sessions of dependency groups.
fn finals(run: &RunRecord) -> BTreeSet<(&str, &str)> {
    sessions(run, |session| !session.depends_on.is_empty())
}

/// Sessions as the suite has them: persona and id.
fn sessions(run: &RunRecord, is_wanted: fn(&SessionOutline) -> bool) -> BTreeSet<(&str, &str)> {
    let personas = run.outline.iter().flat_map(|outline| &outline.personas);
    let wanted = personas.flat_map(|persona| {
        let sessions = persona.sessions.iter();
        let sessions = sessions.filter(move |session| is_wanted(session));
        sessions.map(|session| (persona.id.as_str(), session.id.as_str()))
    });
    wanted.collect()
}

/// Sums of a score and its weights, one for each run.
#[derive(Debug, Default)]
struct ByRun(Vec<(f64, u32)>);

impl ByRun {
    fn add(&mut self, run: u32, weight: u32, score: Option<f64>) {
        let (Some(score), Some(place)) = (score, run.checked_sub(1)) else {
            return;
        };
        let place = place as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, (0.0, 0));
        }
        let (sum, weights) = &mut self.0[place];
        *sum += f64::from(weight) * score;
        *weights += weight;
    }

    /// Over the means of the runs; runs without one are left out.
    fn spread(&self, runs: u32) -> Option<Spread> {
        let runs = self.0.iter().take(runs as usize);
        let counted = runs.filter(|(_, weights)| *weights > 0);
        let means: Vec<f64> = counted
            .map(|(sum, weights)| sum / f64::from(*weights))
            .collect();
        Some(Spread {
            mean: mean(&means)?,
            std: sample_std(&means),
        })
    }
}

/// Sums of Proc and Comp.
#[derive(Debug, Default)]
struct Both {
    proc: ByRun,
    comp: ByRun,
}

impl Both {
    fn add(&mut self, line: &SessionLine, weight: u32, proc: Option<f64>) {
        self.proc.add(line.run, weight, proc);
        self.comp.add(line.run, weight, line.comp);
    }

    fn scores(&self, runs: u32) -> Scores {
        Scores {
            proc: self.proc.spread(runs),
            comp: self.comp.spread(runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::record::Outcome;
    use pibench_record::Used;

    fn line(id: &str, run: u32, weight: u32, proc: f64, comp: Option<f64>) -> SessionLine {
        SessionLine {
            id: id.into(),
            persona: "lawyer".into(),
            run,
            proc: Some(proc),
            proc_scored: (weight > 0).then_some(proc),
            weight,
            comp,
            turns: 2,
            outcome: Outcome::Complete,
            intents: IntentCounts::default(),
            no_offline_matcher: false,
            usage: Used::default(),
            cost: None,
        }
    }

    #[test]
    fn a_session_that_a_run_did_not_play_leaves_the_mean_and_not_the_score() {
        let mut sums = Both::default();
        for line in [line("a", 1, 1, 50.0, None), line("a", 3, 1, 100.0, None)] {
            sums.add(&line, 1, line.proc);
        }
        let scores = sums.scores(3);
        let proc = scores.proc.unwrap();
        assert!((proc.mean - 75.0).abs() < 1e-9 && proc.std.is_some());
        assert_eq!(scores.comp, None);
    }
}
