//! `tools.json`: what the apps of a folder say of their tools, written down beside them by the build. Who only names the tools of
//! an app that nothing is played with need not compile it. It is believed where the lock beside it is, for a component with the
//! digest that it names; nobody is called by it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file's name, in the folder of the components.
pub const FILE: &str = "tools.json";

/// A tool's name, as the agent sees it, and its description.
pub type Told = (String, String);

/// The whole file: tools by the hex sha256 of their app's component.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Described(BTreeMap<String, Vec<Told>>);

impl Described {
    /// Adds an app.
    pub fn add(&mut self, sha256: &str, tools: Vec<Told>) {
        self.0.insert(sha256.to_owned(), tools);
    }

    /// Writes it into the folder, where it appears whole.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        serde_json::to_writer(&mut file, self)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(dir.join(FILE))?;
        Ok(())
    }
}

/// The tools of the component with this digest, as the file beside it says; None where it says nothing, or cannot be read.
pub(super) fn beside(component: &Path, sha256: &str) -> Option<Vec<Told>> {
    let text = std::fs::read(component.with_file_name(FILE)).ok()?;
    let Described(mut all) = serde_json::from_slice(&text).ok()?;
    all.remove(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_by_the_digest_of_their_app_alone() {
        let dir = tempfile::tempdir().unwrap();
        let component = dir.path().join("notes.wasm");
        assert_eq!(beside(&component, "00"), None);
        let told = vec![("notes__add".to_owned(), "Adds a note.".to_owned())];
        let mut described = Described::default();
        described.add("00", told.clone());
        described.write(dir.path()).unwrap();
        assert_eq!(beside(&component, "00"), Some(told));
        assert_eq!(beside(&component, "01"), None);
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert_eq!(beside(&component, "00"), None);
    }
}
