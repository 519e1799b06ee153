//! Files of the file system app that a tool of another app is given by their paths. Apps do not see each other: the host
//! reads the files with the caller's own token and hands them over with the call, where the policy lets it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::refusal::ToolError;

/// The most text that the files of a call may have, in bytes.
pub const MAX_ATTACHED: usize = 256 * 1024;

/// A file as the host hands it over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct File {
    /// From the root.
    pub path: String,
    /// Its text.
    pub content: String,
}

impl File {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Flattened into the arguments of a tool that attaches files.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Attachments {
    #[schemars(extend("x-files-of" = "file_system"))]
    pub attachment_file_paths: Option<Vec<String>>,
    pub file_system_access_token: Option<String>,
    /// The host's: no caller is let through with it.
    #[schemars(skip)]
    #[serde(default)]
    pub attached_files: Vec<File>,
}

/// Flattened into the arguments of a tool that keeps a receipt.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Receipt {
    #[schemars(extend("x-files-of" = "file_system"))]
    pub receipt_file_path: Option<String>,
    pub file_system_access_token: Option<String>,
    /// The host's: no caller is let through with it.
    #[schemars(skip)]
    #[serde(default)]
    pub attached_files: Vec<File>,
}

impl Attachments {
    /// The files that the paths name. 422 if the host did not hand them over, or they are too long.
    pub fn files(self) -> Result<Vec<File>, ToolError> {
        let paths = self.attachment_file_paths.unwrap_or_default();
        handed_over(
            paths.len(),
            self.file_system_access_token.as_deref(),
            self.attached_files,
        )
    }
}

impl Receipt {
    /// The file that the path names, if one is given. 422 if the host did not hand it over, or it is too long.
    pub fn file(self) -> Result<Option<File>, ToolError> {
        let named = usize::from(self.receipt_file_path.is_some());
        let files = handed_over(
            named,
            self.file_system_access_token.as_deref(),
            self.attached_files,
        )?;
        Ok(files.into_iter().next())
    }
}

fn handed_over(
    named: usize,
    token: Option<&str>,
    files: Vec<File>,
) -> Result<Vec<File>, ToolError> {
    if named != files.len() {
        return Err(ToolError::invalid(match token {
            None => "Nothing can be attached: the file_system_access_token is missing.",
            Some(_) => "Nothing can be attached: the file system app is not connected.",
        }));
    }
    let bytes: usize = files.iter().map(|file| file.content.len()).sum();
    if bytes > MAX_ATTACHED {
        return Err(ToolError::invalid(format!(
            "The attached files have {bytes} bytes; at most {MAX_ATTACHED} fit."
        )));
    }
    Ok(files)
}
