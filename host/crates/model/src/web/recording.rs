//! What the web answered, kept in a file and given again: a run on the real web can then be repeated offline. A request
//! that is in the recording is never made again, so that all agents of a run are told the same.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{FetchArguments, SearchArguments, WebError};

/// Why a recording alone has no answer.
pub(super) const MISSING: &str = "it is not in the recording that is replayed";

/// The version of the file.
const VERSION: u32 = 1;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    Search(SearchArguments),
    Fetch(FetchArguments),
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// 1.
    version: u32,
    asked: Asked,
    answer: Answer,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Text(String),
    Error(WebError),
}

/// Answers by request, and the file that keeps them.
#[derive(Debug)]
pub struct Recording(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    known: HashMap<Asked, Answer>,
    /// None when it is only read.
    file: Option<File>,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("open the recording {}: {source}", path.display())]
    Open {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("read the recording {}, line {line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        reason: String,
    },
}

impl Recording {
    /// A recording to go on with; it is made if it is not there, and so is its folder.
    pub fn record(path: &Path) -> Result<Self, RecordingError> {
        let failed = |source| RecordingError::Open {
            path: path.to_owned(),
            source,
        };
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(failed)?;
        }
        let known = if path.exists() {
            read(path)?
        } else {
            HashMap::new()
        };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(failed)?;
        // A line that was cut off must not become the beginning of the next.
        file.set_len(whole_lines(path)?.len() as u64)
            .map_err(failed)?;
        Ok(Self::of(path, known, Some(file)))
    }

    /// A recording to be read only.
    pub fn replay(path: &Path) -> Result<Self, RecordingError> {
        Ok(Self::of(path, read(path)?, None))
    }

    fn of(path: &Path, known: HashMap<Asked, Answer>, file: Option<File>) -> Self {
        let path = path.to_owned();
        Self(Mutex::new(Inner { path, known, file }))
    }

    pub(super) fn answer(&self, asked: &Asked) -> Option<Result<String, WebError>> {
        // Nothing under the lock can panic halfway.
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.known.get(asked).cloned().map(Answer::into_result)
    }

    /// Keeps an answer; the one that holds, which is the first that was kept.
    pub(super) fn keep(
        &self,
        asked: Asked,
        answer: Result<String, WebError>,
    ) -> Result<String, WebError> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.known.get(&asked) {
            return known.clone().into_result();
        }
        let answer = match answer {
            Ok(text) => Answer::Text(text),
            Err(error) => Answer::Error(error),
        };
        let line = Line {
            version: VERSION,
            asked: asked.clone(),
            answer: answer.clone(),
        };
        let Inner { path, known, file } = &mut *inner;
        if let Some(file) = file {
            let text = serde_json::to_string(&line).unwrap_or_default();
            // The run goes on without: what is missing is told when it is replayed.
            if let Err(error) = writeln!(file, "{text}") {
                tracing::warn!("failed to write the recording {}: {error}", path.display());
            }
        }
        known.insert(asked, answer.clone());
        answer.into_result()
    }
}

impl Answer {
    fn into_result(self) -> Result<String, WebError> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Error(error) => Err(error),
        }
    }
}

/// The file without a line that was cut off.
fn whole_lines(path: &Path) -> Result<String, RecordingError> {
    let text = std::fs::read_to_string(path).map_err(|source| RecordingError::Open {
        path: path.to_owned(),
        source,
    })?;
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    Ok(text[..end].to_owned())
}

fn read(path: &Path) -> Result<HashMap<Asked, Answer>, RecordingError> {
    let text = whole_lines(path)?;
    let mut known = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |reason: String| RecordingError::Line {
            path: path.to_owned(),
            line: number + 1,
            reason,
        };
        let line: Line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if line.version != VERSION {
            return Err(wrong(format!(
                "version {}, and {VERSION} is read here",
                line.version
            )));
        }
        known.entry(line.asked).or_insert(line.answer);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::super::{Corpus, Source, Web};
    use super::*;
    use crate::web::tests::AsItIs;
    use pibench_suite::suite::Page;

    fn search(query: &str) -> SearchArguments {
        SearchArguments {
            query: query.into(),
            count: 5,
        }
    }

    #[tokio::test]
    async fn what_was_recorded_is_answered_without_a_web() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web.jsonl");
        let page = Page {
            url: "https://a.example/".into(),
            title: "Tides".into(),
            text: "High water is at noon.".into(),
        };
        let recording = Recording::record(&path).unwrap();
        let web = Web::new(Source::Offline(Corpus::new(vec![page])), Some(recording));
        let found = web.search(&search("water")).await.unwrap();
        let fetch = |url: &str| FetchArguments {
            url: url.into(),
            extract_mode: super::super::ExtractMode::Text,
            max_chars: 500,
        };
        let error = web
            .fetch(&fetch("https://b.example/"), &AsItIs)
            .await
            .unwrap_err();
        drop(web);
        let again = Web::new(Source::Recorded, Some(Recording::replay(&path).unwrap()));
        assert_eq!(again.search(&search("water")).await.unwrap(), found);
        assert_eq!(
            again
                .fetch(&fetch("https://b.example/"), &AsItIs)
                .await
                .unwrap_err(),
            error
        );
        let missing = again.search(&search("wind")).await.unwrap_err().to_string();
        assert_eq!(
            missing,
            "search for \"wind\": it is not in the recording that is replayed"
        );
    }

    #[test]
    fn a_recording_is_gone_on_with_and_a_damaged_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web.jsonl");
        for query in ["a", "b"] {
            let recording = Recording::record(&path).unwrap();
            let kept = recording.keep(Asked::Search(search(query)), Ok(query.into()));
            assert_eq!(kept.as_deref(), Ok(query));
            // The first answer holds.
            let second = recording.keep(Asked::Search(search("a")), Ok("other".into()));
            assert_eq!(second.as_deref(), Ok("a"));
            let mut text = std::fs::read_to_string(&path).unwrap();
            text.push_str("{\"version\":1,\"asked");
            std::fs::write(&path, text).unwrap();
        }
        drop(Recording::record(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        std::fs::write(&path, "{\"version\":1}\n").unwrap();
        let error = Recording::replay(&path).unwrap_err().to_string();
        assert!(error.contains("web.jsonl, line 1"), "{error}");
    }
}
