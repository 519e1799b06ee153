//! The doors for what others word and the host holds something against: schemas of tools, patterns and globs, answers of models.

use pibench_core::matcher::{Matcher, Piece, Place};
use pibench_core::pattern;
use pibench_core::vocabulary::{MatcherFile, WireFormat};
use pibench_model::client::read_reply;
use pibench_sandbox::arguments::measure;
use pibench_sandbox::{ArgumentCheck, Limits, convert};

/// The text up to the first line end, and what is behind it.
fn halves(bytes: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(bytes).ok()?.split_once('\n')
}

/// A tool's schema in the first line, and a call's arguments behind it.
pub fn schema(bytes: &[u8]) {
    let Some((schema, arguments)) = halves(bytes) else {
        return;
    };
    let Ok(schema) = convert::json(schema, Limits::APP) else {
        return;
    };
    match ArgumentCheck::new(&schema) {
        Ok(check) => {
            assert!(measure(&schema).is_ok());
            let Ok(arguments) = convert::json(arguments, Limits::APP) else {
                return;
            };
            let objection = check.objection(&arguments);
            assert_eq!(check.is_valid(&arguments), objection.is_none());
            assert!(objection.is_none_or(|told| !told.is_empty()));
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// Bytes of a compiled pattern, as `grep` has them.
const COMPILED: usize = 1 << 20;

/// A pattern in the first line, which is a glob too, and a text that both are held against.
pub fn patterns(bytes: &[u8]) {
    let Some((wanted, text)) = halves(bytes) else {
        return;
    };
    for case_insensitive in [false, true] {
        match pattern::states(wanted, case_insensitive, COMPILED) {
            // A state takes some bytes.
            Ok(states) => assert!(states <= COMPILED),
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
    if let Ok(glob) = pattern::glob(wanted) {
        glob.compile_matcher().is_match(text);
    }
    let file = MatcherFile {
        within: Vec::new(),
        all: vec![vec![wanted.to_owned()]],
        none: Vec::new(),
        accepts: Vec::new(),
        rejects: Vec::new(),
    };
    if let Ok(matcher) = Matcher::new(&file) {
        let piece = Piece::new(Place::Response, text);
        let found = matcher.find(std::slice::from_ref(&piece));
        assert_eq!(found.is_some(), matcher.reads(&piece));
    }
}

/// The body of a model server's answer in each of the formats.
pub fn reply(bytes: &[u8]) {
    for format in [
        WireFormat::OpenAi,
        WireFormat::Anthropic,
        WireFormat::Responses,
    ] {
        match read_reply(format, bytes) {
            // What was read can be recorded and read again.
            Ok(reply) => {
                let written = serde_json::to_string(&reply).unwrap_or_default();
                assert_eq!(serde_json::from_str(&written).ok(), Some(reply));
            }
            Err(told) => assert!(!told.is_empty()),
        }
    }
}
