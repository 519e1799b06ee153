//! A sample of sessions that people judge blind, and the file of verdicts that its page saves. It names no agent and no
//! verdict, reads no run and counts nothing.

use std::collections::BTreeMap;

use pibench_core::message::Image;
use pibench_core::record::Status;
use serde_json::Value;

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
    pub content: Held,
}

/// What a file holds, as far as a person can be shown it.
#[derive(Debug)]
pub enum Held {
    /// A text; of a document, that of its pages.
    Text(String),
    Picture(Image),
    /// What it is instead, or why it could not be read.
    Unshown(String),
    Deleted,
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
    pub fn answers(self) -> &'static [(&'static str, &'static str)] {
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
