//! The files of the reference implementation's output folders as they are written: JSON and JSON lines. Types and their
//! reading only. Keys that are not needed are skipped: the folders are another program's, of any of its versions.

use std::ops::Range;

use camino::Utf8Path;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use pibench_suite::pack::{Pack, ReadError};
use pibench_suite::problem::{Problem, Source};

/// Bytes of one file. A turn's file holds the whole chat, with the contents of all files that were read.
const FILE_LIMIT: u64 = 64 << 20;

/// A line of `history/<time>-messages.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct MessageLine {
    /// `user` or `assistant`.
    pub(super) role: String,
    pub(super) message: String,
    /// Seconds since 1970.
    pub(super) timestamp: f64,
}

/// A line of `history/<time>-log.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct LogLine {
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Value,
}

/// One intent in a log line.
#[derive(Debug, Deserialize)]
pub(super) struct HiddenLine {
    pub(super) content: String,
    /// `not_provided`, `provided` or `inferred`: the reference's own words.
    #[serde(default)]
    pub(super) status: String,
}

/// One judgement in a log line.
#[derive(Debug, Deserialize)]
pub(super) struct Decision {
    /// 1, 2, 3, ...
    pub(super) idx: usize,
    /// `YES` or `NO`.
    #[serde(rename = "decision")]
    pub(super) answer: String,
    /// `Clarify` or `Options`, of a question.
    #[serde(default)]
    pub(super) style: Option<String>,
}

