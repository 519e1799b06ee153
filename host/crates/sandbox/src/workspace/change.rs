//! What the door changed since the last look: kinds of change, and the lines that text files
//! gained. It compares contents, so that a file written with equal bytes has not changed; it never
//! looks at times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use pibench_memory::{Holding, hold};
use rustix::io::Errno;

use super::{TIMES, View, WorkspaceError};
use pibench_core::path::WorkspacePath;
use pibench_core::record::ChangeKind;

/// How much old content one period keeps for comparison, over all files. Of what comes after only a
/// digest is kept, and no added lines are told.
const KEPT_BYTES: usize = 32 << 20;

/// How many bytes of added lines are told for one file, whole lines only.
pub const MAX_ADDED: usize = 256 << 10;

/// One file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: WorkspacePath,
    pub kind: ChangeKind,
    /// BLAKE3 of the content at the start of the period, hex. None for a created file.
    pub before: Option<String>,
    /// For UTF-8 text, the lines that the file has now and had not, or had fewer times, in the
    /// order of the file, each with `\n`; at most [`MAX_ADDED`] bytes. Moved lines are not among
    /// them. Empty for other files.
    pub added: String,
}

/// What the touched files were at the start of the period.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    before: BTreeMap<WorkspacePath, Before>,
    kept: usize,
    /// `kept`, of the program's own memory.
    holding: Holding,
    /// Every file was touched at the start of the period: what is not remembered was not there. So it is in each period after
    /// it, whose start is what was found at the end of the one before.
    pub(super) watching: bool,
    /// Files of this period that are not looked at: they are what they were.
    left_out: BTreeSet<WorkspacePath>,
}

#[derive(Debug)]
enum Before {
    Absent,
    Content(Vec<u8>),
    Digest(blake3::Hash),
}

impl Before {
    fn hash(&self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::Content(content) => Some(blake3::hash(content).to_hex().to_string()),
            Self::Digest(digest) => Some(digest.to_hex().to_string()),
        }
    }
}

impl Tracker {
    /// Keeps what `path` is now, unless it was touched before in this period. `path` is a plain
    /// file or absent.
    pub(super) fn touch(
        &mut self,
        view: &View,
        path: &WorkspacePath,
    ) -> Result<(), WorkspaceError> {
        if self.before.contains_key(path) {
            return Ok(());
        }
        if self.holding.ended().is_some() {
            let source = io::Error::from(Errno::NOMEM);
            return Err(WorkspaceError::io(path, source));
        }
        let now = if self.watching {
            None
        } else {
            current(view, path)?
        };
        match now {
            None => drop(self.before.insert(path.clone(), Before::Absent)),
            Some(content) => self.remember(path.clone(), content),
        }
        Ok(())
    }

    /// Keeps this as what the file was, or its digest where that is too much.
    fn remember(&mut self, path: WorkspacePath, content: Vec<u8>) {
        let before = if self.kept + content.len() <= KEPT_BYTES {
            if self.kept == 0 {
                self.holding = hold(|| format!("the workspace with {path}"));
            }
            self.kept += content.len();
            self.holding.set(self.kept);
            Before::Content(content)
        } else {
            Before::Digest(blake3::hash(&content))
        };
        self.before.insert(path, before);
    }

    /// A file that nobody touched was not there at the start of a period in which all are watched.
    pub(super) fn note_new(&mut self, path: &WorkspacePath) {
        self.before.entry(path.clone()).or_insert(Before::Absent);
    }

    /// Files that are too large to look at, or cannot be read, are left out of this period's changes.
    pub(super) fn leave_out(&mut self, paths: Vec<WorkspacePath>) {
        self.left_out.extend(paths);
    }

    /// A file is no longer there: if it was not there before this period either, nothing is to be remembered of it. So no
    /// one fills the memory with names that come and go.
    pub(super) fn note_gone(&mut self, path: &WorkspacePath) {
        if matches!(self.before.get(path), Some(Before::Absent)) {
            self.before.remove(path);
        }
    }

    /// How many files are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.before.len()
    }

    /// Gives away what changed since the last call, sorted by path, each with what the file holds now: it is read once.
    pub(super) fn take<E: From<WorkspaceError>>(
        &mut self,
        view: &View,
        mut give: impl FnMut(Change, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut now = Self {
            watching: self.watching,
            ..Self::default()
        };
        let mut files = BTreeSet::new();
        for (path, before) in std::mem::take(&mut self.before) {
            if self.left_out.contains(&path) {
                files.insert(path.clone());
                now.keep(path, before);
                continue;
            }
            // What takes turns in being a file and a folder is the file.
            let mut above = std::iter::successors(path.parent(), WorkspacePath::parent);
            let content = if above.any(|folder| files.contains(&folder)) {
                Ok(None)
            } else {
                current(view, &path)
            };
            let content = match content {
                // The kernel gives its holder time to let it go.
                Err(error) if error.is_of_a_leased_file() => {
                    tracing::warn!(%error, "a process has a lease of a file: it is looked at in the next turn");
                    files.insert(path.clone());
                    now.keep(path, before);
                    continue;
                }
                content => content?,
            };
            if let Some((kind, added)) = compare(&before, content.as_deref()) {
                let change = Change {
                    path: path.clone(),
                    kind,
                    before: before.hash(),
                    added,
                };
                give(change, content.as_deref())?;
            }
            if self.watching
                && let Some(content) = content
            {
                files.insert(path.clone());
                now.remember(path, content);
            }
        }
        *self = now;
        Ok(())
    }

    /// Keeps what a file was for the next period, too.
    fn keep(&mut self, path: WorkspacePath, before: Before) {
        match before {
            Before::Absent => {}
            Before::Content(content) => self.remember(path, content),
            Before::Digest(_) => drop(self.before.insert(path, before)),
        }
    }
}

