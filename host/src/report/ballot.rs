//! The page on which a person judges a sample blind, and the file of verdicts that it saves: one HTML file without any
//! other, which names no agent and shows no verdict. It reads no run and counts nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::escape;
use crate::eval::record::Status;

/// Characters of one text that are shown: a page of 120 sessions has to open in a browser.
const SHOWN: usize = 20_000;

const SCRIPT: &str = include_str!("../../page/ballot.js");
const STYLE: &str = include_str!("../../page/ballot.css");

/// The first line of a file of verdicts.
const HEADER: [&str; 3] = ["sheet", "item", "verdict"];

/// A sample, as a person judges it.
#[derive(Debug)]
pub struct Ballot {
    /// Names the sample, so that no verdicts are taken for another's.
    pub id: String,
    pub sessions: Vec<BallotSession>,
}

/// One session with its questions.
#[derive(Debug)]
pub struct BallotSession {
    /// The simulated user's name.
    pub user: String,
    pub title: String,
    /// What the session staged.
    pub files: Vec<BallotFile>,
    pub turns: Vec<BallotTurn>,
    pub questions: Vec<Question>,
}

/// One turn.
#[derive(Debug)]
pub struct BallotTurn {
    pub message: String,
    pub response: String,
    pub calls: Vec<BallotCall>,
    pub files: Vec<BallotFile>,
}

/// One tool call.
#[derive(Debug)]
pub struct BallotCall {
    pub tool: String,
    pub arguments: Value,
    pub result: String,
    pub refused: bool,
}

/// A file after a turn.
#[derive(Debug)]
pub struct BallotFile {
    pub path: String,
    /// None: it was deleted.
    pub content: Option<Vec<u8>>,
}

/// Something to judge.
#[derive(Debug)]
pub struct Question {
    /// Tells nothing of what it is about.
    pub id: String,
    pub kind: Kind,
    pub text: String,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whether a checklist item is met, after any turn or at the end.
    Item { at_end: bool },
    /// Where a hidden intent ended.
    Intent,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Item(bool),
    Intent(Status),
}

/// One person's verdicts, by question; each question of the ballot has one.
pub type Votes = BTreeMap<String, Verdict>;

/// What is wrong with a file of verdicts.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum VotesError {
    #[error("line {line}: {reason}")]
    Line { line: u64, reason: String },
    #[error(
        "{missing} of {of} questions have no verdict; the first is `{first}`, in session {session} of the page"
    )]
    Missing {
        missing: usize,
        of: usize,
        first: String,
        session: usize,
    },
}

impl Kind {
    /// The words that the file of verdicts has for the answers, each with what the page says.
    fn answers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Item { .. } => &[("yes", "yes"), ("no", "no")],
            Self::Intent => &[
                ("completed", "satisfied unasked, before the user said it"),
                ("inferred", "the agent asked for it, and was answered"),
                ("provided", "the user had to say it"),
                ("open", "none of these"),
            ],
        }
    }

    fn verdict(self, word: &str) -> Option<Verdict> {
        Some(match (self, word) {
            (Self::Item { .. }, "yes") => Verdict::Item(true),
            (Self::Item { .. }, "no") => Verdict::Item(false),
            (Self::Intent, "completed") => Verdict::Intent(Status::Completed),
            (Self::Intent, "inferred") => Verdict::Intent(Status::Inferred),
            (Self::Intent, "provided") => Verdict::Intent(Status::Provided),
            (Self::Intent, "open") => Verdict::Intent(Status::Open),
            _ => return None,
        })
    }

    fn asks(self) -> &'static str {
        match self {
            Self::Item { at_end: false } => "Was this true after any turn?",
            Self::Item { at_end: true } => "Is this true at the end?",
            Self::Intent => "What became of this wish, which the user kept back?",
        }
    }
}

impl Ballot {
    fn questions(&self) -> impl Iterator<Item = (usize, &Question)> {
        let sessions = self.sessions.iter().enumerate();
        sessions.flat_map(|(at, session)| session.questions.iter().map(move |one| (at + 1, one)))
    }

    /// Reads what the page saved: one verdict for each question.
    pub fn votes(&self, text: &str) -> Result<Votes, VotesError> {
        let known: BTreeMap<&str, Kind> = self
            .questions()
            .map(|(_, question)| (question.id.as_str(), question.kind))
            .collect();
        // Spreadsheets put a mark in front, and some part by semicolons.
        let text = text.trim_start_matches('\u{feff}');
        let semicolons = text.lines().next().is_some_and(|line| line.contains(';'));
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .delimiter(if semicolons { b';' } else { b',' })
            .from_reader(text.as_bytes());
        let mut votes = Votes::new();
        for (at, record) in reader.records().enumerate() {
            let record = record.map_err(|error| VotesError::Line {
                line: error.position().map_or(0, csv::Position::line),
                reason: error.to_string(),
            })?;
            let line = record.position().map_or(0, csv::Position::line);
            let fields: Vec<&str> = record.iter().collect();
            let read = if at == 0 {
                header(&fields)
            } else {
                self.vote(&fields, &known, &mut votes)
            };
            read.map_err(|reason| VotesError::Line { line, reason })?;
        }
        let of = known.len();
        let mut without = self
            .questions()
            .filter(|(_, one)| !votes.contains_key(&one.id));
        match without.next() {
            None => Ok(votes),
            Some((session, first)) => Err(VotesError::Missing {
                missing: 1 + without.count(),
                of,
                first: first.id.clone(),
                session,
            }),
        }
    }

