//! What was found in files of tens of megabytes, so that a run that may never use them need not read them again. Only what
//! is told of a plugin comes from here: before one is run, all of its bytes are read and hashed, and have to agree.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Cache;
use crate::component::Facts;

/// Seconds. A file that changed within them is not remembered: it could change again and keep its stamp, whose clock ticks.
const SETTLED: i64 = 2;

/// What a component file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// Hex.
    pub(crate) sha256: String,
    /// In bytes.
    pub(crate) size: usize,
    pub(crate) facts: Facts,
}

/// One state of one file. The time of its last change is the kernel's: whoever writes to the file cannot set it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// None when the file is not there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|metadata| Self::from(&metadata))
    }

    fn is_settled(&self) -> bool {
        jiff::Timestamp::now()
            .as_second()
            .saturating_sub(self.changed.0)
            > SETTLED
    }

    fn name(&self) -> String {
        let digest = blake3::hash(format!("{self:?}").as_bytes());
        format!("{}.known", digest.to_hex())
    }
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Cache {
    /// What a file in this state holds, if it is known.
    pub(crate) fn known(&self, stamp: &Stamp) -> Option<Known> {
        let opened = self.0.as_ref()?;
        let path = opened.dir.join(stamp.name());
        serde_json::from_slice(&opened.content(&path)?).ok()
    }

    /// Keeps it.
    pub(crate) fn remember(&self, stamp: &Stamp, known: &Known) {
        let (Some(opened), true) = (&self.0, stamp.is_settled()) else {
            return;
        };
        let Ok(text) = serde_json::to_vec(known) else {
            return;
        };
        // Without it, the file is read once more the next time.
        let _ = opened.write(&opened.dir.join(stamp.name()), &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Known {
            sha256: "00".into(),
            size: 1,
            facts: Facts::default(),
        }
    }

    /// A stamp of a file that has not changed for long.
    fn settled(path: &Path) -> Stamp {
        let stamp = Stamp::of(path).unwrap();
        Stamp {
            changed: (1, 0),
            ..stamp
        }
    }

    #[test]
    fn a_file_is_known_until_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache"));
        let file = dir.path().join("a.wasm");
        std::fs::write(&file, "one").unwrap();
        let stamp = settled(&file);
        assert_eq!(cache.known(&stamp), None);
        cache.remember(&stamp, &known());
        assert_eq!(cache.known(&stamp), Some(known()));
        std::fs::write(&file, "longer").unwrap();
        assert_eq!(cache.known(&settled(&file)), None);
        assert_eq!(Cache(None).known(&stamp), None);
    }

    #[test]
    fn a_file_that_has_just_changed_is_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache"));
        let file = dir.path().join("a.wasm");
        std::fs::write(&file, "one").unwrap();
        let stamp = Stamp::of(&file).unwrap();
        cache.remember(&stamp, &known());
        assert_eq!(cache.known(&stamp), None);
    }

    #[test]
    fn what_somebody_else_wrote_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache"));
        let file = dir.path().join("a.wasm");
        std::fs::write(&file, "one").unwrap();
        let stamp = settled(&file);
        cache.remember(&stamp, &known());
        let kept = dir.path().join("cache").join(stamp.name());
        let text = std::fs::read(&kept).unwrap();
        let forged = String::from_utf8_lossy(&text[32..]).replace("00", "11");
        std::fs::write(&kept, [&text[..32], forged.as_bytes()].concat()).unwrap();
        assert_eq!(cache.known(&stamp), None);
        std::fs::write(&kept, text).unwrap();
        assert_eq!(cache.known(&stamp), Some(known()));
    }
}
