//! Full-text search over a handful of texts: stemmed terms, any of which may match, ranked by BM25.
//!
//! [`rank`] needs no preparation, which is enough for a few texts. What is searched again and again while single records
//! change, such as a mailbox, keeps the [`Words`] of each record (the SDK's `Layer::words` does); what is large and seldom
//! changed, such as a catalogue, has an [`Index`]. Neither is ever part of a snapshot.
//!
//! Apps search their records with it, as `pibench_sdk::search`, and the host the suite's web. It reads no file and
//! knows neither.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use fnv::FnvHashMap;
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
    let initials: Vec<char> = terms.keys().filter_map(|term| initial(term)).collect();
    let texts: Vec<Counted> = texts
        .iter()
        .map(|text| Counted::new(&stemmer, text.as_ref(), &terms, &initials))
        .collect();
    best_first(&score(&texts, terms.len()))
}

/// The words of a text, counted once.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// How often each stem stands in the text, by ascending [`Stems::number`].
    stems: Vec<(u32, u32)>,
    count: u32,
}

impl Words {
    pub fn of(text: &str) -> Self {
        let mut numbers: Vec<u32> =
            STEMS.with_borrow_mut(|stems| words(text).map(|word| stems.number(word)).collect());
        numbers.sort_unstable();
        let mut stems: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match stems.last_mut() {
                Some((stem, times)) if *stem == number => *times += 1,
                _ => stems.push((number, 1)),
            }
        }
        let count = stems.iter().map(|(_, times)| times).sum();
        Self { stems, count }
    }

    fn times(&self, stem: u32) -> u32 {
        let found = self.stems.binary_search_by_key(&stem, |(stem, _)| *stem);
        found.map_or(0, |place| self.stems[place].1)
    }
}

/// As [`rank`], of texts whose words are counted: each is in parts, of which none ends within a word.
pub fn rank_counted(query: &str, texts: &[Vec<Rc<Words>>]) -> Vec<usize> {
    let terms = numbered_terms(query);
    let counted = |parts: &Vec<Rc<Words>>| {
        let times = |stem: u32| parts.iter().map(|part| part.times(stem)).sum();
        Counted {
            of_term: terms.iter().map(|stem| stem.map_or(0, times)).collect(),
            words: parts.iter().map(|part| part.count).sum(),
        }
    };
    let texts: Vec<Counted> = texts.iter().map(counted).collect();
    best_first(&score(&texts, terms.len()))
}

/// The query's stems in the order in which [`rank`] adds up what they are worth: sums of floats depend on it. A stem
/// without a number stands in no text.
fn numbered_terms(query: &str) -> Vec<Option<u32>> {
    let terms = query_terms(&Stemmer::create(Algorithm::English), query);
    let mut numbers = vec![None; terms.len()];
    STEMS.with_borrow(|stems| {
        for (term, place) in &terms {
            numbers[*place] = stems.numbers.get(term.as_str()).copied();
        }
    });
    numbers
}

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::default();
}

/// Numbers for stems, so that words are compared once and counted by number. A number holds as long as the instance.
#[derive(Default)]
struct Stems {
    numbers: FnvHashMap<Box<str>, u32>,
    /// Most words stand in many texts, and each is stemmed once.
    of_words: FnvHashMap<Box<str>, u32>,
}

impl Stems {
    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.of_words.get(word) {
            return *number;
        }
        let stem = stem(&Stemmer::create(Algorithm::English), word);
        // Memory holds fewer.
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(stem.into()).or_insert(next);
        self.of_words.insert(word.into(), number);
        number
    }
}

/// The words of many texts, counted once. It answers as [`rank`] does.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// The numbers of stems hold on the thread that gave them.
    here: PhantomData<Rc<()>>,
    /// Where each stem stands, by its number: text and how often, by text.
    places: Vec<Vec<(usize, u32)>>,
    /// The number of words of each text.
    words: Vec<u32>,
}

impl<T: AsRef<str>> FromIterator<T> for Index {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut index = Self::default();
        for (number, text) in texts.into_iter().enumerate() {
            let Words { stems, count } = Words::of(text.as_ref());
            index.words.push(count);
            for (stem, times) in stems {
                let stem = stem as usize;
                if stem >= index.places.len() {
                    index.places.resize_with(stem + 1, Vec::new);
                }
                index.places[stem].push((number, times));
            }
        }
        index
    }
}

impl Index {
    /// The indices of the texts that hold at least one of the query's terms, best first, equals in their order.
    pub fn rank(&self, query: &str) -> Vec<usize> {
        let mean = mean_words(self.words.iter().copied(), self.words.len());
        let mut scores = vec![0.0; self.words.len()];
        for stem in numbered_terms(query) {
            let places = stem.and_then(|stem| self.places.get(stem as usize));
            let places = places.map_or(&[][..], Vec::as_slice);
            let rarity = rarity(self.words.len(), places.len());
            for (text, times) in places {
                scores[*text] += weight(rarity, *times, length(self.words[*text], mean));
            }
        }
        best_first(&scores)
    }
}

/// How often each of the query's terms stands in a text.
struct Counted {
    of_term: Vec<u32>,
    words: u32,
}

impl Counted {
    fn new(
        stemmer: &Stemmer,
        text: &str,
        terms: &BTreeMap<String, usize>,
        initials: &[char],
    ) -> Self {
        let mut counted = Self {
            of_term: vec![0; terms.len()],
            words: 0,
        };
        for word in words(text) {
            counted.words += 1;
            // A stem begins as its word does, and few words begin as one of the terms: only those are stemmed.
            if initial(word).is_some_and(|first| initials.contains(&first))
                && let Some(term) = terms.get(&stem(stemmer, word))
            {
                counted.of_term[*term] += 1;
            }
        }
        counted
    }
}

