//! Mail goes to whoever is meant: an address of nobody that is somebody's but for a letter is a slip.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::problem::Report;
use crate::toml_file::Place;
use pibench_core::near::nearest;

/// The keys of a record that say whom it is from and to.
pub(super) const ENDS: [&str; 2] = ["from", "to"];

/// `people` are the addresses of all personas' people.
pub(super) fn check(
    apps: &BTreeMap<String, Value>,
    people: &[&str],
    root: &Place<'_>,
    report: &mut Report<'_>,
) {
    for (app, records) in apps {
        for (list, records) in records.as_object().into_iter().flatten() {
            let place = root.key("apps").key(app).key(list);
            for (index, record) in records.as_array().into_iter().flatten().enumerate() {
                for key in ENDS {
                    for address in texts(&record[key]) {
                        if let Some(near) = find_meant(address, people) {
                            report.warn(
                                place.index(index).key(key).span(),
                                format!("`{address}` is nobody's address, and very like `{near}`"),
                                "mend the address; who is somebody else can stand under `people`",
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A text, or those of a list.
pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    list.chain([value]).filter_map(Value::as_str)
}

/// Whose address an unknown one is but for a letter.
fn find_meant<'p>(address: &str, people: &[&'p str]) -> Option<&'p str> {
    // As the apps have it: the same address in whatever case.
    let own = address.trim().to_lowercase();
    let is_own = |person: &&str| person.to_lowercase() == own;
    if !own.contains('@') || people.iter().any(is_own) {
        return None;
    }
    let near = nearest(&own, people.iter().copied())?;
    differ_by_a_letter(&own, &near.to_lowercase()).then_some(near)
}

/// Whether a letter is another, too many or missing, or two stand the other way round.
fn differ_by_a_letter(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let alike = |(a, b): &(&char, &char)| a == b;
    let begin = one.iter().zip(&other).take_while(alike).count();
    let (one, other) = (&one[begin..], &other[begin..]);
    let ends = one.iter().rev().zip(other.iter().rev());
    let end = ends.take_while(alike).count();
    match (&one[..one.len() - end], &other[..other.len() - end]) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (one, other) => one.len().max(other.len()) == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_meant_to_be_another_if_one_letter_of_it_is_wrong() {
        let people = ["ida@vale.example", "bo@lund.example"];
        for wrong in [
            "idq@vale.example",
            "iida@vale.example",
            "ida@vale.exmple",
            "ida@vlae.example",
        ] {
            assert_eq!(find_meant(wrong, &people), Some("ida@vale.example"));
        }
        for other in [
            "ida@vale.example",
            "Ida@vale.example",
            "ada.vane@vale.example",
            "office@vale.example",
            "idea",
        ] {
            assert_eq!(find_meant(other, &people), None, "{other}");
        }
    }
}
