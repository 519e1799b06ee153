//! How the models of a run are doing, for those who follow it from its folder: a file that is there while models are asked. No score
//! depends on it, and nothing seals it. It stays where a run was cut off, for whoever goes on: what it says was spent was paid. Of
//! all else one that a killed process left says nothing.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::folder::{PULSE, RunFolder};
use super::folder_lock::is_worked_on;
use super::foreign::open_file;
use pibench_core::progress::Pulse;

/// Bytes that are read of it.
const LIMIT: u64 = 1 << 20;

/// What tells it.
#[derive(Debug)]
pub struct Teller {
    path: PathBuf,
    told: Pulse,
}

impl Teller {
    pub fn of(folder: &RunFolder) -> Self {
        Self {
            path: folder.root().join(PULSE),
            told: Pulse::default(),
        }
    }

    /// Writes what is new; not by the folder's `Disk`, which would send it to an object store every second. A run does not end
    /// because this cannot be written.
    pub fn tell(&mut self, pulse: &Pulse) {
        if self.told == *pulse {
            return;
        }
        let draft = self.path.with_extension("new");
        let text = serde_json::to_vec(pulse).unwrap_or_default();
        // A process that was killed may have left it, or a stranger a link.
        let _ = fs::remove_file(&draft);
        let written = File::create_new(&draft).and_then(|mut file| file.write_all(&text));
        if written.is_ok() {
            let _ = fs::rename(&draft, &self.path);
        }
        self.told.clone_from(pulse);
    }
}

/// Takes the file away, where nothing is left to go on with.
pub fn clear_pulse(folder: &RunFolder) {
    let path = folder.root().join(PULSE);
    let _ = fs::remove_file(path.with_extension("new"));
    let _ = fs::remove_file(path);
}

/// How the models of a run are doing; None where nobody plays it, or no model was asked yet.
pub fn read_pulse(folder: &Path) -> Option<Pulse> {
    let pulse = read_last(folder)?;
    is_worked_on(folder).then_some(pulse)
}

/// What was told last, whoever told it.
pub fn read_last(folder: &Path) -> Option<Pulse> {
    let file = open_file(folder, &folder.join(PULSE)).ok()?;
    let mut text = Vec::new();
    file.take(LIMIT).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::disk::tests::manifest;

    #[test]
    fn what_is_told_is_written_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&dir.path().join("run"), &manifest()).unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, folder.root().join("pulse.new")).unwrap();
        let pulse = Pulse {
            calls: 1,
            ..Pulse::default()
        };
        Teller::of(&folder).tell(&pulse);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(read_last(folder.root()), Some(pulse));
    }
}
