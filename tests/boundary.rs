//! Guests that Rust cannot express: each breaks a rule of the component model, or uses something that the host turned off.
//! It is refused at load by name, or ends in a typed fault, and others go on.

use std::sync::Arc;
use std::time::Duration;

use pibench_sandbox::{App, GuestFault, Limits, Plugins, Terms};
use serde_json::json;

use crate::guest::{Guest, LOOP, call, file, now, open, tight};
use crate::scene::{Scene, cache, expect};

const OUT_OF_FUEL: GuestFault = GuestFault::Fuel { limit: 1_000_000 };

/// The fault of opening the guest, calling it, and taking its snapshot and state.
async fn fault(guest: &Guest) -> GuestFault {
    let all = async || -> Result<(), GuestFault> {
        let mut app = guest.open(tight()).await?;
        call(&mut app).await?;
        app.snapshot().await?;
        app.state().await.map(drop)
    };
    all().await.unwrap_err()
}

async fn trap(guest: &Guest, said: &str) {
    let fault = fault(guest).await;
    assert!(
        matches!(&fault, GuestFault::Trap { trap } if trap.contains(said)),
        "`{said}` is not in {fault:?}"
    );
}

#[tokio::test]
async fn an_honest_guest_of_text_works() {
    let mut app = Guest::honest().open(tight()).await.unwrap();
    assert_eq!(call(&mut app).await.unwrap(), json!({}));
    assert_eq!(app.snapshot().await.unwrap(), b"{}");
    assert_eq!(&*app.state().await.unwrap(), "{}");
    let plugin = Guest::honest().load().unwrap();
    let tools = App::list_tools(&plugin, tight()).await.unwrap();
    assert_eq!(tools[0].name, "guest__t");
}

#[tokio::test]
async fn a_loop_anywhere_uses_up_its_fuel() {
    for function in [
        "open",
        "call",
        "snapshot",
        "state",
        "cabi_realloc",
        "post-return",
    ] {
        let guest = Guest::honest().doing(function, LOOP);
        assert_eq!(fault(&guest).await, OUT_OF_FUEL, "{function}");
    }
    let starts = Guest::honest().with(&format!("(func $s {LOOP}) (start $s)"));
    assert_eq!(fault(&starts).await, OUT_OF_FUEL);
    let lists = Guest::honest().doing("list-tools", LOOP).load().unwrap();
    let error = App::list_tools(&lists, tight()).await.unwrap_err();
    assert!(error.to_string().contains("fuel"), "{error}");
    let adds = Guest::honest().doing("add", LOOP);
    let mut app = adds.open(tight()).await.unwrap();
    let error = app.add(&json!({}), now()).await.unwrap_err();
    assert!(error.to_string().contains("fuel"), "{error}");
}

