//! What the tests stand on: the program in a folder of its own, and the guests that make built.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use camino::Utf8Path;
use pibench_suite::load::load;
use pibench_suite::suite::Persona;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The project's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The embedded suite.
pub(crate) fn embedded() -> PathBuf {
    root().join("tasks/suite.toml")
}

/// Sessions of the short suite, in the order of its episode.
const SHORT: [&str; 4] = [
    "saltmarsh-chronology",
    "saltmarsh-exhibit",
    "corrie-extension",
    "saltmarsh-statement",
];

/// Whether the program carries a suite and plugins: `make` sees to it, cargo alone does not.
pub(crate) fn carries() -> bool {
    std::fs::metadata(env!("PIBENCH_ARCHIVE")).is_ok_and(|archive| archive.len() > 0)
}

/// The embedded suite cut down to its first persona with a few sessions: what most tests play. Made once of what is embedded.
pub(crate) fn short() -> PathBuf {
    static SHORT: OnceLock<PathBuf> = OnceLock::new();
    SHORT.get_or_init(make_short).join("suite.toml")
}

/// Under a name of its contents, so that test programs that run at the same time may share it.
fn make_short() -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let new = tempfile::tempdir_in(parent).unwrap();
    let dir = new.path();
    let tasks = root().join("tasks");
    for shared in ["skills", "corpus"] {
        copy(&tasks.join(shared), &dir.join(shared));
    }
    let persona = "personas/law_trainee";
    std::fs::create_dir_all(dir.join(persona)).unwrap();
    for entry in std::fs::read_dir(tasks.join(persona)).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), dir.join(persona).join(entry.file_name())).unwrap();
        }
    }
    for session in SHORT {
        let folder = format!("{persona}/sessions/{session}");
        copy(&tasks.join(&folder), &dir.join(&folder));
    }
    let text = std::fs::read_to_string(tasks.join(persona).join("persona.toml")).unwrap();
    let lines = text.lines().filter(|line| {
        let named = line.trim().strip_prefix("{ session = \"");
        named.is_none_or(|rest| SHORT.iter().any(|id| rest.starts_with(&format!("{id}\""))))
    });
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(dir.join(persona).join("persona.toml"), text).unwrap();
    let text = std::fs::read_to_string(tasks.join("suite.toml")).unwrap();
    let lines = text.lines().map(|line| {
        if line.starts_with("personas = ") {
            "personas = [\"personas/law_trainee\"]"
        } else {
            line
        }
    });
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(dir.join("suite.toml"), text).unwrap();
    let mut hasher = blake3::Hasher::new();
    for (path, content) in files(dir) {
        hasher.update(path.as_bytes()).update(&content);
    }
    let target = parent.join(format!("short-{}", &hasher.finalize().to_hex()[..16]));
    // Who comes second finds it there.
    if std::fs::rename(dir, &target).is_ok() {
        let _gone = new.keep();
    }
    target
}

/// The persona of the short suite.
pub(crate) fn first_persona() -> Persona {
    let path = short();
    let suite = load(Utf8Path::from_path(&path).unwrap()).unwrap().suite;
    suite.personas.into_iter().next().unwrap()
}

/// A hostile guest that `make hostile` built.
pub(crate) fn hostile(name: &str) -> PathBuf {
    let path = root().join(format!("target/wasm32-wasip2/guest/hostile_{name}.wasm"));
    assert!(
        path.exists(),
        "{} is missing: run `make hostile`",
        path.display()
    );
    path
}

/// Compiled plugins are kept from test to test, and apart from the user's.
pub(crate) fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| root().join("target/test-cache"))
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_pibench-host");

