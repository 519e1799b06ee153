//! What of a suite changes a score, part by part: the one list. Two suites with the same parts are the same, wherever they
//! lie, whoever serves their models, and however fast they are played.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::manifest::{FilterFile, SessionLimits, StateSettings, SuiteFile, WebFile, WebProvider};

/// A setting's dotted key with its value as JSON, or a folder's path with BLAKE3 over its files. A session's folder is one
/// part with all that is below it, so that a difference can be named.
pub type Parts = BTreeMap<String, String>;

/// The settings that count by themselves.
#[derive(Serialize)]
struct Settings<'a> {
    /// Stands in the journals.
    id: &'a str,
    /// Their order is that of the episodes.
    personas: &'a [String],
    session: SessionLimits,
    state: StateSettings,
    web: Source,
}

#[derive(Serialize)]
struct Source {
    provider: WebProvider,
}

/// The parts of a suite: of its file (`name`), with the command line's settings in it, and of the other files that were read.
pub(super) fn parts(file: &SuiteFile, name: &str, files: &BTreeMap<String, blake3::Hash>) -> Parts {
    // Every field by name, so that a new one has to be thought about here.
    let SuiteFile {
        id,
        personas,
        session,
        state,
        web:
            WebFile {
                provider,
                // The pages count by their contents, and an address for nothing.
                corpus: _,
                url: _,
            },
        version: _,
        title: _,
        // What a command line may say otherwise: the manifest has what is in effect, and it counts there.
        protocol: _,
        scaffold: _,
        scaffold_prompt: _,
        agent: _,
        user: _,
        judge: _,
        runs: _,
        seed: _,
        filter: FilterFile { .. },
        ablate: _,
        // These count by what they come to: the manifest's plugins and limits.
        plugins: _,
        policy: _,
        lock: _,
        limits: _,
        // Of these, those that play: the manifest's models.
        providers: _,
        models: _,
        // The same holds for the agent that plays.
        agents: _,
        jobs: _,
        memory: _,
    } = file;
    let settings = Settings {
        id,
        personas,
        session: *session,
        state: *state,
        web: Source {
            provider: *provider,
        },
    };
    let mut parts = Parts::new();
    // Texts, numbers and lists of texts: nothing that JSON cannot hold.
    let settings = serde_json::to_value(settings).unwrap_or_default();
    flatten(&settings, String::new(), &mut parts);
    let mut folders: BTreeMap<String, blake3::Hasher> = BTreeMap::new();
    for (path, content) in files.iter().filter(|(path, _)| *path != name) {
        let folder = folders.entry(folder(path)).or_default();
        add(folder, path, content.as_bytes());
    }
    parts.extend(folders.into_iter().map(|(folder, hasher)| {
        let hash = hasher.finalize().to_hex().to_string();
        (folder, hash)
    }));
    parts
}

/// BLAKE3 over all parts, hex.
pub(super) fn digest(parts: &Parts) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host parts of a suite, version 1");
    for (name, value) in parts {
        add(&mut hasher, name, value.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The lengths keep what is added one after the other apart.
fn add(hasher: &mut blake3::Hasher, name: &str, value: &[u8]) {
    for bytes in [name.as_bytes(), value] {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
}

fn flatten(value: &Value, key: String, parts: &mut Parts) {
    let Value::Object(fields) = value else {
        parts.insert(key, value.to_string());
        return;
    };
    for (name, value) in fields {
        let key = if key.is_empty() {
            name.clone()
        } else {
            format!("{key}.{name}")
        };
        flatten(value, key, parts);
    }
}

/// The part that a file belongs to: its session, else the folder that it stands in.
fn folder(path: &str) -> String {
    let folders: Vec<&str> = path.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let session = folders.iter().position(|name| *name == "sessions");
    let end = session.map_or(folders.len(), |at| folders.len().min(at + 2));
    if end == 0 {
        ".".into()
    } else {
        folders[..end].join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_its_session_or_its_folder() {
        for (path, expected) in [
            ("persona.toml", "."),
            ("people/clerk/persona.toml", "people/clerk"),
            (
                "people/clerk/sessions/a/session.toml",
                "people/clerk/sessions/a",
            ),
            (
                "people/clerk/sessions/a/files/deep/x",
                "people/clerk/sessions/a",
            ),
            ("skills/mail/SKILL.md", "skills/mail"),
            ("sessions/a/session.toml", "sessions/a"),
        ] {
            assert_eq!(folder(path), expected);
        }
    }

    #[test]
    fn the_digest_is_of_names_and_values() {
        let parts = |pairs: &[(&str, &str)]| -> Parts {
            let pairs = pairs.iter();
            pairs.map(|(a, b)| ((*a).into(), (*b).into())).collect()
        };
        let one = digest(&parts(&[("a", "1"), ("b", "2")]));
        assert_eq!(one, digest(&parts(&[("b", "2"), ("a", "1")])));
        assert_ne!(one, digest(&parts(&[("a", "2"), ("b", "1")])));
        assert_ne!(one, digest(&parts(&[("a", "1b"), ("", "2")])));
    }
}
