//! Writes a new pack in one piece: first into a hidden folder beside its place, which becomes the pack by one rename
//! or goes away. Never touches what stands at the place already.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;
use tempfile::TempDir;
use toml::Value;

/// The pack's folder within the temporary one, whose own mode is for its owner alone.
const PACK: &str = "pack";

/// A pack that is being written.
#[derive(Debug)]
pub(super) struct Staging {
    folder: TempDir,
    dir: Dir,
}

impl Staging {
    pub(super) fn beside(out: &Utf8Path) -> io::Result<Self> {
        let parent = match out.parent() {
            Some(parent) if !parent.as_str().is_empty() => parent,
            _ => Utf8Path::new("."),
        };
        std::fs::create_dir_all(parent)?;
        let folder = tempfile::Builder::new()
            .prefix(".import-")
            .tempdir_in(parent)?;
        let whole = Dir::open_ambient_dir(folder.path(), ambient_authority())?;
        whole.create_dir(PACK)?;
        let dir = whole.open_dir(PACK)?;
        Ok(Self { folder, dir })
    }

    /// Where a file of the pack stands until it is published.
    pub(super) fn path(&self, path: &str) -> Utf8PathBuf {
        let folder = Utf8PathBuf::from(self.folder.path().to_string_lossy().into_owned());
        folder.join(PACK).join(path)
    }

    pub(super) fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.dir.create_dir_all(folder)?;
        }
        self.dir.write(path, content)
    }

    /// Writes one of the task formats, without what is at its default.
    pub(super) fn write_toml(&self, path: &str, file: &impl Serialize) -> io::Result<()> {
        // Through text, which keeps dates what they are.
        let whole = toml::to_string(file).map_err(io::Error::other)?;
        let mut table: toml::Table = whole.parse().map_err(io::Error::other)?;
        // Metadata is somebody else's: an empty list of theirs may say something.
        table.retain(|key, value| key == "metadata" || says_something(value));
        let text = toml::to_string_pretty(&table).map_err(io::Error::other)?;
        self.write(path, text.as_bytes())
    }

    /// Takes a folder out.
    pub(super) fn remove(&self, folder: &str) -> io::Result<()> {
        self.dir.remove_dir_all(folder)
    }

    pub(super) fn publish(self, out: &Utf8Path) -> io::Result<()> {
        let Self { folder, dir } = self;
        drop(dir);
        std::fs::rename(folder.path().join(PACK), out)
    }
}

/// Takes out of a value what a reader of it would assume anyway; false when nothing is left.
fn says_something(value: &mut Value) -> bool {
    match value {
        Value::Table(table) => {
            table.retain(|key, value| !is_default(key, value) && says_something(value));
            !table.is_empty()
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                says_something(item);
            }
            !items.is_empty()
        }
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// The defaults that every item of a list would repeat.
fn is_default(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("weight", Value::Float(weight)) => weight.to_bits() == 1.0_f64.to_bits(),
        ("when", Value::String(when)) => when == "ever",
        ("scope", Value::String(scope)) => scope == "session",
        _ => false,
    }
}
