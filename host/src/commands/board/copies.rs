//! Runs that several archives hold: which of them stands.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use crate::commands::submission::Checked;
use pibench_board::rules::Rules;
use pibench_board::submission;

/// Of a run that several archives hold, one stands or none: that of a host of the board's own, of whoever `owners` names, or of the one
/// person who signed it. What an archive is called says nothing of whose its runs are, and one that is refused takes no one's place.
pub(super) fn refuse_copies(sent: &mut [(Utf8PathBuf, Checked)], rules: &Rules) {
    // Archive and run, by the digest of what was played.
    let mut holders: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (a, (_, checked)) in sent.iter_mut().enumerate() {
        let is_sound = checked.reasons.is_empty();
        let sound = checked.runs.iter_mut().enumerate();
        for (r, run) in sound.filter(|(_, run)| is_sound && run.reasons.is_empty()) {
            match submission::digest_played(run.dir.as_std_path()) {
                Ok(digest) => holders.entry(digest).or_default().push((a, r)),
                // Nothing of a private record is told here.
                Err(_) => run.reasons.push("its journals cannot be read".into()),
            }
        }
    }
    for (digest, held) in holders.into_iter().filter(|(_, held)| held.len() > 1) {
        let signer = |&(a, _): &(usize, usize)| sent[a].1.signed.as_ref().map(|one| &*one.by);
        let signers: BTreeSet<&str> = held.iter().filter_map(signer).collect();
        let owner = find_owner(&signers, rules.owners.get(&digest), &rules.hubs);
        let mut standing: Vec<(usize, usize)> = match owner {
            Some(owner) => held
                .iter()
                .filter(|copy| signer(copy) == Some(owner))
                .copied()
                .collect(),
            // They say the same, and nothing of whose it is.
            None if signers.is_empty() => held.clone(),
            None => Vec::new(),
        };
        // Agents that answer alike play alike: a host of the board's own says which of its runs are others.
        let is_hub = owner.is_some_and(|owner| rules.hubs.contains(owner));
        let mut submitters = BTreeSet::new();
        standing.retain(|&(a, r)| {
            let submitter = sent[a].1.runs[r].submitter.as_ref().filter(|_| is_hub);
            submitters.insert(submitter.map(|one| (one.name.clone(), one.attempt)))
        });
        let reason = match standing.first() {
            Some(&(a, r)) => {
                let name = sent[a].0.file_stem().unwrap_or_default();
                format!(
                    "it is the run of {name}/{}, sent again",
                    sent[a].1.runs[r].name
                )
            }
            None => disputed(&signers, rules.owners.get(&digest), &digest),
        };
        for (a, r) in held.into_iter().filter(|copy| !standing.contains(copy)) {
            sent[a].1.runs[r].reasons.push(reason.clone());
        }
    }
}

/// Why a run that several sent is nobody's yet.
fn disputed(signers: &BTreeSet<&str>, named: Option<&String>, digest: &str) -> String {
    let all = signers.iter().copied().collect::<Vec<_>>().join(" and ");
    let by = if all.is_empty() {
        "nobody who is known".into()
    } else {
        all
    };
    let says = named.map_or_else(
        || "says whose it is".into(),
        |named| format!("names {named}, who signed none of them; it says whose it is"),
    );
    format!("{by} signed this same run; `owners` of board.toml {says}: \"{digest}\" = \"...\"")
}

/// Whose a run is, of those who signed it.
fn find_owner<'a>(
    signers: &BTreeSet<&'a str>,
    named: Option<&'a String>,
    hubs: &BTreeSet<String>,
) -> Option<&'a str> {
    let hub = signers.iter().find(|signer| hubs.contains(**signer));
    let only = signers.first().filter(|_| signers.len() == 1);
    hub.copied().or(named.map(String::as_str)).or(only.copied())
}
