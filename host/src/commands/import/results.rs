//! `pibench-host import results`: the reference implementation's output folders to a run folder.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::show_left_out;
use crate::commands::run::show;
use crate::commands::show_problems;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::imported::{deviations, take_over};
use pibench_engine::plan::absolute;
use pibench_import::results::{Nothing, read};
use pibench_report::escape;
use pibench_suite::load::load;

/// What of the outputs has no place in a run folder.
const NOT_TAKEN: &str = "not taken over: the user agent's prompts and replies (history/*-user.jsonl), rendered traces \
    (eval/trace_*.txt), logs, pages and earlier attempts. The outputs tell no call's status, no tokens, no workspace \
    and no app's state: each call stands as done";

/// Imports, and says what is not there.
pub(super) fn results(
    dir: &Utf8Path,
    suite: &Utf8Path,
    model: Option<&str>,
    out: &Utf8PathBuf,
) -> Result<Exit, Failure> {
    // What it lacks for playing is not missed here.
    let suite = match load(suite) {
        Ok(loaded) => loaded.suite,
        Err(problems) => {
            show_problems(&problems.0);
            return Err(anyhow!("load {suite}")).or_exit(Exit::InvalidInput);
        }
    };
    let outputs = match read(dir, &suite, model) {
        Ok(outputs) => outputs,
        Err(Nothing { problems, left_out }) => {
            show_left_out(&left_out);
            show_problems(&problems.0);
            return Err(anyhow!("import {dir}: nothing was written")).or_exit(Exit::InvalidInput);
        }
    };
    let (path, source) = (absolute(&suite.path)?, absolute(dir)?);
    let results = take_over(&outputs, &suite, path, source, out.as_std_path()).or_exit(Exit::Io)?;
    pibench_report::tell!("note: {NOT_TAKEN}");
    for line in deviations(&outputs, &results) {
        pibench_report::tell!("note: {}", escape::line(&line));
    }
    show_left_out(&outputs.left_out);
    if outputs.unread > 0 {
        pibench_report::tell!(
            "left out in all: {} that could not be read",
            count(outputs.unread, "session")
        );
    }
    show(&results, false, out.as_std_path())?;
    Ok(if outputs.left_out.is_empty() {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}
