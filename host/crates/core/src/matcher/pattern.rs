//! One pattern of a matcher: read and bounded when a suite is loaded, compiled when it is first tried. A suite has thousands
//! of alternatives, and a run tries few of them: compiling all was most of what loading took, and then it was telling each letter
//! from its two cases.

use std::cell::RefCell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, Compiler, NFA, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_syntax::ast::Ast;
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

use super::blank;
use crate::form::composed;
use crate::pattern::{NESTING, size};

/// Bytes of one compiled pattern, and of the states that it may cache while it matches. Task files are not trusted:
/// `(a{1000}){1000}` must be refused, not built. The largest sensible pattern stays far below.
const SIZE: usize = 1 << 20;

/// Bytes of a compiled pattern for each unit of [`size`], generously.
const UNIT: usize = 64;

/// Alternatives that can be compiled, as one.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Each was read once, so that what is wrong with it was told.
    alternatives: Vec<Box<str>>,
    /// Bytes of the shortest text that one of them matches; None where they match nothing at all.
    least: Option<usize>,
    /// Of all of them.
    units: usize,
    compiled: OnceLock<Option<Automaton>>,
}

/// A compiled pattern. `regex` has more ways to search: they need an automaton for each direction, and prepare for long
/// texts and for those who ask where a match is. Making that takes longer than trying it on the few short texts of a
/// turn, and as much memory again.
#[derive(Debug)]
struct Automaton {
    lazy: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>,
    /// For texts on which the other gives up: where the edge of a word may be at a letter that is not ASCII.
    patient: PikeVM,
}

impl Automaton {
    /// None for what cannot be compiled.
    fn of(syntax: &Hir) -> Option<Self> {
        let automaton = compile(syntax, None).ok()?;
        let config = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(SIZE)
            .skip_cache_capacity_check(true);
        let mut builder = DFA::builder();
        let lazy = builder
            .configure(config)
            .build_from_nfa(automaton.clone())
            .ok()?;
        let template = lazy.clone();
        Some(Self {
            caches: Pool::new(Box::new(move || template.create_cache())),
            patient: PikeVM::new_from_nfa(automaton).ok()?,
            lazy,
        })
    }

    fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        let found = self.lazy.try_search_fwd(&mut self.caches.get(), &input);
        found.map_or_else(
            |_| {
                self.patient
                    .is_match(&mut self.patient.create_cache(), text)
            },
            |end| end.is_some(),
        )
    }
}

impl Pattern {
    /// What cannot be read is refused. Whether it is too large is asked of [`Self::checked`].
    pub(super) fn read(text: &str) -> Result<Self, regex::Error> {
        // In ASCII, a letter is as long in both cases: its size and length show without telling them apart.
        let (syntax, units) = if text.is_ascii() {
            let syntax = translate(text, &parse(text)?, false)?;
            let units = size(&syntax, true);
            (syntax, units)
        } else {
            let syntax = read(text)?;
            let units = size(&syntax, false);
            (syntax, units)
        };
        Ok(Self {
            alternatives: vec![text.into()],
            least: syntax.properties().minimum_len(),
            units,
            compiled: OnceLock::new(),
        })
    }

    /// What would be too large is refused.
    pub(super) fn checked(mut self) -> Result<Self, regex::Error> {
        // The units are an upper bound: what is above the limit by them may still be small enough.
        if self.units.saturating_mul(UNIT) > SIZE {
            let compiled = compile(&self.syntax()?, Some(SIZE))?;
            self.units = compiled.memory_usage() / UNIT;
        }
        Ok(self)
    }

    #[cfg(test)]
    fn new(text: &str) -> Result<Self, regex::Error> {
        Self::read(text)?.checked()
    }

    /// States and transitions that it compiles to, about.
    pub(super) fn units(&self) -> usize {
        self.units
    }

    /// What matches where one of these does: one automaton is made and tried sooner than each of many.
    pub(super) fn any(patterns: Vec<Self>) -> Self {
        Self {
            least: patterns.iter().filter_map(|one| one.least).min(),
            units: patterns.iter().map(|one| one.units).sum(),
            alternatives: patterns
                .into_iter()
                .flat_map(|one| one.alternatives)
                .collect(),
            compiled: OnceLock::new(),
        }
    }

    fn syntax(&self) -> Result<Hir, regex::Error> {
        let alternatives = self.alternatives.iter().map(|text| read(text));
        Ok(Hir::alternation(alternatives.collect::<Result<_, _>>()?))
    }

    /// Whether the text holds it anywhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        if self.least.is_none_or(|least| text.len() < least) {
            // None: it matches nothing at all.
            return false;
        }
        self.compiled()
            .is_some_and(|automaton| automaton.is_match(text))
    }

    /// Compiles it, if that was not done before.
    pub(super) fn prepare(&self) {
        self.compiled();
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.compiled.get().is_some()
    }

    fn compiled(&self) -> Option<&Automaton> {
        // Each alternative can be read and is below the limit of size, so there is none here.
        let compiled = self
            .compiled
            .get_or_init(|| Automaton::of(&self.syntax().ok()?));
        compiled.as_ref()
    }
}

