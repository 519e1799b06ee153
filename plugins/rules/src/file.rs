//! The condition `file`: what stands in the workspace now. It reads and changes nothing else.

use std::cell::OnceCell;

use globset::{Glob, GlobBuilder, GlobMatcher};
use pibench_sdk::grader::{ChangeKind, WorkspaceError};
use serde_json::Value;

use crate::finding::{Finding, Undecided};
use crate::form::{composed, read_json};
use crate::matcher::{Captures, Matcher, Names};
use crate::range::Range;
use crate::scene::Scene;
use crate::table::{ConfigError, Node};

/// How many files that came near a reason mentions.
const NEAR_MISSES: usize = 2;

/// What makes a path a glob.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// What is asked of files.
pub(crate) struct File {
    path: Pathname,
    test: Test,
}

enum Test {
    /// So many files do.
    There { wanted: Wanted, count: Range },
    /// No file is there; with true, one was deleted in this session, with false, none was.
    Absent { deleted: Option<bool> },
}

/// What one file must be.
struct Wanted {
    content: Option<Matcher>,
    json: Option<Matcher>,
    bytes: Option<Range>,
    lines: Option<Range>,
    changed: Option<bool>,
}

/// A path or a glob.
#[derive(Debug, Clone)]
struct Pathname {
    text: String,
    /// None for a path that is one file's.
    glob: Option<Glob>,
    /// Made when a file is looked at: a glob is an expression, which costs more to compile than all else that is read here.
    compiled: OnceCell<GlobMatcher>,
    /// The folder below which all fitting files are.
    folder: String,
    /// Whether they may be in folders of that folder.
    deep: bool,
}

impl Pathname {
    fn parse(node: &Node) -> Result<Self, ConfigError> {
        let wrong = |message: &str| ConfigError::new(&node.path, message);
        // In one form already, as all of a configuration is.
        let text = node.clone().text()?;
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !text.split('/').all(plain) {
            return Err(wrong("must be a relative path without `.` and `..`"));
        }
        let glob = || {
            let glob = GlobBuilder::new(&text).literal_separator(true).build();
            glob.map_err(|error| wrong(&format!("is no glob: {}", error.kind())))
        };
        let glob = text.contains(SPECIAL).then(glob).transpose()?;
        let parts: Vec<&str> = text.split('/').collect();
        let folders = &parts[..parts.len() - 1];
        let fixed = folders
            .iter()
            // A folder whose name can have several forms is looked for among all.
            .take_while(|part| !part.contains(SPECIAL) && part.is_ascii())
            .count();
        let folder = folders[..fixed].join("/");
        let deep = fixed < folders.len() || text.contains("**") || text.contains('{');
        Ok(Self {
            text,
            glob,
            compiled: OnceCell::new(),
            folder,
            deep,
        })
    }

    fn is_match(&self, path: &str) -> bool {
        let path = composed(path);
        let Some(glob) = &self.glob else {
            return path == self.text;
        };
        let compiled = self.compiled.get_or_init(|| glob.compile_matcher());
        compiled.is_match(&*path)
    }

    /// The paths and sizes of the files that fit.
    fn files(&self, scene: &Scene) -> Result<Vec<(String, u64)>, Undecided> {
        let entries = match scene.workspace.list(&self.folder, self.deep) {
            Ok(entries) => entries,
            Err(
                WorkspaceError::NotFound | WorkspaceError::WrongKind | WorkspaceError::Denied(_),
            ) => Vec::new(),
            Err(error @ (WorkspaceError::TooLarge(_) | WorkspaceError::Io(_))) => {
                return Err(Undecided(format!(
                    "the folder `{}` cannot be listed: {error}",
                    self.folder
                )));
            }
        };
        let files = entries
            .into_iter()
            .filter(|entry| !entry.directory && self.is_match(&entry.path));
        Ok(files.map(|entry| (entry.path, entry.size)).collect())
    }
}

impl File {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let table_path = table.path.clone();
        let path = Pathname::parse(&table.require("path")?)?;
        let exists = table.read("exists", Node::boolean)?;
        let wanted = Wanted {
            content: table.read("content", Matcher::parse_text)?,
            json: table.read("json", |node| Matcher::parse(node, Names::NONE))?,
            bytes: table.read("bytes", Range::parse)?,
            lines: table.read("lines", Range::parse)?,
            changed: table.read("changed", Node::boolean)?,
        };
        let count = table.read("count", Range::parse)?;
        table.finish()?;
        if exists != Some(false) {
            return Ok(Self {
                path,
                test: Test::There {
                    wanted,
                    count: count.unwrap_or(Range::SOME),
                },
            });
        }
        let Wanted {
            content: None,
            json: None,
            bytes: None,
            lines: None,
            changed,
        } = wanted
        else {
            return Err(ConfigError::new(
                &table_path,
                "`exists = false` goes with `path` and `changed` only",
            ));
        };
        if count.is_some() {
            return Err(ConfigError::new(
                &table_path,
                "`exists = false` goes with `path` and `changed` only",
            ));
        }
        Ok(Self {
            path,
            test: Test::Absent { deleted: changed },
        })
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Result<Finding, Undecided> {
        let files = self.path.files(scene)?;
        match &self.test {
            Test::There { wanted, count } => self.there(scene, wanted, *count, &files),
            Test::Absent { deleted } => Ok(self.absent(scene, *deleted, &files)),
        }
    }

