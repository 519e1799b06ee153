//! Checks one path of a task pack, whatever its kind, and says everything that is wrong with it. Looks at task files
//! only: a plugin is handed back to the caller.

use camino::{Utf8Path, Utf8PathBuf};

use crate::load::{
    PERSONA, SESSION, SUITE, keys_of, persona_problems, session_problems, suite_problems,
};
use crate::problem::Problem;

/// What a path was found to be.
#[derive(Debug, Clone)]
pub enum Checked {
    /// A suite, persona or session, with all its problems: none of them an error when it is sound.
    Task(Vec<Problem>),
    /// A WebAssembly component: for whoever can load it.
    Plugin,
}

/// Checks a suite, persona or session: the file, or its folder. The kind follows from the file's name, else from its
/// keys; a path that ends in `.wasm` is a plugin.
pub fn check(path: &Utf8Path) -> Checked {
    if path.extension() == Some("wasm") {
        return Checked::Plugin;
    }
    Checked::Task(match file_of(path) {
        Some((file, Kind::Suite)) => suite_problems(&file),
        Some((file, Kind::Persona)) => persona_problems(&file),
        Some((file, Kind::Session)) => session_problems(&file),
        None if !path.exists() => vec![Problem::of_file(path, "no such file or folder")],
        None => vec![
            Problem::of_file(path, "no suite, persona, session or plugin").help(format!(
                "want {SUITE}, {PERSONA}, {SESSION}, the folder of one, or a .wasm file"
            )),
        ],
    })
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Suite,
    Persona,
    Session,
}

const NAMES: [(&str, Kind); 3] = [
    (SUITE, Kind::Suite),
    (PERSONA, Kind::Persona),
    (SESSION, Kind::Session),
];

fn file_of(path: &Utf8Path) -> Option<(Utf8PathBuf, Kind)> {
    if path.is_dir() {
        // `.` and `..` have no name of their own, and ids are compared with folders' names.
        let folder = path
            .file_name()
            .map_or_else(|| path.canonicalize_utf8().ok(), |_| Some(path.to_owned()))?;
        return NAMES
            .iter()
            .map(|(name, kind)| (folder.join(name), *kind))
            .find(|(file, _)| file.is_file());
    }
    let name = path.file_name()?;
    if let Some((_, kind)) = NAMES.iter().find(|(known, _)| *known == name) {
        return path.is_file().then(|| (path.to_owned(), *kind));
    }
    let keys = keys_of(path);
    let has = |key: &str| keys.iter().any(|known| known == key);
    let kind = match () {
        () if has("personas") => Kind::Suite,
        () if has("episode") => Kind::Persona,
        () if has("intents") => Kind::Session,
        () => return None,
    };
    Some((path.to_owned(), kind))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SESSION_TEXT: &str = "version = 1\nid = \"one\"\ntitle = \"x\"\nclock = 2026-03-02T09:00:00\n\
        request = \"x\"\nintents = [{ id = \"i\", content = \"x\", satisfied = { all = [[\"x\"]] } }]\n\
        reference = [{ serves = [\"i\"], say = \"x\" }]\nchecklist = [{ id = \"c\", criterion = \"x\", weight = 0 }]\n";
    const PERSONA_TEXT: &str = "version = 1\nid = \"ada\"\nname = \"Ada\"\nprofile = \"x\"\nepisode = [{ session = \"one\" }]\n";
    const SUITE_TEXT: &str = "version = 1\nid = \"small\"\npersonas = [\"ada\"]\n";

    /// The lines that are said of a path of a small pack, without the folder's name.
    #[track_caller]
    fn check_path(path: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir_all(root.join("ada/sessions/one")).unwrap();
        fs::write(root.join("ada/sessions/one/session.toml"), SESSION_TEXT).unwrap();
        fs::write(root.join("ada/persona.toml"), PERSONA_TEXT).unwrap();
        fs::write(root.join("suite.toml"), SUITE_TEXT).unwrap();
        fs::write(root.join("other.toml"), SUITE_TEXT.replace("ada", "bob")).unwrap();
        fs::write(root.join("notes.toml"), "x = 1").unwrap();
        let Checked::Task(problems) = check(&root.join(path)) else {
            panic!("a plugin")
        };
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| problem.to_line().replace(&format!("{root}/"), ""))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn tells_the_kind_by_name_by_folder_and_by_keys() {
        let weight = "ada/sessions/one/session.toml:8:52: the weight 0 is not above 0";
        for path in [
            "suite.toml",
            "",
            "ada",
            "ada/persona.toml",
            "ada/sessions/one",
            "ada/sessions/one/session.toml",
        ] {
            check_path(path, &[weight]);
        }
        check_path(
            "other.toml",
            &["other.toml:3:13: cannot read `bob/persona.toml`: no such file"],
        );
    }

    #[test]
    fn says_when_a_path_is_nothing_that_it_knows() {
        let want = "no suite, persona, session or plugin (want suite.toml, persona.toml, session.toml, the folder of one, \
            or a .wasm file)";
        check_path("notes.toml", &[&format!("notes.toml: {want}")]);
        check_path("ada/sessions", &[&format!("ada/sessions: {want}")]);
        check_path("ada/none", &["ada/none: no such file or folder"]);
    }

    #[test]
    fn leaves_plugins_to_the_caller() {
        assert!(matches!(check("x.wasm".into()), Checked::Plugin));
    }
}
