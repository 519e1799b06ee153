//! Standard output, where a command has more to do or to tell than what it prints.

use std::io::{BufWriter, ErrorKind, Result, Write};

use anyhow::anyhow;
use serde::Serialize;
use serde_json::Serializer;

use crate::exit::{Exit, Failure, OrExit};
use pibench_report::escape::Seen;

/// Prints what is for programs, on one line. What models, guests and authors wrote must not drive a terminal; who reads JSON gets the
/// same.
pub(super) fn print_json(value: &impl Serialize) -> std::result::Result<(), Failure> {
    print(|to| {
        let mut to = Serializer::with_formatter(to, Seen);
        Ok(value.serialize(&mut to)?)
    })
}

/// Prints a text as it is made, and the end of its line.
pub(super) fn print(
    text: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> std::result::Result<(), Failure> {
    let mut to = BufWriter::new(std::io::stdout().lock());
    let done = text(&mut to).and_then(|()| to.write_all(b"\n"));
    written(done.and_then(|()| to.flush()))
}

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
