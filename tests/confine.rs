//! What a confined agent or command is kept from beside its suite: earlier runs beside its program, what a link would show, and
//! the operator's terminal; and what it is told to reach all the same. Where bubblewrap is not to be had, they say so.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Output;

use crate::acp::{
    PYTHON, agent, confines, expect, leaks, play, script, search_by, write_secrets, write_wanted,
};
use crate::private::AGE;
use crate::scaffold::suite;
use crate::scene::{Scene, flowed, output, stderr};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pibench-host");

/// What was printed, and nothing that went wrong.
fn said(output: &Output) -> String {
    expect(output, 0, &[]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_earlier_run_beside_an_agent_is_not_shown_with_it_and_a_folder_is() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    write_secrets(&scene);
    let place = scene.path("agent");
    let list = write_wanted(&scene, place.to_str().unwrap());
    let journal = scene.write("agent/earlier/journal/x.jsonl", "Secret-session-of-a-test.");
    // Not yet a run.
    scene.write("agent/earlier/manifest.json", "{}");
    let shown = search_by(&scene, "shown", &list, &[]);
    let found = format!("another run in {}", journal.display());
    assert_eq!(leaks(&shown, &list), [found]);
    scene.write("agent/earlier/outline.json", "{}");
    let unseen = search_by(&scene, "unseen", &list, &[]);
    assert_eq!(leaks(&unseen, &list), Vec::<&str>::new());
}

#[test]
fn neither_a_private_key_nor_an_archive_beside_an_agent_is_shown_with_it_and_another_file_is() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    write_secrets(&scene);
    let list = write_wanted(&scene, scene.path("agent").to_str().unwrap());
    let text = format!("# Secret-key-of-a-test\n{}\n", AGE[0]);
    let key = scene.write("agent/id", &text);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let beside = |run: &str, args: &[&str]| {
        let searched = search_by(&scene, run, &list, args);
        let found = leaks(&searched, &list).into_iter();
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    let found = [format!("a key in {}", key.display())];
    assert_eq!(beside("shown", &[]), found);
    assert_eq!(beside("given", &["--identity", "agent/id"]), [""; 0]);
    scene.write("agent/old/tasks.pibench", "");
    assert_eq!(beside("archive", &[]), [""; 0]);
}

#[test]
fn an_agent_in_an_earlier_run_is_refused_with_what_to_do() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    let text = std::fs::read_to_string(script()).unwrap();
    for path in ["earlier/bin/agent.py", "own/agent.py"] {
        scene.write(path, &text);
    }
    for name in ["manifest.json", "outline.json"] {
        scene.write(&format!("earlier/{name}"), "{}");
    }
    let run = |path: &str, read: &str, out: &str| {
        let entry = format!(
            "agents.it={{ command = [\"{PYTHON}\", \"{path}\", \"work\"], read = [{read}] }}"
        );
        let args = ["run", "tasks/suite.toml", "--session", "one"];
        let more = ["--set", &entry, "--agent", "acp:it", "--out", out];
        scene.run(&[&args[..], &more].concat())
    };
    let refused = [
        "earlier with it, which is hidden from it",
        "move what the agent is made of away from it, or name less of it under `read`",
    ];
    expect(&run("earlier/bin/agent.py", "", "a"), 10, &refused);
    expect(&run("own/agent.py", "\"earlier\"", "b"), 10, &refused);
    expect(&run("own/agent.py", "\"own\"", "c"), 0, &[]);
}

#[test]
fn a_link_to_a_folder_above_an_agent_does_not_show_the_suite() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    write_secrets(&scene);
    let away = tempfile::tempdir().unwrap();
    let by = away.path().join("by");
    symlink(scene.path(""), &by).unwrap();
    let list = write_wanted(&scene, by.to_str().unwrap());
    // Beside the suite.
    std::fs::copy(list, scene.path("wanted.json")).unwrap();
    let list = by.join("wanted.json");
    let found = search_by(&scene, "beside", &list, &[]);
    assert_eq!(leaks(&found, &list), Vec::<&str>::new());
    // And apart from it.
    scene.write("agent/notes.txt", "Secret-key-of-a-test");
    let list = by.join("agent/wanted.json");
    let found = search_by(&scene, "apart", &list, &[]);
    let notes = format!("a key in {}", by.join("agent/notes.txt").display());
    assert_eq!(leaks(&found, &list), [notes]);
}

