//! Which of an app's cases its tests show: each tool's success and each of its refusals. The tests run once more in a
//! process of their own that tells every call which they assert; what the sources and a long random life know and no
//! test shows is named. It never judges what an answer should be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Session, now, random_call};
use crate::app::ToolApp;
use crate::refusal::{ToolError, last_place};

/// Set in the process that tells its calls.
const TELL: &str = "PIBENCH_TELL_CASES";
/// What its lines begin with.
const MARK: &str = "case of a test: ";
/// Parts of the names of tests whose calls nobody wrote down: they assert nothing of a single one.
const LEFT_OUT: [&str; 2] = ["no_sequence_of_calls", "each_case_of_each_tool"];

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

/// What a session did from its beginning on. Nothing is kept where nobody is told.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    seed: Rc<Value>,
    calls: Vec<Rc<Value>>,
}

impl Life {
    pub(super) fn of(seed: &Value) -> Self {
        Self {
            seed: Rc::new(if *TELLING { seed.clone() } else { Value::Null }),
            calls: Vec::new(),
        }
    }

    /// The last call was the login whose token goes with the calls to come.
    pub(super) fn log_in(&mut self) {
        if let Some(call) = self.calls.last_mut() {
            let mut login = (**call).clone();
            login["keep_token"] = json!(true);
            *call = Rc::new(login);
        }
    }

    pub(super) fn record_call(
        &mut self,
        tool: &str,
        mut arguments: Value,
        token: Option<&str>,
        answer: &Result<Value, ToolError>,
    ) {
        if !*TELLING || self.calls.len() > MOST_CALLS {
            return;
        }
        if let Some(arguments) = arguments.as_object_mut()
            && arguments.get("access_token").and_then(Value::as_str) == token
        {
            arguments.remove("access_token");
        }
        let mut call = json!({"call": tool, "arguments": arguments, "at": now()});
        match answer {
            Ok(answer) => call["answer"] = without_chance(answer.clone()),
            Err(ToolError { status, message }) => {
                call["status"] = json!(status);
                call["message"] = json!(message);
            }
        }
        self.calls.push(Rc::new(call));
    }

    /// The seed, and what was called; null for a life that is too long.
    fn told(&self) -> String {
        if self.calls.len() > MOST_CALLS {
            return Value::Null.to_string();
        }
        let calls: Vec<&Value> = self.calls.iter().map(|call| &**call).collect();
        let told = json!({"seed": *self.seed, "calls": calls}).to_string();
        if told.len() > LONGEST {
            return Value::Null.to_string();
        }
        told
    }
}

/// What is drawn by chance is any text.
fn without_chance(mut answer: Value) -> Value {
    for name in ["access_token", "invitation_code"] {
        if let Some(drawn) = answer.get_mut(name) {
            *drawn = json!("*");
        }
    }
    answer
}

/// Tells of a call that a test asserts.
pub(super) fn show(tool: &str, ok: bool, life: &Life) {
    if *TELLING {
        // At once: other threads write too.
        let text = format!("{MARK}{} {}\n", last(tool, ok), life.told());
        std::io::stderr()
            .write_all(text.as_bytes())
            .expect("it is heard");
    }
}

/// The case of this thread's last call.
fn last(tool: &str, ok: bool) -> Case {
    let end = match last_place() {
        Some(place) if !ok => format!("{}:{}", place.file(), place.line()),
        _ => "ok".to_owned(),
    };
    Case {
        tool: tool.to_owned(),
        end,
    }
}

