//! What is said of a run that was verified: to people by lines, to programs as one object.

use camino::Utf8Path;
use serde::Serialize;

use super::stored;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::folder::{Shard, read_manifest};
use pibench_record::parts::place_of;
use pibench_report::escape::line;
use pibench_report::grid::paragraph;

/// What was found of a run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Found {
    pub(super) run: String,
    /// Null for a whole run.
    pub(super) part: Option<PartOf>,
    /// Null where only its seal and chains were looked at.
    pub(super) sessions: Option<usize>,
    pub(super) turns: Option<usize>,
    /// Rule verdicts that were made again.
    pub(super) rules: Option<usize>,
    pub(super) problems: Vec<String>,
    /// What is told beside them, and wrong with no score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// Episodes that are not played to their end; null where that was not looked at.
    pub(super) unfinished: Option<usize>,
    /// The same in words.
    pub(super) said: String,
    /// Who signed it, or why nobody is named; null where nobody did.
    pub(super) signature: Option<String>,
}

/// A run that is one part of several.
#[derive(Debug, Serialize)]
pub(super) struct PartOf {
    #[serde(flatten)]
    shard: Shard,
    /// The command line that makes the whole run.
    merge: String,
}

impl Found {
    pub(super) fn exit(&self) -> Exit {
        match (self.problems.is_empty(), self.unfinished) {
            (false, _) => Exit::InvalidInput,
            // As of who plays it.
            (true, Some(1..)) => Exit::Infrastructure,
            (true, _) => Exit::Complete,
        }
    }

    pub(super) fn print(&self) {
        for problem in &self.problems {
            println!("{}", paragraph(&line(problem)));
        }
        println!("{}", paragraph(&format!("{}: {}", self.run, self.said)));
        for note in &self.notes {
            println!("{}", paragraph(&line(note)));
        }
        if let Some(PartOf { shard, merge }) = &self.part {
            let Shard { index, of } = shard;
            let told = format!(
                "{}: part {index} of {of} of a run, and nothing was said of the others; `{merge}` makes the whole run",
                self.run
            );
            println!("{}", paragraph(&told));
        }
    }
}

/// Which part of a run this is; None for a whole one.
pub(super) fn part_of(run: &Utf8Path) -> Result<Option<PartOf>, Failure> {
    let manifest = read_manifest(run.as_std_path()).or_exit(Exit::InvalidInput)?;
    let part = manifest.shard.map(|shard| {
        let all = place_of(run.as_std_path(), shard);
        let all = all.map(|all| match all.display().to_string() {
            here if here.is_empty() => ".".to_owned(),
            all => stored::name(&all),
        });
        let all = all.unwrap_or_else(|| "PART... --out DIR".into());
        let merge = format!("pibench-host merge {all}");
        PartOf { shard, merge }
    });
    Ok(part)
}
