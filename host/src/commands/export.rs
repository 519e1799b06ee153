//! `pibench-host export`: runs in the formats of other tools.

use anyhow::anyhow;

use super::check_new;
use super::listed::runs_of;
use super::publish::refuse_in_clear;
use super::report::failure;
use super::stored::{name, name_places};
use crate::cli::ExportArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::RunFolder;
use pibench_report::escape;
use pibench_report::export::{ExportError, export as write};
use pibench_report::grid::paragraph;
use pibench_report::run_record::{RecordError, RunRecord, tell_apart};

pub(super) fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let ExportArgs { runs, format, out } = args;
    check_new(out)?;
    refuse_in_clear(runs, "export")?;
    let records: Result<Vec<RunRecord>, RecordError> = runs_of(runs)
        .iter()
        .map(|dir| RunRecord::read_finished(dir))
        .collect();
    let mut records = records.map_err(|error| match error {
        RecordError::Unfinished { path } => Failure {
            exit: Exit::InvalidInput,
            error: anyhow!(
                "export {0}: it is not played to its end; go on with it by `pibench-host run --resume {0}`",
                path.display()
            ),
        },
        error => failure(error),
    })?;
    name_places(&mut records);
    tell_apart(&mut records);
    let mut changed = Vec::new();
    for record in &records {
        changed.extend(RunFolder::changed_since_sealed(&record.dir).or_exit(Exit::InvalidInput)?);
    }
    let written = write(&records, (*format).into(), out.as_std_path());
    let exit = |error: &ExportError| match error {
        ExportError::Folder(_) => Exit::InvalidInput,
        ExportError::Write { .. } | ExportError::Pack { .. } | ExportError::Columns { .. } => {
            Exit::Io
        }
    };
    let written = written.or_else(|error| {
        let exit = exit(&error);
        Err(error).or_exit(exit)
    })?;
    for changed in changed {
        pibench_report::tell!("{}", paragraph(&escape::line(&name(&changed))));
    }
    for path in written {
        println!("{}", escape::line(&path.to_string_lossy()));
    }
    Ok(Exit::Complete)
}
