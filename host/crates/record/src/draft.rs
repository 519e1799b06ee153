//! What is not whole yet is known by its name.

use std::path::Path;

/// How the name of a file starts that is not written to its end.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// How the name of a run folder starts that is not whole yet.
pub(super) const NEW: &str = ".new-run-";

/// Whether a path leads into a folder, or is that of a file, that is not whole yet.
pub(super) fn is_draft(path: &Path) -> bool {
    let mut names = path.iter().map(|name| name.to_string_lossy());
    names.any(|name| name.starts_with(NEW) || name.starts_with(UNFINISHED))
}
