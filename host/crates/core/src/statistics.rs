//! How sure scores are: the paired comparison of two runs, intervals, the smallest difference that a suite can tell, and
//! pass^k (protocol, "Aggregation"). It works on the scores of finished sessions. Chance comes from the caller's seed
//! and nowhere else (see `draw`), so that the same scores and seed give the same figures.
//!
//! The unit of chance is the dependency group: its sessions share state and have one score, that of the group's final
//! session, so each scored session is one cluster. The order of the sessions never matters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::draw::{Draws, Purpose};
use super::aggregate::{mean, sample_std};
use super::score::percent;

pub mod agreement;
mod draw;

/// What counts as a pass unless the suite says otherwise: a whole checklist, in percent.
pub const PASS_THRESHOLD: f64 = 100.0;

/// Up to so many clusters, all patterns of signs are tried.
const EXACT_CLUSTERS: usize = 14;

/// Patterns drawn where there are too many to try all: a p-value of 0.05 is then right to 0.0007 (standard error).
const PATTERNS: u32 = 100_000;

/// Resamples of a bootstrap. The ends of a 95% interval want well over 1,000 (Efron and Tibshirani, An Introduction to
/// the Bootstrap, 1993).
const RESAMPLES: usize = 10_000;

/// Quantiles of the standard normal distribution at 0.975 (two-sided alpha 0.05) and 0.8 (power), as R's `qnorm` gives.
const Z_ALPHA: f64 = 1.959_963_984_540_054;
const Z_POWER: f64 = 0.841_621_233_572_914;

/// A difference whose p-value is not below this may be luck.
const ALPHA: f64 = 0.05;

/// Fewer sessions tell no difference, for so few signs fall alike by chance in more than 1 of 20 cases (2 / 2^5).
pub const FEWEST_TOLD: u32 = 6;

/// Signs in a drawn word.
const BITS: usize = u64::BITS as usize;

/// Fractions nearer than this are equal: sums of the same numbers in another order differ by less, scores by more.
const TOLERANCE: f64 = 1e-9;

/// What one scored session got in each run: a group's final session or an independent one. A persona has an id once.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionScores {
    pub persona: String,
    pub id: String,
    /// Sessions of its dependency group, itself among them; 0 takes no part.
    pub weight: u32,
    /// `proc_scored`, a fraction, one entry per run in the order of the runs; None where it is unscored.
    pub proc: Vec<Option<f64>>,
    /// Likewise; None also without a checklist.
    pub comp: Vec<Option<f64>>,
}

impl SessionScores {
    fn key(&self) -> (&str, &str) {
        (&self.persona, &self.id)
    }

    /// Over the runs that scored it.
    fn mean(&self, measure: Measure) -> Option<f64> {
        let scores: Vec<f64> = measure.of(self).iter().copied().flatten().collect();
        mean(&scores)
    }
}

/// Which score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Proc,
    Comp,
}

impl Measure {
    /// A session's scores of this kind, one for each run.
    pub fn of(self, session: &SessionScores) -> &[Option<f64>] {
        match self {
            Self::Proc => &session.proc,
            Self::Comp => &session.comp,
        }
    }
}

/// Two runs of the same suite beside each other. Scores in percent, differences in percentage points, B - A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Where the drawn sign patterns and resamples come from.
    pub seed: u64,
    pub proc: MeasureComparison,
    pub comp: MeasureComparison,
    /// Those of A in A's order, then those that only B has.
    pub sessions: Vec<SessionPair>,
}

/// One score of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureComparison {
    /// Sessions that both sides scored: what everything else stands on.
    pub shared: u32,
    /// Left out: scored by A and not by B.
    pub only_a: u32,
    /// Left out: scored by B and not by A.
    pub only_b: u32,
    /// Left out: scored by both, but over groups of different sizes.
    pub regrouped: u32,
    /// Null if nothing is shared.
    pub overall: Option<Difference>,
}

