//! The folder of a run that is played in parts, as tasks of a scheduler: which parts are in it, how far each is, and what they
//! have spent together. A part is a run folder `part-I`, or holds one for each agent; the run that they are merged to is `run`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::error::FolderError;
use super::folder::{
    Manifest, Shard, folders_in, links_in, read_manifest, read_outline, runs_below, write_whole,
};
use super::folder_lock::{Start, is_worked_on, read_start};
use super::foreign::{read_dir, read_file};
use super::journal::JournalError;
use super::mirror;
use super::standing::{Far, how_far};
use pibench_core::cost::MicroUsd;
use pibench_core::count::list_first;

/// How the folder of a part is called, before its number.
pub const PART: &str = "part-";

/// The folder of the merged run.
pub const MERGED: &str = "run";

/// The folder of the parts' books.
const SPENT: &str = "spent";

/// How often a file in it is opened that is stale.
const LOOKS: u32 = 4;

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
    let merged = merged_in(path);
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

/// What `runs_in` leaves out of a folder of runs: links to folders, which may be somebody else's.
pub fn left_out(path: &Path) -> Vec<PathBuf> {
    if path.join("manifest.json").exists() {
        return Vec::new();
    }
    links_in(path)
}

/// The runs that parts were merged to, one or one for each agent. A link of that name is none.
fn merged_in(path: &Path) -> Vec<PathBuf> {
    let merged = path.join(MERGED);
    if merged.is_symlink() {
        return Vec::new();
    }
    runs_below(&merged)
}

/// The folders of parts.
fn places(dir: &Path) -> Vec<PathBuf> {
    let is_part = |dir: &PathBuf| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix(PART);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut places = folders_in(dir);
    places.retain(is_part);
    places
}

/// Whether a folder holds parts of a run.
pub fn holds_parts(dir: &Path) -> bool {
    !places(dir).is_empty()
}

/// Parts that are named in a message.
const MOST_NAMED: usize = 5;

