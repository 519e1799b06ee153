//! Where an agent's program lies: the program, what interprets it, and the folders beside them that it is made of. That is
//! what a confined agent may read of the machine, and it must hold nothing that is hidden from it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::hidden::{Hidden, Shows};

/// Folders of the system, which every agent can read.
pub(super) const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// What lies beside a program `PREFIX/bin/NAME`.
const BESIDE: [&str; 6] = ["bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg"];

/// Links and interpreters that are followed.
const STEPS: usize = 16;

/// Bytes of a script's first line.
const FIRST_LINE: u64 = 256;

/// An agent's program, as it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Files and folders that it is made of, none of them within another.
    pub read: Vec<PathBuf>,
}

/// Why an agent cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    #[error("find the program `{0}`: it is in no folder of PATH")]
    Program(String),
    #[error("find {}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{0}; every agent sees the system's folders: move what is hidden out of them")]
    System(Shows),
    #[error(
        "{0}; move what the agent is made of away from it, or name less of it under `read` (--read)"
    )]
    Shows(Shows),
}

impl From<Shows> for NotFound {
    fn from(shows: Shows) -> Self {
        Self::Shows(shows)
    }
}

impl Installation {
    /// Looks for a program by `path` (as in the variable `PATH`) or from the working directory `here`, and for all that it is
    /// made of. Arguments that name files are made absolute and shown too, `read` is shown whatever it is.
    pub fn find(
        command: &[String],
        read: &[String],
        path: &OsStr,
        here: &Path,
        hidden: &Hidden,
    ) -> Result<Self, NotFound> {
        let name = command.first().map_or("", String::as_str);
        let program = program(name, path, here)?;
        for folder in SYSTEM {
            let checked = hidden.check_system(Path::new(folder));
            checked.map_err(NotFound::System)?;
        }
        let mut shown = BTreeSet::new();
        add_program(&program, path, here, hidden, &mut shown)?;
        let mut arguments = Vec::new();
        for argument in &command[1..] {
            let file = here.join(argument);
            if names_file(argument, &file) {
                let file = plain(&file);
                add_file(&file, hidden, &mut shown)?;
                arguments.push(file.to_string_lossy().into_owned());
            } else {
                arguments.push(argument.clone());
            }
        }
        for path in read {
            let path = plain(&here.join(path));
            hidden.check(&path)?;
            if !path.exists() {
                let source = std::io::Error::from(std::io::ErrorKind::NotFound);
                return Err(NotFound::File { path, source });
            }
            shown.insert(path);
        }
        Ok(Self {
            program,
            arguments,
            read: outermost(shown),
        })
    }
}

/// Whether an argument names a file. What holds no slash may be a word of anything: it names a file only where one is here
/// under this name, with an ending like `.py`.
fn names_file(argument: &str, file: &Path) -> bool {
    if argument.starts_with('-') {
        return false;
    }
    if argument.contains('/') {
        return file.exists();
    }
    Path::new(argument).extension().is_some() && file.is_file()
}

/// The file that a name of a program means.
pub(super) fn program(name: &str, path: &OsStr, here: &Path) -> Result<PathBuf, NotFound> {
    if name.contains('/') {
        let file = plain(&here.join(name));
        return match file.metadata() {
            Ok(_) => Ok(file),
            Err(source) => Err(NotFound::File { path: file, source }),
        };
    }
    let is_program = |file: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        let found = file.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let mut places = std::env::split_paths(path).map(|folder| here.join(folder).join(name));
    let found = places.find(is_program);
    found.ok_or_else(|| NotFound::Program(name.to_owned()))
}

/// A program with the links on the way to it, what interprets it, and what lies beside each.
fn add_program(
    program: &Path,
    path: &OsStr,
    here: &Path,
    hidden: &Hidden,
    shown: &mut BTreeSet<PathBuf>,
) -> Result<(), NotFound> {
    let mut file = program.to_owned();
    for _ in 0..STEPS {
        add_file(&file, hidden, shown)?;
        if let Ok(target) = std::fs::read_link(&file) {
            let folder = file.parent().unwrap_or(here);
            file = plain(&folder.join(target));
        } else if let Some(interpreter) = interpreter(&file) {
            file = self::program(&interpreter, path, here)?;
        } else {
            break;
        }
    }
    Ok(())
}

/// What a script names in its first line.
fn interpreter(file: &Path) -> Option<String> {
    let mut line = Vec::new();
    let file = std::fs::File::open(file).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut line).ok()?;
    let line = line.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if !first.ends_with("/env") {
        return Some(first.to_owned());
    }
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    named.map(str::to_owned)
}

/// Shows a file with what it is made of: the modules of a package, or what lies beside a program. Where that cannot be shown,
/// the file alone.
fn add_file(file: &Path, hidden: &Hidden, shown: &mut BTreeSet<PathBuf>) -> Result<(), NotFound> {
    if SYSTEM.iter().any(|folder| file.starts_with(folder)) {
        return Ok(());
    }
    let mut around = Vec::new();
    let folder = file.parent().unwrap_or(file);
    if let Some(modules) = modules(file) {
        around.push(modules);
    } else if folder.ends_with("bin") {
        let prefix = folder.parent().unwrap_or(folder);
        around.extend(BESIDE.map(|name| prefix.join(name)));
    } else {
        around.push(folder.to_owned());
    }
    let around = around.into_iter().filter(|path| path.exists());
    let around: Vec<PathBuf> = around
        .filter(|path| shown.contains(path) || hidden.seen_with(path).is_none())
        .collect();
    let covered = around.iter().any(|path| file.starts_with(path));
    shown.extend(around);
    if !covered {
        hidden.check(file)?;
        shown.insert(file.to_owned());
    }
    Ok(())
}

