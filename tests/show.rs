//! A run followed from its folder by another process.

use crate::scene::{Scene, assert_fits, expect, first_persona, flowed};

#[test]
fn a_finished_run_is_shown_with_its_table() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive"]);
    let output = scene.run(&["show", "run"]);
    let all = first_persona().sessions.len();
    expect(
        &output,
        0,
        &[&format!("{all} sessions, {all} finished before")],
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("overall") && said.contains("100.0"), "{said}");
    let output = scene.run(&["show", "run", "--once"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_fits(&said);
    for part in [
        "reactive",
        "saltmarsh-statement",
        "complete",
        &format!("{all} of {all} sessions finished, 0 playing"),
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    expect(&scene.run(&["show", "nothing"]), 3, &["manifest.json"]);
}

#[test]
fn runs_of_one_agent_are_told_apart_by_their_folders() {
    let scene = Scene::new();
    let session = ["--agent", "reactive", "--session", "corrie-extension"];
    for run in ["both/one", "both/two"] {
        scene.play(run, &session);
    }
    let said = String::from_utf8(scene.run(&["show", "both"]).stdout).unwrap();
    for label in ["reactive (one) (scripted)", "reactive (two) (scripted)"] {
        assert!(said.contains(label), "`{label}` is not in:\n{said}");
    }
    // One alone needs no other name.
    let output = scene.run(&["show", "both/one"]);
    expect(&output, 0, &["1 session, 1 finished before"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("(one)"), "{said}");
}

#[test]
fn a_run_that_was_cut_off_is_shown_as_far_as_it_is() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive"]);
    let path = scene.path("run/journal/law_trainee.r1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let second = text
        .match_indices("\"event\":\"session_started\"")
        .nth(1)
        .unwrap()
        .0;
    let turn = second + text[second..].find("\"event\":\"turn\"").unwrap();
    let end = turn + text[turn..].find('\n').unwrap() + 1;
    std::fs::write(&path, &text[..end]).unwrap();
    for file in [
        "results.json",
        "trajectories/law_trainee.r1/saltmarsh-exhibit.json",
    ] {
        std::fs::remove_file(scene.path("run").join(file)).unwrap();
    }
    let sessions = first_persona().sessions;
    for later in sessions[2..].iter().map(|session| &session.id) {
        let file = format!("run/trajectories/law_trainee.r1/{later}.json");
        std::fs::remove_file(scene.path(&file)).unwrap();
    }
    let before = crate::scene::files(&scene.path("run"));
    let output = scene.run(&["show", "run", "--once"]);
    expect(&output, 0, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    let playing = format!("1 of {} sessions finished, interrupted", sessions.len());
    for part in [playing.as_str(), "waiting"] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let output = scene.run(&["show", "run"]);
    expect(&output, 6, &["nobody plays it", "run --resume run"]);
    assert_eq!(
        crate::scene::files(&scene.path("run")),
        before,
        "nothing is written"
    );
}

/// Its outline comes a moment after its folder.
#[test]
fn a_run_that_is_just_beginning_is_waited_for_and_one_that_nobody_begins_is_none() {
    let scene = Scene::new();
    scene.play("run", &["--agent", "reactive"]);
    let outline = std::fs::read(scene.path("run/outline.json")).unwrap();
    for file in ["results.json", "outline.json"] {
        std::fs::remove_file(scene.path("run").join(file)).unwrap();
    }
    let held = std::fs::File::open(scene.path("run/lock")).unwrap();
    held.lock().unwrap();
    let output = scene.run(&["show", "run", "--once"]);
    expect(&output, 6, &["follow run: it is just beginning"]);
    let output = std::thread::scope(|scope| {
        let shown = scope.spawn(|| scene.run(&["show", "run", "--once"]));
        std::fs::write(scene.path("run/outline.json"), &outline).unwrap();
        shown.join().unwrap()
    });
    expect(&output, 0, &[]);
    drop(held);
    std::fs::remove_file(scene.path("run/outline.json")).unwrap();
    let cut = "it has no outline.json: it was cut off while it was begun; go on with it by `pibench-host run --resume run`";
    expect(&scene.run(&["show", "run"]), 3, &[cut]);
}

/// The one that plays waits for its model; the one that watches sees it, and both end.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_followed_while_it_plays() {
    let scene = Scene::new();
    let server = crate::models::server(|request| {
        crate::models::play(request).set_delay(std::time::Duration::from_millis(100))
    })
    .await;
    let suite = crate::scene::short();
    let args = [
        "run",
        suite.to_str().unwrap(),
        "--persona",
        "law_trainee",
        "--runs",
        "1",
        "--agent",
        "openai/m",
        "--user",
        "lexical",
        "--judge",
        "lexical",
        "--out",
        "run",
    ];
    let (played, shown) = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let playing = scope.spawn(|| crate::models::run(&scene, &args, &server));
            // A run's folder appears whole, and its outline soon after.
            while !scene.path("run/outline.json").exists() {
                assert!(!playing.is_finished(), "it has ended already");
                std::thread::yield_now();
            }
            let shown = scene.run(&["show", "run"]);
            (playing.join().unwrap(), shown)
        })
    });
    expect(&played, 0, &[]);
    expect(
        &shown,
        0,
        &[
            &format!("{} sessions", first_persona().sessions.len()),
            "law_trainee/saltmarsh-chronology run 1: complete",
        ],
    );
    let table =
        |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(table(&shown), table(&played));
    assert!(!scene.path("run/pulse.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_now_is_shown_as_long_as_somebody_plays() {
    let scene = Scene::new();
    let slow = crate::models::server(|_| {
        wiremock::ResponseTemplate::new(200).set_delay(std::time::Duration::from_mins(5))
    })
    .await;
    let suite = crate::scene::short();
    let begin = ["run", suite.to_str().unwrap(), "--agent", "openai/m"];
    let more = ["--user", "lexical", "--judge", "lexical", "--runs", "1"];
    let last = ["--no-preflight", "--out", "run"];
    let args = [&begin[..], &more, &last].concat();
    let mut playing = scene
        .command(&args)
        .env("OPENAI_BASE_URL", format!("{}/v1", slow.uri()))
        .env("OPENAI_API_KEY", crate::models::KEY)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !scene.path("run/pulse.json").exists() {
        assert!(playing.try_wait().unwrap().is_none(), "it has ended");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let shown = || String::from_utf8(scene.run(&["show", "run", "--once"]).stdout).unwrap();
    let said = shown();
    assert_fits(&said);
    let said = flowed(&said);
    assert!(
        said.contains("Now: 1 at work: law_trainee/saltmarsh-chronology turn 1; 1 call in flight; cost unknown"),
        "{said}"
    );
    assert!(
        said.contains("playing │") && said.contains(", 1 playing."),
        "{said}"
    );
    playing.kill().unwrap();
    playing.wait().unwrap();
    assert!(scene.path("run/pulse.json").exists());
    let said = shown();
    assert!(
        said.contains("interrupted") && !said.contains("Now:"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_a_server_asks_for_is_told_in_hours() {
    let scene = Scene::new();
    let busy = crate::models::server(|_| {
        wiremock::ResponseTemplate::new(429).insert_header("retry-after", "3600")
    })
    .await;
    let suite = crate::scene::short();
    let begin = ["run", suite.to_str().unwrap(), "--agent", "openai/m"];
    let more = ["--user", "lexical", "--judge", "lexical", "--runs", "1"];
    let last = ["--no-preflight", "--out", "run"];
    let mut playing = scene
        .command(&[&begin[..], &more, &last].concat())
        .env("OPENAI_BASE_URL", format!("{}/v1", busy.uri()))
        .env("OPENAI_API_KEY", crate::models::KEY)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let waits = "waiting 30 min of the 1 h that it asks for, try 2";
    let is_told = || {
        let pulse = std::fs::read_to_string(scene.path("run/pulse.json"));
        pulse.is_ok_and(|pulse| pulse.contains(waits))
    };
    while !is_told() {
        assert!(playing.try_wait().unwrap().is_none(), "it has ended");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let said = String::from_utf8(scene.run(&["show", "run", "--once"]).stdout).unwrap();
    assert_fits(&said);
    assert!(flowed(&said).contains(waits), "{said}");
    playing.kill().unwrap();
    playing.wait().unwrap();
}

#[test]
fn where_no_run_is_named_the_newest_in_runs_is_meant() {
    let scene = Scene::new();
    for command in ["show", "report", "verify", "view"] {
        expect(
            &scene.run(&[command]),
            3,
            &["none is named, and runs/ of the current folder holds none"],
        );
    }
    scene.play("runs/b-older", &["--agent", "nop"]);
    scene.play("runs/a-newer", &["--agent", "reactive"]);
    let named = "runs/a-newer, the newest run here";
    expect(&scene.run(&["show", "--once"]), 0, &[named]);
    expect(&scene.run(&["report"]), 0, &[named]);
    expect(&scene.run(&["verify"]), 0, &[named]);
    // A run of several agents is a folder of theirs: each is verified, and one that is unsound is enough.
    scene.play("runs/both", &["--agent", "nop", "--agent", "reactive"]);
    let output = scene.run(&["verify"]);
    expect(&output, 0, &["runs/both, the newest run here"]);
    let said = flowed(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(said.matches("every score follows").count(), 2, "{said}");
    std::fs::write(scene.path("runs/both/nop/added.txt"), "by hand").unwrap();
    expect(&scene.run(&["verify"]), 3, &[]);
}
