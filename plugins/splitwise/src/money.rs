//! Money: whole cents inside, decimal numbers outside. A number is rounded when it comes in, and never after.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An amount from 0.00 to [`Money::MAX`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub(crate) struct Money(i64);

impl Money {
    /// A thousand million: sums stay far below what a double holds exactly.
    pub(crate) const MAX: Self = Self(100_000_000_000);

    /// For the world's rows.
    pub(crate) const fn constant(cents: i64) -> Self {
        Self(cents)
    }

    pub(crate) fn cents(self) -> i64 {
        self.0
    }

    /// One share for each of `people`, which together are this amount: the cents that do not divide go to the first.
    pub(crate) fn in_equal_shares(self, people: usize) -> Vec<Self> {
        let count = i64::try_from(people).unwrap_or(i64::MAX).max(1);
        let (share, rest) = (self.0 / count, self.0 % count);
        let of = |index| Self(share + i64::from(index < rest));
        (0..count).take(people).map(of).collect()
    }
}

impl TryFrom<f64> for Money {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, String> {
        if !(0.0..=Self::MAX.into()).contains(&amount) {
            return Err(format!(
                "an amount must be from 0 to {}, not {amount}",
                Self::MAX
            ));
        }
        let cents = (amount * 100.0).round();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the bounds"
        )]
        let cents = cents as i64;
        Ok(Self(cents))
    }
}

impl From<Money> for f64 {
    fn from(money: Money) -> Self {
        decimal(money.0)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl JsonSchema for Money {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Money".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": Self::MAX.0 / 100})
    }
}

/// Cents as the decimal number that stands for them: the nearest double, which prints with two decimals at most.
pub(crate) fn decimal(cents: i64) -> f64 {
    cents as f64 / 100.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(amount: f64, expected: Result<i64, &str>) {
        let read = Money::try_from(amount).map(Money::cents);
        assert_eq!(read, expected.map_err(str::to_owned), "{amount}");
    }

    #[test]
    fn whole_cents_are_read_as_they_are() {
        check(0.0, Ok(0));
        check(19.99, Ok(1999));
        check(0.1 + 0.2, Ok(30));
        check(1e9, Ok(100_000_000_000));
    }

    #[test]
    fn parts_of_a_cent_are_rounded() {
        check(33.333, Ok(3333));
        check(66.666_666, Ok(6667));
        check(0.004, Ok(0));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        check(
            -0.01,
            Err("an amount must be from 0 to 1000000000.00, not -0.01"),
        );
        check(
            f64::NAN,
            Err("an amount must be from 0 to 1000000000.00, not NaN"),
        );
        assert!(Money::try_from(1e300).is_err());
    }

    #[test]
    fn nobody_has_no_share() {
        assert_eq!(Money(5).in_equal_shares(0), []);
    }

    proptest! {
        #[test]
        fn every_amount_survives_being_written(cents in 0..=Money::MAX.0) {
            let text = serde_json::to_string(&Money(cents)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Money>(&text).unwrap(), Money(cents));
        }

        #[test]
        fn equal_shares_lose_no_cent_and_differ_by_one_at_most(cents in 0..=Money::MAX.0, people in 1..200_usize) {
            let shares = Money(cents).in_equal_shares(people);
            prop_assert_eq!(shares.len(), people);
            prop_assert_eq!(shares.iter().map(|share| share.cents()).sum::<i64>(), cents);
            prop_assert!(shares.is_sorted_by(|a, b| a >= b) && shares[0].0 - shares[people - 1].0 <= 1);
        }
    }
}
