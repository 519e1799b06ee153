//! A rule's script, as its author knows it: what its errors say, by the file's own name. It runs no script.

use camino::Utf8Path;
use pibench_suite::suite::Rule;

/// How a traceback begins a frame: the grader does not know the file's name.
const FRAME: &str = "File \"script.py\", line ";

/// What a grader says of a rule, a traceback of its script as one line: where, and what was raised. `session` is the file that
/// the script lies beside.
pub(super) fn told(reason: &str, rule: &Rule, session: Option<&Utf8Path>) -> String {
    if !reason.contains(FRAME) {
        return reason.to_owned();
    }
    let name = session.and_then(|session| name(rule, session));
    shortened(reason, name.as_deref().unwrap_or("the script"))
}

fn shortened(reason: &str, file: &str) -> String {
    let before = reason.split(FRAME).next().unwrap_or_default();
    let last = reason.rsplit(FRAME).next().unwrap_or_default();
    let line: String = last.chars().take_while(char::is_ascii_digit).collect();
    let raised = last.trim_end().lines().last().unwrap_or_default();
    format!("{before}{file}, line {line}: {}", raised.trim())
}

/// The file beside the session's that holds the rule's script.
fn name(rule: &Rule, session: &Utf8Path) -> Option<String> {
    let script = rule.config.get("script")?.as_str()?;
    let files = session.parent()?.read_dir_utf8().ok()?.flatten();
    let mut files = files.filter(|file| file.path().extension() == Some("py"));
    let found = files.find(|file| {
        let text = std::fs::read_to_string(file.path());
        // As the suite's loading leaves a byte order mark away.
        text.is_ok_and(|text| text.trim_start_matches('\u{feff}') == script)
    });
    found.map(|file| file.file_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceback_is_its_last_line_with_the_files_name_and_another_text_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::write(folder.join("other.py"), "y").unwrap();
        std::fs::write(folder.join("check_plan.py"), "x").unwrap();
        let session = folder.join("session.toml");
        let rule = Rule {
            grader: "python".into(),
            config: serde_json::json!({ "script": "x" }),
            check: None,
        };
        let text = "python failed: the script failed: File \"script.py\", line 2, in score\n    return inner(h)\n  \
            File \"script.py\", line 4, in inner\n    return h['x']\n           ~^^^^^\nKeyError: 'x'\n";
        assert_eq!(
            told(text, &rule, Some(&session)),
            "python failed: the script failed: check_plan.py, line 4: KeyError: 'x'"
        );
        assert_eq!(
            told(text, &rule, None),
            "python failed: the script failed: the script, line 4: KeyError: 'x'"
        );
        let text = "python failed: the script defines no function score(tools_history)";
        assert_eq!(told(text, &rule, Some(&session)), text);
    }
}
