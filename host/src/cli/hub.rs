//! What is told to the command `hub`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = false)]
pub struct HubArgs {
    /// What the hub's operator decides: docs/sharing.md says what may stand in it.
    #[arg(
        long,
        value_name = "hub.toml",
        default_value = "hub.toml",
        global = true
    )]
    pub config: Utf8PathBuf,
    /// Leave out the question to the models of user and judge before submitters are let in.
    #[arg(long)]
    pub no_preflight: bool,
    #[command(subcommand)]
    pub command: Option<HubCommand>,
}

#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Submitters' tokens. A hub that runs knows of each change at once.
    Token(HubTokenArgs),
}

#[derive(Debug, Args)]
pub struct HubTokenArgs {
    #[command(subcommand)]
    pub command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a submitter's token, and print it once: only its hash is kept.
    Add {
        /// The submitter, as results name it.
        name: String,
    },
    /// List all tokens, valid or revoked.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a submitter's token: what it plays is paused, and its runs stay its own.
    Revoke { name: String },
}
