//! The machine's clock, while it jumps: nothing that a guest, the agent or a record sees follows it, and no deadline does.

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};

use crate::scaffold;
use crate::scene::{Scene, expect, files, root};

/// Stands before the system's clock: each look at it is two years after or before the one before. What counts time from the
/// machine's start is left as it is.
const JUMPING: &str = r"
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_int looks;

static long jump(void) {
    return (atomic_fetch_add(&looks, 1) % 2 ? 1 : -1) * 31536000L;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += jump();
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *kept) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (kept != NULL) {
        *kept = exact.tv_sec;
    }
    return exact.tv_sec;
}
";

/// The library that lets the clock jump, beside the suite.
#[expect(clippy::disallowed_methods, reason = "the tests' own compiler")]
fn jumping(scene: &Scene) -> String {
    scene.write("clock.c", JUMPING);
    let library = scene.path("clock.so");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
    compiler.arg(&library).arg(scene.path("clock.c"));
    let made = compiler
        .output()
        .expect("a C compiler, which a build needs too");
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    library.to_str().unwrap().to_owned()
}

const LOOK: &str = "date; date +%s.%N; python3 -c 'import time, datetime; \
    print(time.time(), time.monotonic(), time.perf_counter(), datetime.datetime.now())'";

/// In the first session the agent looks at every clock that it has; in the second an answer comes after the turn's end.
async fn play(scene: &Scene, out: &str, preload: &str, slow: Duration) -> Output {
    let args = [
        "run",
        "tasks/suite.toml",
        "--agent",
        "openai/m",
        "--out",
        out,
    ];
    let more = [("LD_PRELOAD", preload)];
    scaffold::play_where(scene, &args, &more, move |asked| {
        if asked.any("Request two.") {
            return scaffold::late(scaffold::text("Too late."), 12);
        }
        std::thread::sleep(slow);
        match asked.messages.len() {
            2 => scaffold::calls(&[("exec", json!({ "command": LOOK }))]),
            _ => scaffold::text("Done."),
        }
    })
    .await
}

/// What the agent's look at the clocks gave.
fn seen(journal: &str) -> String {
    let lines = journal
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let turns: Vec<Value> = lines
        .filter(|event: &Value| event["event"] == "turn")
        .collect();
    let steps = turns[0]["steps"].as_array().unwrap();
    let record = steps.iter().find_map(|step| step["record"].as_object());
    record.unwrap()["result"].as_str().unwrap().to_owned()
}

#[test]
fn a_clock_that_jumps_and_answers_that_take_their_time_are_seen_by_nobody_and_move_no_deadline() {
    let scene = Scene::new();
    scaffold::suite(&scene, "[session]\nturn_timeout_s = 10\n", "");
    let library = jumping(&scene);
    let runs = [
        ("still", "", 0),
        ("jumps", library.as_str(), 0),
        ("slow", "", 400),
    ];
    let [still, jumps, slow] = std::thread::scope(|scope| {
        let started = runs.map(|(out, preload, slow)| {
            let scene = &scene;
            scope.spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let played = play(scene, out, preload, Duration::from_millis(slow));
                expect(&runtime.block_on(played), 0, &[]);
                let path = scene.path(out).join("journal/p.r1.jsonl");
                std::fs::read_to_string(path).unwrap()
            })
        });
        started.map(|run| run.join().unwrap())
    });
    // The session's day, and a second for each call.
    assert!(seen(&still).contains("Mar  2 09:00:"), "{}", seen(&still));
    assert!(still.contains("turn_timeout"), "{still}");
    assert!(still == jumps, "{jumps}");
    assert!(still == slow, "{slow}");
    // The clock did jump: the run's own beginning is years away.
    let begun = |run: &str| {
        let text = std::fs::read_to_string(scene.path(run).join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        manifest["started"].as_str().unwrap()[..4].to_owned()
    };
    assert_ne!(begun("still"), begun("jumps"));
}

/// Who looks at the machine's clock, and what for: nothing that is waited for. A hub's wait that such a clock makes too long is
/// none (the ledger's own tests).
const LOOKS: [(&str, &str); 14] = [
    (
        "crates/engine/src/log.rs",
        "when a line of the log was written",
    ),
    (
        "crates/engine/src/log/spans.rs",
        "when a span began and ended",
    ),
    (
        "crates/engine/src/plan/guests.rs",
        "whether a key may sign today",
    ),
    ("crates/engine/src/plan/regrade.rs", "when a run began"),
    (
        "crates/engine/src/plan/resolve.rs",
        "when a run began, and its folder's name",
    ),
    ("crates/engine/src/session.rs", "when a session ended"),
    (
        "crates/hub/src/ledger.rs",
        "the day of a quota, and who waits in the queue",
    ),
    (
        "crates/model/src/client.rs",
        "how far off the date is at which a server wants to be asked again",
    ),
    (
        "crates/record/src/folder_lock.rs",
        "since when a folder is locked",
    ),
    ("crates/sandbox/src/cache/known.rs", "how old a file is"),
    (
        "src/commands/pack/install.rs",
        "whether a key may sign today",
    ),
    ("src/commands/signing.rs", "whether a key may sign today"),
    ("src/commands/submission.rs", "whether a key may sign today"),
    (
        "src/commands/submission/found.rs",
        "whether a run began in the future",
    ),
];

#[test]
fn no_deadline_is_made_of_the_machines_clock() {
    let mut found = Vec::new();
    for (path, text) in files(&root().join("host")) {
        let text = String::from_utf8_lossy(&text);
        let looks = ["Timestamp::now", "Zoned::now", "SystemTime::now"];
        if path.ends_with("rs")
            && !path.contains("tests")
            && looks.iter().any(|look| text.contains(look))
        {
            found.push(path);
        }
    }
    assert_eq!(found, LOOKS.map(|(path, _)| path));
}
