//! The order of an episode: which session may depend on which. Looks at ids, checklists and clocks only.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::manifest::EpisodeEntry;
use crate::problem::Report;
use crate::suite::Session;
use crate::toml_file::Place;
use pibench_core::near::nearest;

/// Reports what breaks the contract of dependency groups: `depends_on` stands on a group's final session alone, names
/// earlier sessions without a checklist, and each of them belongs to one group. `sessions` are the entries' sessions
/// where they could be read.
pub(super) fn check(
    episode: &[EpisodeEntry],
    sessions: &[Option<Session>],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let mut positions = BTreeMap::new();
    for (index, entry) in episode.iter().enumerate() {
        // Of two entries of one name the first stands; the second is reported elsewhere.
        positions.entry(entry.session.as_str()).or_insert(index);
    }
    let graph = Graph::new(episode, &positions);
    let cycles = graph.cycles();
    for cycle in &cycles {
        report_cycle(cycle, episode, place, report);
    }
    let in_cycle = |from: usize, to: usize| cycles.iter().any(|cycle| has_edge(cycle, from, to));

    let mut finals: BTreeMap<&str, &str> = BTreeMap::new();
    for (index, entry) in episode.iter().enumerate() {
        let place = place.index(index).key("depends_on");
        for (nth, name) in entry.depends_on.iter().enumerate() {
            let span = place.index(nth).span();
            if entry.depends_on[..nth].contains(name) {
                report.add(span, format!("`{name}` is named twice"));
                continue;
            }
            let Some(&target) = positions.get(name.as_str()) else {
                report_unknown(name, entry, positions.keys().copied(), span, report);
                continue;
            };
            if target == index {
                report.add(span, format!("`{name}` depends on itself"));
                continue;
            }
            // What else is wrong with these would say the same in other words.
            if in_cycle(index, target) {
                continue;
            }
            if target > index {
                let message = format!("`{}` depends on `{name}`, which comes later", entry.session);
                report.add_with_help(span, message, "a session depends on earlier ones only");
                continue;
            }
            let depended = (&episode[target], sessions[target].as_ref());
            check_depended(entry, depended, &span, report);
            if let Some(other) = finals.insert(name, &entry.session) {
                let message = format!("`{name}` belongs to the group of `{other}` already");
                report.add_with_help(span, message, "a session belongs to one dependency group");
            }
        }
    }
    let is_cyclic = |index| cycles.iter().any(|cycle| cycle.contains(&index));
    let straight: Vec<Option<&Session>> = sessions
        .iter()
        .enumerate()
        .map(|(index, session)| session.as_ref().filter(|_| !is_cyclic(index)))
        .collect();
    check_checklists(episode, &straight, place, report);
}

/// Reports a session that the episode has not.
fn report_unknown<'e>(
    name: &str,
    entry: &EpisodeEntry,
    known: impl Iterator<Item = &'e str>,
    span: Range<usize>,
    report: &mut Report<'_>,
) {
    let known = known.filter(|known| *known != entry.session);
    let help = match nearest(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "name an earlier session of the episode".to_owned(),
    };
    report.add_with_help(span, format!("unknown session `{name}`"), help);
}

/// Reports what keeps a session from being one that `entry` depends on.
fn check_depended(
    entry: &EpisodeEntry,
    (depended, session): (&EpisodeEntry, Option<&Session>),
    span: &Range<usize>,
    report: &mut Report<'_>,
) {
    let name = &depended.session;
    if !depended.depends_on.is_empty() {
        report.add_with_help(
            span.clone(),
            format!("`{name}` has a `depends_on` of its own"),
            "only a group's final session has one; name all sessions of the group there",
        );
    }
    if session.is_some_and(|session| !session.checklist.is_empty()) {
        report.add_with_help(
            span.clone(),
            format!(
                "`{}` depends on `{name}`, which has a checklist",
                entry.session
            ),
            "the checklist stands on a group's final session alone",
        );
    }
}

