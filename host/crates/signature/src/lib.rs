//! Signatures as OpenSSH makes them (SSHSIG, as of `ssh-keygen -Y sign`), and the files that say who may make them
//! (`allowed_signers` of ssh-keygen(1)). What is signed are bytes under a namespace, so that a signature over one kind of thing
//! is never taken for one over another. It knows neither a run nor a plugin, and reads neither clock nor environment but the
//! time zone, in which OpenSSH writes dates.

mod allowed;
mod key;

use jiff::Timestamp;
use ssh_key::{HashAlg, LineEnding, SshSig};

pub use allowed::AllowedSigners;
pub use key::SigningKey;

/// Bytes of an armored signature. Those of RSA keys of 16,384 bits have 6 KiB.
pub const SIGNATURE_LIMIT: usize = 16 << 10;

/// Who made a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The first name of the line that allows the key, such as `ana@lab.example`.
    pub principal: String,
    /// The other names of that line.
    pub aliases: Vec<String>,
    /// Of the key, as `ssh-keygen -l` prints it: `SHA256:...`.
    pub fingerprint: String,
}

impl Signer {
    /// All names of the signer.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let first = std::iter::once(&self.principal);
        first.chain(&self.aliases).map(String::as_str)
    }
}

/// Why something is not signed, or a signature is refused. Reads after "failed to".
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignatureError {
    #[error("read {what}: {reason}")]
    Read { what: String, reason: String },
    #[error("sign with the key {fingerprint}: {reason}")]
    Sign { fingerprint: String, reason: String },
    #[error(
        "verify a signature: it is none of OpenSSH ({0}); make one with `pibench-host sign` or `ssh-keygen -Y sign`"
    )]
    Malformed(String),
    #[error(
        "verify a signature: it was made for `{found}`, and what it stands beside is signed as `{wanted}`"
    )]
    Namespace { found: String, wanted: String },
    #[error(
        "verify a signature: {fingerprint} made it over something else, or one of both was changed since"
    )]
    OtherThing { fingerprint: String },
    #[error("verify a signature: the key {fingerprint} is revoked ({by})")]
    Revoked { fingerprint: String, by: String },
    #[error(
        "verify a signature: {signers} names no one with the key {fingerprint}; if you trust who holds it, add a line \
         `NAME@HOST {key}`"
    )]
    Unknown {
        fingerprint: String,
        key: String,
        signers: String,
    },
    #[error("verify a signature: {signers} allows the key {fingerprint} {reason}")]
    NotAllowed {
        fingerprint: String,
        signers: String,
        /// Such as "of ana@lab.example until 2026-01-01T00:00:00Z only".
        reason: String,
    },
}

/// The signature of `bytes` under `namespace`, armored, as `ssh-keygen -Y sign -n NAMESPACE` writes it. The same key, namespace
/// and bytes give the same signature.
pub fn sign(key: &SigningKey, namespace: &str, bytes: &[u8]) -> Result<String, SignatureError> {
    let signed = key.private().sign(namespace, HashAlg::Sha512, bytes);
    let armored = signed.and_then(|signature| signature.to_pem(LineEnding::LF));
    armored.map_err(|error| SignatureError::Sign {
        fingerprint: key.fingerprint(),
        reason: error.to_string(),
    })
}

/// Who signed `bytes` under `namespace`, as far as `signers` allow the key at the time `at`. Nothing is said of when it was
/// signed: SSHSIG holds no time.
pub fn verify(
    signers: &AllowedSigners,
    namespace: &str,
    bytes: &[u8],
    signature: &str,
    at: Timestamp,
) -> Result<Signer, SignatureError> {
    let key = held(namespace, bytes, signature)?;
    signers.signer(&key, namespace, at)
}

/// The fingerprint of the key that signed `bytes` under `namespace`, whoever holds it.
pub fn maker(namespace: &str, bytes: &[u8], signature: &str) -> Result<String, SignatureError> {
    let key = held(namespace, bytes, signature)?;
    Ok(key.fingerprint(HashAlg::Sha256).to_string())
}

/// The key of a signature that holds.
fn held(
    namespace: &str,
    bytes: &[u8],
    signature: &str,
) -> Result<ssh_key::PublicKey, SignatureError> {
    let signature = parsed(signature)?;
    let key = ssh_key::PublicKey::new(signature.public_key().clone(), "");
    if signature.namespace() != namespace {
        return Err(SignatureError::Namespace {
            found: signature.namespace().escape_debug().to_string(),
            wanted: namespace.to_owned(),
        });
    }
    if key.verify(namespace, bytes, &signature).is_err() {
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        return Err(SignatureError::OtherThing { fingerprint });
    }
    Ok(key)
}

fn parsed(armored: &str) -> Result<SshSig, SignatureError> {
    let refused = |reason: String| Err(SignatureError::Malformed(reason));
    if armored.len() > SIGNATURE_LIMIT {
        return refused(format!(
            "{} bytes, more than the limit of {SIGNATURE_LIMIT}",
            armored.len()
        ));
    }
    let signature = match SshSig::from_pem(armored.trim_end()) {
        Ok(signature) => signature,
        Err(error) => return refused(error.to_string()),
    };
    if signature.version() != SshSig::VERSION {
        return refused(format!("its version is {}", signature.version()));
    }
    key::strong(signature.public_key()).map_err(SignatureError::Malformed)?;
    Ok(signature)
}

#[cfg(test)]
mod tests;