/// The overall difference over the shared sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Overall score: sessions averaged over the runs, weighted by group size in each persona, plain mean of personas.
    pub a: f64,
    pub b: f64,
    /// B - A.
    pub difference: f64,
    /// 95% bootstrap interval of the difference, clustered by dependency group and stratified by persona. Null if a
    /// persona has fewer than two shared sessions, whose spread nobody knows.
    pub interval: Option<Interval>,
    /// Two-sided, of the sign-flip test over dependency groups; above 0, at most 1.
    pub p_value: f64,
    /// All patterns of signs were tried; otherwise 100,000 drawn ones.
    pub exact: bool,
    /// The interval leaves out 0 and the p-value is below 0.05: both say that it is no luck.
    pub told: bool,
    /// At alpha 0.05 and power 0.8, from the spread of the groups' differences (normal approximation). Null where the
    /// interval is null, and if the differences do not vary.
    pub smallest_detectable: Option<f64>,
    /// The noise floor: sample standard deviation over the runs' overall scores; null for fewer than two runs, and null where a run
    /// lacks the score of a session that another has.
    pub std_a: Option<f64>,
    pub std_b: Option<f64>,
}

/// From `low` to `high`, in percent or percentage points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    fn leaves_out_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// One session of both sides, each averaged over its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPair {
    pub persona: String,
    pub id: String,
    /// A's, or B's where A does not have the session.
    pub weight: u32,
    pub proc: Sides,
    pub comp: Sides,
}

/// A score of both sides, in percent; null where a side did not score the session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides {
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// B - A; null also for groups of different sizes.
    pub difference: Option<f64>,
}

/// An overall score and how sure it is, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Sessions averaged over the runs, then as the protocol aggregates.
    pub score: f64,
    /// 95% bootstrap interval, clustered by dependency group and stratified by persona. It tells how the score would
    /// move with other sessions of the same kind. Null if a persona has fewer than two scored sessions.
    pub interval: Option<Interval>,
    /// Scored sessions.
    pub sessions: u32,
}

/// The chance that `k` independent runs of a session all pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassK {
    pub k: u32,
    /// Percent: the plain mean over the sessions.
    pub pass: f64,
    /// Sessions that were scored in at least `k` runs; others are left out.
    pub sessions: u32,
}

/// Compares B with A. Sessions that only one side scored are left out and counted.
pub fn compare(a: &[SessionScores], b: &[SessionScores], seed: u64) -> Comparison {
    let pairs = pairs(a, b);
    Comparison {
        seed,
        proc: compare_measure(&pairs, Measure::Proc, seed),
        comp: compare_measure(&pairs, Measure::Comp, seed),
        sessions: pairs.iter().map(Pair::row).collect(),
    }
}

/// The overall score of one side; None if nothing is scored.
pub fn estimate(sessions: &[SessionScores], measure: Measure, seed: u64) -> Option<Estimate> {
    let scored = sessions
        .iter()
        .filter(|session| session.weight > 0)
        .filter_map(|session| Some((session, session.mean(measure)?)));
    let strata = Strata::new(scored);
    Some(Estimate {
        score: percent(strata.overall()?),
        interval: strata.interval(seed),
        sessions: count(strata.clusters()),
    })
}

/// pass^k for k = 1, 2, ... up to the most runs that scored a session: per session C(c, k) / C(n, k) with c passes in n
/// runs, which is unbiased (Yao et al., tau-bench, 2024). A run passes if its Comp is at least
/// `threshold` percent.
pub fn pass_k(sessions: &[SessionScores], threshold: f64) -> Vec<PassK> {
    let passes = |score: f64| percent(score) >= threshold - percent(TOLERANCE);
    let counts: Vec<(u32, u32)> = sessions
        .iter()
        .filter(|session| session.weight > 0)
        .map(|session| {
            let scores = session.comp.iter().copied().flatten();
            scores.fold((0, 0), |(runs, passed), score| {
                (runs + 1, passed + u32::from(passes(score)))
            })
        })
        .collect();
    let most = counts.iter().map(|&(runs, _)| runs).max().unwrap_or(0);
    (1..=most).filter_map(|k| pass(&counts, k)).collect()
}

