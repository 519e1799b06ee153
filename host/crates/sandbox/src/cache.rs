//! Compiled components on disk. A file is used only when its keyed hash says that this installation wrote it: wasmtime
//! trusts what it deserializes, so a stranger's file would be a stranger's machine code.

pub(super) mod known;
mod own;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use own::files;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::compile::CompileError;
use super::engine::Effort;
use super::profile::Profile;

/// A folder of compiled components, or none where none can be trusted.
#[derive(Debug, Clone)]
pub(super) struct Cache(Option<Opened>);

#[derive(Debug, Clone)]
struct Opened {
    dir: PathBuf,
    key: [u8; 32],
}

const KEY_FILE: &str = "key";
const MAC: usize = 32;

/// A link in the cache is refused.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Where a process finds its open files by their numbers.
const OPEN_FILES: &str = if cfg!(target_os = "linux") {
    "/proc/self/fd"
} else {
    "/dev/fd"
};

impl Cache {
    /// Opens the folder, making it (mode 0700) and its key (mode 0600) when they are missing. A folder that somebody
    /// else could write is not used: components are then compiled in each process.
    pub(super) fn open(dir: &Path) -> Self {
        match open(dir) {
            Ok(opened) => Self(Some(opened)),
            Err(error) => {
                tracing::warn!(dir = %dir.display(), %error, "no cache for compiled plugins");
                Self(None)
            }
        }
    }

    /// Whether the compiled code of these bytes is here. Whether it is ours shows when it is used.
    pub(super) fn has(
        &self,
        engine: &Engine,
        profile: Profile,
        effort: Effort,
        sha256: &str,
    ) -> bool {
        let file = format!("{}.aot", name(engine, profile, effort, sha256));
        let opened = self.0.as_ref();
        opened.is_some_and(|opened| opened.dir.join(file).exists())
    }

    /// Whether anything is kept.
    pub(super) fn keeps(&self) -> bool {
        self.0.is_some()
    }

    /// Removes quickly compiled code, once there is better. Who runs it has it mapped.
    pub(super) fn remove_replaced(&self, engine: &Engine, profile: Profile, sha256: &str) {
        if let Some(opened) = &self.0 {
            let file = format!("{}.aot", name(engine, profile, Effort::Quick, sha256));
            let _ = fs::remove_file(opened.dir.join(file));
        }
    }

    /// The component whose bytes have this hash, from the cache or compiled and put there. Of several processes that want
    /// the same one, one compiles it.
    pub(super) fn component(
        &self,
        engine: &Engine,
        profile: Profile,
        effort: Effort,
        sha256: &str,
        compile: impl FnOnce() -> Result<Vec<u8>, CompileError>,
    ) -> Result<Component, CompileError> {
        let Some(opened) = &self.0 else {
            return fresh(engine, &compile()?);
        };
        let name = name(engine, profile, effort, sha256);
        let file = opened.dir.join(format!("{name}.aot"));
        if let Some(component) = opened.read(engine, &file) {
            return Ok(component);
        }
        let _turn = opened.turn(&name);
        if let Some(component) = opened.read(engine, &file) {
            return Ok(component);
        }
        let code = compile()?;
        if let Err(error) = opened.write(&file, &code) {
            tracing::warn!(file = %file.display(), %error, "compiled plugin not cached");
        }
        fresh(engine, &code)
    }
}

/// Whether this program may keep something in the folder, which is made when it is missing; else why not.
pub fn usable(dir: &Path) -> std::io::Result<()> {
    open(dir).map(drop)
}

