//! Packs that travel: what a folder of a suite holds, to the byte. It plays nothing, loads no plugin and asks nobody whether
//! content is fair.

pub mod contents;
pub mod manifest;

pub use contents::{Contents, File};
pub use manifest::Manifest;

/// The namespace of signatures over packs.
pub const NAMESPACE: &str = "pibench-pack";

/// Why a pack is refused. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("read the pack {path}: {reason}")]
    Refused { path: String, reason: String },
}

impl PackError {
    fn refused(path: impl AsRef<str>, reason: impl Into<String>) -> Self {
        Self::Refused {
            path: path.as_ref().to_owned(),
            reason: reason.into(),
        }
    }
}
