//! More guests than there are places: callers queue, idle apps give theirs, and nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;
use pibench_sandbox::evidence::Evidence;
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{App, Grader, GuestFault, GuestLimits, Limits, Plugins, Terms};
use serde_json::json;

use crate::guest::{now, open};
use crate::scene::{Scene, cache, files, hostile};

fn plugins(change: impl FnOnce(&mut GuestLimits)) -> Plugins {
    let mut limits = GuestLimits::default();
    change(&mut limits);
    let terms = Terms {
        limits,
        ..Terms::default()
    };
    Plugins::on_terms([].into(), Vec::new(), cache(), terms)
}

async fn count(app: &mut App) -> serde_json::Value {
    app.call("count", &json!({}), now()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twice_as_many_apps_as_places_keep_their_states() {
    let plugins = plugins(|limits| limits.app.live_stores = 4);
    let plugin = Arc::new(plugins.load_file("app", &hostile("app")).unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let plugin = Arc::clone(&plugin);
        tasks.spawn(async move {
            let mut app = open(plugin, Limits::APP).await.unwrap();
            for expected in 1..=10 {
                assert_eq!(count(&mut app).await, json!({ "count": expected }));
                tokio::task::yield_now().await;
            }
            app
        });
    }
    let mut apps = tasks.join_all().await;
    // One that ends while another waits gives its place away, and may leave it empty at last.
    let live = apps.iter().filter(|app| app.is_live()).count();
    assert!((1..=4).contains(&live), "{live}");
    for app in &mut apps {
        assert_eq!(count(app).await, json!({ "count": 11 }), "evicted or not");
    }
}

#[tokio::test]
async fn an_evicted_app_draws_what_it_would_have_drawn() {
    let drawn = async |places: usize| -> Vec<serde_json::Value> {
        let plugins = plugins(|limits| limits.app.live_stores = places);
        let plugin = Arc::new(plugins.load_file("app", &hostile("app")).unwrap());
        let mut app = open(Arc::clone(&plugin), Limits::APP).await.unwrap();
        let mut drawn = Vec::new();
        for _ in 0..3 {
            drawn.push(app.call("draw", &json!({}), now()).await.unwrap().unwrap());
            let other = open(Arc::clone(&plugin), Limits::APP).await.unwrap();
            assert_eq!(app.is_live(), places > 1);
            drop(other);
        }
        drawn
    };
    assert_eq!(drawn(1).await, drawn(2).await);
}

async fn grade(grader: &Grader, deed: &str) -> Result<(), GuestFault> {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap();
    let workspace = Workspace::open(path, Quota::default()).unwrap();
    let evidence = Evidence {
        turn: 1,
        calls: &[],
        messages: &[],
        changes: &[],
        apps: &[],
    };
    let config = json!({ "do": deed });
    grader
        .grade(&config, &evidence, workspace.view())
        .await
        .map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn graders_queue_and_all_are_served() {
    let plugins = plugins(|limits| limits.grader.live_stores = 2);
    let plugin = Arc::new(plugins.load_file("grader", &hostile("grader")).unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let grader = Grader::new(Arc::clone(&plugin), Limits::GRADER).unwrap();
        tasks.spawn(async move { grade(&grader, "pass").await });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn who_waits_too_long_is_told_so_and_later_calls_are_served() {
    let plugins = plugins(|limits| limits.grader.live_stores = 1);
    let plugin = Arc::new(plugins.load_file("grader", &hostile("grader")).unwrap());
    let limits = Limits {
        fuel: u64::MAX,
        wall: Duration::from_mins(1),
        queue: Duration::from_millis(30),
        ..Limits::GRADER
    };
    let grader = Grader::new(plugin, limits).unwrap();
    tokio::select! {
        biased;
        found = async {
            tokio::task::yield_now().await;
            grade(&grader, "pass").await
        } => assert!(matches!(found, Err(GuestFault::Overloaded { places: 1, .. })), "{found:?}"),
        spun = grade(&grader, "loop") => panic!("it ended: {spun:?}"),
    }
    grade(&grader, "pass").await.unwrap();
    let outcomes: Vec<String> = grader
        .take_measured()
        .iter()
        .map(|call| json!(call)["outcome"].to_string())
        .collect();
    assert_eq!(outcomes, ["\"overloaded\"", "\"ok\""]);
}

#[test]
fn a_run_with_one_place_for_all_apps_writes_the_same_journals() {
    let scene = Scene::new();
    let policy = "version = 1\n[limits.app]\nlive_stores = 1\n";
    scene.write("policy.toml", policy);
    let journals = |out: &str, more: &[&str]| {
        scene.play(out, &[&["--runs", "3", "--jobs", "4"], more].concat());
        files(&scene.path(out).join("journal"))
    };
    let plenty = journals("plenty", &[]);
    let one = journals("one", &["--policy", "policy.toml"]);
    assert!(plenty == one, "the journals differ");
}
