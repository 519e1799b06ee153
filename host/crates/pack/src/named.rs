//! Which files of a folder its suite, personas and sessions name: what lies there beside them was perhaps not meant to be handed out.
//! Reads no more of the files than their names of others; whether these are sound is for the loader.

use std::collections::BTreeSet;

use camino::Utf8Path;
use pibench_suite::load::pilots::PILOTS;
use pibench_suite::manifest::{PersonaFile, SessionFile, StagedFile, SuiteFile};
use pibench_suite::pack::Pack;
use serde::de::DeserializeOwned;

use crate::contents::LeftOut;
use crate::private::is_read_first;
use crate::{PackError, manifest, suite_file, trace};

/// Bytes of a task file, as the loader has it.
const LIMIT: u64 = 1 << 20;

/// What is named: files, and folders with all that is in them.
#[derive(Debug, Default)]
pub struct Named {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Named {
    /// Of a suite's folder, as far as its files can be read.
    pub fn of(folder: &Utf8Path) -> Self {
        let mut named = Self::default();
        let own = [manifest::FILE, suite_file::FILE, trace::WORDINGS, PILOTS];
        named.files.extend(own.map(str::to_owned));
        if let Ok(mut pack) = Pack::open_as_it_lies(folder) {
            named.suite(&mut pack);
        }
        named
    }

    /// Whether something names this file, or it is one that people are to read first.
    pub fn has(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        self.files.contains(path)
            || is_read_first(path)
            || folders.any(|folder| self.folders.contains(folder))
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

    fn suite(&mut self, pack: &mut Pack) {
        let Some(file) = read::<SuiteFile>(pack, suite_file::FILE) else {
            return;
        };
        for plugin in file.plugins.values() {
            let beside = Utf8Path::new(plugin).with_file_name("pibench.lock");
            let signature = format!("{plugin}.sig");
            self.files
                .extend([plugin.clone(), signature, beside.into_string()]);
        }
        self.files.extend(file.lock);
        self.folders.extend(file.web.corpus);
        for folder in &file.personas {
            self.persona(pack, folder);
        }
    }

    fn persona(&mut self, pack: &mut Pack, folder: &str) {
        let path = format!("{folder}/persona.toml");
        let persona = read::<PersonaFile>(pack, &path);
        self.files.insert(path);
        let Some(persona) = persona else {
            return;
        };
        for skill in &persona.skills {
            let own = format!("{folder}/skills/{skill}");
            // The suite's own is meant where the persona has none of that name.
            let is_own = pack.is_folder(&own);
            let shared = format!("skills/{skill}");
            self.folders.insert(if is_own { own } else { shared });
        }
        let seed = persona.seed.map(|seed| format!("seeds/{seed}"));
        self.folders.extend(seed);
        self.staged(folder, &persona.files);
        for entry in &persona.episode {
            let folder = format!("{folder}/sessions/{}", entry.session);
            let path = format!("{folder}/session.toml");
            let session = read::<SessionFile>(pack, &path);
            self.files.insert(path);
            let Some(session) = session else {
                continue;
            };
            self.staged(&folder, &session.files);
            let rules = session.checklist.iter().map(|item| item.rule.as_ref());
            let scripts = rules.filter_map(|rule| rule?.script.as_ref());
            let scripts = scripts.map(|script| format!("{folder}/{script}"));
            self.files.extend(scripts);
        }
    }

    fn staged(&mut self, folder: &str, files: &[StagedFile]) {
        let files = files.iter();
        self.files
            .extend(files.map(|file| format!("{folder}/{}", file.source)));
    }
}

/// A task file; None where it cannot be read, which the loader tells.
fn read<T: DeserializeOwned>(pack: &mut Pack, path: &str) -> Option<T> {
    let bytes = pack.read(path, LIMIT).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if pibench_suite::depth::too_deep(text).is_some() {
        return None;
    }
    toml::from_str(text).ok()
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
        assert_eq!(named.file_in("p/ana/.env"), None);
    }
}