/// The outermost `node_modules` that a file is in.
fn modules(file: &Path) -> Option<PathBuf> {
    let mut folder = PathBuf::new();
    for component in file.components() {
        folder.push(component);
        if component.as_os_str() == "node_modules" {
            return Some(folder);
        }
    }
    None
}

/// A path without `.` and `..`, by its words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Without what is within another of them.
fn outermost(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut outer: Vec<PathBuf> = Vec::new();
    // Sorted: what is within a folder comes after it.
    for path in paths {
        if !outer.iter().any(|other| path.starts_with(other)) {
            outer.push(path);
        }
    }
    outer
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn script(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(
        home: &Path,
        words: &[&str],
        path: &str,
        hidden: &[&str],
    ) -> Result<Installation, NotFound> {
        let command: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let hidden = Hidden {
            folders: hidden.iter().map(|name| home.join(name)).collect(),
            homes: vec![home.to_owned()],
            tasks: true,
        };
        Installation::find(&command, &[], home.join(path).as_os_str(), home, &hidden)
    }

    #[test]
    fn a_program_of_npm_is_shown_with_its_modules_and_its_interpreter() {
        let home = tempfile::tempdir().unwrap();
        let home = &home.path().canonicalize().unwrap();
        let package = home.join("node/lib/node_modules/agent/dist/index.js");
        script(&package, "#!/usr/bin/env -S node --quiet\n");
        script(&home.join("node/bin/node"), "\x7fELF");
        symlink(
            "../lib/node_modules/agent/dist/index.js",
            home.join("node/bin/agent"),
        )
        .unwrap();
        let found = find(home, &["agent", "--acp"], "node/bin", &["runs"]).unwrap();
        assert_eq!(found.program, home.join("node/bin/agent"));
        assert_eq!(found.arguments, ["--acp"]);
        assert_eq!(found.read, [home.join("node/bin"), home.join("node/lib")]);
    }

    #[test]
    fn a_file_of_the_working_directory_is_shown_by_its_name_alone_and_a_word_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let home = &home.path().canonicalize().unwrap();
        for name in ["agent.py", "acp", "runs/x.py"] {
            script(&home.join(name), "");
        }
        script(&home.join("bin/python"), "\x7fELF");
        let words = ["python", "agent.py", "acp", "x.py", "runs", "-agent.py"];
        let found = find(home, &words, "bin", &["runs"]).unwrap();
        let agent = home.join("agent.py");
        let expected = [agent.to_str().unwrap(), "acp", "x.py", "runs", "-agent.py"];
        assert_eq!(found.arguments, expected);
        assert_eq!(found.read, [agent, home.join("bin")]);
    }

    #[test]
    fn a_file_beside_what_is_hidden_is_shown_alone_and_one_within_it_is_not() {
        let home = tempfile::tempdir().unwrap();
        let home = &home.path().canonicalize().unwrap();
        script(&home.join("agent.py"), "");
        script(&home.join("runs/agent.py"), "");
        script(&home.join("other/agent.py"), "");
        script(&home.join("bin/python"), "\x7fELF");
        let found = find(home, &["python", "./agent.py", "x"], "bin", &["runs"]).unwrap();
        let agent = home.join("agent.py");
        assert_eq!(found.arguments, [agent.to_str().unwrap(), "x"]);
        assert_eq!(found.read, [agent, home.join("bin")]);
        let found = find(home, &["python", "other/agent.py"], "bin", &["runs"]).unwrap();
        assert_eq!(found.read, [home.join("bin"), home.join("other")]);
        let refused = find(home, &["python", "runs/agent.py"], "bin", &["runs"]).unwrap_err();
        assert!(matches!(refused, NotFound::Shows(_)), "{refused}");
        let missing = find(home, &["nobody"], "bin", &[]).unwrap_err();
        assert!(matches!(missing, NotFound::Program(_)), "{missing}");
    }
    #[test]
    fn a_file_by_a_link_to_its_folder_is_shown_alone_beside_what_is_hidden_and_a_program_of_path_beside_a_run()
     {
        let home = tempfile::tempdir().unwrap();
        let home = &home.path().canonicalize().unwrap();
        script(&home.join("real/agent.py"), "");
        script(&home.join("real/suite/x"), "");
        script(&home.join("tools/python"), "\x7fELF");
        symlink("real", home.join("link")).unwrap();
        let words = ["python", "link/agent.py"];
        let found = |hidden: &[&str]| find(home, &words, "tools", hidden).unwrap().read;
        assert_eq!(found(&[]), [home.join("link"), home.join("tools")]);
        let alone = home.join("link/agent.py");
        assert_eq!(found(&["real/suite"]), [alone, home.join("tools")]);
        for name in ["manifest.json", "outline.json"] {
            script(&home.join("tools/run").join(name), "");
        }
        assert_eq!(found(&[]), [home.join("link"), home.join("tools/python")]);
    }
}
