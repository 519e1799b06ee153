//! The key of a private pack, and how records are kept under it: AES-256-GCM-SIV (RFC 8452) without a nonce. The same record
//! makes the same bytes, so that a run that was cut and gone on with, or played in parts, is what it would have been; all
//! that this tells whoever has no key is which records are equal.

use aes_gcm_siv::aead::Aead;
use aes_gcm_siv::{Aes256GcmSiv, KeyInit, Nonce};
use zeroize::Zeroizing;

use crate::VaultError;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// What encrypted records begin with, before their version.
const MARK: &[u8] = b"pibench-private\x01";

/// The key of a private pack.
#[derive(Clone)]
pub struct Key {
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

// A key is never printed.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// A new one.
    pub fn draw() -> Result<Self, VaultError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(bytes.as_mut_slice())
            .map_err(|error| VaultError::Encrypt(error.to_string()))?;
        Ok(Self { bytes })
    }

    /// Of its bytes; None for another number of them.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = Zeroizing::new(<[u8; KEY_BYTES]>::try_from(bytes).ok()?);
        Some(Self { bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// A name that tells nothing of a text to whoever has no key: 64 digits of hex.
    pub fn name(&self, text: &str) -> String {
        let derived = Zeroizing::new(blake3::derive_key(
            "pibench-host 2026-11-23 names of what is private",
            self.bytes(),
        ));
        let hash = blake3::keyed_hash(&derived, text.as_bytes());
        hash.to_hex().to_string()
    }

    fn cipher(&self) -> Aes256GcmSiv {
        // Nothing else is under this key but records.
        let derived = Zeroizing::new(blake3::derive_key(
            "pibench-host 2026-11-23 records of a private run",
            self.bytes(),
        ));
        Aes256GcmSiv::new(derived.as_slice().into())
    }

    /// A record, encrypted.
    pub fn encrypt(&self, record: &[u8]) -> Result<Vec<u8>, VaultError> {
        let encrypted = self.cipher().encrypt(&Nonce::default(), record);
        let encrypted = encrypted.map_err(|_| VaultError::Encrypt("a record too large".into()))?;
        Ok([MARK, &encrypted].concat())
    }

    /// The record that was encrypted. The error reads after a colon.
    pub fn decrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let Some(encrypted) = bytes.strip_prefix(MARK) else {
            return Err("it is not encrypted as a private run's records are".into());
        };
        let record = self.cipher().decrypt(&Nonce::default(), encrypted);
        record.map_err(|_| "it was changed, or is of another key".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_by_its_key_alone_and_to_the_byte() {
        let (key, other) = (Key::draw().unwrap(), Key::draw().unwrap());
        let record = b"the hidden intent";
        let kept = key.encrypt(record).unwrap();
        assert!(!kept.windows(6).any(|part| part == b"hidden"));
        assert_eq!(kept, key.encrypt(record).unwrap());
        assert_ne!(kept, key.encrypt(b"the hidden intenu").unwrap());
        assert_eq!(key.decrypt(&kept).unwrap(), record);
        assert!(other.decrypt(&kept).unwrap_err().contains("another key"));
        assert!(key.decrypt(record).unwrap_err().contains("not encrypted"));
        for at in MARK.len()..kept.len() {
            let mut changed = kept.clone();
            changed[at] ^= 1;
            assert!(key.decrypt(&changed).is_err(), "byte {at}");
            assert!(key.decrypt(&kept[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(format!("{key:?}"), "Key");
    }

    #[test]
    fn names_are_the_keys_own() {
        let (key, other) = (Key::draw().unwrap(), Key::draw().unwrap());
        assert_eq!(key.name("a"), key.name("a"));
        assert_ne!(key.name("a"), key.name("b"));
        assert_ne!(key.name("a"), other.name("a"));
    }
}
