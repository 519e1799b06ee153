//! What nobody means to hand out with a folder: files of a private pack, which its recipients alone read, and private keys, whatever
//! their files are called.

use camino::Utf8Path;
use pibench_suite::pack::Pack;
use pibench_vault::{FILES_FILE, KEY_FILE};

use crate::PackError;
use crate::contents::{Contents, FILE_LIMIT};

/// Refuses a folder with such a file, by its name.
pub fn check(folder: &Utf8Path, contents: &Contents) -> Result<(), PackError> {
    let refused = |reason: String| PackError::refused(folder, reason);
    let mut pack = Pack::open_as_it_lies(folder).map_err(|error| refused(error.to_string()))?;
    for file in &contents.files {
        let path = &file.path;
        if [KEY_FILE, FILES_FILE]
            .map(Some)
            .contains(&Utf8Path::new(path).file_name())
        {
            return Err(refused(format!(
                "`{path}` is a private pack's; make a pack of the folder that the private one was made of, or pass its archive on as it is"
            )));
        }
        let bytes = pack.read(path, FILE_LIMIT);
        let bytes = bytes.map_err(|error| refused(format!("failed to {error}")))?;
        if let Some(kind) = private_key(&bytes) {
            return Err(refused(format!(
                "`{path}` holds a private key of {kind}; move it out of the folder, and make a new one if it was ever handed out"
            )));
        }
    }
    Ok(())
}

/// How PEM begins and ends what it holds.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Letters of the longest name of a key in PEM, with room.
const LONGEST_NAME: usize = 40;

/// Letters of base64 that are no key: a document that shows how one looks has fewer.
const NO_KEY: usize = 40;

/// Bytes of the longest key in PEM, with room.
const LONGEST_KEY: usize = 64 << 10;

/// Age's own keys, those of the post-quantum kind too: 58 letters follow.
const OF_AGE: [&str; 2] = ["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"];
const AGE_LETTERS: usize = 58;

/// Whose private key stands somewhere in a file's bytes. A text that only speaks of keys holds none.
fn private_key(bytes: &[u8]) -> Option<&'static str> {
    // Looked for in bytes: other files than texts may hold a text.
    let mut of_age = OF_AGE.into_iter().flat_map(|begin| after(bytes, begin));
    if of_age.any(|rest| bech32(rest) >= AGE_LETTERS) {
        return Some("age");
    }
    let named = after(bytes, BEGIN).find_map(pem_name)?;
    Some(if named == "OPENSSH PRIVATE KEY" {
        "OpenSSH"
    } else {
        "PEM"
    })
}

/// What stands behind each place of a text.
fn after<'a>(bytes: &'a [u8], text: &'static str) -> impl Iterator<Item = &'a [u8]> {
    memchr::memmem::find_iter(bytes, text).map(move |at| &bytes[at + text.len()..])
}

fn bech32(bytes: &[u8]) -> usize {
    let letters = bytes.iter();
    letters
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        .count()
}

/// The name of a private key that begins there, if it has a body and an end.
fn pem_name(rest: &[u8]) -> Option<&str> {
    let dashes = memchr::memmem::find(&rest[..rest.len().min(LONGEST_NAME + 5)], b"-----")?;
    let name = str::from_utf8(&rest[..dashes]).ok()?;
    if !name.ends_with("PRIVATE KEY") && !name.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    let rest = &rest[dashes..rest.len().min(dashes + LONGEST_KEY)];
    let body = &rest[..memchr::memmem::find(rest, format!("{END}{name}").as_bytes())?];
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    (body.iter().filter(is_base64).count() > NO_KEY).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of nobody.
    const BODY: &str = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW";

    fn pem(name: &str, body: &str) -> String {
        format!("Some words.\n{BEGIN}{name}-----\n{body}\n{END}{name}-----\n")
    }

    #[test]
    fn a_private_key_is_known_by_what_stands_in_its_file() {
        let is = |text: &str, kind: Option<&str>| {
            assert_eq!(private_key(text.as_bytes()), kind, "{text}");
            let binary = [&[0xff, 0][..], text.as_bytes(), &[0xfe]].concat();
            assert_eq!(private_key(&binary), kind, "{text}");
        };
        is(&pem("OPENSSH PRIVATE KEY", BODY), Some("OpenSSH"));
        for name in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            is(&pem(name, BODY), Some("PEM"));
            is(&pem(name, BODY).replace('\n', "\r\n"), Some("PEM"));
        }
        for begin in OF_AGE {
            let age = format!("{begin}{}", "Q".repeat(AGE_LETTERS));
            is(&format!("# created: 2026\n{age}\n"), Some("age"));
            is(&format!("{begin}QQQ is how one of age begins"), None);
        }
        // What speaks of keys, is public, or has no end.
        for none in [
            String::new(),
            format!("Your file begins with {BEGIN}OPENSSH PRIVATE KEY-----: keep it."),
            pem("OPENSSH PRIVATE KEY", "..."),
            pem("PUBLIC KEY", BODY),
            pem("CERTIFICATE", BODY),
            format!("{BEGIN}RSA PRIVATE KEY-----\n{BODY}\n"),
            format!("ssh-ed25519 {BODY} ana@lab.example\n"),
            format!("age1{}", "q".repeat(AGE_LETTERS)),
        ] {
            is(&none, None);
        }
    }
}
