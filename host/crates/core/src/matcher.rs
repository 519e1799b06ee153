//! What the scripted judges look for: a matcher of the task file, compiled, and the pieces of text that it looks at.
//! It matches text only: which pieces are the agent's own words is for `lexical` to say, and what a match means for
//! the session is not known here.

mod blank;
mod pattern;

use std::cell::Cell;
use std::sync::{Arc, LazyLock, OnceLock};

use globset::{Glob, GlobMatcher};
use regex::Regex;
use thiserror::Error;

use self::pattern::Pattern;
use super::form::composed;
use super::lexical::{ARMENIAN, QUESTION, SEPARATOR, STOP, collapse};
use crate::vocabulary::MatcherFile;

/// Characters of one question. Long enough for a question with its reason and the choices that it offers.
pub const QUESTION_LIMIT: usize = 400;

/// Marks that close what a sentence stands in: bold type, quotes, brackets.
const CLOSING: &str = "*_\"'’”»)]）］」』】》〉";

/// A sentence: up to a mark that ends one, and what closes it. Behind `.`, `!` and `?` stands a blank, so that numbers and file
/// names stay whole.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    let closing = regex::escape(CLOSING);
    Regex::new(&format!(
        r"(?s).*?(?:[.!?．]+[{closing}]*(?:\s|$)|[{STOP}{QUESTION}]+[{closing}]*|$)"
    ))
    .expect("the pattern is part of the program, and tests use it")
});

/// Whether a sentence ends as a question does, in any script.
fn is_question(sentence: &str) -> bool {
    let sentence = sentence.trim_end_matches(|mark: char| CLOSING.contains(mark));
    let ends = sentence.ends_with(|mark: char| mark == '?' || QUESTION.contains(mark));
    ends || sentence.contains(ARMENIAN)
}

/// Patterns of one matcher. The largest of the embedded suite has twelve.
const PATTERNS: usize = 256;

/// States and transitions of one matcher, all alternatives together: some MiB where they are compiled.
const UNITS: usize = 1 << 16;

/// States times bytes of one text. What is more is not matched: a task file may bring both.
const STEPS: usize = 16 << 30;

/// Where a piece of text was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To the user.
    Response,
    /// In the arguments of one call of this tool.
    Arguments { tool: String },
    /// Into the file at this path of the workspace, `/` between its parts.
    File { path: String },
}

/// One text of the agent's, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    place: Place,
    /// What stands between two separators. A pattern matches within one of them, never across.
    spans: Vec<String>,
}

impl Piece {
    /// `text` as written, or as `lexical` left it: with a [`SEPARATOR`] where copied text was taken out.
    pub fn new(place: Place, text: &str) -> Self {
        let spans = text.split(SEPARATOR).map(collapse);
        Self {
            place,
            spans: spans.filter(|span| !span.is_empty()).collect(),
        }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The questions of this piece, each a piece of its own: sentences that end in a question mark and that a person
    /// would read as one. A flood of words with one mark behind it is none.
    pub fn questions(&self) -> Vec<Self> {
        let sentences = self.spans.iter().flat_map(|span| SENTENCE.find_iter(span));
        sentences
            .map(|sentence| sentence.as_str().trim())
            .filter(|sentence| is_question(sentence) && sentence.chars().count() <= QUESTION_LIMIT)
            .map(|sentence| Self {
                place: self.place.clone(),
                spans: vec![sentence.to_owned()],
            })
            .collect()
    }

    fn holds(&self, pattern: &Pattern, units: usize) -> bool {
        let bounded = |span: &&String| span.len().saturating_mul(units) <= STEPS;
        let mut spans = self.spans.iter().filter(bounded);
        spans.any(|span| pattern.is_match(span))
    }
}

/// Why a matcher cannot be used. `place` is the key in the matcher's table, as in `all[1][0]`.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MatcherError {
    #[error("use a matcher without groups in `all`: it would match anything")]
    NoGroups,
    #[error("use a matcher of {found} {what}: at most {most} are compiled")]
    TooLarge {
        found: usize,
        what: &'static str,
        most: usize,
    },
    #[error("use the matcher's {place}: a group without alternatives never matches")]
    EmptyGroup { place: String },
    #[error("compile the matcher's {place}, `{pattern}`: {source}")]
    Pattern {
        place: String,
        pattern: String,
        source: regex::Error,
    },
    #[error("use the matcher's {place}, `{pattern}`: it matches the empty text, so any")]
    MatchesEmpty { place: String, pattern: String },
    #[error(
        "use the matcher's {place}, `{text}`: want `response`, `arguments`, `files`, `call:<tool>` or `file:<glob>`"
    )]
    UnknownPlace { place: String, text: String },
    #[error("compile the matcher's {place}, `{text}`: {reason}")]
    Glob {
        place: String,
        text: String,
        reason: String,
    },
}

