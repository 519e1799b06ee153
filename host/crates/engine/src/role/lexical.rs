//! The user agent without a model: matchers of the task file on the agent's own words, and replies that are the intents'
//! own texts. It finds nothing that no matcher names.

use camino::Utf8Path;

use super::Judgement;
use super::evidence::TurnEvidence;
use pibench_core::matcher::{Matcher, Piece, Place};
use pibench_core::session::{Asked, Style};
use pibench_core::vocabulary::Protocol;
use pibench_suite::suite::Intent;

/// Stage 1 over the agent's own words of this turn.
pub(crate) fn satisfied(open: &[&Intent], evidence: &TurnEvidence) -> Vec<Judgement> {
    let pieces: Vec<Piece> = match evidence.protocol {
        Protocol::Paper => evidence.pieces.clone(),
        Protocol::PiBench => in_pi_bench(evidence),
    };
    open.iter()
        .map(|intent| judgement(intent.satisfied.as_ref(), &pieces))
        .collect()
}

/// Stage 2 over what the agent said to the user in this turn. A matcher cannot tell styles apart: in `pi-bench` every
/// match counts as `Clarify`.
pub(crate) fn asked(open: &[&Intent], evidence: &TurnEvidence) -> Vec<Asked> {
    let is_said = |piece: &&Piece| *piece.place() == Place::Response;
    let said: Vec<Piece> = evidence
        .pieces
        .iter()
        .filter(is_said)
        .flat_map(Piece::questions)
        .collect();
    let style = match evidence.protocol {
        Protocol::Paper => None,
        Protocol::PiBench => Some(Style::Clarify),
    };
    let question = |intent: &&Intent| {
        let found = judgement(intent.asked.as_ref(), &said).yes;
        if found {
            Asked::Yes { style }
        } else {
            Asked::No
        }
    };
    open.iter().map(question).collect()
}

/// Whether the matcher finds something, and where. Without a matcher: no.
pub(crate) fn judgement(matcher: Option<&Matcher>, pieces: &[Piece]) -> Judgement {
    let Some(matcher) = matcher else {
        return Judgement::no("no offline matcher");
    };
    match matcher.find(pieces).and_then(|at| pieces.get(at)) {
        Some(piece) => Judgement {
            yes: true,
            reason: place(piece.place()),
            votes: Vec::new(),
        },
        None => Judgement::no("nothing matches"),
    }
}

fn place(place: &Place) -> String {
    match place {
        Place::Response => "response".into(),
        Place::Arguments { tool } => format!("arguments of {tool}"),
        Place::File { path } => format!("file {path}"),
    }
}

/// What the released code looks at: the final response, and the files that the session names.
fn in_pi_bench(evidence: &TurnEvidence) -> Vec<Piece> {
    let is_read = |path: &str| {
        let mut files = evidence.files_read.iter();
        files.any(|file| Utf8Path::new(file) == Utf8Path::new(path))
    };
    let counts = |piece: &&Piece| match piece.place() {
        Place::Response => true,
        Place::Arguments { .. } => false,
        Place::File { path } => is_read(path),
    };
    evidence.pieces.iter().filter(counts).cloned().collect()
}
