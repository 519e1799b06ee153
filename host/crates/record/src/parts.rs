//! The folder of a run that is played in parts, as tasks of a scheduler: which parts are in it, how far each is, and what they
//! have spent together. A part is a run folder `part-I`, or holds one for each agent; the run that they are merged to is `run`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::FolderError;
use super::folder::{Manifest, Shard, read_manifest, read_outline, runs_below, write_whole};
use super::folder_lock::{Start, is_worked_on, read_start};
use super::journal::JournalError;
use super::mirror;
use super::standing::{Far, how_far};
use pibench_core::cost::MicroUsd;

/// How the folder of a part is called, before its number.
pub const PART: &str = "part-";

/// The folder of the merged run.
pub const MERGED: &str = "run";

/// What each part has spent: a file for each, named by its number, in millionths of a US dollar.
const SPENT: &str = "spent";

/// A part of one agent's run.
#[derive(Debug, Clone)]
pub struct Part {
    pub dir: PathBuf,
    pub manifest: Manifest,
    pub shard: Shard,
}

/// The parts in a folder in their order, by the name of their agent's folder; that is empty where only one plays.
pub fn parts_in(dir: &Path) -> Result<BTreeMap<String, Vec<Part>>, FolderError> {
    let mut parts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    for place in places(dir) {
        for run in runs_below(&place) {
            let manifest = read_manifest(&run)?;
            let Some(shard) = manifest.shard else {
                return Err(FolderError::Read {
                    path: run,
                    reason: "it is a whole run and no part of one".into(),
                });
            };
            let agent = run.strip_prefix(&place).unwrap_or(Path::new(""));
            let agent = agent.display().to_string();
            parts.entry(agent).or_default().push(Part {
                dir: run,
                manifest,
                shard,
            });
        }
    }
    for parts in parts.values_mut() {
        parts.sort_by_key(|part| part.shard.index);
    }
    Ok(parts)
}

/// The run folder itself, or those in a folder that several agents were played to, by name; of a folder of parts the run that
/// they were merged to, or else the parts.
pub fn runs_in(path: &Path) -> Vec<PathBuf> {
    let merged = runs_below(&path.join(MERGED));
    let mut runs = if holds_parts(path) && !merged.is_empty() {
        merged
    } else if holds_parts(path) {
        // Whoever opens one that is none says what is wrong.
        let parts = parts_in(path).unwrap_or_default();
        parts.into_values().flatten().map(|part| part.dir).collect()
    } else {
        runs_below(path)
    };
    if runs.is_empty() {
        runs.push(path.to_owned());
    }
    runs
}

/// The folders of parts.
fn places(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_part = |name: &str| {
        let number = name.strip_prefix(PART);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let places = entries.filter(|entry| is_part(&entry.file_name().to_string_lossy()));
    places.map(|entry| entry.path()).collect()
}

/// Whether a folder holds parts of a run.
pub fn holds_parts(dir: &Path) -> bool {
    !places(dir).is_empty()
}

/// Parts that are named in a message.
const MOST_NAMED: usize = 5;

/// Which parts of a folder are not begun, in words; None where all are, or where they are merged already.
pub fn not_begun(dir: &Path) -> Result<Option<String>, FolderError> {
    if !holds_parts(dir) || !runs_below(&dir.join(MERGED)).is_empty() {
        return Ok(None);
    }
    let mut missing = Vec::new();
    let mut of = 0;
    for parts in parts_in(dir)?.values() {
        let Some(first) = parts.first() else { continue };
        of = first.shard.of;
        let there: Vec<u32> = parts.iter().map(|part| part.shard.index).collect();
        missing.extend((1..=of).filter(|index| !there.contains(index)));
    }
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(None);
    }
    let numbers = missing.iter().take(MOST_NAMED).map(u32::to_string);
    let mut numbers: Vec<String> = numbers.collect();
    if let Some(more) = missing
        .len()
        .checked_sub(MOST_NAMED)
        .filter(|more| *more > 0)
    {
        numbers.push(format!("{more} more"));
    }
    let begun = (of as usize).saturating_sub(missing.len());
    Ok(Some(format!(
        "{begun} of {of} parts are begun, and not {}",
        numbers.join(", ")
    )))
}

/// How far a part is, and who is at work on it.
#[derive(Debug, Clone)]
pub struct PartState {
    pub far: Far,
    /// None for a part that nobody said to have begun.
    pub start: Option<Start>,
    pub is_worked_on: bool,
    /// When its last line was written; None without one.
    pub last: Option<SystemTime>,
}