/// A compiled matcher. It matches a piece that holds an alternative of each group and none of the excluded patterns.
#[derive(Debug, Clone)]
pub struct Matcher {
    /// Empty: everywhere.
    within: Vec<Within>,
    patterns: Arc<Patterns>,
}

#[derive(Debug)]
struct Patterns {
    /// One for each group.
    all: Vec<Pattern>,
    none: Option<Pattern>,
    /// States and transitions of all of them.
    units: usize,
}

impl Patterns {
    fn each(&self) -> impl Iterator<Item = &Pattern> {
        self.all.iter().chain(&self.none)
    }
}

impl Matcher {
    pub fn new(file: &MatcherFile) -> Result<Self, MatcherError> {
        let MatcherFile {
            within,
            all,
            none,
            accepts: _,
            rejects: _,
        } = file;
        if all.is_empty() {
            return Err(MatcherError::NoGroups);
        }
        let patterns = within.len() + none.len() + all.iter().map(Vec::len).sum::<usize>();
        check_bound(patterns, "patterns", PATTERNS)?;
        let within = numbered(within, "within", |text, place| Within::new(text, place))?;
        let units = Cell::new(0);
        let patterns = Patterns {
            all: numbered(all, "all", |texts, place| group(texts, place, &units))?,
            none: match &none[..] {
                [] => None,
                none => Some(any(none, "none", &units)?),
            },
            units: units.get(),
        };
        Ok(Self {
            within,
            patterns: Arc::new(patterns),
        })
    }

    /// States and transitions that it compiles to at most: what it costs to have and to try it.
    pub fn units(&self) -> usize {
        self.patterns.units
    }

    /// The work that the first question would have to wait for, to be done on another processor; None if it is done.
    pub fn preparation(&self) -> Option<impl FnOnce() + Send + use<>> {
        let patterns = Arc::clone(&self.patterns);
        let open = patterns.each().any(|pattern| !pattern.is_prepared());
        open.then_some(move || patterns.each().for_each(Pattern::prepare))
    }

    /// The first piece that matches, for evidence.
    pub fn find(&self, pieces: &[Piece]) -> Option<usize> {
        pieces.iter().position(|piece| self.matches(piece))
    }

    /// Whether `within` names this place. Who looks everywhere names nothing.
    pub fn names(&self, place: &Place) -> bool {
        self.within.iter().any(|within| within.covers(place))
    }

    /// Whether the piece would match if it stood in a place that the matcher looks at.
    pub fn reads(&self, piece: &Piece) -> bool {
        let Patterns { all, none, units } = &*self.patterns;
        all.iter().all(|group| piece.holds(group, *units))
            && !none.as_ref().is_some_and(|none| piece.holds(none, *units))
    }

    fn matches(&self, piece: &Piece) -> bool {
        (self.within.is_empty() || self.names(&piece.place)) && self.reads(piece)
    }
}

/// One entry of `within`.
#[derive(Debug, Clone)]
enum Within {
    Response,
    Arguments,
    Files,
    Call(String),
    File(Files),
}

/// Files by their paths. Compiled when one is looked at: most matchers of a suite are never asked.
#[derive(Debug, Clone)]
struct Files {
    glob: Glob,
    compiled: OnceLock<GlobMatcher>,
}

impl Files {
    fn have(&self, path: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| self.glob.compile_matcher());
        compiled.is_match(&*composed(path))
    }
}

