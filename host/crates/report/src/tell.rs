//! Lines for the operator on stderr. That nobody reads them any more, as behind `2>&1 | head`, ends nothing: a run is worth more
//! than what is said of it.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Writes a line, as `eprintln!` does.
#[macro_export]
macro_rules! tell {
    ($($part:tt)*) => { $crate::tell::line(format_args!($($part)*)) };
}

pub fn line(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes what ends its own lines.
pub fn lines(text: Arguments<'_>) {
    let _ = write!(io::stderr(), "{text}");
}
