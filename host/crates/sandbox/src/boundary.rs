//! Where the time of a call goes: what metering, entering and the host's own part of it cost. Prints figures and asserts
//! none: `make bench`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::civil::{DateTime, date};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{Config, Engine};

use super::app::App;
use super::engine::config;
use super::limits::Limits;
use super::live::Live;
use super::load::{Plugins, Terms, prepare};
use super::plugin::{LiveApp, Pre, World};
use super::policy::Grants;
use super::profile::Profile;
use super::state::{Owner, Reach, State};

const ROUNDS: usize = 20_000;

fn wasm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/plugins/simple_note.wasm")
}

fn now() -> DateTime {
    date(2026, 3, 2).at(9, 0, 0, 0)
}

fn seed() -> Value {
    let person = json!({"first_name": "A", "last_name": "B", "email": "a@b.example", "phone_number": null, "password": "p"});
    json!({"people": [person], "records": {"notes": [{"owner": "a@b.example", "title": "t", "content": "c"}]}})
}

/// Arguments of `update_note` with 200 bytes.
fn update(token: &Value, id: &Value) -> Value {
    let mut update = json!({"access_token": token, "note_id": id, "content": ""});
    let rest = 200_usize.saturating_sub(update.to_string().len());
    update["content"] = json!("d".repeat(rest));
    update
}

/// An instance of `simple_note` in a store that nothing bounds but what the engine itself meters.
fn instance(runtime: &Runtime, change: impl FnOnce(&mut Config)) -> LiveApp {
    let mut config = config(Profile::App, None);
    change(&mut config);
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_file(&engine, wasm()).expect("make plugins");
    let (Pre::ToolApp(pre), _) = prepare(&engine, &component, World::ToolApp).unwrap() else {
        panic!("simple_note is a tool app");
    };
    let owner = Owner {
        name: "simple_note",
        engine: &engine,
        component: &component,
        profile: Profile::App,
        grants: Grants::default(),
    };
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let mut store = State::store(owner, Limits::APP, [1; 32], Reach::Nothing, permit);
    // Fails where nothing is metered.
    let _ = store.set_fuel(u64::MAX);
    // Nobody moves this engine's epoch.
    store.set_epoch_deadline(1);
    store.data_mut().set_now(now());
    let guest = runtime
        .block_on(pre.instantiate_async(&mut store))
        .expect("an instance");
    let mut live = Live { store, guest };
    let seed = seed().to_string();
    let tools = live.guest.pibench_plugin_tools().clone();
    runtime
        .block_on(tools.call_open(&mut live.store, &seed))
        .unwrap()
        .unwrap();
    live
}

/// What the guest answers to a call that nothing of the host's is around.
fn call(runtime: &Runtime, live: &mut LiveApp, tool: &str, arguments: &str) -> Option<Value> {
    let tools = live.guest.pibench_plugin_tools().clone();
    let answer = runtime.block_on(tools.call_call(&mut live.store, tool, arguments));
    let answer = answer.expect("no trap").ok()?;
    serde_json::from_str(&answer).ok()
}

/// Logs in; the arguments of the call that is measured.
fn prepared(mut ask: impl FnMut(&str, Value) -> Value) -> String {
    let token = ask("login", json!({"username": "a@b.example", "password": "p"}));
    let token = token["access_token"].clone();
    let note = ask(
        "create_note",
        json!({"access_token": token, "title": "n", "content": "c"}),
    );
    update(&token, &note["note_id"]).to_string()
}

/// Nanoseconds at the median.
fn median(mut work: impl FnMut()) -> f64 {
    let one = |()| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e9
    };
    let mut all: Vec<f64> = std::iter::repeat_n((), ROUNDS).map(one).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn print(what: &str, nanoseconds: f64) {
    println!("{what:<64} {:>6.2} us", nanoseconds / 1e3);
}

#[test]
#[ignore = "it prints figures: make bench"]
fn where_the_time_of_a_call_goes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let direct = |change: fn(&mut Config)| {
        let mut live = instance(&runtime, change);
        let arguments = prepared(|tool, arguments| {
            call(&runtime, &mut live, tool, &arguments.to_string()).expect("no refusal")
        });
        let whole = median(|| {
            assert!(call(&runtime, &mut live, "update_note", &arguments).is_some());
        });
        let entry = median(|| assert!(call(&runtime, &mut live, "no_such_tool", "{}").is_none()));
        (whole, entry)
    };
    let (metered, entry) = direct(|_| ());
    let (without_fuel, _) = direct(|config| {
        config.consume_fuel(false);
    });
    let (without_epochs, _) = direct(|config| {
        config.epoch_interruption(false);
    });
    let (without_nan, _) = direct(|config| {
        config.cranelift_nan_canonicalization(false);
    });

    let plugins = Plugins::on_terms(
        [].into(),
        vec![wasm().parent().unwrap().to_owned()],
        &wasm().parent().unwrap().join("../test-cache"),
        Terms::default(),
    );
    let plugin = plugins.get("simple_note").expect("make plugins");
    let seed = seed();
    let app = App::open(plugin, Limits::APP, [1; 32], &seed, now());
    let mut app = runtime.block_on(app).unwrap();
    let mut ask = |tool: &str, arguments: &Value| {
        let answer = runtime.block_on(app.call(tool, arguments, now()));
        let answer = answer.expect("no fault").expect("no refusal");
        // As a turn would: what was done is in the snapshot, and the figures are taken.
        if app.calls().is_multiple_of(50) {
            runtime.block_on(app.snapshot()).expect("no fault");
            app.take_measured();
        }
        answer
    };
    let arguments = prepared(|tool, arguments| ask(tool, &arguments));
    let value: Value = serde_json::from_str(&arguments).unwrap();
    let whole = median(|| drop(ask("update_note", &value)));
    let json = median(|| drop(value.to_string()));

    let bytes = arguments.len();
    print(
        &format!("a call with {bytes} bytes of arguments, through the door"),
        whole,
    );
    print(
        "  of that the host's part around the guest: arming, bounds, JSON",
        whole - metered,
    );
    print("    of that its JSON of the arguments", json);
    print("  of that the guest, entry and exit", metered);
    print(
        "    of that a call that does nothing: entry, lifting, lowering",
        entry,
    );
    print("    of that fuel", metered - without_fuel);
    print("    of that epochs", metered - without_epochs);
    print(
        "    of that the same bits of a NaN everywhere",
        metered - without_nan,
    );
}
