//! The doors of what is private: a pack's key and files, the records of its runs, people's keys, wordings and the ledger of copies.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::in_folder;
use super::travel::packed;
use pibench_pack::trace::{self, Ledger};
use pibench_vault::files::{self, Files};
use pibench_vault::{Identities, Key, Recipient};

/// To whom the seeds are encrypted. A key of no worth.
const IDENTITY: &str =
    "AGE-SECRET-KEY-1PYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSTFVYXW\n";

/// What an encrypted file of the seeds may hold at most.
const LIMIT: u64 = 1 << 16;

/// The key of the seeds' records.
const KEY: [u8; 32] = [7; 32];

/// What the first byte says: a file in age's format, one with people's private or public keys, a private pack's files as they were
/// before they were encrypted (a tar of them, or its compressed form), a record of a run, the author's wordings, the owner's
/// ledger. What was accepted comes back the same.
pub fn vault(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let text = std::str::from_utf8(rest);
    match (kind % 8, text) {
        (0, _) => decrypted(rest),
        (1, _) => in_folder(&[("identity", rest)], |root| {
            identities(root.join("identity").as_std_path());
        }),
        (2, Ok(text)) => recipients(text),
        (3 | 4, _) => match files::unpack(&packed(*kind, rest)) {
            // Under names that a pack's files have.
            Ok(found) if found.keys().all(|name| is_plain(name)) => {
                let again = files::pack(&found).map(|packed| files::unpack(&packed));
                assert_eq!(again.ok(), Some(Ok(found)));
            }
            Ok(_) => {}
            Err(reason) => assert!(!reason.is_empty()),
        },
        (5, _) => record(rest),
        (6, Ok(text)) => wordings(text),
        (7, Ok(text)) => ledger(text),
        _ => {}
    }
}

fn decrypted(bytes: &[u8]) {
    in_folder(&[("key", IDENTITY.as_bytes())], |root| {
        let Some(keys) = identities(root.join("key").as_std_path()) else {
            unreachable!("a test reads the key of the seeds");
        };
        match keys.decrypt(bytes, LIMIT) {
            Ok(plain) => assert!(plain.len() as u64 <= LIMIT),
            Err(reason) => assert!(!reason.is_empty()),
        }
    });
}

fn is_plain(name: &str) -> bool {
    let mut parts = name.split('/');
    name.len() <= 100 && parts.all(|part| !["", ".", ".."].contains(&part) && !part.contains('\0'))
}

/// Reads a file of private keys as its owner.
fn identities(path: &std::path::Path) -> Option<Identities> {
    fs::set_permissions(path, Permissions::from_mode(0o600)).ok()?;
    let mut keys = Identities::default();
    let added = keys.add(path, Some("passphrase".into()));
    match added {
        Ok(()) => {
            assert!(!keys.is_empty());
            Some(keys)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Public keys, a line each as on a command line, where a path would be opened.
fn recipients(text: &str) {
    for line in text.lines() {
        if !line.starts_with("age1") && !line.starts_with("ssh-") {
            continue;
        }
        match Recipient::read(line) {
            Ok(found) => {
                let again = Recipient::read(&found[0].text).map(|again| again[0].text.clone());
                assert_eq!(again.ok().as_deref(), Some(found[0].text.as_str()));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// What was changed is no record, and each record comes back.
fn record(bytes: &[u8]) {
    let Some(key) = Key::of(&KEY) else {
        unreachable!("it has as many bytes as a key");
    };
    if let Ok(found) = key.decrypt(bytes) {
        assert_eq!(key.encrypt(&found).ok().as_deref(), Some(bytes));
    }
    let kept = key.encrypt(bytes).unwrap_or_default();
    assert_eq!(key.decrypt(&kept).as_deref(), Ok(bytes));
}

fn private_files() -> Files {
    let text = b"t = 'in the morning, as a rule'\n".to_vec();
    [("a.toml".to_owned(), text)].into()
}

/// A copy with all other wordings reads back as one that has them.
fn wordings(text: &str) {
    let files = private_files();
    let found = match trace::wordings(text, &files) {
        Ok(found) => found,
        Err(reason) => return assert!(!reason.is_empty()),
    };
    let copy = trace::Copy {
        recipient: "age1".into(),
        comment: String::new(),
        archive: "a".into(),
        canary: format!("{}0", trace::CANARY),
        other: vec![true; found.len()],
    };
    let ledger = Ledger {
        version: 1,
        name: "p".into(),
        release: "1".into(),
        wordings: found,
        copies: vec![copy],
    };
    // What was read by itself can be put in, one after the other.
    let marked = trace::mark(&files, &ledger, &ledger.copies[0]);
    let marked = marked.map(|files| String::from_utf8_lossy(&files["a.toml"]).into_owned());
    match marked {
        Ok(marked) => assert!(trace::trace(&ledger, &marked)[0].has_canary),
        Err(reason) => unreachable!("wordings that were taken are put in: {reason}"),
    }
}

fn ledger(text: &str) {
    let (ledger, leaked) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(ledger) = serde_json::from_str::<Ledger>(ledger) else {
        return;
    };
    let found = trace::trace(&ledger, leaked);
    assert!(found.len() <= ledger.copies.len());
    assert!(found.iter().all(|one| one.agree <= one.of));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_what_is_private_are_taken() {
        let seed = |name: &str| {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/seeds/vault/");
            fs::read(format!("{dir}{name}")).unwrap()
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, IDENTITY).unwrap();
        let keys = identities(&path).unwrap();
        let key = keys.decrypt(&seed("key")[1..], LIMIT).unwrap();
        assert_eq!(key, KEY);
        let keys = seed("private-keys");
        fs::write(&path, &keys[1..]).unwrap();
        assert!(identities(&path).is_some());
        for (name, kind) in [("tar", 3), ("compressed", 4)] {
            let bytes = seed(name);
            assert_eq!(bytes[0], kind);
            let found = files::unpack(&packed(bytes[0], &bytes[1..]));
            assert_eq!(found, Ok(private_files()));
        }
        let record = Key::of(&KEY).unwrap().decrypt(&seed("record")[1..]);
        assert_eq!(record.as_deref(), Ok(&b"{}"[..]));
        let text = |name: &str| String::from_utf8(seed(name)[1..].to_vec()).unwrap();
        assert!(
            text("public-keys")
                .lines()
                .all(|key| Recipient::read(key).is_ok())
        );
        assert!(
            !trace::wordings(&text("wordings"), &private_files())
                .unwrap()
                .is_empty()
        );
        let ledger = text("ledger");
        serde_json::from_str::<Ledger>(ledger.split_once('\n').unwrap().0).unwrap();
    }
}
