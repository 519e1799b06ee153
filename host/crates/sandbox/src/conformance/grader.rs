//! The checks of a grader: its configurations, and its verdicts on evidence that no honest session leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::draw::Draw;
use super::{Finding, finding, is_limit, limits, shown};
use crate::evidence::{AppState, Evidence};
use crate::grader::{Check, Verdict};
use crate::workspace::{Quota, View, Workspace};
use crate::{Grader, GuestFault, Plugin};
use pibench_core::path::WorkspacePath;
use pibench_core::record::{CallRecord, CallStatus, ChangeKind, FileChange, Speaker, Utterance};

/// Random sessions that are graded for each configuration.
const SESSIONS: u64 = 40;

/// Calls of the longest session. Beyond 1,000 the evidence comes near to what an instance's memory holds.
const MOST_CALLS: usize = 1000;

type Checked = Result<String, String>;

pub(super) async fn examine(plugin: &Arc<Plugin>, configs: &[Value]) -> Vec<Finding> {
    let grader = match Grader::new(Arc::clone(plugin), limits(plugin)) {
        Ok(grader) => grader,
        Err(error) => return vec![finding("configuration", Err(error.to_string()))],
    };
    let folder = match Folder::new() {
        Ok(folder) => folder,
        Err(reason) => return vec![finding("evidence", Err(reason))],
    };
    let mut findings = Vec::new();
    let default = [json!({})];
    for config in if configs.is_empty() {
        &default
    } else {
        configs
    } {
        let checks = match checks(&grader, config).await {
            Ok(checks) => checks,
            Err(reason) => {
                findings.push(finding("configuration", Err(reason)));
                continue;
            }
        };
        findings.push(finding("configuration", Ok(names(&checks))));
        findings.push(finding(
            "bad configurations",
            bad_configurations(&grader, config).await,
        ));
        findings.extend(sessions(&grader, config, &checks, &folder.view).await);
    }
    findings
}

fn names(checks: &[Check]) -> String {
    let names: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    names.join(", ")
}

/// The checks of a good configuration: at least one, each id once, the same every time.
async fn checks(grader: &Grader, config: &Value) -> Result<Vec<Check>, String> {
    let list = async || {
        grader.list_checks(config).await.map_err(|fault| {
            let remedy = "hand over one that it takes by --config";
            format!("{} is refused: it {fault}; {remedy}", shown(config))
        })
    };
    let checks = list().await?;
    if checks.is_empty() {
        return Err(format!("{} has no check", shown(config)));
    }
    let ids: BTreeSet<&String> = checks.iter().map(|check| &check.id).collect();
    if ids.len() < checks.len() || ids.iter().any(|id| id.trim().is_empty()) {
        return Err(format!(
            "a check's id is empty or stands twice: {}",
            names(&checks)
        ));
    }
    if list().await? != checks {
        return Err("list-checks gives another list the second time".into());
    }
    Ok(checks)
}

/// What is no table and what has an unknown key is refused with words: a typing error in a task file must not pass.
async fn bad_configurations(grader: &Grader, good: &Value) -> Checked {
    const UNKNOWN: &str = "no_such_key";
    let mut with_unknown = good.clone();
    with_unknown[UNKNOWN] = json!(1);
    let bad = [
        Value::Null,
        json!(7),
        json!("text"),
        json!([]),
        with_unknown,
    ];
    for config in &bad {
        match grader.list_checks(config).await {
            Err(GuestFault::Failed { message }) if message.trim().is_empty() => {
                return Err(format!("{} is refused without a word", shown(config)));
            }
            Err(GuestFault::Failed { message }) => {
                if config.get(UNKNOWN).is_some() && !message.contains(UNKNOWN) {
                    return Err(format!(
                        "the refusal of an unknown key does not name it: {message}"
                    ));
                }
            }
            Err(fault) => return Err(format!("{}: it {fault}", shown(config))),
            Ok(_) => return Err(format!("{} is not refused", shown(config))),
        }
    }
    Ok(format!("{} refused with words", bad.len()))
}

/// Grades odd sessions, each twice.
async fn sessions(grader: &Grader, config: &Value, checks: &[Check], view: &View) -> Vec<Finding> {
    let (mut passed, mut verdicts) = (0, 0);
    let mut most = Cost::default();
    for seed in 0..SESSIONS {
        let session = Session::draw(seed);
        let (found, cost) = match grade(grader, config, &session, view).await {
            Ok(first) => first,
            Err(fault) => {
                let check = if is_limit(&fault) {
                    "limits"
                } else {
                    "evidence"
                };
                return vec![finding(check, Err(format!("session {seed}: it {fault}")))];
            }
        };
        if let Err(reason) = complete(&found, checks) {
            return vec![finding(
                "evidence",
                Err(format!("session {seed}: {reason}")),
            )];
        }
        if let Some(reason) = differs((&found, cost), grade(grader, config, &session, view).await) {
            return vec![finding(
                "determinism",
                Err(format!("session {seed}: {reason}")),
            )];
        }
        most.fuel = most.fuel.max(cost.fuel);
        most.memory = most.memory.max(cost.memory);
        passed += found.iter().filter(|verdict| verdict.pass).count();
        verdicts += found.len();
    }
    let counted = format!("{SESSIONS} odd sessions, {passed} of {verdicts} verdicts pass");
    let limits = grader.limits();
    let costs = format!(
        "at most {} of {} units of fuel, {} of {} bytes of memory",
        most.fuel, limits.fuel, most.memory, limits.memory
    );
    vec![
        finding("evidence", Ok(counted)),
        finding("limits", Ok(costs)),
        finding("determinism", Ok("the same verdicts, the same fuel".into())),
    ]
}

