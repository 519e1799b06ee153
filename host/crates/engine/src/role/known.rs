//! The item whose answer is known: one that nobody who reads the evidence can say yes to, in the wording of the session's
//! own matter, so that no text can tell a judge which one it is. Deterministic; what a judge says to it is `questions`'.
//!
//! First choice: an item of the list with another value, which stands nowhere in the evidence. Second: what another
//! session of the user asks for, if the names and numbers in it stand nowhere in the evidence. Else a made-up reference.

use std::collections::HashSet;

use super::evidence::TurnEvidence;
use super::fence::{Nonce, one_line};

/// Digits from which a number is looked for as a part of others, too.
const DIGITS: usize = 3;

/// Characters of an item that is used.
const LONGEST: usize = 240;

/// How the tens are written in words.
const TENS: [&str; 10] = [
    "zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// Days that every month has.
const DAYS: u8 = 28;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Letters from which a word names a matter, and by which words are compared: endings differ.
const STEM: usize = 5;

/// Draws of another value before the next item is tried.
const DRAWS: u8 = 20;

/// With one of these an item may be true of work that lacks its words or values: it denies, compares, gives reasons,
/// examples or a choice.
const OPEN: [&str; 48] = [
    "about", "above", "after", "although", "around", "as", "at", "because", "before", "below",
    "between", "but", "either", "else", "example", "except", "fewer", "if", "least", "less",
    "like", "missing", "more", "most", "neither", "never", "no", "nobody", "none", "nor", "not",
    "nothing", "only", "or", "over", "rather", "since", "so", "such", "than", "though", "under",
    "unless", "until", "when", "whether", "within", "without",
];

/// What the list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whether something was done.
    Work,
    /// Whether a message asks for something. Whoever asks for a value asks for any value, so only another matter will do.
    Question,
}

/// The text of the item.
pub(crate) fn item(evidence: &TurnEvidence, texts: &[&str], asks: Asks, nonce: &Nonce) -> String {
    let ground = Ground::new(evidence, texts);
    let texts = texts.iter().map(|text| one_line(text));
    let varied = texts.filter(|_| asks == Asks::Work);
    let varied = varied.filter_map(|text| ground.varied(&text, nonce));
    let fits = |text: &String| {
        ground.lacks(text) && (asks == Asks::Work || is_other_matter(text, evidence.said()))
    };
    let elsewhere = evidence.background.elsewhere.iter();
    let foreign = elsewhere.map(|text| one_line(text)).filter(fits);
    let by_draw = |text: &String| draw(nonce, text, 0);
    let found = varied.min_by_key(by_draw);
    let found = found.or_else(|| foreign.min_by_key(by_draw));
    ended_as(&found.unwrap_or_else(|| coined(nonce)), &ground.stops)
}

/// A text with a full stop or without, as most of the others.
fn ended_as(text: &str, stops: &Stops) -> String {
    let bare = text.trim_end().trim_end_matches('.');
    match stops {
        Stops::Most => format!("{bare}."),
        Stops::Few => bare.to_owned(),
    }
}

/// How many of the list's texts end with a full stop.
enum Stops {
    Most,
    Few,
}

impl Stops {
    fn of(texts: &[&str]) -> Self {
        let stopped = texts.iter().filter(|text| text.trim_end().ends_with('.'));
        if 2 * stopped.count() > texts.len() {
            Self::Most
        } else {
            Self::Few
        }
    }
}

/// All that is shown and asked, in lower case, and its digits without what may stand between those of one number.
struct Ground {
    text: String,
    digits: String,
    stops: Stops,
}

impl Ground {
    fn new(evidence: &TurnEvidence, texts: &[&str]) -> Self {
        let mut text = texts.join("\n").to_lowercase();
        evidence.texts(|shown| {
            text.push('\n');
            text.push_str(&shown.to_lowercase());
        });
        text.push_str(&evidence.background.user.to_lowercase());
        let between = |one: char| {
            matches!(
                one,
                '.' | ',' | '\'' | '’' | '_' | ' ' | '\u{a0}' | '\u{202f}'
            )
        };
        Self {
            digits: text.chars().filter(|&one| !between(one)).collect(),
            text,
            stops: Stops::of(texts),
        }
    }

