//! The doors for what travels: packs, signatures with the files that say who may sign, submissions to a board.

use std::fs;
use std::path::Path;

use camino::Utf8Path;
use jiff::Timestamp;

use super::in_folder;
use pibench_board::submission;
use pibench_pack::archive::{self, unpack};
use pibench_pack::{Contents, Manifest, NAMESPACE};
use pibench_signature::{AllowedSigners, maker, verify};

/// Bytes of a block of Zstandard.
const BLOCK: usize = 128 << 10;

/// A frame of Zstandard that holds these bytes as they are, so that a fuzzer's input reaches what reads the tar in it.
fn framed(bytes: &[u8]) -> Vec<u8> {
    // The magic number, no flags, and a window of a block's size (RFC 8878, section 3.1.1).
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        frame.extend([1, 0, 0]);
    }
    while let Some(block) = blocks.next() {
        // Raw blocks: whether it is the last, the kind 0, the size.
        let header = (block.len() << 3) | usize::from(blocks.peek().is_none());
        frame.extend(header.to_le_bytes().into_iter().take(3));
        frame.extend(block);
    }
    frame
}

/// An archive: the first byte says whether the rest is its file or the tar in it.
pub(super) fn packed(kind: u8, rest: &[u8]) -> Vec<u8> {
    if kind.is_multiple_of(2) {
        rest.to_vec()
    } else {
        framed(rest)
    }
}

/// Unpacks `bytes` from a file into a new folder, and sees that nothing came to lie beside it.
fn unpacked(bytes: &[u8], then: impl FnOnce(&Path, &Utf8Path)) {
    in_folder(&[("at/archive", bytes)], |root| {
        let to = root.join("at/to");
        // What an earlier input left.
        if fs::remove_dir_all(&to).is_err() && to.exists() {
            return;
        }
        if fs::create_dir(&to).is_err() {
            return;
        }
        let beside =
            || [root, &root.join("at")].map(|dir| fs::read_dir(dir).map_or(0, Iterator::count));
        let before = beside();
        then(root.join("at/archive").as_std_path(), &to);
        assert_eq!(beside(), before, "something lies beside {to}");
        let _ = fs::remove_dir_all(root.join("at"));
    });
}

/// All plain files below a folder, and that there is nothing else.
fn files(folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        assert!(
            kind.is_dir() || kind.is_file(),
            "{}",
            entry.path().display()
        );
        count += if kind.is_dir() {
            files(&entry.path())
        } else {
            1
        };
    }
    count
}

