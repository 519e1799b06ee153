//! What the agent itself wrote in a turn, piece by piece: the evidence of the scripted judges. Spans that it copied from
//! what it was shown before are not its own.

use std::collections::BTreeSet;

use crate::agent::tools::{ASK_USER, MESSAGE};
use crate::eval::lexical::{Seen, arguments_text};
use crate::eval::matcher::{Piece, Place};
use crate::eval::record::CallRecord;
use crate::store::event::{Step, Turn};

/// Follows a session and tells the agent's own words.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnWords {
    seen: Seen,
}

impl OwnWords {
    /// The agent was shown a text.
    pub(super) fn shown(&mut self, text: &str) {
        self.seen.add(text);
    }

    /// The agent's own pieces of a turn, each measured against what it had been shown when it wrote it.
    pub(super) fn pieces(&mut self, turn: &Turn) -> Vec<Piece> {
        self.seen.add(&turn.message);
        let mut pieces = Vec::new();
        let mut response = Vec::new();
        // What the agent reads of its own new files is not shown to it before the files are looked at.
        let written: BTreeSet<&str> = turn
            .changes
            .iter()
            .map(|change| change.path.as_str())
            .collect();
        let mut later = Vec::new();
        for step in &turn.steps {
            match step {
                // Text beside calls is the model talking to itself; it is sent to nobody.
                Step::Reply { calls, .. } if !calls.is_empty() => {}
                Step::Reply { text, .. } | Step::Notice { text } => {
                    response.push(self.seen.own_words(text))
                }
                Step::Call { record, .. } => {
                    let own = self.seen.own_words(&arguments_text(&record.arguments));
                    if record.tool == MESSAGE || record.tool == ASK_USER {
                        response.push(own.clone());
                    }
                    pieces.push(Piece::new(
                        Place::Arguments {
                            tool: record.tool.clone(),
                        },
                        &own,
                    ));
                    if reads(record).is_some_and(|path| written.contains(path)) {
                        later.push(&record.result);
                    } else {
                        self.seen.add(&record.result);
                    }
                }
            }
        }
        for change in &turn.changes {
            let place = Place::File {
                path: change.path.clone(),
            };
            pieces.push(Piece::new(place, &self.seen.own_words(&change.added)));
        }
        for result in later {
            self.seen.add(result);
        }
        pieces.insert(0, Piece::new(Place::Response, &response.join("\n")));
        pieces
    }
}

fn reads(record: &CallRecord) -> Option<&str> {
    record.arguments["path"]
        .as_str()
        .filter(|_| record.tool == "read_file")
}