/// Demands of the tests of an app that they show a success and a refusal of each tool, each refusal of its sources at least
/// once, and each refusal of each tool that a random life from this session on runs into. `package` is the app's folder. Panics with
/// what no test shows. The test that calls it has `each_case_of_each_tool` in its name.
pub fn check_cases<A: ToolApp>(package: &str, life: Session<A>, texts: &[&str]) {
    let lives = of_the_tests();
    check_conformance::<A>(Path::new(package), &lives);
    let shown: BTreeSet<Case> = lives.into_keys().collect();
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
        // Each refuses at least an argument that it does not know.
        let refusal = |case: &Case| case.tool == tool.name && case.end != success.end;
        if !shown.iter().any(refusal) {
            missing.insert(format!("{} (any refusal)", tool.name));
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

/// The file in an app's folder with a life for each case, for `pibench-host plugin test --calls`.
const CONFORMANCE: &str = "conformance.jsonl";
/// Set to have it written anew.
const WRITE: &str = "PIBENCH_WRITE_CONFORMANCE";
/// The longest life that is written, in bytes of JSON with its seed, and in calls: cases that need more are in the tests
/// alone.
const LONGEST: usize = 24 * 1024;
const MOST_CALLS: usize = 20;

/// Sees that the file is what the tests show: for each case the shortest life that ends in it and consists of calls alone.
/// Each begins with the seed of the line before.
fn check_conformance<A: ToolApp>(package: &Path, lives: &BTreeMap<Case, Vec<Value>>) {
    let first = |lives: &Vec<Value>| {
        let mut lives = lives.iter();
        let life = lives.find(|life| life.is_object() && replays::<A>(life))?;
        Some((life["seed"].to_string(), life["calls"].to_string()))
    };
    let written: BTreeSet<(String, String)> = lives.values().filter_map(first).collect();
    let mut text = String::new();
    let mut last = None;
    for (seed, calls) in written {
        if last.as_ref() != Some(&seed) {
            text.extend(["{\"seed\":", &seed, "}\n"]);
        }
        text.extend(["{\"calls\":", &calls, "}\n"]);
        last = Some(seed);
    }
    let path = package.join(CONFORMANCE);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &text).expect("the file is written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "{} is not what the tests show: run them with {WRITE}=1",
        path.display()
    );
}

/// Whether the calls of a life alone come to what they came to: a test may have done more than call.
fn replays<A: ToolApp>(life: &Value) -> bool {
    let mut session = Session::<A>::open(&life["seed"]);
    let mut calls = life["calls"].as_array().into_iter().flatten();
    let same = |call: &Value| {
        super::set_clock(
            call["at"]
                .as_str()
                .and_then(|at| at.parse().ok())
                .unwrap_or(now()),
        );
        let answer = session.call(
            call["call"].as_str().unwrap_or_default(),
            call["arguments"].clone(),
        );
        if call["keep_token"] == true {
            let token = answer
                .as_ref()
                .ok()
                .and_then(|answer| answer["access_token"].as_str());
            session.token = token.map(str::to_owned);
        }
        match answer {
            Ok(answer) => call["answer"] == without_chance(answer),
            Err(error) => call["status"] == error.status && call["message"] == error.message,
        }
    };
    calls.all(same)
}

/// The cases that the other tests of this binary show, each with the lives that end in it, the shortest first.
fn of_the_tests() -> BTreeMap<Case, Vec<Value>> {
    let binary = std::env::current_exe().expect("a test has a file");
    let skipped = LEFT_OUT.iter().flat_map(|name| ["--skip", name]);
    #[expect(clippy::disallowed_methods, reason = "the tests themselves")]
    let output = Command::new(binary)
        .args(["--nocapture"])
        .args(skipped)
        .env(TELL, "1")
        // Lives that a test draws are the same each time.
        .env("PROPTEST_RNG_SEED", "1")
        .output()
        .expect("the tests start");
    let told = String::from_utf8_lossy(&output.stderr);
    let mut lives: BTreeMap<Case, BTreeSet<(usize, String)>> = BTreeMap::new();
    for line in told.lines() {
        let mut words = line.split_once(MARK).unwrap_or_default().1.splitn(3, ' ');
        let (Some(tool), Some(end), Some(life)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let case = Case {
            tool: tool.to_owned(),
            end: end.to_owned(),
        };
        let of_case = lives.entry(case).or_default();
        of_case.insert((life.len(), life.to_owned()));
    }
    let parsed = |(_, life): (usize, String)| serde_json::from_str(&life).expect("a life is json");
    let all = |(case, lives): (Case, BTreeSet<_>)| (case, lives.into_iter().map(parsed).collect());
    lives.into_iter().map(all).collect()
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
        ["invalid", "conflict", "taken", "unauthorized"]
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
