//! The tasks of an episode in their order, and the rules of who may depend on whom.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::source::EpisodeYaml;
use super::{Importer, to_id};
use pibench_suite::manifest::EpisodeEntry;

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
        // The sessions so far, and whether each has criteria.
        let mut criteria: BTreeMap<&str, bool> = BTreeMap::new();
        let mut depended = BTreeSet::new();
        for (position, task) in episode.tasks.iter().enumerate() {
            let name = task.task_id.as_str();
            let Some(id) =
                to_id(name).filter(|id| entries.iter().all(|entry| entry.session != *id))
            else {
                self.reject(
                    &path,
                    format!("the task id `{name}` stands twice or has no letter or digit"),
                );
                continue;
            };
            for (nth, dependency) in task.depends_on.iter().enumerate() {
                let wrong = if task.depends_on[..nth].contains(dependency) {
                    "stands twice"
                } else if dependency == name {
                    "is the task itself"
                } else if !criteria.contains_key(dependency.as_str()) {
                    "is no earlier task"
                } else if criteria[dependency.as_str()] {
                    "has criteria of its own"
                } else if !depended.insert(dependency.clone()) {
                    "belongs to another group already"
                } else {
                    continue;
                };
                self.reject_at(
                    &path,
                    dependency,
                    format!("depends_on of `{name}`: `{dependency}` {wrong}"),
                );
            }
            let Some(session) = self.session(user, persona, name, &id, position)? else {
                // Rejected already; those that depend on it are not to blame.
                criteria.insert(name, false);
                continue;
            };
            criteria.insert(name, session.has_criteria);
            if !task.depends_on.is_empty() && !session.has_criteria {
                self.reject_at(
                    &path,
                    name,
                    format!("`{name}` has depends_on and no criteria"),
                );
            }
            let depends_on = if session.has_items {
                task.depends_on.iter().filter_map(|id| to_id(id)).collect()
            } else {
                Vec::new()
            };
            if depends_on.len() < task.depends_on.len() {
                self.leave_out(
                    &path,
                    format!("depends_on of `{name}`: none of its criteria could be carried over"),
                );
            }
            entries.push(EpisodeEntry {
                session: id,
                depends_on,
            });
        }
        Ok(entries)
    }
}
