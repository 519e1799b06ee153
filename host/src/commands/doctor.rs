//! `pibench-host doctor`: whether this machine and these settings could play a suite. It asks each model the question of the
//! preflight, looks, and plays nothing; what it makes is a cache folder.

mod agents;
mod machine;
mod models;
mod plugins;

use serde::Serialize;

use super::output::print_json;
use super::{load_suite, machine, room};
use crate::cli::DoctorArgs;
use crate::exit::{Exit, Failure};
use pibench_engine::plan::{Guests, search};
use pibench_report::escape;
use pibench_report::grid::listing;

/// One line of the report.
#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    state: State,
    found: String,
    /// Null where there is nothing to do.
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Problem,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Warning,
            found: found.into(),
            remedy: Some(remedy.into()),
        }
    }

    fn problem(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Problem,
            ..Self::warning(check, found, remedy)
        }
    }
}

/// Prints what was found, a line for each check.
pub(super) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let lacking = room::lacking();
    let lacking = lacking.map(|lack| Finding::problem(lack.what, lack.found, lack.remedy));
    let lacking: Vec<Finding> = lacking.collect();
    if !lacking.is_empty() {
        // Nothing else can be looked at without.
        return print(&lacking, args.json);
    }
    let suite = load_suite(&args.settings)?;
    let machine = machine()?;
    let dirs = search(&machine, args.settings.plugins.as_deref())?;
    let guests = Guests::of(&machine, &suite, dirs, suite.policy.as_deref());
    let (models, mut findings) = models::look(&suite);
    findings.extend(plugins::look(&suite, &guests?));
    findings.extend(agents::look(&suite)?);
    // Without a key or a plugin there is nothing to ask, or nothing to ask with.
    if is_sound(&findings) && !models.is_empty() {
        let own = args.settings.plugins.as_deref();
        findings.extend(models::ask(&machine, &suite, own)?);
    }
    findings.push(machine::cache(&machine.cache));
    findings.push(machine::open_files(&suite));
    findings.extend(machine::addresses(&suite));
    findings.push(machine::disk(&args.out));
    print(&findings, args.json)
}

fn print(findings: &[Finding], json: bool) -> Result<Exit, Failure> {
    if json {
        print_json(&findings)?;
    } else {
        let rows: Vec<[String; 3]> = findings.iter().map(row).collect();
        print!("{}", listing(&rows));
    }
    Ok(if is_sound(findings) {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}

fn is_sound(findings: &[Finding]) -> bool {
    let mut states = findings.iter().map(|finding| finding.state);
    states.all(|state| state != State::Problem)
}

/// A finding as a listing has it.
fn row(finding: &Finding) -> [String; 3] {
    let Finding {
        check,
        state,
        found,
        remedy,
    } = finding;
    let state = match state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Problem => "problem",
    };
    let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}"));
    // What files and servers say may stand in it.
    let text = escape::line(&format!("{found}{}", remedy.unwrap_or_default()));
    [format!("{state:<8} {check:<12}"), text, String::new()]
}
