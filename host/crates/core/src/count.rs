//! Numbers of things, in words.

use std::fmt::Display;

/// `1 session`, `2 sessions`: of a noun that takes an s.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// `a, b, 3 more`: the first names of many.
pub fn list_first<T: Display>(names: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(most).map(|name| name.to_string());
    let mut listed: Vec<String> = first.collect();
    let more = names.count();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_up_to_a_bound() {
        let listed = [0, 2, 3, 5].map(|names| list_first(1..=names, 3));
        assert_eq!(listed, ["", "1, 2", "1, 2, 3", "1, 2, 3, 2 more"]);
    }

    #[test]
    fn one_is_no_plural() {
        let counts = [0_usize, 1, 2].map(|number| count(number, "rule verdict"));
        assert_eq!(
            counts,
            ["0 rule verdicts", "1 rule verdict", "2 rule verdicts"]
        );
    }
}
