//! The skills of a persona: folders whose files go to the workspace. What stands in them is the agent's to read; here
//! only the block at a `SKILL.md`'s top is looked at.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Loader, STAGED_LIMIT, cannot, check_length, join, plain_lines};
use crate::problem::Report;
use crate::suite::Staged;
use crate::toml_file::Place;
use pibench_core::near::nearest;
use pibench_core::skill::{Names, SIZE};

/// The skill's own file.
const SKILL: &str = "SKILL.md";

/// Files of one skill, those in folders of its own among them.
const FILE_LIMIT: usize = 200;

/// What the block at the top must have.
#[derive(Debug)]
pub struct Head {
    pub name: String,
    pub description: String,
}

/// The block at the top, as the agent reads it: one in which this is wrong is no skill to it. Other keys are another scaffold's.
#[derive(Debug, Deserialize)]
struct Block {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    always: bool,
    tools: Option<Names>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl Block {
    fn head(self) -> Result<Head, String> {
        let Self {
            name, description, ..
        } = self;
        let there = |text: &String| !text.trim().is_empty();
        match (name.filter(there), description.filter(there)) {
            (Some(name), Some(description)) => Ok(Head { name, description }),
            _ => Err("needs a `name` and a `description`".into()),
        }
    }

    /// A key that nothing reads and that is like one that says nothing.
    fn misspelt(&self) -> Option<String> {
        let idle = [("always", !self.always), ("tools", self.tools.is_none())];
        let idle = idle.into_iter().filter(|(_, is_idle)| *is_idle);
        let idle: Vec<&str> = idle.map(|(key, _)| key).collect();
        self.others.keys().find_map(|key| {
            let near = nearest(key, idle.iter().copied())?;
            Some(format!("has the key `{key}` (did you mean `{near}`?)"))
        })
    }
}

impl Loader {
    /// The files of the named skills. A persona that is read alone has none of the suite's: those stay open.
    pub(super) fn skills(
        &mut self,
        names: &[String],
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Staged> {
        check_length("skills", names.len(), place, report);
        let mut staged = Vec::new();
        // By the names in their blocks.
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            let span = place.index(index).span();
            if names[..index].contains(name) {
                report.add(span, format!("the skill `{name}` is named twice"));
                continue;
            }
            if !super::is_id(name) {
                report.add_with_help(span, format!("`{name}` is no id"), super::ID_RULE);
                continue;
            }
            let own = join(folder, &format!("skills/{name}"));
            let shared = format!("skills/{name}");
            // The suite's own is meant where the persona has none of that name.
            let path = if self.pack.is_folder(&own) {
                own
            } else {
                shared
            };
            self.pack.ask_folder(&path);
            let is_there = self.pack.is_folder(&path);
            match is_there.then(|| self.skill(&path, name)) {
                Some(Ok(files)) => {
                    match own_head(&files, name) {
                        Ok(head) => {
                            let title = head.name.trim().to_owned();
                            if let Some(other) = seen.insert(title, name) {
                                let message =
                                    format!("the skills `{other}` and `{name}` have one `name`");
                                let help = "the agent chooses a skill by it: give one another";
                                report.warn(span, message, help);
                            }
                        }
                        Err((reason, help)) => {
                            let message = format!("the {SKILL} of skill `{name}` {reason}");
                            report.warn(span, message, help);
                        }
                    }
                    staged.extend(files);
                }
                Some(Err(message)) => report.add(span, message),
                None if folder.is_empty() => {}
                None => report.add_with_help(
                    span,
                    format!("there is no skill `{name}`"),
                    "make skills/<name>/SKILL.md beside the persona or beside the suite file",
                ),
            }
        }
        staged
    }

    fn skill(&mut self, path: &str, name: &str) -> Result<Vec<Staged>, String> {
        let mut open = self.pack.names(path).map_err(|error| cannot(&error))?;
        if !open.iter().any(|file| file == SKILL) {
            return Err(format!("the skill `{name}` has no {SKILL}"));
        }
        let mut staged = Vec::new();
        open.reverse();
        while let Some(file) = open.pop() {
            let source = join(path, &file);
            if self.pack.is_folder(&source) {
                let below = self.pack.names(&source).map_err(|error| cannot(&error))?;
                open.extend(
                    below
                        .into_iter()
                        .rev()
                        .map(|below| format!("{file}/{below}")),
                );
                continue;
            }
            if staged.len() == FILE_LIMIT {
                return Err(format!(
                    "the skill `{name}` has more files than the limit of {FILE_LIMIT}"
                ));
            }
            let content = self.pack.read(&source, STAGED_LIMIT);
            let mut content = content.map_err(|error| cannot(&error))?;
            // What reads the block at its top in a workspace knows one kind of line.
            if file == SKILL
                && let Ok(text) = std::str::from_utf8(&content)
            {
                content = plain_lines(text).into_bytes();
            }
            let path = format!("skills/{name}/{file}");
            staged.push(Staged {
                path,
                content: content.into(),
            });
        }
        Ok(staged)
    }
}

/// The block at the top of a skill's own file, or what is wrong with it and what to do.
fn own_head(files: &[Staged], name: &str) -> Result<Head, (String, &'static str)> {
    const BY_THESE: &str = "the agent chooses a skill by these";
    let own = format!("skills/{name}/{SKILL}");
    let file = files.iter().find(|file| file.path == own);
    let content = file.map(|file| file.content.as_ref());
    let content = content.unwrap_or_default();
    if content.len() > SIZE {
        let reason = format!("has {} bytes, more than {SIZE}", content.len());
        let help = "the agent is not told of this skill: move a part into a file beside it";
        return Err((reason, help));
    }
    let block = block(content).map_err(|reason| (reason.to_owned(), BY_THESE))?;
    let block = read(block).map_err(|reason| {
        let help = "the agent is not told of this skill: mend the block";
        (reason, help)
    })?;
    let misspelt = block.misspelt();
    let head = block.head().map_err(|reason| (reason, BY_THESE))?;
    match misspelt {
        Some(reason) => Err((reason, "nothing reads this key: mend it, or take it away")),
        None => Ok(head),
    }
}

/// The tools that the block at the top of a `SKILL.md` names; none where it cannot be read.
pub fn tools(content: &[u8]) -> Vec<String> {
    let block = block(content).ok().and_then(|block| read(block).ok());
    let tools = block.and_then(|block| block.tools);
    tools.map(Names::into_list).unwrap_or_default()
}

/// The block at the top of a `SKILL.md`, or what is wrong with it.
pub fn head(content: &[u8]) -> Result<Head, String> {
    read(block(content)?)?.head()
}

fn read(block: &str) -> Result<Block, String> {
    serde_saphyr::from_str(block).map_err(|error| format!("has a block that is wrong: {error}"))
}

fn block(content: &[u8]) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(content).map_err(|_| "is not UTF-8")?;
    let (block, _) = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"))
        .ok_or("opens without a block of `name` and `description` between two lines `---`")?;
    Ok(block)
}
