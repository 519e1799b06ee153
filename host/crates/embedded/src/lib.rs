//! The archive that the program carries: folders of files, packed when the program is built and unpacked where it runs. It
//! knows files only, and neither a suite nor a plugin; it looks at no environment and decides on no place.
//!
//! An archive is a head, an index as compressed JSON, and frames of compressed bytes. A large file is a frame of its own, so
//! that a change of one leaves the others packed; the small files of a folder share one, for they are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What an archive begins with; the digit is the version of the format.
const MAGIC: &[u8; 8] = b"PIBENCH1";

/// Bytes of the head: the mark, the digest and the length of the index.
const HEAD: usize = MAGIC.len() + blake3::OUT_LEN + 4;

/// A file of so many bytes is a frame of its own. The apps are smaller: in one frame they take two thirds, for much of their code
/// is the same, and it is unpacked before the largest file is.
const LARGE: usize = 4 << 20;

/// As small as it gets before it takes minutes: the whole takes some fifteen seconds once, and a fifth less than at 9.
const LEVEL: i32 = 19;

/// A packed archive.
#[derive(Debug, Clone, Copy)]
pub struct Archive<'a> {
    bytes: &'a [u8],
    index: usize,
}

/// Where each file is.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    /// Compressed bytes of each frame, in their order.
    frames: Vec<usize>,
    files: Vec<Packed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Packed {
    /// Below the archive's root, with `/` between the parts.
    path: String,
    frame: usize,
    /// In the frame's contents.
    at: usize,
    size: usize,
}

/// What goes into one frame.
#[derive(Debug, Default)]
struct Frame {
    content: Vec<u8>,
    files: Vec<(String, usize)>,
}

impl<'a> Archive<'a> {
    /// The archive in these bytes; None where they are no archive of this version, as in a program that was built without.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let length = bytes.get(HEAD - 4..HEAD)?.try_into().ok()?;
        let index = u32::from_le_bytes(length) as usize;
        let whole = bytes.starts_with(MAGIC) && bytes.len() >= HEAD + index;
        whole.then_some(Self { bytes, index })
    }

    /// BLAKE3 over the paths and contents of all files, hex. It does not depend on how they are packed.
    pub fn digest(&self) -> String {
        let mut digest = [0; blake3::OUT_LEN];
        digest.copy_from_slice(&self.bytes[MAGIC.len()..HEAD - 4]);
        blake3::Hash::from_bytes(digest).to_hex().to_string()
    }

    /// Writes a copy of a program that carries this archive, with zeros in its place, as `to`, which appears whole. Whoever
    /// reads the copy finds nothing of the archive; all else of the program works in it.
    pub fn write_without(&self, program: &Path, to: &Path) -> io::Result<()> {
        let mut bytes = fs::read(program)?;
        let head = &self.bytes[..HEAD];
        let at = bytes.windows(HEAD).position(|here| here == head);
        let Some(place) = at.and_then(|at| bytes.get_mut(at..at + self.bytes.len())) else {
            let program = program.display();
            let reason = format!("find the archive in {program}: it is not there");
            return Err(io::Error::other(reason));
        };
        place.fill(0);
        if bytes.windows(HEAD).any(|here| here == head) {
            return Err(io::Error::other("there is a second archive in it"));
        }
        let above = to.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(above)?;
        file.write_all(&bytes)?;
        let mode = fs::Permissions::from_mode(0o555);
        file.as_file().set_permissions(mode)?;
        file.persist(to)?;
        Ok(())
    }

    /// Writes the files below `prefix` (`""` for all) into the folder `to`, which appears whole: it must not be there yet,
    /// and the folder above it must. Nobody may write to the files.
    pub fn unpack(&self, prefix: &str, to: &Path) -> io::Result<()> {
        let above = to.parent().filter(|dir| !dir.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let folder = tempfile::Builder::new()
            .prefix(".unpacking")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(above)?;
        self.write(prefix, folder.path(), 0o444)?;
        fs::rename(folder.path(), to)
    }

    /// Writes the files below `prefix` into a folder that is there, for their owner to change.
    pub fn export(&self, prefix: &str, to: &Path) -> io::Result<()> {
        self.write(prefix, to, 0o644)
    }

    /// Bytes of each file, by its path below the archive's root.
    pub fn sizes(&self) -> io::Result<BTreeMap<PathBuf, u64>> {
        let files = self.index()?.files.into_iter();
        Ok(files
            .map(|file| (PathBuf::from(file.path), file.size as u64))
            .collect())
    }

    fn index(&self) -> io::Result<Index> {
        let packed = &self.bytes[HEAD..HEAD + self.index];
        Ok(serde_json::from_slice(&zstd::decode_all(packed)?)?)
    }

    fn write(&self, prefix: &str, to: &Path, mode: u32) -> io::Result<()> {
        let index = self.index()?;
        let wanted = |file: &Packed| file.path.starts_with(prefix);
        let mut at = HEAD + self.index;
        let mut frames = Vec::new();
        for (number, size) in index.frames.iter().enumerate() {
            let files = index.files.iter().filter(|file| file.frame == number);
            let files: Vec<&Packed> = files.filter(|file| wanted(file)).collect();
            frames.push((at, *size, files));
            at += size;
        }
        frames.retain(|(.., files)| !files.is_empty());
        frames.par_iter().try_for_each(|(at, size, files)| {
            let packed = self.bytes.get(*at..at + size).ok_or_else(cut)?;
            let content = zstd::decode_all(packed)?;
            files.iter().try_for_each(|file| {
                let own = file.path.strip_prefix(prefix).unwrap_or(&file.path);
                let content = content.get(file.at..file.at + file.size).ok_or_else(cut)?;
                put(&to.join(own.trim_start_matches('/')), content, mode)
            })
        })
    }
}

