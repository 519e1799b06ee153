//! The program that an agent starts as its MCP server where it takes none by HTTP: this one, but without the suite that it
//! carries, which no agent may read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How the program is made; set once, before anything is played.
static MADE: OnceLock<fn() -> io::Result<PathBuf>> = OnceLock::new();

/// Where it is, once it was made.
static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Says how to make it. A second time changes nothing.
pub fn set_bridge(make: fn() -> io::Result<PathBuf>) {
    let _ = MADE.set(make);
}

/// Where it lies: this program itself where nobody said how to make another, and nothing is hidden in it.
pub fn bridge() -> io::Result<PathBuf> {
    if let Some(place) = PLACE.get() {
        return Ok(place.clone());
    }
    let place = MADE
        .get()
        .map_or_else(std::env::current_exe, |make| make())?;
    Ok(PLACE.get_or_init(|| place).clone())
}

/// This program as it would be seen among the system's programs or with an installation; None where it is not seen, or nothing
/// is hidden in it.
pub(super) fn seen(system: &[&str], read: &[PathBuf]) -> Option<PathBuf> {
    MADE.get()?;
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.ok()?;
    let is_seen = |folder: &Path| program.starts_with(folder);
    let mut shown = system
        .iter()
        .map(Path::new)
        .chain(read.iter().map(PathBuf::as_path));
    shown.any(is_seen).then_some(program)
}
