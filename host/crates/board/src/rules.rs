//! What a board asks of a run that stands beside others. The defaults are those of a board of the paper's numbers: everything
//! played, by nobody's pattern, with the prompts that are built in, and nothing left out of the scores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pibench_core::vocabulary::Protocol;
use pibench_record::folder::Manifest;
use pibench_record::results::RunResults;
use serde::{Deserialize, Serialize};

/// `board.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// 1.
    pub version: u32,
    /// Above the ranking.
    pub title: String,
    /// Digests of the suites that are ranked, as `manifest.json` has them (`suite_digest`); empty for any.
    pub suites: BTreeSet<String>,
    pub protocol: Protocol,
    /// Independent runs that each agent has at least.
    pub runs: u32,
    /// The models that may play user agent and judge, as the manifest names them; empty for any model.
    pub users: BTreeSet<String>,
    pub judges: BTreeSet<String>,
    /// Whether user agent and judge may be asked in other words than the built-in ones.
    pub own_prompts: bool,
    /// Digests of the other words that they may be asked in, as `manifest.json` has them (`prompts_digest`).
    pub prompts: BTreeSet<String>,
    /// Sessions without a score that a run may have.
    pub unscored: u64,
    /// Whether a run may leave open what it cost.
    pub unknown_cost: bool,
    /// Whether who submits has to sign.
    pub signed: bool,
    /// Who signs for hosts of the board's own: what they sign was played by the board.
    pub hubs: BTreeSet<String>,
    /// Whose a run is that several people sent, by its digest, which the refusal names.
    pub owners: BTreeMap<String, String>,
    /// Submissions that the board judged again, by the archive's digest: what `pibench-host submit check --judge` prints.
    pub judged: BTreeMap<String, Judged>,
}

/// How far another judge agreed with a submission's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    pub judge: String,
    /// Sessions that were judged again, of those that are scored.
    pub sampled: usize,
    pub of: usize,
    /// By which they were drawn; absent in blocks of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Percent of the intents whose status the other judge gave otherwise; absent without any.
    pub intents: Option<f64>,
    /// The same of rubric items.
    pub checklist: Option<f64>,
}

impl Judged {
    /// What of it cannot be.
    fn fault(&self) -> Option<String> {
        let Self {
            sampled,
            of,
            intents,
            checklist,
            ..
        } = self;
        if sampled > of {
            return Some(format!("`sampled` is {sampled}, of {of} sessions"));
        }
        let axes = [("intents", intents), ("checklist", checklist)];
        axes.into_iter().find_map(|(key, rate)| {
            let rate = rate.filter(|rate| !(0.0..=100.0).contains(rate))?;
            Some(format!(
                "`{key}` is {rate}, and wants percent, from 0 to 100"
            ))
        })
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            version: 1,
            title: "π-Bench".into(),
            suites: BTreeSet::new(),
            protocol: Protocol::Paper,
            runs: 3,
            users: BTreeSet::new(),
            judges: BTreeSet::new(),
            own_prompts: false,
            prompts: BTreeSet::new(),
            unscored: 0,
            unknown_cost: false,
            signed: false,
            hubs: BTreeSet::new(),
            owners: BTreeMap::new(),
            judged: BTreeMap::new(),
        }
    }
}

/// Bytes of the file.
const LONGEST: u64 = 1 << 20;

/// Why rules cannot be read. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[error("read the rules {path}: {reason}")]
pub struct RulesError {
    path: String,
    reason: String,
}

