//! What the program carries: the built-in suite and the plugins, unpacked into the cache when they are first needed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pibench_embedded::Archive;
use pibench_sandbox::{cache_files, cache_usable};

static CARRIED: OnceLock<&[u8]> = OnceLock::new();

/// Says what the program carries, before anything asks for it. The program's own file includes the bytes, so that another archive
/// compiles that file anew and not the commands.
pub fn carry(bytes: &'static [u8]) {
    CARRIED.get_or_init(|| bytes);
}

/// The archive; None where the program was built without one.
pub fn archive() -> Option<Archive<'static>> {
    Archive::read(CARRIED.get()?)
}

/// The folder of the plugins, below what [`unpack`] gives.
pub const PLUGINS: &str = "plugins";

/// The suite's file, likewise.
pub const SUITE: &str = "suite/suite.toml";

/// The folder of the archive's files in the cache, named after their digest: other contents have another folder. What lies there
/// is taken only where nobody but this user can have put it there, and all of it.
pub fn unpack(archive: Archive<'_>, cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(format!("embedded-{}", &archive.digest()[..16]));
    if !folder.is_dir() {
        cache_usable(cache)?;
        match archive.unpack("", &folder) {
            // Another process was faster.
            Err(_) if folder.is_dir() => {}
            unpacked => unpacked?,
        }
    }
    let found = cache_files(cache, &folder)?;
    for (path, size) in archive.sizes()? {
        if found.get(&path) != Some(&size) {
            let (path, folder) = (folder.join(path), folder.display());
            let reason = format!(
                "{} is not what was unpacked there; remove {folder}",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
    }
    Ok(folder)
}

/// This program without the archive, in the cache: what agents are shown of it. Made once, and named after the program's contents.
pub fn hollow(cache: &Path) -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let Some(archive) = archive() else {
        return Ok(program);
    };
    let digest = blake3::hash(&std::fs::read(&program)?).to_hex();
    let copy = cache.join(format!("bridge-{}", &digest[..16]));
    if copy.is_file() {
        // Agents are handed it to run.
        cache_files(cache, &copy)?;
    } else {
        cache_usable(cache)?;
        archive.write_without(&program, &copy)?;
    }
    Ok(copy)
}
