//! What the program has on the machine that it runs on, and whom it tells what is odd: the same for every plan. It reads no
//! environment by itself.

use std::path::PathBuf;
use std::time::Duration;

use pibench_suite::problem::Problem;

/// The program's own surroundings.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The folders of its own plugins, in the order of the search.
    pub own: Vec<PathBuf>,
    /// Where compiled plugins are kept.
    pub cache: PathBuf,
    /// The program itself, which compiles in a process of its own.
    pub compiler: PathBuf,
    /// Filters what a run's log says on stderr too, as tracing's directives.
    pub stderr: String,
    /// Episodes at once that there are open files and address space for.
    pub most: usize,
    /// Its name, for those who follow a run of many machines.
    pub node: String,
    /// The suite that the program carries; None where it carries none.
    pub suite: Option<PathBuf>,
    /// Tells the operator.
    pub tell: fn(Notice<'_>),
}

/// Something odd that keeps nothing from being played.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    /// Warnings of a suite that is sound.
    Suite(&'a [Problem]),
    /// What the suite needs and was never loaded here is compiled, which takes a moment.
    Compiling { plugins: &'a [&'a str] },
    /// They were; of several, each is told as it was and then all.
    Compiled {
        plugins: &'a [&'a str],
        took: Duration,
    },
    /// A policy may be for several suites, so that a plugin of none of this one's folders is no error; but it may be a slip
    /// of the pen too.
    Unknown { plugin: &'a str },
    /// What a plugin asked for and did not get.
    Withheld {
        plugin: &'a str,
        asked: &'a [&'static str],
    },
    /// More episodes at once were asked for than the process has room for.
    Fewer { asked: usize, most: usize },
}
