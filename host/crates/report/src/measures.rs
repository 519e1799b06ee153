//! The figures of one run that tables, figures and pages share. Means are taken as the protocol says, in percent; it reads
//! finished scores and judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failures;
use super::run_record::RunRecord;
use pibench_core::aggregate::{mean, sample_std};
use pibench_core::score::{IntentCounts, percent};
use pibench_core::statistics::{
    Estimate, Measure, PASS_THRESHOLD, PassK, SessionScores, estimate, pass_k,
};
use pibench_core::vocabulary::Category;
use pibench_record::results::{RunResults, SessionLine};

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
    /// Macro: sessions weighted by group size, then personas, then runs.
    pub overall: Scores,
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
    pub fn of(run: &RunRecord, seed: u64) -> Self {
        let results = &run.results;
        let lines = || results.sessions.iter();
        let scores = results.session_scores();
        let mut by_persona: BTreeMap<&str, Vec<&SessionLine>> = BTreeMap::new();
        for line in lines() {
            by_persona.entry(&line.persona).or_default().push(line);
        }
        let mut by_category: BTreeMap<Category, Vec<&SessionLine>> = BTreeMap::new();
        for line in lines() {
            if let Some(category) = run.category(&line.persona, &line.id) {
                by_category.entry(category).or_default().push(line);
            }
        }
        let counted = || lines().filter(|line| line.outcome.scored());
        let spread = |mean: Option<f64>, std| mean.map(|mean| Spread { mean, std });
        Self {
            overall: Scores {
                proc: spread(results.proc, results.proc_std),
                comp: spread(results.comp, results.comp_std),
            },
            personas: by_persona
                .into_iter()
                .map(|(id, lines)| (id.to_owned(), persona_scores(results.runs, &lines)))
                .collect(),
            categories: by_category
                .into_iter()
                .map(|(category, lines)| (category, plain_scores(results.runs, &lines)))
                .collect(),
            finals: plain_scores(results.runs, &finals(run)),
            intents: counted().map(|line| line.intents).sum(),
            turns: over_runs(results.runs, counted(), |lines| {
                let turns: Vec<f64> = lines.iter().map(|line| f64::from(line.turns)).collect();
                mean(&turns)
            }),
            proc_estimate: estimate(&scores, Measure::Proc, seed),
            comp_estimate: estimate(&scores, Measure::Comp, seed),
            pass_k: pass_k(&scores, PASS_THRESHOLD),
            failures: Failures::of(run),
        }
    }

    /// Micro-averaged Proc, in percent.
    pub fn micro_proc(&self) -> Option<f64> {
        self.intents.proc().map(percent)
    }
}

/// The scores by which two runs of one suite are compared. What only one of them was given (an ablation) is no fair part
/// of it: then own intents count, of the sessions that the ablation has.
pub fn comparable_scores(
    a: &RunResults,
    b: &RunResults,
) -> (Vec<SessionScores>, Vec<SessionScores>) {
    if a.ablate == b.ablate {
        return (a.session_scores(), b.session_scores());
    }
    let ablated = if a.ablate.is_some() { a } else { b };
    let sessions = ablated.sessions.iter();
    let sessions = sessions
        .map(|line| (line.persona.as_str(), line.id.as_str()))
        .collect();
    (a.own_scores(&sessions), b.own_scores(&sessions))
}

/// The final sessions of dependency groups, as the suite has them.
fn finals(run: &RunRecord) -> Vec<&SessionLine> {
    let Some(outline) = &run.outline else {
        return Vec::new();
    };
    let personas = outline.personas.iter();
    let finals: BTreeSet<(&str, &str)> = personas
        .flat_map(|persona| {
            let sessions = persona.sessions.iter();
            let sessions = sessions.filter(|session| !session.depends_on.is_empty());
            sessions.map(|session| (persona.id.as_str(), session.id.as_str()))
        })
        .collect();
    let is_final =
        |line: &&SessionLine| finals.contains(&(line.persona.as_str(), line.id.as_str()));
    run.results.sessions.iter().filter(is_final).collect()
}

/// `lines`: those of one persona.
fn persona_scores(runs: u32, lines: &[&SessionLine]) -> Scores {
    let lines = || lines.iter().copied().filter(|line| line.weight > 0);
    let weighted = |of: fn(&SessionLine) -> Option<f64>| {
        over_runs(runs, lines(), |lines| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for line in lines {
                if let Some(score) = of(line) {
                    sum += f64::from(line.weight) * score;
                    weights += f64::from(line.weight);
                }
            }
            (weights > 0.0).then(|| sum / weights)
        })
    };
    Scores {
        proc: weighted(|line| line.proc_scored),
        comp: weighted(|line| line.comp),
    }
}

fn plain_scores(runs: u32, lines: &[&SessionLine]) -> Scores {
    let plain = |of: fn(&SessionLine) -> Option<f64>| {
        over_runs(runs, lines.iter().copied(), |lines| {
            let scores: Vec<f64> = lines.iter().filter_map(|line| of(line)).collect();
            mean(&scores)
        })
    };
    Scores {
        proc: plain(|line| line.proc),
        comp: plain(|line| line.comp),
    }
}

/// The mean over the runs of a figure of each run; runs without one are left out.
fn over_runs<'a>(
    runs: u32,
    lines: impl Iterator<Item = &'a SessionLine>,
    figure: impl Fn(&[&SessionLine]) -> Option<f64>,
) -> Option<Spread> {
    let mut by_run: BTreeMap<u32, Vec<&SessionLine>> = BTreeMap::new();
    for line in lines {
        by_run.entry(line.run).or_default().push(line);
    }
    let figures: Vec<f64> = (1..=runs)
        .filter_map(|run| figure(by_run.get(&run)?))
        .collect();
    Some(Spread {
        mean: mean(&figures)?,
        std: sample_std(&figures),
    })
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
        let lines = [line("a", 1, 1, 50.0, None), line("a", 3, 1, 100.0, None)];
        let lines: Vec<&SessionLine> = lines.iter().collect();
        let scores = plain_scores(3, &lines);
        let proc = scores.proc.unwrap();
        assert!((proc.mean - 75.0).abs() < 1e-9 && proc.std.is_some());
        assert_eq!(scores.comp, None);
    }
}