/// The first letter, in lower case.
fn initial(word: &str) -> Option<char> {
    word.chars().next()?.to_lowercase().next()
}

/// A word's stem, in lower case.
fn stem(stemmer: &Stemmer, word: &str) -> String {
    stemmer.stem(&word.to_lowercase()).into_owned()
}

fn score(texts: &[Counted], terms: usize) -> Vec<f64> {
    let mean = mean_words(texts.iter().map(|text| text.words), texts.len());
    let rarities: Vec<f64> = (0..terms)
        .map(|term| {
            let holding = texts.iter().filter(|text| text.of_term[term] > 0).count();
            rarity(texts.len(), holding)
        })
        .collect();
    let one = |text: &Counted| {
        let length = length(text.words, mean);
        let counts = text.of_term.iter();
        counts
            .zip(&rarities)
            .map(|(count, rarity)| weight(*rarity, *count, length))
            .sum()
    };
    texts.iter().map(one).collect()
}

fn best_first(scores: &[f64]) -> Vec<usize> {
    let mut hits: Vec<usize> = (0..scores.len())
        .filter(|index| scores[*index] > 0.0)
        .collect();
    hits.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    hits
}

fn mean_words(words: impl Iterator<Item = u32>, texts: usize) -> f64 {
    let total: f64 = words.map(f64::from).sum();
    (total / texts as f64).max(1.0)
}

/// What a term is worth that stands in so many of the texts.
fn rarity(texts: usize, holding: usize) -> f64 {
    let (total, holding) = (texts as f64, holding as f64);
    (1.0 + (total - holding + 0.5) / (holding + 0.5)).ln()
}

/// How much a text is held back by its length.
fn length(words: u32, mean: f64) -> f64 {
    K1 * (1.0 - B + B * f64::from(words) / mean)
}

fn weight(rarity: f64, count: u32, length: f64) -> f64 {
    let count = f64::from(count);
    rarity * count * (K1 + 1.0) / (count + length)
}

/// The query's stems, each with a number of its own.
fn query_terms(stemmer: &Stemmer, query: &str) -> BTreeMap<String, usize> {
    let telling = words(query).any(|word| !is_stop_word(word));
    let mut terms = BTreeMap::new();
    for word in words(query).filter(|word| !telling || !is_stop_word(word)) {
        let number = terms.len();
        terms.entry(stem(stemmer, word)).or_insert(number);
    }
    terms
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS
        .iter()
        .any(|stop| word.eq_ignore_ascii_case(stop))
}

/// Runs of letters and digits; where a script has no blanks between words, each character.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let (mut rest, mut each) = (text, "");
    std::iter::from_fn(move || {
        loop {
            if let Some(first) = each.chars().next() {
                let (character, others) = each.split_at(first.len_utf8());
                each = others;
                return Some(character);
            }
            let run = &rest[rest.find(char::is_alphanumeric)?..];
            let end = run.find(|c: char| !c.is_alphanumeric());
            let (run, others) = run.split_at(end.unwrap_or(run.len()));
            rest = others;
            if run.is_ascii() || !run.chars().any(is_ideograph) {
                return Some(run);
            }
            each = run;
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

    fn counted(text: &str) -> Rc<Words> {
        Rc::new(Words::of(text))
    }

    fn check(query: &str, expected: &[usize]) {
        assert_eq!(rank(query, &TEXTS), expected, "{query}");
        let index: Index = TEXTS.iter().collect();
        assert_eq!(index.rank(query), expected, "{query}, with an index");
        let words: Vec<_> = TEXTS.iter().map(|text| vec![counted(text)]).collect();
        assert_eq!(rank_counted(query, &words), expected, "{query}, counted");
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
        assert!(Index::default().rank("x").is_empty());
        assert!(rank_counted("x", &[]).is_empty());
    }

    #[test]
    fn a_text_is_cut_into_runs_and_a_run_with_ideographs_into_characters() {
        let cut = |text| words(text).collect::<Vec<_>>();
        assert_eq!(
            cut(" It's 3 o'clock, Ärger_x\n"),
            ["It", "s", "3", "o", "clock", "Ärger", "x"]
        );
        assert_eq!(cut("B7会x, ok"), ["B", "7", "会", "x", "ok"]);
        assert_eq!(cut(" .,"), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn an_index_answers_as_a_search_without_one(
            texts in proptest::collection::vec(
                "([a-cA-C]{1,2}|the|[sy]k?(y|ies|is)|[ÄäİΣσ会]{1,3})( [a-c]{1,2}(ing|ed|s)?){0,6}",
                0..12,
            ),
            query in "([a-cA-C]{1,2}|the|[sy]k?(y|ies|is)|[ÄäİΣσ会]{1,3})( [a-c]{1,2}(ing|ed|s)?){0,3}",
        ) {
            let index: Index = texts.iter().collect();
            let expected = rank(&query, &texts);
            proptest::prop_assert_eq!(&index.rank(&query), &expected);
            let parts = |text: &String| text.split(' ').map(counted).collect();
            let words: Vec<Vec<Rc<Words>>> = texts.iter().map(parts).collect();
            proptest::prop_assert_eq!(&rank_counted(&query, &words), &expected);
        }
    }
}
