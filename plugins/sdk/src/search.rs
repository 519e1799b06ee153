//! Full-text search over a handful of texts: stemmed terms, any of which may match, ranked by BM25.
//!
//! There is no index: an app's world is small, and a state without an index needs no care in snapshots.

use std::collections::BTreeMap;

use rust_stemmers::{Algorithm, Stemmer};

/// BM25's usual constants: how fast repetition saturates, and how much a long text is held back.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Words that stand in nearly every text. They are left out of a query that has others.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "i",
    "in", "is", "it", "me", "my", "of", "on", "or", "our", "that", "the", "this", "to", "was",
    "we", "were", "with", "you", "your",
];

/// The indices of the texts that hold at least one of the query's terms, best first, equals in their order.
pub fn rank<T: AsRef<str>>(query: &str, texts: &[T]) -> Vec<usize> {
    let stemmer = Stemmer::create(Algorithm::English);
    let terms = query_terms(&stemmer, query);
    if terms.is_empty() {
        return Vec::new();
    }
    let texts: Vec<Counted> = texts
        .iter()
        .map(|text| Counted::new(&stemmer, text.as_ref(), &terms))
        .collect();
    let scores = score(&texts, terms.len());
    let mut hits: Vec<usize> = (0..texts.len())
        .filter(|index| scores[*index] > 0.0)
        .collect();
    hits.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    hits
}

/// How often each of the query's terms stands in a text.
struct Counted {
    of_term: Vec<u32>,
    words: u32,
}

impl Counted {
    fn new(stemmer: &Stemmer, text: &str, terms: &BTreeMap<String, usize>) -> Self {
        let mut counted = Self {
            of_term: vec![0; terms.len()],
            words: 0,
        };
        for word in words(text) {
            counted.words += 1;
            if let Some(term) = terms.get(stemmer.stem(&word).as_ref()) {
                counted.of_term[*term] += 1;
            }
        }
        counted
    }
}

fn score(texts: &[Counted], terms: usize) -> Vec<f64> {
    let total = texts.len() as f64;
    let words: f64 = texts.iter().map(|text| f64::from(text.words)).sum();
    let mean = (words / total).max(1.0);
    let rarity: Vec<f64> = (0..terms)
        .map(|term| {
            let holding = texts.iter().filter(|text| text.of_term[term] > 0).count() as f64;
            (1.0 + (total - holding + 0.5) / (holding + 0.5)).ln()
        })
        .collect();
    let one = |text: &Counted| {
        let length = K1 * (1.0 - B + B * f64::from(text.words) / mean);
        let counts = text.of_term.iter().map(|count| f64::from(*count));
        counts
            .zip(&rarity)
            .map(|(count, rarity)| rarity * count * (K1 + 1.0) / (count + length))
            .sum()
    };
    texts.iter().map(one).collect()
}

/// The query's stems, each with a number of its own.
fn query_terms(stemmer: &Stemmer, query: &str) -> BTreeMap<String, usize> {
    let all: Vec<String> = words(query).collect();
    let telling = all.iter().any(|word| !is_stop_word(word));
    let mut terms = BTreeMap::new();
    for word in all.iter().filter(|word| !telling || !is_stop_word(word)) {
        let number = terms.len();
        terms
            .entry(stemmer.stem(word).into_owned())
            .or_insert(number);
    }
    terms
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Runs of letters and digits in lower case; where a script has no blanks between words, each character.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .flat_map(|run| {
            if run.chars().any(is_ideograph) {
                run.chars().map(|c| c.to_lowercase().to_string()).collect()
            } else {
                vec![run.to_lowercase()]
            }
        })
}

/// Chinese characters and the Japanese syllabaries.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{2ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] = [
        "Minutes of the board meeting",
        "Meetings: meet, met, meeting the meeting",
        "Groceries for the weekend",
        "今天开会",
    ];

    fn check(query: &str, expected: &[usize]) {
        assert_eq!(rank(query, &TEXTS), expected, "{query}");
    }

    #[test]
    fn words_match_in_every_inflection_and_the_best_comes_first() {
        check("meetings", &[1, 0]);
        check("MEETING", &[1, 0]);
    }

    #[test]
    fn one_term_of_several_is_enough() {
        check("groceries board zebra", &[2, 0]);
    }

    #[test]
    fn what_does_not_match_is_left_out() {
        check("zebra", &[]);
        check("?!", &[]);
        check("", &[]);
    }

    #[test]
    fn a_stop_word_matches_only_when_it_is_all_there_is() {
        check("the groceries", &[2]);
        check("the", &[2, 0, 1]);
    }

    #[test]
    fn characters_without_blanks_between_are_words() {
        check("开会", &[3]);
    }

    #[test]
    fn no_texts_have_no_hits() {
        assert!(rank::<&str>("x", &[]).is_empty());
    }
}
