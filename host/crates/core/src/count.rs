//! Numbers of things, in words.

use std::fmt::Display;

/// `1 session`, `2 sessions`: of a noun that takes an s.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let counts = [0_usize, 1, 2].map(|number| count(number, "rule verdict"));
        assert_eq!(
            counts,
            ["0 rule verdicts", "1 rule verdict", "2 rule verdicts"]
        );
    }
}
