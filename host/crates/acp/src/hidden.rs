//! What no agent may see, and whether it would be seen with a place that is shown. It reads names and one kind of file, and
//! changes nothing.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Levels of folders below one that are looked through for suites and runs, and folders of all of them together.
const LEVELS: u32 = 4;
const FOLDERS: usize = 20_000;

/// Bytes of a suite file that are looked at.
const SUITE_BYTES: u64 = 64 << 10;

/// The file of a suite.
const SUITE: &str = "suite.toml";

/// The endings of a pack and of runs that were sent, as one file each. Nothing else of them is looked at.
const ARCHIVES: [&str; 2] = ["pibench", "submission"];

/// What no agent may see: the run folder, the suite, private keys, the home of the operator as a whole. Paths without links.
#[derive(Debug, Clone, Default)]
pub struct Hidden {
    /// Nothing that holds one of these is shown, nor anything in it.
    pub folders: Vec<PathBuf>,
    /// Not shown as a whole; what is in it may be.
    pub homes: Vec<PathBuf>,
    /// Whether suites, personas and runs are hidden, too, that lie in what is shown or around it: each tells what an agent is
    /// measured by.
    pub tasks: bool,
}

/// Why something is not shown.
#[derive(Debug, thiserror::Error)]
#[error("show {} to the agent: it would see {} with it, which is hidden from it", path.display(), hidden.display())]
pub struct Shows {
    pub path: PathBuf,
    pub hidden: PathBuf,
}

impl Hidden {
    /// Refuses a workspace that would show something of the hidden. It may lie in a run, as those of a run's own do.
    pub fn check_workspace(&self, folder: &Path) -> Result<(), Shows> {
        let task = || self.tasks.then(|| beneath(folder)).flatten();
        refuse(folder, self.named(folder).or_else(task))
    }

    /// Refuses a place of the system's, which no suite is looked for in.
    pub(super) fn check_system(&self, folder: &Path) -> Result<(), Shows> {
        refuse(folder, self.named(folder))
    }

    /// Refuses a file or folder of an installation that would show something of the hidden.
    pub(super) fn check(&self, path: &Path) -> Result<(), Shows> {
        refuse(path, self.seen_with(path))
    }

    /// What of the hidden would be seen with a file or folder of an installation; None where it can be shown.
    pub(super) fn seen_with(&self, path: &Path) -> Option<PathBuf> {
        let task = || {
            let real = whole(path);
            around(&real).or_else(|| beneath(&real))
        };
        self.named(path).or_else(|| self.tasks.then(task).flatten())
    }

    /// By the words of a path, and by where its links lead: what shows it follows them.
    fn named(&self, path: &Path) -> Option<PathBuf> {
        let real = whole(path);
        let forms = [path, &real];
        let folder = |hidden: &&PathBuf| {
            let mut forms = forms.iter();
            forms.any(|shown| hidden.starts_with(shown) || shown.starts_with(hidden))
        };
        let home = |home: &&PathBuf| forms.iter().any(|shown| home.starts_with(shown));
        let folders = self.folders.iter().find(folder);
        folders.or_else(|| self.homes.iter().find(home)).cloned()
    }
}

fn refuse(path: &Path, hidden: Option<PathBuf>) -> Result<(), Shows> {
    match hidden {
        Some(hidden) => Err(Shows {
            path: path.to_owned(),
            hidden,
        }),
        None => Ok(()),
    }
}

/// A path without links, where it is there.
fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The persona or run that a place is in, or the suite file that it is.
fn around(place: &Path) -> Option<PathBuf> {
    let mut all = place.ancestors().filter_map(task_of);
    all.find(|task| place.starts_with(task))
}

/// The first suite, persona or run in a folder and below it. Links lead nowhere for who is confined, and are not followed.
fn beneath(folder: &Path) -> Option<PathBuf> {
    let mut looked = 0;
    let mut ahead = VecDeque::from([(folder.to_owned(), 0)]);
    while let Some((folder, level)) = ahead.pop_front() {
        if let Some(task) = task_of(&folder) {
            return Some(task);
        }
        if level == LEVELS {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if is_archive(&path) {
                return Some(path);
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            looked += 1;
            if looked > FOLDERS {
                return None;
            }
            ahead.push_back((path, level + 1));
        }
    }
    None
}

fn is_archive(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ARCHIVES.contains(&ending)) && path.is_file()
}

