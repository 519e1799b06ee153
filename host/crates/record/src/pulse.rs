//! How the models of a run are doing, for those who follow it from its folder: a file that is there while models are asked. No score
//! depends on it, nothing seals it, and one that a killed process left says nothing.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::folder::RunFolder;
use super::folder_lock::is_worked_on;
use pibench_core::progress::Pulse;

const PULSE: &str = "pulse.json";

/// Bytes that are read of it.
const LIMIT: u64 = 1 << 20;

/// What tells it, and takes the file away when it is dropped.
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
        if fs::write(&draft, text).is_ok() {
            let _ = fs::rename(&draft, &self.path);
        }
        self.told.clone_from(pulse);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.with_extension("new"));
        let _ = fs::remove_file(&self.path);
    }
}

/// How the models of a run are doing; None where nobody plays it, or no model was asked yet.
pub fn read_pulse(folder: &Path) -> Option<Pulse> {
    let file = File::open(folder.join(PULSE)).ok()?;
    if !is_worked_on(folder) {
        return None;
    }
    let mut text = Vec::new();
    file.take(LIMIT).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