    /// The same requirement with another value, which stands nowhere. A text of several parts is left alone: the value may
    /// stand in one that is only a reason.
    fn varied(&self, text: &str, nonce: &Nonce) -> Option<String> {
        if !is_plain(text) || text.contains(", ") || text.contains(": ") {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().map(bare).collect();
        let place = words.iter().rposition(|word| is_value(word))?;
        let value = words[place];
        if is_day(&words, place) {
            let mut days = (1..=DRAWS).map(|time| 1 + draw(nonce, text, time)[0] % DAYS);
            let day = days.find(|day| !self.has_day(*day))?.to_string();
            let at = text.rfind(value)?;
            return Some([&text[..at], &day, &text[at + value.len()..]].concat());
        }
        let mut others = (1..=DRAWS).map(|time| redrawn(value, &draw(nonce, text, time)));
        let other = others.find(|other| self.has_not(other))?;
        let at = text.rfind(value)?;
        Some([&text[..at], &other, &text[at + value.len()..]].concat())
    }

    /// Whether a value stands nowhere: a short number by itself and in words, any other as a part of anything.
    fn has_not(&self, value: &str) -> bool {
        let whole = value.split('.').next().unwrap_or(value);
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        if whole.chars().any(char::is_alphabetic) {
            return !self.text.contains(&value.to_lowercase());
        }
        if digits.len() >= DIGITS {
            return !self.digits.contains(&digits);
        }
        let mut runs = self.text.split(|one: char| !one.is_ascii_digit());
        let tens = digits
            .parse::<usize>()
            .ok()
            .and_then(|number| TENS.get(number / 10));
        runs.all(|run| run != digits) && tens.is_some_and(|word| !self.text.contains(word))
    }

    /// Whether a number from 1 to 31 stands anywhere, with or without a zero before it.
    fn has_day(&self, day: u8) -> bool {
        let mut runs = self.text.split(|one: char| !one.is_ascii_digit());
        runs.any(|run| run.trim_start_matches('0') == day.to_string())
    }

    /// Whether a text has names or numbers, and none of them stands anywhere.
    fn lacks(&self, text: &str) -> bool {
        let marks = marks(text);
        is_plain(text) && !marks.is_empty() && marks.iter().all(|mark| !self.text.contains(mark))
    }
}

/// Whether a text holds one thing that has to be so, and nothing that opens it.
fn is_plain(text: &str) -> bool {
    let text = text.trim();
    let one_sentence = !text
        .trim_end_matches('.')
        .contains(['(', ';', '?', '!', '\n', '<', '>'])
        && !text.trim_end_matches('.').contains(". ");
    let words = words(text);
    one_sentence
        && text.chars().count() <= LONGEST
        && !words.iter().any(|word| OPEN.contains(&word.as_str()))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|one: char| !one.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// A word without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|one: char| !one.is_alphanumeric())
}

/// Whether the number at a place is the day of a month that stands beside it.
fn is_day(words: &[&str], place: usize) -> bool {
    let day = words[place]
        .parse()
        .is_ok_and(|day: u8| (1..=31).contains(&day));
    let beside = [place.checked_sub(1), Some(place + 1)];
    let mut beside = beside.iter().flatten().filter_map(|at| words.get(*at));
    day && beside.any(|word| MONTHS.contains(&word.to_lowercase().as_str()))
}

/// Whether a word is a number, or a name with a number in it, and no year, date or time.
fn is_value(word: &str) -> bool {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let number = word
        .chars()
        .all(|one| one.is_ascii_digit() || one == '.' || one == ',');
    let shaped = number || !word.contains(['.', ',']);
    word.ends_with(|one: char| one.is_ascii_digit())
        && shaped
        && !is_year
        && !word.contains([':', '-'])
        && word.matches('.').count() < 2
}

/// Another value of the same shape: of a number the part before the point, of a name the digits at its end.
fn redrawn(value: &str, drawn: &[u8; 32]) -> String {
    let (whole, rest) = value.split_at(value.find('.').unwrap_or(value.len()));
    let is_digit = |one: char| one.is_ascii_digit() || one == ',';
    let head = whole.trim_end_matches(is_digit);
    let number = &whole[head.len()..];
    if number.chars().filter(char::is_ascii_digit).count() < DIGITS {
        // From 23 up: below it, numbers stand in any text.
        let short = 23 + drawn[0] % 75;
        return format!("{head}{short}{rest}");
    }
    let digits = number.chars().zip(drawn).enumerate();
    let digit = |(at, (one, byte)): (usize, (char, &u8))| match (one, at) {
        (',', _) => one,
        (_, 0) => char::from(b'1' + byte % 9),
        _ => char::from(b'0' + byte % 10),
    };
    format!("{head}{}{rest}", digits.map(digit).collect::<String>())
}

/// What in a text is particular: words with a digit, and names. In lower case.
fn marks(text: &str) -> HashSet<String> {
    let mut marks = HashSet::new();
    let mut begins = true;
    for word in text.split_whitespace() {
        let begun = begins;
        begins = word.ends_with([':', '.', '"', '`']);
        let bare = bare(word);
        let has_digit = bare.chars().any(|one| one.is_ascii_digit());
        let is_name = !begun && bare.chars().next().is_some_and(char::is_uppercase);
        let long_enough = bare.chars().count() >= DIGITS;
        if long_enough && (has_digit || is_name) {
            marks.insert(bare.trim_end_matches("'s").to_lowercase());
        }
    }
    marks
}

/// Whether a message has no word of a text's matter, so that it cannot ask for it.
fn is_other_matter(text: &str, message: &str) -> bool {
    let stems = |text: &str| -> HashSet<String> {
        let long = words(text)
            .into_iter()
            .filter(|word| word.chars().count() >= STEM);
        long.map(|word| word.chars().take(STEM).collect()).collect()
    };
    let matter = stems(text);
    !matter.is_empty() && matter.is_disjoint(&stems(message))
}

fn draw(nonce: &Nonce, text: &str, time: u8) -> [u8; 32] {
    let mut hasher =
        blake3::Hasher::new_derive_key("pibench-host item whose answer is known, version 3");
    hasher.update(nonce.to_string().as_bytes());
    hasher.update(&[time]);
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Nobody can have done this: the reference is drawn from all texts that are shown.
fn coined(nonce: &Nonce) -> String {
    let [first, second, third, ..] = draw(nonce, "", 0);
    format!("The work names {first:02X}{second:02X}{third:02X} as its file reference.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::tests::evidence;
    use pibench_core::vocabulary::Protocol;

    fn known(said: &str, texts: &[&str], elsewhere: &[&str], asks: Asks) -> String {
        let mut turn = evidence(Protocol::Paper, said);
        let background = std::sync::Arc::make_mut(&mut turn.background);
        background.elsewhere = elsewhere.iter().map(ToString::to_string).collect();
        item(&turn, texts, asks, &Nonce::new(7))
    }

    #[test]
    fn an_item_of_the_list_gets_another_value() {
        let text = "The first year costs 9036.00 with the kitchen";
        let varied = known("Done: 9036.00.", &[text], &[], Asks::Work);
        assert_ne!(varied, text);
        let (head, rest) = varied.split_at("The first year costs ".len());
        assert_eq!(head, "The first year costs ");
        assert!(rest.ends_with(".00 with the kitchen"), "{varied}");
        assert_eq!(rest.find('.'), Some(4), "{varied}");
        // Drawn anew for each prompt, and the same for the same one.
        assert_eq!(varied, known("Done: 9036.00.", &[text], &[], Asks::Work));
    }

    #[test]
    fn a_value_that_stands_anywhere_is_not_used() {
        let text = "It costs 412 a month";
        let numbers = |numbers: std::ops::Range<u32>| {
            let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
            texts.join(" ")
        };
        assert!(
            known(&numbers(100..1000), &[text], &[], Asks::Work).contains("as its file reference")
        );
        let short = "Table 4 has a note";
        assert!(
            known(&numbers(0..100), &[short], &[], Asks::Work).contains("as its file reference")
        );
        let words = "twenty thirty forty fifty sixty seventy eighty ninety";
        assert!(known(words, &[short], &[], Asks::Work).contains("as its file reference"));
    }

    #[test]
    fn values_keep_their_shape() {
        for (text, shape) in [
            (
                "The total is GBP 21,335",
                r"^The total is GBP [1-9]\d,\d{3}$",
            ),
            (
                "The wet wall in L11 is named",
                r"^The wet wall in L\d\d is named$",
            ),
            (
                "The sheet TO1/8 is marked.",
                r"^The sheet TO1/\d\d is marked\.$",
            ),
            ("Table 4 has a note", r"^Table \d\d has a note$"),
            (
                "The claim comes to 386.40",
                r"^The claim comes to [1-9]\d\d\.40$",
            ),
        ] {
            let found = known("Done.", &[text], &[], Asks::Work);
            assert!(
                regex::Regex::new(shape).unwrap().is_match(&found),
                "{found}"
            );
            assert_ne!(found, text);
        }
    }

    #[test]
    fn a_day_of_a_month_stays_one_and_stands_nowhere() {
        for text in ["The hearing is on 9 June", "The hearing is on June 9"] {
            let found = known("Days 1 to 7, and 02.", &[text], &[], Asks::Work);
            let day: u8 = words(&found)
                .iter()
                .find_map(|word| word.parse().ok())
                .unwrap_or_else(|| panic!("{found}"));
            assert!((8..=28).contains(&day) && day != 9, "{found}");
            assert_eq!(found.replace(&day.to_string(), "9"), text);
        }
        let all: Vec<String> = (1..=31).map(|day| day.to_string()).collect();
        let found = known(&all.join(" "), &["It is on 9 June"], &[], Asks::Work);
        assert!(found.contains("as its file reference"), "{found}");
    }

    #[test]
    fn it_ends_as_the_others_do() {
        let elsewhere = ["The kitchen is settled with Ada Quill."];
        let found = known("Done.", &["It is dated"], &elsewhere, Asks::Work);
        assert_eq!(found, "The kitchen is settled with Ada Quill");
        let without = ["The kitchen is settled with Ada Quill"];
        let found = known("Done.", &["It is dated."], &without, Asks::Work);
        assert_eq!(found, "The kitchen is settled with Ada Quill.");
    }

    #[test]
    fn what_may_be_true_without_its_value_is_left_alone() {
        for text in [
            "It costs at most 412 a month",
            "No fee of 412 is paid",
            "The one for 412, since 380 is gone",
            "Boxes hold 2,000 characters, three parts fit",
            "The note is of 2026",
            "It is due at 10:30",
            "It is dated 2026-05-11",
            "It is short. It has 412 words.",
        ] {
            let found = known("Done.", &[text], &[], Asks::Work);
            assert!(found.contains("as its file reference"), "{text}: {found}");
        }
    }

    #[test]
    fn another_sessions_matter_is_used_only_where_none_of_it_is_shown() {
        let elsewhere = ["The kitchen is settled with Ada Quill."];
        let found = known(
            "The mail is sent.",
            &["It is dated."],
            &elsewhere,
            Asks::Work,
        );
        assert_eq!(found, elsewhere[0]);
        let found = known("Written to Ada.", &["It is dated."], &elsewhere, Asks::Work);
        assert!(found.contains("as its file reference"), "{found}");
        let found = known(
            "Is the kitchen done?",
            &["It is dated."],
            &elsewhere,
            Asks::Question,
        );
        assert!(found.contains("as its file reference"), "{found}");
        let vague = ["The mail is polite."];
        let found = known("Sent.", &["It is dated."], &vague, Asks::Work);
        assert!(found.contains("as its file reference"), "{found}");
    }

    #[test]
    fn a_value_asked_for_is_never_an_items_own() {
        let found = known(
            "When is it?",
            &["It costs 412 a month"],
            &[],
            Asks::Question,
        );
        assert!(found.contains("as its file reference"), "{found}");
    }
}
