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

/// The places at which this program would be seen among the system's programs or with an installation; none where nothing is
/// hidden in it.
pub(super) fn seen(system: &[&str], read: &[PathBuf]) -> Vec<PathBuf> {
    let program = MADE.get().and_then(|_| std::env::current_exe().ok());
    let program = program.and_then(|path| path.canonicalize().ok());
    program.map_or_else(Vec::new, |program| places(&program, system, read))
}

/// The same of a program without links. What is shown by a link shows it at another place.
fn places(program: &Path, system: &[&str], read: &[PathBuf]) -> Vec<PathBuf> {
    let is_system = system.iter().any(|folder| program.starts_with(folder));
    let of_system = is_system.then(|| program.to_owned());
    let of_read = read.iter().filter_map(|shown| {
        let below = program.strip_prefix(shown.canonicalize().ok()?).ok()?;
        Some(shown.iter().chain(below).collect::<PathBuf>())
    });
    of_system.into_iter().chain(of_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_where_a_link_shows_it_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let dir = &dir.path().canonicalize().unwrap();
        let program = dir.join("real/bin/host");
        for folder in ["real/bin", "other"] {
            std::fs::create_dir_all(dir.join(folder)).unwrap();
        }
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink("real", dir.join("link")).unwrap();
        let read = ["real", "link", "link/bin/host", "other"].map(|path| dir.join(path));
        let link = dir.join("link/bin/host");
        assert_eq!(
            places(&program, &["/usr"], &read),
            [program.clone(), link.clone(), link]
        );
        let system = dir.to_str().unwrap();
        assert_eq!(places(&program, &[system], &[]), [program]);
    }
}
