//! Packs that travel: what a folder of a suite holds, to the byte, and the ways that it goes. It plays nothing, loads no plugin and
//! asks nobody whether content is fair.

use std::io;
use std::path::PathBuf;

pub mod archive;
pub mod contents;
pub mod difference;
pub mod manifest;
pub mod named;
pub mod private;
pub mod secret;
pub mod source;
pub mod store;
pub mod suite_file;
pub mod trace;

pub use contents::{Contents, File};
pub use manifest::Manifest;

/// The namespace of signatures over packs.
pub const NAMESPACE: &str = "pibench-pack";

/// Why a pack is refused. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("read the pack {path}: {reason}")]
    Refused { path: String, reason: String },
    #[error("{doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl PackError {
    /// A pack at this path is refused for a reason, which reads after a colon.
    pub fn refused(path: impl AsRef<str>, reason: impl Into<String>) -> Self {
        Self::Refused {
            path: path.as_ref().to_owned(),
            reason: reason.into(),
        }
    }
}
