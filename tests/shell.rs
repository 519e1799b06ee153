//! The agent's shell, by real command lines in the real component: what it can do, and what it cannot. After every
//! attack the next command works.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use jiff::civil::date;
use pibench_host::eval::record::ChangeKind;
use pibench_host::plugin::shell::{CommandLine, Output, Shell};
use pibench_host::plugin::{GuestFault, Limits, Plugins};
use pibench_host::workspace::{Quota, Workspace, WorkspacePath};

use crate::scene::{cache, root};

/// A shell on an empty workspace.
pub(crate) struct Desk {
    pub(crate) folder: tempfile::TempDir,
    workspace: Workspace,
    shell: Shell,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(Limits::SHELL, Quota::default())
    }

    pub(crate) fn with(limits: Limits, quota: Quota) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("ws");
        let workspace = Workspace::create(&path, quota).unwrap();
        let dirs = vec![root().join("target/plugins")];
        let plugins = Arc::new(Plugins::new(BTreeMap::new(), dirs, cache()));
        let shell = Shell::new(plugins, limits, [7; 32]);
        Self {
            folder,
            workspace,
            shell,
        }
    }

    pub(crate) async fn attempt(&self, line: &str, timeout: u32) -> Result<Output, GuestFault> {
        let command = CommandLine {
            line,
            working_directory: &WorkspacePath::ROOT,
            timeout,
            now: date(2026, 3, 2).at(9, 30, 0, 0),
        };
        self.shell.run(&self.workspace, command).await
    }

    pub(crate) async fn run(&self, line: &str) -> Output {
        self.attempt(line, 60)
            .await
            .unwrap_or_else(|fault| panic!("{line}: {fault}"))
    }

    /// Checks the output of a command that succeeds.
    pub(crate) async fn check(&self, line: &str, expected: &str) {
        let output = self.run(line).await;
        assert_eq!(output.stdout, expected, "{line}: {output:?}");
        assert_eq!(
            (output.exit_code, &output.stopped),
            (0, &None),
            "{line}: {output:?}"
        );
    }

    /// Checks that a command fails with a word, and that the next one works.
    pub(crate) async fn fails(&self, line: &str, said: &str) -> Output {
        let output = self.run(line).await;
        let all = format!("{output:?}");
        assert_ne!(output.exit_code, 0, "{line}: {all}");
        assert!(all.contains(said), "{line}: {all}");
        self.check("echo on", "on\n").await;
        output
    }

    pub(crate) fn put(&mut self, path: &str, content: &str) {
        let path = WorkspacePath::parse(path).unwrap();
        self.workspace.write(&path, content.as_bytes()).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let path = WorkspacePath::parse(path).unwrap();
        String::from_utf8(self.workspace.read(&path).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn the_usual_commands_work() {
    let desk = Desk::new();
    for (line, expected) in [
        ("echo a b | tr ' ' '\\n' | sort -r | head -1", "b\n"),
        (
            "printf 'x=1\\ny=2\\n' > v; grep -c = v; sed 's/=/: /' v",
            "2\nx: 1\ny: 2\n",
        ),
        ("awk -F= '{ s += $2 } END { print s }' v", "3\n"),
        (
            "echo '{\"a\": [1, 2]}' | jq -c '.a | map(. + 1)'",
            "[2,3]\n",
        ),
        (
            "mkdir -p d/e; touch d/e/f.md; find . -name '*.md'",
            "./d/e/f.md\n",
        ),
        (
            "tar czf t.tgz d && rm -r d && tar xzf t.tgz && ls d/e",
            "f.md\n",
        ),
        ("gzip -k v && gunzip -c v.gz | wc -l", "2\n"),
        ("cp v w; echo z >> w; diff v w", "2a3\n> z\n"),
        (
            "for i in 1 2 3; do echo $((i * i)); done | paste -sd,",
            "1,4,9\n",
        ),
        (
            "f() { local n=$1; echo \"<$n>\"; }; f hi; [[ ab == a* ]] && echo yes",
            "<hi>\nyes\n",
        ),
        (
            "sleep 30 & sleep 5; echo first; wait; echo last",
            "first\nlast\n",
        ),
        ("date +%F; date +%H:%M", "2026-03-02\n09:30\n"),
        (
            "pwd; cd d; pwd; whoami",
            "/workspace\n/workspace/d\nagent\n",
        ),
        ("seq 1 3 | xargs -n1 echo n", "n 1\nn 2\nn 3\n"),
        (
            "printf '#!/bin/bash\\necho ran $1\\n' > s.sh; chmod +x s.sh; ./s.sh it",
            "ran it\n",
        ),
    ] {
        if line.starts_with("cp v w") {
            assert_eq!(desk.run(line).await.stdout, expected);
            continue;
        }
        desk.check(line, expected).await;
    }
}

#[tokio::test]
async fn python_has_its_standard_library_and_the_workspace() {
    let mut desk = Desk::new();
    if desk.run("python3 --version").await.exit_code != 0 {
        eprintln!("skipped: no python plugin");
        return;
    }
    desk.put("in.csv", "name,n\nada,3\nbob,4\n");
    let script = "
import csv, json, re, statistics, sqlite3, sys
rows = list(csv.DictReader(open('in.csv')))
n = [int(row['n']) for row in rows]
db = sqlite3.connect(':memory:')
db.execute('create table t (n int)')
db.executemany('insert into t values (?)', [(x,) for x in n])
json.dump({'mean': statistics.mean(n), 'sum': db.execute('select sum(n) from t').fetchone()[0]}, open('out.json', 'w'))
print(re.sub('a', 'A', rows[0]['name']), sys.argv[1:])
";
    desk.put("work/a.py", script);
    desk.check("python3 work/a.py x y", "AdA ['x', 'y']\n")
        .await;
    assert_eq!(desk.get("out.json"), r#"{"mean": 3.5, "sum": 7}"#);
    for (line, expected) in [
        ("python3 -c 'print(6 * 7)'", "42\n"),
        (
            "echo 'print(input())' > i.py; echo hello | python3 i.py",
            "hello\n",
        ),
        ("echo 'print(2)' | python3", "2\n"),
        ("echo 'print(3)' > /tmp/x.py; python3 /tmp/x.py", "3\n"),
        (
            "echo '{\"b\":1}' | python3 -m json.tool --compact",
            "{\"b\":1}\n",
        ),
        (
            "cd work; python3 -c 'import os; print(os.getcwd(), sorted(os.listdir()))'",
            "/workspace/work ['a.py']\n",
        ),
        (
            "export GREETING=hi; python3 -c 'import os; print(os.environ[\"GREETING\"])'",
            "hi\n",
        ),
        (
            "python3 -c 'import datetime; print(datetime.date.today())'",
            "2026-03-02\n",
        ),
        (
            "echo 'def f(): return 5' > lib.py; python3 -c 'import lib; print(lib.f())'",
            "5\n",
        ),
        (
            "python3 -c 'import os; os.makedirs(\"p/q\"); open(\"p/q/r\", \"a\").write(\"1\"); os.rename(\"p/q/r\", \"p/s\"); \
             os.rmdir(\"p/q\"); print(os.listdir(\"p\"), os.path.getsize(\"p/s\"))'",
            "['s'] 1\n",
        ),
    ] {
        desk.check(line, expected).await;
    }
    desk.fails("python3 -c 'import sys; sys.exit(3)'", "exit_code: 3")
        .await;
    desk.fails("python3 -c 'x = 1 / 0'", "ZeroDivisionError")
        .await;
    desk.fails("python3 missing.py", "missing.py").await;
}

#[tokio::test]
async fn files_of_the_shell_are_those_of_the_file_tools() {
    let mut desk = Desk::new();
    desk.put("a.txt", "one\n");
    desk.put("old.txt", "x\n");
    desk.workspace.take_changes().unwrap();
    desk.check(
        "cat a.txt; echo two >> a.txt; echo new > n/../b.txt 2>/dev/null || echo new > b.txt",
        "one\n",
    )
    .await;
    desk.check("mkdir m; mv old.txt m/; rm -f none", "").await;
    assert_eq!(desk.get("a.txt"), "one\ntwo\n");
    let changes = desk.workspace.take_changes().unwrap();
    let changes: Vec<(String, ChangeKind, &str)> = changes
        .iter()
        .map(|change| (change.path.to_string(), change.kind, change.added.as_str()))
        .collect();
    assert_eq!(
        changes,
        [
            ("a.txt".into(), ChangeKind::Modified, "two\n"),
            ("b.txt".into(), ChangeKind::Created, "new\n"),
            ("m/old.txt".into(), ChangeKind::Created, "x\n"),
            ("old.txt".into(), ChangeKind::Deleted, ""),
        ]
    );
}
