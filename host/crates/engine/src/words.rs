//! What the agent itself wrote in a turn, piece by piece: the evidence of the scripted judges. Spans that it copied from
//! what it was shown before are not its own.

use std::collections::BTreeSet;

use serde_json::Value;

use pibench_agent::tools::{ASK_USER, MESSAGE};
use pibench_core::lexical::{SPAN, Seen, arguments_text};
use pibench_core::matcher::{Matcher, Piece, Place};
use pibench_core::record::{CallRecord, CallStatus};
use pibench_core::vocabulary::Protocol;
use pibench_record::event::{Step, Turn};
use pibench_suite::suite::Session;

/// Begins, on other processors, with what the first question to a session's matchers would have to wait for.
pub(super) fn prepare(session: &Session) {
    let preparations = session.matchers().filter_map(Matcher::preparation);
    preparations.for_each(rayon::spawn);
}

/// Follows a session and tells the agent's own words.
#[derive(Debug, Clone)]
pub(super) struct OwnWords {
    protocol: Protocol,
    seen: Seen,
    /// What was shown and is not in `seen` yet: most of it comes after the agent's last long text, and is never asked about.
    later: Vec<String>,
}

impl OwnWords {
    pub(super) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            seen: Seen::default(),
            later: Vec::new(),
        }
    }

    /// Another session begins, of an agent that was shown nothing.
    pub(super) fn clear(&mut self) {
        self.seen.clear();
        self.later.clear();
    }

    /// The agent was shown a text.
    pub(super) fn show(&mut self, text: &str) {
        self.later.push(text.to_owned());
    }

    /// What of a text the agent had not been shown.
    fn take_own(&mut self, written: &str) -> String {
        self.look_for(written.len()).own_words(written)
    }

    /// The same of a call's arguments.
    fn take_own_arguments(&mut self, arguments: &Value) -> String {
        let length = arguments_text(arguments).len();
        self.look_for(length).own_arguments(arguments)
    }

    /// What was shown, as far as a text of so many bytes could be a copy of it.
    fn look_for(&mut self, length: usize) -> &Seen {
        // Anything shorter is its own, whatever it was shown.
        if length >= SPAN {
            for shown in self.later.drain(..) {
                self.seen.add(&shown);
            }
        }
        &self.seen
    }

    /// The agent's own pieces of a turn, each measured against what it had been shown when it wrote it.
    pub(super) fn pieces(&mut self, turn: &Turn) -> Vec<Piece> {
        self.show(&turn.message);
        let mut pieces = Vec::new();
        let mut response = Vec::new();
        // What the agent reads of its own new files is not shown to it before the files are looked at.
        let written: BTreeSet<&str> = turn
            .changes
            .iter()
            .map(|change| change.path.as_str())
            .collect();
        let mut later = Vec::new();
        for (at, step) in turn.steps.iter().enumerate() {
            match step {
                // Text beside other calls than a question is the model talking to itself; it is sent to nobody.
                Step::Reply { calls, .. } if !calls.is_empty() && !asks(&turn.steps[at + 1..]) => {}
                Step::Reply { text, .. } | Step::Notice { text } => {
                    response.push(self.take_own(text));
                }
                // What the scaffold tells the model is nobody's words, and a summary repeats what was said before.
                Step::Nudge { .. } | Step::Consolidated { .. } | Step::Picture { .. } => {}
                Step::Call { .. } | Step::Subagent { .. } => {
                    for record in step.calls() {
                        // A refused call did nothing, whatever it says.
                        if record.status != CallStatus::Ok {
                            self.show(&record.result);
                            continue;
                        }
                        let own = if record.tool == MESSAGE || record.tool == ASK_USER {
                            let said = self.take_own(&arguments_text(&record.arguments));
                            response.push(said.clone());
                            said
                        } else {
                            self.take_own_arguments(&record.arguments)
                        };
                        let tool = record.tool.clone();
                        pieces.push(Piece::new(Place::Arguments { tool }, &own));
                        if shows_own(record, &written) {
                            later.push(&record.result);
                        } else {
                            self.show(&record.result);
                        }
                    }
                }
            }
        }
        for change in &turn.changes {
            let place = Place::File {
                path: change.path.clone(),
            };
            pieces.push(Piece::new(place, &self.take_own(&change.added)));
        }
        for result in later {
            self.show(result);
        }
        // The released code looks at the last text alone.
        if self.protocol == Protocol::PiBench {
            response.drain(..response.len().saturating_sub(1));
        }
        pieces.insert(0, Piece::new(Place::Response, &response.join("\n")));
        pieces
    }
}

/// Whether one of the calls of an answer, which are the next steps, asked the user.
fn asks(next: &[Step]) -> bool {
    let own = next
        .iter()
        .take_while(|step| !matches!(step, Step::Reply { .. }));
    own.flat_map(Step::calls)
        .any(|record| record.tool == ASK_USER && record.status == CallStatus::Ok)
}

/// Whether a call shows one of the files that the turn changed: it is read, or a command names it.
fn shows_own(record: &CallRecord, written: &BTreeSet<&str>) -> bool {
    let argument = |name: &str| record.arguments[name].as_str().unwrap_or_default();
    match record.tool.as_str() {
        "read_file" => written.contains(argument("path")),
        "exec" => {
            let command = argument("command");
            written.iter().any(|path| names(command, path))
        }
        _ => false,
    }
}