/// The final session of a group carries its checklist; a session that nothing depends on would score nothing without.
fn check_checklists(
    episode: &[EpisodeEntry],
    sessions: &[Option<&Session>],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    for (index, (entry, session)) in episode.iter().zip(sessions).enumerate() {
        let Some(session) = session else { continue };
        if !session.checklist.is_empty() {
            continue;
        }
        let place = place.index(index);
        if !entry.depends_on.is_empty() {
            let message = format!("`{}` has `depends_on` and no checklist", entry.session);
            report.add_with_help(
                place.key("depends_on").span(),
                message,
                "a group's final session has the group's checklist",
            );
        } else if !episode
            .iter()
            .any(|other| other.depends_on.contains(&entry.session))
        {
            report.warn(
                place.key("session").span(),
                format!(
                    "`{}` has no checklist, and no later session depends on it",
                    entry.session
                ),
                "its completeness cannot be scored",
            );
        }
    }
}

/// The clock of an episode moves forward: timers fire between sessions, and memory is dated.
pub(super) fn check_clocks(
    sessions: &[Option<Session>],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let mut latest: Option<&Session> = None;
    for (index, session) in sessions.iter().enumerate() {
        let Some(session) = session else { continue };
        match latest {
            Some(earlier) if earlier.clock > session.clock => report.warn(
                place.index(index).key("session").span(),
                format!(
                    "`{}` starts at {}, before `{}` did",
                    session.id, session.clock, earlier.id
                ),
                format!("start after {}", earlier.clock),
            ),
            _ => latest = Some(session),
        }
    }
}

fn report_cycle(
    cycle: &[usize],
    episode: &[EpisodeEntry],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let names: Vec<&str> = cycle
        .iter()
        .chain(cycle.first())
        .map(|&index| episode[index].session.as_str())
        .collect();
    // One session of a cycle depends on a later one: there it is cut.
    let next = |nth: usize| cycle[(nth + 1) % cycle.len()];
    let cut = (0..cycle.len())
        .find(|&nth| next(nth) > cycle[nth])
        .unwrap_or(0);
    let entry = &episode[cycle[cut]];
    let target = &episode[next(cut)].session;
    let nth = entry
        .depends_on
        .iter()
        .position(|name| name == target)
        .unwrap_or(0);
    let span = place.index(cycle[cut]).key("depends_on").index(nth).span();
    let message = format!("depends_on makes a cycle: {}", names.join(" -> "));
    report.add_with_help(span, message, "a session depends on earlier ones only");
}

fn has_edge(cycle: &[usize], from: usize, to: usize) -> bool {
    (0..cycle.len()).any(|nth| cycle[nth] == from && cycle[(nth + 1) % cycle.len()] == to)
}

/// Who depends on whom, by position; without unknown names and self-references.
struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    fn new(episode: &[EpisodeEntry], positions: &BTreeMap<&str, usize>) -> Self {
        let targets = |(index, entry): (usize, &EpisodeEntry)| {
            entry
                .depends_on
                .iter()
                .filter_map(|name| positions.get(name.as_str()).copied())
                .filter(|&target| target != index)
                .collect()
        };
        Self {
            edges: episode.iter().enumerate().map(targets).collect(),
        }
    }

    /// One cycle for each edge that closes one in a depth-first walk, as the positions along it. The walk keeps its
    /// own stack: an episode is as long as its author likes.
    fn cycles(&self) -> Vec<Vec<usize>> {
        let mut cycles = Vec::new();
        let mut done = vec![false; self.edges.len()];
        for start in 0..self.edges.len() {
            // The path from `start`, each with the number of its edges that were walked.
            let mut path = if done[start] {
                Vec::new()
            } else {
                vec![(start, 0)]
            };
            while let Some((node, walked)) = path.last_mut() {
                let Some(&target) = self.edges[*node].get(*walked) else {
                    done[*node] = true;
                    path.pop();
                    continue;
                };
                *walked += 1;
                if let Some(begin) = path.iter().position(|(node, _)| *node == target) {
                    cycles.push(path[begin..].iter().map(|(node, _)| *node).collect());
                } else if !done[target] {
                    path.push((target, 0));
                }
            }
        }
        cycles
    }
}
