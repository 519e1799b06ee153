//! Money: what tokens cost at a price. Whole millionths of a US dollar, so that sums are exact and the same everywhere.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount in millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// The nearest amount; nothing for what is negative or no number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that does not fit is the nearest whole number that does"
    )]
    pub fn from_usd(usd: f64) -> Self {
        Self((usd * 1e6).round() as u64)
    }

    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl std::ops::AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl fmt::Display for MicroUsd {
    /// Cents, and four places below ten cents: single calls cost less than a cent.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.0 < 100_000 { 4 } else { 2 };
        write!(formatter, "{:.places$} USD", self.usd())
    }
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Input that the provider had cached. Absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Input that the provider put into its cache. Absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Thinking is paid as output.
    pub output: f64,
}

/// The tokens of a call. Each counts in one place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokens {
    /// Neither read from a cache nor written to one.
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
}

impl Price {
    /// What the tokens cost. A price of so many dollars per million is as many millionths for each.
    pub fn of(&self, tokens: Tokens) -> MicroUsd {
        let Self {
            input,
            cached,
            cache_write,
            output,
        } = *self;
        let micro = tokens.input as f64 * input
            + tokens.cached as f64 * cached.unwrap_or(input)
            + tokens.cache_write as f64 * cache_write.unwrap_or(input)
            + tokens.output as f64 * output;
        MicroUsd::from_usd(micro / 1e6)
    }

    /// Whether no token costs anything.
    pub fn is_nothing(&self) -> bool {
        let parts = [Some(self.input), self.cached, self.cache_write];
        let mut parts = parts.into_iter().flatten().chain([self.output]);
        parts.all(|part| part == 0.0)
    }

    /// Whether every part is a number that a price can be.
    pub fn is_sound(&self) -> bool {
        let parts = [
            Some(self.input),
            self.cached,
            self.cache_write,
            Some(self.output),
        ];
        parts
            .into_iter()
            .flatten()
            .all(|part| part.is_finite() && part >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 2.5,
        cached: Some(0.25),
        cache_write: None,
        output: 15.0,
    };

    fn check(tokens: Tokens, expected: u64) {
        assert_eq!(PRICE.of(tokens), MicroUsd(expected), "{tokens:?}");
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        check(
            Tokens {
                input: 1_000,
                ..Tokens::default()
            },
            2_500,
        );
        check(
            Tokens {
                cached: 1_000,
                ..Tokens::default()
            },
            250,
        );
        check(
            Tokens {
                cache_write: 1_000,
                ..Tokens::default()
            },
            2_500,
        );
        check(
            Tokens {
                output: 1_000,
                ..Tokens::default()
            },
            15_000,
        );
        check(Tokens::default(), 0);
    }

    #[test]
    fn amounts_read_as_dollars() {
        assert_eq!(MicroUsd(1_234).to_string(), "0.0012 USD");
        assert_eq!(MicroUsd(12_345_678).to_string(), "12.35 USD");
        assert_eq!(MicroUsd::from_usd(0.5), MicroUsd(500_000));
        assert_eq!(MicroUsd::from_usd(-1.0), MicroUsd(0));
        assert_eq!(MicroUsd::from_usd(f64::NAN), MicroUsd(0));
    }

    #[test]
    fn a_price_is_a_number() {
        assert!(PRICE.is_sound());
        for part in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(
                !Price {
                    output: part,
                    ..PRICE
                }
                .is_sound()
            );
        }
    }
}