/// The content of a plain file, None where there is none that can be read.
fn current(view: &View, path: &WorkspacePath) -> Result<Option<Vec<u8>>, WorkspaceError> {
    let mut times = 0;
    loop {
        times += 1;
        match view.read(path) {
            Ok(content) => return Ok(Some(content)),
            // Whoever saves a file by putting another in its place has not deleted it.
            Err(error) if error.is_of_a_replaced_file() && times < TIMES => {}
            Err(error) if error.is_of_the_file() => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn compare(before: &Before, now: Option<&[u8]>) -> Option<(ChangeKind, String)> {
    match (before, now) {
        (Before::Absent, None) => None,
        (Before::Absent, Some(now)) => Some((ChangeKind::Created, added_lines(b"", now))),
        (_, None) => Some((ChangeKind::Deleted, String::new())),
        (Before::Content(old), Some(now)) if old == now => None,
        (Before::Content(old), Some(now)) => Some((ChangeKind::Modified, added_lines(old, now))),
        (Before::Digest(old), Some(now)) if *old == blake3::hash(now) => None,
        (Before::Digest(_), Some(_)) => Some((ChangeKind::Modified, String::new())),
    }
}

/// The lines that `new` has more often than `old`. Counted rather than aligned: an alignment takes
/// quadratic time on texts that an agent may choose, and would call a moved line an added one.
fn added_lines(old: &[u8], new: &[u8]) -> String {
    let Ok(new) = std::str::from_utf8(new) else {
        return String::new();
    };
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for line in old.split(|&byte| byte == b'\n') {
        *known
            .entry(line.strip_suffix(b"\r").unwrap_or(line))
            .or_default() += 1;
    }
    let mut added = String::new();
    for line in new.lines() {
        match known.get_mut(line.as_bytes()) {
            Some(count) if *count > 0 => *count -= 1,
            _ if added.len() + line.len() < MAX_ADDED => {
                added.push_str(line);
                added.push('\n');
            }
            _ => break,
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(added_lines(old.as_bytes(), new.as_bytes()), expected);
    }

    #[test]
    fn added_lines_are_those_that_the_old_text_had_not() {
        check("", "a\nb\n", "a\nb\n");
        check("a\nb\n", "a\nx\nb\n", "x\n");
        check("a\nb\n", "a\nb changed\n", "b changed\n");
        check("a\nb\n", "a\n", "");
    }

    #[test]
    fn moved_lines_and_other_line_ends_add_nothing() {
        check("a\nb\nc\n", "c\na\nb\n", "");
        check("a\r\nb\r\n", "a\nb\n", "");
        check("a\nb", "a\nb\n", "");
    }

    #[test]
    fn a_repeated_line_counts_as_often_as_it_was_added() {
        check("a\n", "a\na\na\n", "a\na\n");
    }

    #[test]
    fn a_binary_file_adds_no_lines() {
        assert_eq!(added_lines(b"", b"a\n\xff\n"), "");
    }

    #[test]
    fn added_lines_are_bounded_and_whole() {
        let line = "x".repeat(1023);
        let lines: Vec<String> = (0..300)
            .map(|n| format!("{n:04}{}\n", &line[4..]))
            .collect();
        let text = lines.concat();
        let added = added_lines(b"", text.as_bytes());
        assert_eq!(added.len(), MAX_ADDED);
        assert!(text.starts_with(&added) && added.ends_with('\n'));
    }

    proptest! {
        #[test]
        fn old_lines_and_added_lines_together_hold_every_new_line(
            old in "([ab]{0,2}\n){0,6}",
            new in "([abc]{0,2}\n){0,6}",
        ) {
            let added = added_lines(old.as_bytes(), new.as_bytes());
            let mut pool: Vec<&str> = old.lines().chain(added.lines()).collect();
            for line in new.lines() {
                let at = pool.iter().position(|known| *known == line);
                // An old text that ends in a line end has one empty piece behind it.
                prop_assert!(at.is_some() || line.is_empty());
                at.map(|at| pool.remove(at));
            }
        }
    }
}
