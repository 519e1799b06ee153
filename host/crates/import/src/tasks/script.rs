//! What a rule script says of files, read from its text. It runs nothing and knows no more of Python than where texts stand.

use std::collections::BTreeSet;

/// Endings of files that scripts open.
const ENDINGS: [&str; 10] = [
    "cfg", "csv", "db", "ini", "json", "md", "toml", "txt", "yaml", "yml",
];

/// Of configuration: named without a folder, it is still no file that an agent would make.
const CONFIGURATION: [&str; 5] = ["cfg", "ini", "toml", "yaml", "yml"];

/// The texts of a script that look like relative paths of files, each once.
pub(super) fn paths(script: &str) -> Vec<String> {
    let texts = script.lines().flat_map(texts);
    let found: BTreeSet<&str> = texts.filter(|text| is_path(text)).collect();
    found.into_iter().map(str::to_owned).collect()
}

/// What stands between quotes of one kind.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    let of = |quote: char| line.split(quote).skip(1).step_by(2);
    of('"').chain(of('\''))
}

fn is_path(text: &str) -> bool {
    let Some((stem, ending)) = text.rsplit_once('.') else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let well_formed = text.chars().all(plain)
        && text
            .split('/')
            .all(|part| !part.trim_matches('.').is_empty())
        && stem.contains(|c: char| c.is_ascii_alphanumeric());
    let ends = if text.contains('/') {
        &ENDINGS[..]
    } else {
        &CONFIGURATION
    };
    well_formed && ends.contains(&ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_are_found_and_other_texts_are_not() {
        let script = r#"
            settings = Path("config/nanobot.yaml")
            other = os.path.join('config', 'more.toml')
            made = open("out/report.md")
            "summary.md" in c["call"]["path"]
            "a sentence. And/or more.md" "https://x.example/a.json" "/etc/passwd.txt" "..yaml" "v1.5/2.0" "config/nanobot.yaml"
        "#;
        assert_eq!(
            paths(script),
            ["config/nanobot.yaml", "more.toml", "out/report.md"]
        );
    }
}
