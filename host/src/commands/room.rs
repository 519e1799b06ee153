//! Whether the bounds of this process leave room for one episode, told before anything is made. It raises none.

use anyhow::anyhow;

use crate::cli::Command;
use crate::exit::{Exit, Failure, OrExit};
use crate::open_files;
use pibench_sandbox::engine::{SPACE_OF_AN_EPISODE, address_space};

/// A bound that is too low.
pub(super) struct Lack {
    /// What there is too little of.
    pub(super) what: &'static str,
    pub(super) found: String,
    pub(super) remedy: &'static str,
}

/// What there is too little of to play an episode.
pub(super) fn lacking() -> impl Iterator<Item = Lack> {
    few_files().into_iter().chain(little_space())
}

/// Refuses to play where there is no room for it.
pub(super) fn check(command: &Command) -> Result<(), Failure> {
    let plays = match command {
        Command::Run(args) => !(args.dry_run || args.print_config),
        Command::Serve(_) | Command::Check(_) => true,
        Command::Hub(args) => args.command.is_none(),
        _ => false,
    };
    refuse(lacking().next().filter(|_| plays))
}

/// Refuses to load guests where there are too few open files even for that.
pub(super) fn check_files() -> Result<(), Failure> {
    refuse(few_files())
}

fn refuse(lack: Option<Lack>) -> Result<(), Failure> {
    let Some(Lack { found, remedy, .. }) = lack else {
        return Ok(());
    };
    Err(anyhow!("find room to play: {found}; {remedy}")).or_exit(Exit::Setup)
}

fn few_files() -> Option<Lack> {
    let (bound, least) = (open_files::bound(), open_files::LEAST);
    (bound < least).then(|| Lack {
        what: "open files",
        found: format!("at most {bound} files may be open, and {least} are needed"),
        remedy: "raise the bound that `ulimit -Hn` shows, as by `ulimit -n 1024`",
    })
}

fn little_space() -> Option<Lack> {
    let bound = address_space().filter(|bound| *bound < SPACE_OF_AN_EPISODE)?;
    let (bound, least) = (bound >> 20, SPACE_OF_AN_EPISODE >> 20);
    Some(Lack {
        what: "addresses",
        found: format!(
            "the address space is bounded to {bound} MiB, and an episode reserves up to {least} MiB of it, of which it uses little"
        ),
        remedy: "lift the bound by `ulimit -v unlimited`; --memory bounds what is used",
    })
}
