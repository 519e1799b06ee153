//! What the tools take. The comments are what a model reads.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::MAX_CONTENT;
use crate::path::MAX_PATH;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDirectory {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub directory_path: String,
    /// Parents, too.
    #[serde(default)]
    pub recursive: bool,
    #[serde(default = "yes")]
    pub allow_if_exists: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateFile {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file_path: String,
    #[schemars(length(max = MAX_CONTENT))]
    pub content: Option<String>,
    #[serde(default)]
    pub overwrite: bool,
}

/// For copying and moving files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceFile {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_file_path: String,
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_file_path: String,
    #[serde(default)]
    pub overwrite: bool,
    #[serde(default)]
    pub retain_dates: bool,
}

/// For copying and moving directories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceDirectory {
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_directory_path: String,
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_directory_path: String,
    #[serde(default)]
    pub overwrite: bool,
    #[serde(default)]
    pub retain_dates: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowFile {
    pub file_path: String,
}