    fn there(
        &self,
        scene: &Scene,
        wanted: &Wanted,
        count: Range,
        files: &[(String, u64)],
    ) -> Result<Finding, Undecided> {
        let mut fitting = Vec::new();
        let mut near = Vec::new();
        for (path, size) in files {
            match wanted.mismatch(scene, path, *size)? {
                None => fitting.push(path.as_str()),
                Some(reason) => near.push(format!("{path} {reason}")),
            }
        }
        let found = match fitting.as_slice() {
            [] if files.is_empty() => format!("no file {}", self.path.text),
            [] => format!("no file {} fits", self.path.text),
            [one] => format!("file {one} fits"),
            [first, ..] => format!("{} files fit, {first} the first", fitting.len()),
        };
        near.truncate(NEAR_MISSES);
        let near = if near.is_empty() {
            String::new()
        } else {
            format!("; but {}", near.join("; "))
        };
        Ok(Finding {
            pass: count.holds(fitting.len() as u64),
            reason: format!("{found}, {count} wanted{near}"),
        })
    }

    fn absent(&self, scene: &Scene, deleted: Option<bool>, files: &[(String, u64)]) -> Finding {
        if let Some((path, _)) = files.first() {
            return Finding {
                pass: false,
                reason: format!("file {path} is there, none wanted"),
            };
        }
        let gone = scene.changes.iter().find(|change| {
            self.path.is_match(&change.path)
                && scene.last_change(&change.path) == Some(ChangeKind::Deleted)
        });
        let pass = deleted.is_none_or(|wanted| wanted == gone.is_some());
        let history = match gone {
            Some(change) => format!("{} was deleted in this session", change.path),
            None => "none was deleted in this session".to_owned(),
        };
        Finding {
            pass,
            reason: format!("no file {} is there; {history}", self.path.text),
        }
    }
}

impl Wanted {
    /// None for a file that does; else what differs. A file that cannot be read does not.
    fn mismatch(&self, scene: &Scene, path: &str, size: u64) -> Result<Option<String>, Undecided> {
        let Self {
            content,
            json,
            bytes,
            lines,
            changed,
        } = self;
        if let Some(wanted) = changed {
            let done = matches!(
                scene.last_change(path),
                Some(ChangeKind::Created | ChangeKind::Modified)
            );
            if done != *wanted {
                let done = if done {
                    "was changed"
                } else {
                    "was not changed"
                };
                return Ok(Some(format!("{done} in this session")));
            }
        }
        if let Some(range) = bytes
            && !range.holds(size)
        {
            return Ok(Some(format!("has {size} bytes, not {range}")));
        }
        if content.is_none() && json.is_none() && lines.is_none() {
            return Ok(None);
        }
        let text = match scene.workspace.read(path) {
            Ok(data) => match String::from_utf8(data) {
                Ok(text) => text,
                Err(_) => return Ok(Some("is not UTF-8 text".to_owned())),
            },
            Err(WorkspaceError::Io(error)) => {
                return Err(Undecided(format!("{path} cannot be read: {error}")));
            }
            Err(error) => return Ok(Some(format!("cannot be read: {error}"))),
        };
        Ok(text_mismatch(
            &text,
            content.as_ref(),
            json.as_ref(),
            lines.as_ref(),
        ))
    }
}

fn text_mismatch(
    text: &str,
    content: Option<&Matcher>,
    json: Option<&Matcher>,
    lines: Option<&Range>,
) -> Option<String> {
    if let Some(range) = lines {
        let number = text.lines().count() as u64;
        if !range.holds(number) {
            return Some(format!("has {number} lines, not {range}"));
        }
    }
    // Excel writes a byte order mark, which nobody sees.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(matcher) = content
        && let Some(reason) = matcher.mismatch(Some(&Value::from(composed(text))), &Captures::new())
    {
        return Some(format!("has a content that {reason}"));
    }
    let matcher = json?;
    match read_json(text) {
        Err(error) => Some(format!("is not JSON: {error}")),
        Ok(value) => {
            let reason = matcher.mismatch(Some(&value), &Captures::new())?;
            Some(format!("holds JSON whose value {reason}"))
        }
    }
}
