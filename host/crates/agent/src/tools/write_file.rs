//! `write_file`: makes or replaces a whole file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Refusal, count, file_path, looks_like, refusal};
use pibench_core::form::difference;
use pibench_sandbox::workspace::{Workspace, WorkspaceError};

pub(super) const DESCRIPTION: &str = "\
    Replaces the file; makes missing folders.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    content: String,
}

pub(crate) fn run(workspace: &mut Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments { path, content } = arguments;
    let path = file_path(path)?;
    let (verb, other) = match workspace.stat(&path) {
        Ok(_) => ("Replaced", None),
        Err(WorkspaceError::NotFound(_)) => ("Created", looks_like(workspace, &path)),
        Err(error) => return Err(refusal(&error)),
    };
    workspace
        .write(&path, content.as_bytes())
        .map_err(|error| refusal(&error))?;
    let lines = count(content.lines().count(), "line");
    let other = other.map_or_else(String::new, |other| {
        let difference = difference(path.as_str(), other.as_str());
        format!("; another file of this name is there {difference}")
    });
    Ok(format!(
        "{verb} {path} ({lines}, {}){other}",
        count(content.len(), "byte")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Builtin;
    use super::super::tests::{check_refused, get, workspace};

    #[test]
    fn a_file_is_created_and_then_replaced() {
        let (_folder, mut workspace) = workspace();
        let mut check = |content, expected| {
            let arguments = json!({"path": "notes/a.md", "content": content});
            assert_eq!(
                Builtin::WriteFile.run(&mut workspace, &arguments).unwrap(),
                expected
            );
            assert_eq!(get(&workspace, "notes/a.md"), content);
        };
        check("one\ntwo\n", "Created notes/a.md (2 lines, 8 bytes)");
        check("ü", "Replaced notes/a.md (1 line, 2 bytes)");
        check("", "Replaced notes/a.md (0 lines, 0 bytes)");
    }

    #[test]
    fn a_folder_is_not_overwritten() {
        let (_folder, mut workspace) = workspace();
        super::super::tests::put(&mut workspace, "a/b", "x");
        let arguments = json!({"path": "a", "content": "x"});
        check_refused(
            &mut workspace,
            Builtin::WriteFile,
            &arguments,
            "it is a folder",
        );
        let arguments = json!({"path": "a/", "content": "x"});
        check_refused(
            &mut workspace,
            Builtin::WriteFile,
            &arguments,
            "ends in a slash",
        );
    }

    #[test]
    fn a_file_over_the_quota_is_refused_with_both_figures() {
        let (_folder, mut workspace) = workspace();
        let arguments = json!({"path": "a", "content": "x".repeat((64 << 20) + 1)});
        let expected =
            "failed to store a: 67108865 bytes in one file, 67108864 are allowed. Store less";
        check_refused(&mut workspace, Builtin::WriteFile, &arguments, expected);
    }
}