fn cut() -> io::Error {
    io::Error::other("the archive is cut off")
}

fn put(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        // Others may not write there, whatever else the user lets them.
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o755).create(folder)?;
    }
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Packs folders, each under its name. Frames that were packed before are taken from the folder `kept`, which is left with
/// the frames of this archive.
pub fn pack(folders: &[(&str, &Path)], kept: &Path) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for (name, folder) in folders {
        all.extend(frames(name, folder)?);
    }
    fs::create_dir_all(kept)?;
    let mut digests = BTreeMap::new();
    for frame in &all {
        let mut at = 0;
        for (path, size) in &frame.files {
            digests.insert(path, blake3::hash(&frame.content[at..at + size]));
            at += size;
        }
    }
    let mut hasher = blake3::Hasher::new();
    for (path, content) in digests {
        hasher
            .update(&(path.len() as u64).to_le_bytes())
            .update(path.as_bytes())
            .update(content.as_bytes());
    }
    let packed = all.par_iter().with_max_len(1);
    let packed: Vec<(PathBuf, Vec<u8>)> = packed
        .map(|frame| pack_once(&frame.content, kept))
        .collect::<io::Result<_>>()?;
    forget(kept, &packed.iter().map(|(path, _)| path.clone()).collect())?;
    let index = Index {
        frames: packed.iter().map(|(_, bytes)| bytes.len()).collect(),
        files: all.iter().enumerate().flat_map(placed).collect(),
    };
    let index = zstd::encode_all(&serde_json::to_vec(&index)?[..], LEVEL)?;
    let length = u32::try_from(index.len()).map_err(io::Error::other)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(hasher.finalize().as_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&index);
    for (_, frame) in packed {
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

/// The files of a frame as the index has them.
fn placed((number, frame): (usize, &Frame)) -> Vec<Packed> {
    let mut at = 0;
    let files = frame.files.iter().map(|(path, size)| {
        let placed = Packed {
            path: path.clone(),
            frame: number,
            at,
            size: *size,
        };
        at += size;
        placed
    });
    files.collect()
}

/// The frames of a folder, the largest first: of several processors none begins with it last.
fn frames(name: &str, folder: &Path) -> io::Result<Vec<Frame>> {
    let mut small = Frame::default();
    let mut all = Vec::new();
    for path in files(folder)? {
        let content = fs::read(folder.join(&path)).map_err(|error| at(&path, &error))?;
        let file = (format!("{name}/{path}"), content.len());
        if content.len() >= LARGE {
            all.push(Frame {
                content,
                files: vec![file],
            });
        } else {
            small.content.extend_from_slice(&content);
            small.files.push(file);
        }
    }
    all.push(small);
    all.sort_by_key(|frame| std::cmp::Reverse(frame.content.len()));
    Ok(all)
}

/// The paths of all files below a folder, sorted; hidden ones are left out.
fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(inner) = folders.pop() {
        let entries = fs::read_dir(folder.join(&inner));
        for entry in entries.map_err(|error| at(&folder.join(&inner).to_string_lossy(), &error))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| {
                io::Error::other(format!("{}: its name is no UTF-8", entry.path().display()))
            })?;
            if name.starts_with('.') {
                continue;
            }
            let path = if inner.is_empty() {
                name.to_owned()
            } else {
                format!("{inner}/{name}")
            };
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn at(path: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("read {path}: {error}"))
}