impl Within {
    fn new(text: &str, place: String) -> Result<Self, MatcherError> {
        let kind = match text {
            "response" => return Ok(Self::Response),
            "arguments" => return Ok(Self::Arguments),
            "files" => return Ok(Self::Files),
            other => other.split_once(':'),
        };
        match kind {
            Some(("call", tool)) if !tool.is_empty() => Ok(Self::Call(tool.to_owned())),
            Some(("file", glob)) if !glob.is_empty() => Self::file(text, glob, place),
            _ => {
                let text = text.to_owned();
                Err(MatcherError::UnknownPlace { place, text })
            }
        }
    }

    fn file(text: &str, glob: &str, place: String) -> Result<Self, MatcherError> {
        match crate::pattern::glob(&composed(glob)) {
            Ok(glob) => Ok(Self::File(Files {
                glob,
                compiled: OnceLock::new(),
            })),
            Err(reason) => Err(MatcherError::Glob {
                place,
                text: text.to_owned(),
                reason,
            }),
        }
    }

    fn covers(&self, place: &Place) -> bool {
        match (self, place) {
            (Self::Response, Place::Response)
            | (Self::Arguments, Place::Arguments { .. })
            | (Self::Files, Place::File { .. }) => true,
            (Self::Call(wanted), Place::Arguments { tool }) => wanted == tool,
            (Self::File(files), Place::File { path }) => files.have(path),
            _ => false,
        }
    }
}

fn check_bound(found: usize, what: &'static str, most: usize) -> Result<(), MatcherError> {
    if found > most {
        return Err(MatcherError::TooLarge { found, what, most });
    }
    Ok(())
}

/// Makes each entry of a list, telling it its place.
fn numbered<In, Out>(
    entries: &[In],
    list: &str,
    make: impl Fn(&In, String) -> Result<Out, MatcherError>,
) -> Result<Vec<Out>, MatcherError> {
    let places = (0..).map(|number: usize| format!("{list}[{number}]"));
    entries
        .iter()
        .zip(places)
        .map(|(entry, place)| make(entry, place))
        .collect()
}

/// `units`: of the matcher so far.
fn group(
    alternatives: &[String],
    place: String,
    units: &Cell<usize>,
) -> Result<Pattern, MatcherError> {
    if alternatives.is_empty() {
        return Err(MatcherError::EmptyGroup { place });
    }
    any(alternatives, &place, units)
}

fn any(alternatives: &[String], list: &str, units: &Cell<usize>) -> Result<Pattern, MatcherError> {
    let patterns = numbered(alternatives, list, |text, place| {
        pattern(text, place, units)
    })?;
    Ok(Pattern::any(patterns))
}

