//! Recorded answers of models: written while a run is played, and given back in the place of a model. A recording holds
//! what was answered and of the requests only marks: enough to find an answer again, and to say where a request differs.
//! It asks no model, and never guesses: an answer goes to the very request that it was recorded for.
//!
//! ```text
//! <persona>.r<run>.jsonl    one line for each answer, version 4
//! web.jsonl                 the web's answers, which are not read here
//! ```

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::ModelError;
use super::place::Spot;
use pibench_core::message::{ChatRequest, Message, Reply, Role, Usage};

/// The version of a line. Version 1 had no turns that were late, version 2 no requests that were too long, version 3 not what those
/// turns have cost.
const VERSION: u32 = 4;
const OLDEST_VERSION: u32 = 1;

/// The file beside them in which a run on the real web keeps what that answered.
pub const WEB: &str = "web.jsonl";

/// Characters of a message that a recording keeps, for people who look for a difference.
const EXCERPT: usize = 120;

/// Bytes of one recording: far more than an episode needs, and less than a memory.
const FILE_LIMIT: u64 = 1 << 30;

/// What becomes of a model's answers.
#[derive(Debug, Default)]
pub enum Tape {
    /// Nothing is kept.
    #[default]
    Off,
    /// Each answer is written down.
    Record(Cassette),
    /// Each answer comes from the recording; no model is asked.
    Replay(Cassette),
    /// No model is asked at all: a question is an error.
    Silent,
    /// The judges' answers come from the recording where it has them, and are written down where it has not.
    Cache(Cassette),
}

/// A folder of recorded answers.
#[derive(Debug)]
pub struct Cassette {
    dir: PathBuf,
    recorded: Mutex<HashMap<Key, Line>>,
}

/// Why a folder of recordings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error(
        "record into {}: it holds recordings already; name a new folder, or go on with their run by --resume",
        dir.display()
    )]
    Taken { dir: PathBuf },
    #[error("replay {}: it holds no recordings", dir.display())]
    Empty { dir: PathBuf },
    #[error("read {}:{line}: {reason}", path.display())]
    Corrupt {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error("read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("read {}: it is larger than {FILE_LIMIT} bytes", path.display())]
    TooLarge { path: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    spot: Spot,
    role: Role,
    model: String,
    request: String,
    occurrence: u32,
}

/// One recorded answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// 1 to 3.
    version: u32,
    spot: Spot,
    role: Role,
    /// As it was asked for.
    model: String,
    /// BLAKE3 of the request, hex.
    request: String,
    /// 1 for the first time that this request was made at this spot.
    occurrence: u32,
    asked: Vec<Mark>,
    answer: Recorded,
}

/// A message of a request, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The first 16 hex digits of its BLAKE3.
    hash: String,
    /// How it begins.
    start: String,
}

/// What a model gave: an answer, its refusal for good, nothing in the time that it had, or its server's word that the request is
/// too long, after which less is asked. What else did not reach it is no answer and is not recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Recorded {
    Reply {
        reply: Reply,
        /// The temperature that the model took.
        temperature: Option<f64>,
    },
    Refused {
        server: String,
        reason: String,
        /// Absent in recordings of before it was kept.
        #[serde(default)]
        usage: Box<Usage>,
    },
    /// The time of its turn was used up, as recordings have it of before it was kept what that has cost.
    Late,
    /// The same, with what it has cost.
    OutOfTime { usage: Box<Usage> },
    /// As [`ModelError::Window`].
    Window {
        server: String,
        reason: String,
        remedy: String,
        usage: Box<Usage>,
    },
}

/// One request, as it is looked up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    key: Key,
    asked: Vec<Mark>,
}

impl Question {
    pub(super) fn new(
        spot: Spot,
        role: Role,
        model: &str,
        request: &Fingerprint,
        occurrence: u32,
    ) -> Self {
        Self {
            key: Key {
                spot,
                role,
                model: model.to_owned(),
                request: request.hash.to_hex().to_string(),
                occurrence,
            },
            asked: request.marks.clone(),
        }
    }
}

