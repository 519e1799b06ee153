//! Rule scripts in Python: unmodified ones give their scores, hostile ones an error or a fault, and the next one runs.

use std::collections::BTreeMap;

use camino::Utf8Path;
use pibench_core::path::WorkspacePath;
use pibench_core::record::{CallRecord, CallStatus, exact};
use pibench_sandbox::evidence::Evidence;
use pibench_sandbox::grader::Verdict;
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{Grader, GuestFault, Limits, Plugins};
use serde_json::json;

use crate::scene::{cache, root};

/// None without the component: a machine without python3 builds the project without it.
fn grader(limits: Limits) -> Option<Grader> {
    let plugins = Plugins::new(
        BTreeMap::new(),
        vec![root().join("target/plugins")],
        cache(),
    );
    match plugins.get("python") {
        Ok(plugin) => Some(Grader::new(plugin, limits).unwrap()),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn call(number: u32, turn: u32, tool: &str, status: CallStatus, result: &str) -> CallRecord {
    let arguments = json!({ "email_addresses": ["a@b.example"], "number": number });
    CallRecord {
        exact: None,
        number,
        turn,
        tool: tool.into(),
        arguments,
        status,
        code: 0,
        result: result.into(),
    }
}

async fn grade(
    grader: &Grader,
    script: &str,
    protocol: &str,
    calls: &[CallRecord],
) -> Result<Vec<Verdict>, GuestFault> {
    let dir = tempfile::tempdir().unwrap();
    let workspace =
        Workspace::open(Utf8Path::from_path(dir.path()).unwrap(), Quota::default()).unwrap();
    let turn = calls.last().map_or(1, |call| call.turn);
    let evidence = Evidence {
        turn,
        calls,
        messages: &[],
        changes: &[],
        apps: &[],
    };
    grader
        .grade(
            &json!({ "script": script, "protocol": protocol }),
            &evidence,
            workspace.view(),
        )
        .await
}

/// As the public scripts are written: a history of dictionaries in, a dictionary of checks out.
const SCRIPT: &str = r#"
from __future__ import annotations

import json
import re
import yaml
from typing import Any


def score(tools_history: list[dict[str, Any]]) -> dict[str, int]:
    sent = [c for c in tools_history if c["tool_name"] == "mcp_appworld_gmail__send_email"]
    ids = [c["result"]["response"].get("sent_email_id") for c in sent]
    text = [c["result"] for c in tools_history if c["tool_name"] == "read_file"]
    return {
        "sent_once": int(len(sent) == 1),
        "has_id": any(isinstance(i, int) for i in ids),
        "read": bool(text and re.search("hello", text[0])),
        "yaml_works": yaml.safe_load("a: 1") == {"a": 1},
    }
"#;

#[tokio::test]
async fn a_script_of_the_released_code_runs_as_it_is() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let checks = grader
        .list_checks(&json!({ "script": SCRIPT }))
        .await
        .unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    assert_eq!(names, ["sent_once", "has_id", "read", "yaml_works"]);
    let calls = [
        call(1, 1, "read_file", CallStatus::Ok, "1| hello"),
        call(
            2,
            1,
            "gmail__send_email",
            CallStatus::ToolError,
            "not logged in",
        ),
        call(
            3,
            1,
            "gmail__send_email",
            CallStatus::Ok,
            r#"{"sent_email_id": 7}"#,
        ),
        call(
            4,
            2,
            "gmail__send_email",
            CallStatus::Ok,
            r#"{"sent_email_id": 8}"#,
        ),
    ];
    let passes = async |protocol: &str, calls: &[CallRecord]| -> Vec<bool> {
        let verdicts = grade(&grader, SCRIPT, protocol, calls).await.unwrap();
        verdicts.iter().map(|verdict| verdict.pass).collect()
    };
    // The whole history without what failed.
    assert_eq!(passes("paper", &calls[..3]).await, [true, true, true, true]);
    assert_eq!(passes("paper", &calls).await, [false, true, true, true]);
    // The last call of each tool in the turn.
    assert_eq!(passes("pi-bench", &calls).await, [true, true, false, true]);
}

#[tokio::test]
async fn what_a_script_must_not_do_is_an_error_of_its_own_and_the_next_script_runs() {
    let limits = Limits {
        fuel: 1_000_000_000,
        ..Limits::PYTHON
    };
    let Some(grader) = grader(limits) else { return };
    let deed = |line: &str| format!("def score(history):\n    {line}\n    return {{'done': 1}}\n");
    let failed = [
        ("import os; os.system('true')", "AttributeError"),
        ("open('/etc/passwd')", "FileNotFoundError"),
        (
            "import socket; socket.create_connection(('127.0.0.1', 80))",
            "socket.gaierror",
        ),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("raise ValueError('no')", "ValueError: no"),
        ("return {'done': 0.5}", "0.5"),
        ("return 7", "int"),
    ];
    for (line, said) in failed {
        let fault = grade(&grader, &deed(line), "paper", &[]).await.unwrap_err();
        let GuestFault::Failed { message } = &fault else {
            panic!("{line}: {fault:?}")
        };
        assert!(message.contains(said), "{line}: {message}");
    }
    let faults = [
        ("while True: pass", "fuel"),
        ("x = bytearray(1 << 30)", "memory"),
    ];
    for (line, kind) in faults {
        let fault = grade(&grader, &deed(line), "paper", &[]).await.unwrap_err();
        let memory_error =
            matches!(&fault, GuestFault::Failed { message } if message.contains("MemoryError"));
        assert!(fault.kind() == kind || memory_error, "{line}: {fault:?}");
    }
    let endless = "def f(n): return f(n + 1)\n\ndef score(history):\n    return {'done': f(0)}\n";
    let fault = grade(&grader, endless, "paper", &[]).await.unwrap_err();
    assert!(
        matches!(&fault, GuestFault::Failed { message } if message.contains("RecursionError")),
        "{fault:?}"
    );
    let loud = deed("print('x' * 100_000_000)");
    let _ = grade(&grader, &loud, "paper", &[]).await;
    let verdicts = grade(&grader, &deed("pass"), "paper", &[]).await.unwrap();
    assert!(verdicts[0].pass, "the next script runs");
}

/// What the host does for a script is charged to it, whatever the script's own loop costs.
#[tokio::test]
async fn a_script_that_asks_the_host_without_end_uses_up_its_fuel() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let deed = |line: &str| {
        format!("import os, time\n\ndef score(history):\n    {line}\n    return {{'done': 1}}\n")
    };
    for ask in [
        "os.write(1, b'x' * (1 << 20))",
        "os.urandom(1 << 16)",
        "time.monotonic()",
    ] {
        let endless = deed(&format!("while True: {ask}"));
        let fault = grade(&grader, &endless, "paper", &[]).await.unwrap_err();
        assert_eq!(fault.kind(), "fuel", "{ask}: {fault:?}");
        let verdicts = grade(&grader, &deed(ask), "paper", &[]).await.unwrap();
        assert!(verdicts[0].pass, "{ask}");
    }
}

