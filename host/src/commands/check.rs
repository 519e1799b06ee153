//! `pibench-host check`: everything that is wrong with task files and plugins, at once.

mod against;
mod pilots;
mod plugin;
mod suite;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::output::print_json;
use super::show_problems;
use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure};
use pibench_core::count::count;
use pibench_engine::check::CheckError;
use pibench_suite::check::{Checked, check as check_task};
use pibench_suite::problem::{Problem, grouped};

/// What was found of one path.
struct Found {
    problems: Vec<Problem>,
    /// What it holds: text for people, and the same for programs.
    text: String,
    value: Value,
}

impl Found {
    fn of(problems: Vec<Problem>) -> Self {
        Self {
            problems,
            text: String::new(),
            value: Value::Null,
        }
    }
}

/// Checks each path.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut sound = true;
    let mut paths = Vec::new();
    for path in &args.paths {
        let found = check_path(path, args)?;
        show_problems(&grouped(&found.problems));
        let errors = found.problems.iter().filter(|problem| problem.is_error());
        let errors = errors.count();
        let warnings = found.problems.len() - errors;
        sound &= errors == 0;
        if args.json {
            paths.push(json!({
                "path": path,
                "errors": errors,
                "warnings": warnings,
                "problems": found.problems.iter().map(problem_value).collect::<Vec<_>>(),
                "holds": found.value,
            }));
        } else {
            print!("{}", found.text);
            let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
            println!("{path}: {errors}, {warnings}");
        }
    }
    if args.json {
        print_json(&json!({ "version": 1, "paths": paths }))?;
    }
    Ok(if sound {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}

fn problem_value(problem: &Problem) -> Value {
    json!({
        "severity": if problem.is_error() { "error" } else { "warning" },
        "file": problem.file(),
        "line": problem.line(),
        "column": problem.column(),
        "message": problem.message(),
        "remedy": problem.remedy(),
    })
}

fn check_path(path: &Utf8Path, args: &CheckArgs) -> Result<Found, Failure> {
    match check_task(path) {
        Checked::Task(problems) => suite::check(path, problems, args),
        Checked::Plugin => plugin::check(path, args),
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        let exit = match error {
            CheckError::Plan(error) => return error.into(),
            CheckError::Run(_) => Exit::InvalidInput,
            CheckError::Broken { .. } => Exit::Infrastructure,
            CheckError::Interrupted { .. } => Exit::Interrupted,
            CheckError::Disk(_) => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}
