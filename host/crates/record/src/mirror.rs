//! A second place for run folders that outlives this machine. A folder is mounted once by the program; what is written below
//! it goes there too, in the order that makes the journal true: a line is there only when all that it names is.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::draft::is_draft;

/// The way to that place. Paths are relative to the folder that is mounted.
pub trait Mirror: Debug + Send + Sync {
    /// Begins to send a file. An error is told by the next line, or by `finish`.
    fn put(&self, path: &Path, bytes: Vec<u8>);

    /// Makes a file that nobody has made before.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` where another one is there by that name.
    fn create(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()>;

    /// Adds a line to a journal (1, 2, 3, ...), when all that was put before is there.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` where another process has written a line of that number: it goes on with the episode, and this one
    /// must not. Others, when the place cannot be reached for long.
    fn add_line(&self, path: &Path, number: u64, line: &[u8]) -> io::Result<()>;

    /// Takes a file away.
    fn remove(&self, path: &Path);

    /// Returns when all is there that was put.
    fn finish(&self) -> io::Result<()>;

    /// The files right below a folder, as they are there now, and not only as they are here.
    fn read_all(&self, dir: &Path) -> io::Result<Vec<(String, Vec<u8>)>>;
}

#[derive(Debug)]
struct Mount {
    root: PathBuf,
    mirror: Arc<dyn Mirror>,
}

/// The one folder of this process that is a copy of another place.
static MOUNT: OnceLock<Mount> = OnceLock::new();

/// From now on what is written below a folder goes to the mirror too.
///
/// # Errors
///
/// The folder is not there. A second mount is a mistake of the program.
pub fn mount(root: &Path, mirror: Arc<dyn Mirror>) -> io::Result<()> {
    let root = fs::canonicalize(root)?;
    let mount = Mount { root, mirror };
    MOUNT
        .set(mount)
        .map_err(|_| io::Error::other("a folder is mounted already"))
}

/// Where a file or folder also is: the mirror, and its path there. None for all that is not below the mount, and for what is
/// not whole yet.
pub(super) fn find(path: &Path) -> Option<(&'static dyn Mirror, &Path)> {
    let Mount { root, mirror } = MOUNT.get()?;
    let path = path.strip_prefix(root).ok()?;
    (!is_draft(path)).then_some((mirror.as_ref(), path))
}

/// Sends what there is of a run folder; its manifest first, which only one process makes.
pub(super) fn send_folder(root: &Path) -> io::Result<()> {
    let Some((mirror, path)) = find(root) else {
        return Ok(());
    };
    let manifest = "manifest.json";
    mirror.create(&path.join(manifest), fs::read(root.join(manifest))?)?;
    send_below(mirror, root, path, &|name| name != manifest)?;
    mirror.finish()
}

/// Sends the files of a folder that are named, and of all folders in it.
pub(super) fn send_below(
    mirror: &dyn Mirror,
    dir: &Path,
    path: &Path,
    is_sent: &dyn Fn(&str) -> bool,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let (below, path) = (entry.path(), path.join(&name));
        if kind.is_dir() {
            send_below(mirror, &below, &path, &|_| true)?;
        } else if kind.is_file() && name.to_str().is_some_and(is_sent) {
            mirror.put(&path, fs::read(below)?);
        }
    }
    Ok(())
}

/// Sends files of a folder as they are now; one that is not there is none to send.
pub(super) fn send_files(
    mirror: &dyn Mirror,
    dir: &Path,
    path: &Path,
    names: &[&str],
) -> io::Result<()> {
    for name in names {
        match fs::read(dir.join(name)) {
            Ok(bytes) => mirror.put(&path.join(name), bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends the workspaces of a run that is over. Until then they are made anew from the journal.
pub(super) fn send_workspaces(root: &Path) -> io::Result<()> {
    let dir = root.join("workspaces");
    match find(&dir) {
        Some((mirror, path)) => send_below(mirror, &dir, path, &|_| true),
        None => Ok(()),
    }
}

/// Returns when all of a folder is where it also is.
pub(super) fn finish(root: &Path) -> io::Result<()> {
    find(root).map_or(Ok(()), |(mirror, _)| mirror.finish())
}
