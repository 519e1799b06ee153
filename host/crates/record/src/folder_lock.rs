//! The lock of a run folder, which keeps a second process out, on whichever machine it runs; and what stands in it: who works on
//! the folder. No score depends on that, and it is never compared.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::FolderError;
use super::foreign::{open_file, open_own, read_file};

/// The file that is locked.
pub(super) const LOCK: &str = "lock";

/// The mounts of this process (proc(5)).
const MOUNTS: &str = "/proc/self/mountinfo";

/// The settings of a `BeeGFS` mount that names none.
const BEEGFS: &str = "/etc/beegfs/beegfs-client.conf";

/// Held as long as a folder is in use; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// Who works on a run folder, or did last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The machine's name.
    pub node: String,
    /// How often somebody began to work on the folder, this time included.
    pub number: u32,
    /// When, UTC.
    pub at: String,
}

impl Lock {
    /// For one that writes: nobody else has it, and what it keeps out it keeps out on all machines.
    pub(super) fn alone(root: &Path) -> Result<Self, FolderError> {
        let path = root.join(LOCK);
        // In a folder of a stranger a link or a pipe may stand in its place.
        let mut how = File::options();
        how.write(true).create(true).truncate(false);
        let file = open_own(&path, &mut how).map_err(|source| FolderError::Write {
            path: path.clone(),
            source,
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = root.to_owned();
                return Err(FolderError::Locked { path });
            }
            Err(TryLockError::Error(source)) => return Err(refused(path, source)),
        }
        holds_everywhere(root, false)?;
        Ok(Self { file })
    }

    /// For those that look, of whom there may be several; None for a copy that has no file to lock.
    pub(super) fn share(root: &Path) -> Result<Option<Self>, FolderError> {
        let failed = |error: io::Error| FolderError::Read {
            path: root.join(LOCK),
            reason: error.to_string(),
        };
        let file = match open_file(root, &root.join(LOCK)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => {
                let path = root.to_owned();
                Err(FolderError::Locked { path })
            }
            Err(TryLockError::Error(error)) => {
                Err(no_locks(&root.join(LOCK), &error).unwrap_or_else(|| failed(error)))
            }
        }
    }

    /// Whether it is that of a folder as it is now, and not of one that was there before by that name.
    pub(super) fn is_of(&self, root: &Path) -> bool {
        let id = |data: fs::Metadata| (data.dev(), data.ino());
        match (fs::metadata(root.join(LOCK)), self.file.metadata()) {
            (Ok(there), Ok(own)) => id(there) == id(own),
            _ => false,
        }
    }

    /// Writes down that the folder is worked on from now on, and where.
    pub(super) fn begin(&self, root: &Path, node: &str) -> Result<(), FolderError> {
        let before = read_start(root).map_or(0, |start| start.number);
        let start = Start {
            node: node.to_owned(),
            number: before.saturating_add(1),
            at: jiff::Timestamp::now().to_string(),
        };
        let written = || {
            let mut line = serde_json::to_vec(&start)?;
            line.push(b'\n');
            // In the file that is locked: on some file systems a lock does not survive that another handle is closed.
            self.file.set_len(0)?;
            (&self.file).rewind()?;
            (&self.file).write_all(&line)
        };
        written().map_err(|source| FolderError::Write {
            path: root.join(LOCK),
            source,
        })
    }
}

/// What the system says of a lock that it does not give.
fn refused(path: PathBuf, source: io::Error) -> FolderError {
    no_locks(&path, &source).unwrap_or(FolderError::Write { path, source })
}

/// Why there are none; None where that is not what it says.
fn no_locks(path: &Path, source: &io::Error) -> Option<FolderError> {
    let without = [Errno::NOLCK, Errno::NOTSUP, Errno::NOSYS, Errno::INVAL];
    let errno = Errno::from_io_error(source)?;
    without.contains(&errno).then(|| FolderError::NoLocks {
        path: path.to_owned(),
        reason: format!("its file system has no locks ({source})"),
    })
}

/// That locks below a folder hold on all machines. `is_part`: others play parts of the same run there, so file systems that are an
/// error only then are one.
pub(super) fn holds_everywhere(root: &Path, is_part: bool) -> Result<(), FolderError> {
    let mounts = fs::read_to_string(MOUNTS).unwrap_or_default();
    match local_only(&mounts, root, is_part) {
        Some(reason) => Err(FolderError::NoLocks {
            path: root.join(LOCK),
            reason,
        }),
        None => Ok(()),
    }
}

/// Why locks below a folder hold on this machine only, though its file system is another's: None when they do not.
fn local_only(mounts: &str, root: &Path, is_part: bool) -> Option<String> {
    // ID PARENT DEVICE ROOT PLACE OPTIONS [FIELDS] - TYPE SOURCE SUPER-OPTIONS
    let holding = mounts.lines().filter_map(|line| {
        let (mount, of) = line.split_once(" - ")?;
        let place = mount.split(' ').nth(4)?;
        root.starts_with(place.replace("\\040", " "))
            .then_some((place.len(), of))
    });
    // The deepest, and of several at one place the last.
    let (_, of) = holding.max_by_key(|(length, _)| *length)?;
    let mut fields = of.split(' ');
    let (kind, options) = (fields.next()?, fields.nth(1)?);
    let options: Vec<&str> = options.split(',').collect();
    let local: &[&str] = match kind {
        "nfs" | "nfs4" => &["nolock", "local_lock=flock", "local_lock=all"],
        "lustre" => &["localflock"],
        "cifs" | "smb3" if is_part => &["nobrl"],
        "gfs2" | "ocfs2" if is_part => &["localflocks"],
        _ => &[],
    };
    if let Some(found) = options.iter().find(|option| local.contains(option)) {
        return Some(format!(
            "its file system ({kind}) is mounted with `{found}`"
        ));
    }
    let reason = match kind {
        "beegfs" if !is_global(&options) => "without `tuneUseGlobalFileLocks = true`",
        "fuse.sshfs" | "9p" => "always",
        _ => return None,
    };
    is_part.then(|| {
        format!("its file system ({kind}) keeps locks on each machine for itself, {reason}")
    })
}

