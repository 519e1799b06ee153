//! All eight apps over the generated world, played by the program in the sandbox.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scene::{Scene, stderr};

const SUITE: &str = r#"
version = 1
id = "errands"
personas = ["personas/ida"]
"#;

const PERSONA: &str = r#"
version = 1
id = "ida"
name = "Ida Vale"
profile = "Runs a small household and many errands."
tools = [
    "amazon__*", "gmail__*", "phone__*", "simple_note__*", "splitwise__*", "spotify__*", "todoist__*", "file_system__*",
]
episode = [{ session = "errands" }]

[[people]]
first_name = "Ida"
last_name = "Vale"
email = "ida@vale.example"
phone_number = "5550140300"
password = "pw"
"#;

const SESSION: &str = r#"
version = 1
id = "errands"
title = "A round through all apps"
category = "A"
clock = 2026-03-09T09:00:00
request = "Do the round, please."

[[intents]]
id = "told"
content = "Say that the round is done."
[intents.satisfied]
within = ["response"]
all = [['round is done']]
[intents.asked]
all = [['which round\?']]

[[checklist]]
id = "done"
criterion = "The world's people and things were dealt with, and nothing else changed"
[checklist.rule]
grader = "rules"
[checklist.rule.config]
all = [
    { app = { name = "amazon", records = "cart_items", change = "added", where = { quantity = 2 }, count = { exactly = 1 } } },
    { app = { name = "gmail", records = "emails", change = "added", where = { sender = "ida@vale.example" }, count = { exactly = 2 } } },
    { app = { name = "splitwise", records = "expenses", change = "added", where = { paid_amount = 12.5 } } },
    { unchanged = { except = [
        { name = "amazon", records = "cart_items", change = "added" },
        { name = "gmail", records = ["emails", "threads"], change = "added" },
        { name = "phone", records = "alarms", change = "added" },
        { name = "simple_note", records = "notes", change = "added" },
        { name = "splitwise", change = "added" },
        { name = "spotify", records = ["liked_songs", "players", "plays"] },
        { name = "todoist", records = ["projects", "tasks"], change = "added" },
        { name = "file_system", change = "added" },
    ] } },
]

[[reference]]
tool = "amazon__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "amazon"
[[reference]]
tool = "amazon__search_products"
arguments = { query = "a desk lamp with warm light" }
save = "lamps"
[[reference]]
tool = "amazon__add_product_to_cart"
arguments = { access_token = "{{amazon.access_token}}", product_id = "{{lamps.0.product_id}}", quantity = 2 }
[[reference]]
tool = "gmail__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "gmail"
[[reference]]
tool = "gmail__search_users"
arguments = { query = "larkmail", page_limit = 1 }
save = "users"
[[reference]]
tool = "gmail__send_email"
arguments = { access_token = "{{gmail.access_token}}", email_addresses = ["{{users.0.email}}"], subject = "Hello", body = "How are you?" }
[[reference]]
tool = "phone__login"
arguments = { username = "5550140300", password = "pw" }
save = "phone"
[[reference]]
tool = "phone__create_alarm"
arguments = { access_token = "{{phone.access_token}}", time = "07:30" }
[[reference]]
tool = "simple_note__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "notes"
[[reference]]
tool = "simple_note__create_note"
arguments = { access_token = "{{notes.access_token}}", title = "Round", content = "Everything." }
[[reference]]
tool = "splitwise__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "splitwise"
[[reference]]
tool = "splitwise__create_group"
arguments = { access_token = "{{splitwise.access_token}}", name = "Tea", member_emails = ["{{users.0.email}}"] }
save = "group"
[[reference]]
tool = "splitwise__record_expense"
arguments = { access_token = "{{splitwise.access_token}}", group_id = "{{group.group_id}}", description = "Cups", paid_amount = 12.5, payer_email = "ida@vale.example", debtor_emails = ["ida@vale.example", "{{users.0.email}}"] }
[[reference]]
tool = "spotify__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "spotify"
[[reference]]
tool = "spotify__search_songs"
arguments = { query = "harbour" }
save = "songs"
[[reference]]
tool = "spotify__like_song"
arguments = { access_token = "{{spotify.access_token}}", song_id = "{{songs.0.song_id}}" }
[[reference]]
tool = "spotify__play_music"
arguments = { access_token = "{{spotify.access_token}}", song_id = "{{songs.0.song_id}}" }
[[reference]]
tool = "todoist__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "todoist"
[[reference]]
tool = "todoist__create_project"
arguments = { access_token = "{{todoist.access_token}}", name = "Round" }
save = "project"
[[reference]]
tool = "todoist__create_task"
arguments = { access_token = "{{todoist.access_token}}", project_id = "{{project.project_id}}", title = "Rest" }
[[reference]]
tool = "file_system__login"
arguments = { username = "ida@vale.example", password = "pw" }
save = "files"
[[reference]]
tool = "file_system__create_file"
arguments = { access_token = "{{files.access_token}}", file_path = "~/round.txt", content = "done" }
[[reference]]
serves = ["told"]
say = "The round is done."
"#;

fn errands() -> Scene {
    let scene = Scene::new();
    scene.write("suite.toml", SUITE);
    scene.write("personas/ida/persona.toml", PERSONA);
    scene.write("personas/ida/sessions/errands/session.toml", SESSION);
    scene
}

fn play(scene: &Scene) -> Value {
    let output = scene.run(&["run", "suite.toml", "--json", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The calls of the one session: tool, status and result.
fn calls(scene: &Scene) -> Vec<Value> {
    let path = scene.path("run/trajectories/ida.r1/errands.json");
    let text = std::fs::read_to_string(path).unwrap();
    let trajectory: Value = serde_json::from_str(&text).unwrap();
    let turns = trajectory["turns"].as_array().unwrap();
    let steps = turns
        .iter()
        .flat_map(|turn| turn["steps"].as_array().unwrap());
    let records = steps
        .filter(|step| step["step"] == "call")
        .map(|step| step["record"].clone());
    records.collect()
}

#[test]
fn a_round_through_all_eight_apps_over_the_world() {
    let scene = errands();
    let results = play(&scene);
    assert_eq!(
        (&results["proc"], &results["comp"]),
        (&Value::from(100.0), &Value::from(100.0)),
        "{results:#}"
    );
    let calls = calls(&scene);
    let mut apps = BTreeSet::new();
    for call in &calls {
        assert_eq!(call["status"], "ok", "{call:#}");
        let (app, _) = call["tool"].as_str().unwrap().split_once("__").unwrap();
        apps.insert(app);
    }
    assert_eq!(apps.len(), 8);
}

#[test]
fn a_persona_may_do_without_the_world() {
    let scene = errands();
    scene.replace(
        "personas/ida/persona.toml",
        "[[people]]",
        "world = false\n\n[[people]]",
    );
    let lamps = |scene: &Scene| {
        play(scene);
        let calls = calls(scene);
        let search = calls
            .iter()
            .find(|call| call["tool"] == "amazon__search_products");
        search.unwrap()["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(lamps(&scene), "[]");
}
