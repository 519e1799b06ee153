//! What of an agent outlives its process, until its episode is over: its home, where its entry keeps one, and which session it plays,
//! so that an agent that can load sessions is given it back when a run goes on.

use std::fs;
use std::io::{ErrorKind, Result, Write};
use std::path::PathBuf;

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

#[cfg(test)]
mod tests {
    use super::*;

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
