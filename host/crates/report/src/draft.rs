//! A folder that is there whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What becomes a new folder beside its place, and is gone if it is dropped before.
#[derive(Debug)]
pub struct Draft {
    dir: TempDir,
    out: PathBuf,
}

impl Draft {
    /// Folders above are made. Refuses what is there already.
    pub fn of(out: &Path) -> io::Result<Self> {
        if out.exists() {
            return Err(io::Error::other(
                "it is there already; choose another --out",
            ));
        }
        let above = out.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        fs::create_dir_all(above)?;
        let dir = tempfile::Builder::new()
            .prefix(".new-")
            // As any other folder that a program makes.
            .permissions(fs::Permissions::from_mode(0o777))
            .tempdir_in(above)?;
        Ok(Self {
            dir,
            out: out.to_owned(),
        })
    }

    /// Where it lies until it is published.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn publish(self) -> io::Result<()> {
        fs::rename(self.dir.path(), &self.out)?;
        // It has another name now.
        let _ = self.dir.keep();
        Ok(())
    }
}
