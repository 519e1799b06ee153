//! The agent's shell, by real command lines in the real component: what it can do, and what it cannot. After every
//! attack the next command works.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use jiff::civil::date;
use pibench_core::path::WorkspacePath;
use pibench_core::record::ChangeKind;
use pibench_sandbox::shell::{CommandLine, Output, Shell};
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{GuestFault, Limits, Plugins};

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

/// bashkit's awk takes three bytes behind a sign for a word. Where a later version does not, another tool is wanted here.
#[tokio::test]
async fn a_tool_that_fails_on_its_input_is_named_and_others_work() {
    let desk = Desk::new();
    let line = "printf '%s\\n' '- 牛乳' | awk '{ print length($0) }'";
    let fault = desk.attempt(line, 60).await.unwrap_err().to_string();
    assert!(fault.contains("it wrote: awk: "), "{fault}");
    assert!(!fault.contains(".rs"), "{fault}");
    desk.check("printf '%s\\n' '- x' | awk '{ print length($0) }'", "3\n")
        .await;
}

/// What the description of `exec` says of other text than UTF-8.
#[tokio::test]
async fn bytes_that_are_no_utf_8_are_kept_by_some_tools_and_read_by_python() {
    let desk = Desk::new();
    for tool in ["cat", "head", "tail", "tr a b", "fmt", "grep -a ."] {
        let line = format!("printf 'f\\374r\\n' | {tool} | od -An -tx1");
        desk.check(&line, " 66 fc 72 0a\n").await;
    }
    let line = "printf 'f\\374r\\n' > f; python3 -c \"print(open('f', encoding='latin-1').read(), end='')\"";
    desk.check(line, "für\n").await;
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

/// None without the component: a machine without python3 builds the project without it.
async fn desk_with_python() -> Option<Desk> {
    let desk = Desk::new();
    if desk.run("python3 --version").await.exit_code != 0 {
        eprintln!("skipped: no python plugin");
        return None;
    }
    Some(desk)
}

#[tokio::test]
async fn a_database_that_a_program_leaves_open_is_free_for_the_next() {
    let Some(mut desk) = desk_with_python().await else {
        return;
    };
    desk.put(
        "write.py",
        "
import os, sqlite3, sys
db = sqlite3.connect('x.db')
db.execute('create table if not exists t (n int)')
db.execute('insert into t values (1)')
db.commit()
kept = db.execute('select n from t')
if 'leave' in sys.argv: os._exit(0)
",
    );
    for line in [
        "python3 write.py",
        "python3 write.py leave",
        "python3 write.py",
    ] {
        desk.check(line, "").await;
    }
    let count = "python3 -c \"import sqlite3; print(sqlite3.connect('file:x.db?mode=ro', uri=True)\
        .execute('select count(*) from t').fetchone()[0])\"";
    desk.check(count, "3\n").await;
    desk.check("ls", "write.py\nx.db\n").await;
}

#[tokio::test]
async fn a_database_sorts_indexes_and_cleans_up_without_temporary_files() {
    let Some(mut desk) = desk_with_python().await else {
        return;
    };
    desk.put(
        "big.py",
        "
import sqlite3
db = sqlite3.connect('big.db')
db.execute('create table t (n int, s text)')
db.executemany('insert into t values (?, ?)', ((i * 7919 % 100003, 'x' * 40) for i in range(100_000)))
db.commit()
print(db.execute('select n from t order by s, n limit 1').fetchone())
db.execute('create index by_n on t (n)')
db.commit()
db.execute('vacuum')
print(db.execute('pragma integrity_check').fetchone())
",
    );
    desk.check("python3 big.py", "(0,)\n('ok',)\n").await;
}

#[tokio::test]
async fn python_has_time_zones_an_event_loop_pools_and_tests() {
    let Some(mut desk) = desk_with_python().await else {
        return;
    };
    desk.put(
        "test_it.py",
        "
import unittest
class It(unittest.IsolatedAsyncioTestCase):
    async def test_it(self): self.assertEqual(1, 1)
",
    );
    for (line, expected) in [
        (
            "python3 -c \"
import datetime, zoneinfo
noon = datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))
print(noon.astimezone(zoneinfo.ZoneInfo('UTC')).hour, len(zoneinfo.available_timezones()) > 400)\"",
            "10 True\n",
        ),
        (
            "python3 -c \"
import asyncio
async def one(n):
    await asyncio.sleep(n)
    print(n)
    return n
async def all():
    print(await asyncio.gather(one(2), one(1), asyncio.to_thread(lambda: 3)))
asyncio.run(all())\"",
            "1\n2\n[2, 1, 3]\n",
        ),
        (
            "python3 -c \"
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda n: n * n, range(4))), [f.result() for f in as_completed([pool.submit(int, '7')])])\"",
            "[0, 1, 4, 9] [7]\n",
        ),
        ("python3 -m unittest 2>&1 | tail -1", "OK\n"),
        (
            "python3 -c \"
import doctest
def f():
    '''
    >>> f()
    1
    '''
    return 1
print(doctest.testmod())\"",
            "TestResults(failed=0, attempted=1)\n",
        ),
    ] {
        desk.check(line, expected).await;
    }
    desk.fails(
        "python3 -c \"import zoneinfo; zoneinfo.ZoneInfo('No/Where')\"",
        "No/Where",
    )
    .await;
    desk.fails(
        "python3 -c \"import asyncio; asyncio.run(asyncio.Event().wait())\"",
        "the event loop waits",
    )
    .await;
}

