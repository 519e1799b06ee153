//! What the machine offers: a cache folder, open files, address space, room on the disk.

use std::path::Path;

use camino::Utf8Path;
use rustix::fs::statvfs;

use super::Finding;
use crate::{address_space, open_files};
use pibench_core::count::count;
use pibench_engine::plan::at_once;
use pibench_sandbox::{cache_size, engine};
use pibench_suite::suite::Suite;

/// Bytes that a run folder easily has: below this, one may not find room.
const ROOM: u64 = 1 << 30;

/// Bytes that the first sessions need already.
const LITTLE: u64 = 50 << 20;

pub(super) fn cache(dir: &Path) -> Finding {
    let shown = dir.display();
    match cache_size(dir) {
        Ok(bytes) => Finding::ok("cache", format!("{shown}: {}", size(bytes))),
        Err(error) => Finding::warning(
            "cache",
            format!("{shown} cannot be used: {error}"),
            "plugins are compiled in each process; name a folder of yours by PIBENCH_CACHE",
        ),
    }
}

pub(super) fn open_files(suite: &Suite) -> Finding {
    room("open files", "ulimit -Hn", open_files::episodes(), suite)
}

/// None where nothing bounds the address space.
pub(super) fn addresses(suite: &Suite) -> Option<Finding> {
    let most = address_space::episodes();
    engine::address_space().map(|_| room("addresses", "ulimit -Hv", most, suite))
}

/// Whether there is enough of something for as many episodes as are to be played at once.
fn room(check: &'static str, bound: &str, most: usize, suite: &Suite) -> Finding {
    let wanted = at_once(suite);
    let enough = count(most, "episode");
    let found = format!("enough for {enough} at once, and {wanted} are to be played");
    if wanted > most {
        let remedy = format!("{most} are played at once; raise the bound that `{bound}` shows");
        return Finding::warning(check, found, remedy);
    }
    Finding::ok(check, found)
}

/// Where a run folder would be made: in the nearest folder above it that is there.
pub(super) fn disk(out: &Utf8Path) -> Finding {
    let near = out.ancestors().find(|dir| dir.exists());
    let near = near.map_or(Path::new("."), Utf8Path::as_std_path);
    let free = match statvfs(near) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let found = format!("nobody knows how much is free at {out}: {error}");
            return Finding::warning("disk", found, "look at it");
        }
    };
    let found = format!("{} free at {out}", size(free));
    let remedy = "make room, or choose another --out";
    match free {
        0..LITTLE => Finding::problem("disk", found, remedy),
        LITTLE..ROOM => Finding::warning("disk", found, remedy),
        ROOM.. => Finding::ok("disk", found),
    }
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    let mega = bytes >> 20;
    if mega < 10_000 {
        format!("{mega} MiB")
    } else {
        format!("{} GiB", mega >> 10)
    }
}