    /// Takes one line.
    fn vote(
        &self,
        fields: &[&str],
        known: &BTreeMap<&str, Kind>,
        votes: &mut Votes,
    ) -> Result<(), String> {
        let [sheet, item, word] = fields else {
            return Err(format!(
                "{} fields; want sheet, item and verdict",
                fields.len()
            ));
        };
        if *sheet != self.id {
            return Err(format!(
                "it is of the sheet `{sheet}`, and these runs give `{}`: name the runs, --sample and --seed that the sheet was \
                 made with",
                self.id
            ));
        }
        let kind = known
            .get(item)
            .ok_or_else(|| format!("the sheet has no item `{item}`"))?;
        let words: Vec<&str> = kind.answers().iter().map(|(word, _)| *word).collect();
        let wanted = || format!("want {}", words.join(", "));
        if word.is_empty() {
            return Err(format!("`{item}` has no verdict; {}", wanted()));
        }
        let verdict = kind
            .verdict(&word.to_lowercase())
            .ok_or_else(|| format!("`{word}` is no verdict on `{item}`; {}", wanted()))?;
        match votes.insert((*item).to_owned(), verdict) {
            None => Ok(()),
            Some(_) => Err(format!("a second verdict on `{item}`")),
        }
    }

    /// The page.
    pub fn html(&self) -> String {
        let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; base-uri \
             'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Sheet {id}</title>\n<style>{STYLE}</style>\n</head>\n<body data-sheet=\"{id}\">\n<main>\n{INTRODUCTION}",
            hash(SCRIPT),
            hash(STYLE),
            id = escape::html(&self.id),
        );
        for (at, session) in self.sessions.iter().enumerate() {
            session.write(at + 1, &mut page);
        }
        page + "</main>\n<script>" + SCRIPT + "</script>\n</body>\n</html>\n"
    }
}

fn header(fields: &[&str]) -> Result<(), String> {
    if fields == HEADER {
        return Ok(());
    }
    Err(format!(
        "want the header `{}`, as the page saves it",
        HEADER.join(",")
    ))
}

const INTRODUCTION: &str = "<header><h1>Sessions to judge</h1>\n\
<p>Each session is a conversation of a user with an assistant. Read it, open the calls and files that you need, and answer every \
question beside it by what is there alone. Say yes only on clear evidence: a claim of the assistant that something was done is \
none.</p>\n\
<p>A wish that the user kept back is <b>satisfied unasked</b> when an answer of the assistant, with what it did in that turn, meets \
it before the user said it; it was <b>asked for</b> when a question aimed at exactly this wish and the user answered. The first that \
happened counts.</p>\n\
<p class=\"bar\"><output id=\"left\"></output> <button id=\"next\">Next without an answer</button> <button id=\"save\">Save the \
verdicts</button></p></header>\n";

impl BallotSession {
    fn write(&self, number: usize, page: &mut String) {
        // A string takes every text.
        let _ = write!(
            page,
            "<section class=\"session\">\n<h2>{number}. {}</h2>\n<div class=\"columns\">\n<div class=\"record\">\n<p>The user is \
             {}.</p>\n",
            escape::html(&self.title),
            escape::html(&self.user)
        );
        write_files("The session's files", &self.files, page);
        for (at, turn) in self.turns.iter().enumerate() {
            turn.write(at + 1, page);
        }
        page.push_str("</div>\n<div class=\"questions\">\n");
        for question in &self.questions {
            question.write(page);
        }
        page.push_str("</div>\n</div>\n</section>\n");
    }
}

impl BallotTurn {
    fn write(&self, number: usize, page: &mut String) {
        let _ = write!(
            page,
            "<article>\n<h3>Turn {number}</h3>\n<h4>User</h4>\n<pre>{}</pre>\n",
            shown(&self.message)
        );
        if !self.calls.is_empty() {
            let _ = writeln!(
                page,
                "<details><summary>{} calls</summary>",
                self.calls.len()
            );
            for call in &self.calls {
                call.write(page);
            }
            page.push_str("</details>\n");
        }
        write_files("Files that the turn changed", &self.files, page);
        let _ = write!(
            page,
            "<h4>Assistant</h4>\n<pre>{}</pre>\n</article>\n",
            shown(&self.response)
        );
    }
}

impl BallotCall {
    fn write(&self, page: &mut String) {
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let _ = writeln!(
            page,
            "<details class=\"call\"><summary>{}{}</summary><pre>{}</pre><pre>{}</pre></details>",
            escape::html(&self.tool),
            if self.refused { " (refused)" } else { "" },
            shown(&arguments),
            shown(&self.result)
        );
    }
}

