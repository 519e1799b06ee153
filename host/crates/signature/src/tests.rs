//! What is refused, each beside what is granted. How far `ssh-keygen` agrees is tested through the program.

use std::os::unix::fs::PermissionsExt;

use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{Kdf, LineEnding, PrivateKey};

use super::*;

const SPACE: &str = "pibench-run";

/// A key of its own for each number.
fn key(number: u8) -> SigningKey {
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[number; 32]));
    let key = PrivateKey::new(pair, "").unwrap();
    SigningKey::parse(&key.to_openssh(LineEnding::LF).unwrap(), || None).unwrap()
}

fn public(number: u8) -> String {
    key(number).private().public_key().to_openssh().unwrap()
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-06-01T00:00:00Z")
}

fn allowed(text: &str) -> AllowedSigners {
    AllowedSigners::parse("signers", text).unwrap()
}

/// Verifies what the first key signed, under these lines.
fn verified(lines: &str) -> Result<Signer, String> {
    let signature = sign(&key(1), SPACE, b"seal").unwrap();
    let found = verify(&allowed(lines), SPACE, b"seal", &signature, now());
    found.map_err(|error| error.to_string())
}

fn assert_refused(result: Result<Signer, String>, words: &str) {
    let error = result.unwrap_err();
    assert!(error.contains(words), "{error}");
}

#[test]
fn who_signed_is_named_and_what_was_changed_is_refused() {
    let signers = allowed(&format!("ana@lab.example,ana {}", public(1)));
    let signature = sign(&key(1), SPACE, b"seal").unwrap();
    let signer = verify(&signers, SPACE, b"seal", &signature, now()).unwrap();
    assert_eq!(
        signer.names().collect::<Vec<_>>(),
        ["ana@lab.example", "ana"]
    );
    assert_eq!(signer.fingerprint, key(1).fingerprint());
    assert_eq!(sign(&key(1), SPACE, b"seal").unwrap(), signature);

    let over = |bytes: &[u8], space: &str, signature: &str| {
        let found = verify(&signers, space, bytes, signature, now());
        found.map_err(|error| error.to_string())
    };
    assert_refused(over(b"sea1", SPACE, &signature), "over something else");
    let swapped =
        "it was made for `pibench-run`, and what it stands beside is signed as `pibench-pack`";
    assert_refused(over(b"seal", "pibench-pack", &signature), swapped);
    let foreign = sign(&key(2), SPACE, b"seal").unwrap();
    assert_refused(over(b"seal", SPACE, &foreign), "names no one with the key");
    assert_refused(
        over(b"seal", SPACE, &foreign),
        "add a line `NAME@HOST ssh-ed25519",
    );
}

#[test]
fn what_is_no_signature_is_refused() {
    let lines = format!("ana {}", public(1));
    let signature = sign(&key(1), SPACE, b"seal").unwrap();
    let long = format!("{signature}{}", "A".repeat(SIGNATURE_LIMIT));
    let cut = signature[..signature.len() / 2].to_owned();
    let bare = signature.replace("SSH SIGNATURE", "PGP SIGNATURE");
    for bad in ["", "signed", &long, &cut, &bare] {
        let found = verify(&allowed(&lines), SPACE, b"seal", bad, now());
        assert!(
            matches!(found, Err(SignatureError::Malformed(_))),
            "{found:?}"
        );
    }
    // A line's end more or less is what mail programs and editors do.
    let ended = format!("{signature}\n\n");
    verify(&allowed(&lines), SPACE, b"seal", &ended, now()).unwrap();
}

#[test]
fn a_key_signs_within_its_time_and_for_its_namespaces_only() {
    let key = public(1);
    for (options, refused) in [
        ("", None),
        ("valid-after=\"20260101Z\" ", None),
        ("valid-before=20270101Z,namespaces=\"git,pibench-*\" ", None),
        (
            "valid-before=\"20260101Z\" ",
            Some("until 2026-01-01T00:00:00Z only: it is expired"),
        ),
        (
            "valid-after=\"20270101Z\" ",
            Some("from 2027-01-01T00:00:00Z on only"),
        ),
        (
            "namespaces=\"git,file\" ",
            Some("for `git,file` only, and not for `pibench-run`"),
        ),
    ] {
        let found = verified(&format!("ana@lab.example {options}{key}"));
        match refused {
            None => assert_eq!(found.unwrap().principal, "ana@lab.example", "{options}"),
            Some(words) => assert_refused(found, words),
        }
    }
    // A later line may allow what an earlier one does not.
    let two = format!("ana namespaces=\"git\" {key}\n# of late\nbo {key}");
    assert_eq!(verified(&two).unwrap().principal, "bo");
}

