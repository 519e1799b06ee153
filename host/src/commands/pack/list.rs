//! `pibench-host pack list`: what is installed.

use camino::Utf8PathBuf;
use serde_json::json;

use super::store;
use crate::cli::pack::ListPacksArgs;
use crate::commands::output::print_json;
use crate::commands::signing::Thing;
use crate::exit::{Exit, Failure};
use pibench_core::count::count;
use pibench_pack::NAMESPACE;
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

/// What of a pack is not as it was installed, its signature too; None where all is.
fn changed(pack: &Installed) -> Option<String> {
    pack.changed().or_else(|| {
        let place = Utf8PathBuf::try_from(pack.folder.clone()).ok()?;
        let signature = match Thing::Pack(place).signature() {
            Ok(signature) => signature?,
            Err(failure) => return Some(failure.reason()),
        };
        let list = pack.contents.text();
        let maker = pibench_signature::maker(NAMESPACE, list.as_bytes(), &signature);
        maker.err().map(|error| error.to_string())
    })
}