fn write_files(title: &str, files: &[BallotFile], page: &mut String) {
    if files.is_empty() {
        return;
    }
    let _ = writeln!(page, "<details><summary>{title}: {}</summary>", files.len());
    for BallotFile { path, content } in files {
        let text = match content.as_deref().map(std::str::from_utf8) {
            None => "deleted".into(),
            Some(Ok(text)) => shown(text),
            Some(Err(_)) => "no text".into(),
        };
        let path = escape::html(path);
        let _ = writeln!(
            page,
            "<details class=\"file\"><summary>{path}</summary><pre>{text}</pre></details>"
        );
    }
    page.push_str("</details>\n");
}

impl Question {
    fn write(&self, page: &mut String) {
        let Self { id, kind, text } = self;
        let _ = write!(
            page,
            "<fieldset id=\"q-{id}\" data-item=\"{id}\"><legend>{}</legend>\n<p>{}</p>\n",
            kind.asks(),
            escape::html(text)
        );
        for (word, said) in kind.answers() {
            let _ = writeln!(
                page,
                "<label><input type=\"radio\" name=\"{id}\" value=\"{word}\"> {said}</label>"
            );
        }
        page.push_str("</fieldset>\n");
    }
}

/// A text of several lines for the page; what is cut says so.
fn shown(text: &str) -> String {
    let lines = |text: &str| {
        text.lines()
            .map(escape::html)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let all = text.chars().count();
    if all <= SHOWN {
        return lines(text);
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("{}\n[{} more characters]", lines(&head), all - SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot() -> Ballot {
        let question = |id: &str, kind| Question {
            id: id.into(),
            kind,
            text: "<b>Three</b> papers.".into(),
        };
        let session = |questions| BallotSession {
            user: "Dana".into(),
            title: "A <title>".into(),
            files: vec![BallotFile {
                path: "a.bin".into(),
                content: Some(vec![0xff]),
            }],
            turns: vec![BallotTurn {
                message: "Hello\n</pre><script>alert(1)</script>".into(),
                response: "x".repeat(SHOWN + 5),
                calls: vec![BallotCall {
                    tool: "read_file".into(),
                    arguments: serde_json::json!({"path": "a.md"}),
                    result: "no".into(),
                    refused: true,
                }],
                files: Vec::new(),
            }],
            questions,
        };
        Ballot {
            id: "5eed".into(),
            sessions: vec![
                session(vec![question("aa", Kind::Item { at_end: false })]),
                session(vec![question("bb", Kind::Intent)]),
            ],
        }
    }

    fn check(text: &str, expected: &str) {
        let said = match ballot().votes(text) {
            Ok(votes) => format!("{votes:?}"),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expected), "{text}: {said}");
    }

    #[test]
    fn a_whole_file_of_verdicts_is_read_as_spreadsheets_write_it() {
        let both = r#"{"aa": Item(true), "bb": Intent(Provided)}"#;
        check("sheet,item,verdict\n5eed,aa,yes\n5eed,bb,provided\n", both);
        check(
            "\u{feff}sheet;item;verdict\r\n5eed;bb;Provided\r\n\"5eed\";aa; YES\r\n",
            both,
        );
    }

    #[test]
    fn what_is_wrong_with_verdicts_is_told_with_its_line() {
        for (rows, told) in [
            ("aa", "line 2: 1 fields; want sheet, item and verdict"),
            (
                "5eed,aa,perhaps",
                "line 2: `perhaps` is no verdict on `aa`; want yes, no",
            ),
            (
                "5eed,bb,yes",
                "line 2: `yes` is no verdict on `bb`; want completed, inferred, provided, open",
            ),
            ("5eed,aa,", "line 2: `aa` has no verdict; want yes, no"),
            ("5eed,aa,no\n5eed,aa,no", "line 3: a second verdict on `aa`"),
            ("5eed,cc,no", "line 2: the sheet has no item `cc`"),
            (
                "else,aa,no",
                "line 2: it is of the sheet `else`, and these runs give `5eed`",
            ),
            (
                "5eed,aa,no",
                "1 of 2 questions have no verdict; the first is `bb`, in session 2",
            ),
        ] {
            check(&format!("sheet,item,verdict\n{rows}\n"), told);
        }
        check(
            "item,verdict\naa,yes\n",
            "line 1: want the header `sheet,item,verdict`",
        );
        check("", "2 of 2 questions have no verdict");
    }

    #[test]
    fn the_page_makes_no_markup_of_what_was_said() {
        let page = ballot().html();
        assert!(
            page.contains("&lt;/pre&gt;&lt;script&gt;alert(1)"),
            "{page}"
        );
        assert!(
            !page.contains("<script>alert") && !page.contains("<b>Three"),
            "{page}"
        );
        assert!(page.contains("[5 more characters]") && page.contains("no text"));
        assert!(page.contains("read_file (refused)"));
    }
}