/// A pack: its archive, the tar in it, its list or its `pack.toml`, as the first byte says. What was accepted is its list to
/// the byte, and packed again it is the same pack.
pub fn pack(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let text = std::str::from_utf8(rest);
    match (kind % 4, text) {
        (2, Ok(text)) => match Contents::parse(text) {
            Ok(contents) => assert_eq!(contents.text(), text),
            Err(reason) => assert!(!reason.is_empty()),
        },
        (3, Ok(text)) => {
            if let Err(reason) = Manifest::parse(text) {
                assert!(!reason.is_empty());
            }
        }
        (0 | 1, _) => unpacked(&packed(*kind, rest), |archive, to| {
            match unpack(archive, to.as_std_path()) {
                Ok(found) => {
                    assert_eq!(files(to.as_std_path()), found.contents.files.len());
                    packs_again(to, &found.contents);
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }),
        _ => {}
    }
}

/// A folder whose `pack.toml` is sound has the list that it was unpacked by, and its archive unpacks.
fn packs_again(folder: &Utf8Path, contents: &Contents) {
    let Ok((again, _)) = Contents::of(folder) else {
        return;
    };
    assert_eq!(again.files, contents.files);
    let (Ok(dir), Ok(to)) = (tempfile::tempdir(), tempfile::tempdir()) else {
        return;
    };
    let file = dir.path().join("again");
    if archive::write(&file, folder, &again, None).is_ok() {
        let whole = unpack(&file, to.path());
        assert_eq!(whole.ok().map(|found| found.contents), Some(again));
    }
}

/// Who may sign, the thing and the signature of the seeds; the key behind it is in no file.
const SIGNERS: &str = "ana@lab.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBLu5yN3Hjv73lqt8AuTfWyC3oT5YWuCri1Fyjw0/ziO\n";
const THING: &[u8] = b"thing";
const SIGNED: &str = "-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgEu7nI3ceO/veWq3wC5N9bILehP
lha4KuLUXKPDT/OI4AAAAMcGliZW5jaC1wYWNrAAAAAAAAAAZzaGE1MTIAAABTAAAAC3Nz
aC1lZDI1NTE5AAAAQJiQZlLb2IK+aZ6r60ZoNHAlPZNZ1pN/PLu4uEz8yMJWCs8ZTAFi2o
713oGIYnR6b0FZXIIYYc18X+8o1/+6UgE=
-----END SSH SIGNATURE-----
";

/// A signature, or a file that says who may sign or who may not any more, as the first byte says. A thing that nobody signed is
/// never taken, and nor is what a revoked key signed.
pub fn signature(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let now = Timestamp::UNIX_EPOCH;
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let refused = |error: pibench_signature::SignatureError| assert!(!error.to_string().is_empty());
    match kind % 3 {
        0 => {
            let Ok(signers) = AllowedSigners::parse("signers", SIGNERS) else {
                unreachable!("a test reads the seeds");
            };
            match verify(&signers, NAMESPACE, THING, text, now) {
                Ok(signer) => assert_eq!(signer.principal, "ana@lab.example"),
                Err(error) => refused(error),
            }
            assert!(maker(NAMESPACE, b"another thing", text).is_err());
            assert!(maker("another-namespace", THING, text).is_err());
        }
        1 => match AllowedSigners::parse("signers", text) {
            Ok(signers) => match verify(&signers, NAMESPACE, THING, SIGNED, now) {
                Ok(signer) => assert!(signer.names().all(|name| text.contains(name))),
                Err(error) => refused(error),
            },
            Err(error) => refused(error),
        },
        _ => in_folder(&[("revoked", rest)], |root| {
            let signers = AllowedSigners::parse("signers", SIGNERS);
            let signers = signers.and_then(|all| all.revoke(root.join("revoked").as_std_path()));
            match signers {
                // Whatever else the file names, the key in it signs no more. A comment names none.
                Ok(signers) => {
                    let held = verify(&signers, NAMESPACE, THING, SIGNED, now);
                    let key = SIGNERS.trim_end().rsplit(' ').next().unwrap_or_default();
                    let named =
                        |line: &str| !line.starts_with('#') && line.split(' ').nth(1) == Some(key);
                    assert!(!text.lines().any(named) || held.is_err());
                }
                Err(error) => refused(error),
            }
        }),
    }
}

/// A submission: its archive, or the tar in it, as the first byte says. What was accepted are plain files of the runs that its
/// list names.
pub fn submission(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    unpacked(
        &packed(*kind, rest),
        |archive, to| match submission::unpack(archive, to.as_std_path()) {
            Ok(found) => {
                assert_eq!(found.runs.len(), found.list.runs.len());
                assert!(files(to.as_std_path()) >= found.runs.len());
                for run in &found.runs {
                    assert!(run.join("seal.json").is_file());
                    let _ = submission::digest_played(run);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_what_travels_are_taken() {
        let seed = |path: &str| {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/seeds/");
            fs::read(format!("{dir}{path}")).unwrap()
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("archive");
        let taken = |path: &str, to: &str| {
            let bytes = seed(path);
            fs::write(&file, packed(bytes[0], &bytes[1..])).unwrap();
            let to = dir.path().join(to);
            fs::create_dir(&to).unwrap();
            to
        };
        let to = taken("pack/tar", "pack");
        unpack(&file, &to).unwrap();
        let to = taken("submission/tar", "submission");
        submission::unpack(&file, &to).unwrap();
        assert_eq!(seed("signature/signature")[1..], *SIGNED.as_bytes());
        assert_eq!(seed("signature/allowed")[1..], *SIGNERS.as_bytes());
        let signers = AllowedSigners::parse("signers", SIGNERS).unwrap();
        verify(&signers, NAMESPACE, THING, SIGNED, Timestamp::UNIX_EPOCH).unwrap();
    }
}
