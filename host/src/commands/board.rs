//! `pibench-host board`: a site of the submissions that pass.

pub(super) mod copies;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use self::copies::{refuse_copies, warn_of_nothing};
use super::check_new;
use super::signing::read_signers;
use super::submission::{Checked, Found, Readers, check_archive, read_rules};
use crate::cli::board::{BoardArgs, BoardCommand, BuildArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::site::{self, Level, Refused, Standing};
use pibench_core::count::count;
use pibench_record::folder::Transcripts;
use pibench_record::publish::publish;
use pibench_report::escape::line;
use pibench_report::run_record::RunRecord;
use pibench_vault::keyring;

/// How many reasons against an archive the site has, and characters of each. Its sender writes what they quote.
const MOST_REASONS: usize = 20;
const LONGEST_REASON: usize = 1000;

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
    let mut sent = Vec::new();
    for archive in archives_in(dir)? {
        let (places, signers) = (places.places(), signers.as_ref());
        let mut checked = check_archive(&archive, &rules, places, signers, Readers::Everybody)?;
        for run in &mut checked.runs {
            show(run)?;
        }
        // What is not ranked leaves its room to the others: unpacked, a small archive can be as large as a disk.
        if !checked.reasons.is_empty() || checked.runs.iter().all(|run| !run.reasons.is_empty()) {
            drop(checked.dir.take());
        }
        sent.push((archive, checked));
    }
    let played = refuse_copies(&mut sent, &rules);
    warn_of_nothing(&sent, &played, &rules);
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

/// What the site shows of a run: of a private one its scores, and nothing that was said. One that cannot be shown is refused; what
/// this machine lacks is a failure.
fn show(run: &mut Found) -> Result<(), Failure> {
    if !keyring::is_private(run.dir.as_std_path()) {
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

/// The archives in a folder, by name; none is a failure.
fn archives_in(dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Failure> {
    let archives = find_archives(dir)?;
    if archives.is_empty() {
        return Err(anyhow!(
            "build a board of {dir}: there is no *.{ARCHIVE} in it, as `pibench-host submit prepare RUN... --out {dir}/NAME.{ARCHIVE}` writes them"
        ))
        .or_exit(Exit::InvalidInput);
    }
    Ok(archives)
}

fn find_archives(dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Failure> {
    let entries = dir
        .read_dir_utf8()
        .map_err(|error| anyhow!("read {dir}: {error}"));
    let entries = entries.or_exit(Exit::InvalidInput)?.flatten();
    let mut archives: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
    archives.retain(|path| path.extension() == Some(ARCHIVE));
    archives.sort();
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
        archive: checked.digest.clone().unwrap_or_default(),
        seal: run.seal,
        asked: run.asked,
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
    (standing.collect(), shorten(reasons))
}

/// The reasons that the site has room for, and the number of the others.
fn shorten(mut reasons: Vec<String>) -> Vec<String> {
    let more = reasons.len().saturating_sub(MOST_REASONS);
    reasons.truncate(MOST_REASONS);
    for reason in &mut reasons {
        if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
            reason.truncate(end);
            reason.push_str(" [...]");
        }
    }
    if more > 0 {
        let more = count(more, "more reason");
        reasons.push(format!("{more}: `pibench-host submit check` has them all"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_the_first_reasons_and_the_number_of_the_others() {
        let few = vec!["a".repeat(LONGEST_REASON); MOST_REASONS];
        assert_eq!(shorten(few.clone()), few);
        let many = vec!["\u{fb01}".repeat(LONGEST_REASON + 1); MOST_REASONS + 2];
        let shown = shorten(many);
        assert_eq!(shown.len(), MOST_REASONS + 1);
        let first = "\u{fb01}".repeat(LONGEST_REASON) + " [...]";
        assert_eq!(shown[0], first);
        assert!(shown[MOST_REASONS].starts_with("2 more reasons: "));
    }
}
