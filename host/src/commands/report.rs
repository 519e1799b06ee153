//! `pibench-host report`: tables, figures and a page from finished runs.

use std::io::Write;

use anyhow::Context;
use camino::Utf8PathBuf;

use crate::cli::ReportArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::folder::{FolderError, runs_in};
use pibench_report::bundle;
use pibench_report::bundle::Report;
use pibench_report::format::render;
use pibench_report::record::{RecordError, RunRecord};
use pibench_report::tables::Audit;

/// Prints the tables, and writes everything where a folder is named.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let ReportArgs {
        runs,
        out,
        audit,
        format,
        seed,
    } = args;
    let records: Result<Vec<RunRecord>, RecordError> = runs
        .iter()
        .flat_map(|dir| runs_in(dir.as_std_path()))
        .map(|dir| RunRecord::finished(&dir))
        .collect();
    let report = Report::new(records.map_err(failure)?, &audits(audit)?, *seed);
    let text = render((*format).into(), &report.sheets, report.banner.as_deref());
    // A reader that stops reading, as `head` does, is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if let Some(out) = out {
        bundle::write(&report, out.as_std_path()).or_exit(Exit::Io)?;
        eprintln!("Report: {out}/index.html");
    }
    Ok(Exit::Complete)
}

/// Every audit of the files.
fn audits(files: &[Utf8PathBuf]) -> Result<Vec<Audit>, Failure> {
    let mut audits = Vec::new();
    for file in files {
        let read =
            || -> anyhow::Result<Vec<Audit>> { Ok(serde_json::from_slice(&std::fs::read(file)?)?) };
        let found = read()
            .with_context(|| format!("read {file}: it is not what `audit --json` prints"))
            .or_exit(Exit::InvalidInput)?;
        audits.extend(found);
    }
    Ok(audits)
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
