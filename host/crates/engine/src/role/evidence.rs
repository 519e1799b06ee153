//! What the user agent and the judge may look at, as data: one turn, and the session up to it. How it is shown to a model
//! is `exhibit`'s to know, and what it means is nobody's here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fence::{Draw, Nonce};
use pibench_core::matcher::Piece;
use pibench_core::message::Image;
use pibench_core::record::{CallRecord, FileChange, Speaker, Utterance};
use pibench_core::vocabulary::Protocol;

/// One turn of a session, as the user agent and the judge see it.
#[derive(Debug, Clone, Default)]
pub struct TurnEvidence {
    pub protocol: Protocol,
    pub turn: u32,
    /// All text sent to the user in the turn, in order.
    pub response: String,
    /// The last of it alone: the final text, or the question of `ask_user`. What `pi-bench` looks at.
    pub final_text: String,
    /// What the files hold after the turn that the agent changed in the session, and the session's `files_read`, by path.
    /// Empty where no judge is a model.
    pub files: BTreeMap<String, Content>,
    /// The paths of the session's `files_read`, in the author's order.
    pub files_read: Vec<String>,
    /// The agent's own words of this turn, for the lexical matchers; empty where no judge is scripted.
    pub pieces: Vec<Piece>,
    /// All messages of the session up to and with this turn's response. Shared with the session, as are the next ones:
    /// they grow with every turn.
    pub messages: Arc<Vec<Utterance>>,
    /// The calls of all turns, this one included.
    pub all_calls: Arc<Vec<CallRecord>>,
    /// The changed files of all turns, this one included.
    pub all_changes: Arc<Vec<FileChange>>,
    /// The agent's own words of all turns, this one included.
    pub all_pieces: Arc<Vec<Piece>>,
    /// What stands behind every turn of the session.
    pub background: Arc<Background>,
    /// Names the turn within everything that is ever run (seed, run, persona, session, turn): what the delimiters of
    /// the prompts are drawn from.
    pub nonce: String,
}

impl TurnEvidence {
    /// The same with the agent's own words of a session, turn by turn; `at` is the index of this turn.
    #[must_use]
    pub(crate) fn with_pieces(self, words: &[Vec<Piece>], at: usize) -> Self {
        let upto = words.len().min(at + 1);
        Self {
            pieces: words.get(at).cloned().unwrap_or_default(),
            all_pieces: Arc::new(words[..upto].concat()),
            ..self
        }
    }
}

/// What stands behind every turn of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Background {
    /// The user's name.
    pub user: String,
    /// What the user tells whoever asks, by what it is.
    pub facts: BTreeMap<String, String>,
    /// All hidden intents of the session: what the released code shows its judge of rubrics.
    pub intents: Vec<String>,
    /// What other sessions of the user ask for, and this one cannot be expected to give.
    pub elsewhere: Vec<String>,
}

/// What a file holds, as far as a judge can be shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text; of a document, that of its pages.
    Text(Arc<str>),
    Picture(Arc<Image>),
    /// Something else, of so many bytes.
    Bytes(usize),
    /// A document that could not be read, and why.
    Unread(String),
    Missing,
}

impl Content {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Unread(why) => Some(why),
            _ => None,
        }
    }
}

impl TurnEvidence {
    /// The delimiter of the texts of one prompt, by its file.
    pub(crate) fn delimiter(&self, prompt: &str) -> Nonce {
        let mut nonce = Draw::new(&self.nonce, prompt);
        self.texts(|text| nonce.add(text));
        nonce.nonce()
    }

    /// Every text that may be shown.
    pub(super) fn texts(&self, mut each: impl FnMut(&str)) {
        each(&self.response);
        each(&self.final_text);
        for message in self.messages.iter() {
            each(&message.text);
        }
        for call in self.all_calls.iter() {
            // A model may call whatever it likes.
            each(&call.tool);
            each(&call.result);
            // Arguments are what the agent writes first of all.
            each(&call.arguments.to_string());
        }
        for (path, content) in &self.files {
            each(path);
            if let Some(text) = content.text() {
                each(text);
            }
        }
        for change in self.all_changes.iter() {
            each(&change.path);
            each(&change.added);
        }
    }

    /// What the agent said to the user in this turn, where the protocol looks for it.
    pub(crate) fn said(&self) -> &str {
        match self.protocol {
            Protocol::Paper => &self.response,
            Protocol::PiBench => &self.final_text,
        }
    }

    /// The messages before this turn's response.
    pub(crate) fn before(&self) -> &[Utterance] {
        match self.messages.split_last() {
            Some((last, before)) if last.speaker == Speaker::Agent => before,
            _ => &self.messages,
        }
    }
}
