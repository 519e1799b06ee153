//! Submissions held against what a board asks: of runs of one's own, and of archives of strangers.

mod found;
mod models;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use tempfile::TempDir;

use super::machine;
use crate::cli::board::PlacesArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_board::rules::Rules;
use pibench_board::site::Signed;
use pibench_board::submission::{self, NAMESPACE, SubmissionError, Unpacked};
use pibench_engine::plan::{Places, Purpose, load, read_policy, reopen_foreign};
use pibench_signature::AllowedSigners;
use pibench_suite::load::suite_file;
use pibench_vault::keyring;

pub(super) use found::{Found, Told, look, print_told};

pub(super) fn read_rules(path: Option<&Utf8Path>) -> Result<Rules, Failure> {
    path.map_or_else(
        || Ok(Rules::default()),
        |path| Rules::read(path.as_std_path()).or_exit(Exit::InvalidInput),
    )
}

/// An archive as it was checked.
pub(super) struct Checked {
    /// BLAKE3 of its bytes; None where they could not be unpacked.
    pub(super) digest: Option<String>,
    /// None for one that has no signature that counts.
    pub(super) signed: Option<Signed>,
    pub(super) runs: Vec<Found>,
    /// Of the archive as a whole.
    pub(super) reasons: Vec<String>,
    /// The runs lie there, until it is dropped; None where they could not be unpacked.
    pub(super) dir: Option<TempDir>,
}

impl PlacesArgs {
    pub(super) fn places(&self) -> Places<'_> {
        Places {
            suite: self.suite.as_deref(),
            plugins: self.plugins.as_deref(),
            policy: self.policy.as_deref(),
            prompts: self.prompts.as_deref(),
        }
    }

    /// Reads what the operator named, before any submission is blamed for what is not there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for dir in [&self.plugins, &self.prompts].into_iter().flatten() {
            if !dir.is_dir() {
                return Err(anyhow!("read {dir}: it is no folder")).or_exit(Exit::InvalidInput);
            }
        }
        if let Some(path) = &self.policy {
            read_policy(path)?;
        }
        if let Some(path) = &self.suite {
            load(&machine()?, path, &[])?;
        }
        Ok(())
    }
}

/// Who signed the list of an archive, and what is wrong with that.
fn read_signature(
    rules: &Rules,
    signers: Option<&AllowedSigners>,
    text: &str,
    signature: Option<&str>,
) -> (Option<Signed>, Vec<String>) {
    let mut reasons = Vec::new();
    let signed = match (signers, signature) {
        (Some(signers), Some(signature)) => {
            let now = Timestamp::now();
            match pibench_signature::verify(signers, NAMESPACE, text.as_bytes(), signature, now) {
                Ok(signer) => Some(Signed {
                    by: signer.principal,
                    fingerprint: signer.fingerprint,
                }),
                Err(error) => {
                    reasons.push(error.to_string());
                    None
                }
            }
        }
        _ => None,
    };
    if rules.signed && signed.is_none() && reasons.is_empty() {
        reasons.push(match signature {
            Some(_) => "its signature was not looked at: name who may sign by --signers".into(),
            None => "nobody signed it, and this board wants it signed: `pibench-host submit prepare --key`".into(),
        });
    }
    (signed, reasons)
}

/// Whether a suite is a private pack.
fn is_secret(suite: &Utf8Path) -> bool {
    let file = suite_file(suite);
    file.parent()
        .is_some_and(|folder| keyring::is_private(folder.as_std_path()))
}

/// Who reads what is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Whoever has the keys that the process was given.
    Recipients,
    /// Everybody: nothing that a private record holds is told.
    Everybody,
}

/// What is wrong with an archive is a finding; what keeps this process from looking is a failure.
pub(super) fn check_archive(
    path: &Utf8Path,
    rules: &Rules,
    places: Places<'_>,
    signers: Option<&AllowedSigners>,
    readers: Readers,
) -> Result<Checked, Failure> {
    let machine = machine()?;
    let dir = tempfile::Builder::new()
        .prefix("pibench-submission-")
        .tempdir();
    let dir = dir.or_exit(Exit::Io)?;
    let Unpacked {
        list,
        text,
        signature,
        digest,
        runs,
    } = match submission::unpack(path.as_std_path(), dir.path()) {
        Ok(unpacked) => unpacked,
        Err(error @ SubmissionError::Refused { .. }) => {
            return Ok(Checked {
                digest: None,
                signed: None,
                runs: Vec::new(),
                reasons: vec![error.to_string()],
                dir: None,
            });
        }
        Err(error) => return Err(error).or_exit(Exit::Io),
    };
    let (signed, mut reasons) = read_signature(rules, signers, &text, signature.as_deref());
    let dirs = runs.into_iter().map(Utf8PathBuf::try_from);
    let dirs: Vec<Utf8PathBuf> = dirs.collect::<Result<_, _>>().or_exit(Exit::Io)?;
    let mut found = Vec::new();
    for (run, dir) in list.runs.iter().zip(&dirs) {
        let is_private = keyring::is_private(dir.as_std_path());
        let is_withheld = readers == Readers::Everybody && is_private;
        if !is_private && places.suite.is_some_and(is_secret) {
            // It is not followed at all: what is found of a record that anybody can change tells what the suite asks.
            let reason = "its suite is private, and its record lies in it open";
            reasons.push(format!("{}: {reason}", run.name));
            continue;
        }
        let reopen = || reopen_foreign(&machine, dir, Purpose::Look, places);
        // A record by a stranger that cannot be followed is refused, whatever is wrong with it.
        match look(dir, &run.name, rules, reopen) {
            Ok(mut one) => {
                one.submitter.clone_from(&run.submitter);
                one.seal.clone_from(&run.seal);
                // Where they lie is this machine's.
                for reason in &mut one.reasons {
                    *reason = reason.replace(&format!("{dir}/"), "");
                }
                if is_withheld {
                    one.withhold();
                }
                found.push(one);
            }
            // It is nobody's fault who sent it.
            Err(failure) if failure.exit == Exit::Infrastructure => return Err(failure),
            Err(_) if is_withheld => reasons.push(format!(
                "{}: it is private and cannot be followed; `pibench-host submit check --identity KEY` says why to a recipient",
                run.name
            )),
            Err(failure) => {
                let reason = failure.reason().replace(dir.as_str(), &run.name);
                reasons.push(format!("{}: failed to {reason}", run.name));
            }
        }
    }
    Ok(Checked {
        digest: Some(digest),
        signed,
        runs: found,
        reasons,
        dir: Some(dir),
    })
}
