//! Passes when the session wrote a file: `config = { path = "notes/plan.md", contains = "movers" }`. With `contains`,
//! the file must hold that text when the session is graded.

use pibench_sdk::export_grader;
use pibench_sdk::grader::{ChangeKind, Check, Evidence, Grader, Verdict, Workspace};
use serde::Deserialize;

export_grader!(Plugin);

/// The grader.
pub struct Plugin;

/// What a task file says. An unknown key is an error: a typing error must not pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    path: String,
    #[serde(default)]
    contains: String,
}

const CHECK: &str = "written";

impl Grader for Plugin {
    fn list_checks(config: &str) -> Result<Vec<Check>, String> {
        let Config { path, .. } = read(config)?;
        Ok(vec![Check {
            id: CHECK.into(),
            description: format!("{path} was written"),
        }])
    }

    fn grade(
        config: &str,
        evidence: &Evidence,
        workspace: &dyn Workspace,
    ) -> Result<Vec<Verdict>, String> {
        let (pass, reason) = judge(&read(config)?, evidence, workspace);
        Ok(vec![Verdict {
            check: CHECK.into(),
            pass,
            reason,
        }])
    }
}

fn read(config: &str) -> Result<Config, String> {
    serde_json::from_str(config).map_err(|error| format!("config: {error}"))
}

/// Whether it passes, and why.
fn judge(config: &Config, evidence: &Evidence, workspace: &dyn Workspace) -> (bool, String) {
    let Config { path, contains } = config;
    let written = evidence
        .changes
        .iter()
        .rfind(|change| change.path == *path && change.kind != ChangeKind::Deleted);
    let Some(change) = written else {
        return (false, format!("{path} was not written"));
    };
    let content = match workspace.read(path) {
        Ok(content) => String::from_utf8_lossy(&content).into_owned(),
        Err(error) => return (false, format!("{path}: {error}")),
    };
    if !content.contains(contains.as_str()) {
        return (false, format!("{path} does not hold the text `{contains}`"));
    }
    (true, format!("{path} was written in turn {}", change.turn))
}

#[cfg(test)]
mod tests {
    use pibench_sdk::grader::{Entry, FileChange, WorkspaceError};

    use super::*;

    /// A workspace with one file.
    struct OneFile(&'static str, &'static str);

    impl Workspace for OneFile {
        fn list(&self, _: &str, _: bool) -> Result<Vec<Entry>, WorkspaceError> {
            Ok(Vec::new())
        }

        fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
            match path == self.0 {
                true => Ok(self.1.into()),
                false => Err(WorkspaceError::NotFound),
            }
        }
    }

    const CONFIG: &str = r#"{"path": "notes/plan.md", "contains": "movers"}"#;

    /// The verdict on a session that changed a file, which now has this content.
    fn check(path: &'static str, kind: ChangeKind, content: &'static str, expected: bool) {
        let change = FileChange {
            turn: 1,
            path: path.into(),
            kind,
        };
        let evidence = Evidence {
            turn: 1,
            changes: vec![change],
            ..Evidence::default()
        };
        let verdicts = Plugin::grade(CONFIG, &evidence, &OneFile(path, content)).unwrap();
        assert_eq!(verdicts[0].pass, expected, "{}", verdicts[0].reason);
    }

    #[test]
    fn a_written_file_with_the_text_passes() {
        check("notes/plan.md", ChangeKind::Created, "The movers come at 8.", true);
    }

    #[test]
    fn another_file_another_text_or_a_deletion_does_not() {
        check("plan.md", ChangeKind::Created, "The movers come at 8.", false);
        check("notes/plan.md", ChangeKind::Modified, "Nobody comes.", false);
        check("notes/plan.md", ChangeKind::Deleted, "The movers come at 8.", false);
    }

    #[test]
    fn a_typing_error_in_the_configuration_is_named() {
        let error = Plugin::list_checks(r#"{"path": "a", "contain": "b"}"#).unwrap_err();
        assert!(error.contains("contain"), "{error}");
    }
}
