//! Folders for what nobody keeps. It never says what lies in them.

use std::os::unix::fs::PermissionsExt;

/// Where nothing stays. An error names the place and what chooses it.
pub fn make_temporary_folder() -> Result<tempfile::TempDir, String> {
    // It may hold what is hidden.
    tempfile::Builder::new()
        .permissions(PermissionsExt::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("make a temporary folder: {error}; TMPDIR names another place"))
}
