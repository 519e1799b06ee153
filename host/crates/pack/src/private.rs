//! A pack whose files only its recipients can read: what a machine has to know before it has a key stays open, and all else is
//! one encrypted file.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use pibench_suite::pack::Pack;
use pibench_vault::files::Files;
use pibench_vault::{Recipient, keyring};

use crate::contents::{Contents, FILE_LIMIT};
use crate::{PackError, manifest, suite_file, trace};

/// How the names of files in the pack's own folder begin that people are to read before they ask for a key.
const READ_FIRST: [&str; 4] = ["README", "LICENSE", "NOTICE", "CHANGELOG"];

/// Whether a file of a private pack stays open: what says what the pack is, and plugins, which are looked at, pinned and signed as
/// files.
pub fn stays_open(path: &str) -> bool {
    let path = Utf8Path::new(path);
    let is_component = |path: &Utf8Path| path.extension() == Some("wasm");
    let signed = path.as_str().strip_suffix(".sig").map(Utf8Path::new);
    let is_plugin = is_component(path)
        || signed.is_some_and(is_component)
        || path.file_name() == Some("pibench.lock");
    let own = [manifest::FILE, suite_file::FILE];
    is_plugin || own.contains(&path.as_str()) || is_read_first(path.as_str())
}

/// Whether a file of the pack's own folder says to people what the pack is.
pub fn is_read_first(path: &str) -> bool {
    !path.contains('/') && READ_FIRST.iter().any(|first| path.starts_with(first))
}

/// The files of a pack's folder, those that stay open and those that do not. None of them is a private pack's: `secret` looks.
pub fn split(folder: &Utf8Path, contents: &Contents) -> Result<(Files, Files), PackError> {
    let refused = |reason: String| PackError::refused(folder, reason);
    let mut pack = Pack::open(folder).map_err(|error| refused(error.to_string()))?;
    let (mut open, mut private) = (Files::new(), Files::new());
    for file in &contents.files {
        let bytes = pack.read(&file.path, FILE_LIMIT);
        let bytes = bytes.map_err(|error| refused(format!("failed to {error}")))?;
        if stays_open(&file.path) {
            open.insert(file.path.clone(), bytes);
        } else if file.path != trace::WORDINGS {
            private.insert(file.path.clone(), bytes);
        }
    }
    Ok((open, private))
}

/// What is wrong with the wordings of a pack's folder, where there are any.
pub fn wrong_wordings(folder: &Utf8Path) -> Vec<String> {
    let Ok(mut pack) = Pack::open_as_it_lies(folder) else {
        return Vec::new();
    };
    let names = pack.names("").unwrap_or_default();
    if names.iter().all(|name| name != trace::WORDINGS) {
        return Vec::new();
    }
    let bytes = pack.read(trace::WORDINGS, trace::WORDINGS_LIMIT);
    let text = match bytes.map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => return vec!["it is no UTF-8".into()],
        Err(error) => return vec![format!("cannot {error}")],
    };
    let mut files = Files::new();
    for trace::Wording { path, .. } in trace::read(&text).unwrap_or_default() {
        let is_encrypted = !stays_open(&path) && path != trace::WORDINGS;
        if is_encrypted
            && !files.contains_key(&path)
            && let Ok(bytes) = pack.read(&path, FILE_LIMIT)
        {
            files.insert(path, bytes);
        }
    }
    trace::wordings(&text, &files).err().unwrap_or_default()
}

/// Writes the private form of a pack into a new, empty folder: in clear only what stays open.
pub fn lock(
    (open, private): (&Files, &Files),
    to: &[Recipient],
    into: &Utf8Path,
) -> Result<(), PackError> {
    for (path, bytes) in open {
        write(&into.join(path), bytes)?;
    }
    let refused = |reason: String| PackError::refused(into, reason);
    let pack = open.get(manifest::FILE);
    let pack = pack.ok_or_else(|| refused(format!("it has no {}", manifest::FILE)))?;
    let locked = keyring::lock(private, pack, to);
    let locked = locked.map_err(|error| refused(format!("failed to {error}")))?;
    for (name, bytes) in locked {
        write(&into.join(name), &bytes)?;
    }
    Ok(())
}

fn write(path: &Utf8PathBuf, bytes: &[u8]) -> Result<(), PackError> {
    let written = || {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(path, bytes)
    };
    written().map_err(|source| PackError::Io {
        doing: "write",
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_looked_for_is_private() {
        for open in [
            "pack.toml",
            "suite.toml",
            "README.md",
            "LICENSE",
            "plugins/a.wasm",
            "plugins/a.wasm.sig",
            "plugins/pibench.lock",
        ] {
            assert!(stays_open(open), "{open}");
        }
        for private in [
            "personas/a/persona.toml",
            "personas/a/sessions/b/session.toml",
            "personas/a/README.md",
            "corpus/pack.toml",
            "corpus/note.sig",
            "checks/a.py",
        ] {
            assert!(!stays_open(private), "{private}");
        }
    }
}
