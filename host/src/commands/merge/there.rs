//! What `merge` finds: the folders that are named, and a run that was merged before.

use std::path::Path;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::exit::{Exit, Failure, OrExit};
use pibench_record::folder::read_manifest;
use pibench_record::identity::differences;
use pibench_record::journal;
use pibench_record::parts::Part;

/// Refuses what is no folder before it is looked into, and one that is named twice.
pub(super) fn check_named(parts: &[Utf8PathBuf]) -> Result<(), Failure> {
    for (at, part) in parts.iter().enumerate() {
        let is_same = |other: &Utf8PathBuf| {
            let whole = |path: &Utf8Path| path.canonicalize_utf8().ok();
            whole(other) == whole(part)
        };
        let what = if !part.exists() {
            "there is nothing"
        } else if !part.is_dir() {
            "it is no folder"
        } else if parts[..at].iter().any(is_same) {
            "it is named twice"
        } else {
            continue;
        };
        return Err(anyhow!("merge {part}: {what}")).or_exit(Exit::InvalidInput);
    }
    Ok(())
}

/// Refuses what was merged before if it is not what the parts come to now.
pub(super) fn check_merged(out: &Utf8Path, parts: &[Part]) -> Result<(), Failure> {
    if !out.join("manifest.json").exists() {
        return Err(anyhow!(
            "make {out}: it is there already, and is no run folder; remove it, or choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    let manifest = read_manifest(out.as_std_path()).or_exit(Exit::Io)?;
    let is_same = |part: &Part| {
        differences(&manifest, &part.manifest).is_empty() && same_journals(out, &part.dir)
    };
    if manifest.shard.is_some() || !parts.iter().all(is_same) {
        return Err(anyhow!(
            "make {out}: it is there already, and is not what the parts come to now; remove it, or choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    Ok(())
}

/// Whether the run has every journal of the part as it is.
fn same_journals(out: &Utf8Path, part: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(part.join("journal")) else {
        return false;
    };
    entries.flatten().all(|entry| {
        let merged = out
            .join("journal")
            .join(entry.file_name().to_string_lossy().as_ref());
        let hash = |path: &Path| journal::chain(path).map(|(_, hash)| hash).ok();
        let own = hash(&entry.path());
        own.is_some() && own == hash(merged.as_std_path())
    })
}
