//! Which of an app's cases its tests show: each tool's success and each of its refusals. The tests run once more in a
//! process of their own that tells every call which they assert; what the sources and a long random life know and no
//! test shows is named. It never judges what an answer should be.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use super::{Session, random_call};
use crate::app::ToolApp;

/// Set in the process that tells its calls.
const TELL: &str = "PIBENCH_TELL_CASES";
/// What its lines begin with.
const MARK: &str = "case of a test: ";
/// Parts of the names of tests whose calls nobody wrote down: they assert nothing of a single one.
const LEFT_OUT: [&str; 2] = ["no_sequence_of_calls", "each_case_of_each_tool"];

thread_local! {
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

static TELLING: LazyLock<bool> = LazyLock::new(|| std::env::var_os(TELL).is_some());

/// A tool and how a call of it ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    tool: String,
    /// `ok`, or where the refusal stands: `plugins/phone/src/alarms.rs:12`.
    end: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, self.end)
    }
}

/// Remembers where a refusal was made.
#[track_caller]
pub(crate) fn refused_here() {
    PLACE.set(Some(Location::caller()));
}

/// Tells of a call that a test asserts.
pub(super) fn shown(tool: &str, ok: bool) {
    if *TELLING {
        // At once: other threads write too.
        let line = format!("{MARK}{}\n", last(tool, ok));
        std::io::stderr()
            .write_all(line.as_bytes())
            .expect("it is heard");
    }
}

/// The case of this thread's last call.
fn last(tool: &str, ok: bool) -> Case {
    let end = match PLACE.get() {
        Some(place) if !ok => format!("{}:{}", place.file(), place.line()),
        _ => "ok".to_owned(),
    };
    Case {
        tool: tool.to_owned(),
        end,
    }
}

/// Demands of the tests of an app that they show a success of each tool, each refusal of its sources at least once, and
/// each refusal of each tool that a random life from this session on runs into. `package` is the app's folder. Panics with
/// what no test shows. The test that calls it has `each_case_of_each_tool` in its name.
pub fn check_cases<A: ToolApp>(package: &str, life: Session<A>, texts: &[&str]) {
    let shown = of_the_tests();
    let tools = A::tools().declarations();
    let mut missing = BTreeSet::new();
    for tool in &tools {
        let success = Case {
            tool: tool.name.to_owned(),
            end: "ok".to_owned(),
        };
        if !shown.contains(&success) {
            missing.insert(success.to_string());
        }
    }
    let package = Path::new(package);
    let folder = package.file_name().unwrap_or_default().to_string_lossy();
    for place in places(package) {
        // A workspace puts its members' folders before it.
        let member = format!("{folder}/{place}");
        let is_it = |case: &Case| case.end == place || case.end.ends_with(&member);
        if !shown.iter().any(is_it) {
            missing.insert(format!("(any tool) {place}"));
        }
    }
    let mut told = BTreeSet::new();
    for (case, message) in random_life(life, texts) {
        if !shown.contains(&case) && told.insert(case.clone()) {
            missing.insert(format!("{case}: {message}"));
        }
    }
    let list: Vec<String> = missing.into_iter().collect();
    assert!(
        list.is_empty(),
        "{} cases are in no test:\n{}",
        list.len(),
        list.join("\n")
    );
}

/// The cases that the other tests of this binary show.
fn of_the_tests() -> BTreeSet<Case> {
    let binary = std::env::current_exe().expect("a test has a file");
    let skipped = LEFT_OUT.iter().flat_map(|name| ["--skip", name]);
    #[expect(clippy::disallowed_methods, reason = "the tests themselves")]
    let output = Command::new(binary)
        .args(["--nocapture"])
        .args(skipped)
        .env(TELL, "1")
        .output()
        .expect("the tests start");
    let told = String::from_utf8_lossy(&output.stderr);
    let case = |line: &str| {
        let (tool, end) = line.split_once(MARK)?.1.split_once(' ')?;
        Some(Case {
            tool: tool.to_owned(),
            end: end.to_owned(),
        })
    };
    told.lines().filter_map(case).collect()
}

/// Where the sources of an app refuse: `src/alarms.rs:12`. Left out is what a comment before it says of:
/// `Cannot happen`, with the reason.
fn places(package: &Path) -> Vec<String> {
    let mut places = Vec::new();
    let mut folders = vec![package.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.file_stem().is_some_and(|name| name == "tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let name = path.strip_prefix(package).unwrap_or(&path).display();
            places.extend(lines_that_refuse(&text).map(|line| format!("{name}:{line}")));
        }
    }
    places
}

fn lines_that_refuse(source: &str) -> impl Iterator<Item = usize> {
    let refuses = |line: &str| {
        ["invalid", "conflict", "unauthorized"]
            .iter()
            .any(|made| line.contains(&format!("ToolError::{made}")))
    };
    let before = std::iter::once("").chain(source.lines());
    let lines = source.lines().zip(before).enumerate();
    lines
        .filter(move |(_, (line, before))| refuses(line) && !before.contains("// Cannot happen:"))
        .map(|(index, _)| index + 1)
}

/// How many calls of a random life are made.
const STEPS: u64 = 20_000;

/// The refusals of a random life, the same each time, and the message of each. Arguments that do not fit the schema
/// never reach an app, so their refusals are none of its own.
fn random_life<A: ToolApp>(mut session: Session<A>, texts: &[&str]) -> Vec<(Case, String)> {
    let mut refused = Vec::new();
    for number in 0..STEPS {
        let (tool, Err(error)) = random_call(&mut session, number, texts) else {
            continue;
        };
        if !error.message.starts_with("Wrong arguments:") {
            refused.push((last(tool, false), error.message));
        }
    }
    refused
}
