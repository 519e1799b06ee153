//! How much address space this process may have, which some machines bound (`ulimit -v`): the memories of guests reserve far more
//! of it than they use.

use pibench_sandbox::engine::{SPACE_OF_AN_EPISODE, address_space};

/// Episodes at once that there is address space for; at least one.
pub fn episodes() -> usize {
    let Some(bound) = address_space() else {
        return usize::MAX;
    };
    let episodes = bound / SPACE_OF_AN_EPISODE;
    usize::try_from(episodes).unwrap_or(usize::MAX).max(1)
}
