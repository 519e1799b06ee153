//! The parts of a run that were played apart: whether they make a whole one. It opens no folder.

use super::folder::{Manifest, Shard};
use super::identity::{differences, listed};

/// Why parts do not make a whole run. Reads after "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoWhole(String);

/// The manifest of the whole run: the parts must differ in nothing but which part they are and where they were played, and
/// all must be there.
pub fn whole(parts: &[(&str, &Manifest)]) -> Result<Manifest, NoWhole> {
    let [(first, model), others @ ..] = parts else {
        return Err(NoWhole(
            "merge nothing: name the run folders of all parts".into(),
        ));
    };
    let mut there = Vec::new();
    for (path, manifest) in parts {
        let Some(shard) = manifest.shard else {
            return Err(NoWhole(format!(
                "merge {path}: it is a whole run and no part of one (`run --shard`)"
            )));
        };
        there.push(shard);
    }
    for (path, manifest) in others {
        let differ = differences(model, manifest);
        if !differ.is_empty() {
            return Err(NoWhole(format!(
                "merge {path} with {first}: they differ in {}",
                listed(&differ)
            )));
        }
    }
    let of = there[0].of;
    if there.iter().any(|shard| shard.of != of) {
        return Err(NoWhole(format!(
            "merge parts of different numbers: {}",
            list(&there)
        )));
    }
    let missing: Vec<Shard> = (1..=of)
        .map(|index| Shard { index, of })
        .filter(|shard| !there.contains(shard))
        .collect();
    if !missing.is_empty() {
        return Err(NoWhole(format!(
            "merge {}: missing {}",
            list(&there),
            list(&missing)
        )));
    }
    let names = parts.iter().map(|(name, _)| *name);
    let all: Vec<(&str, Shard)> = names.zip(there.iter().copied()).collect();
    for (at, (one, shard)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..at].iter().find(|(_, before)| before == shard) {
            return Err(NoWhole(format!(
                "merge {other} and {one}: both are part {shard}; leave one of them out"
            )));
        }
    }
    Ok(Manifest {
        shard: None,
        // Nothing is left to be paid for.
        max_cost: None,
        ..(*model).clone()
    })
}

fn list(shards: &[Shard]) -> String {
    let shards: Vec<String> = shards.iter().map(Shard::to_string).collect();
    shards.join(", ")
}