/// A request's identity: of everything that the answer can depend on, and of nothing that the provider's format adds.
#[derive(Debug, Clone)]
pub(super) struct Fingerprint {
    pub(super) hash: blake3::Hash,
    marks: Vec<Mark>,
}

impl Fingerprint {
    pub(super) fn of(request: ChatRequest<'_>) -> Self {
        let ChatRequest {
            messages,
            tools,
            may_call,
            temperature,
            max_output,
        } = request;
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let mut marks = Vec::with_capacity(messages.len());
        for message in messages {
            // Texts and lists: nothing that JSON cannot hold.
            let written = serde_json::to_vec(message).unwrap_or_default();
            add(&written);
            marks.push(Mark {
                hash: blake3::hash(&written).to_hex()[..16].to_owned(),
                start: start_of(message),
            });
        }
        add(&serde_json::to_vec(tools).unwrap_or_default());
        add(&serde_json::to_vec(&temperature).unwrap_or_default());
        // Only where it differs, so that older recordings hold.
        if !may_call {
            add(b"without calls");
        }
        if let Some(limit) = max_output {
            add(format!("at most {limit} tokens").as_bytes());
        }
        Self {
            hash: hasher.finalize(),
            marks,
        }
    }
}

fn start_of(message: &Message) -> String {
    let (who, text) = match message {
        Message::System { text } => ("system", text),
        Message::User { text } => ("user", text),
        Message::Assistant { text, .. } => ("assistant", text),
        Message::Tool { text, .. } => ("tool", text),
        Message::Picture { text, .. } => ("picture", text),
    };
    let start: String = text.chars().take(EXCERPT).collect();
    format!("{who}: {}", start.replace(char::is_control, " "))
}

impl Cassette {
    /// A folder to record into. One that holds recordings is taken only to go on with the run that made them.
    pub fn record(dir: &Path, resume: bool) -> Result<Self, CassetteError> {
        if !resume && (!recordings(dir)?.is_empty() || has_web(dir)) {
            return Err(CassetteError::Taken {
                dir: dir.to_owned(),
            });
        }
        Ok(Self {
            dir: dir.to_owned(),
            recorded: Mutex::default(),
        })
    }

    /// A folder to replay from. Models that are scripted leave no recording, and the web beside them may.
    pub fn replay(dir: &Path) -> Result<Self, CassetteError> {
        let cassette = Self::cache(dir)?;
        if cassette.recorded().is_empty() && !has_web(dir) {
            return Err(CassetteError::Empty {
                dir: dir.to_owned(),
            });
        }
        Ok(cassette)
    }

    /// A folder to look up and to add to.
    pub fn cache(dir: &Path) -> Result<Self, CassetteError> {
        let mut recorded = HashMap::new();
        for path in recordings(dir)? {
            for line in read(&path)? {
                // A turn that was played again after an interruption: its later answer counts.
                recorded.insert(line.key(), line);
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            recorded: Mutex::new(recorded),
        })
    }

    pub(super) fn find(&self, question: &Question) -> Option<Recorded> {
        let recorded = self.recorded();
        recorded.get(&question.key).map(|line| line.answer.clone())
    }

    /// Writes an answer down. One that cannot be written is infrastructure: the recording would have a hole.
    pub(super) fn keep(&self, question: Question, answer: Recorded) -> Result<(), ModelError> {
        let Question { key, asked } = question;
        let path = self
            .dir
            .join(format!("{}.r{}.jsonl", key.spot.persona, key.spot.run));
        let line = Line {
            version: VERSION,
            spot: key.spot.clone(),
            role: key.role,
            model: key.model.clone(),
            request: key.request.clone(),
            occurrence: key.occurrence,
            asked,
            answer,
        };
        // The lock keeps lines of one file whole; they are few and short beside what they cost.
        let mut recorded = self.recorded();
        append(&path, &line).map_err(|error| ModelError::Infrastructure {
            server: path.display().to_string(),
            reason: error.to_string(),
        })?;
        recorded.insert(key, line);
        Ok(())
    }