/// Bytes of the files in the folder, which is made when it is missing; an error where it cannot be used.
pub fn size(dir: &Path) -> std::io::Result<u64> {
    let opened = open(dir)?;
    let mut bytes = 0;
    for entry in fs::read_dir(&opened.dir)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Keeps that this user said something, by its digest in hex: nobody else can write it here.
pub fn keep_said(dir: &Path, digest: &str) -> std::io::Result<()> {
    let opened = open(dir)?;
    opened.write(&opened.said(digest), &[])
}

/// Whether this user said it, with this cache.
pub fn was_said(dir: &Path, digest: &str) -> bool {
    open(dir).is_ok_and(|opened| opened.content(&opened.said(digest)).is_some())
}

/// A component of code that was compiled a moment ago.
fn fresh(engine: &Engine, code: &[u8]) -> Result<Component, CompileError> {
    deserialize(engine, code).map_err(|error| CompileError::Invalid(format!("{error:#}")))
}

fn open(dir: &Path) -> std::io::Result<Opened> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)?;
    own::check(dir, own::user(dir))?;
    Ok(Opened {
        key: key(dir)?,
        dir: dir.to_owned(),
    })
}

/// The user that this process acts as: the owner of a file that it has just made.
fn owner(dir: &Path) -> std::io::Result<u32> {
    Ok(tempfile::NamedTempFile::new_in(dir)?
        .as_file()
        .metadata()?
        .uid())
}

fn key(dir: &Path) -> std::io::Result<[u8; 32]> {
    let path = dir.join(KEY_FILE);
    if path.symlink_metadata().is_ok() {
        return read_key(dir, &path);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| std::io::Error::other(error.to_string()))?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&key)?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(key),
        // Another process was faster: its key is the key.
        Err(_) => read_key(dir, &path),
    }
}

fn read_key(dir: &Path, path: &Path) -> std::io::Result<[u8; 32]> {
    let mut file = open_file(path)?;
    let metadata = file.metadata()?;
    let mut key = [0; 32];
    let whole = metadata.len() == key.len() as u64;
    if !whole || metadata.mode() & 0o077 != 0 || metadata.uid() != owner(dir)? {
        return Err(std::io::Error::other(
            "its key file is damaged, or others may read it; remove the folder",
        ));
    }
    file.read_exact(&mut key)?;
    Ok(key)
}

fn name(engine: &Engine, profile: Profile, effort: Effort, sha256: &str) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    let effort = match effort {
        Effort::Quick => "-quick",
        Effort::Full => "",
    };
    format!(
        "{sha256}-{}-{:016x}{effort}",
        profile.name(),
        hasher.finish()
    )
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            use std::fmt::Write as _;
            let _ = write!(text, "{byte:02x}");
            text
        })
}

impl Opened {
    /// None when there is no file or it is not ours; such a file is removed.
    fn read(&self, engine: &Engine, path: &Path) -> Option<Component> {
        let mut file = open_file(path).ok()?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let verified = self.is_ours(path, length, &mut file).unwrap_or(false);
        let component = verified.then(|| map(engine, &file).ok()).flatten();
        if component.is_none() {
            tracing::warn!(file = %path.display(), "compiled plugin refused and made again");
            let _ = fs::remove_file(path);
        }
        component
    }

    /// Waits until no other process compiles this component; the lock is held until the answer is dropped. None where
    /// locks cannot be had: then it may be compiled twice.
    fn turn(&self, name: &str) -> Option<File> {
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(NOFOLLOW)
            .open(self.dir.join(format!("{name}.lock")))
            .ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// Where it is kept that something was said.
    fn said(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}.said"))
    }

    /// What a small file of ours holds.
    fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        open_file(path).ok()?.read_to_end(&mut bytes).ok()?;
        let length = bytes.len() as u64;
        let verified = self.is_ours(path, length, &mut &bytes[..]);
        bytes.truncate(bytes.len().saturating_sub(MAC));
        verified.ok()?.then_some(bytes)
    }

    /// Whether `write` of this installation wrote these bytes under this name.
    fn is_ours(&self, path: &Path, length: u64, bytes: &mut impl Read) -> std::io::Result<bool> {
        let Some(length) = length.checked_sub(MAC as u64) else {
            return Ok(false);
        };
        let mut hasher = self.hasher(path);
        hasher.update_reader(Read::by_ref(bytes).take(length))?;
        let mut mac = [0; MAC];
        bytes.read_exact(&mut mac)?;
        // Hashes are compared in constant time.
        Ok(hasher.finalize() == blake3::Hash::from_bytes(mac))
    }

    /// The file's name is part of what is authenticated, so that one file cannot stand for another.
    fn hasher(&self, path: &Path) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.update(&[0]);
        hasher
    }

    /// The code, and behind it the keyed hash: so the code can be mapped from the file's start.
    fn write(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(code)?;
        file.write_all(self.hasher(path).update(code).finalize().as_bytes())?;
        file.persist(path)?;
        Ok(())
    }
}

