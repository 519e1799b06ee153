//! A pack as one file, `NAME.pibench`: a tar compressed by zstd. It begins with the list of all its files, then the signature over
//! that list, where there is one, then the files as the list has them. The same files make the same bytes. A reader takes what
//! the list says, in its order and to the byte, and nothing else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use pibench_suite::pack::Pack;
use pibench_vault::files::add;
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, Entry, EntryType};

use crate::PackError;
use crate::contents::{
    self, Contents, FILE_LIMIT, FILES_LIMIT, LIST, LIST_LIMIT, SIGNATURE, TOTAL_LIMIT,
};

/// How the names of archives end.
pub const EXTENSION: &str = "pibench";

/// Bytes of an archive's file.
pub const ARCHIVE_LIMIT: u64 = 1 << 30;

/// Bytes of a signature: those of RSA keys of 16,384 bits have 6 KiB.
const SIGNATURE_LIMIT: u64 = 16 << 10;

/// What a tar takes beside the contents: a header and the rest of a block for each file, and its end.
const BLOCK: u64 = 512;
const FRAME: u64 = 2 * BLOCK * (FILES_LIMIT as u64 + 2) + 64 * BLOCK;

/// What a decompressor holds of earlier bytes at most: 2 to the power of it.
const WINDOW: u32 = 27;
const LEVEL: i32 = 9;

/// Writes the archive of a folder, which appears whole and takes no other file's place.
pub fn write(
    out: &Path,
    folder: &Utf8Path,
    contents: &Contents,
    signature: Option<&str>,
) -> Result<(), PackError> {
    let failed = |source: io::Error| PackError::Io {
        doing: "write",
        path: out.to_owned(),
        source,
    };
    let refused = |reason: String| PackError::refused(folder, reason);
    let dir = out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
    let mut packed = zstd::Encoder::new(file, LEVEL).map_err(failed)?;
    packed.include_checksum(true).map_err(failed)?;
    let mut tar = Builder::new(packed);
    add(&mut tar, LIST, contents.text().as_bytes()).map_err(failed)?;
    if let Some(signature) = signature {
        add(&mut tar, SIGNATURE, signature.as_bytes()).map_err(failed)?;
    }
    let mut pack = Pack::open_as_it_lies(folder).map_err(|error| refused(error.to_string()))?;
    for file in &contents.files {
        let bytes = pack.read(&file.path, FILE_LIMIT);
        let bytes = bytes.map_err(|error| refused(format!("failed to {error}")))?;
        if contents::sha256(&bytes) != file.sha256 {
            return Err(refused(format!("`{}` was changed just now", file.path)));
        }
        add(&mut tar, &file.path, &bytes).map_err(failed)?;
    }
    let file = tar.into_inner().and_then(zstd::Encoder::finish);
    let file = file.map_err(failed)?;
    let kept = file
        .persist_noclobber(out)
        .map_err(|error| failed(error.error))?;
    readable(&kept).map_err(failed)
}

/// As any other file that a program makes, and not for its maker alone; nobody else writes to it, whatever the umask lets.
pub(crate) fn readable(file: &File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// Makes a folder that is not there, and those above it: everybody may read them, and their owner alone writes to them, whatever the
/// umask lets.
pub(crate) fn make_folder(dir: &Path) -> io::Result<()> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(());
    }
    if let Some(above) = dir.parent() {
        make_folder(above)?;
    }
    match fs::create_dir(dir) {
        // Another process was first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => fs::set_permissions(dir, fs::Permissions::from_mode(0o755)),
    }
}

/// An archive that was unpacked.
#[derive(Debug)]
pub struct Unpacked {
    pub contents: Contents,
    /// Armored, as it lies in the archive; None where nobody signed.
    pub signature: Option<String>,
}

/// Unpacks an archive into a new, empty folder that nobody else writes to. It is a stranger's: a name leads nowhere but into
/// that folder, and no more is written than the list says, which holds the limits.
pub fn unpack(path: &Path, to: &Path) -> Result<Unpacked, PackError> {
    let failed = |source| PackError::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    };
    let shown = path.display().to_string();
    let refused = |reason: String| PackError::refused(&shown, reason);
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(refused("it is no file".into()));
    }
    if data.len() > ARCHIVE_LIMIT {
        return Err(refused(format!(
            "{} bytes, more than the limit of {ARCHIVE_LIMIT}",
            data.len()
        )));
    }
    let mut packed = zstd::Decoder::new(file).map_err(failed)?;
    packed.window_log_max(WINDOW).map_err(failed)?;
    // Padding counts: a tar can be empty for terabytes.
    let limit = TOTAL_LIMIT + LIST_LIMIT + SIGNATURE_LIMIT + FRAME;
    let mut tar = Archive::new(packed.take(limit));
    let unpacked = entries(&mut tar, to).map_err(|error| match error {
        Wrong::Refused(reason) => refused(reason),
        Wrong::Disk { path, source } => PackError::Io {
            doing: "write",
            path,
            source,
        },
    })?;
    // Behind the end of a tar some readers see another one.
    let mut rest = tar.into_inner();
    let mut block = [0; 4096];
    loop {
        match rest.read(&mut block) {
            Ok(0) => break,
            Ok(read) if block[..read].iter().all(|&byte| byte == 0) => {}
            Ok(_) => return Err(refused("something stands behind its end".into())),
            Err(error) => return Err(refused(format!("it is no whole archive ({error})"))),
        }
    }
    if rest.limit() == 0 {
        return Err(refused(format!("unpacked it has more than {limit} bytes")));
    }
    Ok(unpacked)
}