/// What a call used: units of fuel, and bytes of memory at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    fuel: u64,
    memory: u64,
}

async fn grade(
    grader: &Grader,
    config: &Value,
    session: &Session,
    view: &View,
) -> Result<(Vec<Verdict>, Cost), GuestFault> {
    let verdicts = grader.grade(config, &session.evidence(), view).await?;
    let measured = grader.take_measured().pop();
    let cost = measured.map_or_else(Cost::default, |call| Cost {
        fuel: call.fuel,
        memory: call.peak_memory,
    });
    Ok((verdicts, cost))
}

/// How the second grading of a session differs from the first; None when it does not.
fn differs(
    (verdicts, cost): (&[Verdict], Cost),
    again: Result<(Vec<Verdict>, Cost), GuestFault>,
) -> Option<String> {
    match again {
        Err(fault) => Some(format!("the second time it {fault}")),
        Ok((second, _)) if second != verdicts => {
            Some("the verdicts are others the second time".into())
        }
        Ok((_, second)) if second.fuel != cost.fuel => Some(format!(
            "it used {} units of fuel, and {} the second time",
            cost.fuel, second.fuel
        )),
        Ok(_) => None,
    }
}

/// One verdict for each check and no other, with reasons that are not cut.
fn complete(verdicts: &[Verdict], checks: &[Check]) -> Result<(), String> {
    let mut found = BTreeSet::new();
    let twice = verdicts
        .iter()
        .find(|verdict| !found.insert(&verdict.check));
    if let Some(verdict) = twice {
        return Err(format!(
            "more than one verdict on {:?}, and one on each check is wanted",
            verdict.check
        ));
    }
    let wanted: BTreeSet<&String> = checks.iter().map(|check| &check.id).collect();
    if found != wanted {
        return Err(format!(
            "verdicts on {found:?}, and one on each of {wanted:?} is wanted"
        ));
    }
    let cut = verdicts.iter().find(|verdict| verdict.reason.len() > 4096);
    match cut {
        Some(verdict) => Err(format!(
            "the reason of `{}` has more than 4096 bytes",
            verdict.check
        )),
        None => Ok(()),
    }
}

/// A workspace with odd files, for as long as it is held.
struct Folder {
    view: View,
    _dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Result<Self, String> {
        let made = || -> Result<Self, Box<dyn std::error::Error>> {
            let dir = tempfile::tempdir()?;
            let path =
                Utf8Path::from_path(dir.path()).ok_or("the temporary folder's name is no UTF-8")?;
            let mut workspace = Workspace::open(path, Quota::default())?;
            for (path, content) in odd_files() {
                workspace.write(&WorkspacePath::parse(path)?, &content)?;
            }
            let view = workspace.view().clone();
            Ok(Self { view, _dir: dir })
        };
        made().map_err(|error| format!("no workspace: {error}"))
    }
}

fn odd_files() -> [(&'static str, Vec<u8>); 6] {
    [
        ("empty.md", Vec::new()),
        ("notes/plan.md", b"# Plan\n\n- one\n".to_vec()),
        ("not-utf8.txt", vec![0xff, 0xfe, 0, 0x80]),
        ("broken.json", b"{\"a\": [1, 2".to_vec()),
        ("table.csv", b"a,b\r\n\"1\n2\",\"\"\"\r\n,,,\r\n".to_vec()),
        ("notes/long.md", "long ".repeat(50_000).into_bytes()),
    ]
}

/// Evidence that was drawn.
struct Session {
    turn: u32,
    calls: Vec<CallRecord>,
    messages: Vec<Utterance>,
    changes: Vec<FileChange>,
    apps: Vec<AppState>,
}

impl Session {
    /// Session 0 is empty, session 1 the longest.
    fn draw(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let length = match seed {
            0 => 0,
            1 => MOST_CALLS,
            _ => 1 + draw.below(30),
        };
        let turn = 1 + u32::try_from(draw.below(5)).unwrap_or_default();
        let turns =
            |draw: &mut Draw| 1 + u32::try_from(draw.below(turn as usize)).unwrap_or_default();
        Self {
            turn,
            calls: (1..)
                .zip(0..length)
                .map(|(number, _)| call(number, turns(&mut draw), &mut draw))
                .collect(),
            messages: (0..length.min(20))
                .map(|number| Utterance {
                    turn: turns(&mut draw),
                    speaker: if number % 2 == 0 {
                        Speaker::User
                    } else {
                        Speaker::Agent
                    },
                    text: text(&mut draw),
                })
                .collect(),
            changes: (0..length.min(20))
                .map(|_| change(turns(&mut draw), &mut draw))
                .collect(),
            apps: if length == 0 {
                Vec::new()
            } else {
                apps(&mut draw)
            },
        }
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            turn: self.turn,
            calls: &self.calls,
            messages: &self.messages,
            changes: &self.changes,
            apps: &self.apps,
        }
    }
}

