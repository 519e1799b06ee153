//! What is told of a panic: which tool it was in. It ends the whole command line, and the host sees none of that. Nothing is
//! caught here.

/// The tool in whose source a panic arose, by the file that bashkit has for it.
fn tool(file: &str) -> Option<&str> {
    let (_, inner) = file.split_once("/builtins/")?;
    let name = inner.split('/').next()?;
    Some(name.strip_suffix(".rs").unwrap_or(name))
}

/// One line about a panic.
pub fn told(file: &str, reason: &str) -> String {
    let tool = tool(file).unwrap_or("a tool");
    let reason = reason.lines().next().unwrap_or_default();
    format!("{tool}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_by_its_tool() {
        let source = "/registry/bashkit-0.20.2/src/builtins/";
        for (file, expected) in [
            ("awk/value.rs", "awk: not a boundary"),
            ("nl.rs", "nl: not a boundary"),
        ] {
            let file = format!("{source}{file}");
            assert_eq!(told(&file, "not a boundary\nof it"), expected);
        }
        let elsewhere = "/registry/bashkit-0.20.2/src/interpreter/mod.rs";
        assert_eq!(told(elsewhere, "no"), "a tool: no");
    }
}
