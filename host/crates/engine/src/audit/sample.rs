//! Which scored sessions an audit looks at: as many of each agent as of the others, as far as it has them, and drawn
//! uniformly among an agent's (paper, section F.1). Who holds the same runs and the same seed draws the same ones.

use std::collections::{BTreeMap, BTreeSet};

use super::super::plan::Plan;
use super::super::recorded::{self, RecordedSession};
use pibench_record::event::Event;
use pibench_record::journal;
use pibench_record::journal::JournalError;
use pibench_suite::suite::Persona;

/// Sessions of one or many runs.
#[derive(Debug)]
pub struct Sample<'a> {
    /// By a key that says nothing of who played them.
    pub(super) sessions: Vec<Drawn<'a>>,
    /// Sessions that are scored.
    pub(super) of: usize,
    /// Whether the sessions of several runs are in it.
    several: bool,
}

/// One session of the sample.
#[derive(Debug)]
pub(super) struct Drawn<'a> {
    pub(super) plan: &'a Plan,
    /// Follows from seed, journal and session: nobody who sees it can tell whose it is.
    pub(super) key: Key,
    pub(super) session: RecordedSession<'a>,
}

pub(super) type Key = [u8; 32];

/// A finished session before its record is read.
struct Finished<'a> {
    plan: &'a Plan,
    persona: &'a Persona,
    run: u32,
    session: String,
    key: Key,
}

impl<'a> Sample<'a> {
    /// Draws `size` sessions of these runs, or all where there are fewer.
    pub fn draw(plans: &'a [Plan], size: usize, seed: u64) -> Result<Self, JournalError> {
        let mut agents: BTreeMap<&str, Vec<Finished<'a>>> = BTreeMap::new();
        // A copy of a run counts once.
        let mut known = BTreeSet::new();
        for plan in plans {
            let agent = agents.entry(&plan.roles.agent_name).or_default();
            let finished = finished(plan, seed)?.into_iter();
            agent.extend(finished.filter(|one| known.insert(one.key)));
        }
        let of = agents.values().map(Vec::len).sum();
        let agents = agents.into_values().collect();
        let mut sessions = read(&equal_shares(agents, size, |one| one.key))?;
        sessions.sort_by_key(|one| one.key);
        Ok(Self {
            sessions,
            of,
            several: plans.len() > 1,
        })
    }

    /// Names a session in messages.
    pub(super) fn name(&self, one: &Drawn<'_>) -> String {
        let name = one.session.name();
        if self.several {
            format!("{name} of {}", one.plan.folder.root().display())
        } else {
            name
        }
    }
}

/// The scored sessions of a run.
fn finished(plan: &Plan, seed: u64) -> Result<Vec<Finished<'_>>, JournalError> {
    let mut found = Vec::new();
    for run in 1..=plan.runs {
        for persona in plan.personas() {
            let path = plan.folder.journal(&persona.id, run);
            if !path.exists() {
                continue;
            }
            let (events, digest) = journal::events_and_hash(&path)?;
            let ends = events.iter().filter_map(|event| match event {
                Event::SessionFinished(finished) if finished.outcome.scored() => Some(finished),
                _ => None,
            });
            found.extend(ends.map(|end| Finished {
                plan,
                persona,
                run,
                session: end.session.clone(),
                key: key(seed, &digest, &end.session),
            }));
        }
    }
    Ok(found)
}

/// A number in which no order of runs and sessions has a part, nor the folder's name.
fn key(seed: u64, journal: &blake3::Hash, session: &str) -> Key {
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host sample of an audit, version 2");
    hasher.update(&seed.to_le_bytes());
    hasher.update(journal.as_bytes());
    hasher.update(session.as_bytes());
    *hasher.finalize().as_bytes()
}

/// One of each agent in turn, the one with the smallest key first, until there are enough.
fn equal_shares<T>(mut agents: Vec<Vec<T>>, size: usize, key: impl Fn(&T) -> Key) -> Vec<T> {
    for agent in &mut agents {
        agent.sort_by_key(|one| std::cmp::Reverse(key(one)));
    }
    let mut drawn = Vec::new();
    while drawn.len() < size {
        agents.retain(|agent| !agent.is_empty());
        if agents.is_empty() {
            break;
        }
        // Who is left out of the last round is a matter of the keys, too.
        agents.sort_by_key(|agent| agent.last().map(&key));
        drawn.extend(agents.iter_mut().filter_map(Vec::pop));
    }
    drawn.truncate(size);
    drawn
}

/// The records of the sessions, an episode at a time: a whole run takes much room.
fn read<'a>(chosen: &[Finished<'a>]) -> Result<Vec<Drawn<'a>>, JournalError> {
    let mut sessions = Vec::new();
    let mut read = BTreeSet::new();
    for one in chosen {
        let Finished {
            plan, persona, run, ..
        } = *one;
        let path = plan.folder.journal(&persona.id, run);
        if !read.insert(path.clone()) {
            continue;
        }
        let events = journal::events(&path)?;
        for session in recorded::of_episode(plan, persona, run, &events) {
            let same = |other: &&Finished<'a>| {
                other.plan.folder.journal(&other.persona.id, other.run) == path
                    && other.session == session.session.id
            };
            if let Some(found) = chosen.iter().find(same) {
                sessions.push(Drawn {
                    plan,
                    key: found.key,
                    session,
                });
            }
        }
    }
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of each of the agents are drawn, which have so many sessions.
    fn check(agents: [usize; 3], size: usize, expected: [usize; 3]) {
        let key = |&(agent, at): &(usize, usize)| {
            *blake3::hash(format!("{agent}/{at}").as_bytes()).as_bytes()
        };
        let sessions = |agent: usize| (0..agents[agent]).map(|at| (agent, at)).collect();
        let drawn = equal_shares((0..3).map(sessions).collect(), size, key);
        let mut found = [0; 3];
        for (agent, _) in &drawn {
            found[*agent] += 1;
        }
        found.sort_unstable();
        assert_eq!(found, expected);
        let known: BTreeSet<_> = drawn.iter().collect();
        assert_eq!(known.len(), drawn.len(), "each once");
    }

    #[test]
    fn each_agent_has_as_many_as_the_others_as_far_as_it_has_them() {
        check([20, 20, 20], 12, [4, 4, 4]);
        check([20, 20, 20], 13, [4, 4, 5]);
        check([20, 2, 20], 12, [2, 5, 5]);
        check([1, 2, 3], 100, [1, 2, 3]);
        check([0, 0, 5], 3, [0, 0, 3]);
    }
}
