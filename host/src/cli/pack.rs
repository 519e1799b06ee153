//! What is told to `pack`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand, ValueEnum};

use super::signing::SignersArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct PackArgs {
    #[command(subcommand)]
    pub command: Option<PackCommand>,
    #[command(flatten)]
    pub make: MakePackArgs,
}

#[derive(Debug, Args)]
pub struct MakePackArgs {
    /// A folder with a pack.toml, a suite.toml and all that these name.
    #[arg(value_name = "FOLDER", required = true)]
    pub folder: Option<Utf8PathBuf>,
    /// The archive, or with --each the folder; must not be there yet.
    #[arg(long, value_name = "NAME.pibench", required = true)]
    pub out: Option<Utf8PathBuf>,
    /// A private key of OpenSSH to sign with. Default: the signature that `sign` put into the folder, if there is one.
    #[arg(long, value_name = "KEY")]
    pub key: Option<Utf8PathBuf>,
    /// Encrypt all but pack.toml, suite.toml, README, LICENSE and plugins to this public key, `age1...` or `ssh-ed25519 ...`, or to
    /// those of a file, one a line (may be repeated). Recipients play the pack by `--identity`.
    #[arg(long, value_name = "PUBLIC-KEY|FILE")]
    pub recipient: Vec<String>,
    /// Make an archive for each recipient, into the new folder --out, with marks by which `pack trace` tells whose copy leaked:
    /// canaries, and the wordings of the pack's wordings.toml. Each copy is a suite of its own: scores of two are not compared.
    #[arg(long, requires = "recipient")]
    pub each: bool,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The ledger that `pack --each` wrote.
    #[arg(value_name = "LEDGER")]
    pub ledger: Utf8PathBuf,
    /// What was found somewhere.
    #[arg(required = true, value_name = "FILE")]
    pub leaked: Vec<Utf8PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum PackCommand {
    /// Install a pack from a file, an address or a registry; it is checked as a stranger's, and is there whole or not at all.
    Install(InstallArgs),
    /// List the packs that are installed.
    List(ListPacksArgs),
    /// Tell what changed between two releases, and which scores can no longer be held against each other.
    Diff(DiffPacksArgs),
    /// Tell whose copy of a private pack a leaked text is of.
    Trace(TraceArgs),
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A file, `https://...`, or `oci://HOST/NAME@sha256:...`
    #[arg(value_name = "REF")]
    pub reference: String,
    /// The SHA-256 that the archive must have.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub signers: SignersArgs,
}

#[derive(Debug, Args)]
pub struct ListPacksArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON list.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DiffPacksArgs {
    /// An archive, a folder, or an installed NAME@RELEASE.
    pub a: Utf8PathBuf,
    /// Another one.
    pub b: Utf8PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Where packs are installed.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Where packs are installed. Default: `$PIBENCH_PACKS`, else `pibench-host/packs` of `$XDG_DATA_HOME` or `~/.local/share`.
    #[arg(long, value_name = "DIR")]
    pub packs: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct PluginAddArgs {
    /// A file `NAME.wasm`, `https://...`, or `oci://HOST/NAME@sha256:...`
    #[arg(value_name = "REF")]
    pub reference: String,
    /// The folder that it is put into; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    pub plugins: Utf8PathBuf,
    /// The plugin's name. Default: that of the file, or the last part of a registry's.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The SHA-256 that the component must have. An address without TLS needs it.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    #[command(flatten)]
    pub signers: SignersArgs,
}

#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The folder of a finished run.
    #[arg(value_name = "RUN")]
    pub run: Utf8PathBuf,
    /// The new folder.
    #[arg(long, value_name = "DIR")]
    pub out: Utf8PathBuf,
    /// What is shown of what was said and done.
    #[arg(long, value_enum, default_value = "none")]
    pub transcripts: TranscriptsArg,
    /// A private key of OpenSSH to sign it with.
    #[arg(long, value_name = "KEY")]
    pub key: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TranscriptsArg {
    /// Scores and faults.
    None,
    /// The agent's side, with the hidden intents that the user told it, and no other.
    AfterReveal,
    /// Everything.
    All,
}
