//! The private keys that this process was given, and the keys of places that they open. A place is a folder with a `key.age`: a
//! private pack, or a run of one. One keyring for the process: whoever reads a record need not know whether it is private.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::cipher::KEY_BYTES;
use crate::people::{Identities, Recipient, encrypt};
use crate::{FILES_FILE, KEY_FILE, Key, PACK_FILE, VaultError, files};

/// Bytes of a `key.age`: a thousand recipients.
const KEY_FILE_LIMIT: u64 = 1 << 20;

/// Bytes of a `private.age`.
const FILES_FILE_LIMIT: u64 = files::TOTAL_LIMIT + (64 << 20);

/// The open files of a private pack that stand in its `private.age` once more. So nobody who cannot decrypt it puts it beside a
/// key or a name of their own, under which those who can would keep what they play.
const BOUND: [&str; 2] = [KEY_FILE, PACK_FILE];

static IDENTITIES: OnceLock<Identities> = OnceLock::new();
static KEYS: Mutex<Option<HashMap<PathBuf, Key>>> = Mutex::new(None);

/// Gives this process its private keys, once; those that come later are not taken.
pub fn hold(identities: Identities) {
    let _ = IDENTITIES.set(identities);
}

fn held() -> &'static Identities {
    IDENTITIES.get_or_init(Identities::default)
}

/// The files of these private keys, as they were named.
pub fn key_files() -> &'static [PathBuf] {
    held().files()
}

/// The key of a place; None where nothing is private.
pub fn key_of(place: &Path) -> Result<Option<Key>, VaultError> {
    let name = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    {
        let keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.as_ref().and_then(|keys| keys.get(&name)) {
            return Ok(Some(key.clone()));
        }
    }
    let Some(encrypted) = read(&place.join(KEY_FILE), KEY_FILE_LIMIT)? else {
        return Ok(None);
    };
    let closed = |reason: String| VaultError::Closed {
        place: place.display().to_string(),
        reason,
    };
    let bytes = held().decrypt(&encrypted, KEY_BYTES as u64);
    let key = Key::of(&bytes.map_err(closed)?);
    let key = key.ok_or_else(|| closed(format!("{KEY_FILE} holds no key")))?;
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    keys.get_or_insert_default().insert(name, key.clone());
    Ok(Some(key))
}

/// Whether a place is private, whoever asks.
pub fn is_private(place: &Path) -> bool {
    place.join(KEY_FILE).exists()
}

/// The files of a private pack, decrypted; None where it is none. Refused where they are those of another pack.
pub fn files_of(place: &Path) -> Result<Option<files::Files>, VaultError> {
    let Some(encrypted) = read(&place.join(FILES_FILE), FILES_FILE_LIMIT)? else {
        return Ok(None);
    };
    let closed = |reason: String| VaultError::Closed {
        place: place.display().to_string(),
        reason,
    };
    let packed = held().decrypt(&encrypted, files::TOTAL_LIMIT);
    let files = files::unpack(&packed.map_err(closed)?);
    let mut files = files.map_err(closed)?;
    for name in BOUND {
        let Some(own) = files.remove(name) else {
            return Err(closed(format!(
                "its {FILES_FILE} does not say to which {name} it belongs, so that anybody can have put it there; its maker has to \
                 pack it again by this version"
            )));
        };
        if read(&place.join(name), KEY_FILE_LIMIT)? != Some(own) {
            return Err(closed(format!(
                "its {FILES_FILE} was made beside another {name} and is of another pack; take that pack from its maker"
            )));
        }
    }
    Ok(Some(files))
}

/// What a private pack has in the place of its files, to these recipients: `key.age` and `private.age`. `pack`: its `pack.toml`.
pub fn lock(
    files: &files::Files,
    pack: &[u8],
    to: &[Recipient],
) -> Result<[(&'static str, Vec<u8>); 2], VaultError> {
    let key = encrypt(Key::draw()?.bytes(), to)?;
    let bound: files::Files = [(KEY_FILE, &*key), (PACK_FILE, pack)]
        .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
        .into();
    let packed = files::pack(bound.iter().chain(files))?;
    Ok([(KEY_FILE, key), (FILES_FILE, encrypt(&packed, to)?)])
}

/// Refuses a run folder that would keep what it plays of a private pack under another key than the pack's, or in clear.
pub fn check_key(run: &Path, pack: &Path) -> Result<(), VaultError> {
    let Some(key) = read(&pack.join(KEY_FILE), KEY_FILE_LIMIT)? else {
        return Ok(());
    };
    if read(&run.join(KEY_FILE), KEY_FILE_LIMIT)? == Some(key) {
        return Ok(());
    }
    Err(VaultError::Closed {
        place: run.display().to_string(),
        reason: format!(
            "its {KEY_FILE} is not that of {}, whose recipients alone read what is played of it; begin a run of your own",
            pack.display()
        ),
    })
}

/// A file's bytes; None where it is not there.
fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, VaultError> {
    let failed = |source| VaultError::Io {
        path: path.to_owned(),
        source,
    };
    // The place may be a stranger's: a link leads elsewhere, and a pipe has no end.
    match path.symlink_metadata() {
        Ok(data) if data.is_file() => {}
        Ok(_) => {
            return Err(failed(std::io::Error::other(
                "it is not a regular file, and no link is followed",
            )));
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(failed(std::io::Error::other(format!(
            "it has more than {limit} bytes"
        ))));
    }
    Ok(Some(bytes))
}
