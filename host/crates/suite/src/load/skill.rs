//! The skills of a persona: folders whose files go to the workspace. What stands in them is the agent's to read; here
//! only the block at a `SKILL.md`'s top is looked at.

use serde::Deserialize;

use super::{Loader, STAGED_LIMIT, cannot, check_length, join, plain_lines};
use crate::problem::Report;
use crate::suite::Staged;
use crate::toml_file::Place;

/// The skill's own file.
const SKILL: &str = "SKILL.md";

/// Files of one skill, those in folders of its own among them.
const FILE_LIMIT: usize = 200;

/// The block at the top, as far as it must be there. Other keys are free.
#[derive(Debug, Deserialize)]
pub struct Head {
    pub name: String,
    pub description: String,
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
            let found = [own, shared]
                .into_iter()
                .find(|path| self.pack.is_folder(path));
            match found.map(|path| self.skill(&path, name)) {
                Some(Ok(files)) => {
                    if let Some(reason) = headless(&files, name) {
                        report.warn(span, reason, "the agent chooses a skill by these");
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

/// What is wrong with the block at the top of a skill's own file.
fn headless(files: &[Staged], name: &str) -> Option<String> {
    let own = format!("skills/{name}/{SKILL}");
    let file = files.iter().find(|file| file.path == own)?;
    let reason = head(&file.content).err()?;
    Some(format!("the {SKILL} of skill `{name}` {reason}"))
}

/// The block at the top of a `SKILL.md`, or what is wrong with it.
pub fn head(content: &[u8]) -> Result<Head, String> {
    let text = std::str::from_utf8(content).map_err(|_| "is not UTF-8")?;
    let block = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"))
        .map(|(head, _)| head)
        .ok_or("opens without a block of `name` and `description` between two lines `---`")?;
    let head: Head = serde_saphyr::from_str(block)
        .map_err(|error| format!("has a block that is wrong: {error}"))?;
    if head.name.trim().is_empty() || head.description.trim().is_empty() {
        return Err("needs a `name` and a `description`".into());
    }
    Ok(head)
}