#[test]
fn what_is_not_held_to_is_refused_by_name() {
    let key = public(1);
    for (line, said) in [
        (
            format!("ana cert-authority {key}"),
            "`cert-authority` is not taken",
        ),
        (
            format!("ana zone=\"x\" {key}"),
            "the option `zone` is not known",
        ),
        (format!("ana namespaces {key}"), "`namespaces` has no value"),
        (
            format!("ana valid-after=20260101,valid-after=20260102 {key}"),
            "stands in it twice",
        ),
        (
            format!("ana valid-after=20260102,valid-before=20260101 {key}"),
            "is not before",
        ),
        (
            format!("ana valid-after=\"soon\" {key}"),
            "`soon` is no time",
        ),
        (
            format!("*@lab.example {key}"),
            "a pattern, and each signer is named",
        ),
        (format!("ana,,bo {key}"), "an empty name"),
        (format!("ana namespaces=\"git {key}"), "a quote is open"),
        ("ana".to_owned(), "ends before the key"),
        (
            "ana ssh-ed25519 AAAA".to_owned(),
            "no public key of OpenSSH",
        ),
        (
            "ana ssh-ed25519-cert-v01@openssh.com AAAA".to_owned(),
            "is a certificate",
        ),
        (
            format!("ana {key}{}", " x".repeat(10_000)),
            "more than 16384 bytes",
        ),
    ] {
        let error = AllowedSigners::parse("signers", &format!("# ours\n{line}\n")).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("read signers, line 2: "), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let empty = AllowedSigners::parse("signers", "# nobody\n").unwrap_err();
    assert!(empty.to_string().contains("it names nobody"));
}

#[test]
fn a_revoked_key_signs_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let revoked = dir.path().join("revoked");
    std::fs::write(&revoked, format!("# lost\n{}\n", public(2))).unwrap();
    let signers = allowed(&format!("ana {}\nbo {}", public(1), public(2)));
    let signers = signers.revoke(&revoked).unwrap();
    let by = |number| {
        let signature = sign(&key(number), SPACE, b"seal").unwrap();
        let found = verify(&signers, SPACE, b"seal", &signature, now());
        found.map_err(|error| error.to_string())
    };
    assert_refused(by(2), "is revoked");
    assert_eq!(by(1).unwrap().principal, "ana");
    std::fs::write(&revoked, b"SSHKRL\n\0rest").unwrap();
    let error = signers.revoke(&revoked).unwrap_err().to_string();
    assert!(error.contains("it is a KRL"), "{error}");
}

#[test]
fn a_private_key_is_its_owners_alone_and_shown_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let text = key(1).private().to_openssh(LineEnding::LF).unwrap();
    std::fs::write(&path, text.as_bytes()).unwrap();
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        SigningKey::read(&path, || None)
    };
    let error = mode(0o644).unwrap_err().to_string();
    assert!(error.contains("others may read it (mode 644)"), "{error}");
    let read = mode(0o600).unwrap();
    assert_eq!(
        format!("{read:?}"),
        format!("SigningKey({:?})", key(1).fingerprint())
    );
    std::fs::write(&path, public(1)).unwrap();
    let error = mode(0o644).unwrap_err().to_string();
    assert!(error.contains("it is a public key"), "{error}");
    std::fs::write(&path, "-----BEGIN RSA PRIVATE KEY-----\n").unwrap();
    let error = mode(0o600).unwrap_err().to_string();
    assert!(error.contains("it is no private key of OpenSSH"), "{error}");
}

/// A key with a passphrase that says of itself that it is hashed so many times.
fn encrypted(rounds: u32) -> String {
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[1; 32]));
    let key = PrivateKey::new(pair, "").unwrap();
    let kdf = Kdf::Bcrypt {
        salt: vec![1; 16],
        rounds: 16,
    };
    let cipher = ssh_key::Cipher::Aes256Ctr;
    let key = key.encrypt_with(cipher, kdf, 1, "passphrase").unwrap();
    let mut bytes = key.to_bytes().unwrap().to_vec();
    let at = bytes.windows(4).position(|four| four == [0, 0, 0, 16]);
    // The salt's length stands before it, and is the same number.
    let at = at.unwrap() + 4 + 16;
    bytes[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
    let key = PrivateKey::from_bytes(&bytes).unwrap();
    key.to_openssh(LineEnding::LF).unwrap().to_string()
}

#[test]
fn a_key_whose_passphrase_takes_forever_is_refused_and_one_of_common_cost_is_not() {
    let read = |rounds| SigningKey::parse(&encrypted(rounds), || Some("passphrase".into()));
    read(16).unwrap();
    let error = read(u32::MAX).unwrap_err();
    assert!(error.contains("hashed 4294967295 times"), "{error}");
}