#[tokio::test]
async fn gzip_goes_both_ways_and_lists() {
    let mut desk = Desk::new();
    desk.put("a.txt", "one\ntwo\n");
    desk.put("sub/b.txt", "b\n");
    for (line, expected) in [
        (
            "gzip -k a.txt; zcat a.txt.gz; ls",
            "one\ntwo\na.txt\na.txt.gz\nsub\n",
        ),
        (
            "rm a.txt; gunzip a.txt.gz; ls; cat a.txt",
            "a.txt\nsub\none\ntwo\n",
        ),
        ("cat a.txt | gzip -9 | gzip -dc | tail -1", "two\n"),
        ("tar czf t.tgz sub; zcat t.tgz | tar t", "sub/\nsub/b.txt\n"),
        (
            "gzip -l t.tgz | awk 'NR == 2 { print ($2 > 100), $4 }'",
            "1 t.tar\n",
        ),
        // What shrinks to less than a hundredth is no attack by itself.
        (
            "head -c 1000000 /dev/zero > z; gzip z; wc -c < z.gz | awk '{ print ($1 < 5000) }'; zcat z.gz | wc -c",
            "1\n1000000\n",
        ),
    ] {
        desk.check(line, expected).await;
    }
    desk.fails("gunzip a.txt", "not in gzip format").await;
    desk.fails(
        "gzip -c a.txt > a.txt.gz; gunzip a.txt.gz",
        "is there already",
    )
    .await;
    desk.fails("gzip -r sub", "-r is not possible").await;
}

#[tokio::test]
async fn zip_archives_are_those_that_others_make_and_read() {
    let mut desk = Desk::new();
    desk.put("a.txt", "one\ntwo\n");
    desk.put("sub/b.txt", "b\n");
    for (line, expected) in [
        (
            "zip -r t.zip sub a.txt",
            "  adding: sub/ (stored 0%)\n  adding: sub/b.txt (stored 0%)\n  adding: a.txt (stored 0%)\n",
        ),
        ("head -c 4 t.zip | od -An -tx1", " 50 4b 03 04\n"),
        (
            "unzip t.zip -d out && cat out/a.txt",
            "Archive:  t.zip\n   creating: out/sub/\n extracting: out/sub/b.txt\n extracting: out/a.txt\none\ntwo\n",
        ),
        (
            "echo new > a.txt; zip t a.txt; unzip -p t.zip a.txt",
            "updating: a.txt (stored 0%)\nnew\n",
        ),
        ("unzip -Z1 t.zip -x '*.txt'", "sub/\n"),
        (
            "unzip -l t.zip | tail -1",
            "        6                     3 files\n",
        ),
        (
            "mkdir /tmp/x; echo y > /tmp/x/y; zip -qr far.zip /tmp/x; unzip -Z1 far.zip; zip -qr all.zip . -x 'out/*' '*.zip'; unzip -Z1 all.zip",
            "tmp/x/\ntmp/x/y\na.txt\nsub/\nsub/b.txt\n",
        ),
        (
            "zip -qj - sub/b.txt > bare.zip; unzip -Z1 bare.zip",
            "b.txt\n",
        ),
        (
            "python3 -c \"import zipfile; print(zipfile.ZipFile('t.zip').namelist())\"",
            "['sub/', 'sub/b.txt', 'a.txt']\n",
        ),
        (
            "python3 -c \"import zipfile; z = zipfile.ZipFile('p.zip', 'w'); z.writestr('p/q.md', 'by python'); z.close()\"; unzip -q p.zip; cat p/q.md",
            "by python",
        ),
    ] {
        desk.check(line, expected).await;
    }
    desk.fails("unzip a.txt", "not a zip archive").await;
    desk.fails("unzip t.zip a.txt", "is there already").await;
    desk.fails("unzip -l t.zip c", "not matched:  c").await;
    desk.fails("unzip -P x t.zip", "-P is not possible").await;
    desk.fails(
        "python3 -c \"import zipfile; z = zipfile.ZipFile('x.zip', 'w'); z.writestr('../x.md', 'x'); z.close()\"; unzip x.zip",
        "leads elsewhere",
    )
    .await;
}

#[tokio::test]
async fn loops_and_pipelines_have_room() {
    let desk = Desk::new();
    for (line, expected) in [
        (
            "n=0; while [ $n -lt 30000 ]; do n=$((n + 1)); done; echo $n",
            "30000\n",
        ),
        (
            "awk 'BEGIN { for (i = 0; i < 300000; i++) s += i; print s }'",
            "44999850000\n",
        ),
        (
            "dd if=/dev/zero of=big bs=1M count=9 2>&1 | tail -1 > d; cat big big big big | cat | wc -c",
            "37748736\n",
        ),
    ] {
        desk.check(line, expected).await;
    }
}
