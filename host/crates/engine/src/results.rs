//! The scores of a run that this process plays or looks at: made from its journals, as `pibench_record::standing` makes
//! them for anybody.

use super::error::RunError;
use super::outline::personas;
use super::plan::Plan;
use pibench_record::event::Event;
use pibench_record::folder::read_manifest;
use pibench_record::journal::JournalError;
use pibench_record::results::RunResults;
use pibench_record::standing::{EpisodeResults, episode, standing};

/// Reads every journal of the run.
pub fn collect(plan: &Plan) -> Result<RunResults, RunError> {
    collect_others(plan, EpisodeResults::new())
}

/// Reads every journal of the run that was not read since its end.
pub(super) fn collect_others(plan: &Plan, known: EpisodeResults) -> Result<RunResults, RunError> {
    let manifest = read_manifest(plan.folder.root())?;
    let personas = personas(plan);
    Ok(standing(plan.folder.root(), &manifest, &personas, known)?)
}

/// Whether every episode was played to its end.
pub fn is_whole(plan: &Plan) -> Result<bool, JournalError> {
    for (run, persona) in plan.episodes() {
        let events = episode(plan.folder.root(), &persona.id, run)?;
        if !matches!(events.last(), Some(Event::EpisodeFinished)) {
            return Ok(false);
        }
    }
    Ok(true)
}
