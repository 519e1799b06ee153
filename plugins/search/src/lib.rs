//! Full-text search over a handful of texts: stemmed terms, any of which may match, ranked by BM25.
//!
//! [`rank`] needs no preparation, which is enough for a few texts. What is searched again and again while single records
//! change, such as a mailbox, keeps the [`Words`] of each record (the SDK's `Layer::words` does); what is large and seldom
//! changed, such as a catalogue, has an [`Index`]. Neither is ever part of a snapshot.
//!
//! Apps search their records with it, as `pibench_sdk::search`, and the host the suite's web. It reads no file and
//! knows neither.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use fnv::FnvHashMap;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

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
            STEMS.with_borrow_mut(|stems| words(text).map(|word| stems.number(&word)).collect());
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
            if initial(&word).is_some_and(|first| initials.contains(&first))
                && let Some(term) = terms.get(&stem(stemmer, &word))
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
    let words: Vec<_> = cut(query, Singles::WhereAlone).collect();
    let telling = words.iter().any(|word| !is_stop_word(word));
    let mut terms = BTreeMap::new();
    for word in words.iter().filter(|word| !telling || !is_stop_word(word)) {
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

/// The words of a text that is searched.
fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    cut(text, Singles::All)
}

/// Which characters of a script without blanks are words of their own, beside each two that stand together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Singles {
    /// In a text: a query may be a single one.
    All,
    /// In a query: two words that share a character are two words.
    WhereAlone,
}

/// Runs of letters and digits. One in ASCII is a word as it stands; of others see [`pieces`].
fn cut(text: &str, singles: Singles) -> impl Iterator<Item = Cow<'_, str>> {
    let (mut rest, mut left) = (text, Vec::<String>::new().into_iter());
    std::iter::from_fn(move || {
        loop {
            if let Some(word) = left.next() {
                return Some(Cow::Owned(word));
            }
            let run = &rest[rest.find(char::is_alphanumeric)?..];
            let end = run.find(|c: char| !is_of_word(c));
            let (run, others) = run.split_at(end.unwrap_or(run.len()));
            rest = others;
            if run.is_ascii() {
                return Some(Cow::Borrowed(run));
            }
            left = pieces(run, singles).into_iter();
        }
    })
}

/// Letters, digits, and the marks of decomposed letters.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && is_combining_mark(c)
}

/// A run's words, in one form: it is parted where a script without blanks begins or ends, and of such a script each two
/// characters that stand together are a word, as in search engines.
fn pieces(run: &str, singles: Singles) -> Vec<String> {
    let characters: Vec<char> = folded(run).chars().collect();
    let mut pieces = Vec::new();
    for piece in characters.chunk_by(|a, b| has_no_blanks(*a) == has_no_blanks(*b)) {
        if !has_no_blanks(piece[0]) {
            pieces.push(piece.iter().collect());
            continue;
        }
        if singles == Singles::All || piece.len() == 1 {
            pieces.extend(piece.iter().map(char::to_string));
        }
        pieces.extend(piece.windows(2).map(String::from_iter));
    }
    pieces
}

/// A run in one form, however it is written: composed or not, wide or narrow, in upper or lower case. `ß` is `ss`, and `i`
/// is the same letter with its dot and without.
fn folded(run: &str) -> String {
    let mut plain = String::new();
    for c in run.chars().filter(|c| !is_picture_mark(*c)) {
        // A fraction such as ½ would fall into two numbers.
        if c.nfkd().all(is_of_word) {
            plain.extend(c.nfkd());
        } else {
            plain.push(c);
        }
    }
    let lower = plain.chars().flat_map(char::to_lowercase);
    let folded = lower.flat_map(char::to_uppercase);
    let folded: String = folded.flat_map(char::to_lowercase).nfc().collect();
    folded.replace("i\u{307}", "i")
}