/// Whether the settings of a `BeeGFS` mount say that its locks are all machines'.
fn is_global(options: &[&str]) -> bool {
    let file = options
        .iter()
        .find_map(|option| option.strip_prefix("cfgFile="));
    let settings = fs::read_to_string(file.unwrap_or(BEEGFS)).unwrap_or_default();
    let mut settings = settings.lines().filter_map(|line| line.split_once('='));
    settings.any(|(name, value)| {
        name.trim() == "tuneUseGlobalFileLocks" && matches!(value.trim(), "true" | "1")
    })
}

/// Who works on a run folder, or did last; None where nobody said so.
pub fn read_start(folder: &Path) -> Option<Start> {
    serde_json::from_slice(&read_file(folder, &folder.join(LOCK)).ok()?).ok()
}

/// Whether a process holds a run folder's lock. It is not waited for, and nothing is written.
pub fn is_worked_on(folder: &Path) -> bool {
    let lock = open_file(folder, &folder.join(LOCK));
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_holds_on_one_machine_only_is_told_and_others_are_not() {
        let mounts = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:50 / /runs rw,noatime - nfs4 nas:/runs rw,vers=4.2,local_lock=none
41 22 0:51 / /runs/old rw - nfs nas:/old rw,vers=3,nolock
42 22 0:52 / /my\\040runs rw - lustre mds:/work rw,localflock
43 22 0:53 / /scratch rw - lustre mds:/scratch rw,flock
";
        let reason = |path: &str| local_only(mounts, Path::new(path), false);
        for shared in ["/runs/a", "/data/a", "/scratch/a", "/runs/older"] {
            assert_eq!(reason(shared), None, "{shared}");
        }
        assert!(
            reason("/runs/old/a")
                .unwrap()
                .contains("(nfs) is mounted with `nolock`")
        );
        assert!(reason("/my runs/a").unwrap().contains("`localflock`"));
    }

    #[test]
    fn a_part_wants_locks_of_all_machines_where_a_run_alone_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("client.conf");
        let beegfs = format!("beegfs b rw,cfgFile={},_netdev", file.display());
        let reason = |mount: &str, is_part| {
            let mounts = format!("22 1 8:1 / / rw - ext4 a rw\n40 22 0:50 / /runs rw - {mount}\n");
            local_only(&mounts, Path::new("/runs/part-1"), is_part)
        };
        fs::write(
            &file,
            "# tuneUseGlobalFileLocks = true\ntuneUseGlobalFileLocks = false\n",
        )
        .unwrap();
        let local = [
            "fuse.sshfs a: rw",
            "9p a rw",
            "cifs //a rw,nobrl",
            "gfs2 a rw,localflocks",
            "ocfs2 a rw,localflocks",
        ];
        for mount in local.into_iter().chain([beegfs.as_str()]) {
            assert!(reason(mount, true).is_some(), "{mount}");
            assert_eq!(reason(mount, false), None, "{mount}");
        }
        fs::write(&file, "tuneUseGlobalFileLocks    = true\n").unwrap();
        for mount in [
            "cifs //a rw",
            "gfs2 a rw",
            "fuse.glusterfs a rw",
            "ceph a rw",
            beegfs.as_str(),
        ] {
            assert_eq!(reason(mount, true), None, "{mount}");
        }
    }

    #[test]
    fn a_file_system_without_locks_is_told_and_what_to_do() {
        let said = |errno: Errno| refused("out/lock".into(), errno.into()).to_string();
        let without = said(Errno::NOLCK);
        assert!(
            without.contains("out/lock") && without.contains("-o flock"),
            "{without}"
        );
        assert!(said(Errno::IO).starts_with("write out/lock"));
        // Readers say the same.
        let reading = |errno: Errno| no_locks(Path::new("out/lock"), &errno.into());
        assert_eq!(
            reading(Errno::NOTSUP).unwrap().to_string(),
            said(Errno::NOTSUP)
        );
        assert!(reading(Errno::IO).is_none());
    }

    #[test]
    fn each_start_is_counted_and_locks_stay_with_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let held = Lock::alone(dir.path()).unwrap();
        assert_eq!(read_start(dir.path()), None);
        for number in 1..=2 {
            held.begin(dir.path(), "n7").unwrap();
            let start = read_start(dir.path()).unwrap();
            assert_eq!((start.node.as_str(), start.number), ("n7", number));
        }
        assert!(is_worked_on(dir.path()));
        assert!(matches!(
            Lock::alone(dir.path()),
            Err(FolderError::Locked { .. })
        ));
        drop(held);
        assert!(!is_worked_on(dir.path()));
    }
}
