//! `pibench-host pack list`: what is installed.

use serde_json::json;

use super::store;
use crate::cli::pack::ListPacksArgs;
use crate::exit::{Exit, Failure};
use pibench_core::count::count;
use pibench_pack::store::Installed;

/// Prints a line for each pack.
pub(super) fn list(args: &ListPacksArgs) -> Result<Exit, Failure> {
    let packs = store(&args.store)?.list()?;
    if args.json {
        let packs: Vec<_> = packs
            .iter()
            .map(|pack| {
                json!({
                    "name": pack.contents.name, "release": pack.contents.release, "sha256": pack.contents.digest(),
                    "files": pack.contents.files.len(), "signed": pack.is_signed, "folder": pack.folder,
                })
            })
            .collect();
        println!("{}", json!(packs));
        return Ok(Exit::Complete);
    }
    for pack in packs {
        let Installed {
            folder,
            contents,
            is_signed,
        } = pack;
        let signed = if is_signed { "signed" } else { "unsigned" };
        println!(
            "{}@{}: {}, {signed}, {}/suite.toml",
            contents.name,
            contents.release,
            count(contents.files.len(), "file"),
            folder.display()
        );
    }
    Ok(Exit::Complete)
}
