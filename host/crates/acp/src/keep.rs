//! What of an agent outlives its process, until its episode is over: its home, where its entry keeps one, and which session it plays,
//! so that an agent that can load sessions is given it back when a run goes on. And how much a folder may hold that an agent writes
//! into by itself.

use std::fs;
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A folder of an episode's own, which no agent sees.
#[derive(Debug, Clone)]
pub struct Keep(PathBuf);

/// The session that an agent's process plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSession {
    /// As the agent calls it.
    pub id: String,
    /// BLAKE3 of what it was told first.
    pub of: String,
}

impl Keep {
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The home that outlives a process.
    pub fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    fn note(&self) -> PathBuf {
        self.0.join("session.json")
    }

    /// Forgets what was kept; a kept home is there, and empty.
    pub fn begin(&self, home: bool) -> Result<()> {
        self.remove()?;
        if home {
            fs::create_dir_all(self.home())?;
        }
        Ok(())
    }

    /// Notes the session that is played from here on.
    pub fn put(&self, session: &KeptSession) -> Result<()> {
        fs::create_dir_all(&self.0)?;
        // A link there is not written through.
        let _ = fs::remove_file(self.note());
        fs::File::create_new(self.note())?.write_all(&serde_json::to_vec(session)?)
    }

    /// The session that was played, where what the agent was told first is this.
    pub fn session(&self, of: &str) -> Option<String> {
        let note = fs::read(self.note()).ok()?;
        let session: KeptSession = serde_json::from_slice(&note).ok()?;
        (session.of == of).then_some(session.id)
    }

    /// Takes all of it away, and the folder of them all where it was the last.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Others may be in it.
        let _ = self.0.parent().map(fs::remove_dir);
        Ok(())
    }
}

/// How much a folder may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All files together.
    pub bytes: u64,
    /// Files and folders.
    pub files: u64,
}

/// Why a folder holds more than it may; None where it does not. Looks at no more than that, and follows no link.
pub fn overfull(folder: &Path, room: Room) -> Option<String> {
    let (mut bytes, mut files) = (0_u64, 0_u64);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // It went while it was looked at, and may be another thing by now.
            Err(error)
                if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) =>
            {
                continue;
            }
            Err(error) => {
                return Some(format!("one of its folders cannot be looked into: {error}"));
            }
        };
        for entry in entries.filter_map(Result::ok) {
            files += 1;
            if files > room.files {
                return Some(format!(
                    "it holds more than {} files and folders",
                    room.files
                ));
            }
            let Ok(data) = entry.path().symlink_metadata() else {
                continue;
            };
            if data.is_dir() {
                folders.push(entry.path());
            }
            // What a file with holes says of its length takes no room.
            bytes = bytes.saturating_add(data.len().min(data.blocks().saturating_mul(512)));
            if bytes > room.bytes {
                return Some(format!("it holds more than {} bytes", room.bytes));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_as_much_as_it_may_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), vec![b'x'; 100_000]).unwrap();
        // Neither a link nor a hole is counted.
        std::os::unix::fs::symlink("/usr", root.join("link")).unwrap();
        fs::File::create(root.join("hole"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let counted = |bytes, files| overfull(root, Room { bytes, files });
        assert_eq!(counted(200_000, 5), None);
        assert!(counted(200_000, 4).unwrap().contains("4 files and folders"));
        assert!(counted(99_999, 5).unwrap().contains("99999 bytes"));
    }

    #[test]
    fn a_session_is_known_again_by_what_it_was_told_until_its_episode_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::new(folder.path().join("agents/p.r1"));
        keep.begin(true).unwrap();
        assert!(keep.home().is_dir());
        let session = KeptSession {
            id: "one".into(),
            of: "told".into(),
        };
        keep.put(&session).unwrap();
        assert_eq!(keep.session("told").as_deref(), Some("one"));
        assert_eq!(keep.session("told otherwise"), None);
        keep.begin(false).unwrap();
        assert_eq!(keep.session("told"), None);
        keep.put(&session).unwrap();
        keep.remove().unwrap();
        assert!(!folder.path().join("agents").exists());
    }
}
