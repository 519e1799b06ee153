//! An append-only journal: JSON lines, each with its number and the hash of the line before. A line is written whole
//! after each turn, so that whatever kills the process loses at most the turn in flight.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pibench_vault::Key;
use serde::{Deserialize, Serialize};

use super::disk::Disk;
use super::event::{Event, EventKind};
use super::foreign::{LINE_LIMIT, open_end, open_file};
use super::private::key_of_journal;

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("read {}:{line}: {reason}; what stands before it is whole", path.display())]
    Corrupt {
        path: PathBuf,
        line: u64,
        reason: String,
    },
}

/// A line as it stands in the file.
#[derive(Serialize)]
struct Line<'a> {
    /// 1, 2, 3, ...
    n: u64,
    /// BLAKE3 of the line before, without its newline; of nothing for the first.
    prev: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

/// A line of a private run: whoever has no key can follow the chain.
#[derive(Serialize)]
struct PrivateLine<'a> {
    n: u64,
    prev: &'a str,
    /// The event's object, encrypted; Base64 (RFC 4648, section 4).
    private: String,
}

/// What is read of a line before its event is.
#[derive(Deserialize)]
struct Head {
    n: u64,
    prev: String,
    event: Option<EventKind>,
    private: Option<String>,
}

/// What is read of a decrypted event before the rest is.
#[derive(Deserialize)]
struct Kind {
    event: EventKind,
}

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    lines: u64,
    last: blake3::Hash,
    disk: Arc<Disk>,
    /// Of a private run.
    key: Option<Key>,
}

impl Journal {
    /// A new journal; an error if the file is there.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Write {
            path: path.to_owned(),
            source,
        };
        let key = key_of_journal(path).map_err(failed)?;
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        Ok(Self {
            file: file.map_err(failed)?,
            path: path.to_owned(),
            lines: 0,
            last: blake3::hash(b""),
            disk: Arc::default(),
            key,
        })
    }

    /// The same journal, on its folder's disk.
    #[must_use]
    pub fn on(self, disk: &Arc<Disk>) -> Self {
        // Its name may be new.
        if let Some(dir) = self.path.parent() {
            disk.has_changed(dir);
        }
        Self {
            disk: Arc::clone(disk),
            ..self
        }
    }

    /// Opens a journal to go on with it, and gives what it holds. A last line that was cut is dropped.
    pub fn resume(path: &Path) -> Result<(Self, Vec<Event>), JournalError> {
        let Read {
            events,
            last,
            whole,
            key,
        } = read(path)?;
        let failed = |source| JournalError::Write {
            path: path.to_owned(),
            source,
        };
        let file = open_end(path).map_err(failed)?;
        file.set_len(whole).map_err(failed)?;
        let lines = events.len() as u64;
        Ok((
            Self {
                file,
                path: path.to_owned(),
                lines,
                last,
                disk: Arc::default(),
                key,
            },
            events,
        ))
    }

    /// Writes one event.
    pub fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        let failed = |source| JournalError::Write {
            path: self.path.clone(),
            source,
        };
        let (n, prev) = (self.lines + 1, self.last.to_hex());
        let prev = prev.as_str();
        let text = match &self.key {
            None => serde_json::to_vec(&Line { n, prev, event }),
            Some(key) => serde_json::to_vec(event).and_then(|event| {
                let private = key.encrypt(&event).map_err(io::Error::other);
                let private = STANDARD.encode(private.map_err(serde_json::Error::io)?);
                serde_json::to_vec(&PrivateLine { n, prev, private })
            }),
        };
        let mut text = text.map_err(|error| failed(error.into()))?;
        let hash = blake3::hash(&text);
        text.push(b'\n');
        self.disk
            .add_line(&self.file, &self.path, self.lines + 1, &text)
            .map_err(failed)?;
        self.lines += 1;
        self.last = hash;
        Ok(())
    }
}

struct Read {
    events: Vec<Event>,
    last: blake3::Hash,
    /// Bytes up to the end of the last whole line.
    whole: u64,
    key: Option<Key>,
}

/// The events of a journal. A last line without its newline was cut by a crash and is left out; anything else that does
/// not follow from the line before is an error.
pub fn events(path: &Path) -> Result<Vec<Event>, JournalError> {
    read(path).map(|read| read.events)
}

/// The same with the hash of the last line, which stands for the whole journal.
pub fn events_and_hash(path: &Path) -> Result<(Vec<Event>, blake3::Hash), JournalError> {
    read(path).map(|read| (read.events, read.last))
}

fn read(path: &Path) -> Result<Read, JournalError> {
    let failed = |source| JournalError::Read {
        path: path.to_owned(),
        source,
    };
    let key = key_of_journal(path).map_err(failed)?;
    let mut read = Read {
        events: Vec::new(),
        last: blake3::hash(b""),
        whole: 0,
        key,
    };
    let last = follow(path, |bytes, length, head| {
        let event = event_of(bytes, head, read.key.as_ref())?;
        read.events.push(event);
        read.whole += length;
        Ok(())
    })?;
    Ok(Read { last, ..read })
}

