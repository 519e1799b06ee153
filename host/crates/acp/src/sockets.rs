//! What of the machine a confined agent reaches beside its network: abstract Unix sockets lie in no folder that could be hidden,
//! and belong to the network's namespace, which is the machine's. Who listens there sees the operator's user id.

use std::collections::BTreeSet;

/// Where the kernel lists the sockets of this program's network.
const LIST: &str = "/proc/net/unix";

/// The kernel's flag of a socket that takes connections (`__SO_ACCEPTCON`).
const LISTENS: u32 = 1 << 16;

/// The abstract sockets of this machine at which somebody listens, each with `@` before its name; none where that is not known.
/// Their names are strangers'.
pub fn listening() -> Vec<String> {
    let list = std::fs::read(LIST).unwrap_or_default();
    names(&String::from_utf8_lossy(&list))
}

/// The same of such a list: number, references, protocol, flags, type, state, inode and name in each line.
fn names(list: &str) -> Vec<String> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
        let name = words.nth(3).filter(|name| name.starts_with('@'))?;
        (flags & LISTENS != 0).then(|| name.to_owned())
    };
    let names: BTreeSet<String> = list.lines().filter_map(name).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_sockets_that_listen_are_named_once_and_no_others() {
        let list = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01  1000 /run/dbus/system_bus_socket
0000000000000000: 00000002 00000000 00010000 0001 01 31415 @/tmp/.X11-unix/X0
0000000000000000: 00000003 00000000 00000000 0001 03 31416 @/tmp/.X11-unix/X0
0000000000000000: 00000002 00000000 00010000 0005 01 31417 @/tmp/.ICE-unix/1
0000000000000000: 00000003 00000000 00000000 0001 03 31418 @of-a-client
0000000000000000: 00000003 00000000 00010000 0001 01 31419
";
        assert_eq!(names(list), ["@/tmp/.ICE-unix/1", "@/tmp/.X11-unix/X0"]);
    }
}