/// A compressed frame, from the folder of those that were packed before or packed and put there.
fn pack_once(content: &[u8], kept: &Path) -> io::Result<(PathBuf, Vec<u8>)> {
    let path = kept.join(format!("{}.zst", blake3::hash(content).to_hex()));
    if let Ok(bytes) = fs::read(&path) {
        return Ok((path, bytes));
    }
    let bytes = zstd::encode_all(content, LEVEL)?;
    let mut file = tempfile::NamedTempFile::new_in(kept)?;
    file.write_all(&bytes)?;
    file.persist(&path)?;
    Ok((path, bytes))
}

/// Removes the frames of earlier archives.
fn forget(kept: &Path, used: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(kept)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "zst") && !used.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dir: &Path, files: &[(&str, &[u8])]) {
        for (path, content) in files {
            put(&dir.join(path), content, 0o644).unwrap();
        }
    }

    fn packed(dir: &Path) -> Vec<u8> {
        let (plugins, suite) = (dir.join("p"), dir.join("s"));
        pack(
            &[("plugins", &plugins), ("suite", &suite)],
            &dir.join("kept"),
        )
        .unwrap()
    }

    fn scene() -> (tempfile::TempDir, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let large = vec![7; LARGE + 1];
        written(
            dir.path(),
            &[
                ("p/a.wasm", &large),
                ("p/lock", b"v"),
                ("s/suite.toml", b"id"),
                ("s/deep/er/empty", b""),
                ("s/.hidden", b"no"),
            ],
        );
        let bytes = packed(dir.path());
        (dir, bytes)
    }

    #[test]
    fn what_was_packed_is_unpacked_and_hidden_files_are_left_out() {
        let (dir, bytes) = scene();
        let archive = Archive::read(&bytes).unwrap();
        let to = dir.path().join("out");
        archive.unpack("", &to).unwrap();
        let found = files(&to).unwrap();
        assert_eq!(
            found,
            [
                "plugins/a.wasm",
                "plugins/lock",
                "suite/deep/er/empty",
                "suite/suite.toml"
            ]
        );
        assert_eq!(
            fs::read(to.join("plugins/a.wasm")).unwrap(),
            vec![7; LARGE + 1]
        );
        assert_eq!(fs::read(to.join("suite/suite.toml")).unwrap(), b"id");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&to.join("plugins/lock")), 0o444);
        assert_eq!(mode(&to), 0o700);
        assert_eq!(mode(&to.join("suite/deep")) & 0o022, 0);
        let sizes = archive.sizes().unwrap();
        assert_eq!(sizes.len(), found.len());
        for (path, size) in sizes {
            assert_eq!(to.join(path).metadata().unwrap().len(), size);
        }
        assert!(archive.unpack("", &to).is_err(), "it is there");
        let exported = dir.path().join("exported");
        fs::create_dir(&exported).unwrap();
        archive.export("suite/", &exported).unwrap();
        assert_eq!(files(&exported).unwrap(), ["deep/er/empty", "suite.toml"]);
        assert_eq!(mode(&exported.join("suite.toml")), 0o644);
    }

    #[test]
    fn the_digest_is_of_the_contents_and_a_change_packs_only_what_changed() {
        let (dir, bytes) = scene();
        let digest = |bytes: &[u8]| Archive::read(bytes).unwrap().digest();
        let kept = || {
            let entries = fs::read_dir(dir.path().join("kept")).unwrap();
            entries
                .map(|entry| entry.unwrap().path())
                .collect::<BTreeSet<_>>()
        };
        let before = kept();
        assert_eq!(packed(dir.path()), bytes);
        written(dir.path(), &[("s/suite.toml", b"it")]);
        assert_ne!(digest(&packed(dir.path())), digest(&bytes));
        let after = kept();
        assert_eq!(before.intersection(&after).count(), 2, "{after:?}");
        assert_eq!(after.len(), 3);
    }

    #[test]
    fn what_is_no_archive_is_none_and_what_is_cut_off_is_an_error() {
        let (dir, bytes) = scene();
        assert!(Archive::read(b"").is_none());
        assert!(Archive::read(&bytes[..HEAD - 1]).is_none());
        assert!(Archive::read(&bytes[..=HEAD]).is_none());
        let cut = Archive::read(&bytes[..bytes.len() - 1]).unwrap();
        assert!(cut.unpack("", &dir.path().join("out")).is_err());
        assert!(!dir.path().join("out").exists());
        let mut other = bytes.clone();
        other[7] = b'2';
        assert!(Archive::read(&other).is_none());
    }
}