#[tokio::test]
async fn a_script_sees_neither_the_machine_nor_the_real_time() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let script = "
import os, time, random

DRAWN = random.SystemRandom().randrange(10**9)

def score(history):
    return {
        'no_environment': len(os.environ) == 0 or set(os.environ) <= {'PYTHONHOME', 'PYTHONPATH', 'PYTHONUNBUFFERED'},
        'no_files': not os.path.exists('/etc'),
        'time_%d' % time.time(): 1,
        'random_%d' % DRAWN: 1,
    }
";
    let names = async || -> Vec<String> {
        let verdicts = grade(&grader, script, "paper", &[]).await.unwrap();
        assert!(verdicts.iter().all(|verdict| verdict.pass), "{verdicts:?}");
        verdicts.into_iter().map(|verdict| verdict.check).collect()
    };
    let first = names().await;
    assert_eq!(
        names().await,
        first,
        "time and randomness are the same each time"
    );
    assert!(first.contains(&"time_946684800".to_owned()), "{first:?}");
}

#[tokio::test]
async fn a_script_reads_the_workspace_at_its_working_directory_and_writes_nothing() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let mut workspace = Workspace::open(root, Quota::default()).unwrap();
    let path = |text: &str| WorkspacePath::parse(text).unwrap();
    workspace.write(&path("out/plan.md"), b"two steps").unwrap();
    let script = "
import os, pathlib, yaml

def refused(act):
    try:
        act()
    except OSError:
        return True
    return False

def score(history):
    if not history:
        return {name: 0 for name in ('read', 'listed', 'beside', 'absent', 'unwritten', 'unmade', 'unremoved', 'inside')}
    here = pathlib.Path('out/plan.md')
    return {
        'read': here.read_text() == 'two steps',
        'listed': os.listdir('out') == ['plan.md'],
        'beside': (pathlib.Path(__file__).resolve().parent / here).exists(),
        'absent': refused(lambda: open('config/nanobot.yaml')),
        'unwritten': refused(lambda: here.write_text('x')) and refused(lambda: open('out/plan.md', 'a')),
        'unmade': refused(lambda: open('new.txt', 'w')) and refused(lambda: os.mkdir('new')),
        'unremoved': refused(lambda: os.remove('out/plan.md')) and refused(lambda: os.rename('out', 'in')),
        'inside': refused(lambda: open('../secret')),
    }