enum Wrong {
    Refused(String),
    Disk { path: PathBuf, source: io::Error },
}

impl From<String> for Wrong {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Takes the entries in the order in which they have to come.
fn entries<R: Read>(tar: &mut Archive<R>, to: &Path) -> Result<Unpacked, Wrong> {
    let whole = |error: io::Error| format!("it is no whole archive ({error})");
    // As they stand there: extensions of the format give names of any length, in as much memory.
    let mut entries = tar.entries().map_err(whole)?.raw(true);
    let mut next = || entries.next().transpose().map_err(whole);
    let first = next()?.filter(|entry| *entry.path_bytes() == *LIST.as_bytes());
    let mut first = first.ok_or_else(|| format!("it does not begin with {LIST}"))?;
    let contents = Contents::parse(&text(&mut first, LIST, LIST_LIMIT)?)?;
    let mut entry = next()?;
    let mut signature = None;
    if let Some(signed) = &mut entry
        && *signed.path_bytes() == *SIGNATURE.as_bytes()
    {
        signature = Some(text(signed, SIGNATURE, SIGNATURE_LIMIT)?);
        entry = next()?;
    }
    for file in &contents.files {
        let Some(mut found) = entry else {
            return Err(format!("`{}` of its list is not in it", file.path).into());
        };
        let name = found.path_bytes().into_owned();
        if name != file.path.as_bytes() {
            let name = String::from_utf8_lossy(&name);
            return Err(format!(
                "`{}` stands where its list has `{}`",
                name.escape_debug(),
                file.path
            )
            .into());
        }
        plain(&found, &file.path)?;
        if found.size() != file.size {
            return Err(format!(
                "`{}` has {} bytes, and its list says {}",
                file.path,
                found.size(),
                file.size
            )
            .into());
        }
        let target = to.join(&file.path);
        let digest = put(&mut found, &target)?;
        if digest != file.sha256 {
            return Err(format!("`{}` is not what its list says", file.path).into());
        }
        entry = next()?;
    }
    if let Some(more) = entry {
        let name = more.path_bytes();
        let name = String::from_utf8_lossy(&name);
        return Err(format!("`{}` is not on its list", name.escape_debug()).into());
    }
    Ok(Unpacked {
        contents,
        signature,
    })
}

/// Refuses everything but a plain file.
fn plain<R: Read>(entry: &Entry<'_, R>, name: &str) -> Result<(), String> {
    if entry.header().entry_type() != EntryType::Regular {
        return Err(format!("`{name}` is no plain file"));
    }
    Ok(())
}

fn text<R: Read>(entry: &mut Entry<'_, R>, name: &str, limit: u64) -> Result<String, String> {
    plain(entry, name)?;
    if entry.size() > limit {
        return Err(format!(
            "{name} has {} bytes, more than the limit of {limit}",
            entry.size()
        ));
    }
    let mut text = String::new();
    let read = entry.read_to_string(&mut text);
    read.map_err(|error| format!("{name}: {error}"))?;
    Ok(text)
}

/// Writes a file of the pack; its SHA-256.
fn put<R: Read>(entry: &mut Entry<'_, R>, target: &Path) -> Result<String, Wrong> {
    let disk = |source| Wrong::Disk {
        path: target.to_owned(),
        source,
    };
    if let Some(dir) = target.parent() {
        make_folder(dir).map_err(disk)?;
    }
    let mut file = File::create_new(target).map_err(disk)?;
    readable(&file).map_err(disk)?;
    let mut digest = Sha256::new();
    let mut block = vec![0; 64 << 10];
    loop {
        let read = entry.read(&mut block);
        let read = read.map_err(|error| format!("it is no whole archive ({error})"))?;
        if read == 0 {
            return Ok(format!("{:x}", digest.finalize()));
        }
        digest.update(&block[..read]);
        file.write_all(&block[..read]).map_err(disk)?;
    }
}

#[cfg(test)]
mod tests;
