//! A played run made whole and signed: its parts are merged, what it came to is stated and signed for the submitter, and an
//! archive is written and signed for the owner's board. Done again after a break, it goes on where it was. Blocks its thread.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use tokio::runtime::Handle;

use crate::ledger::{Episode, Run, make_private};
use pibench_board::submission::{self, List, SubmissionError, Submitter};
use pibench_engine::plan::Machine;
use pibench_engine::{MergeError, Merged};
use pibench_record::RunFolder;
use pibench_record::folder::{FolderError, Manifest, read_manifest, read_results};
use pibench_record::parts::MERGED;
use pibench_signature::{SignatureError, SigningKey};

/// Of signatures over statements.
pub const NAMESPACE: &str = "pibench-hub-result";

/// The statement and its signature, in a run's folder.
pub(crate) const STATEMENT: &str = "result.json";
pub(crate) const SIGNATURE: &str = "result.json.sig";

/// Where archives for a board lie.
const ARCHIVES: &str = "submissions";

/// Why a run has no result yet. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub(crate) enum FinishError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Archive(#[from] SubmissionError),
    #[error(transparent)]
    Sign(#[from] SignatureError),
    #[error("write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("finish {}: a part is not played to its end", .0.display())]
    Cut(PathBuf),
}

/// Where a hub keeps what.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    data: Utf8PathBuf,
}

impl Places {
    /// In the hub's folder, which is there.
    pub(crate) fn of(data: &Utf8Path) -> std::io::Result<Self> {
        let places = Self {
            data: data.canonicalize_utf8()?,
        };
        make_private(places.runs().as_std_path())?;
        make_private(places.data.join(ARCHIVES).as_std_path())?;
        Ok(places)
    }

    pub(crate) fn runs(&self) -> Utf8PathBuf {
        self.data.join("runs")
    }

    pub(crate) fn run(&self, id: &str) -> Utf8PathBuf {
        self.runs().join(id)
    }

    /// An episode's own run folder: a part of the run.
    pub(crate) fn part(&self, id: &str, number: u32) -> Utf8PathBuf {
        self.run(id).join("parts").join(format!("part-{number}"))
    }

    /// For the board.
    pub(crate) fn archive(&self, id: &str) -> Utf8PathBuf {
        self.data.join(ARCHIVES).join(format!("{id}.submission"))
    }
}

/// Who signs.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) key: SigningKey,
    pub(crate) principal: String,
}

/// Makes a run's result of its parts.
pub(crate) fn finish(
    machine: &Machine,
    places: &Places,
    signer: &Signer,
    run: &Run,
    episodes: &[Episode],
    attempt: u64,
) -> Result<(), FinishError> {
    let folder = places.run(&run.id);
    let merged = folder.join(MERGED);
    if !merged.exists() {
        merge(machine, places, run, &merged)?;
    }
    let runs = [merged.clone().into_std_path_buf()];
    let mut list = List::of(&runs)?;
    for one in &mut list.runs {
        one.submitter = Some(Submitter {
            name: run.name.clone(),
            attempt,
        });
    }
    let archive = places.archive(&run.id);
    if !archive.exists() {
        let text = list.text();
        let armored = pibench_signature::sign(&signer.key, submission::NAMESPACE, text.as_bytes())?;
        submission::write(archive.as_std_path(), &list, Some(&armored), &runs)?;
    }
    let seal = list.runs.first().map(|run| run.seal.as_str());
    let seal = seal.unwrap_or_default();
    let statement = state(&merged, signer, run, episodes, attempt, seal)?;
    let signature = pibench_signature::sign(&signer.key, NAMESPACE, statement.as_bytes())?;
    // The statement last: where it is, all is.
    put(&folder.join(SIGNATURE), &signature)?;
    put(&folder.join(STATEMENT), &statement)?;
    let parts = folder.join("parts");
    match fs::remove_dir_all(&parts) {
        Err(source) if parts.exists() => Err(FinishError::Write {
            path: parts.into(),
            source,
        }),
        _ => Ok(()),
    }
}

fn merge(machine: &Machine, places: &Places, run: &Run, out: &Utf8Path) -> Result<(), FinishError> {
    let mut parts: Vec<(String, RunFolder, Manifest)> = Vec::new();
    for number in 1..=run.episodes {
        let dir = places.part(&run.id, number);
        let (folder, manifest) = RunFolder::read(dir.as_std_path())?;
        parts.push((dir.into_string(), folder, manifest));
    }
    let mut merged = Handle::current().block_on(Merged::draft(machine, out, &parts))?;
    if !merged.is_whole {
        return Err(FinishError::Cut(out.into()));
    }
    Ok(merged.publish()?)
}

/// What may be told of a run: who played what, under which rules, and the sums. Of single sessions it says nothing.
fn state(
    merged: &Utf8Path,
    signer: &Signer,
    run: &Run,
    episodes: &[Episode],
    attempt: u64,
    seal: &str,
) -> Result<String, FinishError> {
    let manifest = read_manifest(merged.as_std_path())?;
    let results = read_results(merged.as_std_path())?;
    let statement = json!({
        "version": 1,
        "hub": signer.principal,
        "run": run.id,
        "submitter": run.name,
        "agent": run.agent,
        "suite": manifest.suite,
        "suite_digest": manifest.suite_digest,
        "protocol": manifest.protocol,
        "protocol_version": manifest.protocol_version,
        "host": manifest.host,
        "user": manifest.user,
        "judge": manifest.judge,
        "runs": manifest.runs,
        "begun": run.made,
        "proc": results.proc,
        "proc_std": results.proc_std,
        "comp": results.comp,
        "comp_std": results.comp_std,
        "scored": { "sessions": results.scored.scored, "of": results.scored.of },
        "faults": results.faults.len(),
        "attempt": attempt,
        // Each of them was played once more.
        "broken_turns": episodes.iter().map(|episode| episode.broken).sum::<u32>(),
        "seal": seal,
    });
    let text = serde_json::to_string_pretty(&statement).unwrap_or_default();
    Ok(text + "\n")
}

/// Writes a file that appears whole.
fn put(path: &Utf8Path, text: &str) -> Result<(), FinishError> {
    let new = path.with_extension("new");
    let written = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    written().map_err(|source| FinishError::Write {
        path: path.into(),
        source,
    })
}

/// Bytes of all files below a folder; of what is gone meanwhile none.
pub(crate) fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let of = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        Ok(_) => entry.metadata().map_or(0, |data| data.len()),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}
