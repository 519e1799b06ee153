//! Agreement with the real `ssh-keygen`, both ways, where there is one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use pibench_signature::{AllowedSigners, SignatureError, SigningKey, sign, verify};

const SPACE: &str = "pibench-run";

fn allowed(text: &str) -> AllowedSigners {
    AllowedSigners::parse("signers", text).unwrap()
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

/// Runs `ssh-keygen`; None where this machine has none, which is said.
#[expect(clippy::disallowed_methods, reason = "a test asks the real program")]
pub(crate) fn keygen(dir: &Path, arguments: &[&str], input: &[u8]) -> Option<(bool, String)> {
    let started = Command::new("ssh-keygen")
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            eprintln!("not compared with ssh-keygen ({error}); install openssh-client");
            return None;
        }
    };
    // Dropped at once, so that it reads an end.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let out = child.wait_with_output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    Some((
        out.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}

/// A folder with a key that the real program made.
pub(crate) fn made(kind: &[&str], passphrase: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [
        &["-q", "-f", "key", "-C", "ana", "-N", passphrase, "-t"],
        kind,
    ]
    .concat();
    let (good, said) = keygen(dir.path(), &arguments, b"")?;
    assert!(good, "{said}");
    let key = dir.path().join("key");
    Some((dir, key))
}

/// The line that allows the key in a folder.
fn line(dir: &Path) -> String {
    let public = std::fs::read_to_string(dir.join("key.pub")).unwrap();
    format!("ana namespaces=\"pibench-run\",valid-after=\"20200101Z\" {public}")
}

/// What the real program takes of our signature.
fn they_agree(dir: &Path, path: &Path) {
    let key = SigningKey::read(path, || None).unwrap();
    std::fs::write(dir.join("signers"), line(dir)).unwrap();
    std::fs::write(dir.join("thing.sig"), sign(&key, SPACE, b"seal").unwrap()).unwrap();
    let theirs = |space: &str, bytes: &[u8]| {
        let verify = ["-Y", "verify", "-f", "signers", "-I", "ana"];
        let arguments = [&verify[..], &["-n", space, "-s", "thing.sig"]].concat();
        keygen(dir, &arguments, bytes).unwrap()
    };
    let (good, said) = theirs(SPACE, b"seal");
    assert!(good && said.contains(&key.fingerprint()), "{said}");
    assert!(!theirs(SPACE, b"sea1").0);
    assert!(!theirs("pibench-pack", b"seal").0);
}

/// What we take of signatures of the real program.
fn we_agree(dir: &Path) {
    let signers = allowed(&line(dir));
    for hash in ["hashalg=sha256", "hashalg=sha512"] {
        let arguments = ["-Y", "sign", "-f", "key", "-n", SPACE, "-O", hash];
        let (good, said) = keygen(dir, &arguments, b"seal").unwrap();
        assert!(good, "{said}");
        // Its talk stands behind.
        let end = "-----END SSH SIGNATURE-----\n";
        let armored = &said[..said.find(end).unwrap() + end.len()];
        let signer = verify(&signers, SPACE, b"seal", armored, now()).unwrap();
        assert_eq!(signer.principal, "ana");
        let other = verify(&signers, SPACE, b"sea1", armored, now());
        assert!(matches!(other, Err(SignatureError::OtherThing { .. })));
    }
}

#[test]
fn ssh_keygen_agrees_on_ed25519_and_ecdsa() {
    let bits = ["256", "384", "521"].map(|bits| vec!["ecdsa", "-b", bits]);
    for kind in [vec!["ed25519"]].into_iter().chain(bits) {
        // ssh-key 0.6 reads no ECDSA key whose secret begins with a zero byte, as one of some hundred does.
        let readable = |(_, path): &(_, PathBuf)| SigningKey::read(path, || None).is_ok();
        let Some((dir, path)) = (0..20).find_map(|_| made(&kind, "").filter(readable)) else {
            assert!(made(&kind, "").is_none(), "of 20 keys none was read");
            return;
        };
        they_agree(dir.path(), &path);
        we_agree(dir.path());
    }
}

#[test]
fn signatures_by_rsa_are_read_and_made_by_ssh_keygen_only() {
    let Some((dir, path)) = made(&["rsa", "-b", "2048"], "") else {
        return;
    };
    we_agree(dir.path());
    let error = SigningKey::read(&path, || None).unwrap_err().to_string();
    assert!(error.contains("by `ssh-keygen -Y sign` only"), "{error}");
    let Some((short, _)) = made(&["rsa", "-b", "1024"], "") else {
        return;
    };
    let error = AllowedSigners::parse("signers", &line(short.path())).unwrap_err();
    assert!(
        error.to_string().contains("an RSA key of 1024 bits"),
        "{error}"
    );
}

#[test]
fn a_passphrase_opens_a_key_of_ssh_keygen() {
    let Some((_dir, path)) = made(&["ed25519"], "open up") else {
        return;
    };
    let with = |word: Option<&str>| SigningKey::read(&path, || word.map(str::to_owned));
    let error = with(None).unwrap_err().to_string();
    assert!(
        error.contains("it has a passphrase; set PIBENCH_KEY_PASSPHRASE"),
        "{error}"
    );
    let error = with(Some("open")).unwrap_err().to_string();
    assert!(error.contains("the passphrase does not open it"), "{error}");
    with(Some("open up")).unwrap();
}