fn pass(counts: &[(u32, u32)], k: u32) -> Option<PassK> {
    let enough = counts.iter().filter(|&&(runs, _)| runs >= k);
    let chances: Vec<f64> = enough
        .map(|&(runs, passed)| all_pass(runs, passed, k))
        .collect();
    Some(PassK {
        k,
        pass: percent(mean(&chances)?),
        sessions: count(chances.len()),
    })
}

/// C(passed, k) / C(runs, k), factor by factor: the binomials themselves could overflow. `k` is at most `runs`.
fn all_pass(runs: u32, passed: u32, k: u32) -> f64 {
    (0..k)
        .map(|taken| f64::from(passed.saturating_sub(taken)) / f64::from(runs - taken))
        .product()
}

/// A session as the two sides have it.
struct Pair<'a> {
    /// A's, or B's where A does not have it.
    either: &'a SessionScores,
    a: Option<&'a SessionScores>,
    b: Option<&'a SessionScores>,
}

fn pairs<'a>(a: &'a [SessionScores], b: &'a [SessionScores]) -> Vec<Pair<'a>> {
    let weighs = |session: &&SessionScores| session.weight > 0;
    let mut pairs: Vec<Pair> = Vec::new();
    let mut places = BTreeMap::new();
    for session in a.iter().filter(weighs) {
        places.insert(session.key(), pairs.len());
        pairs.push(Pair {
            either: session,
            a: Some(session),
            b: None,
        });
    }
    for session in b.iter().filter(weighs) {
        match places.get(&session.key()) {
            Some(&place) => pairs[place].b = Some(session),
            None => pairs.push(Pair {
                either: session,
                a: None,
                b: Some(session),
            }),
        }
    }
    pairs
}

impl<'a> Pair<'a> {
    fn means(&self, measure: Measure) -> (Option<f64>, Option<f64>) {
        let mean = |side: Option<&SessionScores>| side.and_then(|session| session.mean(measure));
        (mean(self.a), mean(self.b))
    }

    /// None if a side did not score the session, or over a group of another size.
    fn shared(&self, measure: Measure) -> Option<Shared<'a>> {
        let (a, b) = (self.a?, self.b?);
        let (mean_a, mean_b) = (a.mean(measure)?, b.mean(measure)?);
        (a.weight == b.weight).then_some(Shared {
            a,
            b,
            mean_a,
            mean_b,
        })
    }

    fn row(&self) -> SessionPair {
        SessionPair {
            persona: self.either.persona.clone(),
            id: self.either.id.clone(),
            weight: self.either.weight,
            proc: self.sides(Measure::Proc),
            comp: self.sides(Measure::Comp),
        }
    }

    fn sides(&self, measure: Measure) -> Sides {
        let (a, b) = self.means(measure);
        Sides {
            a: a.map(percent),
            b: b.map(percent),
            difference: self
                .shared(measure)
                .map(|shared| percent(shared.difference())),
        }
    }
}

/// A session that both sides scored.
struct Shared<'a> {
    a: &'a SessionScores,
    b: &'a SessionScores,
    mean_a: f64,
    mean_b: f64,
}

impl Shared<'_> {
    fn difference(&self) -> f64 {
        self.mean_b - self.mean_a
    }
}

fn compare_measure(pairs: &[Pair], measure: Measure, seed: u64) -> MeasureComparison {
    let shared: Vec<Shared> = pairs
        .iter()
        .filter_map(|pair| pair.shared(measure))
        .collect();
    let scored = |by_a: bool, by_b: bool| {
        let pairs = pairs.iter().filter(|pair| {
            let (a, b) = pair.means(measure);
            (a.is_some(), b.is_some()) == (by_a, by_b)
        });
        count(pairs.count())
    };
    MeasureComparison {
        shared: count(shared.len()),
        only_a: scored(true, false),
        only_b: scored(false, true),
        regrouped: scored(true, true) - count(shared.len()),
        overall: difference(&shared, measure, seed),
    }
}

