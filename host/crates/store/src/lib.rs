//! Runs in an object store (S3, Google Cloud Storage, Azure Blob Storage). A folder of this machine is made of what the store
//! has (`checkout`), and what is written into it goes back as it is written
//! ([`Mirror`](pibench_record::mirror::Mirror)).
//!
//! Files are objects under their paths. A journal that is being written is an object for each line, `journal/p.r1.jsonl/` and
//! a number, made only if none of that name is there: of two processes that go on with the same episode, as a scheduler starts
//! them when a node is cut off and lives, the second to write a line is refused and stops. Objects are never changed but for
//! results, and for what no score depends on. A run that is played has its manifest first, which is the claim on it, and one that
//! is merged last, so that nobody takes a part of it for a run.

mod remote;
mod sender;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tempfile::TempDir;

pub use remote::{Remote, StoreError};
use sender::Sender;

/// How the places begin that are stores and no folders.
pub const SCHEMES: [&str; 6] = ["s3://", "gs://", "az://", "azure://", "abfs://", "abfss://"];

/// Whether a path names a place in a store.
pub fn is_stored(path: &str) -> bool {
    SCHEMES.iter().any(|scheme| path.starts_with(scheme))
}

/// Variables of the stores' own tools that hold secrets.
pub const SECRETS: [&str; 8] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
];

/// What of a place is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What is below this alone; None for all.
    pub part: Option<String>,
    /// The blobs too, which are most of a run. Who only asks how far it is does without.
    pub blobs: bool,
}

/// The copies that were made. It is read while anything is written into one, so that whoever takes them away ends that.
static COPIES: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Attempts to take a copy away into which a command writes as well.
const ATTEMPTS: usize = 16;

/// Takes every copy away and ends the process with this exit code: where a signal would end it.
pub fn end(code: u8) -> ! {
    let copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
    for copy in &*copies {
        let _ = (0..ATTEMPTS).any(|_| fs::remove_dir_all(copy).is_ok() || !copy.exists());
    }
    std::process::exit(code.into())
}

/// A folder of this machine that has what a place in a store has. It is its user's alone, and goes with this value.
#[derive(Debug)]
pub struct Checkout {
    dir: TempDir,
    remote: Arc<Remote>,
    wanted: Wanted,
}

impl Checkout {
    /// Opens a place and fetches what is wanted of it.
    ///
    /// # Errors
    ///
    /// The place is none, its store refuses, or nobody answers.
    pub fn open(
        url: &str,
        wanted: Wanted,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, StoreError> {
        let remote = Arc::new(Remote::open(url, environment)?);
        let mut copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::Builder::new()
            .prefix("pibench-store-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|source| StoreError::Disk { source })?;
        copies.push(dir.path().to_owned());
        drop(copies);
        let checkout = Self {
            dir,
            remote,
            wanted,
        };
        checkout.refresh()?;
        Ok(checkout)
    }

    /// The folder.
    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// Fetches what came since.
    ///
    /// # Errors
    ///
    /// As of `open`.
    pub fn refresh(&self) -> Result<(), StoreError> {
        self.remote.fetch(self.dir.path(), &self.wanted)
    }

    /// The address of the run folder that this place is, or lies in; None for no such run, or one that nobody may look at.
    ///
    /// # Errors
    ///
    /// Nobody answers.
    pub fn run_around(&self) -> Result<Option<String>, StoreError> {
        self.remote.run_around()
    }

    /// From now on what is written into the folder goes to the store.
    ///
    /// # Errors
    ///
    /// The store makes an object that is there already, or another folder is mounted already.
    pub fn mount(&self) -> Result<(), StoreError> {
        // A name that no other process tries at the same time.
        let own = self.dir.path().file_name().unwrap_or_default();
        self.remote.try_conditions(std::path::Path::new(own))?;
        let sender = Arc::new(Sender::new(Arc::clone(&self.remote)));
        pibench_record::mirror::mount(self.dir.path(), sender)
            .map_err(|source| StoreError::Disk { source })
    }
}