/// The lines of a journal and the hash of the last one, by the chain alone: of a private one too, without its key.
pub fn chain(path: &Path) -> Result<(u64, blake3::Hash), JournalError> {
    let mut lines = 0;
    let last = follow(path, |_, _, _| {
        lines += 1;
        Ok(())
    })?;
    Ok((lines, last))
}

/// Gives each line whose number and hash of the line before are right; the hash of the last.
fn follow(
    path: &Path,
    mut take: impl FnMut(&[u8], u64, Head) -> Result<(), String>,
) -> Result<blake3::Hash, JournalError> {
    let failed = |source| JournalError::Read {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().and_then(Path::parent);
    let file = open_file(folder.unwrap_or(Path::new("")), path);
    let mut reader = BufReader::new(file.map_err(failed)?);
    let mut last = blake3::hash(b"");
    let mut line = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut bounded = reader.by_ref().take(LINE_LIMIT);
        let length = bounded.read_until(b'\n', &mut bytes).map_err(failed)? as u64;
        if bytes.pop() != Some(b'\n') {
            return if length < LINE_LIMIT {
                Ok(last)
            } else {
                Err(JournalError::Corrupt {
                    path: path.to_owned(),
                    line: line + 1,
                    reason: format!("it has more bytes than the limit of {LINE_LIMIT}"),
                })
            };
        }
        // Where the power went while a line was written, a part of it may be nothing, and no line of ours holds that.
        if bytes.contains(&0) && reader.fill_buf().map_err(failed)?.is_empty() {
            return Ok(last);
        }
        line += 1;
        let head = head(&bytes, line, last);
        let taken = head.and_then(|head| take(&bytes, length, head));
        taken.map_err(|reason| JournalError::Corrupt {
            path: path.to_owned(),
            line,
            reason,
        })?;
        last = blake3::hash(&bytes);
    }
}

fn unread(error: impl std::fmt::Display) -> String {
    format!("no event: {error}")
}

/// What stands around an event, where it stands.
fn head(bytes: &[u8], number: u64, last: blake3::Hash) -> Result<Head, String> {
    let head: Head = serde_json::from_slice(bytes).map_err(unread)?;
    if head.n != number {
        return Err(format!("line {} stands at place {number}", head.n));
    }
    if head.prev != last.to_hex().as_str() {
        return Err("the line before was changed after this one was written".into());
    }
    Ok(head)
}

fn event_of(bytes: &[u8], head: Head, key: Option<&Key>) -> Result<Event, String> {
    match (head, key) {
        (
            Head {
                event: Some(kind),
                private: None,
                ..
            },
            None,
        ) => kind.read(bytes).map_err(unread),
        (
            Head {
                event: None,
                private: Some(private),
                ..
            },
            Some(key),
        ) => {
            let private = STANDARD.decode(private).map_err(unread)?;
            let event = key.decrypt(&private).map_err(unread)?;
            let Kind { event: kind } = serde_json::from_slice(&event).map_err(unread)?;
            kind.read(&event).map_err(unread)
        }
        (Head { private: None, .. }, Some(_)) => {
            Err("no event: it is not encrypted, as those of a private run are".into())
        }
        (_, None) => Err("no event: it is encrypted, and the run folder has no key.age".into()),
        (_, Some(_)) => Err("no event: it is encrypted and says more than that".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(events: usize) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let mut journal = Journal::create(&path).unwrap();
        for _ in 0..events {
            journal.append(&Event::EpisodeFinished).unwrap();
        }
        (dir, path)
    }

    #[test]
    fn what_is_written_is_read() {
        let (_dir, path) = written(3);
        assert_eq!(events(&path).unwrap(), vec![Event::EpisodeFinished; 3]);
    }

    #[test]
    fn a_cut_last_line_is_dropped_and_written_again() {
        let (_dir, path) = written(2);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let (mut journal, events) = Journal::resume(&path).unwrap();
        assert_eq!(events.len(), 1);
        journal.append(&Event::EpisodeFinished).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn any_changed_byte_before_the_last_line_is_found() {
        let (_dir, path) = written(3);
        let whole = std::fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .unwrap();
        for at in 0..last {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(events(&path).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_full_disk_is_told_with_the_file_and_takes_nothing_of_what_is_written() {
        let (_dir, path) = written(2);
        let (mut journal, _) = Journal::resume(&path).unwrap();
        let disk = std::mem::replace(&mut journal.file, full());
        let error = journal.append(&Event::EpisodeFinished).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("j.jsonl") && said.contains("No space left"),
            "{said}"
        );
        assert_eq!(events(&path).unwrap().len(), 2);
        // With room again, the chain goes on where it was.
        journal.file = disk;
        journal.append(&Event::EpisodeFinished).unwrap();
        assert_eq!(events(&path).unwrap().len(), 3);
    }

    /// A device that is always full.
    fn full() -> File {
        OpenOptions::new().write(true).open("/dev/full").unwrap()
    }

    #[test]
    fn a_journal_is_never_overwritten() {
        let (_dir, path) = written(1);
        assert!(matches!(
            Journal::create(&path),
            Err(JournalError::Write { .. })
        ));
    }
}
