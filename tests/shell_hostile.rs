//! Command lines that loop, fork, flood, pry and leave: each ends typed, bounded and harmless, and the next one works.
//! Beside each denial stands what is granted.

use std::time::Duration;

use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::Quota;
use pibench_sandbox::{GuestFault, Limits};

use crate::shell::Desk;

#[tokio::test]
async fn loops_and_fork_bombs_end_at_a_limit_of_the_shell() {
    let desk = Desk::new();
    for (line, limit) in [
        (
            "while true; do :; done",
            "maximum command count exceeded (200000)",
        ),
        ("f() { f; }; f", "maximum function depth"),
        ("sleep 50; sleep 50", "waited longer than its 60 s"),
    ] {
        desk.fails(line, limit).await;
    }
    let fault = desk.attempt(":(){ :|:& };:", 60).await.unwrap_err();
    assert!(matches!(fault, GuestFault::Fuel { .. }), "{fault}");
    // What a job in the background meets is said, and the line goes on.
    for (line, limit) in [
        ("while true; do :; done & echo started", "maximum"),
        ("for i in {1..200}; do sleep 100 & done; wait", "max 64"),
        ("eval \"$(printf 'echo $(%.0s' {1..200})\"", ""),
    ] {
        let output = desk.run(line).await;
        assert!(output.stderr.contains(limit), "{line}: {output:?}");
        desk.check("echo on", "on\n").await;
    }
    desk.check(
        "n=0; while [ $n -lt 900 ]; do n=$((n + 1)); done; echo $n",
        "900\n",
    )
    .await;
    desk.check("sleep 59; (echo job &) ; wait; echo end", "job\nend\n")
        .await;
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_is_there() {
    let mut desk = Desk::new();
    std::fs::write(desk.folder.path().join("secret"), "hidden").unwrap();
    desk.put("plain", "granted\n");
    for line in [
        "cat /etc/passwd",
        "cat ../secret",
        "cat /workspace/../secret",
        "cat /proc/self/environ",
        "cat /proc/1/cmdline",
        "ls /proc",
        "cat /dev/mem",
        "cd /etc",
        "head -c 10 /dev/sda",
        "cat $'\\u2025/secret'",
        "source ../secret",
        "cp ../secret stolen",
        "tar cf t.tar ../secret",
    ] {
        let output = desk.fails(line, "").await;
        assert!(!output.stdout.contains("hidden"), "{line}: {output:?}");
    }
    let listed = desk.run("ls -a ..; find / -name secret").await;
    assert!(!format!("{listed:?}").contains("secret\\n"), "{listed:?}");
    let environment = desk.run("env").await.stdout;
    for name in ["CARGO", "PIBENCH", "HOSTNAME=", "/root", "LD_LIBRARY"] {
        assert!(!environment.contains(name), "{environment}");
    }
    for path in ["plain", "./plain", "/workspace/plain", "../workspace/plain"] {
        desk.check(&format!("cat {path}"), "granted\n").await;
    }
}

#[tokio::test]
async fn no_link_leads_out() {
    let desk = Desk::new();
    std::fs::write(desk.folder.path().join("secret"), "hidden").unwrap();
    // Made by the agent: refused.
    desk.fails("ln -s ../secret link", "links cannot be made")
        .await;
    desk.fails("echo x > a; ln a hard", "").await;
    desk.fails("ln -s /workspace/../secret /tmp/l; cat /tmp/l", "")
        .await;
    // Made by somebody beside the host: not followed.
    let ws = desk.folder.path().join("ws");
    std::os::unix::fs::symlink("../secret", ws.join("sym")).unwrap();
    std::fs::hard_link(desk.folder.path().join("secret"), ws.join("hardlink")).unwrap();
    for line in [
        "cat sym",
        "cat hardlink",
        "cp sym copy",
        "echo x > sym",
        "echo x >> hardlink",
    ] {
        let output = desk.fails(line, "").await;
        assert!(!output.stdout.contains("hidden"), "{line}: {output:?}");
    }
    let secret = std::fs::read_to_string(desk.folder.path().join("secret")).unwrap();
    assert_eq!(secret, "hidden");
    desk.check(
        "echo y > b; cat b; ln -s b /tmp/inside && cd /tmp && readlink inside",
        "y\nb\n",
    )
    .await;
}

#[tokio::test]
async fn output_without_end_keeps_its_two_ends() {
    let desk = Desk::new();
    let output = desk.run("seq 1 100000; echo last").await;
    assert!(
        output.stdout.starts_with("1\n2\n"),
        "{:.100}",
        output.stdout
    );
    assert!(output.stdout.ends_with("100000\nlast\n"));
    assert!(output.stdout.contains("bytes left out"));
    assert!(output.stdout.len() < 66 << 10, "{}", output.stdout.len());
    for line in [
        "yes",
        "head -c 1000000000 /dev/zero",
        "yes | head -c 1000000000 | cat",
        "printf '%01000000000d' 1",
    ] {
        match desk.attempt(line, 60).await {
            Ok(output) => assert!(output.stdout.len() < 66 << 10, "{line}"),
            Err(fault) => assert!(!fault.is_infrastructure(), "{line}: {fault}"),
        }
        desk.check("echo on", "on\n").await;
    }
}

#[tokio::test]
async fn output_that_a_limit_cuts_is_never_taken_for_whole() {
    let desk = Desk::new();
    for (line, said) in [
        ("seq 1 200000 | wc -l", "seq: line limit (100000)"),
        ("yes | head -20000 | wc -l", "yes: output limit"),
        (
            "head -c 20000000 /dev/zero | wc -c",
            "1048576 bytes of /dev/zero",
        ),
        (
            "head -c 9000 /dev/urandom | wc -c",
            "8192 bytes of /dev/urandom",
        ),
        ("cat /dev/zero | wc -c", "1048576 bytes of /dev/zero"),
        (
            "seq 1 100000 | expand | expand | expand | cat | numfmt --padding=40 | wc -l",
            "limit (",
        ),
        (
            "find . -printf \"$(seq 1 100000)$(seq 1 100000)\" | wc -l",
            "find: output size limit",
        ),
    ] {
        let output = desk.fails(line, said).await;
        assert!(output.stopped.is_some(), "{line}: {output:?}");
    }
    for (line, expected) in [
        ("seq 1 100000 | wc -l", "100000\n"),
        ("find . -maxdepth 0 | wc -l", "1\n"),
        // Words of the agent's own program are no limit of the shell.
        (
            "echo 'note: the daily limit (500 EUR) was exceeded' >&2; echo ok",
            "ok\n",
        ),
        ("yes | head -2", "y\ny\n"),
        ("head -c 1048576 /dev/zero | wc -c", "1048576\n"),
        ("tr -dc a-f < /dev/urandom | head -c 9 | wc -c", "9\n"),
        (
            "dd if=/dev/zero bs=1M count=20 2> /dev/null | wc -c",
            "20971520\n",
        ),
    ] {
        desk.check(line, expected).await;
    }
    // More than fits: an error, and nothing is written.
    desk.check(
        "dd if=/dev/zero bs=1M count=20 2> /dev/null | gzip > a.gz; cat a.gz a.gz > b.gz; cat b.gz a.gz > bomb.gz; zcat b.gz | wc -c",
        "41943040\n",
    )
    .await;
    desk.fails("gunzip bomb.gz", "more than 50331648 bytes")
        .await;
    desk.fails("cat bomb", "").await;
    desk.check(
        "zcat b.gz > half; zip -q half.zip half; rm half; unzip -p half.zip | wc -c",
        "41943040\n",
    )
    .await;
    desk.fails(
        "python3 -c \"import zipfile; z = zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED); z.writestr('bomb', bytes(60 << 20)); z.close()\"; unzip bomb.zip",
        "more than 50331648 bytes",
    )
    .await;
    desk.fails("ls bomb", "").await;
}

#[tokio::test]
async fn quotas_hold_for_the_shell() {
    let quota = Quota {
        bytes: 1 << 20,
        files: 20,
        file_bytes: 1 << 19,
        depth: 4,
    };
    let desk = Desk::with(Limits::SHELL, quota);
    desk.fails("head -c 600000 /dev/zero > big", "bytes in one file")
        .await;
    desk.fails(
        "for i in 1 2 3; do head -c 400000 /dev/zero > f$i || exit 1; done",
        "bytes in the workspace",
    )
    .await;
    desk.fails(
        "for i in {1..40}; do echo > g$i || exit 1; done",
        "files and folders",
    )
    .await;
    desk.check("rm -f f* g* big", "").await;
    desk.fails("mkdir -p 1/2/3/4/5", "components in a path")
        .await;
    desk.check(
        "head -c 500000 /dev/zero > big; wc -c < big; mkdir -p x/y/z",
        "500000\n",
    )
    .await;
}

#[tokio::test]
async fn there_is_no_network_and_nothing_to_install() {
    let desk = Desk::new();
    for line in ["curl http://a.example", "wget -q http://a.example"] {
        desk.fails(line, "there is no network").await;
    }
    desk.fails("pip install requests", "nothing can be installed")
        .await;
    desk.fails("exec 3<>/dev/tcp/127.0.0.1/80", "").await;
    desk.fails("nonsense", "command not found").await;
}

#[tokio::test]
async fn a_shell_without_fuel_memory_or_time_is_a_typed_fault() {
    let work = "x=a; for i in {1..24}; do x=$x$x; done; echo ${#x}";
    let desk = Desk::with(
        Limits {
            fuel: 60_000_000,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    let fault = desk
        .attempt("seq 1 100000 | sort | md5sum", 60)
        .await
        .unwrap_err();
    assert_eq!(fault, GuestFault::Fuel { limit: 60_000_000 });
    desk.check("echo on", "on\n").await;
    let desk = Desk::with(
        Limits {
            memory: 8 << 20,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    match desk.attempt(work, 60).await {
        Err(fault) => assert_eq!(fault, GuestFault::Memory { limit: 8 << 20 }),
        Ok(output) => assert_ne!(output.exit_code, 0, "{output:?}"),
    }
    desk.check("echo on", "on\n").await;
    let desk = Desk::with(
        Limits {
            wall: Duration::from_millis(1),
            fuel: u64::MAX,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    let fault = desk
        .attempt("for i in {1..30}; do seq 1 100000 | sort | md5sum; done", 1)
        .await
        .unwrap_err();
    assert_eq!(fault.kind(), "busy", "{fault}");
}

#[tokio::test]
async fn sleep_takes_no_real_time_and_ends_at_the_timeout() {
    let desk = Desk::new();
    let began = std::time::Instant::now();
    for line in ["sleep 70", "sleep 40; sleep 40", "sleep 1h", "sleep inf"] {
        let output = desk.run(line).await;
        assert_eq!(output.exit_code, 124, "{line}: {output:?}");
        let stopped = output.stopped.as_deref();
        assert_eq!(stopped, Some("it waited longer than its 60 s"), "{line}");
        assert_eq!(desk.run(line).await, output, "twice");
    }
    desk.check(
        "a=$(date +%s); sleep 50; b=$(date +%s); echo $((b - a))",
        "50\n",
    )
    .await;
    let output = desk.attempt("sleep 599; echo on", 600).await.unwrap();
    assert_eq!((&*output.stdout, output.exit_code), ("on\n", 0));
    desk.check("timeout 3 sleep 10 || echo $?", "124\n").await;
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn python_sleeps_by_the_commands_clock_and_ends_at_its_timeout() {
    let desk = Desk::new();
    if desk.run("python3 --version").await.exit_code != 0 {
        eprintln!("skipped: no python plugin");
        return;
    }
    let began = std::time::Instant::now();
    for line in [
        "python3 -c 'import time; time.sleep(2)'",
        "python3 -c 'import select; select.select([], [], [], 5)'",
        "python3 -c 'import time; time.sleep(1e9)'",
        "for i in 1 2 3; do python3 -c 'import time; time.sleep(0.4)'; done",
        "sleep 0.7; python3 -c 'import time; time.sleep(0.7)'",
        "python3 -c 'import time; time.sleep(0.7)'; sleep 0.7",
    ] {
        let output = desk.attempt(line, 1).await.unwrap();
        assert_eq!(output.exit_code, 124, "{line}: {output:?}");
        let stopped = output.stopped.as_deref();
        assert_eq!(stopped, Some("it waited longer than its 1 s"), "{line}");
        assert_eq!(desk.attempt(line, 1).await.unwrap(), output, "twice");
    }
    desk.check(
        "python3 -c '
import time
a, b = time.time(), time.monotonic()
time.sleep(50)
print(round(time.time() - a), round(time.monotonic() - b))
a = time.time()
while time.time() - a < 1: pass
print(\"awake\")'; sleep 8; date +%S",
        "50 50\nawake\n59\n",
    )
    .await;
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn work_of_the_host_is_charged_too() {
    let mut desk = Desk::with(
        Limits {
            fuel: 2_000_000_000,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    desk.put("big", &"x".repeat(8 << 20));
    let fault = desk
        .attempt("for i in {1..2000}; do cp big copy; done", 60)
        .await;
    match fault {
        Err(fault) => assert_eq!(fault.kind(), "fuel"),
        Ok(output) => assert!(output.stopped.is_some(), "{output:?}"),
    }
    desk.check("cp big copy; wc -c < copy", "8388608\n").await;
}

/// A folder is renamed in one call of the host, which looks at each file below it.
#[tokio::test]
async fn renames_of_large_folders_are_charged_by_their_files() {
    let mut desk = Desk::with(
        Limits {
            fuel: 2_000_000_000,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    for number in 0..2000 {
        desk.put(&format!("many/{number}"), "x");
    }
    let line = "for i in {1..200}; do mv many more; mv more many; done";
    match desk.attempt(line, 60).await {
        Err(fault) => assert_eq!(fault.kind(), "fuel"),
        Ok(output) => assert!(output.stopped.is_some(), "{output:?}"),
    }
    desk.check(
        "mkdir one; echo granted > one/a; mv one two; cat two/a",
        "granted\n",
    )
    .await;
}

/// Each listing that stays open holds the names of its folder.
#[tokio::test]
async fn listings_left_open_are_bounded_and_closed_ones_are_not() {
    let mut desk = Desk::new();
    if desk.run("python3 --version").await.exit_code != 0 {
        eprintln!("skipped: no python plugin");
        return;
    }
    for number in 0..5000 {
        desk.put(&format!("many/{number}"), "x");
    }
    let open = "import os; kept = [os.scandir('many') for _ in range(100)]";
    desk.fails(&format!("python3 -c \"{open}\""), "Error").await;
    let one_by_one = "import os; print(sum(len(os.listdir('many')) for _ in range(60)))";
    desk.check(&format!("python3 -c \"{one_by_one}\""), "300000\n")
        .await;
}

#[tokio::test]
async fn python_is_held_to_the_same() {
    let mut desk = Desk::with(
        Limits {
            fuel: 4_000_000_000,
            ..Limits::SHELL
        },
        Quota::default(),
    );
    if desk.run("python3 --version").await.exit_code != 0 {
        eprintln!("skipped: no python plugin");
        return;
    }
    std::fs::write(desk.folder.path().join("secret"), "hidden").unwrap();
    std::os::unix::fs::symlink("../secret", desk.folder.path().join("ws/sym")).unwrap();
    desk.put("plain", "granted");
    for (code, said) in [
        ("open('/etc/passwd')", "Error"),
        ("open('../secret')", "Error"),
        ("open('/workspace/../secret')", "Error"),
        ("open('sym').read()", "Error"),
        ("open('/proc/self/environ')", "Error"),
        ("open('plain/')", "Error"),
        ("import os; os.symlink('../secret', 'l')", "Error"),
        ("import os; os.link('plain', 'l')", "Error"),
        ("import os; os.rename('plain', '../plain')", "Error"),
        ("import os; os.system('true')", "AttributeError"),
        ("import subprocess; subprocess.run(['ls'])", "Error"),
        ("import os; os.fork()", "Error"),
        (
            "import socket; socket.create_connection(('127.0.0.1', 80))",
            "gaierror",
        ),
        (
            "import urllib.request; urllib.request.urlopen('http://a.example')",
            "rror",
        ),
        (
            "import threading; threading.Thread(target=print).start()",
            "Error",
        ),
        ("while True: pass", "used up its fuel"),
        ("x = bytearray(1 << 30)", "MemoryError"),
        ("x = [0] * (1 << 28)", "MemoryError"),
        ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
        ("print('x' * 100_000_000)", "BrokenPipeError"),
        ("open('big', 'wb').write(bytes(70 << 20))", "OSError"),
        ("import os; os.abort()", "stopped"),
    ] {
        let output = desk.fails(&format!("python3 -c \"{code}\""), said).await;
        assert!(!format!("{output:?}").contains("hidden"), "{output:?}");
    }
    desk.check(
        "python3 -c \"print(open('plain').read(), open('/workspace/plain').read())\"",
        "granted granted\n",
    )
    .await;
    desk.check("python3 -c \"import os; print(sorted(os.environ) == ['HOME'] or sorted(os.environ)); os._exit(0)\"", "").await;
    let secret = std::fs::read_to_string(desk.folder.path().join("secret")).unwrap();
    assert_eq!(secret, "hidden");
}

#[tokio::test]
async fn the_same_command_takes_the_same_fuel_and_gives_the_same_bytes() {
    let line = "echo $RANDOM $(date +%s); seq 1 50 | shuf | head -3; mktemp -u; ls | wc -l; python3 -c 'import random, time; print(random.random(), time.time(), hash(\"a\"), {\"x\", \"y\"})'";
    let (one, other) = (Desk::new(), Desk::new());
    let first = one.run(line).await;
    assert_eq!(one.run(line).await, first, "in the same workspace");
    assert_eq!(other.run(line).await, first, "in another");
    let key = WorkspacePath::ROOT;
    assert!(
        first.fuel > 0 && first.stdout.lines().count() >= 6,
        "{first:?} {key}"
    );
}
