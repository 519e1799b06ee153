//! A folder in the place of a part in which nothing was ever played: it was made by hand, or lost what it held when the power went
//! before it was whole. It opens no run.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use super::draft::UNFINISHED;
use super::error::FolderError;
use super::folder::{KNOWN, remove_lock_last};
use super::folder_lock::Lock;
use super::foreign::{read_dir, read_file};

/// Takes such a folder away, so that the part can be begun; one that holds a manifest or a line of a journal stays.
///
/// # Errors
///
/// Another process works on it, or something lies in it that is no run's.
pub fn clear_blank(dir: &Path) -> Result<(), FolderError> {
    let failed = |source| FolderError::Write {
        path: dir.to_owned(),
        source,
    };
    if !is_blank(dir).map_err(failed)? {
        return Ok(());
    }
    let lock = Lock::alone(dir)?;
    if !lock.is_of(dir) {
        // Whoever held it before has begun the part meanwhile.
        return Err(FolderError::Locked {
            path: dir.to_owned(),
        });
    }
    remove_lock_last(dir).map_err(failed)
}

/// Whether nothing was ever played in a folder.
fn is_blank(dir: &Path) -> std::io::Result<bool> {
    if !dir.is_dir() || has_manifest(dir) || has_lines(dir)? {
        return Ok(false);
    }
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if !KNOWN.contains(&&*name) && !name.starts_with(UNFINISHED) {
            let told = format!(
                "it has no manifest.json that can be read, and `{name}`, which is no file of a run; choose another --out"
            );
            return Err(std::io::Error::new(ErrorKind::DirectoryNotEmpty, told));
        }
    }
    Ok(true)
}

/// Whether there is one that says anything, be it wrong.
fn has_manifest(dir: &Path) -> bool {
    match read_file(dir, &dir.join("manifest.json")) {
        Ok(text) => serde_json::from_slice::<Value>(&text).is_ok(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn has_lines(dir: &Path) -> std::io::Result<bool> {
    let journals = match read_dir(&dir.join("journal")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        journals => journals?,
    };
    for journal in journals {
        if read_file(dir, &journal?.path())?.contains(&b'\n') {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_folder_in_which_nothing_was_played_is_taken_away_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("part-1");
        let write = |name: &str, text: &str| {
            let path = part.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        clear_blank(&part).unwrap();
        for (files, is_taken) in [
            (&[][..], true),
            (&[("lock", "{}")], true),
            (&[("manifest.json", ""), ("lock", "")], true),
            (
                &[
                    ("manifest.json", "\0\0\0"),
                    ("journal/p.r1.jsonl", "{\"cut"),
                ],
                true,
            ),
            (
                &[("manifest.json", ""), ("journal/p.r1.jsonl", "{}\n")],
                false,
            ),
            (&[("manifest.json", "{\"version\":9}")], false),
        ] {
            fs::create_dir_all(&part).unwrap();
            for (name, text) in files {
                write(name, text);
            }
            clear_blank(&part).unwrap();
            assert_eq!(part.exists(), !is_taken, "{files:?}");
            let _ = fs::remove_dir_all(&part);
        }
        write("thesis.tex", "mine");
        let said = clear_blank(&part).unwrap_err().to_string();
        assert!(
            said.contains("`thesis.tex`") && part.join("thesis.tex").exists(),
            "{said}"
        );
    }

    /// Another may lay something there: what cannot be read may be somebody's, and nobody waits for a pipe.
    #[test]
    fn a_folder_with_a_link_or_a_pipe_in_the_place_of_a_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        fs::write(&empty, "").unwrap();
        let part = dir.path().join("part-1");
        let journal = part.join("journal/p.r1.jsonl");
        let lay = |is_linked: bool| {
            fs::create_dir_all(journal.parent().unwrap()).unwrap();
            if is_linked {
                symlink(&empty, part.join("manifest.json")).unwrap();
            } else {
                let mode = Mode::from_raw_mode(0o600);
                mkfifoat(CWD, &journal, mode).unwrap();
            }
        };
        lay(true);
        clear_blank(&part).unwrap();
        assert!(part.join("manifest.json").is_symlink());
        fs::remove_dir_all(&part).unwrap();
        lay(false);
        let said = clear_blank(&part).unwrap_err().to_string();
        assert!(said.contains("not a regular file"), "{said}");
        assert!(journal.exists());
    }

    #[test]
    fn a_folder_that_another_process_holds_stays() {
        let dir = tempfile::tempdir().unwrap();
        let _held = Lock::alone(dir.path()).unwrap();
        let said = clear_blank(dir.path()).unwrap_err().to_string();
        assert!(said.contains("another process works on it"), "{said}");
        assert!(dir.path().join("lock").exists());
    }
}
