//! What `glob` and `grep` share: which files of the workspace they look at, and how a page of results is shown. Folders
//! that programs fill are passed over, as the usual search tools do.

use std::fmt::Write;

use globset::GlobMatcher;

use super::{MAX_CHARACTERS, Refusal, directory_path, refusal_to_find};
use pibench_core::path::WorkspacePath;
use pibench_core::pattern::glob;
use pibench_sandbox::workspace::{Entry, EntryKind, Workspace, WorkspaceError};

/// Folders whose content nobody wrote by hand.
const PASSED_OVER: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "venv"];

/// Characters of a pattern that a refusal repeats.
pub(super) const MOST_SHOWN: usize = 200;

/// Room for the footer, in characters.
const RESERVED: usize = 400;

/// Everything below a folder, or the one file that the path names; sorted by path.
pub(super) fn entries(workspace: &Workspace, path: &str) -> Result<Vec<Entry>, Refusal> {
    let path = directory_path(path)?;
    let found = match workspace.list(&path, true) {
        Err(WorkspaceError::NotADirectory(_)) => workspace.stat(&path).map(|entry| vec![entry]),
        found => found,
    };
    let entries = found.map_err(|error| refusal_to_find(workspace, &error))?;
    let wanted = |entry: &Entry| {
        let below = entry.path.components().skip(path.depth());
        entry.kind != EntryKind::Refused
            && !below.into_iter().any(|part| PASSED_OVER.contains(&part))
    };
    Ok(entries.into_iter().filter(wanted).collect())
}

/// A glob pattern. One without a slash looks at names alone, in every folder.
#[derive(Debug)]
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, Refusal> {
        let anchored = text.trim_start_matches("./").trim_start_matches('/');
        let full = if anchored.contains('/') {
            anchored.to_owned()
        } else {
            format!("**/{anchored}")
        };
        let glob = glob(&full).map_err(|reason| {
            let text: String = text.chars().take(MOST_SHOWN).collect();
            Refusal::new(format!(
                "the pattern {text:?} is not accepted: {reason}. Write one such as *.md or notes/**/*.csv"
            ))
        })?;
        Ok(Self(glob.compile_matcher()))
    }

    /// Whether a path matches, seen from the folder that is searched.
    pub(super) fn matches(&self, path: &WorkspacePath, from: usize) -> bool {
        let below: Vec<&str> = path.components().skip(from).collect();
        self.0.is_match(below.join("/"))
    }
}

/// Depth of the folder that is searched; a file is searched from the folder that holds it.
pub(super) fn depth(path: &str, entries: &[Entry]) -> Result<usize, Refusal> {
    let path = directory_path(path)?;
    let is_file = entries.first().is_some_and(|entry| entry.path == path);
    Ok(path.depth() - usize::from(is_file && path.depth() > 0))
}

/// Some of the lines of an answer, and a last line that says what is left out.
pub(super) fn page(lines: &[String], offset: usize, limit: usize, noun: &str) -> String {
    let mut text = String::new();
    let (mut shown, mut characters) = (0, 0);
    for line in lines.iter().skip(offset).take(limit) {
        characters += line.chars().count() + 1;
        if characters > MAX_CHARACTERS - RESERVED {
            break;
        }
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    let (total, last) = (lines.len(), offset + shown);
    if shown == total {
        let _ = write!(text, "({total} {noun})");
    } else if shown == 0 {
        let _ = write!(
            text,
            "(offset {offset} is behind the last of {total} {noun})"
        );
    } else if last < total {
        let _ = write!(
            text,
            "({shown} of {total} {noun}; go on with offset={last})"
        );
    } else {
        let _ = write!(text, "({shown} of {total} {noun}; these are the last)");
    }
    text
}