impl Rules {
    /// Reads `board.toml`.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let failed = |reason: String| RulesError {
            path: path.display().to_string(),
            reason,
        };
        let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if size.len() > LONGEST {
            return Err(failed(format!("it has more than {LONGEST} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let rules: Self = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        if rules.version != 1 {
            return Err(failed(format!(
                "its version is {}, and 1 is read",
                rules.version
            )));
        }
        for (digest, judged) in &rules.judged {
            if let Some(fault) = judged.fault() {
                let line = text.lines().position(|line| line.contains(digest));
                let line = line.map_or(0, |line| line + 1);
                return Err(failed(format!("line {line}: `judged.{digest}`: {fault}")));
            }
        }
        Ok(rules)
    }

    /// Why a run does not stand on the board; empty if it does.
    pub fn objections(&self, manifest: &Manifest, results: &RunResults) -> Vec<String> {
        let mut found = Vec::new();
        let mut object = |is: bool, reason: String| {
            if is {
                found.push(reason);
            }
        };
        for mark in manifest.players.marks() {
            object(true, format!("it is marked `{}`", mark.words()));
        }
        object(
            !self.suites.is_empty() && !self.suites.contains(&manifest.suite_digest),
            format!(
                "its suite {} is none of this board's",
                manifest.suite_digest
            ),
        );
        object(
            manifest.protocol != self.protocol,
            format!(
                "it follows the protocol {:?}, and the board {:?}",
                manifest.protocol, self.protocol
            ),
        );
        object(
            !manifest.personas.is_empty() || !manifest.sessions.is_empty(),
            "only some of the sessions were played (--persona, --session)".into(),
        );
        object(
            manifest.shard.is_some(),
            "it is one part of a run; `pibench-host merge` makes it whole".into(),
        );
        object(
            manifest.ablate.is_some(),
            "something was taken away from its agent (--ablate)".into(),
        );
        object(
            manifest.runs < self.runs,
            format!(
                "it has {} of {} runs (--runs {})",
                manifest.runs, self.runs, self.runs
            ),
        );
        object(
            manifest.prompts_version.is_none()
                && !self.own_prompts
                && !self.prompts.contains(&manifest.prompts_digest),
            format!(
                "user agent and judge were asked in other words than the built-in ones (--prompts), of the digest {}",
                manifest.prompts_digest
            ),
        );
        for (role, name, allowed) in [
            ("user agent", &manifest.user, &self.users),
            ("judge", &manifest.judge, &self.judges),
        ] {
            object(
                !allowed.is_empty() && !allowed.contains(name),
                format!(
                    "its {role} is {name}, and the board takes {}",
                    listed(allowed)
                ),
            );
        }
        let unscored = u64::from(results.scored.of.saturating_sub(results.scored.scored));
        object(
            unscored > self.unscored,
            format!(
                "{unscored} of its sessions have no score; `pibench-host run --resume` plays them"
            ),
        );
        object(
            results.cost.is_none() && !self.unknown_cost,
            UNPRICED.into(),
        );
        found
    }
}

/// A suite file of somebody else's pack is signed, and stays as it is.
const UNPRICED: &str = "what it cost is not known; say the prices of its models in the suite file, or where that is not yours to \
    change by --set models.NAME.price.input=USD and --set models.NAME.price.output=USD, beside models.NAME.provider and \
    models.NAME.model, and play NAME, or that model as PROVIDER/MODEL";

fn listed(names: &BTreeSet<String>) -> String {
    names
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_judge_can_have_said_is_refused_with_its_line() {
        let read = |rest: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("board.toml");
            let text = format!("version = 1\n\n[judged.0a1b]\njudge = \"a/m\"\n{rest}\n");
            std::fs::write(&path, text).unwrap();
            Rules::read(&path).map_err(|error| error.to_string())
        };
        let good = "sampled = 12\nof = 12\nseed = 7\nintents = 0.0\nchecklist = 100.0";
        assert_eq!(read(good).unwrap().judged["0a1b"].seed, Some(7));
        for (old, new, said) in [
            ("sampled = 12", "sampled = 400", "`sampled` is 400, of 12"),
            ("= 0.0", "= -5.0", "`intents` is -5, and wants percent"),
            ("= 0.0", "= nan", "`intents` is NaN"),
            (
                "= 100.0",
                "= 250.0",
                "`checklist` is 250, and wants percent",
            ),
        ] {
            let told = read(&good.replace(old, new)).unwrap_err();
            let line = "line 3: `judged.0a1b`: ";
            assert!(told.contains(line) && told.contains(said), "{told}");
        }
    }
}
