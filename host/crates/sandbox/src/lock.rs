//! `pibench.lock`: which plugins a folder holds, to the byte. Where a folder has one, a component that is not on it, or not
//! what it says, is not loaded. It says what was meant, not that it is good: whoever can write the plugin can write
//! the lock.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::Spanned;

use super::cache::hex;
use super::component::Facts;
use pibench_suite::depth::{DEPTH_LIMIT, too_deep};
use pibench_suite::problem::place;

/// The file's name, in the folder of the components.
pub const FILE: &str = "pibench.lock";

/// The version of the format.
const VERSION: u32 = 1;

/// Bytes of a lock.
const BYTE_LIMIT: u64 = 1 << 20;

/// Plugins of a lock.
const PLUGIN_LIMIT: usize = 4096;

/// The folder may be a stranger's: no link is followed to another file, and no pipe is waited for.
const PLAIN: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .bits()
    .cast_signed();

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Where it was read, for messages.
    #[serde(skip)]
    pub path: PathBuf,
    pub version: u32,
    /// Sorted by name.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<Locked>,
}

/// One pinned component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// The file's name without its ending.
    pub name: String,
    /// As the component says; empty when it does not.
    pub version: String,
    /// The version of the interface that it exports.
    pub wit: String,
    /// Hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// The file, relative to the lock.
    pub source: String,
}

/// Why a lock, or a plugin under one, is refused.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error(
        "load plugin from {}: it is not in {}; look at the file, then pin it with `pibench-host plugin lock --plugins {}`",
        path.display(), lock.display(), dir(path).display()
    )]
    Unlisted { path: PathBuf, lock: PathBuf },
    #[error(
        "load plugin from {}: {} pins {what} {pinned}, and it has {found}; {}",
        path.display(), lock.display(), mend(path, lock)
    )]
    Changed {
        path: PathBuf,
        lock: PathBuf,
        what: &'static str,
        pinned: String,
        found: String,
    },
    #[error(
        "load plugin `{name}`: {} pins it, and there is no {}; put the file back, or take it off the lock with `pibench-host plugin lock --plugins {}`",
        lock.display(), path.display(), dir(path).display()
    )]
    Absent {
        name: String,
        path: PathBuf,
        lock: PathBuf,
    },
}

/// What to do about a component that is not what a lock pins. A suite's lock may hold one that lies elsewhere.
fn mend(path: &Path, lock: &Path) -> String {
    if path.parent() == lock.parent() {
        let dir = dir(path).display();
        return format!(
            "put the file back, or look at it and pin it anew with `pibench-host plugin lock --plugins {dir}`"
        );
    }
    "name the file that is meant under [plugins] of the suite, or its folder by --plugins".into()
}

/// The folder of a file; a bare name's is this one.
fn dir(path: &Path) -> &Path {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    dir.unwrap_or(Path::new("."))
}

/// The lock of a component's folder; None where there is none.
pub(super) fn beside(component: &Path) -> Result<Option<Lock>, LockError> {
    let path = component.with_file_name(FILE);
    match read_text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => parse(&path, text).map(Some),
    }
}

/// The lock that a suite names.
pub fn read(path: &Path) -> Result<Lock, LockError> {
    parse(path, read_text(path))
}

