//! An append-only journal: JSON lines, each with its number and the hash of the line before. A line is written whole
//! after each turn, so that whatever kills the process loses at most the turn in flight.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::disk::Disk;
use super::event::{Event, EventKind};

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

/// What is read of a line before its event is.
#[derive(Deserialize)]
struct Head {
    n: u64,
    prev: String,
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
}

impl Journal {
    /// A new journal; an error if the file is there.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| JournalError::Write {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
            lines: 0,
            last: blake3::hash(b""),
            disk: Arc::default(),
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
        } = read(path)?;
        let failed = |source| JournalError::Write {
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        file.set_len(whole).map_err(failed)?;
        let lines = events.len() as u64;
        Ok((
            Self {
                file,
                path: path.to_owned(),
                lines,
                last,
                disk: Arc::default(),
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
        let line = Line {
            n: self.lines + 1,
            prev: &self.last.to_hex(),
            event,
        };
        let mut text = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
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
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut read = Read {
        events: Vec::new(),
        last: blake3::hash(b""),
        whole: 0,
    };
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let length = reader.read_until(b'\n', &mut bytes).map_err(failed)?;
        if bytes.pop() != Some(b'\n') {
            return Ok(read);
        }
        // Where the power went while a line was written, a part of it may be nothing, and no line of ours holds that.
        if bytes.contains(&0) && reader.fill_buf().map_err(failed)?.is_empty() {
            return Ok(read);
        }
        let line = read.events.len() as u64 + 1;
        let event = parse(&bytes, line, read.last).map_err(|reason| JournalError::Corrupt {
            path: path.to_owned(),
            line,
            reason,
        })?;
        read.events.push(event);
        read.last = blake3::hash(&bytes);
        read.whole += length as u64;
    }
}

fn parse(bytes: &[u8], number: u64, last: blake3::Hash) -> Result<Event, String> {
    let unread = |error| format!("no event: {error}");
    let Head { n, prev, event } = serde_json::from_slice(bytes).map_err(unread)?;
    let event = event.read(bytes).map_err(unread)?;
    if n != number {
        return Err(format!("line {n} stands at place {number}"));
    }
    if prev != last.to_hex().as_str() {
        return Err("the line before was changed after this one was written".into());
    }
    Ok(event)
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
