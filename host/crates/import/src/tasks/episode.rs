//! The tasks of an episode in their order, and the rules of who may depend on whom. What breaks them is left out: a task, or
//! a dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::session::Imported;
use super::source::{EntryYaml, EpisodeYaml};
use super::{Importer, to_id};
use pibench_suite::manifest::EpisodeEntry;

/// The tasks so far, by the data's own ids: None of one that could not be read.
type Known = BTreeMap<String, Option<Imported>>;

impl Importer<'_> {
    /// Imports the sessions of an episode, and says in which order they stand.
    pub(super) fn sessions(
        &mut self,
        user: &str,
        persona: &str,
        episode: &EpisodeYaml,
    ) -> io::Result<Vec<EpisodeEntry>> {
        let path = format!("{user}/episode.yaml");
        let mut entries: Vec<EpisodeEntry> = Vec::new();
        let mut known = Known::new();
        let mut depended = BTreeSet::new();
        for (position, task) in episode.entries().enumerate() {
            let task = match task {
                Ok(task) => task,
                Err(reason) => {
                    self.leave_out(&path, format!("tasks[{position}]: {reason}"));
                    continue;
                }
            };
            let name = &task.task_id;
            let Some(id) =
                to_id(name).filter(|id| entries.iter().all(|entry| entry.session != *id))
            else {
                let what = "stands twice or has no letter or digit";
                self.leave_out(&path, format!("the task id `{name}` {what}"));
                continue;
            };
            let depends_on = self.dependencies(&path, &task, &known, &mut depended);
            let session = self.session(user, persona, name, &id, position)?;
            if let Some(session) = &session {
                let depends_on = self.of_final(&path, &task, depends_on, session);
                entries.push(EpisodeEntry {
                    session: id,
                    depends_on,
                });
            }
            known.insert(name.clone(), session);
        }
        Ok(entries)
    }

    /// Those dependencies of a task that the format allows, as ids of ours.
    fn dependencies(
        &mut self,
        path: &str,
        task: &EntryYaml,
        known: &Known,
        depended: &mut BTreeSet<String>,
    ) -> Vec<String> {
        let EntryYaml {
            task_id: name,
            depends_on,
        } = task;
        let mut kept = Vec::new();
        for (nth, dependency) in depends_on.iter().enumerate() {
            let wrong = match known.get(dependency) {
                _ if depends_on[..nth].contains(dependency) => "stands twice",
                _ if dependency == name => "is the task itself",
                None => "is no earlier task",
                Some(None) => "was left out",
                Some(Some(session)) if session.has_criteria => "has criteria of its own",
                Some(Some(_)) if !depended.insert(dependency.clone()) => {
                    "belongs to another group already"
                }
                Some(Some(_)) => {
                    kept.extend(to_id(dependency));
                    continue;
                }
            };
            self.leave_out(
                path,
                format!("depends_on of `{name}`: `{dependency}` {wrong}"),
            );
        }
        kept
    }

    /// The same, where the task has something to score.
    fn of_final(
        &mut self,
        path: &str,
        task: &EntryYaml,
        depends_on: Vec<String>,
        session: &Imported,
    ) -> Vec<String> {
        if depends_on.is_empty() || session.has_items {
            return depends_on;
        }
        let why = if session.has_criteria {
            "none of its criteria could be carried over"
        } else {
            "it has no criteria"
        };
        self.leave_out(path, format!("depends_on of `{}`: {why}", task.task_id));
        Vec::new()
    }
}