fn open_file(path: &Path) -> std::io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(NOFOLLOW).open(path)
}

/// The code of a file that was verified, as it lies in the page cache: reading it into memory and again into the engine's
/// took longer than all else that loading does.
#[expect(unsafe_code, reason = "as with `deserialize`")]
fn map(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    // The file that was verified, whatever lies under its name by now.
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    // SAFETY: `is_ours` holds for the file. It lies in a folder that only this user can write to, and this program never
    // writes to a file that has its name there; who runs as this user can change this process as well.
    unsafe { Component::deserialize_file(engine, open) }
}

#[expect(
    unsafe_code,
    reason = "wasmtime cannot check machine code; who compiled it was checked by the caller"
)]
fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `code` was compiled by this program just now, here or in its child. It lies in memory that nobody else can
    // change, and wasmtime checks that it was compiled for this engine's settings.
    unsafe { Component::deserialize(engine, code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (tempfile::TempDir, Opened) {
        let dir = tempfile::tempdir().unwrap();
        let opened = open(&dir.path().join("cache")).unwrap();
        (dir, opened)
    }

    fn is_ours(opened: &Opened, path: &Path) -> bool {
        opened.content(path).is_some()
    }

    #[test]
    fn what_was_written_is_verified() {
        let (_dir, opened) = opened();
        let path = opened.dir.join("a.aot");
        opened.write(&path, b"code").unwrap();
        assert_eq!(opened.content(&path).as_deref(), Some(b"code".as_slice()));
    }

    #[test]
    fn a_changed_byte_another_name_and_a_foreign_key_are_refused() {
        let (_dir, opened) = opened();
        let path = opened.dir.join("a.aot");
        opened.write(&path, b"code").unwrap();
        let other = opened.dir.join("b.aot");
        fs::copy(&path, &other).unwrap();
        assert!(!is_ours(&opened, &other));
        let foreign = Opened {
            key: [7; 32],
            ..opened.clone()
        };
        assert!(!is_ours(&foreign, &path));
        let bytes = fs::read(&path).unwrap();
        for changed in [0, 3, bytes.len() - 1] {
            let mut bytes = bytes.clone();
            bytes[changed] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(!is_ours(&opened, &path), "byte {changed}");
        }
        for cut in [0, 10, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert!(!is_ours(&opened, &path), "{cut} bytes");
        }
    }

    #[test]
    fn a_folder_that_others_may_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Cache::open(dir.path()).0.is_none());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(Cache::open(dir.path()).0.is_some());
    }

    #[test]
    fn what_this_user_said_is_known_and_nobody_elses_word_is_taken_for_it() {
        let (_dir, opened) = opened();
        let dir = &opened.dir;
        assert!(!was_said(dir, "aa"));
        keep_said(dir, "aa").unwrap();
        assert!(was_said(dir, "aa") && !was_said(dir, "bb"));
        fs::copy(opened.said("aa"), opened.said("bb")).unwrap();
        assert!(!was_said(dir, "bb"), "one file stands for no other");
        let foreign = Opened {
            key: [7; 32],
            ..opened.clone()
        };
        foreign.write(&opened.said("cc"), &[]).unwrap();
        fs::write(opened.said("dd"), []).unwrap();
        assert!(!was_said(dir, "cc") && !was_said(dir, "dd"));
    }

    #[test]
    fn the_key_stays() {
        let (_dir, opened) = opened();
        assert_eq!(open(&opened.dir).unwrap().key, opened.key);
    }
}
