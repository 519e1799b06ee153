//! What lay behind hidden intents that were missed (paper, appendix F.4), by fixed rules on the record: where each could
//! have been found, whether the agent had that before its eyes, and what it made and never looked at again. It asks no
//! model and changes no score.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::lexical::arguments_text;
use super::record::{CallRecord, CallStatus};
use crate::vocabulary::FoundIn;

/// Where the scaffold keeps what it remembers of earlier sessions.
const MEMORY: &str = "memory/";

/// The built-in tools that show what is in a file.
const READERS: [&str; 3] = ["read_file", "grep", "exec"];

/// The built-in tools that write one.
const WRITERS: [&str; 3] = ["write_file", "edit_file", "notebook_edit"];

/// How the names of those tools of apps begin that show something and change nothing.
const SHOWS: [&str; 8] = [
    "show", "search", "get", "list", "find", "read", "view", "check",
];

/// How the names of those begin that neither show nor change what a task is about.
const ENTERS: [&str; 3] = ["login", "logout", "signup"];

/// What earlier sessions of an episode made or changed: paths in the workspace, by session.
pub type Made = BTreeMap<String, BTreeSet<String>>;

/// The successful calls of a session, in their order.
#[derive(Debug)]
pub struct Deeds<'a> {
    calls: Vec<Deed<'a>>,
    /// What the agent was told without asking, folded.
    prompt: String,
}

#[derive(Debug)]
struct Deed<'a> {
    call: &'a CallRecord,
    arguments: String,
    /// What it showed, folded.
    shown: String,
}

/// What was made in a session, and how much of it was never looked at afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Unlooked {
    /// Calls that wrote a file or changed an app.
    pub acts: usize,
    /// Those among them that no later call of the session looked at.
    pub unseen: usize,
}

/// What a call made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Product<'a> {
    File(&'a str),
    App(&'a str),
}

impl<'a> Deeds<'a> {
    /// `prompt` is the system prompt of the session.
    pub fn new(prompt: &str, calls: impl Iterator<Item = &'a CallRecord>) -> Self {
        let calls = calls.filter(|call| call.status == CallStatus::Ok);
        Self {
            calls: calls.map(Deed::new).collect(),
            prompt: fold(prompt),
        }
    }

    /// The turn in which a place was first before the agent's eyes, 0 where the prompt tells it; None if it never was until
    /// the end of this turn. A place was, when a call's result or the prompt holds its quote. An earlier session also was,
    /// when a call read memory or a file that was made there. A question is no such place.
    pub fn opened(&self, place: &FoundIn, made: &Made, until: u32) -> Option<u32> {
        let quote = match place {
            FoundIn::File { quote, .. }
            | FoundIn::App { quote, .. }
            | FoundIn::Memory { quote } => Some(fold(quote)),
            FoundIn::Session { quote, .. } => quote.as_deref().map(fold),
            FoundIn::Question => return None,
        };
        if quote
            .as_ref()
            .is_some_and(|quote| self.prompt.contains(quote))
        {
            return Some(0);
        }
        let of_session = match place {
            FoundIn::Session { session, .. } => made.get(session),
            _ => None,
        };
        let is_session = matches!(place, FoundIn::Session { .. });
        let opens = |deed: &&Deed<'_>| {
            quote
                .as_ref()
                .is_some_and(|quote| deed.shown.contains(quote))
                || (is_session && deed.reads_of(of_session))
        };
        let mut before = self.calls.iter().filter(|deed| deed.call.turn <= until);
        before.find(opens).map(|deed| deed.call.turn)
    }

    /// Which writing calls no later one looked at. A file was looked at when a reading tool named it, or its name stood in
    /// what one showed; an app, when one of its showing tools was called.
    pub fn unlooked(&self) -> Unlooked {
        let mut last_look: BTreeMap<Product<'_>, Option<usize>> = BTreeMap::new();
        let mut found = Unlooked::default();
        for (at, deed) in self.calls.iter().enumerate() {
            let Some(product) = deed.product() else {
                continue;
            };
            let last = last_look
                .entry(product)
                .or_insert_with(|| self.calls.iter().rposition(|deed| deed.looks_at(product)));
            found.acts += 1;
            found.unseen += usize::from(last.is_none_or(|last| last < at));
        }
        found
    }
}

impl<'a> Deed<'a> {
    fn new(call: &'a CallRecord) -> Self {
        Self {
            call,
            arguments: arguments_text(&call.arguments),
            shown: fold(&call.result),
        }
    }

    fn tool(&self) -> &'a str {
        &self.call.tool
    }

    /// Whether it reads memory, or one of a session's files.
    fn reads_of(&self, paths: Option<&BTreeSet<String>>) -> bool {
        let names = |path: &str| self.arguments.contains(path);
        READERS.contains(&self.tool())
            && (names(MEMORY) || paths.into_iter().flatten().any(|path| names(path)))
    }

    fn product(&self) -> Option<Product<'a>> {
        if WRITERS.contains(&self.tool()) {
            return self.call.arguments["path"].as_str().map(Product::File);
        }
        let (app, tool) = self.tool().split_once("__")?;
        let begins = |verbs: &[&str]| verbs.iter().any(|verb| begins(tool, verb));
        (!begins(&SHOWS) && !begins(&ENTERS)).then_some(Product::App(app))
    }

    fn looks_at(&self, product: Product<'_>) -> bool {
        match product {
            Product::File(path) => {
                let name = path.rsplit('/').next().unwrap_or(path);
                READERS.contains(&self.tool())
                    && (self.arguments.contains(name) || self.shown.contains(&fold(name)))
            }
            Product::App(app) => self
                .tool()
                .split_once("__")
                .is_some_and(|(of, tool)| of == app && SHOWS.iter().any(|verb| begins(tool, verb))),
        }
    }
}