/// Why the state of a part cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Part {
    /// Looks at it: nothing is waited for, and nothing is written.
    pub fn state(&self) -> Result<PartState, PartError> {
        // Before the journals: what is written after the last process has gone is seen.
        let is_worked_on = is_worked_on(&self.dir);
        let personas = read_outline(&self.dir)?.map(|outline| outline.personas);
        let far = match personas {
            Some(personas) => how_far(&self.dir, &self.manifest, &personas)?,
            // It was made a moment ago.
            None => Far::unknown(),
        };
        let journals = fs::read_dir(self.dir.join("journal"));
        let journals = journals.into_iter().flatten().flatten();
        let times = journals.filter_map(|entry| entry.metadata().ok()?.modified().ok());
        Ok(PartState {
            far,
            start: read_start(&self.dir),
            is_worked_on,
            last: times.max(),
        })
    }
}

/// The place of a part's run folder among others: the folder of all, and its number. None for one that lies by itself.
pub fn place_of(run: &Path, shard: Shard) -> Option<PathBuf> {
    let name = format!("{PART}{}", shard.index);
    let mut above = run.ancestors().take(2);
    let place = above.find(|place| place.file_name().is_some_and(|last| last == name.as_str()))?;
    place.parent().map(Path::to_owned)
}

/// What a part has made known that it spent, wherever that was.
pub fn spent(all: &Path, index: u32) -> Result<MicroUsd, FolderError> {
    let sums = sums_in(&all.join(SPENT))?;
    let own = sums.into_iter().find(|(number, _)| *number == index);
    Ok(own.map(|(_, sum)| sum).unwrap_or_default())
}

/// Makes known what a part has spent, which is never less than was known; what the others have.
pub fn publish_spent(all: &Path, index: u32, own: MicroUsd) -> Result<MicroUsd, FolderError> {
    let dir = all.join(SPENT);
    fs::create_dir_all(&dir).map_err(|source| FolderError::Write {
        path: dir.clone(),
        source,
    })?;
    let path = dir.join(index.to_string());
    // As this process wrote it.
    if sum_of(&fs::read(&path).unwrap_or_default()).is_none_or(|known| known < own) {
        write_whole(&path, format!("{}\n", own.0).as_bytes())?;
    }
    let sums = sums_in(&dir)?;
    let mut others = MicroUsd::default();
    for (_, sum) in sums.iter().filter(|(number, _)| *number != index) {
        others += *sum;
    }
    Ok(others)
}

/// What stands in each part's file, by its number.
fn sums_in(dir: &Path) -> Result<Vec<(u32, MicroUsd)>, FolderError> {
    let failed = |error: io::Error| FolderError::Read {
        path: dir.to_owned(),
        reason: error.to_string(),
    };
    let files = if let Some((mirror, path)) = mirror::find(dir) {
        // The others play on other machines, and an earlier process of this part may have.
        mirror.read_all(path).map_err(failed)?
    } else {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?.flatten(),
        };
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, fs::read(entry.path()).ok()?))
        };
        entries.filter_map(file).collect()
    };
    let sums = files
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.parse().ok()?, sum_of(&bytes)?)));
    Ok(sums.collect())
}

fn sum_of(bytes: &[u8]) -> Option<MicroUsd> {
    let sum = str::from_utf8(bytes).ok()?.trim().parse().ok()?;
    Some(MicroUsd(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_knows_what_the_others_spent_and_what_it_spent_itself() {
        let dir = tempfile::tempdir().unwrap();
        let publish = |index, own| publish_spent(dir.path(), index, MicroUsd(own)).unwrap().0;
        assert_eq!(publish(1, 10), 0);
        assert_eq!(publish(12, 7), 10);
        assert_eq!(publish(1, 30), 7);
        assert_eq!(publish(1, 20), 7);
        assert_eq!(spent(dir.path(), 1).unwrap(), MicroUsd(30));
        assert_eq!(spent(dir.path(), 3).unwrap(), MicroUsd(0));
    }

    #[test]
    fn a_part_has_a_place_by_its_number_alone() {
        let shard = Shard { index: 3, of: 4 };
        let place = |run: &str| place_of(Path::new(run), shard);
        assert_eq!(place("all/part-3"), Some("all".into()));
        assert_eq!(place("all/part-3/nop"), Some("all".into()));
        assert_eq!(place("all/part-4"), None);
        assert_eq!(place("mine"), None);
    }
}
