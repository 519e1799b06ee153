//! `pibench-host board`: a site of the submissions that pass.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::check_new;
use super::signing::read_signers;
use super::submission::{Checked, Found, Readers, check_archive, read_rules};
use crate::cli::board::{BoardArgs, BoardCommand, BuildArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::site::{self, Level, Refused, Standing};
use pibench_board::submission;
use pibench_core::count::count;
use pibench_record::folder::Transcripts;
use pibench_record::publish::publish;
use pibench_report::escape::line;
use pibench_report::run_record::RunRecord;
use pibench_suite::load::suite_file;
use pibench_vault::keyring;

/// How the names of archives end.
pub(super) const ARCHIVE: &str = "submission";

pub(super) fn board(args: &BoardArgs) -> Result<Exit, Failure> {
    match &args.command {
        BoardCommand::Build(args) => build(args),
    }
}

fn build(args: &BuildArgs) -> Result<Exit, Failure> {
    let BuildArgs {
        dir,
        out,
        seed,
        by,
        places,
        signers,
    } = args;
    check_new(out)?;
    let (rules, signers) = (read_rules(by.rules.as_deref())?, read_signers(signers)?);
    places.check()?;
    let is_secret = places.suite.as_deref().is_some_and(is_secret);
    let mut sent = Vec::new();
    for archive in archives_in(dir)? {
        let (places, signers) = (places.places(), signers.as_ref());
        let mut checked = check_archive(&archive, &rules, places, signers, Readers::Everybody)?;
        for run in &mut checked.runs {
            show(run, is_secret)?;
        }
        sent.push((archive, checked));
    }
    refuse_copies(&mut sent, &rules)?;
    let (mut standing, mut refused) = (Vec::new(), Vec::new());
    for (archive, checked) in &mut sent {
        let name = archive.file_stem().unwrap_or_default();
        let (sound, reasons) = rank(name, checked, &rules);
        standing.extend(sound);
        if !reasons.is_empty() {
            println!("{archive}: not ranked: {}", line(&reasons.join("; ")));
            refused.push(Refused {
                name: name.to_owned(),
                signed: checked.signed.clone(),
                reasons,
            });
        }
    }
    site::write(&rules.title, &standing, &refused, *seed, out.as_std_path()).or_exit(Exit::Io)?;
    println!(
        "{out}/index.html: {} ranked, {} refused",
        count(standing.len(), "run"),
        count(refused.len(), "submission")
    );
    if standing.is_empty() {
        let all = count(refused.len(), "submission");
        return Err(anyhow!(
            "rank any run of {dir}: {all} refused, for the reasons above"
        ))
        .or_exit(Exit::InvalidInput);
    }
    Ok(Exit::Complete)
}

/// Whether a suite is a private pack.
fn is_secret(suite: &Utf8Path) -> bool {
    let file = suite_file(suite);
    file.parent()
        .is_some_and(|folder| keyring::is_private(folder.as_std_path()))
}

/// What the site shows of a run: of a private one its scores, and nothing that was said. `is_secret`: its suite is private. One that
/// cannot be shown is refused; what this machine lacks is a failure.
fn show(run: &mut Found, is_secret: bool) -> Result<(), Failure> {
    if !keyring::is_private(run.dir.as_std_path()) {
        if is_secret {
            let reason = "its suite is private, and its record lies in it open";
            run.reasons.push(reason.into());
        }
        return Ok(());
    }
    if run.reasons.is_empty() {
        let shown = run.dir.with_extension("shown");
        match read_published(&run.dir, &shown) {
            Ok(record) => run.record = record,
            Err(failure) if failure.exit == Exit::InvalidInput => run
                .reasons
                .push("what may be shown of its record cannot be read".into()),
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

fn read_published(run: &Utf8Path, shown: &Utf8Path) -> Result<RunRecord, Failure> {
    publish(run.as_std_path(), shown.as_std_path(), Transcripts::None)?;
    RunRecord::read_finished(shown.as_std_path()).or_exit(Exit::InvalidInput)
}

/// Of a run that several archives hold, one stands or none: that of a host of the board's own, of whoever `owners` names, or of the one
/// person who signed it. What an archive is called says nothing of whose its runs are, and one that is refused takes no one's place.
fn refuse_copies(sent: &mut [(Utf8PathBuf, Checked)], rules: &Rules) -> Result<(), Failure> {
    // Archive and run, by the digest of the journals.
    let mut holders: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (a, (_, checked)) in sent.iter().enumerate() {
        let sound = checked.runs.iter().enumerate();
        let sound = sound.filter(|(_, run)| checked.reasons.is_empty() && run.reasons.is_empty());
        for (r, run) in sound {
            let digest = submission::journals(run.dir.as_std_path()).or_exit(Exit::Io)?;
            holders.entry(digest).or_default().push((a, r));
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
            None => format!(
                "{} signed this same run; `owners` of board.toml says whose it is: \"{digest}\" = \"...\"",
                Vec::from_iter(signers).join(" and ")
            ),
        };
        for (a, r) in held.into_iter().filter(|copy| !standing.contains(copy)) {
            sent[a].1.runs[r].reasons.push(reason.clone());
        }
    }
    Ok(())
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

/// The archives in a folder, by name.
fn archives_in(dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Failure> {
    let entries = dir
        .read_dir_utf8()
        .map_err(|error| anyhow!("read {dir}: {error}"));
    let entries = entries.or_exit(Exit::InvalidInput)?.flatten();
    let mut archives: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
    archives.retain(|path| path.extension() == Some(ARCHIVE));
    archives.sort();
    if archives.is_empty() {
        return Err(anyhow!(
            "build a board of {dir}: there is no *.{ARCHIVE} in it, as `pibench-host submit prepare RUN... --out {dir}/NAME.{ARCHIVE}` writes them"
        ))
        .or_exit(Exit::InvalidInput);
    }
    Ok(archives)
}

/// The runs of an archive that are ranked, and why others are not.
fn rank(archive: &str, checked: &mut Checked, rules: &Rules) -> (Vec<Standing>, Vec<String>) {
    let judged = checked.digest.as_ref();
    let judged = judged.and_then(|digest| rules.judged.get(digest));
    let by_hub = checked
        .signed
        .as_ref()
        .is_some_and(|one| rules.hubs.contains(&one.by));
    let (sound, unsound): (Vec<Found>, Vec<Found>) = std::mem::take(&mut checked.runs)
        .into_iter()
        .partition(|run| run.reasons.is_empty() && checked.reasons.is_empty());
    let mut reasons = std::mem::take(&mut checked.reasons);
    for run in unsound {
        let reasons_of = run
            .reasons
            .iter()
            .map(|reason| format!("{}: {reason}", run.name));
        reasons.extend(reasons_of);
    }
    let standing = sound.into_iter().map(|run| Standing {
        name: format!("{archive}/{}", run.name),
        record: run.record,
        signed: checked.signed.clone(),
        submitter: run.submitter.filter(|_| by_hub),
        level: match (by_hub, judged, run.replayed) {
            (true, ..) => Level::PlayedByBoard,
            (false, Some(_), _) => Level::JudgedAgain,
            (false, None, true) => Level::Replayed,
            (false, None, false) => Level::SelfReported,
        },
        judged: judged.cloned(),
        doubtful: run.doubtful,
    });
    (standing.collect(), reasons)
}
