//! What is kept from whoever has no key: the files of a private pack, and the records of the runs that play it. People's keys
//! are age's and OpenSSH's; a pack has one key of its own, which is encrypted to theirs. Knows neither a suite nor a run.

use std::path::PathBuf;

pub mod cipher;
pub mod files;
pub mod keyring;
pub mod people;

pub use cipher::Key;
pub use people::{Identities, Recipient};

/// The file of a private pack, and of a run of one, that holds its key, encrypted to its recipients.
pub const KEY_FILE: &str = "key.age";

/// The file of a private pack that holds its files, encrypted to its recipients.
pub const FILES_FILE: &str = "private.age";

/// The open file of a private pack that says which pack it is. Here it is bytes.
pub const PACK_FILE: &str = "pack.toml";

/// Why something is not encrypted, or stays encrypted.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("read {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("read the key {path}: {reason}")]
    Identity { path: String, reason: String },
    #[error(
        "read the recipient `{text}`: {reason}; a recipient is a public key, `age1...` or `ssh-ed25519 ...`, or a file of such lines"
    )]
    Recipient { text: String, reason: String },
    #[error("open {place}, which is private: {reason}")]
    Closed { place: String, reason: String },
    #[error("encrypt: {0}")]
    Encrypt(String),
}