/// A lock's text: of a regular file of a bounded length, whoever made the folder that it lies in.
fn read_text(path: &Path) -> io::Result<String> {
    let not_regular = || io::Error::other("it is not a regular file, and no link is followed");
    let opened = File::options().read(true).custom_flags(PLAIN).open(path);
    let file = opened.map_err(|error| {
        match Errno::from_io_error(&error) {
            // A link, and a socket.
            Some(Errno::LOOP | Errno::NXIO) => not_regular(),
            _ => error,
        }
    })?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    let mut bytes = Vec::new();
    file.take(BYTE_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTE_LIMIT {
        let told = format!("it has more bytes than the limit of {BYTE_LIMIT}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

fn parse(path: &Path, text: io::Result<String>) -> Result<Lock, LockError> {
    let lock = text
        .map_err(|error| error.to_string())
        .and_then(|text| Lock::parse(&text));
    let lock = lock.map_err(|reason| LockError::Read {
        path: path.to_owned(),
        reason,
    })?;
    Ok(Lock {
        path: path.to_owned(),
        ..lock
    })
}

impl Lock {
    /// Reads a lock's text. An error names the place and quotes nothing of what is no lock: a stranger's folder or setting may have
    /// named any file.
    pub fn parse(text: &str) -> Result<Self, String> {
        if too_deep(text).is_some() {
            return Err(format!("nested deeper than {DEPTH_LIMIT} levels"));
        }
        let Written { version, plugins } = toml::from_str(text).map_err(|error| {
            let place = place(text, error.span());
            format!("{place}: it is not as `pibench-host plugin lock` writes it")
        })?;
        if version != VERSION {
            return Err(format!(
                "version {version} of the format is not known; this host reads version {VERSION}"
            ));
        }
        if plugins.len() > PLUGIN_LIMIT {
            return Err(too_many(plugins.len()));
        }
        one_for_each(text, &plugins)?;
        Ok(Self {
            path: PathBuf::new(),
            version,
            plugins: plugins.into_iter().map(Spanned::into_inner).collect(),
        })
    }

    /// The digest that is pinned for a component's file; None where the lock does not name it.
    pub(super) fn digest(&self, path: &Path) -> Option<&str> {
        Some(&self.locked(path)?.sha256)
    }

    fn locked(&self, path: &Path) -> Option<&Locked> {
        let file = path.file_name().unwrap_or_default();
        let mut plugins = self.plugins.iter();
        plugins.find(|locked| Path::new(&locked.source).as_os_str() == file)
    }

    /// Whether a component is what the lock says. Without `facts` nothing of it was read yet but its bytes.
    pub(super) fn check(
        &self,
        path: &Path,
        sha256: &str,
        size: u64,
        facts: Option<&Facts>,
    ) -> Result<(), LockError> {
        let Some(Locked {
            name: _,
            version,
            wit,
            sha256: pinned,
            size: pinned_size,
            source: _,
        }) = self.locked(path)
        else {
            return Err(LockError::Unlisted {
                path: path.to_owned(),
                lock: self.path.clone(),
            });
        };
        let mut pairs = vec![
            ("the size", pinned_size.to_string(), size.to_string()),
            ("sha256", pinned.clone(), sha256.to_owned()),
        ];
        if let Some(facts) = facts {
            pairs.extend([
                ("version", version.clone(), facts.version.clone()),
                ("interface version", wit.clone(), facts.wit().to_owned()),
            ]);
        }
        match pairs.into_iter().find(|(_, pinned, found)| pinned != found) {
            None => Ok(()),
            Some((what, pinned, found)) => Err(LockError::Changed {
                path: path.to_owned(),
                lock: self.path.clone(),
                what,
                pinned,
                found,
            }),
        }
    }
}

/// The file as it is written, with the place of each entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    #[serde(default, rename = "plugin")]
    plugins: Vec<Spanned<Locked>>,
}

fn too_many(plugins: usize) -> String {
    format!("it has {plugins} plugins, more than the limit of {PLUGIN_LIMIT}")
}

/// Each entry is of a file of its own, and named after it: of two that say different things, nobody could tell which holds.
fn one_for_each(text: &str, plugins: &[Spanned<Locked>]) -> Result<(), String> {
    let line = |entry: &Spanned<Locked>| text[..entry.span().start].matches('\n').count() + 1;
    let mut seen = BTreeMap::new();
    for entry in plugins {
        let Locked { name, source, .. } = entry.get_ref();
        if *source != format!("{name}.wasm") {
            return Err(format!(
                "line {}: plugin `{name}` has the file `{source}`, and the file of a plugin is `{name}.wasm`",
                line(entry)
            ));
        }
        if let Some(first) = seen.insert(name, entry) {
            return Err(format!(
                "line {}: plugin `{name}` stands in line {} already",
                line(entry),
                line(first)
            ));
        }
    }
    Ok(())
}

/// Writes the lock of a folder: every component file in it. What is no plugin is an error that names it.
pub fn write(dir: &Path) -> Result<Lock, LockError> {
    let failed = |path: &Path, reason: String| LockError::Read {
        path: path.to_owned(),
        reason,
    };
    let entries = std::fs::read_dir(dir).map_err(|error| failed(dir, error.to_string()))?;
    let mut plugins = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| failed(dir, error.to_string()))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
        {
            plugins.push(read_lock(&path).map_err(|reason| failed(&path, reason))?);
        }
    }
    keep(dir, plugins)
}

/// Pins one more component of a folder, or one anew; what else the lock says stays as it is. A folder whose other components
/// nobody pinned is refused: with a lock they would not be loaded.
pub fn add(component: &Path) -> Result<Lock, LockError> {
    let failed = |path: &Path, reason: String| LockError::Read {
        path: path.to_owned(),
        reason,
    };
    let dir = dir(component);
    let added = read_lock(component).map_err(|reason| failed(component, reason))?;
    let mut plugins = match beside(component)? {
        Some(lock) => lock.plugins,
        None => Vec::new(),
    };
    if plugins.is_empty() {
        let entries = std::fs::read_dir(dir).map_err(|error| failed(dir, error.to_string()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_other = path.file_name() != component.file_name();
            if is_other && path.extension().is_some_and(|end| end == "wasm") {
                let shown = dir.display();
                return Err(failed(
                    &path,
                    format!(
                        "it is not pinned, and would not be loaded beside one that is; look at it, then `pibench-host plugin lock --plugins {shown}`"
                    ),
                ));
            }
        }
    }
    plugins.retain(|one| one.name != added.name);
    plugins.push(added);
    keep(dir, plugins)
}

/// Writes the lock of a folder.
fn keep(dir: &Path, mut plugins: Vec<Locked>) -> Result<Lock, LockError> {
    let failed = |path: &Path, reason: String| LockError::Read {
        path: path.to_owned(),
        reason,
    };
    plugins.sort();
    let path = dir.join(FILE);
    if plugins.len() > PLUGIN_LIMIT {
        return Err(failed(&path, too_many(plugins.len())));
    }
    let lock = Lock {
        path: path.clone(),
        version: VERSION,
        plugins,
    };
    let text = toml::to_string(&lock).map_err(|error| failed(&path, error.to_string()))?;
    let head = "# Written by `pibench-host plugin lock`. A component that is not as it says here is not loaded.\n";
    if (head.len() + text.len()) as u64 > BYTE_LIMIT {
        let reason = format!("it would have more bytes than the limit of {BYTE_LIMIT}");
        return Err(failed(&path, reason));
    }
    // As any other file that a program makes: who may use the plugins may read their lock.
    let mut unfinished = tempfile::Builder::new();
    unfinished.permissions(std::fs::Permissions::from_mode(0o666));
    let whole = unfinished.tempfile_in(dir).and_then(|mut file| {
        use std::io::Write;
        file.write_all(head.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.persist(&path)?;
        Ok(())
    });
    whole.map_err(|error| failed(&path, error.to_string()))?;
    Ok(lock)
}

fn read_lock(path: &Path) -> Result<Locked, String> {
    let wasm = std::fs::read(path).map_err(|error| error.to_string())?;
    let facts = Facts::of(&wasm)?;
    if facts.wit().is_empty() {
        return Err("it exports no interface of pibench:plugin".into());
    }
    let text = |part: Option<&std::ffi::OsStr>| {
        part.and_then(std::ffi::OsStr::to_str)
            .map(str::to_owned)
            .ok_or("its name is not UTF-8")
    };
    Ok(Locked {
        name: text(path.file_stem())?,
        version: facts.version.clone(),
        wit: facts.wit().to_owned(),
        sha256: hex(&Sha256::digest(&wasm)),
        size: wasm.len() as u64,
        source: text(path.file_name())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(text: &str) -> Vec<u8> {
        let text = format!(
            "(component {text} (instance $i) (export \"pibench:plugin/grading@0.1.0\" (instance $i)))"
        );
        wat::parse_str(text).unwrap()
    }

    fn check(path: &Path) -> Result<(), LockError> {
        let wasm = std::fs::read(path).unwrap();
        let lock = beside(path)?.unwrap();
        let sha256 = hex(&Sha256::digest(&wasm));
        let facts = Facts::of(&wasm).unwrap();
        lock.check(path, &sha256, wasm.len() as u64, Some(&facts))
    }

    #[test]
    fn what_was_locked_passes_and_what_was_changed_or_added_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one.wasm"), dir.path().join("two.wasm"));
        std::fs::write(&one, component("")).unwrap();
        assert!(beside(&one).unwrap().is_none(), "no lock yet");
        let lock = write(dir.path()).unwrap();
        assert_eq!(lock.plugins.len(), 1);
        assert_eq!(lock.plugins[0].wit, "0.1.0");
        check(&one).unwrap();
        std::fs::write(&two, component("")).unwrap();
        assert!(matches!(check(&two), Err(LockError::Unlisted { .. })));
        std::fs::write(&one, component("(core module)")).unwrap();
        let error = check(&one).unwrap_err();
        assert!(
            error.to_string().contains("pins the size")
                && error.to_string().contains("plugin lock"),
            "{error}"
        );
        write(dir.path()).unwrap();
        check(&one).unwrap();
        check(&two).unwrap();
    }

    #[test]
    fn the_folder_to_pin_anew_is_named_also_where_a_file_has_a_bare_name() {
        for (file, folder) in [("one.wasm", "."), ("mine/one.wasm", "mine")] {
            let path = Path::new(file);
            let told = mend(path, &path.with_file_name(FILE));
            let end = format!("`pibench-host plugin lock --plugins {folder}`");
            assert!(told.ends_with(&end), "{told}");
        }
    }

    #[test]
    fn a_lock_of_another_form_is_refused() {
        for (text, said) in [
            ("version = 2", "version 2"),
            ("version = 1\nplugins = 3", "line 2, column 1: it is not as"),
            ("version = 1\n[[plugin]]\nname = 'a'", "it is not as"),
            ("", "line 1, column 1"),
        ] {
            let error = Lock::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn of_a_file_that_is_no_lock_nothing_is_quoted() {
        for text in [
            "KEY=sk-secret\0HOME=/root",
            "-----BEGIN sk-secret-----",
            "version = 1\nsk-secret = 2",
            "version = \"sk-secret\"",
            "version = 1\nplugin = [\"sk-secret\"]",
        ] {
            let error = Lock::parse(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
            assert!(
                error.contains("line ") && error.contains("column "),
                "{error}"
            );
        }
    }

    #[test]
    fn a_lock_is_a_regular_file_of_a_bounded_length() {
        let dir = tempfile::tempdir().unwrap();
        let component = dir.path().join("a.wasm");
        let path = dir.path().join(FILE);
        let refused = |said: &str| {
            for error in [beside(&component).unwrap_err(), read(&path).unwrap_err()] {
                assert!(error.to_string().contains(said), "{error}");
            }
            std::fs::remove_file(&path).unwrap();
        };
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "version = 1\n").unwrap();
        for target in [
            plain.as_path(),
            Path::new("/dev/zero"),
            Path::new("nowhere"),
        ] {
            std::os::unix::fs::symlink(target, &path).unwrap();
            refused("not a regular file");
        }
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        refused("not a regular file");
        let limit = usize::try_from(BYTE_LIMIT).unwrap();
        let long = |bytes: usize| format!("version = 1\n{}", "#".repeat(bytes - 12));
        std::fs::write(&path, long(limit + 1)).unwrap();
        refused("more bytes than the limit of 1048576");
        std::fs::write(&path, long(limit)).unwrap();
        assert!(beside(&component).unwrap().is_some() && read(&path).is_ok());
    }

    #[test]
    fn a_lock_has_a_bounded_number_of_plugins() {
        let lock = |plugins: usize| {
            let entries = (0..plugins).map(|at| {
                format!(
                    "[[plugin]]\nname=\"p{at}\"\nversion=\"\"\nwit=\"\"\nsha256=\"\"\nsize=1\nsource=\"p{at}.wasm\"\n"
                )
            });
            Lock::parse(&format!("version = 1\n{}", entries.collect::<String>()))
        };
        let error = lock(PLUGIN_LIMIT + 1).unwrap_err();
        assert!(
            error.contains("4097 plugins, more than the limit of 4096"),
            "{error}"
        );
        assert_eq!(lock(PLUGIN_LIMIT).unwrap().plugins.len(), PLUGIN_LIMIT);
    }

    #[test]
    fn an_entry_is_named_after_its_file_and_stands_there_once() {
        let entry = |name: &str, source: &str| {
            format!(
                "[[plugin]]\nname = \"{name}\"\nversion = \"\"\nwit = \"0.1.0\"\nsha256 = \"00\"\nsize = 1\nsource = \"{source}\"\n"
            )
        };
        let lock = |entries: &[(&str, &str)]| {
            let entries = entries.iter().map(|(name, source)| entry(name, source));
            Lock::parse(&format!("version = 1\n{}", entries.collect::<String>()))
        };
        let good = lock(&[("a", "a.wasm"), ("b", "b.wasm")]).unwrap();
        assert_eq!(good.plugins.len(), 2);
        for (entries, said) in [
            (
                [("a", "a.wasm"), ("b", "a.wasm")],
                "line 9: plugin `b` has the file `a.wasm`, and the file of a plugin is `b.wasm`",
            ),
            (
                [("a", "a.wasm"), ("b", "../b.wasm")],
                "line 9: plugin `b` has the file `../b.wasm`",
            ),
            (
                [("a", "a.wasm"), ("a", "a.wasm")],
                "line 9: plugin `a` stands in line 2 already",
            ),
        ] {
            let error = lock(&entries).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn a_folder_with_something_else_than_plugins_is_not_locked() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.wasm"), "no wasm").unwrap();
        assert!(write(dir.path()).is_err());
        assert!(!dir.path().join(FILE).exists());
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(text: String) {
            let _ = Lock::parse(&text);
        }
    }
}
