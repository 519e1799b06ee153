//! Why a run folder cannot be used.

use std::path::PathBuf;

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(
        "make {}: it is there already; go on with it by `pibench-host run --resume {}`, or choose another --out",
        path.display(), path.display()
    )]
    Exists { path: PathBuf },
    #[error(
        "make {}: it would lie in the run folder {}, which nothing may be added to; choose another --out",
        path.display(), run.display()
    )]
    Within { path: PathBuf, run: PathBuf },
    #[error(
        "make {}: {} is not UTF-8, and paths of a run folder must be; go to another folder, or name one by --out",
        path.display(), above.display()
    )]
    NotUtf8 { path: PathBuf, above: PathBuf },
    #[error("lock {}: another process works on it", path.display())]
    Locked { path: PathBuf },
    #[error("write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("write {} (--out names another place): {source}", path.display())]
    Place {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error(
        "lock {}: {reason}, so that two machines could work on it at once; put the run folder where `flock` holds for all of \
         them: NFS 4 as it comes, Lustre mounted with `-o flock`, or a disk of this machine", path.display()
    )]
    NoLocks { path: PathBuf, reason: String },
    #[error("write {}: another of the merged folders has it too", path.display())]
    Twice { path: PathBuf },
    #[error("use {}: failed to {source}", path.display())]
    Private {
        path: PathBuf,
        source: pibench_vault::VaultError,
    },
}
