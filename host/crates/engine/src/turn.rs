//! What a turn of the record says, for those who show it to judges: its calls, what was said, its last text.

use std::collections::BTreeSet;

use pibench_agent::RESULTS_FOLDER;
use pibench_agent::tools::{ASK_USER, MESSAGE, told};
use pibench_core::record::{CallRecord, CallStatus, FileChange, Speaker, Utterance};
use pibench_record::RunFolder;
use pibench_record::event::{Step, Turn};

/// The calls of a turn, in order.
pub(super) fn calls(turn: &Turn) -> impl Iterator<Item = &CallRecord> {
    turn.steps.iter().flat_map(Step::calls)
}

/// What was said in a turn, in order.
pub(super) fn messages(turn: &Turn) -> [Utterance; 2] {
    let said = |speaker, text: &str| Utterance {
        turn: turn.turn,
        speaker,
        text: text.to_owned(),
    };
    [
        said(Speaker::User, &turn.message),
        said(Speaker::Agent, &turn.response),
    ]
}

/// The last text to the user alone: the answer without calls, else the last message or question.
pub(super) fn final_text(turn: &Turn) -> String {
    if let Some(Step::Notice { text }) = turn.steps.last() {
        return text.clone();
    }
    // An answer that was cut off was gone on with: its parts are one text.
    let parts = turn.steps.iter().rev().map_while(|step| match step {
        Step::Reply { text, calls, .. } if calls.is_empty() => Some(text.as_str()),
        Step::Nudge { .. } => Some(""),
        _ => None,
    });
    let parts: Vec<&str> = parts.collect();
    if !parts.is_empty() {
        return parts.into_iter().rev().collect();
    }
    let sent = calls(turn).filter(|call| call.status == CallStatus::Ok);
    let sent = sent.filter(|call| matches!(call.tool.as_str(), MESSAGE | ASK_USER));
    let last = sent.last();
    let read = last.and_then(|call| told(&call.tool, &call.arguments));
    read.unwrap_or_default()
}

/// The blobs of what these calls gave.
pub(super) fn results<'a>(
    folder: &RunFolder,
    calls: impl IntoIterator<Item = &'a CallRecord>,
) -> BTreeSet<String> {
    let hashes = calls
        .into_iter()
        .map(|call| blake3::hash(call.result.as_bytes()).to_hex());
    hashes
        .filter_map(|hash| folder.name_of(&hash).ok())
        .collect()
}

/// Whether a file is what the scaffold kept of one of these results, word for word. What else lies in its folder is the agent's.
pub(super) fn repeats(change: &FileChange, results: &BTreeSet<String>) -> bool {
    let blob = change.blob.as_ref();
    is_kept_result(&change.path) && blob.is_some_and(|blob| results.contains(blob))
}

/// A file in the folder where the scaffold keeps what a call gave.
pub(super) fn is_kept_result(path: &str) -> bool {
    path.split('/').next() == Some(RESULTS_FOLDER)
}
