//! The models of user and judge that a hub's owner pays: whether they work, and what they may cost.

use std::process::Output;

use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use super::{Hub, Submitter, add, configure};
use crate::models::{KEY, is_preflight, play, run, server_at};
use crate::responses;
use crate::scene::{Scene, expect, short};

/// A preset with a price, at the tests' own server: an answer costs 400 millionths of a dollar.
const PRICED: &str = "user = \"openai/gpt-5.4\"\njudge = [\"openai/gpt-5.4\"]\nruns = 1\n";

/// A hub over the short suite.
fn scene(more: &str) -> Scene {
    let scene = Scene::new();
    set(&scene, more);
    scene
}

fn set(scene: &Scene, more: &str) {
    let suite = short();
    configure(scene, &format!("suite = \"{}\"\n{more}", suite.display()));
}

fn start(scene: &Scene, server: &MockServer) -> Hub {
    let base = format!("{}/v1", server.uri());
    Hub::start_with(
        scene,
        &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)],
    )
}

/// How many answers a server gave: to the hub's own question, and to all others.
async fn asked(server: &MockServer) -> [u64; 2] {
    let all = server.received_requests().await.unwrap();
    let own = all.iter().filter(|request| is_preflight(request)).count() as u64;
    [own, all.len() as u64 - own]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_models_cannot_work_does_not_start_and_says_why() {
    let scene = scene("user = \"openai/m\"\njudge = [\"openai/m\"]\nruns = 1\n");
    let refused = async |answer: ResponseTemplate, code: i32, said: &[&str]| -> Output {
        let server = server_at("/v1/chat/completions", move |_: &_| answer.clone()).await;
        let output = run(&scene, &["hub"], &server);
        expect(&output, code, said);
        assert!(output.stdout.is_empty(), "nobody was let in");
        output
    };
    let key = json!({ "error": { "message": "Incorrect API key provided" } });
    let wrong = ResponseTemplate::new(401).set_body_json(key);
    let said = [
        "failed to pass the preflight: ask openai/m at 127.0.0.1",
        "Incorrect API key provided",
        "--no-preflight",
    ];
    refused(wrong, 10, &said).await;
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "7200");
    let said = "failed to pass the preflight: reach openai/m";
    refused(busy, 6, &[said]).await;

    let server = server_at("/v1/chat/completions", play).await;
    let base = format!("{}/v1", server.uri());
    let mut unasked = scene.command(&["hub", "--no-preflight"]);
    unasked.envs([("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)]);
    let hub = Hub::started(unasked);
    assert_eq!(asked(&server).await, [0, 0]);
    assert_eq!(hub.end(), Some(0));
    // The price is not known: it may cost something. What failed before was not taken for an answer.
    for _ in 0..2 {
        let hub = start(&scene, &server);
        assert_eq!(asked(&server).await, [2, 0], "user and judge, on one day");
        assert_eq!(hub.end(), Some(0));
    }
    // Another key has not answered yet, and is not known.
    let base = format!("{}/v1", server.uri());
    let another = [
        ("OPENAI_API_KEY", "sk-another-key"),
        ("OPENAI_BASE_URL", &*base),
    ];
    let refused = tokio::task::block_in_place(|| scene.run_with(&["hub"], &another));
    expect(
        &refused,
        10,
        &["failed to pass the preflight: ask openai/m"],
    );
    // Who plays another role was not asked in it.
    set(
        &scene,
        "user = \"lexical\"\njudge = [\"openai/n\"]\nruns = 1\n",
    );
    drop(start(&scene, &server));
    assert_eq!(asked(&server).await, [5, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_costs_nothing_is_asked_at_each_start() {
    let scene = Scene::new();
    let model =
        "[models.free]\nprovider = \"openai\"\nmodel = \"m\"\nprice = { input = 0, output = 0 }\n";
    crate::scaffold::suite(&scene, model, "");
    let models = "user = \"free\"\njudge = [\"lexical\"]\n";
    configure(&scene, &format!("suite = \"tasks/suite.toml\"\n{models}"));
    let server = server_at("/v1/chat/completions", play).await;
    for count in 1..=2 {
        let hub = start(&scene, &server);
        assert_eq!(asked(&server).await, [count, 0]);
        assert_eq!(hub.end(), Some(0));
    }
}

/// What the submitter's models cost today, in millionths of a dollar.
async fn paid(of: &Submitter<'_>) -> u64 {
    let told = of.get("").await.1;
    let dollars = told["today"]["dollars"]["used"].as_f64().unwrap();
    format!("{:.0}", dollars * 1e6).parse().unwrap()
}

/// Answers until there is no next message, or no money; what was said then.
async fn play_on(of: &Submitter<'_>, mcp: &str) -> (u16, String) {
    let mut arguments = json!({});
    loop {
        let (status, told) = of.call(mcp, "converse", arguments).await;
        let value: Value = serde_json::from_str(&told).unwrap_or_default();
        if status != 200 || value["over"] != false {
            return (status, told);
        }
        arguments = json!({ "answer": "Done." });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_submitters_models_cost_has_a_bound_that_is_its_own_and_outlasts_the_hub() {
    let least = "[quotas_of.poor]\ndollars_a_day = 0.002\n";
    let scene = scene(&format!("{PRICED}{least}"));
    let server = responses::server().await;
    let hub = start(&scene, &server);
    let tokens = ["poor", "twin"].map(|name| add(&scene, name));
    let poor = hub.as_of(&tokens[0]);
    let run = poor.begin().await;
    let mcp = poor.open(&run).await;
    let met = "may cost 0.0020 USD a day for your episodes";
    let (_, told) = play_on(&poor, &mcp).await;
    assert!(told.contains(met), "{told}");
    // The turn that was played was played to its end.
    let [_, answers] = asked(&server).await;
    let spent = paid(&poor).await;
    assert_eq!(spent, 400 * answers);
    assert!((2000..8000).contains(&spent), "{spent}");
    // The episode gives its place away, and is not gone on with today.
    poor.is(&mcp, "paused").await;
    let (status, told) = poor.call(&mcp, "converse", json!({})).await;
    assert!(status == 429 && told.contains(met), "{status} {told}");
    // Killed, and without a word.
    drop(hub);
    let hub = start(&scene, &server);
    let [poor, twin] = [&tokens[0], &tokens[1]].map(|token| hub.as_of(token));
    assert_eq!(paid(&poor).await, spent);
    let (status, told) = poor.call(&mcp, "converse", json!({})).await;
    assert!(status == 429 && told.contains(met), "{status} {told}");
    let more = poor.begin().await;
    let opened = poor
        .post(&format!("/runs/{more}/episodes"), json!({}))
        .await;
    assert_eq!(opened.0, 429, "{}", opened.1);
    assert_eq!(asked(&server).await[1], answers, "nothing more was paid");
    // Beside it.
    let mcp_of_twin = twin.open(&twin.begin().await).await;
    let (status, told) = play_on(&twin, &mcp_of_twin).await;
    assert!(status == 200 && told.contains("\"over\":true"), "{told}");
    assert_eq!(paid(&poor).await, spent);
    assert!(paid(&twin).await > spent);
    // With more it is gone on with.
    assert_eq!(hub.end(), Some(0));
    set(&scene, PRICED);
    let hub = start(&scene, &server);
    let poor = hub.as_of(&tokens[0]);
    let (status, told) = play_on(&poor, &mcp).await;
    assert!(status == 200 && told.contains("\"over\":true"), "{told}");
    assert_eq!(poor.ended(&run).await["state"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_all_models_of_a_hub_cost_has_a_bound_and_needs_prices() {
    let bound = "limits.dollars_a_day = 0.004\n";
    let scene = scene(&format!("{PRICED}{bound}"));
    let server = responses::server().await;
    let hub = start(&scene, &server);
    let tokens = ["ana", "bo"].map(|name| add(&scene, name));
    let [ana, bo] = [&tokens[0], &tokens[1]].map(|token| hub.as_of(token));
    let mcp = ana.open(&ana.begin().await).await;
    let met = "may cost 0.0040 USD a day for all episodes of this host";
    let (_, told) = play_on(&ana, &mcp).await;
    assert!(told.contains(met), "{told}");
    let run = bo.begin().await;
    let path = format!("/runs/{run}/episodes");
    let (status, told) = bo.post(&path, json!({})).await;
    assert!(status == 429 && told.to_string().contains(met), "{told}");
    assert_eq!(hub.end(), Some(0));
    set(&scene, &format!("{PRICED}limits.dollars_a_day = 1\n"));
    let hub = start(&scene, &server);
    let bo = hub.as_of(&tokens[1]);
    let (_, told) = play_on(&bo, &bo.open(&run).await).await;
    assert!(told.contains("\"over\":true"), "{told}");
    assert_eq!(hub.end(), Some(0));

    let unpriced =
        "user = \"openai/m\"\njudge = [\"lexical\"]\n[quotas_of.ana]\ndollars_a_day = 1\n";
    set(&scene, unpriced);
    let said = [
        "failed to keep to `quotas_of.\"ana\".dollars_a_day`: the price of `openai/m` is not known",
        "[models.NAME]",
    ];
    expect(&crate::models::run(&scene, &["hub"], &server), 3, &said);
}
