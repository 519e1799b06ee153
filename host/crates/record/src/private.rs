//! Records of a run of a private pack: journals, blobs, outline, trajectories and results are encrypted under the pack's key, and
//! the run folder holds that key in `key.age`, encrypted to the pack's recipients. Manifest, timing, log and seal are not: they
//! say what was played and how long it took, by names and numbers.

use std::fs;
use std::io;
use std::path::Path;

use pibench_vault::{KEY_FILE, Key, keyring};

use super::error::FolderError;
use super::foreign::read_file;

/// The key of a run folder's records; None where they are open.
pub fn key_of(folder: &Path) -> Result<Option<Key>, FolderError> {
    keyring::key_of(folder).map_err(|error| FolderError::Private {
        path: folder.to_owned(),
        source: error,
    })
}

/// The key of the run folder that a journal lies in.
pub(super) fn key_of_journal(path: &Path) -> io::Result<Option<Key>> {
    match path.parent().and_then(Path::parent) {
        Some(folder) => keyring::key_of(folder).map_err(io::Error::other),
        None => Ok(None),
    }
}

/// The bytes of a record of a run folder.
pub fn read_record(folder: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_file(folder, path)?;
    let key = keyring::key_of(folder).map_err(io::Error::other)?;
    match key {
        Some(key) => key.decrypt(&bytes).map_err(io::Error::other),
        None => Ok(bytes),
    }
}

/// A record as it is kept under a key.
pub(super) fn kept(key: Option<&Key>, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match key {
        Some(key) => key.encrypt(&bytes).map_err(io::Error::other),
        None => Ok(bytes),
    }
}

/// Gives a new folder the key of places: a pack, or parts of a run, which all have the same.
pub(super) fn take_key<'a>(
    to: &Path,
    places: impl IntoIterator<Item = &'a Path>,
) -> Result<(), FolderError> {
    let mut taken: Option<Option<Vec<u8>>> = None;
    for place in places {
        let path = place.join(KEY_FILE);
        let failed = |reason: String| FolderError::Read {
            path: path.clone(),
            reason,
        };
        let found = match read_file(place, &path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error.to_string())),
        };
        if taken.as_ref().is_some_and(|taken| *taken != found) {
            return Err(failed(
                "the parts of one run have one key, and another part has another one".into(),
            ));
        }
        taken = Some(found);
    }
    let Some(Some(bytes)) = taken else {
        return Ok(());
    };
    let path = to.join(KEY_FILE);
    fs::write(&path, bytes).map_err(|source| FolderError::Write { path, source })?;
    // Before anything is played: who cannot read the records shall not make them.
    key_of(to).map(drop)
}
