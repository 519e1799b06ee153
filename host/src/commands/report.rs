//! `pibench-host report`: tables, figures and a page from finished runs.

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use super::check_new;
use super::listed::runs_of;
use super::newest::or_newest;
use super::output;
use super::publish::refuse_in_clear;
use super::stored;
use crate::cli::{FormatArg, ReportArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_record::RunFolder;
use pibench_record::folder::FolderError;
use pibench_record::parts::{not_begun, runs_in};
use pibench_report::audit::AuditedRun;
use pibench_report::bundle;
use pibench_report::escape;
use pibench_report::format::render_in;
use pibench_report::grid::{paragraph, width};
use pibench_report::report::Report;
use pibench_report::run_record::{RecordError, RunRecord};
use pibench_report::sheet::Sheet;
use pibench_report::tables::Audit;

/// Runs that were changed since they were sealed, above which not each is told with what to do about it.
const MANY_CHANGED: usize = 3;

/// Prints the tables, and writes everything where a folder is named.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let ReportArgs {
        runs,
        out,
        audit,
        format,
        all,
        seed,
    } = args;
    let runs = or_newest(runs)?;
    if let Some(out) = out {
        check_new(out)?;
        refuse_in_clear(&runs, "write the report of")?;
    }
    let records: Result<Vec<RunRecord>, RecordError> = runs_of(&runs)
        .iter()
        .map(|dir| RunRecord::read_unheld(dir))
        .collect();
    let mut records = records.map_err(failure)?;
    stored::name_places(&mut records);
    let mut changed = Vec::new();
    for record in &records {
        changed.extend(RunFolder::changed_since_sealed(&record.dir).or_exit(Exit::InvalidInput)?);
    }
    // Of many the first says what is to be done.
    if changed.len() > MANY_CHANGED {
        let others = changed.len() - 1;
        changed.truncate(1);
        changed.push(format!("So were {others} other runs."));
    }
    for (at, record) in records.iter().enumerate() {
        if records[..at].iter().any(|other| other.is_same(record)) {
            changed.push(format!(
                "{} is named more than once: its rows are of one run.",
                record.place
            ));
        }
    }
    for dir in &runs {
        if let Some(lacking) = not_begun(dir.as_std_path()).or_exit(Exit::InvalidInput)? {
            changed.push(format!("{dir}: {lacking}: this is no whole run."));
        }
    }
    let audits = audits(audit, &records)?;
    let report = Report::new(records, &audits, *seed);
    let mut report = report.map_err(failure)?;
    // Above all else, in every format.
    changed.extend(report.banner.take());
    report.banner = (!changed.is_empty()).then(|| stored::name(&changed.join(" ")));
    let mut sheets = report.sheets.clone();
    let is_short = *format == FormatArg::Text && out.is_none() && !all;
    if is_short {
        sheets.retain(|sheet| comes_first(sheet, !audit.is_empty()));
    }
    let mut text = render_in((*format).into(), &sheets, report.banner.as_deref(), width());
    if is_short {
        text.push_str(&rest(&report, !audit.is_empty()));
    }
    output::write(text.as_bytes())?;
    if let Some(out) = out {
        bundle::write(&report, out.as_std_path()).or_exit(Exit::Io)?;
        pibench_report::tell!("Report: {out}/index.html");
    }
    Ok(Exit::Complete)
}

/// What a person asks first: the scores, and how sure they are; of audits, if any were given.
fn comes_first(sheet: &Sheet, audited: bool) -> bool {
    ["table-1", "certainty"].contains(&sheet.id.as_str()) || (audited && sheet.id == "table-6")
}

/// What else there is, and what broke.
fn rest(report: &Report, audited: bool) -> String {
    let broken = report.runs.iter().filter_map(|run| {
        let what = match run.results.faults.len() {
            0 => return None,
            faults => count(faults, "fault"),
        };
        let (label, dir) = (escape::line(&run.label), &run.place);
        Some(format!(
            "{label}: {what}; `pibench-host show --once {dir}` has each cause, and what to do about it."
        ))
    });
    let others = report.sheets.iter();
    let others = others.filter(|sheet| !comes_first(sheet, audited));
    let others = others.map(|sheet| format!("- {}", escape::line(&sheet.title)));
    let told =
        "There are more, printed by --all, and written by --out DIR with figures and a page:";
    let lines = broken.chain([told.to_owned()]).chain(others);
    let lines: Vec<String> = lines.map(|line| paragraph(&line)).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// Every audit of the files. Each is of these runs or of some of them.
fn audits(files: &[Utf8PathBuf], records: &[RunRecord]) -> Result<Vec<Audit>, Failure> {
    let mut audits = Vec::new();
    if files.is_empty() {
        return Ok(audits);
    }
    let shown = records.iter().map(|record| AuditedRun::of(&record.dir));
    let shown = shown.collect::<Result<Vec<AuditedRun>, _>>();
    let shown = shown.or_exit(Exit::InvalidInput)?;
    for file in files {
        let read =
            || -> anyhow::Result<Vec<Audit>> { Ok(serde_json::from_slice(&std::fs::read(file)?)?) };
        let found = read()
            .with_context(|| format!("read {file}: it is not what `audit --json` prints"))
            .or_exit(Exit::InvalidInput)?;
        for one in found {
            if audits.contains(&one) {
                return Err(anyhow!(
                    "read {file}: its audit by {} is given already; name each file once",
                    one.judge
                ))
                .or_exit(Exit::Usage);
            }
            check_shown(file, &one, &shown)?;
            audits.push(one);
        }
    }
    Ok(audits)
}

/// That an audit is of runs that are shown, and of these as they are.
fn check_shown(file: &Utf8Path, audit: &Audit, shown: &[AuditedRun]) -> Result<(), Failure> {
    let is_shown = |run: &AuditedRun| shown.iter().any(|one| is_same(one, run));
    let Some(other) = audit.runs.iter().find(|run| !is_shown(run)) else {
        return Ok(());
    };
    let shown: Vec<String> = shown.iter().map(|run| stored::name(&run.folder)).collect();
    Err(anyhow!(
        "read {file}: it is an audit of {}, and the report is of {}: name the run that was audited, or audit it again if it was changed \
         since",
        stored::name(&other.folder),
        shown.join(", ")
    ))
    .or_exit(Exit::InvalidInput)
}

/// By their seals: a run that had none when it was audited was not played to its end.
fn is_same(one: &AuditedRun, other: &AuditedRun) -> bool {
    one.seal.is_some() && one.seal == other.seal
}

/// That a folder is of one run, and does not hold those of several.
pub(super) fn check_one(dir: &Utf8Path) -> Result<(), Failure> {
    let held = runs_in(dir.as_std_path());
    if held.iter().all(|run| run == dir.as_std_path()) {
        return Ok(());
    }
    let held: Vec<String> = held.iter().map(|run| run.display().to_string()).collect();
    Err(anyhow!(
        "read {dir}: it is no run but holds some: name one of {}",
        held.join(", ")
    ))
    .or_exit(Exit::InvalidInput)
}

/// The exit of a run folder that cannot be read.
pub(super) fn failure(error: RecordError) -> Failure {
    let exit = match &error {
        RecordError::Folder(FolderError::Write { .. }) => Exit::Io,
        _ => Exit::InvalidInput,
    };
    Failure {
        exit,
        error: error.into(),
    }
}
