//! `pibench-host pack list`: what is installed.

use serde_json::json;

use super::held::changed;
use super::store;
use crate::cli::pack::ListPacksArgs;
use crate::commands::output::print_json;
use crate::exit::{Exit, Failure};
use pibench_core::count::count;
use pibench_pack::store::Installed;
use pibench_report::escape::line;

/// Prints a line for each pack.
pub(super) fn list(args: &ListPacksArgs) -> Result<Exit, Failure> {
    let packs = store(&args.store)?.list()?;
    let packs = packs.into_iter().map(|pack| (changed(&pack), pack));
    if args.json {
        let packs: Vec<_> = packs
            .map(|(changed, pack)| {
                json!({
                    "name": pack.contents.name, "release": pack.contents.release, "sha256": pack.contents.digest(),
                    "files": pack.contents.files.len(), "signed": pack.is_signed && changed.is_none(), "changed": changed,
                    "folder": pack.folder,
                })
            })
            .collect();
        print_json(&packs)?;
        return Ok(Exit::Complete);
    }
    for (changed, pack) in packs {
        let Installed {
            folder,
            contents,
            is_signed,
        } = pack;
        let standing = match changed {
            Some(changed) => format!("changed since it was installed ({})", line(&changed)),
            None if is_signed => "signed".into(),
            None => "unsigned".into(),
        };
        println!(
            "{}@{}: {}, {standing}, {}/suite.toml",
            contents.name,
            contents.release,
            count(contents.files.len(), "file"),
            folder.display()
        );
    }
    Ok(Exit::Complete)
}