/// Whether a command line names a file: by its path, or where it stands in the file's folder by its name alone.
fn names(command: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_bare = |(at, _): (usize, &str)| {
        let before = command[..at].chars().next_back();
        before.is_none_or(|before| before.is_whitespace() || "'\"=;(<".contains(before))
    };
    command.contains(path) || command.match_indices(name).any(is_bare)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use pibench_core::record::{CallStatus, ChangeKind, FileChange};

    const LONG: &str = "the tide stood at four metres and twelve centimetres at the harbour wall";

    fn call(tool: &str, arguments: serde_json::Value, result: &str) -> Step {
        let record = CallRecord {
            exact: None,
            number: 1,
            turn: 1,
            tool: tool.into(),
            arguments,
            status: CallStatus::Ok,
            code: 0,
            result: result.into(),
        };
        Step::Call {
            id: "c".into(),
            record,
            file: None,
        }
    }

    fn reply(text: &str) -> Step {
        Step::Reply {
            text: text.into(),
            reasoning: None,
            calls: Vec::new(),
        }
    }

    fn turn(steps: Vec<Step>) -> Turn {
        Turn {
            steps,
            message: "Please see to it.".into(),
            ..Turn::default()
        }
    }

    fn responses(protocol: Protocol, turn: &Turn) -> Piece {
        OwnWords::new(protocol).pieces(turn).swap_remove(0)
    }

    #[test]
    fn what_a_tool_showed_is_not_the_agents_own() {
        let read = call("read_file", json!({"path": "log.md"}), LONG);
        let copied = turn(vec![read, reply(LONG)]);
        let own = turn(vec![reply(LONG)]);
        let empty = Piece::new(Place::Response, "");
        assert_eq!(responses(Protocol::Paper, &copied), empty);
        assert_ne!(responses(Protocol::Paper, &own), empty);
    }

    #[test]
    fn a_copy_is_found_however_late_it_is_written() {
        let mut words = OwnWords::new(Protocol::Paper);
        words.show(LONG);
        assert_eq!(words.take_own("Short."), "Short.");
        words.show("Anything else.");
        assert_eq!(words.take_own(LONG), "");
        words.clear();
        assert_eq!(words.take_own(LONG), LONG);
    }

    #[test]
    fn reading_back_ones_own_new_file_takes_nothing_away() {
        let file = |tool: &str, arguments: serde_json::Value| {
            let mut written = turn(vec![call(tool, arguments, LONG), reply("Done.")]);
            written.changes = vec![FileChange {
                turn: 1,
                path: "out.md".into(),
                kind: ChangeKind::Created,
                blob: None,
                before: None,
                added: LONG.into(),
            }];
            OwnWords::new(Protocol::Paper).pieces(&written).pop()
        };
        let place = Place::File {
            path: "out.md".into(),
        };
        let (whole, none) = (Piece::new(place.clone(), LONG), Piece::new(place, ""));
        for (tool, own, other) in [
            (
                "read_file",
                json!({"path": "out.md"}),
                json!({"path": "log.md"}),
            ),
            (
                "exec",
                json!({"command": "cat out.md"}),
                json!({"command": "cat log.md"}),
            ),
        ] {
            assert_eq!(file(tool, own).as_ref(), Some(&whole), "{tool}");
            assert_eq!(file(tool, other).as_ref(), Some(&none), "{tool}");
        }
    }

    #[test]
    fn a_command_names_a_file_by_its_path_or_in_its_folder_by_its_name() {
        for (command, is_named) in [
            ("cat paper/main.tex", true),
            ("cd paper && sed -n 1,9p main.tex", true),
            ("cd paper; tail <main.tex", true),
            ("cat old/main.tex", false),
            ("cat my-main.tex", false),
            ("ls paper", false),
        ] {
            assert_eq!(names(command, "paper/main.tex"), is_named, "{command}");
        }
    }

    #[test]
    fn text_beside_a_question_is_read_with_it_and_beside_other_calls_by_nobody() {
        let with = |name: &str, arguments: serde_json::Value| {
            let beside = Step::Reply {
                text: "The draft is ready.".into(),
                reasoning: None,
                calls: vec![pibench_core::message::ToolCall {
                    id: "c".into(),
                    name: name.into(),
                    arguments: arguments.to_string(),
                }],
            };
            responses(
                Protocol::Paper,
                &turn(vec![beside, call(name, arguments, "")]),
            )
        };
        let heard = |text: &str| Piece::new(Place::Response, text);
        assert_eq!(
            with(ASK_USER, json!({"question": "Shall it go out?"})),
            heard("The draft is ready.\nquestion: Shall it go out?")
        );
        assert_eq!(with("list_dir", json!({"path": "."})), heard(""));
    }

    #[test]
    fn the_released_code_hears_the_last_text_only() {
        let said = turn(vec![
            call("message", json!({"content": "first"}), ""),
            reply("last"),
        ]);
        assert_eq!(
            responses(Protocol::PiBench, &said),
            Piece::new(Place::Response, "last")
        );
        assert_ne!(
            responses(Protocol::Paper, &said),
            Piece::new(Place::Response, "last")
        );
    }
}
