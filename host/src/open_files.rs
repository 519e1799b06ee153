//! How many files this process may have open: each episode needs some, and the usual bound of 1,024 is one for three
//! hundred of them.

use std::fs::File;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files of an episode: its journal, its workspace and a folder and a file in it, one that is written for the record, and
/// connections to the models of three roles.
const PER_EPISODE: u64 = 8;

/// Files that the process has whatever it plays: its threads', the log, the lock, plugins that are loaded.
const REST: u64 = 64;

/// With fewer not every episode can be played, and with a third of them threads wait for ever.
pub const LEAST: u64 = REST;

/// More would not be used: the memory for so many episodes ends first.
const MOST: u64 = 1 << 20;

/// Places that the table of open files has from the start.
const ROOM: u64 = 4096;

/// Raises the bound to what the system allows and makes room in the table of open files. To be called while there is one
/// thread: the table of a process with more grows only after a grace period of the kernel's, in which every thread that
/// opens something stands still for 10 to 20 ms, and it grows at 64, 128, 256, ... files.
pub fn make_room() {
    let bound = getrlimit(Resource::Nofile);
    let most = bound.maximum.unwrap_or(MOST).min(MOST);
    let raised = Rlimit {
        current: Some(most),
        ..bound
    };
    // Without it there are fewer episodes at once.
    let _ = setrlimit(Resource::Nofile, raised);
    let last = i32::try_from(most.min(ROOM).saturating_sub(1)).unwrap_or_default();
    if let Ok(file) = File::open("/dev/null") {
        // Closed again at once: the table stays as large as it was made.
        let _ = fcntl_dupfd_cloexec(&file, last);
    }
}

/// Files that this process may have open.
pub fn bound() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(MOST)
}

/// Episodes at once that there are open files for; at least one.
pub fn episodes() -> usize {
    let episodes = bound().saturating_sub(REST) / PER_EPISODE;
    usize::try_from(episodes).unwrap_or(usize::MAX).max(1)
}
