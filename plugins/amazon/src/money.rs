//! Amounts of US dollars, in whole cents. Dollars with decimals exist only where people and models read or write them.

use serde::{Deserialize, Serialize};

/// The highest price of a seed: 1,000,000.00. With it no sum of a full cart can overflow.
const MAX_PRICE: Cents = Cents(100_000_000);

/// An amount in cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Cents(pub u64);

impl Cents {
    /// For answers: `24.99`.
    pub(crate) fn dollars(self) -> f64 {
        self.0 as f64 / 100.0
    }

    pub(crate) fn times(self, quantity: u32) -> Self {
        Self(self.0 * u64::from(quantity))
    }

    /// Half a cent is rounded up.
    pub(crate) fn percent(self, percent: u32) -> Self {
        Self((self.0 * u64::from(percent) + 50) / 100)
    }
}

impl std::ops::Add for Cents {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::iter::Sum for Cents {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |sum, amount| sum + amount)
    }
}

/// An amount as seeds write it: dollars with at most two decimals.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Dollars(pub Cents);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        let text = format!("{dollars:.2}");
        let exact = text
            .parse::<f64>()
            .is_ok_and(|rounded| rounded.total_cmp(&dollars).is_eq());
        let cents = text.replace('.', "").parse().map(Cents).ok();
        cents
            .filter(|cents| exact && *cents <= MAX_PRICE)
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "{dollars} is no amount: from 0 to {}, at most two decimals",
                    MAX_PRICE.dollars()
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dollars: f64, expected: Option<u64>) {
        let cents = Dollars::try_from(dollars).ok().map(|amount| amount.0.0);
        assert_eq!(cents, expected, "{dollars}");
    }

    #[test]
    fn an_amount_of_a_seed_is_exact_to_the_cent() {
        check(0.0, Some(0));
        check(24.99, Some(2499));
        check(0.29, Some(29));
        check(1_000_000.0, Some(100_000_000));
        for wrong in [0.001, -0.01, -5.0, 1_000_000.01, 1e300, f64::NAN] {
            check(wrong, None);
        }
    }

    #[test]
    fn half_a_cent_is_rounded_up() {
        assert_eq!(Cents(50).percent(9), Cents(5));
        assert_eq!(Cents(49).percent(9), Cents(4));
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_back(cents in 0_u64..=100_000_000) {
            check(Cents(cents).dollars(), Some(cents));
        }
    }
}