/// A pattern as it is tried. A blank and `.` are line ends too, so that one that does not speak of lines matches across them. Its
/// letters are composed, as those of the text are.
fn read(text: &str) -> Result<Hir, regex::Error> {
    let text = composed(text);
    let mut pattern = parse(&text)?;
    blank::widen(&mut pattern);
    translate(&text, &pattern, true)
}

fn parse(text: &str) -> Result<Ast, regex::Error> {
    let mut parser = ParserBuilder::new().nest_limit(NESTING).build();
    parser.parse(text).map_err(|error| wrong(&error))
}

fn translate(text: &str, pattern: &Ast, any_case: bool) -> Result<Hir, regex::Error> {
    // Unicode's tables are large, and a pattern of ASCII characters does without.
    let mut translator = TranslatorBuilder::new()
        .case_insensitive(any_case)
        .dot_matches_new_line(true)
        .unicode(!text.is_ascii())
        .utf8(false)
        .build();
    let syntax = translator.translate(text, pattern);
    syntax.map_err(|error| wrong(&error))
}

fn wrong(error: &dyn std::fmt::Display) -> regex::Error {
    regex::Error::Syntax(error.to_string())
}

/// `most`: bytes.
fn compile(syntax: &Hir, most: Option<usize>) -> Result<NFA, regex::Error> {
    thread_local! {
        /// One for all patterns of a thread: it has tables that are larger than most of them.
        static COMPILER: RefCell<Compiler> = RefCell::new(Compiler::new());
    }
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(most);
    COMPILER.with_borrow_mut(|compiler| {
        compiler.configure(config);
        let built = compiler.build_from_hir(syntax);
        built.map_err(|error| match error.size_limit() {
            Some(most) => regex::Error::CompiledTooBig(most),
            None => regex::Error::Syntax(error.to_string()),
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pattern_is_compiled_when_it_is_first_tried() {
        let pattern = Pattern::new("due .{0,40}friday").unwrap();
        assert!(pattern.compiled.get().is_none());
        assert!(!pattern.is_match("due"), "shorter than any match");
        assert!(pattern.compiled.get().is_none());
        assert!(pattern.is_match("It is DUE on Friday."));
        assert!(pattern.is_prepared());
    }

    #[test]
    fn a_words_edge_is_found_beside_any_letter() {
        let pattern = Pattern::new(r"\bété\b").unwrap();
        for (text, expected) in [
            ("cet ÉTÉ là", true),
            ("l'été", true),
            ("étés", false),
            ("aété", false),
            ("éété", false),
        ] {
            assert_eq!(pattern.is_match(text), expected, "{text}");
        }
        assert!(Pattern::new(r"\bete\b").unwrap().is_match("là, ete"));
    }

    #[test]
    fn only_what_speaks_of_lines_ends_with_them() {
        let text = "| L05 | 711.90\nfree on 1 July only";
        for (pattern, expected) in [
            ("711.90 free", true),
            ("711.90[ ,]free", true),
            ("711.90[a-z[ ,]]free", true),
            ("711.90( free)", true),
            ("711.90.free", true),
            (r"l05.{0,60}july", true),
            (r"711.90\nfree", true),
            (r"(?m)^free.*only$", true),
            (r"l05[^\n]{0,60}july", false),
            (r"l05(?-s:.){0,60}july", false),
            (r"711.90\x20free", false),
            ("711.90[ -~]free", false),
            ("711.90[^ ]free", false),
            ("(?x) 711.90  \\s free", true),
        ] {
            let found = Pattern::new(pattern).unwrap().is_match(text);
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn alternatives_match_where_one_of_them_does() {
        let all = ["friday", "week ?end", "the 3rd"].map(|text| Pattern::new(text).unwrap());
        let any = Pattern::any(all.into());
        for (text, expected) in [
            ("by Friday", true),
            ("at the WEEKEND", true),
            ("on the 3rd", true),
            ("on the 4th", false),
            ("", false),
        ] {
            assert_eq!(any.is_match(text), expected, "{text}");
        }
    }

    #[test]
    fn size_is_what_is_compiled_and_not_what_is_feared() {
        for large in [r"[\u{00}-\u{10ffff}é]{200}", r"[a-z]{9000}"] {
            assert!(Pattern::new(large).is_ok(), "{large}");
        }
        for larger in ["(a{1000}){1000}", r"\wé{1,9}(\w{100}){100}"] {
            let refused = Pattern::new(larger).unwrap_err();
            assert!(
                matches!(refused, regex::Error::CompiledTooBig(_)),
                "{refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_bounded_below_the_limit_compiles(
            text in "([a-cé.]|\\\\w|\\[\\^?a-fü\\]|\\((ab|c)\\)){1,6}([*+?]|\\{[0-9]{1,2},[0-9]{2,3}\\})?",
        ) {
            if let Ok(pattern) = Pattern::new(&text) {
                let compiled = compile(&pattern.syntax().unwrap(), Some(SIZE));
                prop_assert!(compiled.is_ok(), "{text}");
                let bytes = compiled.unwrap().memory_usage();
                let most = pattern.units * UNIT;
                prop_assert!(bytes <= 2 * most + 4096, "{text}: {bytes} bytes, {most} at most");
            }
        }
    }
}