#[test]
fn a_link_shows_a_confined_command_neither_the_home_nor_what_is_hidden_by_hand() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    let link = scene.path("link");
    let link = link.to_str().unwrap();
    scene.write("work/in.txt", "");
    scene.write("home/free/x", "");
    scene.write("home/kept/x", "kept\n");
    let looks = format!("cat {link}/kept/x 2>/dev/null || echo unseen\n");
    scene.write("home/agent.sh", &looks);
    symlink("home", link).unwrap();
    let confine = |home: &str, more: &[&str]| {
        let args = ["confine", "--workspace", "work"];
        let command = ["--", "sh", "link/agent.sh"];
        scene.run_with(&[&args[..], more, &command].concat(), &[("HOME", home)])
    };
    let real = scene.path("home");
    for home in [link, real.to_str().unwrap()] {
        assert_eq!(said(&confine(home, &[])), "unseen\n");
    }
    assert_eq!(said(&confine("/nobody", &[])), "kept\n");
    let hide = ["--hide", "home/kept"];
    assert_eq!(said(&confine("/nobody", &hide)), "unseen\n");
    let reads = |path: &str| confine("/nobody", &[&hide[..], &["--read", path]].concat());
    for path in ["link", "link/kept"] {
        expect(&reads(path), 3, &["which is hidden from it"]);
    }
    expect(&reads("link/free"), 0, &[]);
}

/// Tries to type into its terminal, and does not end by itself.
const TYPES: &str = r#"
import fcntl, os, sys, termios, time
try:
    os.open("/dev/tty", os.O_RDWR)
    print("holds it")
except OSError:
    print("holds nothing")
print("heard", sys.stdin.readline().strip())
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("typed")
except OSError:
    print("refused")
print("waits", flush=True)
time.sleep(600)
"#;

/// Starts a command in a terminal of its own, types a line and Ctrl-C, and reads until nobody has the terminal any more.
const TERMINAL: &str = r#"
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    # Whatever started the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
def left(*_):
    print(shown.decode(), "is left", flush=True)
    os._exit(0)
signal.signal(signal.SIGALRM, left)
signal.alarm(120)
os.write(terminal, b"a line\n")
while b"waits" not in shown:
    shown += os.read(terminal, 1000)
os.write(terminal, b"\x03")
os.waitpid(child, 0)
try:
    while more := os.read(terminal, 1000):
        shown += more
except OSError:
    pass
print(shown.decode(), "ended")
"#;

#[test]
fn a_confined_command_cannot_type_into_its_terminal_and_ends_with_ctrl_c() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    scene.write("agent/types.py", TYPES);
    scene.write("terminal.py", TERMINAL);
    scene.write("work/in.txt", "");
    let shown = |command: &[&str]| {
        let mut terminal = scene.started_here(PYTHON);
        said(&output(terminal.arg("terminal.py").args(command)))
    };
    let types = [PYTHON, "agent/types.py"];
    let confine = [PROGRAM, "confine", "--workspace", "work", "--"];
    let confined = shown(&[&confine[..], &types].concat());
    for part in ["holds nothing", "heard a line", "refused", "ended"] {
        assert!(confined.contains(part), "{confined}");
    }
    // The twin, where the kernel lets anybody type.
    let twin = shown(&types);
    for part in ["holds it", "ended"] {
        assert!(twin.contains(part), "{twin}");
    }
    let setting = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    if setting.is_ok_and(|setting| setting.trim() == "1") {
        assert!(twin.contains("typed"), "{twin}");
    }
}

#[test]
fn doctor_and_a_run_name_abstract_sockets_that_a_confined_agent_reaches() {
    if !confines() {
        return;
    }
    let scene = Scene::new();
    suite(&scene, "", "");
    // Before others in a list of names.
    let name = format!("!pibench-test-{}", std::process::id());
    let agent = agent("files");
    let args = ["doctor", "tasks/suite.toml", "--agent", &agent];
    let reaches = "a confined agent reaches what listens at abstract Unix sockets of this machine";
    let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let listens = UnixListener::bind_addr(&address).unwrap();
    let named = format!("@{name}");
    expect(&scene.run(&args), 0, &["warning  sockets", reaches, &named]);
    expect(&play(&scene, "work", &[]), 0, &[reaches, &named]);
    let is_silent = |output: &Output| {
        expect(output, 0, &[]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output);
        assert!(!flowed(&text).contains(&named), "{text}");
    };
    // Of one that sees the machine anyway, and where nobody listens.
    is_silent(&scene.run(&[&args[..], &["--agent-unconfined"]].concat()));
    drop(listens);
    is_silent(&scene.run(&args));
}
