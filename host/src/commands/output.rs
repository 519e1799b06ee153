//! Standard output, where a command has more to do or to tell than what it prints.

use std::io::{ErrorKind, Result, Write};

use anyhow::anyhow;

use crate::exit::{Exit, Failure, OrExit};

/// Writes to standard output; see [`written`].
pub(super) fn write(bytes: &[u8]) -> std::result::Result<(), Failure> {
    written(std::io::stdout().write_all(bytes))
}

/// What came of writing to standard output. A reader that stops reading, as `head` does, is no failure; a disk that is full is.
pub(super) fn written(result: Result<()>) -> std::result::Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow!("write to standard output: {error}")).or_exit(Exit::Io)
        }
        _ => Ok(()),
    }
}
