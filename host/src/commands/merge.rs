//! `pibench-host merge`: one run of parts that were played apart. It plays nothing: the merged folder is an ordinary one,
//! and what a part lacks is played by `run --resume`.

use anyhow::anyhow;
use camino::Utf8PathBuf;

use super::run::show;
use super::{finished, machine, runtime};
use crate::cli::MergeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::{Purpose, reopen};
use pibench_engine::{collect, is_whole, outline};
use pibench_record::folder::Shard;
use pibench_record::identity::{differences, listed};
use pibench_record::{Manifest, RunFolder};

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
        .map(|(path, _, manifest)| (*path, manifest))
        .collect();
    let whole = whole(&manifests).or_exit(Exit::InvalidInput)?;
    let parts = folders.iter().map(|(_, folder, _)| folder);
    RunFolder::merged(out.as_std_path(), &whole, parts).or_exit(Exit::Io)?;
    let plan = reopen(&machine()?, out, Purpose::Write)?;
    let outline = runtime()?.block_on(outline(&plan)).or_exit(Exit::Io)?;
    plan.folder.put_outline(&outline).or_exit(Exit::Io)?;
    let results = collect(&plan).or_exit(Exit::Io)?;
    plan.folder.put_results(&results).or_exit(Exit::Io)?;
    show(&results, *json, plan.folder.root())?;
    if !is_whole(&plan).or_exit(Exit::Io)? {
        eprintln!("A part is not played to its end. Go on with: pibench-host run --resume {out}");
        return Ok(Exit::Infrastructure);
    }
    Ok(finished([&results]))
}

/// The manifest of the whole run: the parts must differ in nothing but which part they are and where they were played, and
/// all must be there.
fn whole(parts: &[(&Utf8PathBuf, &Manifest)]) -> anyhow::Result<Manifest> {
    let [(first, model), others @ ..] = parts else {
        return Err(anyhow!("merge nothing: name the run folders of all parts"));
    };
    let mut there = Vec::new();
    for (path, manifest) in parts {
        let Some(shard) = manifest.shard else {
            return Err(anyhow!(
                "merge {path}: it is a whole run and no part of one (`run --shard`)"
            ));
        };
        there.push(shard);
    }
    for (path, manifest) in others {
        let differ = differences(model, manifest);
        if !differ.is_empty() {
            return Err(anyhow!(
                "merge {path} with {first}: they differ in {}",
                listed(&differ)
            ));
        }
    }
    let of = there[0].of;
    if there.iter().any(|shard| shard.of != of) {
        return Err(anyhow!(
            "merge parts of different numbers: {}",
            list(&there)
        ));
    }
    let missing: Vec<Shard> = (1..=of)
        .map(|index| Shard { index, of })
        .filter(|shard| !there.contains(shard))
        .collect();
    if !missing.is_empty() {
        return Err(anyhow!(
            "merge {}: missing {}",
            list(&there),
            list(&missing)
        ));
    }
    if there.len() > of as usize {
        return Err(anyhow!("merge {}: a part is named twice", list(&there)));
    }
    Ok(Manifest {
        shard: None,
        ..(*model).clone()
    })
}

fn list(shards: &[Shard]) -> String {
    let shards: Vec<String> = shards.iter().map(Shard::to_string).collect();
    shards.join(", ")
}
