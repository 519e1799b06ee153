//! Runs that several archives hold: which of them stands.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::find_archives;
use crate::commands::submission::{Checked, Found, Readers, check_archive};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::submission::{self, SubmissionError};
use pibench_engine::plan::Places;
use pibench_report::escape::line;
use pibench_signature::AllowedSigners;

/// Of a run that several archives hold, one stands or none: that of a host of the board's own, of whoever `owners` names, or of the one
/// person who signed it. What an archive is called says nothing of whose its runs are, and one that is refused takes no one's place.
/// Where the scores of those that might stand are not the same, one may have been judged until it was the best, and where the agents
/// are not, one took another's run: none stands. The digests of what was played are given.
pub(super) fn refuse_copies(
    sent: &mut [(Utf8PathBuf, Checked)],
    rules: &Rules,
) -> BTreeSet<String> {
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
    let played = holders.keys().cloned().collect();
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
        let differing = if is_hub {
            None
        } else {
            find_differing(sent, &standing)
        };
        if differing.is_some() {
            standing.clear();
        }
        let mut submitters = BTreeSet::new();
        standing.retain(|&(a, r)| {
            let submitter = sent[a].1.runs[r].submitter.as_ref().filter(|_| is_hub);
            submitters.insert(submitter.map(|one| (one.name.clone(), one.attempt)))
        });
        let reason = match (standing.first(), differing) {
            (Some(copy), _) => format!("it is the run of {}, sent again", name(sent, copy)),
            (None, Some(differing)) => differing,
            (None, None) => disputed(&signers, rules.owners.get(&digest), &digest),
        };
        for (a, r) in held.into_iter().filter(|copy| !standing.contains(copy)) {
            sent[a].1.runs[r].reasons.push(reason.clone());
        }
    }
    played
}

/// What a run of an archive is called.
fn name(sent: &[(Utf8PathBuf, Checked)], &(a, r): &(usize, usize)) -> String {
    let (archive, checked) = &sent[a];
    let archive = archive.file_stem().unwrap_or_default();
    format!("{archive}/{}", checked.runs[r].name)
}

/// Why none of several copies stands, of whoever it is: their scores or agents are not the same.
fn find_differing(sent: &[(Utf8PathBuf, Checked)], copies: &[(usize, usize)]) -> Option<String> {
    let said = |&(a, r): &(usize, usize)| {
        let results = &sent[a].1.runs[r].record.results;
        (results.proc, results.comp, &results.agent)
    };
    let (first, others) = copies.split_first()?;
    let other = others.iter().find(|other| said(other) != said(first))?;
    let told = |copy| {
        let shown =
            |score: Option<f64>| score.map_or_else(|| "-".into(), |one| format!("{one:.1}"));
        let (proc, comp, agent) = said(copy);
        let name = name(sent, copy);
        format!(
            "{name} has Proc {}, Comp {} by {agent}",
            shown(proc),
            shown(comp)
        )
    };
    Some(format!(
        "one run was graded otherwise, or said to be another agent's, each time it was sent: {}, {}; none stands until one of them is \
         taken away",
        told(first),
        told(other)
    ))
}

/// Tells what `board.toml` says of archives and runs that are not there: a slip of the hand, or what was taken away.
pub(super) fn warn_of_nothing(
    sent: &[(Utf8PathBuf, Checked)],
    played: &BTreeSet<String>,
    rules: &Rules,
) {
    let archives: BTreeSet<&String> = sent
        .iter()
        .filter_map(|(_, checked)| checked.digest.as_ref())
        .collect();
    for digest in rules.judged.keys().filter(|one| !archives.contains(one)) {
        pibench_report::tell!(
            "warning: `judged.{}` of board.toml is of none of these archives",
            line(digest)
        );
    }
    for digest in rules.owners.keys().filter(|one| !played.contains(*one)) {
        pibench_report::tell!(
            "warning: `owners` of board.toml has {}, which is no run of these archives that may stand",
            line(digest)
        );
    }
}

/// Holds an archive against those that lie in a folder: what a board of both would refuse of it is among its reasons afterwards. Those
/// that hold no run of it are not looked at further.
pub(in crate::commands) fn refuse_beside(
    (archive, checked): (&Utf8Path, Checked),
    dir: &Utf8Path,
    rules: &Rules,
    places: Places<'_>,
    signers: Option<&AllowedSigners>,
) -> Result<Checked, Failure> {
    let own: BTreeSet<String> = checked.runs.iter().filter_map(digest_of).collect();
    let place = archive.canonicalize_utf8().or_exit(Exit::Io)?;
    let mut sent = Vec::new();
    for other in find_archives(dir)? {
        let is_it = other.canonicalize_utf8().is_ok_and(|other| other == place);
        if !is_it && holds_any(&other, &own)? {
            let readers = Readers::Recipients;
            let checked = check_archive(&other, rules, places, signers, readers)?;
            sent.push((other, checked));
        }
    }
    // What was there goes before what comes.
    sent.push((archive.to_owned(), checked));
    refuse_copies(&mut sent, rules);
    let last = sent.pop().map(|(_, checked)| checked);
    last.ok_or_else(|| anyhow!("check {archive}"))
        .or_exit(Exit::Bug)
}

/// What was played in a run, as far as that can be read.
fn digest_of(run: &Found) -> Option<String> {
    submission::digest_played(run.dir.as_std_path()).ok()
}

/// Whether an archive holds one of these runs. One that cannot be read holds none that stands.
fn holds_any(archive: &Utf8Path, played: &BTreeSet<String>) -> Result<bool, Failure> {
    let dir = tempfile::Builder::new()
        .prefix("pibench-submission-")
        .tempdir();
    let dir = dir.or_exit(Exit::Io)?;
    let unpacked = match submission::unpack(archive.as_std_path(), dir.path()) {
        Ok(unpacked) => unpacked,
        Err(SubmissionError::Refused { .. }) => return Ok(false),
        Err(error) => return Err(error).or_exit(Exit::Io),
    };
    let mut digests = unpacked
        .runs
        .iter()
        .map(|run| submission::digest_played(run));
    Ok(digests.any(|digest| digest.is_ok_and(|digest| played.contains(&digest))))
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
