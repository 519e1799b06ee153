//! What is told to the commands of shared evaluation: `submit` and `board`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

use super::signing::SignersArgs;

#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(subcommand)]
    pub command: SubmitCommand,
}

#[derive(Debug, Subcommand)]
pub enum SubmitCommand {
    /// Check that finished runs may stand beside others, and write them as one archive.
    Prepare(PrepareArgs),
    /// Check an archive as a board's maintainer does: seals and signature, rules and graders run again, what the board asks.
    Check(CheckSubmissionArgs),
    /// Print a workflow file for GitHub that checks the archives of a pull request.
    Workflow,
}

#[derive(Debug, Args)]
pub struct PrepareArgs {
    /// Finished runs, of one agent or several.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<Utf8PathBuf>,
    /// The archive; must not be there yet.
    #[arg(long, value_name = "FILE.submission")]
    pub out: Utf8PathBuf,
    /// A private key of OpenSSH to sign with. Default: unsigned.
    #[arg(long, value_name = "KEY")]
    pub key: Option<Utf8PathBuf>,
    /// The suite file that rules and graders are run again by. Default: where each run says that it was.
    #[arg(long, value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// The folder of prompts of runs that were played by own ones, where it is elsewhere than when they were played.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
    /// A folder of plugins that the board has, too. Default: those that the program carries, and the suite's own.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub by: ByArgs,
}

#[derive(Debug, Args)]
pub struct CheckSubmissionArgs {
    #[arg(value_name = "FILE.submission")]
    pub archive: Utf8PathBuf,
    /// The folder of the board's archives: what a board of both would refuse of this one is refused.
    #[arg(long, value_name = "DIR")]
    pub beside: Option<Utf8PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub again: AgainArgs,
    #[command(flatten)]
    pub by: ByArgs,
    #[command(flatten)]
    pub places: PlacesArgs,
    #[command(flatten)]
    pub signers: SignersArgs,
}

#[derive(Debug, Args)]
pub struct BoardArgs {
    #[command(subcommand)]
    pub command: BoardCommand,
}

#[derive(Debug, Subcommand)]
pub enum BoardCommand {
    /// Check all archives of a folder and write a site of them: files that any web server shows.
    Build(BuildArgs),
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The folder of the archives, `*.submission`.
    #[arg(value_name = "DIR")]
    pub dir: Utf8PathBuf,
    /// The site's folder; must not be there yet.
    #[arg(long, value_name = "SITE")]
    pub out: Utf8PathBuf,
    /// The seed of the resampling.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub by: ByArgs,
    #[command(flatten)]
    pub places: PlacesArgs,
    #[command(flatten)]
    pub signers: SignersArgs,
}

/// What a submission is held against.
#[derive(Debug, Args)]
pub struct ByArgs {
    /// What the board asks of a run. Default: the whole suite three times, played by models, with the built-in prompts, every
    /// session scored, and its cost told.
    #[arg(long, value_name = "board.toml")]
    pub rules: Option<Utf8PathBuf>,
}

/// Where things are on this machine: what a stranger's record says of places is not followed.
#[derive(Debug, Args)]
pub struct PlacesArgs {
    /// The suite file that rules and graders are run again by. Default: the suite that is built in.
    #[arg(long, value_name = "SUITE.toml")]
    pub suite: Option<Utf8PathBuf>,
    /// A folder of plugins, `<name>.wasm`, before the host's own.
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<Utf8PathBuf>,
    /// What plugins of others may use. Default: nothing.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<Utf8PathBuf>,
    /// The prompts of user agent and judge, where they are not the built-in ones.
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<Utf8PathBuf>,
}

/// Who judges a sample of a submission again.
#[derive(Debug, Args)]
pub struct AgainArgs {
    /// Judge a sample again by this model, and print how far it agrees.
    #[arg(long, value_name = "M")]
    pub judge: Option<String>,
    /// Sessions to judge again: as many of each agent as of the others.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..), requires = "judge")]
    pub sample: u32,
    /// The seed of the sample and of the resampling, to repeat a check. Default: one that is drawn, so that nobody knows the sample
    /// before, and printed.
    #[arg(long, value_name = "N", requires = "judge", value_parser = clap::value_parser!(u64).range(..=i64::MAX.cast_unsigned()))]
    pub seed: Option<u64>,
}
