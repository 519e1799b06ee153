//! Which files of a folder its suite, personas and sessions name: what lies there beside them was perhaps not meant to be handed out.
//! The loader says what it asks for; whether that is sound is none of this one's business.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use pibench_suite::load::asked;
use pibench_suite::load::pilots::PILOTS;
use pibench_suite::pack::Asked;

use crate::contents::LeftOut;
use crate::private::is_read_first;
use crate::{PackError, manifest, suite_file, trace};

/// What is named: files, and folders with all that is in them.
#[derive(Debug, Default)]
pub struct Named {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Named {
    /// Of a suite's folder, as far as its files can be read: what whoever loads it asks for.
    pub fn of(folder: &Utf8Path) -> Self {
        let (suite, asked) = asked(&folder.join(suite_file::FILE));
        let Asked { mut files, folders } = asked;
        // By its folder alone: what lies there and is none of a pack's is left out as anywhere.
        files.retain(|file| !lies_in(file, &folders));
        let own = [manifest::FILE, suite_file::FILE, trace::WORDINGS, PILOTS];
        files.extend(own.map(str::to_owned));
        if let Some(suite) = &suite {
            for plugin in suite.plugins.values() {
                let beside = plugin.with_file_name("pibench.lock");
                let signature = Utf8PathBuf::from(format!("{plugin}.sig"));
                let these = [plugin.clone(), signature, beside];
                files.extend(these.iter().filter_map(|path| within(folder, path)));
            }
            let lock = suite.lock.as_ref();
            files.extend(lock.and_then(|lock| within(folder, lock)));
        }
        Self { files, folders }
    }

    /// Whether something names this file, or it is one that people are to read first.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path) || is_read_first(path) || lies_in(path, &self.folders)
    }

    /// A file that something names by its own name and that is this one or lies in it.
    fn file_in(&self, path: &str) -> Option<&str> {
        let below = format!("{path}/");
        let mut files = self.files.iter().map(String::as_str);
        files.find(|file| *file == path || file.starts_with(&below))
    }

    /// Refuses that something is named and left out.
    pub fn check(&self, folder: &Utf8Path, left_out: &[LeftOut]) -> Result<(), PackError> {
        for LeftOut { path, why } in left_out {
            if let Some(file) = self.file_in(path) {
                let reason = format!(
                    "`{}` is named in it and would be left out, for {why}; give it another name, and the one that it has in a \
                     workspace by `path`",
                    file.escape_debug()
                );
                return Err(PackError::refused(folder, reason));
            }
        }
        Ok(())
    }
}

/// Whether a file lies in one of these folders.
fn lies_in(path: &str, folders: &BTreeSet<String>) -> bool {
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.any(|folder| folders.contains(folder))
}

/// A path as the folder has it; None where it lies elsewhere.
fn within(folder: &Utf8Path, path: &Utf8Path) -> Option<String> {
    let path = path.strip_prefix(folder).ok()?;
    Some(path.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_suite_its_personas_and_sessions_name_is_named_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "suite.toml",
            "version = 1\nid = \"s\"\npersonas = [\"p/ana\"]\n[plugins]\nown = \"plugins/own.wasm\"\n[web]\ncorpus = \"pages\"\n",
        );
        write(
            "p/ana/persona.toml",
            "version = 1\nid = \"ana\"\nname = \"Ana\"\nprofile = \"x\"\nskills = [\"mail\", \"desk\"]\nseed = \"town\"\n\
             files = [{ source = \"house.md\" }]\nepisode = [{ session = \"one\" }]\n",
        );
        write("p/ana/skills/desk/SKILL.md", "");
        write("p/ana/skills/desk/.DS_Store", "");
        write(
            "p/ana/sessions/one/session.toml",
            "version = 1\nid = \"one\"\ntitle = \"x\"\nclock = 2026-03-02T09:00:00\nrequest = \"x\"\n\
             intents = []\nfiles = [{ source = \".rooms/a.csv\" }]\n\
             [[checklist]]\nid = \"c\"\ncriterion = \"x\"\nrule = { grader = \"python\", script = \"look.py\" }\n",
        );
        let named = Named::of(Utf8Path::from_path(dir.path()).unwrap());
        for path in [
            "suite.toml",
            "pack.toml",
            "wordings.toml",
            "LICENSE.txt",
            "README.md",
            "plugins/own.wasm",
            "plugins/own.wasm.sig",
            "plugins/pibench.lock",
            "pages/one.md",
            "seeds/town/people.json",
            "skills/mail/deep/a.md",
            "p/ana/skills/desk/SKILL.md",
            "p/ana/persona.toml",
            "p/ana/house.md",
            "p/ana/sessions/one/session.toml",
            "p/ana/sessions/one/look.py",
            "p/ana/sessions/one/.rooms/a.csv",
        ] {
            assert!(named.has(path), "{path}");
        }
        for path in [
            "notes.txt",
            "plugins/other.wasm",
            "p/ana/LICENSE",
            "p/ana/house.md.bak",
            "p/ana/sessions/two/session.toml",
            "skills/desk/SKILL.md",
        ] {
            assert!(!named.has(path), "{path}");
        }
        let rooms = "p/ana/sessions/one/.rooms";
        let file = "p/ana/sessions/one/.rooms/a.csv";
        assert_eq!(named.file_in(rooms), Some(file));
        // Nothing names these by themselves.
        for path in ["p/ana/.env", "p/ana/skills/desk/.DS_Store"] {
            assert_eq!(named.file_in(path), None, "{path}");
        }
    }
}
