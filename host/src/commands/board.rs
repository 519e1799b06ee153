//! `pibench-host board`: a site of the submissions that pass.

use std::collections::BTreeMap;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::signing::read_signers;
use super::submission::{Checked, Found, Readers, check_archive, read_rules};
use crate::cli::board::{BoardArgs, BoardCommand, BuildArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::site::{self, Level, Refused, Standing};
use pibench_board::submission;
use pibench_record::folder::Transcripts;
use pibench_record::publish::publish;
use pibench_report::escape::line;
use pibench_report::run_record::RunRecord;
use pibench_vault::keyring;

/// How the names of archives end.
const ARCHIVE: &str = "submission";

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
    if out.exists() {
        return Err(anyhow!(
            "write {out}: it is there already; choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    let (rules, signers) = (read_rules(by.rules.as_deref())?, read_signers(signers)?);
    let archives = archives_in(dir)?;
    let is_secret = places.suite.as_deref().is_some_and(is_secret);
    let (mut standing, mut refused) = (Vec::new(), Vec::new());
    // The reports are written from the runs.
    let mut kept = Vec::new();
    // Who sent which run first, by the archives' names: the same again is somebody else's, or counted twice.
    let mut sent: BTreeMap<String, String> = BTreeMap::new();
    for archive in &archives {
        let name = archive.file_stem().unwrap_or_default();
        let signers = signers.as_ref();
        let mut checked = check_archive(
            archive,
            &rules,
            places.places(),
            signers,
            Readers::Everybody,
        )?;
        for (run, dir) in checked.runs.iter_mut().zip(&checked.dirs) {
            show(run, dir, is_secret)?;
            let journals = submission::journals(dir.as_std_path()).or_exit(Exit::Io)?;
            let here = format!("{name}/{}", run.name);
            if let Some(first) = sent.get(&journals) {
                run.reasons
                    .push(format!("it is the run of {first}, sent again"));
            } else {
                sent.insert(journals, here);
            }
        }
        let (sound, reasons) = rank(name, &mut checked, &rules);
        standing.extend(sound);
        if !reasons.is_empty() {
            println!("{archive}: not ranked: {}", line(&reasons.join("; ")));
            refused.push(Refused {
                name: name.to_owned(),
                signed: checked.signed,
                reasons,
            });
        }
        kept.push(checked.dir);
    }
    site::write(&rules.title, &standing, &refused, *seed, out.as_std_path()).or_exit(Exit::Io)?;
    println!(
        "{out}/index.html: {} runs ranked, {} submissions not",
        standing.len(),
        refused.len()
    );
    Ok(Exit::Complete)
}

/// Whether a suite is a private pack.
fn is_secret(suite: &Utf8Path) -> bool {
    let folder = if suite.is_dir() {
        Some(suite)
    } else {
        suite.parent()
    };
    folder.is_some_and(|folder| keyring::is_private(folder.as_std_path()))
}

/// What the site shows of a run: of a private one its scores, and nothing that was said. `is_secret`: its suite is private.
fn show(run: &mut Found, dir: &Utf8Path, is_secret: bool) -> Result<(), Failure> {
    if !keyring::is_private(dir.as_std_path()) {
        if is_secret {
            let reason = "its suite is private, and its record lies in it open";
            run.reasons.push(reason.into());
        }
        return Ok(());
    }
    if run.reasons.is_empty() {
        let shown = dir.with_extension("shown");
        publish(dir.as_std_path(), shown.as_std_path(), Transcripts::None)?;
        run.record = RunRecord::finished(shown.as_std_path()).or_exit(Exit::InvalidInput)?;
    }
    Ok(())
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