/// What the host does on behalf of a guest is charged to it, whatever the guest's own loop costs.
#[tokio::test]
async fn lines_for_the_log_use_up_the_fuel_of_their_writer() {
    let limits = Limits {
        fuel: 100_000_000,
        ..Limits::APP
    };
    let logs = |more: &str| {
        let write = "(call $log (i32.const 1) (i32.const 1025) (i32.const 1000))";
        Guest::honest()
            .answering(format!("\"{}\"", "x".repeat(3000)))
            .with(r#"(import "pibench:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#)
            .doing("call", &more.replace("WRITE", write))
    };
    let endless = logs("(loop $on WRITE (br $on)) (unreachable)");
    let fault = endless.call(limits).await.unwrap_err();
    assert_eq!(fault.kind(), "fuel", "{fault}");
    let thrice = logs("WRITE WRITE WRITE (i32.const 160)");
    assert!(thrice.call(limits).await.is_ok());
}

/// Imports of a guest, by lines; what it does first, and what it does without end.
const ASKS: [(&str, &str, &str); 7] = [
    (
        r#"(import "pibench:plugin/clock@0.1.0" "now" (func $ask (param i32)))"#,
        "",
        "(call $ask (i32.const 512))",
    ),
    (
        r#"(import "pibench:plugin/random@0.1.0" "next" (func $ask (result i64)))"#,
        "",
        "(drop (call $ask))",
    ),
    (
        r#"(import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $ask (result i64)))"#,
        "",
        "(drop (call $ask))",
    ),
    (
        r#"(import "wasi:random/random@0.2.6" "get-random-bytes" (func $ask (param i64 i32)))"#,
        "",
        "(call $ask (i64.const 60000) (i32.const 512))",
    ),
    (
        r#"(import "wasi:cli/environment@0.2.6" "get-environment" (func $ask (param i32)))"#,
        "",
        "(call $ask (i32.const 512))",
    ),
    (
        r#"(import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
        (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
            (func $ask (param i32 i32 i32 i32)))"#,
        "(local $it i32) (local.set $it (call $stdout))",
        "(call $ask (local.get $it) (i32.const 1024) (i32.const 4096) (i32.const 512))",
    ),
    (
        r#"(import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-instant" (func $at (param i64) (result i32)))
        (import "wasi:io/poll@0.2.6" "poll" (func $ask (param i32 i32 i32)))"#,
        "(i32.store (i32.const 520) (call $at (i64.const 0)))",
        "(call $ask (i32.const 520) (i32.const 1) (i32.const 512))",
    ),
];

/// A guest's own loop around them costs so little that its time would be over before its fuel.
#[tokio::test]
async fn asking_the_host_without_end_uses_up_the_fuel_of_whoever_asks() {
    for (imports, first, ask) in ASKS {
        let asks = |how: &str| {
            let body = format!("{first} {}", how.replace("ASK", ask));
            let guest = Guest::honest().with(imports).doing("call", &body);
            // What the host hands over always lies at the same place.
            guest.doing("cabi_realloc", "(i32.const 131072)")
        };
        let endless = asks("(loop $on ASK (br $on)) (unreachable)");
        let fault = endless.call(Limits::APP).await.unwrap_err();
        assert_eq!(fault, GuestFault::Fuel { limit: 500_000_000 }, "{imports}");
        let thrice = asks("ASK ASK ASK (i32.const 160)");
        assert_eq!(thrice.call(Limits::APP).await, Ok(json!({})), "{imports}");
    }
}

#[tokio::test]
async fn a_loop_in_restore_uses_up_its_fuel() {
    let plugin = Guest::honest().doing("restore", LOOP).load().unwrap();
    let resumed = App::resume(plugin, tight(), [7; 32], b"{}".to_vec(), 0).await;
    let error = resumed.unwrap_err().to_string();
    assert!(error.contains("fuel"), "{error}");
    let plugin = Guest::honest().load().unwrap();
    let resumed = App::resume(plugin, tight(), [7; 32], b"{}".to_vec(), 0).await;
    assert!(resumed.is_ok());
}

#[tokio::test]
async fn lies_about_a_text_are_traps() {
    // Pointer and length of the answer lie at 200.
    let answers = |pointer: &str, length: &str| {
        Guest::honest().doing(
            "call",
            &format!(
                "(i32.store (i32.const 204) (i32.const {pointer}))
                (i32.store (i32.const 208) (i32.const {length}))
                (i32.const 200)"
            ),
        )
    };
    trap(&answers("1024", "0x7fffffff"), "out of bounds").await;
    trap(&answers("0xfffffff0", "100"), "out of bounds").await;
    trap(&answers("262143", "2"), "out of bounds").await;
    assert!(answers("1024", "2").call(tight()).await.is_ok());
    let no_utf8 = Guest::honest().answering(*b"\"\xff\xfe\"");
    trap(&no_utf8, "utf-8").await;
    assert!(
        Guest::honest()
            .answering("\"é\"")
            .call(tight())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn lies_about_a_list_are_traps() {
    // Pointer and length of the list lie at 200.
    let lists = |length: &str| {
        Guest::honest().doing(
            "list-tools",
            &format!(
                "(i32.store (i32.const 200) (i32.const 64))
                (i32.store (i32.const 204) (i32.const {length}))
                (i32.const 200)"
            ),
        )
    };
    let listed = async |length: &str| {
        let plugin = lists(length).load().unwrap();
        App::list_tools(&plugin, tight()).await
    };
    for length in ["0x0fffffff", "0x7fffffff", "-1"] {
        let error = listed(length).await.unwrap_err().to_string();
        assert!(error.contains("trapped"), "{length}: {error}");
    }
    assert_eq!(listed("1").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_pointer_that_is_not_aligned_is_a_trap() {
    trap(&Guest::honest().doing("call", "(i32.const 161)"), "aligned").await;
    trap(
        &Guest::honest().doing("call", "(i32.const 0x7ffffff0)"),
        "out of bounds",
    )
    .await;
}

#[tokio::test]
async fn a_case_that_the_type_does_not_have_is_a_trap() {
    let answers = |case: u8| {
        Guest::honest().doing(
            "open",
            &format!("(i32.store8 (i32.const 200) (i32.const {case})) (i32.const 200)"),
        )
    };
    trap(&answers(2), "discriminant").await;
    trap(&answers(255), "discriminant").await;
    assert!(answers(0).open(tight()).await.is_ok());
}

#[tokio::test]
async fn a_realloc_that_points_outside_is_a_trap() {
    let guest = Guest::honest().doing("cabi_realloc", "(i32.const 0x7ffffff0)");
    trap(&guest, "realloc").await;
}

#[tokio::test]
async fn a_forged_handle_is_a_trap() {
    let drops = |handle: &str| {
        Guest::honest()
            .with(
                r#"(import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-instant" (func $take (param i64) (result i32)))
                (import "wasi:io/poll@0.2.6" "[resource-drop]pollable" (func $drop (param i32)))
                (import "wasi:io/poll@0.2.6" "[method]pollable.ready" (func $ready (param i32) (result i32)))"#,
            )
            .doing("call", &format!("(call $drop {handle}) (i32.const 160)"))
    };
    trap(&drops("(i32.const 9999)"), "handle").await;
    trap(&drops("(i32.const 0)"), "handle").await;
    let own = drops("(call $take (i64.const 0))");
    assert!(own.call(tight()).await.is_ok());
    let used = own.doing(
        "state",
        "(drop (call $ready (i32.const 77))) (i32.const 176)",
    );
    trap(&used, "handle").await;
}

#[tokio::test]
async fn json_that_can_be_read_in_two_ways_is_refused() {
    for (answer, said) in [
        (r#"{"a": 1, "a": 2}"#, "`a` twice"),
        (r#"[{"b": {"c": 1, "c": 1}}]"#, "`c` twice"),
        ("{\"a\": 1} {}", "no JSON"),
        ("", "no JSON"),
        ("nan", "no JSON"),
    ] {
        let fault = Guest::honest()
            .answering(answer)
            .call(tight())
            .await
            .unwrap_err();
        assert!(
            matches!(&fault, GuestFault::BadOutput { reason } if reason.contains(said)),
            "{answer}: {fault:?}"
        );
    }
    let plain = Guest::honest().answering(r#"{"a": {"b": 1}, "b": 1}"#);
    assert!(plain.call(tight()).await.is_ok());
}

/// What is said when a component with these items is loaded.
fn refused(items: &str) -> String {
    let text = format!(
        "(component {items} (instance $empty) (export \"pibench:plugin/tools@0.1.0\" (instance $empty)))"
    );
    let (_dir, path) = file(&wat::parse_str(text).unwrap());
    let plugins = Plugins::new([].into(), Vec::new(), cache());
    plugins.load_file("guest", &path).unwrap_err().to_string()
}

#[test]
fn what_the_engine_turned_off_is_refused_by_name() {
    let mut wrong = Vec::new();
    for (items, said) in [
        ("(core module (memory i64 1))", "memory64"),
        ("(core module (memory 1) (memory 1))", "multiple memories"),
        ("(core module (memory 1 1 shared))", "threads"),
        (
            "(core module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))",
            "threads",
        ),
        ("(core module (type (struct (field i32))))", "gc"),
        (
            "(core module (type $f (func)) (type (cont $f)))",
            "stack switching",
        ),
        ("(core module (func $f (return_call $f)))", "tail calls"),
        (
            "(core module (func (param v128 v128 v128) (result v128)
                (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2))))",
            "relaxed SIMD",
        ),
        ("(core module (memory 1 (pagesize 1)))", "custom page sizes"),
        (
            "(core module $m (func (export \"f\"))) (core instance $i (instantiate $m))
            (func (canon lift (core func $i \"f\") async))",
            "async",
        ),
        ("(core func (canon task.return))", "async"),
        ("(core func (canon thread.index))", "thread"),
    ] {
        let error = refused(items).to_lowercase();
        if !error.contains(&said.to_lowercase()) {
            wrong.push(format!("`{said}` is not in: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let plain = refused("(core module (memory 1) (func (drop (i32.load (i32.const 0)))))");
    assert!(plain.contains("instance export"), "{plain}");
}

/// Types and components within each other: read in bounded time and stack, and refused with a reason.
#[test]
fn component_types_without_end_are_refused() {
    let chain = |first: &str, next: &dyn Fn(usize) -> String, many: usize| {
        let types = (1..many).map(|n| format!("(type $t{n} {})\n", next(n - 1)));
        format!("(type $t0 {first})\n{}", types.collect::<String>())
    };
    let within = |open: &str, depth: usize| format!("{}{}", open.repeat(depth), ")".repeat(depth));
    for (what, items) in [
        (
            "lists",
            chain("(list u8)", &|n| format!("(list $t{n})"), 20_000),
        ),
        (
            "pairs",
            chain("(tuple u8 u8)", &|n| format!("(tuple $t{n} $t{n})"), 64),
        ),
        (
            "records",
            chain(
                "(list u8)",
                &|n| format!("(record (field \"a\" $t{n}) (field \"b\" $t{n}))"),
                64,
            ),
        ),
        ("components", within("(component ", 80)),
        ("very many", "(type (list u8))".repeat(1_100_000)),
    ] {
        let text = format!("(component {items})");
        let bytes = wat::parse_str(text).unwrap();
        let (_dir, path) = file(&bytes);
        let plugins = Plugins::new([].into(), Vec::new(), cache());
        let error = plugins.load_file("guest", &path).unwrap_err().to_string();
        assert!(!error.is_empty() && error.len() < 10_000, "{what}: {error}");
        println!("{what}: {error}");
    }
    assert!(Guest::honest().load().is_ok());
}

#[test]
fn a_preview1_module_is_refused() {
    let module = "(module (import \"wasi_snapshot_preview1\" \"fd_write\"
        (func (param i32 i32 i32 i32) (result i32))))";
    let scene = Scene::new();
    let path = scene.path("guest.wasm");
    std::fs::write(&path, wat::parse_str(module).unwrap()).unwrap();
    let output = scene.run(&["check", path.to_str().unwrap()]);
    expect(&output, 3, &["no WebAssembly component"]);
    std::fs::write(&path, Guest::honest().component()).unwrap();
    expect(&scene.run(&["check", path.to_str().unwrap()]), 0, &[]);
}

#[tokio::test]
async fn a_huge_initial_memory_is_refused() {
    // Above what one memory of the engine has, and above what the call may have.
    let error = Guest::honest().memory("4096").load().unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    let fault = Guest::honest()
        .memory("1100")
        .open(Limits::APP)
        .await
        .unwrap_err();
    assert_eq!(fault, GuestFault::Memory { limit: 64 << 20 });
    assert!(
        Guest::honest()
            .memory("900")
            .open(Limits::APP)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn data_far_outside_is_a_trap_and_far_inside_is_not() {
    let outside = Guest::honest().with("(data (i32.const 0x7fffff00) \"bomb\")");
    trap(&outside, "out of bounds").await;
    let many: Vec<String> = (0..2000)
        .map(|index| format!("(data (i32.const {}) \"x\")", 1_000_000 + index * 4096))
        .collect();
    let sparse = Guest::honest().memory("200").with(&many.concat());
    assert!(sparse.call(tight()).await.is_ok());
}

#[tokio::test]
async fn a_place_in_the_pool_is_empty_for_the_next_session() {
    // Says whether its memory was empty, and leaves a mark.
    let guest = Guest::honest().answering("0").doing(
        "call",
        "(local $page i32)
        (local.set $page (i32.mul (memory.grow (i32.const 1)) (i32.const 65536)))
        (if (i32.or (i32.load (local.get $page)) (i32.load (i32.const 100000)))
            (then (i32.store8 (i32.const 1024) (i32.const 0x31))))
        (i32.store (local.get $page) (i32.const 7))
        (i32.store (i32.const 100000) (i32.const 7))
        (i32.const 160)",
    );
    let plugin = guest.load().unwrap();
    for _ in 0..50 {
        let mut app = open(Arc::clone(&plugin), tight()).await.unwrap();
        assert_eq!(call(&mut app).await.unwrap(), json!(0), "a mark was found");
        assert_eq!(call(&mut app).await.unwrap(), json!(1), "its own mark");
    }
}

#[tokio::test]
async fn an_idle_app_answers_after_its_deadline() {
    let limits = Limits {
        wall: Duration::from_millis(20),
        ..tight()
    };
    let mut app = Guest::honest().open(limits).await.unwrap();
    // Deadlines are armed by calls: time between them is nobody's.
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(call(&mut app).await.unwrap(), json!({}));
}

#[tokio::test]
async fn a_timeout_of_one_leaves_the_other() {
    let endless = Limits {
        fuel: u64::MAX,
        wall: Duration::from_millis(40),
        ..Limits::APP
    };
    let patient = Limits {
        wall: Duration::from_mins(1),
        ..endless
    };
    // Turns a while: longer than the other's deadline.
    let slow = Guest::honest().doing(
        "call",
        "(local $n i64)
        (loop $l
            (local.set $n (i64.add (local.get $n) (i64.const 1)))
            (br_if $l (i64.lt_u (local.get $n) (i64.const 100000000))))
        (i32.const 160)",
    );
    let mut spinning = Guest::honest()
        .doing("call", LOOP)
        .open(endless)
        .await
        .unwrap();
    let mut working = slow.open(patient).await.unwrap();
    let (timeout, answer) = tokio::join!(call(&mut spinning), call(&mut working));
    assert_eq!(timeout, Err(GuestFault::Busy { limit_ms: 40 }));
    assert_eq!(answer, Ok(json!({})));
}

/// On one thread, so that each has a tenth of a processor: together they last ten times as long as one of them may.
#[tokio::test]
async fn a_crowd_of_spinning_guests_makes_nobody_late_but_themselves() {
    let limits = Limits {
        fuel: u64::MAX,
        wall: Duration::from_millis(100),
        ..Limits::APP
    };
    let endless = Guest::honest().doing("call", LOOP).load().unwrap();
    let brief = "(local $n i32) (loop $on
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $on (i32.lt_u (local.get $n) (i32.const 10000000))))
        (i32.const 160)";
    let brief = Guest::honest().doing("call", brief).load().unwrap();
    let spin = || async {
        let mut app = open(Arc::clone(&endless), limits).await?;
        call(&mut app).await
    };
    let work = async {
        let mut app = open(brief, limits).await?;
        call(&mut app).await
    };
    let crowd = futures::future::join_all((0..9).map(|_| spin()));
    let (crowd, worked) = tokio::join!(crowd, work);
    for spun in crowd {
        assert_eq!(spun, Err(GuestFault::Busy { limit_ms: 100 }));
    }
    assert_eq!(worked, Ok(json!({})));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_leaves_the_app_as_it_was() {
    let limits = Limits {
        fuel: u64::MAX,
        wall: Duration::from_mins(1),
        ..Limits::APP
    };
    let mut app = Guest::honest()
        .doing("call", LOOP)
        .open(limits)
        .await
        .unwrap();
    let dropped = tokio::time::timeout(Duration::from_millis(20), call(&mut app)).await;
    assert!(dropped.is_err());
    assert!(!app.is_live(), "its instance went with it");
    assert_eq!(&*app.state().await.unwrap(), "{}");
}

/// The fuel of opening an app and of two calls.
async fn fuel(on_demand: bool, folder: &std::path::Path) -> Vec<u64> {
    let terms = Terms {
        on_demand,
        ..Terms::default()
    };
    let plugins = Plugins::on_terms([].into(), Vec::new(), folder, terms);
    let plugin = plugins
        .load_file("app", &crate::scene::hostile("app"))
        .map(Arc::new)
        .unwrap();
    let mut app = open(plugin, Limits::APP).await.unwrap();
    for tool in ["count", "draw"] {
        app.call(tool, &json!({}), now()).await.unwrap().unwrap();
    }
    app.take_measured().iter().map(|call| call.fuel).collect()
}

#[tokio::test]
async fn fuel_is_the_same_pooled_and_on_demand_cold_and_cached() {
    let (pooled, on_demand) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = fuel(false, pooled.path()).await;
    assert!(first.iter().all(|&fuel| fuel > 0), "{first:?}");
    assert_eq!(fuel(false, pooled.path()).await, first, "cached");
    assert_eq!(fuel(true, on_demand.path()).await, first, "on demand");
    assert_eq!(fuel(true, on_demand.path()).await, first);
}

#[test]
fn fuel_is_the_same_on_one_thread_and_on_eight() {
    let spent = |threads: usize| -> Vec<Vec<u64>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..8 {
                tasks.spawn(fuel(false, cache()));
            }
            tasks.join_all().await
        })
    };
    let one = spent(1);
    assert!(one.iter().all(|spent| *spent == one[0]), "{one:?}");
    assert_eq!(spent(8), one);
}
