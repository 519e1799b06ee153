//! Rights that an agent's process took from its user, whose files they are: the host gives them back, as far as it needs them.
//! No link is followed out of the folder, and no right is taken away.

use std::io;
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt, Permissions, PermissionsExt};

/// What an owner needs to look into a folder, and so of a file to read it.
pub(super) const TO_READ: u32 = 0o500;
/// What he needs to put something into a folder and to take it away.
pub(super) const TO_WRITE: u32 = 0o700;

/// Gives the owner these rights on a plain file or a folder, where he lacks some.
pub(super) fn take(
    directory: &Dir,
    name: impl AsRef<Path>,
    found: &Metadata,
    wanted: u32,
) -> io::Result<()> {
    let wanted = match (found.is_dir(), found.is_file()) {
        (true, _) => wanted,
        // Nobody runs it here.
        (_, true) if found.nlink() == 1 => wanted & 0o600,
        _ => return Ok(()),
    };
    if found.mode() & wanted == wanted {
        return Ok(());
    }
    directory.set_permissions(name, Permissions::from_mode(found.mode() | wanted))
}
