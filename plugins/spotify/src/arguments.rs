//! What tools of several topics take. The comments are what a model reads.

use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;

/// No upper bound for a count: the largest whole number that every client can write.
const NO_BOUND: u64 = i64::MAX as u64;

pub(crate) fn no_bound() -> u64 {
    NO_BOUND
}

pub(crate) fn best_rating() -> f64 {
    5.0
}

/// 422 for bounds of ratings that no rating has.
pub(crate) fn check_ratings(bounds: [f64; 2], least: u8) -> Result<(), ToolError> {
    let has = |bound: &f64| (f64::from(least)..=best_rating()).contains(bound);
    if bounds.iter().all(has) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "min_rating and max_rating must be from {least} to 5."
    )))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SongIdOnly {
    pub song_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlbumIdOnly {
    pub album_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtistIdOnly {
    pub artist_id: u32,
}
