//! What is told to the commands that sign, and to those that ask who signed.

use camino::Utf8PathBuf;
use clap::Args;

#[derive(Debug, Args)]
pub struct SignArgs {
    /// A plugin (NAME.wasm, signed into NAME.wasm.sig), the folder of a pack (pack.sig), its archive (NAME.pibench, in itself), or the
    /// folder of a finished run (seal.json.sig).
    #[arg(value_name = "FILE|RUN|PACK")]
    pub thing: Utf8PathBuf,
    /// A private key of OpenSSH. `PIBENCH_KEY_PASSPHRASE` holds its passphrase, where it has one.
    #[arg(long, value_name = "KEY", required_unless_present = "statement")]
    pub key: Option<Utf8PathBuf>,
    /// Print what would be signed, for `ssh-keygen -Y sign` where an agent or a token holds the key; the namespace goes to stderr.
    #[arg(long, conflicts_with = "key")]
    pub statement: bool,
}

/// Whose signatures count.
#[derive(Debug, Args)]
pub struct SignersArgs {
    /// Who may sign: a file of the form of OpenSSH's `allowed_signers`.
    #[arg(long, value_name = "FILE")]
    pub signers: Option<Utf8PathBuf>,
    /// Keys that may no longer sign, one public key a line.
    #[arg(long, value_name = "FILE", requires = "signers")]
    pub revoked: Option<Utf8PathBuf>,
}
