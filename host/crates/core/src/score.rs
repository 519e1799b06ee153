//! The two scores of one session: Proc from the statuses of its intents, Comp from the grades of its checklist (paper,
//! section 3.5). It never pools sessions and never grades. Scores are fractions, 0 to 1; [`percent`] is for people.

use std::iter::Sum;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::Status;
use crate::vocabulary::When;

/// How many intents stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IntentCounts {
    /// Satisfied without being stated.
    pub completed: u32,
    /// Answered to a targeted question.
    pub inferred: u32,
    /// Stated by the user unasked.
    pub provided: u32,
    /// Not terminal when the session ended: not proactive.
    pub open: u32,
}

impl IntentCounts {
    pub fn of(statuses: &[Status]) -> Self {
        let mut counts = Self::default();
        for status in statuses {
            *match status {
                Status::Completed => &mut counts.completed,
                Status::Inferred => &mut counts.inferred,
                Status::Provided => &mut counts.provided,
                Status::Open => &mut counts.open,
            } += 1;
        }
        counts
    }

    /// The intents that the agent resolved by itself: completed or inferred.
    pub fn covered(self) -> u32 {
        self.completed + self.inferred
    }

    pub fn total(self) -> u32 {
        self.completed + self.inferred + self.provided + self.open
    }

    /// Equation 3 over these intents: covered of all. A fraction; None without intents.
    pub fn proc(self) -> Option<f64> {
        match self.total() {
            0 => None,
            total => Some(f64::from(self.covered()) / f64::from(total)),
        }
    }
}

impl Add for IntentCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            inferred: self.inferred + other.inferred,
            provided: self.provided + other.provided,
            open: self.open + other.open,
        }
    }
}

impl Sum for IntentCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}

/// A checklist item's result in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemScore {
    pub id: String,
    /// Above 0.
    pub weight: f64,
    /// `s_k` of equation 4, over the turns that count.
    pub met: bool,
}

/// `s_k` of equation 4 from the item's grades, one per graded turn in order. Without any turn nothing is met.
pub fn met(when: When, grades: &[bool]) -> bool {
    match when {
        When::Ever => grades.contains(&true),
        When::End => grades.last() == Some(&true),
    }
}

/// Equation 4: the weight of what was met, of all. A fraction; None without a checklist.
pub fn comp(items: &[ItemScore]) -> Option<f64> {
    if items.is_empty() {
        return None;
    }
    let weigh = |counts: fn(&ItemScore) -> bool| -> f64 {
        let counted = items.iter().filter(|item| counts(item));
        // Not `sum`: of nothing it is -0.0, which people would read.
        counted.fold(0.0, |sum, item| sum + item.weight)
    };
    let all = weigh(|_| true);
    // Weights are above 0 by the task format; a sum that is not would make the score no number.
    (all > 0.0).then(|| weigh(|item| item.met) / all)
}

/// A fraction as people read it: 0 to 100.
pub fn percent(fraction: f64) -> f64 {
    fraction * 100.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(weight: f64, met: bool) -> ItemScore {
        ItemScore {
            id: "item".into(),
            weight,
            met,
        }
    }

    #[test]
    fn proc_counts_completed_and_inferred_of_all_four() {
        let statuses = [
            Status::Completed,
            Status::Completed,
            Status::Inferred,
            Status::Provided,
            Status::Open,
        ];
        let counts = IntentCounts::of(&statuses);
        let expected = IntentCounts {
            completed: 2,
            inferred: 1,
            provided: 1,
            open: 1,
        };
        assert_eq!(counts, expected);
        assert_eq!(counts.proc(), Some(0.6));
        assert_eq!(IntentCounts::default().proc(), None);
    }

    #[test]
    fn an_item_counts_at_its_best_turn_or_at_the_last() {
        for (grades, ever, end) in [
            (&[][..], false, false),
            (&[true, false], true, false),
            (&[false, true], true, true),
            (&[false, false], false, false),
        ] {
            assert_eq!(met(When::Ever, grades), ever, "{grades:?}");
            assert_eq!(met(When::End, grades), end, "{grades:?}");
        }
    }

    #[test]
    fn comp_weighs_its_items() {
        assert_eq!(comp(&[]), None);
        assert_eq!(comp(&[item(1.0, true), item(1.0, false)]), Some(0.5));
        assert_eq!(comp(&[item(3.0, true), item(1.0, false)]), Some(0.75));
        assert_eq!(comp(&[item(0.0, true)]), None);
        assert_eq!(comp(&[item(2.0, true)]).map(percent), Some(100.0));
    }

    #[test]
    fn counts_keep_their_names_in_json() {
        let json = serde_json::to_value(IntentCounts::of(&[Status::Inferred])).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"completed": 0, "inferred": 1, "provided": 0, "open": 0})
        );
    }

    proptest! {
        #[test]
        fn meeting_one_more_item_never_lowers_comp(
            items in prop::collection::vec((0.01..100.0_f64, any::<bool>()), 1..20),
            at in any::<prop::sample::Index>(),
        ) {
            let before: Vec<_> = items.iter().map(|&(weight, met)| item(weight, met)).collect();
            let mut after = before.clone();
            at.get_mut(&mut after).met = true;
            let (before, after) = (comp(&before).unwrap(), comp(&after).unwrap());
            prop_assert!((0.0..=1.0 + 1e-12).contains(&before));
            prop_assert!(after >= before);
        }

        #[test]
        fn one_more_turn_never_takes_an_ever_item_away(grades in prop::collection::vec(any::<bool>(), 0..10), more in any::<bool>()) {
            let before = met(When::Ever, &grades);
            let after = met(When::Ever, &[grades, vec![more]].concat());
            prop_assert!(after >= before);
            prop_assert_eq!(after, before || more);
        }
    }
}
