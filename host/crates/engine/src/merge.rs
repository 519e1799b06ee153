//! Parts of a run as one. Nothing is played, and what comes of it is an ordinary run folder.

use camino::Utf8Path;

use super::error::RunError;
use super::outline::outline;
use super::plan::{Machine, Plan, PlanError, of_draft};
use pibench_record::RunFolder;
use pibench_record::folder::{FolderError, Manifest, read_manifest};
use pibench_record::shards::{NoWhole, whole};
use pibench_record::standing::told;

/// Why parts are not one run. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Parts(#[from] NoWhole),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The parts, as they are told of where something is wrong with all.
fn named(parts: &[(String, RunFolder, Manifest)]) -> String {
    match parts {
        [] => "no part".into(),
        [(one, ..)] => one.clone(),
        [(first, ..), (last, ..)] => format!("{first} and {last}"),
        [(first, ..), others @ ..] => format!("{first} and {} more parts", others.len()),
    }
}

/// A merged run that has no name yet: dropped, it leaves nothing.
#[derive(Debug)]
pub struct Merged {
    pub plan: Plan,
    /// Whether every part is played to its end.
    pub is_whole: bool,
}

impl Merged {
    /// Parts, each with its name, as one run that will be in `out`.
    pub async fn draft(
        machine: &Machine,
        out: &Utf8Path,
        parts: &[(String, RunFolder, Manifest)],
    ) -> Result<Self, MergeError> {
        let manifests: Vec<_> = parts
            .iter()
            .map(|(name, _, manifest)| (name.as_str(), manifest))
            .collect();
        let whole = whole(&manifests)?;
        let folders = parts.iter().map(|(_, folder, _)| folder);
        let folder =
            RunFolder::draft(out.as_std_path(), &whole, folders).map_err(RunError::from)?;
        let plan = of_draft(machine, Utf8Path::new(&named(parts)), folder, whole)?;
        let outline = outline(&plan).await.map_err(RunError::from)?;
        plan.folder.put_outline(&outline).map_err(RunError::from)?;
        let root = plan.folder.root();
        let manifest = read_manifest(root).map_err(RunError::from)?;
        let (results, is_whole) =
            told(root, &manifest, &outline.personas).map_err(RunError::from)?;
        plan.folder.put_results(&results).map_err(RunError::from)?;
        Ok(Self { plan, is_whole })
    }

    /// Gives it its name.
    pub fn publish(&mut self) -> Result<(), FolderError> {
        self.plan.folder.publish()
    }
}