/// A folder of a run or a persona, an archive, or the suite file in a folder.
fn task_of(folder: &Path) -> Option<PathBuf> {
    let holds = |name: &str| folder.join(name).is_file();
    if is_archive(folder)
        || holds("persona.toml")
        || (holds("manifest.json") && holds("outline.json"))
    {
        return Some(folder.to_owned());
    }
    let suite = folder.join(SUITE);
    if !holds(SUITE) {
        return None;
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(&suite).ok()?;
    file.take(SUITE_BYTES).read_to_end(&mut text).ok()?;
    String::from_utf8_lossy(&text)
        .contains("personas")
        .then_some(suite)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_link_in_a_parent_shows_nothing_that_is_hidden_and_shows_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let dir = &dir.path().canonicalize().unwrap();
        for folder in ["real/u/suite/p", "real/u/opt"] {
            std::fs::create_dir_all(dir.join(folder)).unwrap();
        }
        symlink("real", dir.join("link")).unwrap();
        let hidden = Hidden {
            folders: vec![dir.join("real/u/suite")],
            homes: vec![dir.join("real/u")],
            tasks: false,
        };
        let seen = |path: &str| hidden.seen_with(&dir.join(path));
        for form in ["real", "link"] {
            for above in ["", "/u", "/u/suite", "/u/suite/p"] {
                let path = format!("{form}{above}");
                assert_eq!(seen(&path), Some(dir.join("real/u/suite")), "{path}");
            }
            assert_eq!(seen(&format!("{form}/u/opt")), None);
        }
        let home = Hidden {
            folders: Vec::new(),
            ..hidden
        };
        for form in ["real", "link"] {
            let of = |path: &str| home.seen_with(&dir.join(form).join(path));
            assert_eq!(of("u"), Some(dir.join("real/u")));
            assert_eq!(of("u/suite"), None);
        }
    }

    #[test]
    fn suites_personas_and_runs_are_hidden_where_they_lie_in_what_is_shown_and_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = &dir.path().canonicalize().unwrap();
        for (path, text) in [
            ("a/tasks/suite.toml", "personas = [\"p\"]"),
            ("b/p/persona.toml", ""),
            ("b/p/sessions/one/agent.sh", ""),
            ("c/runs/x/manifest.json", ""),
            ("c/runs/x/outline.json", ""),
            ("c/runs/x/workspaces/p/in.md", ""),
            ("c/lib/agent.sh", ""),
            // Of others: a tool's suite, and one of the two files of a run.
            ("d/tests/suite.toml", "tests = 1"),
            ("d/web/manifest.json", ""),
            ("d/web/in.pibench/notes.md", ""),
            ("e/1/2/3/4/5/persona.toml", ""),
            ("f/lib/tasks.pibench", ""),
            ("g/run.submission", ""),
        ] {
            write(&dir.join(path), text);
        }
        let hidden = Hidden {
            tasks: true,
            ..Hidden::default()
        };
        for (path, found) in [
            ("a", Some("a/tasks/suite.toml")),
            ("a/tasks/suite.toml", Some("a/tasks/suite.toml")),
            ("b", Some("b/p")),
            ("b/p/sessions/one/agent.sh", Some("b/p")),
            ("c", Some("c/runs/x")),
            ("c/runs/x/workspaces", Some("c/runs/x")),
            ("c/lib", None),
            ("d", None),
            ("e", None),
            ("e/1", Some("e/1/2/3/4/5")),
            ("f", Some("f/lib/tasks.pibench")),
            ("g/run.submission", Some("g/run.submission")),
        ] {
            let path = dir.join(path);
            assert_eq!(hidden.seen_with(&path), found.map(|found| dir.join(found)));
            assert_eq!(Hidden::default().seen_with(&path), None);
        }
        let workspace = |path: &str| hidden.check_workspace(&dir.join(path));
        assert!(workspace("c").is_err());
        assert!(workspace("c/runs/x/workspaces/p").is_ok());
    }
}
