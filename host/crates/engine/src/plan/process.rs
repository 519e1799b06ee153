//! What of an agent that is a process of its own makes a run the run that it is.

use std::collections::BTreeMap;
use std::fmt::Debug;

use pibench_core::player;
use pibench_record::Manifest;
use pibench_record::folder::ProcessMark;
use pibench_suite::catalog;
use pibench_suite::manifest::{AgentFile, Isolation};

/// An agent's entry as it is played; None for an agent of another kind.
pub(super) fn mark(name: &str, own: &BTreeMap<String, AgentFile>) -> Option<ProcessMark> {
    let (what, confined) = player::process(name)?;
    let AgentFile {
        command,
        environment,
        set,
        cwd,
        isolation,
        read,
        tools,
        home,
        mode,
    } = catalog::agent(what, own).ok()?;
    // A value may be a key.
    let digest = |(name, value): (String, String)| {
        let digest = blake3::hash(value.as_bytes()).to_hex().to_string();
        (name, digest)
    };
    let word = |kind: &dyn Debug| format!("{kind:?}").to_lowercase();
    Some(ProcessMark {
        command,
        environment,
        set: set.into_iter().map(digest).collect(),
        cwd,
        confined: confined && isolation == Isolation::Bubblewrap,
        read,
        tools: word(&tools),
        home: word(&home),
        mode,
        product: None,
    })
}

/// An entry with what its process told when the run began: what one tells now is held against that when it is started.
pub(super) fn told(mark: Option<ProcessMark>, was: &Manifest) -> Option<ProcessMark> {
    let product = was.process.as_ref()?.product.clone();
    mark.map(|mark| ProcessMark { product, ..mark })
}