fn difference(shared: &[Shared], measure: Measure, seed: u64) -> Option<Difference> {
    let differences = Strata::new(shared.iter().map(|pair| (pair.a, pair.difference())));
    let side_a = Strata::new(shared.iter().map(|pair| (pair.a, pair.mean_a)));
    let side_b = Strata::new(shared.iter().map(|pair| (pair.b, pair.mean_b)));
    let test = sign_flip(&differences.parts(), seed);
    let interval = differences.interval(seed);
    let error = differences.standard_error();
    let (a, b): (Vec<_>, Vec<_>) = shared.iter().map(|pair| (pair.a, pair.b)).unzip();
    Some(Difference {
        a: percent(side_a.overall()?),
        b: percent(side_b.overall()?),
        difference: percent(differences.overall()?),
        interval,
        p_value: test.p_value,
        exact: test.exact,
        told: test.p_value < ALPHA && interval.is_some_and(Interval::leaves_out_zero),
        smallest_detectable: error.map(|error| percent((Z_ALPHA + Z_POWER) * error)),
        std_a: std_over_runs(&a, measure).map(percent),
        std_b: std_over_runs(&b, measure).map(percent),
    })
}

/// Sample standard deviation over the runs' overall scores. What a run did not score is left out of that run.
fn std_over_runs(sessions: &[&SessionScores], measure: Measure) -> Option<f64> {
    let runs = sessions.iter().map(|session| measure.of(session).len());
    let overall = |run: usize| {
        let scored = sessions.iter().filter_map(|session| {
            let score = measure.of(session).get(run).copied().flatten()?;
            Some((*session, score))
        });
        Strata::new(scored).overall()
    };
    let scores: Vec<f64> = (0..runs.max().unwrap_or(0)).filter_map(overall).collect();
    sample_std(&scores)
}

/// A dependency group's score or difference of scores.
#[derive(Clone, Copy)]
struct Cluster {
    weight: f64,
    value: f64,
}

/// The clusters of each persona, in an order that is the same for any order of the sessions.
struct Strata(Vec<Vec<Cluster>>);

impl Strata {
    fn new<'a>(values: impl Iterator<Item = (&'a SessionScores, f64)>) -> Self {
        let mut personas: BTreeMap<&str, BTreeMap<&str, Cluster>> = BTreeMap::new();
        for (session, value) in values {
            let weight = f64::from(session.weight);
            let clusters = personas.entry(&session.persona).or_default();
            clusters.insert(&session.id, Cluster { weight, value });
        }
        let sorted = personas.into_values();
        Self(
            sorted
                .map(|clusters| clusters.into_values().collect())
                .collect(),
        )
    }

    fn clusters(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The protocol's overall score: weighted mean per persona, plain mean over the personas.
    fn overall(&self) -> Option<f64> {
        let means: Vec<f64> = self.0.iter().map(|clusters| weighted(clusters)).collect();
        mean(&means)
    }

    /// What each cluster adds to the overall score: their sum.
    fn parts(&self) -> Vec<f64> {
        let personas = self.0.len() as f64;
        let parts = self.0.iter().flat_map(|clusters| {
            let weights = weights(clusters) * personas;
            clusters
                .iter()
                .map(move |cluster| cluster.weight * cluster.value / weights)
        });
        parts.collect()
    }

    /// A persona with one cluster looks as if it could not vary.
    fn spread_is_known(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|clusters| clusters.len() > 1)
    }

    /// Of the overall score, by linearisation of the weighted means (Cochran, Sampling Techniques, 1977). None
    /// if the spread is unknown or nothing varies.
    fn standard_error(&self) -> Option<f64> {
        if !self.spread_is_known() {
            return None;
        }
        let variance: f64 = self.0.iter().map(|clusters| variance(clusters)).sum();
        let error = variance.sqrt() / self.0.len() as f64;
        (error > TOLERANCE).then_some(error)
    }

    /// The middle 95% of the overall score over resamples: of each persona as many clusters as it has, with
    /// replacement.
    fn interval(&self, seed: u64) -> Option<Interval> {
        if !self.spread_is_known() {
            return None;
        }
        let mut draws = Draws::new(seed, Purpose::Bootstrap);
        let mut scores: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| self.resample(&mut draws).overall())
            .collect();
        scores.sort_by(f64::total_cmp);
        Some(Interval {
            low: percent(quantile(&scores, 0.025)),
            high: percent(quantile(&scores, 0.975)),
        })
    }

    fn resample(&self, draws: &mut Draws) -> Self {
        let strata = self.0.iter().map(|clusters| {
            let places = clusters.iter().map(|_| draws.below(clusters.len()));
            places.map(|place| clusters[place]).collect()
        });
        Self(strata.collect())
    }
}