";
    let calls = [call(1, 1, "read_file", CallStatus::Ok, "x")];
    let evidence = Evidence {
        turn: 1,
        calls: &calls,
        messages: &[],
        changes: &[],
        apps: &[],
    };
    let config = json!({ "script": script, "protocol": "pi-bench" });
    let verdicts = grader.grade(&config, &evidence, workspace.view()).await;
    for verdict in verdicts.unwrap() {
        assert!(verdict.pass, "{verdict:?}");
    }
    assert_eq!(workspace.read(&path("out/plan.md")).unwrap(), b"two steps");
}

#[tokio::test]
async fn under_pi_bench_a_script_that_fails_on_the_calls_scores_zero_and_is_no_fault() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let script = "def score(h):\n    if not h: return {'a': 0, 'b': 0}\n    return {'a': h[0]['result']['response']['id'], 'b': 1}\n";
    let refused = [call(
        1,
        1,
        "gmail__send_email",
        CallStatus::ToolError,
        "`to` is missing",
    )];
    let verdicts = grade(&grader, script, "pi-bench", &refused).await.unwrap();
    let passed: Vec<bool> = verdicts.iter().map(|verdict| verdict.pass).collect();
    assert_eq!(passed, [false, false]);
    assert!(verdicts[0].reason.contains("TypeError"), "{verdicts:?}");
    let broken = "def score(h):\n    raise KeyError('x')\n";
    let fault = grade(&grader, broken, "pi-bench", &refused)
        .await
        .unwrap_err();
    assert!(matches!(fault, GuestFault::Failed { .. }), "{fault:?}");
}

/// More than a slot keeps of its pages, and things that are part of the interpreter's snapshot.
#[tokio::test]
async fn a_script_leaves_nothing_to_the_next_one() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let leaves = "import builtins, json\n\ndef score(history):\n    \
                  builtins.left = bytearray(b'secret' * 4_000_000)\n    json.dumps = None\n    \
                  return {'done': 1}\n";
    let looks = "import builtins, json\n\ndef score(history):\n    \
                 return {'done': int(not hasattr(builtins, 'left') and json.dumps({}) == '{}')}\n";
    for script in [leaves, looks, leaves, looks] {
        let verdicts = grade(&grader, script, "paper", &[]).await.unwrap();
        assert!(verdicts[0].pass, "{script}");
    }
}

/// What the fixed part of the limits alone would end at a tenth of this.
#[tokio::test]
async fn a_hundred_thousand_calls_and_a_hundred_megabytes_are_graded() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let script = "def score(h):\n    return {'last': int(bool(h) and h[-1]['result']['response']['rows'][-1]['id'] == len(h))}\n";
    let verdict_of = async |count: u32, rows: usize| {
        let filler = vec![json!({"id": 0, "name": "abc"}); rows];
        let result = |number: u32| {
            let mut table = filler.clone();
            table.push(json!({ "id": number }));
            json!({ "rows": table }).to_string()
        };
        let calls: Vec<CallRecord> = (1..=count)
            .map(|number| {
                call(
                    number,
                    1,
                    "gmail__send_email",
                    CallStatus::Ok,
                    &result(number),
                )
            })
            .collect();
        let bytes: usize = calls.iter().map(|call| call.result.len()).sum();
        let verdicts = grade(&grader, script, "paper", &calls).await.unwrap();
        (verdicts[0].pass, bytes)
    };
    assert!(verdict_of(100_000, 0).await.0);
    let (passed, bytes) = verdict_of(10, 460_000).await;
    assert!(passed && bytes > 100_000_000, "{bytes}");
}

#[tokio::test]
async fn evidence_is_no_licence_to_run_for_ever() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let endless = "def score(h):\n    while h: pass\n    return {'done': 1}\n";
    let calls = [call(1, 1, "read_file", CallStatus::Ok, &"x".repeat(1000))];
    let fault = grade(&grader, endless, "paper", &calls).await.unwrap_err();
    assert_eq!(fault.kind(), "fuel", "{fault:?}");
}

#[tokio::test]
async fn integers_of_any_size_reach_the_script_as_they_were_written() {
    let Some(grader) = grader(Limits::PYTHON) else {
        return;
    };
    let id = "1".repeat(40);
    let script = format!(
        "def score(h):\n    return {{'exact': int(bool(h) and h[0]['call']['id'] == {id} == h[0]['result']['response'])}}\n"
    );
    let written = format!("{{\"id\": {id}}}");
    let calls = [CallRecord {
        arguments: serde_json::from_str(&written).unwrap(),
        exact: exact(&written),
        ..call(1, 1, "gmail__send_email", CallStatus::Ok, &id)
    }];
    let verdicts = grade(&grader, &script, "paper", &calls).await.unwrap();
    assert!(verdicts[0].pass);
}
