//! The packs that are installed: a folder each, by name and release, which appears whole and never changes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use camino::Utf8Path;
use pibench_suite::pack::{Pack, ReadError};
use tempfile::TempDir;

use crate::PackError;
use crate::archive::{Unpacked, make_folder, readable};
use crate::contents::{Contents, LIST, LIST_LIMIT, SIGNATURE};
use crate::manifest::{check_name, check_release, numbers};

/// How the names of folders begin that are not whole yet, and how long one is taken for somebody's work.
const NEW: &str = ".new-pack-";
const ABANDONED: Duration = Duration::from_hours(24);

/// Where packs are installed.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// A pack that is installed.
#[derive(Debug)]
pub struct Installed {
    pub folder: PathBuf,
    pub contents: Contents,
    /// Whether a signature came with it.
    pub is_signed: bool,
}

impl Installed {
    /// What was installed into a folder; None where no list lies in it.
    pub fn at(folder: &Utf8Path) -> Result<Option<Self>, PackError> {
        let refused = |reason: String| PackError::refused(folder, reason);
        // A folder that is not there is told where its files are read.
        let Ok(mut pack) = Pack::open_as_it_lies(folder) else {
            return Ok(None);
        };
        let text = match pack.read(LIST, LIST_LIMIT) {
            Ok(bytes) => String::from_utf8(bytes),
            Err(ReadError::Missing(_)) => return Ok(None),
            Err(error) => return Err(refused(format!("failed to {error}"))),
        };
        let text = text.map_err(|_| refused(format!("{LIST} is no UTF-8")))?;
        Ok(Some(Self {
            folder: folder.as_std_path().to_owned(),
            contents: Contents::parse(&text).map_err(refused)?,
            is_signed: folder.join(SIGNATURE).exists(),
        }))
    }