fn weights(clusters: &[Cluster]) -> f64 {
    clusters.iter().map(|cluster| cluster.weight).sum()
}

fn weighted(clusters: &[Cluster]) -> f64 {
    let sum: f64 = clusters
        .iter()
        .map(|cluster| cluster.weight * cluster.value)
        .sum();
    sum / weights(clusters)
}

/// Of the weighted mean of at least two clusters.
fn variance(clusters: &[Cluster]) -> f64 {
    let (mean, weights) = (weighted(clusters), weights(clusters));
    let squares: f64 = clusters
        .iter()
        .map(|cluster| (cluster.weight / weights * (cluster.value - mean)).powi(2))
        .sum();
    let n = clusters.len() as f64;
    squares * n / (n - 1.0)
}

/// Of sorted values, interpolated linearly (Hyndman and Fan's type 7). There is at least one value.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor(), place.ceil());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to the number of values"
    )]
    let (below, above) = (sorted[low as usize], sorted[high as usize]);
    below + (above - below) * (place - low)
}

struct SignFlip {
    p_value: f64,
    exact: bool,
}

/// If neither side were better, each group's difference could as well have the other sign: the share of sign patterns
/// whose sum is at least as far from 0 as the sum of `parts`. Of drawn patterns, the one that was seen counts too
/// (Phipson and Smyth, 2010), so that no p-value is 0.
fn sign_flip(parts: &[f64], seed: u64) -> SignFlip {
    // A group without a difference has no sign to flip.
    let parts: Vec<f64> = parts.iter().copied().filter(|&part| part != 0.0).collect();
    let observed = parts.iter().sum::<f64>().abs();
    let as_far = |signs: &[u64]| u32::from(flipped(&parts, signs).abs() >= observed - TOLERANCE);
    if parts.len() <= EXACT_CLUSTERS {
        let patterns = 1_u32 << parts.len();
        let far: u32 = (0..patterns).map(|signs| as_far(&[u64::from(signs)])).sum();
        return SignFlip {
            p_value: f64::from(far) / f64::from(patterns),
            exact: true,
        };
    }
    let mut draws = Draws::new(seed, Purpose::SignFlip);
    let mut signs = vec![0; parts.len().div_ceil(BITS)];
    let mut far = 1;
    for _ in 0..PATTERNS {
        signs.fill_with(|| draws.bits());
        far += as_far(&signs);
    }
    SignFlip {
        p_value: f64::from(far) / f64::from(PATTERNS + 1),
        exact: false,
    }
}

/// The sum, with the parts negated whose bit is set.
fn flipped(parts: &[f64], signs: &[u64]) -> f64 {
    let words = parts.chunks(BITS).zip(signs);
    words
        .flat_map(|(parts, word)| {
            let signed = move |(bit, part): (usize, &f64)| match word >> bit & 1 {
                0 => *part,
                _ => -part,
            };
            parts.iter().enumerate().map(signed)
        })
        .sum()
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
