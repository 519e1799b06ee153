//! `pibench-host merge`: one run of parts that were played apart. It plays nothing: the merged folder is an ordinary one,
//! and what a part lacks is played by `run --resume`.

use super::run::show;
use super::{finished, machine, runtime};
use crate::cli::MergeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::of_draft;
use pibench_engine::{collect, is_whole, outline};
use pibench_record::RunFolder;
use pibench_record::shards::whole;

/// Merges run folders into a new one.
pub(super) fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let MergeArgs { parts, out, json } = args;
    let mut folders = Vec::new();
    for path in parts {
        let opened = RunFolder::open(path.as_std_path()).or_exit(Exit::InvalidInput)?;
        folders.push((path, opened.0, opened.1));
    }
    let manifests: Vec<_> = folders
        .iter()
        .map(|(path, _, manifest)| (path.as_str(), manifest))
        .collect();
    let whole = whole(&manifests).or_exit(Exit::InvalidInput)?;
    let parts = folders.iter().map(|(_, folder, _)| folder);
    let folder = RunFolder::draft(out.as_std_path(), &whole, parts).or_exit(Exit::Io)?;
    let mut plan = of_draft(&machine()?, out, folder, whole)?;
    let outline = runtime()?.block_on(outline(&plan)).or_exit(Exit::Io)?;
    plan.folder.put_outline(&outline).or_exit(Exit::Io)?;
    let results = collect(&plan).or_exit(Exit::Io)?;
    plan.folder.put_results(&results).or_exit(Exit::Io)?;
    let is_whole = is_whole(&plan).or_exit(Exit::Io)?;
    plan.folder.publish().or_exit(Exit::Io)?;
    show(&results, *json, plan.folder.root())?;
    if !is_whole {
        eprintln!("A part is not played to its end. Go on with: pibench-host run --resume {out}");
        return Ok(Exit::Infrastructure);
    }
    Ok(finished([&results]))
}
