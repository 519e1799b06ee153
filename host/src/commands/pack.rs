//! `pibench-host pack`: suites that travel as one file, one file per subcommand.

mod diff;
mod draft;
mod held;
mod install;
mod list;
mod make;
mod private;
mod stranger;
mod write;

pub(super) use draft::problems;
pub(super) use held::{check_suite_of, check_unchanged};
pub(super) use install::check_digest;

use std::path::PathBuf;

use anyhow::anyhow;

use crate::cli::pack::{PackArgs, PackCommand, StoreArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::PackError;
use pibench_pack::store::Store;

/// Runs the subcommand; without one, makes a pack.
pub(super) fn pack(args: &PackArgs) -> Result<Exit, Failure> {
    match &args.command {
        Some(PackCommand::Install(args)) => install::install(args),
        Some(PackCommand::List(args)) => list::list(args),
        Some(PackCommand::Diff(args)) => diff::diff(args),
        Some(PackCommand::Trace(args)) => private::trace(args),
        None => make::make(&args.make),
    }
}

/// What is wrong with a pack is its author's matter, and a disk the operator's.
impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        let exit = match &error {
            PackError::Refused { .. } => Exit::InvalidInput,
            PackError::Io { .. } => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

/// Where packs are installed (XDG base directory specification).
fn store(args: &StoreArgs) -> Result<Store, Failure> {
    let named = args.packs.clone().map(Into::into);
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = || variable("PIBENCH_PACKS").map(PathBuf::from);
    let data = || variable("XDG_DATA_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let shared = || Some(data().or_else(home)?.join("pibench-host/packs"));
    let root = named.or_else(own).or_else(shared);
    root.map(Store::new)
        .ok_or_else(|| anyhow!("find where packs are installed; name a folder by --packs"))
        .or_exit(Exit::Usage)
}