/// A temporary folder and the program in it.
pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A copy of the short suite, to be changed.
    pub(crate) fn with_short(self) -> Self {
        copy(short().parent().unwrap(), &self.path("tasks"));
        self
    }

    /// Replaces a text in a file, which must hold it.
    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) {
        let text = std::fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(old), "{path} holds no `{old}`");
        std::fs::write(self.path(path), text.replacen(old, new, 1)).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[])
    }

    /// Runs the program with more environment variables.
    pub(crate) fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(args);
        output(command.envs(variables.iter().copied()))
    }

    /// The program with arguments, to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.started_here(PROGRAM);
        command.args(args);
        command
    }

    /// The program alone in this folder, without what a build or a checkout has beside it.
    pub(crate) fn alone(&self, args: &[&str]) -> Command {
        let program = self.path("pibench-host");
        if !program.exists() {
            // A copy that is written while another test starts a process is busy for that one's sake.
            std::fs::hard_link(PROGRAM, &program)
                .or_else(|_| std::fs::copy(PROGRAM, &program).map(drop))
                .unwrap();
        }
        let mut command = self.started_here(program.to_str().unwrap());
        command.args(args);
        command
    }

    /// The program, started by a shell after this command of its own.
    pub(crate) fn command_after(&self, shell: &str, args: &[&str]) -> Command {
        let script = format!("{shell}; exec \"$0\" \"$@\"");
        let mut command = self.started_here("sh");
        command.args(["-c", &script, PROGRAM]).args(args);
        command
    }

    #[expect(clippy::disallowed_methods, reason = "the program itself is tested")]
    pub(crate) fn started_here(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env("PIBENCH_CACHE", cache());
        command
    }

    /// Runs the short suite into `out` with more arguments; its results.
    pub(crate) fn play(&self, out: &str, args: &[&str]) -> Value {
        self.play_suite(&short(), out, args)
    }

    /// Runs the whole embedded suite into `out` with more arguments; its results.
    pub(crate) fn play_all(&self, out: &str, args: &[&str]) -> Value {
        self.play_suite(&embedded(), out, args)
    }

    fn play_suite(&self, suite: &Path, out: &str, args: &[&str]) -> Value {
        let output = self.run(
            &[
                &["run", suite.to_str().unwrap(), "--json", "--out", out],
                args,
            ]
            .concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// No command of a test takes as long: one that does hangs, and is killed.
const PATIENCE: Duration = Duration::from_mins(15);

/// What comes of a command in a bounded time.
pub(crate) fn output(command: &mut Command) -> Output {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = piped.stderr(Stdio::piped()).spawn().unwrap();
    let id = Pid::from_child(&child);
    let (ended, waits) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(id, Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        output
    })
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A text on one line, however it was broken.
pub(crate) fn flowed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether each line of a text fits a terminal, but one that is a word by itself.
#[track_caller]
pub(crate) fn assert_fits(text: &str) {
    let is_wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
    let wide: Vec<&str> = text.lines().filter(is_wide).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// The exit code and what was said, checked together so that a failure shows both.
pub(crate) fn expect(output: &Output, code: i32, said: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in said {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Changes what the record of a run says, and seals it anew, as whoever sends a run can.
pub(crate) fn say_in_record(scene: &Scene, run: &str, change: impl FnOnce(&mut Value)) {
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(scene.path(name)).unwrap()).unwrap()
    };
    let text = |value: &Value| serde_json::to_string_pretty(value).unwrap() + "\n";
    let names = ["manifest.json", "seal.json"].map(|name| format!("{run}/{name}"));
    let [mut manifest, mut seal] = [read(&names[0]), read(&names[1])];
    change(&mut manifest);
    let manifest = text(&manifest);
    let digest = blake3::hash(manifest.as_bytes()).to_hex();
    seal["files"]["manifest.json"] = digest.as_str().into();
    scene.write(&names[0], &manifest);
    scene.write(&names[1], &text(&seal));
}

/// Every file below a folder, with its content, sorted.
pub(crate) fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    collect(dir, dir, &mut found);
    found.sort();
    found
}

fn collect(root: &Path, dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
}
