//! Whose it is what lies in a cache. Of somebody else's making it could be a suite that sends this user's keys to a server of
//! theirs, or code. It never takes anything away.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The user that this process acts as in a folder. Some file systems have owners of their own: there it is the owner of a file
/// that is made for the question.
pub(super) fn user(dir: &Path) -> u32 {
    let own = rustix::process::geteuid().as_raw();
    if fs::symlink_metadata(dir).is_ok_and(|metadata| metadata.uid() == own) {
        return own;
    }
    super::owner(dir).unwrap_or(own)
}

/// What is told of a file or folder that this user alone can have written.
pub(super) fn check(path: &Path, user: u32) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() || metadata.mode() & 0o022 != 0 || metadata.uid() != user {
        let path = path.display();
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{path} is a link, belongs to somebody else, or others may write to it"),
        ));
    }
    Ok(metadata)
}

/// Bytes of each file below a folder of the cache, by its path in that folder; of a file, its own. An error where the cache or
/// anything of the folder is a link, belongs to somebody else, or may be written to by others.
pub fn files(cache: &Path, folder: &Path) -> io::Result<BTreeMap<PathBuf, u64>> {
    let user = user(cache);
    check(cache, user)?;
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = check(&path, user)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        } else {
            let within = path.strip_prefix(folder).unwrap_or(&path);
            found.insert(within.to_owned(), metadata.len());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_a_link_or_others_may_have_written_is_refused_and_its_own_twin_is_listed() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("embedded");
        let inner = folder.join("suite");
        let file = inner.join("suite.toml");
        fs::create_dir_all(&inner).unwrap();
        fs::write(&file, "id").unwrap();
        let places: [&Path; 4] = [cache.path(), &folder, &inner, &file];
        for path in places {
            allow(path, 0o755);
        }
        let listed = || files(cache.path(), &folder);
        let own = BTreeMap::from([(PathBuf::from("suite/suite.toml"), 2)]);
        assert_eq!(listed().unwrap(), own);
        for path in places {
            for mode in [0o775, 0o757] {
                allow(path, mode);
                let error = listed().unwrap_err().to_string();
                assert!(error.contains(path.to_str().unwrap()), "{error}");
            }
            allow(path, 0o755);
            // Only root can give away what is its own.
            if chown(path, Some(65_532), None).is_ok() {
                listed().unwrap_err();
                chown(path, Some(0), None).unwrap();
            }
        }
        symlink(&file, inner.join("link")).unwrap();
        listed().unwrap_err();
        fs::remove_file(inner.join("link")).unwrap();
        let linked = cache.path().join("linked");
        symlink(&folder, &linked).unwrap();
        files(cache.path(), &linked).unwrap_err();
        assert_eq!(listed().unwrap(), own);
    }
}