/// Which parts of a folder are not begun, in words; None where all are, or where they are merged already.
pub fn not_begun(dir: &Path) -> Result<Option<String>, FolderError> {
    if !holds_parts(dir) || !merged_in(dir).is_empty() {
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
    let begun = (of as usize).saturating_sub(missing.len());
    Ok(Some(format!(
        "{begun} of {of} parts are begun, and not {}",
        list_first(&missing, MOST_NAMED)
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
        let journals = read_dir(&self.dir.join("journal"));
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

/// Where the parts of a run tell each other what they have spent: a file for each, named by its number, in millionths of a US
/// dollar, and marks that any of them makes for all.
#[derive(Debug, Clone)]
pub struct Books {
    /// The folder of all parts.
    all: PathBuf,
    /// This part's number.
    index: u32,
}

/// Those who write in the books of this process: a sum that is known never becomes less.
static WRITING: Mutex<()> = Mutex::new(());

impl Books {
    /// Those of a part in the folder of all.
    pub fn of(all: &Path, index: u32) -> Self {
        let all = all.to_owned();
        Self { all, index }
    }

    /// What this part has made known that it spent, wherever that was.
    pub fn own(&self) -> Result<MicroUsd, FolderError> {
        let path = self.path();
        let bytes = if let Some((mirror, path)) = mirror::find(&path) {
            // An earlier process of this part may have played elsewhere.
            mirror.read(path)
        } else {
            self.read_sum(&path)
        };
        let bytes = bytes.map_err(|error| self.unread(&error))?;
        let Some(bytes) = bytes else {
            return Ok(MicroUsd(0));
        };
        self.sum_in(&self.index.to_string(), &bytes)
    }

    /// Makes known what this part has spent, which is never less than was known.
    pub fn publish(&self, own: MicroUsd) -> Result<(), FolderError> {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path();
        // As this process wrote it.
        let known = read_file(&self.all, &path).unwrap_or_default();
        if sum_of(&known).is_none_or(|known| known < own) {
            self.write(&path, format!("{}\n", own.0).as_bytes())?;
        }
        Ok(())
    }

    /// What the others have spent, as far as they had made it known when this was asked.
    pub fn others(&self) -> Result<MicroUsd, FolderError> {
        let dir = self.dir();
        let files = if let Some((mirror, path)) = mirror::find(&dir) {
            // They play on other machines.
            mirror.read_all(path).map_err(|error| self.unread(&error))?
        } else {
            let entries = match read_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(MicroUsd(0)),
                entries => entries.map_err(|error| self.unread(&error))?,
            };
            let files = entries.filter_map(|entry| self.file_of_other(entry).transpose());
            let files: io::Result<Vec<_>> = files.collect();
            files.map_err(|error| self.unread(&error))?
        };
        let mut others = MicroUsd::default();
        for (name, bytes) in files {
            if self.is_of_other(&name) {
                others += self.sum_in(&name, &bytes)?;
            }
        }
        Ok(others)
    }

    /// The name and the bytes of another part's file; None for what is none.
    fn file_of_other(
        &self,
        entry: io::Result<fs::DirEntry>,
    ) -> io::Result<Option<(String, Vec<u8>)>> {
        let entry = entry?;
        let Some(name) = entry
            .file_name()
            .into_string()
            .ok()
            .filter(|name| self.is_of_other(name))
        else {
            return Ok(None);
        };
        let path = entry.path();
        let bytes = match self.read_sum(&path) {
            // What is no regular file is nobody's.
            Err(_) if path.symlink_metadata().is_ok_and(|data| !data.is_file()) => None,
            read => read?,
        };
        Ok(bytes.map(|bytes| (name, bytes)))
    }

    fn is_of_other(&self, name: &str) -> bool {
        let number: Option<u32> = name.parse().ok();
        number.is_some_and(|number| number != self.index)
    }

    /// The bytes of a part's file; None without one. Over NFS one that another machine has just replaced may be stale: then it is
    /// opened anew.
    fn read_sum(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let mut looks = 0;
        loop {
            looks += 1;
            match read_file(&self.all, path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error)
                    if error.kind() == io::ErrorKind::StaleNetworkFileHandle && looks < LOOKS => {}
                read => return read.map(Some),
            }
        }
    }

    /// The sum in a file of the books: one that holds none was cut off, and what was spent is not known.
    fn sum_in(&self, name: &str, bytes: &[u8]) -> Result<MicroUsd, FolderError> {
        sum_of(bytes).ok_or_else(|| FolderError::Read {
            path: self.dir().join(name),
            reason: "it does not say what its part has spent; write that there, in millionths of a dollar, or delete it where it is \
                     nothing"
                .into(),
        })
    }

    /// Makes a mark that all parts see from now on.
    pub fn mark(&self, name: &str) -> Result<(), FolderError> {
        self.write(&self.dir().join(name), b"")
    }

    /// Whether any part has made a mark.
    pub fn is_marked(&self, name: &str) -> Result<bool, FolderError> {
        let path = self.dir().join(name);
        let is_there = match mirror::find(&path) {
            Some((mirror, path)) => mirror.read(path).map(|bytes| bytes.is_some()),
            None => path.try_exists(),
        };
        is_there.map_err(|error| self.unread(&error))
    }

    fn dir(&self) -> PathBuf {
        self.all.join(SPENT)
    }

    fn path(&self) -> PathBuf {
        self.dir().join(self.index.to_string())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        let dir = self.dir();
        fs::create_dir_all(&dir).map_err(|source| FolderError::Write { path: dir, source })?;
        write_whole(path, bytes)
    }

    fn unread(&self, error: &io::Error) -> FolderError {
        FolderError::Read {
            path: self.dir(),
            reason: error.to_string(),
        }
    }
}

fn sum_of(bytes: &[u8]) -> Option<MicroUsd> {
    let sum = str::from_utf8(bytes).ok()?.trim().parse().ok()?;
    Some(MicroUsd(sum))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn each_part_knows_what_the_others_spent_and_what_it_spent_itself() {
        let dir = tempfile::tempdir().unwrap();
        let of = |index| Books::of(dir.path(), index);
        assert_eq!(of(1).others().unwrap(), MicroUsd(0));
        for (index, own, others) in [(1, 10, 0), (12, 7, 10), (1, 30, 7), (1, 20, 7), (2, 5, 37)] {
            of(index).publish(MicroUsd(own)).unwrap();
            assert_eq!(of(index).others().unwrap(), MicroUsd(others), "{index}");
        }
        assert_eq!(of(1).own().unwrap(), MicroUsd(30));
        assert_eq!(of(3).own().unwrap(), MicroUsd(0));
        // A mark is no sum.
        assert!(!of(2).is_marked("5-left-of-9").unwrap());
        of(1).mark("5-left-of-9").unwrap();
        assert!(of(2).is_marked("5-left-of-9").unwrap());
        assert_eq!(of(2).others().unwrap(), MicroUsd(37));
    }

    #[test]
    fn no_link_is_followed_in_the_books_and_no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let books = Books::of(dir.path(), 1);
        Books::of(dir.path(), 2).publish(MicroUsd(7)).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "1000").unwrap();
        let spent = dir.path().join(SPENT);
        symlink(&elsewhere, spent.join("3")).unwrap();
        mkfifoat(CWD, spent.join("4"), Mode::from_raw_mode(0o600)).unwrap();
        assert_eq!(books.others().unwrap(), MicroUsd(7));
        symlink(&elsewhere, spent.join("1")).unwrap();
        let said = books.own().unwrap_err().to_string();
        assert!(said.contains("not a regular file"), "{said}");
    }

    #[test]
    fn a_sum_that_cannot_be_read_is_an_error_and_not_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = [1, 2].map(|index| Books::of(dir.path(), index));
        two.publish(MicroUsd(7)).unwrap();
        let file = dir.path().join(SPENT).join("2");
        for (bytes, reason) in [(0, "does not say what"), (5 << 20, "more than the limit")] {
            fs::File::create(&file).unwrap().set_len(bytes).unwrap();
            for said in [one.others(), two.own()] {
                let said = said.unwrap_err().to_string();
                assert!(said.contains(reason), "{said}");
            }
        }
        // The twins: one that is whole, and none.
        fs::write(&file, "7\n").unwrap();
        assert_eq!(
            (one.others().unwrap(), two.own().unwrap()),
            (MicroUsd(7), MicroUsd(7))
        );
        fs::remove_file(&file).unwrap();
        assert_eq!(
            (one.others().unwrap(), two.own().unwrap()),
            (MicroUsd(0), MicroUsd(0))
        );
    }

    #[test]
    fn a_merged_run_is_a_folder_and_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (all, elsewhere) = (dir.path().join("all"), dir.path().join("elsewhere"));
        fs::create_dir_all(all.join("part-1")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("manifest.json"), "{}").unwrap();
        let merged = all.join(MERGED);
        symlink(&elsewhere, &merged).unwrap();
        assert_eq!(runs_in(&all), std::slice::from_ref(&all));
        assert_eq!(left_out(&all), std::slice::from_ref(&merged));
        fs::remove_file(&merged).unwrap();
        fs::rename(&elsewhere, &merged).unwrap();
        assert_eq!(runs_in(&all), [merged]);
        assert!(left_out(&all).is_empty());
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
