//! Keys that sign. A private key is read from an OpenSSH file that nobody else can read, and shown nowhere.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ssh_key::public::KeyData;
use ssh_key::{HashAlg, Kdf, PrivateKey};

use crate::SignatureError;

/// Bytes of a key's file.
const KEY_LIMIT: u64 = 64 << 10;

/// What an RSA key has at least, as NIST wants it.
const RSA_BITS: usize = 2048;

/// How often a passphrase is hashed at most, each a thousandth of a second or more: `ssh-keygen -a` says how often, 16 or 24 times
/// where it is not asked to, and a key's file may say four thousand million.
const ROUNDS_LIMIT: u32 = 10_000;

/// A private key. Its debug output is its fingerprint.
pub struct SigningKey(PrivateKey);

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("SigningKey")
            .field(&self.fingerprint())
            .finish()
    }
}

impl SigningKey {
    /// Reads a key of `ssh-keygen -t ed25519` or `-t ecdsa`. Where it has a passphrase, `passphrase` is asked for it.
    pub fn read(
        path: &Path,
        passphrase: impl FnOnce() -> Option<String>,
    ) -> Result<Self, SignatureError> {
        let failed = |reason: String| SignatureError::Read {
            what: format!("the key {}", path.display()),
            reason,
        };
        let text = private_text(path).map_err(&failed)?;
        Self::parse(&text, passphrase).map_err(failed)
    }

    /// Reads the text of a key's file. The error reads after a colon and holds nothing of the key.
    pub fn parse(text: &str, passphrase: impl FnOnce() -> Option<String>) -> Result<Self, String> {
        if !text.contains("-----BEGIN") && ssh_key::PublicKey::from_openssh(text.trim()).is_ok() {
            return Err("it is a public key; name the private one beside it, or sign what `--statement` prints with `ssh-keygen -Y sign` where an agent or a token holds it".into());
        }
        let key = PrivateKey::from_openssh(text).map_err(|error| {
            format!("it is no private key of OpenSSH ({error}); `ssh-keygen -t ed25519` makes one")
        })?;
        let key = if key.is_encrypted() {
            if let Kdf::Bcrypt { rounds, .. } = key.kdf()
                && *rounds > ROUNDS_LIMIT
            {
                return Err(format!(
                    "its passphrase is hashed {rounds} times, and more than {ROUNDS_LIMIT} times takes too long; \
                     `ssh-keygen -p -a 100` changes that"
                ));
            }
            let passphrase = passphrase()
                .ok_or("it has a passphrase; set PIBENCH_KEY_PASSPHRASE for this command")?;
            key.decrypt(passphrase)
                .map_err(|_| "the passphrase does not open it")?
        } else {
            key
        };
        // The crate below signs by RSA in a time that depends on the key (RUSTSEC-2023-0071).
        if key.key_data().is_rsa() {
            return Err("it is an RSA key, which signs here by `ssh-keygen -Y sign` only: over what `--statement` prints".into());
        }
        strong(key.public_key().key_data())?;
        Ok(Self(key))
    }

    /// As `ssh-keygen -l` prints it: `SHA256:...`.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.0
    }
}

fn private_text(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let data = file.metadata().map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("it is no file".into());
    }
    let mut text = String::new();
    let read = file.take(KEY_LIMIT + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > KEY_LIMIT {
        return Err(format!("more than {KEY_LIMIT} bytes are no key"));
    }
    // As ssh itself: a key that others could read is no secret. A public key may be read by all.
    let mode = data.permissions().mode() & 0o777;
    if mode & 0o077 != 0 && text.contains("PRIVATE KEY") {
        return Err(format!(
            "others may read it (mode {mode:o}); `chmod 600 {}`",
            path.display()
        ));
    }
    Ok(text)
}

/// Refuses kinds of keys whose signatures say little. The error reads after a colon.
pub(crate) fn strong(key: &KeyData) -> Result<(), String> {
    match key {
        KeyData::Rsa(rsa) => {
            let bits = rsa.n.as_positive_bytes().map_or(0, <[u8]>::len) * 8;
            if bits < RSA_BITS {
                return Err(format!(
                    "an RSA key of {bits} bits, and {RSA_BITS} are the fewest"
                ));
            }
            Ok(())
        }
        KeyData::Ed25519(_)
        | KeyData::Ecdsa(_)
        | KeyData::SkEd25519(_)
        | KeyData::SkEcdsaSha2NistP256(_) => Ok(()),
        other => Err(format!(
            "keys of the kind {} are not taken; use Ed25519, ECDSA or RSA",
            other.algorithm()
        )),
    }
}
