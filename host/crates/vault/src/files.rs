//! The files of a private pack, as one archive in memory: never on a disk. Whoever wrote it is a stranger: names and sizes are
//! bounded here, and names are looked at by the door to a pack's files.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use tar::{Archive, Builder, EntryType, Header};

use crate::VaultError;

/// Bytes of all files together, decompressed; they are held in memory.
pub const TOTAL_LIMIT: u64 = 1 << 30;

/// As many as a pack may have.
const FILES_LIMIT: usize = 20_000;

/// What a tar takes beside the contents, for each file.
const FRAME: u64 = 1024;

/// What a decompressor holds of earlier bytes at most: 2 to the power of it.
const WINDOW: u32 = 27;
const LEVEL: i32 = 9;

/// Files by their path in the pack.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One archive of them.
pub fn pack<'a>(
    files: impl IntoIterator<Item = (&'a String, &'a Vec<u8>)>,
) -> Result<Vec<u8>, VaultError> {
    let packed = || -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(zstd::Encoder::new(Vec::new(), LEVEL)?);
        for (path, bytes) in files {
            add(&mut tar, path, bytes)?;
        }
        let mut encoder = tar.into_inner()?;
        encoder.flush()?;
        encoder.finish()
    };
    packed().map_err(|error| VaultError::Encrypt(error.to_string()))
}

/// Adds a file of which nothing but name and bytes is told, so that the same files make the same bytes.
pub fn add<W: Write>(tar: &mut Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    tar.append(&header, bytes)
}

/// The files of an archive. The error reads after a colon.
pub fn unpack(bytes: &[u8]) -> Result<Files, String> {
    let whole = |error: io::Error| format!("it is no whole archive ({error})");
    let mut packed = zstd::Decoder::new(bytes).map_err(whole)?;
    packed.window_log_max(WINDOW).map_err(whole)?;
    let most = TOTAL_LIMIT + FRAME * FILES_LIMIT as u64;
    let mut archive = Archive::new(packed.take(most));
    let mut files = Files::new();
    let mut total = 0_u64;
    // As they stand there: extensions of the format give names of any length.
    for entry in archive.entries().map_err(whole)?.raw(true) {
        let mut entry = entry.map_err(whole)?;
        let path = entry.path_bytes().into_owned();
        let path = String::from_utf8(path).map_err(|_| "a name in it is no UTF-8".to_owned())?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("`{}` is no plain file", path.escape_debug()));
        }
        total = total.saturating_add(entry.size());
        if total > TOTAL_LIMIT || files.len() >= FILES_LIMIT {
            return Err(format!(
                "it has more than {FILES_LIMIT} files or {TOTAL_LIMIT} bytes"
            ));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(whole)?;
        if files.insert(path.clone(), content).is_some() {
            return Err(format!("`{}` is in it twice", path.escape_debug()));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_to_the_byte_and_nothing_else_does() {
        let files: Files = [("a/b.toml", "x"), ("c", "")]
            .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
            .into();
        let packed = pack(&files).unwrap();
        assert_eq!(packed, pack(&files).unwrap());
        assert_eq!(unpack(&packed).unwrap(), files);
        for cut in [0, 4, packed.len() / 2] {
            assert!(unpack(&packed[..cut]).is_err(), "{cut}");
        }
    }

    fn tar(make: impl FnOnce(&mut Builder<Vec<u8>>)) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        make(&mut tar);
        zstd::encode_all(tar.into_inner().unwrap().as_slice(), 1).unwrap()
    }

    #[test]
    fn links_doubles_and_bombs_are_refused() {
        let add = |tar: &mut Builder<Vec<u8>>, kind, size| {
            let mut header = Header::new_ustar();
            header.set_path("a").unwrap();
            header.set_size(size);
            header.set_entry_type(kind);
            header.set_cksum();
            tar.append(&header, io::empty()).unwrap();
        };
        let twice = tar(|tar| {
            add(tar, EntryType::Regular, 0);
            add(tar, EntryType::Regular, 0);
        });
        assert!(unpack(&twice).unwrap_err().contains("twice"));
        let link = tar(|tar| add(tar, EntryType::Symlink, 0));
        assert!(unpack(&link).unwrap_err().contains("no plain file"));
        let bomb = tar(|tar| add(tar, EntryType::Regular, TOTAL_LIMIT + 1));
        assert!(unpack(&bomb).unwrap_err().contains("more than"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes: Vec<u8>) {
            let _ = unpack(&bytes);
        }
    }
}