/// Marks that say how a character is drawn, as a key or one of its variants.
fn is_picture_mark(c: char) -> bool {
    matches!(c, '\u{20e3}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Chinese characters, the Japanese syllabaries, and Korean, where a word stands together with its particles.
fn has_no_blanks(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
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
    fn a_text_is_cut_into_runs_and_these_where_a_script_has_no_blanks() {
        let text = |text| words(text).collect::<Vec<_>>();
        assert_eq!(
            text(" It's 3 o'clock, Ärger_x 1½\n"),
            ["It", "s", "3", "o", "clock", "ärger", "x", "1½"]
        );
        assert_eq!(text("B7会x, ok"), ["b7", "会", "x", "ok"]);
        assert_eq!(text("会議室"), ["会", "議", "室", "会議", "議室"]);
        assert_eq!(text(" .,"), [""; 0]);
        let query = |query| cut(query, Singles::WhereAlone).collect::<Vec<_>>();
        assert_eq!(query("会議室 会"), ["会議", "議室", "会"]);
        assert_eq!(query("1\u{fe0f}\u{20e3} Foo™"), ["1", "Foo"]);
    }

    /// Whether a text is found, by each of the ways to search.
    fn finds(query: &str, text: &str) -> bool {
        let found = !rank(query, &[text]).is_empty();
        let index: Index = [text].iter().collect();
        assert_eq!(!index.rank(query).is_empty(), found, "{query} in {text}");
        let words = [vec![counted(text)]];
        let by_words = rank_counted(query, &words);
        assert_eq!(!by_words.is_empty(), found, "{query} in {text}");
        found
    }

    #[test]
    fn words_of_scripts_without_blanks_are_found_and_those_that_share_a_character_are_not() {
        let korean = "전세보증금은 주민센터에서 확정일자를 받아야 보호됩니다";
        let note = "iPhoneを買う。PDF版を送る。ｶﾀｶﾅのﾒﾓ";
        let mail = "１２３，４５６円です。Ｔｏｋｙｏより";
        for (query, text) in [
            ("전세보증금", korean),
            ("보증금", korean),
            ("주민센터", korean),
            ("확정일자", korean),
            ("금", korean),
            ("iPhone", note),
            ("pdf", note),
            ("ﾒﾓ", note),
            ("メモ", note),
            ("カタカナ", note),
            ("買", note),
            ("Tokyo", mail),
            ("Ｔｏｋｙｏ", mail),
            ("Ｔｏｋｙｏより", mail),
            ("１２３，４５６", mail),
            ("456", mail),
            ("Web申請", "Ｗｅｂ申請の手順"),
            ("トラック", "ﾄﾗｯｸで運ぶ"),
            ("会議室", "会議は三時"),
            ("人々", "人々の声"),
        ] {
            assert!(finds(query, text), "{query} in {text}");
        }
        for (query, text) in [
            ("約束", "予約"),
            ("トラック", "ガラス"),
            ("보험", korean),
            ("phone", note),
        ] {
            assert!(!finds(query, text), "{query} in {text}");
        }
    }

    #[test]
    fn a_word_is_found_however_it_is_composed_and_cased() {
        let decomposed = "Cafe\u{301} E\u{301}lyse\u{301}e";
        for (query, text) in [
            ("Café", decomposed),
            ("CAFÉ", decomposed),
            ("élysée", decomposed),
            (decomposed, "café"),
            ("が", "か\u{3099}き"),
            ("전세", "\u{110c}\u{1165}\u{11ab}\u{1109}\u{1166}"),
            ("istanbul", "İstanbul"),
            ("İSTANBUL", "istanbul"),
            ("ISPARTA", "Isparta, ısparta"),
            ("strasse", "Straße"),
            ("STRASSE", "Straße"),
            ("straße", "STRASSE"),
            ("STRAẞE", "Strasse"),
            ("müllerstraße", "MÜLLERSTRASSE"),
            ("ΟΔΟΣ", "οδός, οδος"),
        ] {
            assert!(finds(query, text), "{query} in {text}");
        }
        assert!(!finds("cafe", decomposed));
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
