//! What was found of one run of a submission.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use serde::Serialize;

use super::models;
use crate::commands::runtime;
use crate::commands::verify::follow_imported;
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::site::Asked;
use pibench_board::submission::Submitter;
use pibench_core::count::count;
use pibench_core::statistics::Estimate;
use pibench_engine::plan::PlanError;
use pibench_engine::{Extent, Plan, Verified};
use pibench_report::escape::line;
use pibench_report::measures::Measures;
use pibench_report::run_record::RunRecord;

/// What was found of a run.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Found {
    pub(in crate::commands) name: String,
    agent: String,
    pub(in crate::commands) asked: Asked,
    sessions: usize,
    /// Rule verdicts that were made again.
    rules: usize,
    /// Whether its record was followed: what another program played has none.
    pub(in crate::commands) replayed: bool,
    /// The simulator's moves that a person should look at: `pibench-host review` lists them.
    pub(in crate::commands) doubtful: usize,
    /// As the archive says: only a hub's word counts.
    pub(in crate::commands) submitter: Option<Submitter>,
    /// BLAKE3 of its seal; empty for one that is in no archive.
    pub(in crate::commands) seal: String,
    /// Why it may not stand on the board; empty if it may.
    pub(in crate::commands) reasons: Vec<String>,
    /// How many of the last ones are of its record, and may quote it.
    #[serde(skip)]
    findings: usize,
    /// Where it lies, unpacked.
    #[serde(skip)]
    pub(in crate::commands) dir: Utf8PathBuf,
    #[serde(skip)]
    pub(in crate::commands) record: RunRecord,
}

/// Holds a run against what a board asks and against its own record. `reopen` makes its plan.
pub(in crate::commands) fn look(
    dir: &Utf8Path,
    name: &str,
    rules: &Rules,
    reopen: impl FnOnce() -> Result<Plan, PlanError>,
) -> Result<Found, Failure> {
    let record = RunRecord::read_finished(dir.as_std_path()).or_exit(Exit::InvalidInput)?;
    let mut reasons = rules.objections(&record.manifest, &record.results);
    reasons.extend(models::objections(rules, &record.manifest, &record.results));
    reasons.extend(find_wrong_start(&record.manifest.started, Timestamp::now()));
    let own = record.manifest.imported.is_none();
    let mut doubtful = 0;
    let verified = if own {
        let plan = Arc::new(reopen()?);
        let verified = runtime()?.block_on(pibench_engine::verify(&plan, Extent::Sent));
        let verified = verified.map_err(|error| Failure {
            exit: if error.is_of_machine() {
                Exit::Infrastructure
            } else {
                Exit::Io
            },
            error: error.into(),
        })?;
        // A record that does not hold together is not read further.
        if verified.problems.is_empty() {
            let found = pibench_engine::review(&plan).or_exit(Exit::InvalidInput)?;
            doubtful = found.0.len();
        }
        verified
    } else {
        follow_imported(dir)?
    };
    let Verified {
        sessions,
        turns: _,
        rules: replayed,
        mut problems,
        unfinished,
        times,
    } = verified;
    problems.extend(times.problems());
    if unfinished > 0 {
        let left = count(unfinished, "episode");
        problems.push(format!("{left} not played to the end"));
    }
    let findings = problems.len();
    reasons.extend(problems);
    Ok(Found {
        name: name.to_owned(),
        agent: record.results.agent.clone(),
        asked: models::asked(&record),
        sessions,
        rules: replayed,
        replayed: own,
        doubtful,
        submitter: None,
        seal: String::new(),
        reasons,
        findings,
        dir: dir.to_owned(),
        record,
    })
}

/// Why a run cannot have begun when it says that it did.
fn find_wrong_start(started: &str, now: Timestamp) -> Option<String> {
    match started.parse::<Timestamp>() {
        Ok(started) if started <= now => None,
        Ok(_) => Some(format!(
            "it says that it was begun at {started}, which lies ahead of this machine's clock"
        )),
        Err(_) => Some(format!(
            "it says that it was begun at `{started}`, which is no time"
        )),
    }
}

impl Found {
    /// Leaves out what a private record says.
    pub(super) fn withhold(&mut self) {
        let findings = self.findings;
        self.reasons.truncate(self.reasons.len() - findings);
        if findings > 0 {
            let reason = format!(
                "its private record does not hold together: `pibench-host submit check` lists {findings} findings for its recipients"
            );
            self.reasons.push(reason);
        }
        self.findings = 0;
    }
}

/// A run as who checks it is told of it.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Told<'a> {
    #[serde(flatten)]
    found: &'a Found,
    proc: Option<Estimate>,
    comp: Option<Estimate>,
}

impl<'a> Told<'a> {
    /// `seed` is that of the resampling.
    pub(in crate::commands) fn of(found: &'a Found, seed: u64) -> Result<Self, Failure> {
        let measures = Measures::of(&found.record, seed).or_exit(Exit::InvalidInput)?;
        Ok(Self {
            found,
            proc: measures.proc_estimate,
            comp: measures.comp_estimate,
        })
    }
}

pub(in crate::commands) fn print_told(told: &Told<'_>) {
    let Told { found, proc, comp } = told;
    let Found {
        name,
        agent,
        asked,
        sessions,
        rules,
        replayed: _,
        doubtful,
        submitter: _,
        seal: _,
        reasons,
        findings: _,
        dir: _,
        record: _,
    } = found;
    let percent = |estimate: &Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(Estimate {
            score, interval, ..
        }) => match interval {
            None => format!("{score:.1}"),
            Some(one) => format!("{score:.1} ({:.1} to {:.1})", one.low, one.high),
        },
    };
    let agent = match &asked.agent {
        Some(model) => format!("{agent} (asked for {model})"),
        None => agent.clone(),
    };
    println!(
        "{}: {}, Proc {}, Comp {}; {}, {} made again, {}",
        line(name),
        line(&agent),
        percent(proc),
        percent(comp),
        count(*sessions, "session"),
        count(*rules, "rule verdict"),
        count(*doubtful, "doubtful move")
    );
    for reason in reasons {
        println!("  {}", line(reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_lies_ahead_is_told_and_one_that_has_been_is_not() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        assert_eq!(find_wrong_start("2026-11-30T11:59:59.5Z", now), None);
        for (started, words) in [
            ("2031-01-01T00:00:00Z", "lies ahead of this machine's clock"),
            ("soon", "which is no time"),
        ] {
            let found = find_wrong_start(started, now).unwrap();
            assert!(found.contains(words), "{found}");
        }
    }
}