fn pattern(text: &str, place: String, units: &Cell<usize>) -> Result<Pattern, MatcherError> {
    let wrong = |place: String, source| {
        let pattern = text.to_owned();
        Err(MatcherError::Pattern {
            place,
            pattern,
            source,
        })
    };
    let found = match Pattern::read(text) {
        Ok(found) => found,
        Err(source) => return wrong(place, source),
    };
    let found = found.checked();
    if let Ok(found) = &found {
        units.set(units.get() + found.units());
        check_bound(units.get(), "states", UNITS)?;
    }
    match found {
        Ok(found) if found.is_match("") => Err(MatcherError::MatchesEmpty {
            place,
            pattern: text.to_owned(),
        }),
        Ok(found) => Ok(found),
        Err(source) => wrong(place, source),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(within: &[&str], all: &[&[&str]], none: &[&str]) -> MatcherFile {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        MatcherFile {
            within: owned(within),
            all: all.iter().map(|group| owned(group)).collect(),
            none: owned(none),
            accepts: Vec::new(),
            rejects: Vec::new(),
        }
    }

    fn response(text: &str) -> Piece {
        Piece::new(Place::Response, text)
    }

    fn arguments(tool: &str, text: &str) -> Piece {
        Piece::new(Place::Arguments { tool: tool.into() }, text)
    }

    fn written(path: &str, text: &str) -> Piece {
        Piece::new(Place::File { path: path.into() }, text)
    }

    fn check(file: &MatcherFile, pieces: &[Piece], expected: Option<usize>) {
        let matcher = Matcher::new(file).unwrap();
        assert_eq!(matcher.find(pieces), expected, "{file:?} on {pieces:?}");
    }

    fn check_error(file: &MatcherFile, expected: &str) {
        let message = Matcher::new(file).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn one_piece_must_hold_an_alternative_of_each_group() {
        let wanted = file(&[], &[&["friday", "weekend"], &["draft"]], &[]);
        check(&wanted, &[response("The draft is due on Friday.")], Some(0));
        check(&wanted, &[response("This weekend I draft it.")], Some(0));
        check(&wanted, &[response("The draft is due.")], None);
        let apart = [response("On Friday."), arguments("send", "draft")];
        check(&wanted, &apart, None);
    }

    #[test]
    fn an_excluded_pattern_spoils_its_piece_only() {
        let wanted = file(&[], &[&["draft"]], &["not .*draft"]);
        let pieces = [response("I did not write a draft."), response("A draft.")];
        check(&wanted, &pieces, Some(1));
        check(&wanted, &pieces[..1], None);
    }

    #[test]
    fn a_question_may_stand_in_bold_type_or_quotes() {
        let questions = |text: &str| {
            let found = response(text).questions();
            let texts = found.into_iter().map(|piece| piece.spans.concat());
            texts.collect::<Vec<_>>()
        };
        let bold = "**Who reads it first?** Mireille wants it. (By Friday?) It is v1.2.";
        assert_eq!(questions(bold), ["**Who reads it first?**", "(By Friday?)"]);
        assert_eq!(questions("It asks *which day*. See a?b."), [""; 0]);
    }

    #[test]
    fn a_question_ends_in_the_mark_of_its_script() {
        let count = |text: &str| response(text).questions().len();
        for question in [
            "円と書きますか？",
            "「円と書きますか？」",
            "用哪个时钟？",
            "هل أكتب المبلغ بالأرقام؟",
            "Ո՞ր ժամացույցով։",
            "የትኛው ሰዓት፧",
            "איזה שעון?",
            "¿Qué reloj?",
        ] {
            assert_eq!(count(question), 1, "{question}");
        }
        for other in [
            "円と書きます。",
            "円と書きますか。",
            "أكتب المبلغ بالأرقام.",
            "Ժամացույցով։",
            "Which clock;",
        ] {
            assert_eq!(count(other), 0, "{other}");
        }
        // No blank stands between sentences there.
        let found =
            response("表は三つです。円と書きますか？記号ですか？１．５倍にします。").questions();
        let texts: Vec<String> = found
            .into_iter()
            .map(|piece| piece.spans.concat())
            .collect();
        assert_eq!(texts, ["円と書きますか？", "記号ですか？"]);
    }

    #[test]
    fn letters_are_the_same_in_every_unicode_form() {
        let (whole, apart) = ("m\u{fc}ller", "mu\u{308}ller");
        for (pattern, text) in [(whole, apart), (apart, whole), (apart, apart)] {
            let wanted = file(&[], &[&[pattern]], &[]);
            check(&wanted, &[response(&text.to_uppercase())], Some(0));
            let path = format!("notes/{text}.md");
            let wanted = file(&[&format!("file:*/{pattern}.md")], &[&["word"]], &[]);
            check(&wanted, &[written(&path, "word")], Some(0));
        }
        check(&file(&[], &[&[whole]], &[]), &[response("Muller")], None);
        for (none, expected) in [(&[][..], Some(0)), (&["m\u{fc}"], None)] {
            check(
                &file(&[], &[&["m.+ller"]], none),
                &[response(apart)],
                expected,
            );
        }
    }

    #[test]
    fn case_and_white_space_do_not_matter() {
        let wanted = file(&[], &[&["court of appeal"]], &[]);
        check(&wanted, &[response("The COURT\n\t of  Appeal")], Some(0));
    }

    #[test]
    fn a_line_can_be_asked_for() {
        let wanted = file(&[], &[&[r"l05[^\n]{0,80}\bout\b"]], &[]);
        check(&wanted, &[response("| L05 | 711.90 | out |")], Some(0));
        check(
            &wanted,
            &[response("| L05 | 711.90 |\r\n  | L06 | out |")],
            None,
        );
    }

    #[test]
    fn places_are_told_apart() {
        let pieces = [
            response("word"),
            arguments("gmail__send_email", "word"),
            written("notes/day.md", "word"),
        ];
        for (within, expected) in [
            (&[][..], Some(0)),
            (&["response"], Some(0)),
            (&["arguments"], Some(1)),
            (&["files"], Some(2)),
            (&["call:gmail__send_email"], Some(1)),
            (&["call:gmail__send"], None),
            (&["file:notes/*.md"], Some(2)),
            (&["file:*.md"], None),
            (&["file:**/*.md"], Some(2)),
            (&["file:other.md", "arguments"], Some(1)),
        ] {
            check(&file(within, &[&["word"]], &[]), &pieces, expected);
        }
    }

    #[test]
    fn no_pattern_matches_across_a_separator() {
        let cut = format!("the fee{SEPARATOR}is 300");
        for pattern in ["fee.*300", r"fee[\s\S]*300", "(?s)fee.*300", r"fee\W*is"] {
            check(&file(&[], &[&[pattern]], &[]), &[response(&cut)], None);
        }
        // Both sides still belong to one piece.
        check(
            &file(&[], &[&["fee"], &["300"]], &[]),
            &[response(&cut)],
            Some(0),
        );
    }

    #[test]
    fn errors_name_pattern_and_place() {
        check_error(&file(&[], &[], &[]), "without groups");
        check_error(&file(&[], &[&["a"], &[]], &[]), "all[1]");
        check_error(&file(&[], &[&["a"], &["b", "(c"]], &[]), "all[1][1], `(c`");
        check_error(&file(&[], &[&["a"]], &["b", "["]), "none[1], `[`");
        check_error(
            &file(&[], &[&["a?"]], &[]),
            "all[0][0], `a?`: it matches the empty",
        );
        check_error(
            &file(&["response", "replies"], &[&["a"]], &[]),
            "within[1], `replies`",
        );
        check_error(&file(&["call:"], &[&["a"]], &[]), "within[0], `call:`");
        check_error(&file(&["file:[z"], &[&["a"]], &[]), "within[0], `file:[z`");
    }

    #[test]
    fn a_pattern_that_explodes_is_refused() {
        check_error(&file(&[], &[&["(a{1000}){1000}"]], &[]), "size");
        let deep = format!("{}a{}", "(".repeat(500), ")".repeat(500));
        check_error(&file(&[], &[&[&deep]], &[]), "nest");
    }

    #[test]
    fn a_matcher_is_bounded_in_number_and_size() {
        let many = vec!["word"; 257];
        check_error(&file(&[], &[&many], &[]), "a matcher of 257 patterns");
        let large = vec!["a{1000}"; 100];
        check_error(&file(&[], &[&large], &[]), "states: at most 65536");
        check_error(&file(&["file:{{{{{{{{{a"], &[&["a"]], &[]), "nest deeper");
        let granted = file(&[], &[&many[..256]], &[]);
        check(&granted, &[response("A word.")], Some(0));
        assert!(Matcher::new(&granted).unwrap().units() < 4000);
    }

    #[test]
    fn a_text_that_is_too_much_for_a_pattern_is_not_matched() {
        let dear = file(&[], &[&["[ab]*a[ab]{8000}c"]], &[]);
        let text = "ab".repeat(2 << 20);
        check(&dear, &[response(&text)], None);
        check(&file(&[], &[&["bab"]], &[]), &[response(&text)], Some(0));
    }

    proptest! {
        #[test]
        fn any_matcher_file_is_compiled_or_refused(
            within in prop::collection::vec("(response|call:|file:)?.{0,8}", 0..3),
            all in prop::collection::vec(prop::collection::vec(".{0,12}", 0..3), 0..3),
            none in prop::collection::vec(".{0,12}", 0..3),
            text in ".{0,60}",
        ) {
            if let Ok(matcher) = Matcher::new(&MatcherFile { within, all, none, accepts: Vec::new(), rejects: Vec::new() }) {
                let found = matcher.find(&[response(""), response(&text)]);
                prop_assert!(found != Some(0), "an empty piece never matches");
            }
        }
    }
}