/// Whether a tool's name begins with this word.
fn begins(tool: &str, verb: &str) -> bool {
    let rest = tool.strip_prefix(verb);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// A text without what only its form adds: JSON's quotes and escapes, the line numbers of `read_file`, white space, case.
fn fold(text: &str) -> String {
    let plain = match serde_json::from_str::<Value>(text) {
        Ok(value) => arguments_text(&value),
        Err(_) => text.lines().map(unnumbered).collect::<Vec<_>>().join("\n"),
    };
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn unnumbered(line: &str) -> &str {
    match line.split_once("| ") {
        Some((number, rest)) if number.trim().parse::<u32>().is_ok() => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(turn: u32, tool: &str, arguments: Value, result: &str) -> CallRecord {
        CallRecord {
            exact: None,
            number: 1,
            turn,
            tool: tool.into(),
            arguments,
            status: CallStatus::Ok,
            code: 0,
            result: result.into(),
        }
    }

    fn opened(calls: &[CallRecord], place: &FoundIn, until: u32) -> Option<u32> {
        let paths = BTreeSet::from(["flat/shortlist.md".to_owned()]);
        let made = Made::from([("flat-shortlist".to_owned(), paths)]);
        Deeds::new("Notes: keep receipts.", calls.iter()).opened(place, &made, until)
    }

    fn file(quote: &str) -> FoundIn {
        let path = "a.md".into();
        let quote = quote.into();
        FoundIn::File { path, quote }
    }

    #[test]
    fn a_quote_is_found_whatever_form_it_was_shown_in() {
        let read = call(
            2,
            "read_file",
            json!({"path": "a.md"}),
            "1| The box\n2| takes Two\n(end of file)",
        );
        let place = file("box takes two");
        assert_eq!(opened(std::slice::from_ref(&read), &place, 2), Some(2));
        assert_eq!(
            opened(std::slice::from_ref(&read), &place, 1),
            None,
            "it came too late"
        );
        let refused = CallRecord {
            status: CallStatus::ToolError,
            ..read
        };
        assert_eq!(opened(&[refused], &place, 2), None);
        let app = FoundIn::App {
            app: "gmail".into(),
            quote: "line one line \"two\"".into(),
        };
        let mail = call(
            1,
            "gmail__show_thread",
            json!({}),
            r#"[{"body": "Line one\nline \"two\""}]"#,
        );
        assert_eq!(opened(&[mail], &app, 1), Some(1));
        let memory = FoundIn::Memory {
            quote: "Keep receipts".into(),
        };
        assert_eq!(opened(&[], &memory, 1), Some(0));
        assert_eq!(opened(&[], &FoundIn::Question, 1), None);
    }

    #[test]
    fn an_earlier_session_is_opened_by_its_files_or_by_memory() {
        let session = |session: &str| FoundIn::Session {
            session: session.into(),
            intent: Some("all-in".into()),
            quote: None,
        };
        let read = |path: &str| [call(1, "read_file", json!({ "path": path }), "x")];
        assert_eq!(
            opened(&read("flat/shortlist.md"), &session("flat-shortlist"), 1),
            Some(1)
        );
        assert_eq!(
            opened(&read("flat/shortlist.md"), &session("trip-plan"), 1),
            None
        );
        assert_eq!(
            opened(&read("memory/HISTORY.md"), &session("trip-plan"), 1),
            Some(1)
        );
        assert_eq!(
            opened(&read("flat/ads.md"), &session("flat-shortlist"), 1),
            None
        );
        let written = [call(
            1,
            "write_file",
            json!({"path": "flat/shortlist.md"}),
            "x",
        )];
        assert_eq!(opened(&written, &session("flat-shortlist"), 1), None);
    }

    fn check(calls: &[CallRecord], acts: usize, unseen: usize) {
        let deeds = Deeds::new("", calls.iter());
        assert_eq!(deeds.unlooked(), Unlooked { acts, unseen });
    }

    #[test]
    fn what_is_made_is_looked_at_later_or_counted() {
        let write = || {
            call(
                1,
                "write_file",
                json!({"path": "out/a.md"}),
                "Wrote 3 bytes.",
            )
        };
        let read = |path: &str| call(2, "read_file", json!({ "path": path }), "1| x");
        check(&[write()], 1, 1);
        check(&[write(), read("out/a.md")], 1, 0);
        check(&[read("out/a.md"), write()], 1, 1);
        check(&[write(), read("b.md")], 1, 1);
        check(
            &[
                write(),
                call(1, "exec", json!({"command": "cd out; cat a.md"}), "x"),
            ],
            1,
            0,
        );
        check(
            &[write(), call(1, "list_dir", json!({"path": "."}), "a.md")],
            1,
            1,
        );
        let app = |tool: &str| call(1, tool, json!({}), "{}");
        check(&[app("gmail__login"), app("gmail__show_drafts")], 0, 0);
        check(
            &[app("gmail__create_draft"), app("todoist__show_tasks")],
            1,
            1,
        );
        check(
            &[app("gmail__create_draft"), app("gmail__show_drafts")],
            1,
            0,
        );
        check(&[app("phone__showcase")], 1, 1);
        let failed = CallRecord {
            status: CallStatus::Failed,
            ..write()
        };
        check(&[failed], 0, 0);
    }
}