    /// What of its files is not as its list says, in words; None where all are.
    pub fn changed(&self) -> Option<String> {
        let Some(folder) = Utf8Path::from_path(&self.folder) else {
            return Some("its name is no UTF-8".into());
        };
        match Contents::of(folder) {
            Ok((there, _)) => self.contents.first_change(&there),
            Err(PackError::Refused { reason, .. }) => Some(reason),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Store {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A new folder, to unpack into. It goes unless it is published.
    pub fn draft(&self) -> Result<TempDir, PackError> {
        let made = || {
            make_folder(&self.root)?;
            self.remove_abandoned()?;
            tempfile::Builder::new().prefix(NEW).tempdir_in(&self.root)
        };
        made().map_err(|source| failed("make a folder in", &self.root, source))
    }

    /// What killed processes left.
    fn remove_abandoned(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)?.flatten() {
            let is_new = entry.file_name().to_string_lossy().starts_with(NEW);
            let modified = entry.metadata().and_then(|data| data.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok());
            if is_new && age.is_some_and(|age| age > ABANDONED) {
                // What cannot be removed is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// Gives a draft the name of its pack; where it lies. A release that is there already is left as it is: the same one is
    /// installed, and another one under its name, or one that was changed since, is refused. The signature that came is put to it.
    /// `maker`: whose signature over the list it is; None for none's.
    pub fn publish(
        &self,
        draft: TempDir,
        unpacked: &Unpacked,
        maker: impl Fn(&str) -> Option<String>,
    ) -> Result<PathBuf, PackError> {
        let Unpacked {
            contents,
            signature,
        } = unpacked;
        let target = self.folder(&contents.name, &contents.release);
        if target.exists() {
            let there = self.installed(&contents.name, &contents.release)?;
            let shown = target.display().to_string();
            if there.contents == *contents {
                if let Some(changed) = there.changed() {
                    return Err(PackError::refused(
                        &shown,
                        format!(
                            "it was changed since it was installed ({changed}); move what came to it elsewhere, your runs too, or else remove the folder, and install it again"
                        ),
                    ));
                }
                if let Some(signature) = signature {
                    put_signature(&target, signature, maker)?;
                }
                return Ok(target);
            }
            return Err(PackError::refused(
                &shown,
                format!(
                    "{} {} is installed with other files (its list has SHA-256 {}, and this one's {}); a release does not \
                     change: ask whose is right, and remove the folder if it is not that one",
                    contents.name,
                    contents.release,
                    there.contents.digest(),
                    contents.digest()
                ),
            ));
        }
        let dir = draft.path();
        let written = || {
            use std::os::unix::fs::PermissionsExt;
            write(&dir.join(LIST), &contents.text())?;
            if let Some(signature) = signature {
                write(&dir.join(SIGNATURE), signature)?;
            }
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
            // Whole on the disk before it has its name.
            #[cfg(target_os = "linux")]
            rustix::fs::syncfs(File::open(dir)?)?;
            #[cfg(not(target_os = "linux"))]
            rustix::fs::sync();
            if let Some(above) = target.parent() {
                make_folder(above)?;
            }
            fs::rename(dir, &target)
        };
        written().map_err(|source| failed("write", &target, source))?;
        // The folder has another name now: nothing is left to clean up.
        let _ = draft.keep();
        Ok(target)
    }

    fn folder(&self, name: &str, release: &str) -> PathBuf {
        self.root.join(name).join(release)
    }

    /// A pack by its name and release.
    pub fn installed(&self, name: &str, release: &str) -> Result<Installed, PackError> {
        let folder = self.folder(name, release);
        let shown = folder.display().to_string();
        let refused = |reason: String| PackError::refused(&shown, reason);
        check_name(name).map_err(refused)?;
        check_release("release", release).map_err(refused)?;
        let path = Utf8Path::from_path(&folder);
        let path = path.ok_or_else(|| refused("its name is no UTF-8".into()))?;
        let found = Installed::at(path)?;
        let found = found.ok_or_else(|| {
            let source = io::Error::from(io::ErrorKind::NotFound);
            failed("read", &folder.join(LIST), source)
        })?;
        let contents = &found.contents;
        if contents.name != name || contents.release != release {
            return Err(refused(format!(
                "its list is that of {} {}",
                contents.name, contents.release
            )));
        }
        Ok(found)
    }

    /// All packs, by name and release. A folder that is none is left out.
    pub fn list(&self) -> Result<Vec<Installed>, PackError> {
        let mut found = Vec::new();
        for name in names(&self.root)? {
            if check_name(&name).is_err() {
                continue;
            }
            let releases = names(&self.root.join(&name))?;
            let mut releases: Vec<_> = releases
                .into_iter()
                .filter_map(|release| Some((numbers(&release)?, release)))
                .collect();
            releases.sort();
            for (_, release) in releases {
                found.push(self.installed(&name, &release)?);
            }
        }
        Ok(found)
    }
}

/// Puts a signature to a pack that is installed. One that holds does not give way to another's.
fn put_signature(
    folder: &Path,
    signature: &str,
    maker: impl Fn(&str) -> Option<String>,
) -> Result<(), PackError> {
    let path = folder.join(SIGNATURE);
    let there = fs::read_to_string(&path).ok();
    if there.as_deref() == Some(signature) {
        return Ok(());
    }
    if let Some(known) = there.as_deref().and_then(&maker)
        && maker(signature).as_ref() != Some(&known)
    {
        return Err(PackError::refused(
            folder.display().to_string(),
            format!(
                "it is installed with a signature by the key {known}, and this one is not of that key; ask whose is right, and \
                 remove the folder if it is not that one"
            ),
        ));
    }
    write(&path, signature).map_err(|source| failed("write", &path, source))
}

/// Writes a file of an installed pack.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    readable(&file)?;
    file.write_all(text.as_bytes())
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> PackError {
    PackError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// The names in a folder, sorted; none where it is not there.
fn names(dir: &Path) -> Result<Vec<String>, PackError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", dir, error)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}
