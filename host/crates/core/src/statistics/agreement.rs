//! How far two raters agree over the same things: the rate of disagreement with an interval, and Cohen's kappa, which
//! takes off the agreement that chance alone would give (Cohen 1960).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Interval;
use super::draw::{Draws, Purpose};

/// Resamples for the interval.
const RESAMPLES: usize = 2_000;

/// One thing as both rated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rating<T> {
    pub first: T,
    pub second: T,
}

/// What two raters' ratings come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    pub judgements: usize,
    pub disagreements: usize,
    /// Share of disagreements, in percent.
    pub rate: f64,
    /// 95 %, by resampling sessions: the judgements of one session hang together.
    pub interval: Interval,
    /// 1 is full agreement, 0 what chance gives; None when both always gave the same rating.
    pub kappa: Option<f64>,
}

/// The agreement over sessions, each with its ratings; None without any.
pub fn agreement<T: Ord + Copy>(sessions: &[Vec<Rating<T>>], seed: u64) -> Option<Agreement> {
    let counts: Vec<(usize, usize)> = sessions.iter().map(|session| count(session)).collect();
    let (disagreements, judgements) = sum(counts.iter().copied());
    let rate = share(disagreements, judgements)?;
    let mut sample = Draws::new(seed, Purpose::Bootstrap);
    let mut rates: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn = (0..counts.len()).map(|_| counts[sample.below(counts.len())]);
            let (disagreements, judgements) = sum(drawn);
            share(disagreements, judgements)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let at = |percent: usize| rates[(rates.len() - 1) * percent / 1_000];
    Some(Agreement {
        judgements,
        disagreements,
        rate,
        interval: Interval {
            low: at(25),
            high: at(975),
        },
        kappa: kappa(sessions),
    })
}

fn count<T: PartialEq>(session: &[Rating<T>]) -> (usize, usize) {
    let differ = session.iter().filter(|one| one.first != one.second);
    (differ.count(), session.len())
}

fn sum(counts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

fn share(part: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| 100.0 * part as f64 / of as f64)
}

fn kappa<T: Ord + Copy>(sessions: &[Vec<Rating<T>>]) -> Option<f64> {
    let (mut firsts, mut seconds) = (BTreeMap::new(), BTreeMap::new());
    let ratings = sessions.iter().flatten();
    for Rating { first, second } in ratings.clone() {
        *firsts.entry(*first).or_insert(0_usize) += 1;
        *seconds.entry(*second).or_insert(0_usize) += 1;
    }
    let total = ratings.clone().count() as f64;
    let agreed = ratings.filter(|one| one.first == one.second).count() as f64 / total;
    let by_chance: f64 = firsts
        .iter()
        .map(|(rating, &count)| {
            let other = seconds.get(rating).copied().unwrap_or(0);
            (count as f64 / total) * (other as f64 / total)
        })
        .sum();
    (by_chance < 1.0).then(|| (agreed - by_chance) / (1.0 - by_chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratings(pairs: &[(bool, bool, usize)]) -> Vec<Rating<bool>> {
        let all = pairs.iter().flat_map(|&(first, second, count)| {
            std::iter::repeat_n(Rating { first, second }, count)
        });
        all.collect()
    }

    #[test]
    fn cohens_example_is_met() {
        // 20 both yes, 5 only the first, 10 only the second, 15 both no: kappa 0.4.
        let session = ratings(&[
            (true, true, 20),
            (true, false, 5),
            (false, true, 10),
            (false, false, 15),
        ]);
        let found = agreement(&[session], 1).unwrap();
        assert_eq!((found.judgements, found.disagreements), (50, 15));
        assert!((found.rate - 30.0).abs() < 1e-12);
        assert!((found.kappa.unwrap() - 0.4).abs() < 1e-12);
        // One session says nothing of the spread between sessions.
        assert_eq!((found.interval.low, found.interval.high), (30.0, 30.0));
    }

    #[test]
    fn full_agreement_has_no_disagreement() {
        let sessions = [ratings(&[(true, true, 3)]), ratings(&[(false, false, 2)])];
        let found = agreement(&sessions, 1).unwrap();
        assert_eq!((found.disagreements, found.kappa), (0, Some(1.0)));
        assert_eq!(
            agreement(&[ratings(&[(true, true, 3)])], 1).unwrap().kappa,
            None
        );
    }

    #[test]
    fn the_interval_holds_the_rate_and_follows_from_the_seed() {
        let sessions: Vec<_> = (0..40)
            .map(|at| ratings(&[(true, true, 9), (true, at % 4 != 0, 1)]))
            .collect();
        let found = agreement(&sessions, 7).unwrap();
        let Interval { low, high } = found.interval;
        assert!(low < found.rate && found.rate < high, "{found:?}");
        assert_eq!(agreement(&sessions, 7), Some(found));
    }

    #[test]
    fn nothing_rated_is_no_agreement() {
        assert_eq!(agreement::<bool>(&[], 1), None);
        assert_eq!(agreement::<bool>(&[Vec::new()], 1), None);
    }
}
