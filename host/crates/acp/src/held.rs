//! What an agent's processes hold: memory, and what lies in no folder any more, files that were deleted while they are open or mapped, which take
//! room on the disk until their last holder ends. Looked for in /proc, among all processes below the one that was started; in a
//! namespace of its own none can leave those. Follows no path of the agent's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Processes of one agent: a shell with a build in it has some dozens.
const PROCESSES: usize = 1_000;

/// Their open files and deleted mappings, all together, and as many threads: each of them is looked at, again and again.
const OPENED: usize = 20_000;

/// Open files that were sent over a socket and not taken out of it, or given to the kernel to keep: no one sees what they are. Each
/// is bounded by the size that one file may have.
const AWAY: u64 = 16;

/// Why the processes below this one, and it, hold more than they may; None where they do not. A process that ends meanwhile
/// holds nothing.
pub(super) fn hoarded(process: u32, bytes: u64) -> Option<String> {
    let Some(processes) = below(process) else {
        return Some(format!(
            "it has more than {PROCESSES} processes or {OPENED} threads"
        ));
    };
    let mut files = BTreeMap::new();
    let (mut opened, mut away) = (0, 0);
    for folder in processes {
        for name in names(&folder.join("fd")).take(OPENED + 1) {
            opened += 1;
            away += count_opened(&folder, &name, &mut files);
        }
        opened += count_mapped(&folder, &mut files);
        if opened > OPENED {
            return Some(format!("it has more than {OPENED} files open"));
        }
    }
    let held: u64 = files.values().sum();
    if held > bytes {
        return Some(format!(
            "files that it deleted and holds open have more than {bytes} bytes"
        ));
    }
    (away > AWAY).then(|| {
        format!("it has put more than {AWAY} open files away in sockets, where nobody sees them")
    })
}

/// Bytes of memory that the processes below this one, and it, have for themselves.
pub(super) fn memory(process: u32) -> u64 {
    let pages = below(process)
        .unwrap_or_default()
        .into_iter()
        .map(|folder| {
            let sizes = fs::read_to_string(folder.join("statm")).unwrap_or_default();
            let mut sizes = sizes.split_ascii_whitespace().skip(1);
            let mut size = || sizes.next()?.parse::<u64>().ok();
            let (resident, shared) = size().zip(size()).unwrap_or_default();
            resident.saturating_sub(shared)
        });
    pages.sum::<u64>() * rustix::param::page_size() as u64
}

/// The folders of a process and of all below it; None where they are too many.
fn below(process: u32) -> Option<Vec<PathBuf>> {
    let (mut looked_at, mut threads) = (BTreeSet::new(), 0);
    let mut next = vec![process];
    let mut folders = Vec::new();
    while let Some(process) = next.pop() {
        if !looked_at.insert(process) {
            continue;
        }
        let folder = Path::new("/proc").join(process.to_string());
        for thread in names(&folder.join("task")).take(OPENED + 1) {
            threads += 1;
            next.extend(children(&folder.join("task").join(thread)));
        }
        if looked_at.len() > PROCESSES || threads > OPENED {
            return None;
        }
        folders.push(folder);
    }
    Some(folders)
}

/// The processes that a thread started, and that are still there.
fn children(thread: &Path) -> Vec<u32> {
    let list = fs::read_to_string(thread.join("children")).unwrap_or_default();
    let ids = list.split_whitespace();
    ids.filter_map(|id| id.parse().ok()).collect()
}

fn names(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
}

/// Takes account of an open file, if it is deleted; how many more lie in it, if it is a socket or the like.
fn count_opened(process: &Path, name: &OsStr, files: &mut BTreeMap<(u64, u64), u64>) -> u64 {
    let Ok(data) = fs::metadata(process.join("fd").join(name)) else {
        return 0;
    };
    let kind = data.file_type();
    if kind.is_file() {
        count(&data, files);
        return 0;
    }
    if kind.is_dir() || kind.is_fifo() || kind.is_char_device() {
        return 0;
    }
    let info = fs::read_to_string(process.join("fdinfo").join(name));
    put_away(&info.unwrap_or_default())
}

/// As sockets say it (`scm_fds`), and queues of the kernel (`UserFiles`).
fn put_away(info: &str) -> u64 {
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    fields
        .filter(|(name, _)| ["scm_fds", "UserFiles"].contains(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

fn count(data: &fs::Metadata, files: &mut BTreeMap<(u64, u64), u64>) {
    if data.nlink() == 0 {
        // What a file with holes says of its length takes no room.
        let bytes = data.len().min(data.blocks().saturating_mul(512));
        files.insert((data.dev(), data.ino()), bytes);
    }
}

/// Takes account of deleted files that are mapped and may be open no more; how many times they are. Whoever is not root sees of
/// them what is mapped.
fn count_mapped(process: &Path, files: &mut BTreeMap<(u64, u64), u64>) -> usize {
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    let mut mapped = 0;
    for line in maps.lines().filter(|line| line.ends_with(" (deleted)")) {
        mapped += 1;
        let mut words = line.split_ascii_whitespace();
        let Some((range, inode)) = words.next().zip(words.nth(3)) else {
            continue;
        };
        if let Ok(data) = fs::metadata(process.join("map_files").join(range)) {
            count(&data, files);
            continue;
        }
        let inode = inode.parse().unwrap_or_default();
        // Of another key than where it is open too: no device has this number.
        let bytes = files.entry((u64::MAX, inode)).or_default();
        *bytes = bytes.saturating_add(length(range));
    }
    mapped
}

/// Bytes from one address to another.
fn length(range: &str) -> u64 {
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let ends = range
        .split_once('-')
        .and_then(|(from, to)| address(from).zip(address(to)));
    ends.map_or(0, |(from, to)| to.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_deleted_file_counts_as_long_as_it_is_open() {
        let own = std::process::id();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'x'; 9_000_000]).unwrap();
        file.sync_all().unwrap();
        let said = hoarded(own, 8_000_000).unwrap();
        assert!(said.contains("deleted and holds open"), "{said}");
        assert_eq!(hoarded(own, 1 << 40), None);
        let folder = tempfile::tempdir().unwrap();
        // The twin has its name still.
        let mut named = fs::File::create(folder.path().join("named")).unwrap();
        named.write_all(&vec![b'x'; 9_000_000]).unwrap();
        drop(file);
        assert_eq!(hoarded(own, 8_000_000), None);
    }

    #[test]
    fn the_memory_of_a_process_grows_with_what_it_holds() {
        let own = std::process::id();
        let before = memory(own);
        let held = vec![1_u8; 100 << 20];
        let grown = memory(own).saturating_sub(before);
        assert!(grown > 90 << 20, "{grown}");
        drop(held);
    }

    #[test]
    fn what_is_put_away_is_told_by_its_holder() {
        assert_eq!(put_away("pos:\t0\nscm_fds:\t17\nino:\t3\n"), 17);
        assert_eq!(put_away("UserFiles:\t4\n"), 4);
        assert_eq!(put_away("scm_fds:\tmany\n"), 0);
        assert_eq!(length("7f0000000000-7f0000001000"), 4096);
        assert_eq!(length("x"), 0);
    }
}
