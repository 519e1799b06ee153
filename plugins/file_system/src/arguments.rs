//! What the tools take. The comments are what a model reads.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::MAX_CONTENT;
use crate::path::MAX_PATH;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDirectory {
    /// The new directory's path.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub directory_path: String,
    /// Create missing directories on the way too. Otherwise the directory around it must exist.
    #[serde(default)]
    pub recursive: bool,
    /// Accept a directory that exists already, and leave it as it is. Otherwise that is refused.
    #[serde(default = "yes")]
    pub allow_if_exists: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateFile {
    /// The new file's path; the directory around it must exist.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file_path: String,
    /// The file's text. Without it the file is empty.
    #[schemars(length(max = MAX_CONTENT))]
    pub content: Option<String>,
    /// Replace the text of a file that exists already. Otherwise that is refused.
    #[serde(default)]
    pub overwrite: bool,
}

/// For copying and moving files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceFile {
    /// The path of the file.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_file_path: String,
    /// The file's new path with its new name; the directory around it must exist.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_file_path: String,
    /// Replace a file that exists there already. Otherwise that is refused.
    #[serde(default)]
    pub overwrite: bool,
    /// Keep the dates of the source. Otherwise they become the current time.
    #[serde(default)]
    pub retain_dates: bool,
}

/// For copying and moving directories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceDirectory {
    /// The path of the directory.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub source_directory_path: String,
    /// The directory's new path with its new name, not the directory to put it in; the one around it must exist.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub destination_directory_path: String,
    /// Replace a directory that exists there already, with all that is in it. Otherwise that is refused.
    #[serde(default)]
    pub overwrite: bool,
    /// Keep the dates of the source. Otherwise those of all that is in it become the current time.
    #[serde(default)]
    pub retain_dates: bool,
}

fn yes() -> bool {
    true
}