/// `eval/results/<time>_result.json`
#[derive(Debug, Deserialize)]
pub(super) struct ResultFile {
    /// Fractions.
    #[serde(default)]
    pub(super) overall_checklist_average_score: Option<f64>,
    #[serde(default)]
    pub(super) overall_proactiveness_average_score: Option<f64>,
    pub(super) task: TaskResult,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskResult {
    pub(super) task_id: String,
    pub(super) checklist: Option<ChecklistResult>,
    pub(super) proactiveness: Option<ProactivenessResult>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChecklistResult {
    /// A fraction.
    #[serde(default)]
    pub(super) average_score: Option<f64>,
    /// The best of all turns.
    pub(super) criterion_scores: Vec<CriterionScore>,
    pub(super) turn_evaluations: Vec<TurnEvaluation>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CriterionScore {
    /// As in the task; a check of the rule script behind `[tools] `.
    pub(super) criterion: String,
    #[serde(default)]
    pub(super) weight: Option<f64>,
    /// 0 or 1.
    pub(super) value: u8,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnEvaluation {
    /// 1, 2, 3, ...
    pub(super) turn_index: usize,
    pub(super) criterion_scores: Vec<CriterionScore>,
    #[serde(default)]
    pub(super) llm_evaluation: JudgeReplies,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct JudgeReplies {
    #[serde(default)]
    pub(super) raw_responses: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProactivenessResult {
    /// The reference's *inferred*: satisfied unasked.
    pub(super) inferred_intent_indexes: Vec<usize>,
    /// Asked for.
    pub(super) matched_intent_indexes: Vec<usize>,
}

/// `eval/trace_logs/<time>/turn_<n>.json`
#[derive(Debug, Default, Deserialize)]
pub(super) struct TurnFile {
    /// The chat up to the turn's end.
    #[serde(default)]
    pub(super) messages: Vec<ChatMessage>,
    /// The turn's own calls.
    #[serde(default)]
    pub(super) tool_steps: Vec<ToolStep>,
}

/// A chat message of the `OpenAI` format.
#[derive(Debug, Deserialize)]
pub(super) struct ChatMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    pub(super) reasoning_content: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<ChatCall>>,
    #[serde(default)]
    pub(super) tool_call_id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatCall {
    pub(super) id: String,
    pub(super) function: ChatFunction,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatFunction {
    pub(super) name: String,
    /// JSON text.
    #[serde(default)]
    pub(super) arguments: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolStep {
    pub(super) name: String,
    /// As written: a value would not keep integers above 64 bits. So with the result.
    #[serde(default)]
    pub(super) arguments: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
}

impl ToolStep {
    pub(super) fn arguments(&self) -> Value {
        let read = |json: &RawValue| serde_json::from_str(json.get()).unwrap_or_default();
        self.arguments.as_deref().map_or(Value::Null, read)
    }

    /// A text as it is, any other value as JSON; nothing for none.
    pub(super) fn result(&self) -> String {
        let json = self.result.as_deref().map_or("null", RawValue::get);
        match serde_json::from_str(json) {
            Ok(Value::Null) => String::new(),
            Ok(Value::String(text)) => text,
            _ => json.to_owned(),
        }
    }
}

/// A text as it is, any other value as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value, and where it stands in its file.
#[derive(Debug)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    span: Range<usize>,
}

/// A file of JSON lines.
#[derive(Debug)]
pub(super) struct Lines<T> {
    source: Source,
    pub(super) values: Vec<Placed<T>>,
    /// Whether the file ends within a line, as that of a program that was killed: what there is of it is not taken.
    pub(super) cut: bool,
}

impl<T> Lines<T> {
    /// A problem of one line.
    pub(super) fn problem(&self, at: &Placed<T>, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::at(&self.source, at.span.clone(), message))
    }

    /// A problem of the whole file.
    pub(super) fn of_file(&self, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::of_file(&self.source.path, message))
    }

    /// A part of a line as one of the types above.
    pub(super) fn part<P: DeserializeOwned>(
        &self,
        at: &Placed<T>,
        value: &Value,
        name: &str,
    ) -> Result<P, Box<Problem>> {
        P::deserialize(value).map_err(|error| self.problem(at, format!("`{name}`: {error}")))
    }
}

/// A JSON file.
#[derive(Debug)]
pub(super) struct Whole<T> {
    source: Source,
    pub(super) value: T,
}

impl<T> Whole<T> {
    /// A problem at the first place of a word.
    pub(super) fn problem(&self, needle: &str, message: impl Into<String>) -> Box<Problem> {
        let start = self.source.text.find(needle).unwrap_or(0);
        let span = start..start + needle.len();
        Box::new(Problem::at(&self.source, span, message))
    }
}

/// One folder of outputs.
#[derive(Debug)]
pub(super) struct Folder {
    pack: Pack,
}

impl Folder {
    pub(super) fn open(path: &Utf8Path) -> Result<Self, Box<Problem>> {
        let pack = Pack::open(path).map_err(|error| {
            Box::new(Problem::of_file(
                path,
                format!("cannot open the folder: {error}"),
            ))
        })?;
        Ok(Self { pack })
    }

    /// What stands in a folder, sorted; nothing when there is none.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, Box<Problem>> {
        match self.pack.names(folder) {
            Err(ReadError::Missing(_)) => Ok(Vec::new()),
            names => names.map_err(|error| self.problem(folder, format!("cannot {error}"))),
        }
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.pack.is_folder(path)
    }

    /// BLAKE3 of everything that was read so far.
    pub(super) fn digest(&self) -> String {
        self.pack.digest()
    }

    /// A problem of a whole file or folder.
    pub(super) fn problem(&self, path: &str, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem::of_file(&self.pack.shown(path), message))
    }

    /// The path of a file as people reach it.
    pub(super) fn shown(&self, path: &str) -> String {
        self.pack.shown(path).into_string()
    }

    pub(super) fn json<T: DeserializeOwned>(
        &mut self,
        path: &str,
    ) -> Result<Whole<T>, Box<Problem>> {
        let source = self.text(path)?;
        let value = serde_json::from_str(&source.text).map_err(|error| at(&source, 0, &error))?;
        Ok(Whole { source, value })
    }

    /// One value a line; empty lines are skipped.
    pub(super) fn lines<T: DeserializeOwned>(
        &mut self,
        path: &str,
    ) -> Result<Lines<T>, Box<Problem>> {
        let source = self.text(path)?;
        let (mut values, mut cut) = (Vec::new(), false);
        let mut start = 0;
        for line in source.text.split_inclusive('\n') {
            let span = start..start + line.trim_end().len();
            if !line.trim().is_empty() {
                match serde_json::from_str(line) {
                    Ok(value) => values.push(Placed { value, span }),
                    Err(error) if error.is_eof() && !line.ends_with('\n') => cut = true,
                    Err(error) => return Err(at(&source, start, &error)),
                }
            }
            start += line.len();
        }
        Ok(Lines {
            source,
            values,
            cut,
        })
    }

    fn text(&mut self, path: &str) -> Result<Source, Box<Problem>> {
        let content = self.pack.read(path, FILE_LIMIT);
        let content = content.map_err(|error| {
            let reason = match error {
                ReadError::Missing(_) => "no such file".to_owned(),
                other => format!("cannot {other}"),
            };
            self.problem(path, reason)
        })?;
        let text = String::from_utf8(content).map_err(|_| self.problem(path, "not UTF-8"))?;
        Ok(Source {
            path: self.pack.shown(path),
            text: text.into(),
        })
    }
}

/// An error of the parser, which counts from `start`, at its place.
fn at(source: &Source, start: usize, error: &serde_json::Error) -> Box<Problem> {
    let before: usize = source.text[start..]
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let place = start + before + error.column().saturating_sub(1);
    let message = error.to_string();
    let told = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&told).unwrap_or(&message);
    Box::new(Problem::at(source, place..place + 1, message))
}