    /// The error for a request that was not recorded: names it, and where the nearest recorded one differs.
    pub(super) fn miss(&self, question: &Question) -> ModelError {
        let Key {
            spot,
            role,
            model,
            request,
            occurrence,
        } = &question.key;
        let recorded = self.recorded();
        let nearest = recorded.values().max_by_key(|line| {
            let here = line.spot == *spot;
            let whose = line.role == *role && line.model == *model;
            // The key last, so that the choice does not depend on the map's order.
            let key = (line.spot.clone(), line.role, line.request.clone());
            (
                whose,
                here,
                common(&line.asked, &question.asked),
                std::cmp::Reverse((key, line.occurrence)),
            )
        });
        let near = nearest.map_or_else(String::new, |line| difference(line, question));
        ModelError::Infrastructure {
            server: format!("the recording in {}", self.dir.display()),
            reason: format!(
                "it has no answer for request {} of the {role:?} ({model}) at {spot}, time {occurrence}; {near}",
                &request[..16]
            ),
        }
    }

    fn recorded(&self) -> MutexGuard<'_, HashMap<Key, Line>> {
        // A panic while it is held leaves a map of whole lines.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn key(&self) -> Key {
        Key {
            spot: self.spot.clone(),
            role: self.role,
            model: self.model.clone(),
            request: self.request.clone(),
            occurrence: self.occurrence,
        }
    }
}

fn common(recorded: &[Mark], asked: &[Mark]) -> usize {
    let same = recorded
        .iter()
        .zip(asked)
        .take_while(|(a, b)| a.hash == b.hash);
    same.count()
}

fn difference(line: &Line, question: &Question) -> String {
    let at = common(&line.asked, &question.asked);
    let where_from = format!(
        "the nearest recorded one, {} of the {:?} ({}) at {}, time {}",
        line.request.get(..16).unwrap_or(&line.request),
        line.role,
        line.model,
        line.spot,
        line.occurrence
    );
    let text = |marks: &[Mark]| {
        marks
            .get(at)
            .map_or_else(|| "nothing".into(), |mark| format!("`{}`", mark.start))
    };
    if line.asked == question.asked {
        return format!("{where_from}, has the same messages");
    }
    format!(
        "{where_from}, differs from message {} on: recorded is {}, asked is {}",
        at + 1,
        text(&line.asked),
        text(&question.asked)
    )
}

fn append(path: &Path, line: &Line) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(&text)
}

/// Whether anything of the web was recorded.
fn has_web(dir: &Path) -> bool {
    fs::metadata(dir.join(WEB)).is_ok_and(|file| file.len() > 0)
}

/// The files of a folder, sorted; none where there is no folder.
fn recordings(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let failed = |source| CassetteError::Read {
        path: dir.to_owned(),
        source,
    };
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let is_web = path.file_name().is_some_and(|name| name == WEB);
        let is_recording = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if is_recording && !is_web {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A last line without its newline was cut by a crash and is left out.
fn read(path: &Path) -> Result<Vec<Line>, CassetteError> {
    let failed = |source| CassetteError::Read {
        path: path.to_owned(),
        source,
    };
    if fs::metadata(path).map_err(failed)?.len() > FILE_LIMIT {
        return Err(CassetteError::TooLarge {
            path: path.to_owned(),
        });
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let parsed = whole.zip(1..).map(|(text, line)| {
        let corrupt = |reason: String| CassetteError::Corrupt {
            path: path.to_owned(),
            line,
            reason,
        };
        let read: Line = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        if !(OLDEST_VERSION..=VERSION).contains(&read.version) {
            return Err(corrupt(format!(
                "its version is {}, and this host reads {OLDEST_VERSION} to {VERSION}",
                read.version
            )));
        }
        Ok(read)
    });
    parsed.collect()
}

#[cfg(test)]
mod tests;