fn text(draw: &mut Draw) -> String {
    draw.text(&[json!("sent"), json!("notes/plan.md"), json!("Which file?")])
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn call(number: u32, turn: u32, draw: &mut Draw) -> CallRecord {
    const TOOLS: [&str; 6] = [
        "read_file",
        "write_file",
        "gmail__send_email",
        "simple_note__create_note",
        "no_such_app__no_such_tool",
        "",
    ];
    let (status, code) = match draw.below(4) {
        0 => (CallStatus::ToolError, 422),
        1 => (CallStatus::Failed, 0),
        _ => (CallStatus::Ok, 0),
    };
    let result = match draw.below(4) {
        0 => text(draw),
        1 => draw.odd().to_string(),
        2 => json!({ "id": number, "items": [draw.odd()], "nested": { "a": { "b": [] } } })
            .to_string(),
        _ => format!("{}1{}", "[".repeat(60), "]".repeat(60)),
    };
    let mut arguments =
        json!({ "path": text(draw), "email_addresses": [text(draw)], "note_id": draw.odd() });
    // A model may write what is no object; the record then holds its text.
    if draw.one_in(10) {
        arguments = draw.odd();
    }
    CallRecord {
        exact: None,
        number,
        turn,
        tool: TOOLS[draw.below(TOOLS.len())].into(),
        arguments,
        status,
        code,
        result,
    }
}

fn change(turn: u32, draw: &mut Draw) -> FileChange {
    const PATHS: [&str; 5] = [
        "notes/plan.md",
        "empty.md",
        "gone.md",
        "a b/é.md",
        "not-utf8.txt",
    ];
    FileChange {
        turn,
        path: PATHS[draw.below(PATHS.len())].into(),
        kind: [
            ChangeKind::Created,
            ChangeKind::Modified,
            ChangeKind::Deleted,
        ][draw.below(3)],
        blob: None,
        before: None,
        added: String::new(),
    }
}

fn apps(draw: &mut Draw) -> Vec<AppState> {
    let record = |draw: &mut Draw| json!({ "id": draw.odd(), "title": text(draw), "tags": [text(draw)], "at": null });
    let state = |draw: &mut Draw| {
        let records: Vec<Value> = (0..draw.below(20)).map(|_| record(draw)).collect();
        json!({ "notes": records, "emails": [], "": [] })
            .to_string()
            .into()
    };
    ["simple_note", "gmail", "no_such_app"]
        .map(|app| AppState {
            app: app.into(),
            before: state(draw),
            now: state(draw),
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(check: &str, reason: &str) -> Verdict {
        Verdict {
            check: check.into(),
            pass: true,
            reason: reason.into(),
        }
    }

    #[test]
    fn each_check_has_one_verdict_with_a_short_reason() {
        let checks = ["a", "b"].map(|id| Check {
            id: id.into(),
            description: String::new(),
        });
        let check = |verdicts: &[Verdict]| complete(verdicts, &checks).is_ok();
        let (a, b) = (verdict("a", "why"), verdict("b", ""));
        assert!(check(&[b.clone(), a.clone()]));
        assert!(!check(std::slice::from_ref(&a)));
        assert!(!check(&[a.clone(), a.clone()]));
        assert!(!check(&[a.clone(), b.clone(), verdict("c", "")]));
        let twice = complete(&[a.clone(), b, a.clone()], &checks).unwrap_err();
        assert!(
            twice.starts_with("more than one verdict on \"a\""),
            "{twice}"
        );
        assert!(!check(&[a, verdict("b", &"x".repeat(5000))]));
    }

    #[test]
    fn odd_sessions_are_the_same_every_time_and_the_first_is_empty() {
        let drawn = |seed| {
            let Session {
                turn,
                calls,
                messages,
                changes,
                apps,
            } = Session::draw(seed);
            (turn, calls, messages, changes, apps)
        };
        for seed in 0..5 {
            assert_eq!(drawn(seed), drawn(seed));
        }
        assert!(drawn(0).1.is_empty());
        assert_eq!(drawn(1).1.len(), MOST_CALLS);
    }
}
