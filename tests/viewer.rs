//! The viewer: it answers who has its address, nobody else, and shows what a run has journaled so far.

use std::fs;
use std::path::PathBuf;

use pibench_report::viewer::Viewer;
use reqwest::header::HOST;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::scene::Scene;

/// Runs a client against a viewer of some folders.
async fn viewed<F: Future>(dirs: Vec<PathBuf>, client: impl FnOnce(String) -> F) -> F::Output {
    let viewer = Viewer::bind(0).await.unwrap();
    let url = viewer.url();
    tokio::select! {
        () = viewer.serve(dirs, 1) => unreachable!("it serves until it is dropped"),
        output = client(url) => output,
    }
}

async fn json(url: &str) -> Value {
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{url} gave {text}"))
}

#[tokio::test]
async fn only_who_knows_the_address_reads() {
    let scene = Scene::new();
    scene.play("run", &["--persona", "law_trainee"]);
    viewed(vec![scene.path("run")], |url| async move {
        let client = pibench_tls::client().build().unwrap();
        let page = client.get(&url).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        assert_eq!(page.headers()["cache-control"], "no-store");
        assert_eq!(page.headers()["x-frame-options"], "DENY");
        let text = page.text().await.unwrap();
        assert!(text.contains("Scripted models") && text.contains("connect-src 'self'"));
        let token = url
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        assert_eq!(token.len(), 32);
        let wrong = url.replace(&token, &"0".repeat(32));
        let root = url.replace(&format!("{token}/"), "");
        for refused in [
            wrong,
            format!("{root}index.json"),
            format!("{url}../manifest.json"),
            format!("{url}session/x"),
        ] {
            let status = client.get(&refused).send().await.unwrap().status();
            assert_eq!(status, StatusCode::NOT_FOUND, "{refused}");
        }
        for host in ["evil.example", "127.0.0.1", "127.0.0.1:1"] {
            let answer = client.get(&url).header(HOST, host).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST, "{host}");
        }
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let answer = client.request(method, &url).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
        }
    })
    .await;
}

#[tokio::test]
async fn the_parts_of_a_run_are_one_run_while_some_are_not_begun() {
    let scene = Scene::new();
    let args = ["--runs", "2"];
    scene.play("whole", &args);
    for part in ["1", "2"] {
        let shard = format!("{part}/2");
        scene.play(
            &format!("all/part-{part}"),
            &[&args[..], &["--shard", &shard]].concat(),
        );
    }
    let [mut whole, added] = ["whole", "all"].map(|name| vec![scene.path(name)]);
    let whole = viewed(std::mem::take(&mut whole), |url| async move {
        json(&format!("{url}index.json")).await
    });
    let mut whole = whole.await;
    fs::rename(scene.path("all/part-2"), scene.path("later")).unwrap();
    viewed(added, |url| async move {
        let mut index = json(&format!("{url}index.json")).await;
        assert_eq!(index["runs"].as_array().unwrap().len(), 1, "{index}");
        assert_eq!(index["runs"][0]["complete"], false);
        let parts = index["runs"][0]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 1, "{index}");
        assert_eq!(parts[0]["part"], "1/2");
        assert_eq!(parts[0]["state"], "played");
        assert_eq!(parts[0]["start"], 1);
        let sessions = index["sessions"].as_array().unwrap();
        let waiting = sessions
            .iter()
            .filter(|one| one["state"] == "waiting")
            .count();
        assert_eq!(waiting * 2, sessions.len());
        fs::rename(scene.path("later"), scene.path("all/part-2")).unwrap();
        // Another part, and the page is what the run's would be that one machine played.
        index = json(&format!("{url}index.json")).await;
        assert_eq!(index["runs"][0]["complete"], true);
        for index in [&mut index, &mut whole] {
            let runs = index["runs"][0].as_object_mut().unwrap();
            for own in ["folder", "started", "dir", "manifest", "parts"] {
                runs.remove(own);
            }
            for session in index["sessions"].as_array_mut().unwrap() {
                session.as_object_mut().unwrap().remove("ms");
            }
        }
        assert_eq!(index["sessions"], whole["sessions"]);
        assert_eq!(index["runs"], whole["runs"]);
        let chunk = json(&format!("{url}session/0")).await;
        assert!(chunk.to_string().contains("Imogen"), "{chunk}");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_plays_is_followed_line_by_line() {
    let scene = Scene::new();
    scene.play("run", &["--persona", "law_trainee", "--agent", "reactive"]);
    let dir = scene.path("run");
    let journal = dir.join("journal/law_trainee.r1.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let results = fs::read(dir.join("results.json")).unwrap();
    fs::remove_file(dir.join("results.json")).unwrap();
    fs::remove_dir_all(dir.join("trajectories")).unwrap();
    // The episode and its first session have begun, and one turn is played.
    fs::write(&journal, lines[..3].concat()).unwrap();
    viewed(vec![dir.clone()], |url| async move {
        let first = json(&format!("{url}version")).await;
        assert_eq!(first["complete"], false);
        let index = json(&format!("{url}index.json")).await;
        // Nobody holds the folder's lock.
        assert_eq!(index["sessions"][0]["state"], "interrupted");
        assert_eq!(index["sessions"][1]["state"], "waiting");
        assert_eq!(index["runs"][0]["complete"], false);
        let session = json(&format!("{url}session/0")).await;
        assert_eq!(session["trajectory"]["turns"].as_array().unwrap().len(), 1);
        assert_eq!(json(&format!("{url}session/1")).await, Value::Null);
        // Somebody goes on with it, and is killed before the next line.
        let lock = fs::File::open(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let held = json(&format!("{url}version")).await;
        assert_ne!(held["version"], first["version"]);
        drop(lock);
        assert_eq!(
            json(&format!("{url}version")).await["version"],
            first["version"]
        );
        // A line that is being written is not there yet.
        fs::write(&journal, [&lines[..4].concat(), &lines[4][..9]].concat()).unwrap();
        let second = json(&format!("{url}version")).await;
        assert_ne!(second["version"], first["version"]);
        let session = json(&format!("{url}session/0")).await;
        assert_eq!(session["trajectory"]["turns"].as_array().unwrap().len(), 2);
        fs::write(&journal, lines.concat()).unwrap();
        fs::write(dir.join("results.json"), results).unwrap();
        let last = json(&format!("{url}version")).await;
        assert_eq!(last["complete"], true);
        let index = json(&format!("{url}index.json")).await;
        assert_eq!(index["runs"][0]["complete"], true);
        assert_eq!(index["sessions"][0].get("state"), None);
    })
    .await;
}

#[tokio::test]
async fn idle_connections_keep_no_reader_out() {
    let scene = Scene::new();
    scene.play("run", &["--persona", "law_trainee"]);
    viewed(vec![scene.path("run")], |url| async move {
        let address = url.trim_start_matches("http://").split('/').next().unwrap();
        let mut idle = Vec::new();
        for _ in 0..300 {
            idle.push(tokio::net::TcpStream::connect(address).await.unwrap());
        }
        let version = json(&format!("{url}version")).await;
        assert_eq!(version["complete"], true);
        let client = pibench_tls::client().build().unwrap();
        let stranger = client.get(format!("http://{address}/")).send().await;
        assert_eq!(stranger.unwrap().status(), StatusCode::NOT_FOUND);
        // The oldest was sent away: there is nothing more to read.
        idle[0].readable().await.unwrap();
        let read = idle[0].try_read(&mut [0]);
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    })
    .await;
}
