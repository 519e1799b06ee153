//! Each limit by a test that is named after its field: what is above it is refused, what is below passes.
//! `tests/tidy.rs` fails when a field has none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pibench_sandbox::{GuestFault, GuestLimits, Limits, LoadError, Plugins, Terms};
use pibench_suite::manifest::PolicyFile;

use crate::guest::{Guest, LOOP, call, file, open, tight};
use crate::scene::{cache, hostile};

async fn ok(guest: &Guest, limits: Limits) {
    guest.call(limits).await.unwrap();
}

async fn fault(guest: &Guest, limits: Limits) -> GuestFault {
    guest.call(limits).await.unwrap_err()
}

fn bad_output(fault: &GuestFault, said: &str) {
    assert!(
        matches!(fault, GuestFault::BadOutput { reason } if reason.contains(said)),
        "{fault:?}"
    );
}

#[tokio::test]
async fn fuel() {
    let guest = Guest::honest().doing("call", LOOP);
    assert_eq!(
        fault(&guest, tight()).await,
        GuestFault::Fuel { limit: 1_000_000 }
    );
    ok(&Guest::honest(), tight()).await;
}

#[tokio::test]
async fn wall() {
    let guest = Guest::honest().doing("call", LOOP);
    let limits = Limits {
        fuel: u64::MAX,
        wall: Duration::from_millis(30),
        ..tight()
    };
    assert_eq!(
        fault(&guest, limits).await,
        GuestFault::Busy { limit_ms: 30 }
    );
    let limits = Limits {
        fuel: u64::MAX,
        ..tight()
    };
    ok(&Guest::honest(), limits).await;
}

/// 300 KiB: the four pages of the guest's memory, and some more.
const MEMORY: Limits = Limits {
    memory: 300 << 10,
    ..Limits::APP
};

const GROW: &str =
    "(if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable)) (i32.const 160)";

#[tokio::test]
async fn memory() {
    let guest = Guest::honest().doing("call", GROW);
    let fault = fault(&guest, MEMORY).await;
    assert_eq!(fault, GuestFault::Memory { limit: 300 << 10 });
    ok(&guest, tight()).await;
}

#[tokio::test]
async fn memory_is_the_sum_of_memories_and_tables() {
    let guest = Guest::honest()
        .with("(table $t 1 funcref)")
        .doing(
            "call",
            "(if (i32.eq (table.grow $t (ref.null func) (i32.const 10000)) (i32.const -1)) (then unreachable)) (i32.const 160)",
        );
    let fault = fault(&guest, MEMORY).await;
    assert_eq!(fault, GuestFault::Memory { limit: 300 << 10 });
    ok(&guest, tight()).await;
}

#[tokio::test]
async fn memory_of_the_start_counts() {
    let guest = Guest::honest().memory("8");
    let fault = fault(&guest, MEMORY).await;
    assert_eq!(fault, GuestFault::Memory { limit: 300 << 10 });
    ok(&guest, tight()).await;
}

#[tokio::test]
async fn result_bytes() {
    let guest = Guest::honest().answering("[100]");
    let limits = |result_bytes| Limits {
        result_bytes,
        ..tight()
    };
    bad_output(
        &fault(&guest, limits(4)).await,
        "5 bytes of JSON, more than 4",
    );
    ok(&guest, limits(5)).await;
}

#[tokio::test]
async fn json_depth() {
    let guest = Guest::honest().answering("[[1]]");
    let limits = |json_depth| Limits {
        json_depth,
        ..tight()
    };
    bad_output(&fault(&guest, limits(1)).await, "nested too deep");
    ok(&guest, limits(2)).await;
}

#[tokio::test]
async fn json_nodes() {
    let guest = Guest::honest().answering("[1,2]");
    let limits = |json_nodes| Limits {
        json_nodes,
        ..tight()
    };
    bad_output(&fault(&guest, limits(2)).await, "more than 2 JSON values");
    ok(&guest, limits(3)).await;
}

/// Logs `length` bytes.
fn logs(length: usize) -> Guest {
    Guest::honest()
        .answering(format!("\"{}\"", "x".repeat(3000)))
        .with(r#"(import "pibench:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))"#)
        .doing(
            "call",
            &format!(
                "(call $log (i32.const 1) (i32.const 1025) (i32.const {length})) (i32.const 160)"
            ),
        )
}

#[tokio::test]
async fn log_bytes() {
    let limits = Limits {
        log_bytes: 100,
        ..tight()
    };
    let mut app = logs(40).open(limits).await.unwrap();
    call(&mut app).await.unwrap();
    let first = app.take_log();
    assert!(!first.contains("[log cut]"), "{first}");
    for _ in 0..20 {
        call(&mut app).await.unwrap();
    }
    let rest = app.take_log();
    assert_eq!(rest.matches("[log cut]").count(), 1, "{rest}");
}

#[tokio::test]
async fn hostcall_bytes() {
    let limits = Limits {
        hostcall_bytes: 4000,
        ..tight()
    };
    let fault = fault(&logs(5000), limits).await;
    assert!(matches!(fault, GuestFault::Trap { .. }), "{fault:?}");
    ok(&logs(500), limits).await;
}

/// Takes handles and gives none back.
fn takes(handles: usize) -> Guest {
    Guest::honest()
        .with(
            r#"(import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-instant" (func $take (param i64) (result i32)))"#,
        )
        .doing(
            "call",
            &format!(
                "(local $n i32)
                (loop $more
                    (drop (call $take (i64.const 0)))
                    (local.set $n (i32.add (local.get $n) (i32.const 1)))
                    (br_if $more (i32.lt_u (local.get $n) (i32.const {handles}))))
                (i32.const 160)"
            ),
        )
}

#[tokio::test]
async fn handles() {
    let limits = Limits {
        handles: 10,
        ..tight()
    };
    let fault = fault(&takes(20), limits).await;
    assert!(
        matches!(&fault, GuestFault::Trap { trap } if trap.contains("handle")),
        "{fault:?}"
    );
    ok(&takes(9), limits).await;
}

#[tokio::test]
async fn resources() {
    let limits = Limits {
        resources: 10,
        ..tight()
    };
    let fault = fault(&takes(20), limits).await;
    assert!(
        matches!(&fault, GuestFault::Trap { trap } if trap.contains("resource table")),
        "{fault:?}"
    );
    ok(&takes(4), limits).await;
}

#[tokio::test]
async fn snapshot_bytes() {
    let limits = |snapshot_bytes| Limits {
        snapshot_bytes,
        ..tight()
    };
    let error = Guest::honest().open(limits(1)).await.unwrap_err();
    bad_output(&error, "a snapshot of 2 bytes, more than 1");
    ok(&Guest::honest(), limits(2)).await;
}

fn few_places(places: usize) -> Plugins {
    let mut limits = GuestLimits::default();
    limits.app.live_stores = places;
    let terms = Terms {
        limits,
        ..Terms::default()
    };
    Plugins::on_terms([].into(), Vec::new(), cache(), terms)
}

/// One app spins in its call, another is opened.
async fn beside_a_busy_one(places: usize, queue: Duration) -> Result<(), GuestFault> {
    let plugins = few_places(places);
    let busy = Guest::honest()
        .doing("call", LOOP)
        .load_by(&plugins)
        .unwrap();
    let limits = Limits {
        fuel: u64::MAX,
        wall: Duration::from_mins(1),
        queue,
        ..Limits::APP
    };
    let mut app = open(Arc::clone(&busy), limits).await?;
    tokio::select! {
        biased;
        opened = async {
            tokio::task::yield_now().await;
            open(busy, limits).await
        } => opened.map(drop),
        called = call(&mut app) => panic!("it ended: {called:?}"),
    }
}

#[tokio::test]
async fn live_stores() {
    let soon = Duration::from_millis(50);
    assert_eq!(
        beside_a_busy_one(1, soon).await,
        Err(GuestFault::Overloaded {
            places: 1,
            waited_ms: 50
        })
    );
    beside_a_busy_one(2, Duration::from_mins(1)).await.unwrap();
}

#[tokio::test]
async fn queue() {
    let fault = beside_a_busy_one(1, Duration::from_millis(20))
        .await
        .unwrap_err();
    assert!(
        matches!(fault, GuestFault::Overloaded { waited_ms: 20, .. }) && fault.is_infrastructure(),
        "{fault:?}"
    );
}

/// Loads the hostile app with limits of loading, compiled in a child and nowhere cached.
fn load(change: impl FnOnce(&mut GuestLimits)) -> Result<(), LoadError> {
    load_from(&hostile("app"), change)
}

fn load_from(path: &Path, change: impl FnOnce(&mut GuestLimits)) -> Result<(), LoadError> {
    let mut limits = GuestLimits::default();
    change(&mut limits);
    let cache = tempfile::tempdir().unwrap();
    let terms = Terms {
        signers: None,
        limits,
        lock: None,
        policy: Some(PolicyFile::default()),
        own: Vec::new(),
        on_demand: false,
        compiler: Some(env!("CARGO_BIN_EXE_pibench-host").into()),
    };
    let plugins = Plugins::on_terms([].into(), Vec::new(), cache.path(), terms);
    plugins.load_file("app", path).map(drop)
}

fn refused(error: Result<(), LoadError>, said: &str) {
    let error = error.unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
}

#[test]
fn component_bytes() {
    let size = usize::try_from(hostile("app").metadata().unwrap().len()).unwrap();
    refused(
        load(|limits| limits.load.component_bytes = size - 1),
        "component_bytes",
    );
    load(|limits| limits.load.component_bytes = size).unwrap();
}

#[test]
fn compile_wall() {
    refused(
        load(|limits| limits.load.compile_wall = Duration::from_millis(1)),
        "takes two processors longer than 1 ms",
    );
    load(|_| {}).unwrap();
}

#[test]
fn compile_memory() {
    refused(
        load(|limits| limits.load.compile_memory = 64 << 20),
        "takes more than 67108864 bytes of memory",
    );
    load(|_| {}).unwrap();
}

#[test]
fn a_fault_of_a_component_is_told_however_long_it_is() {
    let fault = |name: &str| {
        let text = format!(
            "(component (instance $empty) (export \"pibench:plugin/tools@0.1.0\" (instance $empty)) \
             (export \"{name}\" (instance $empty)))"
        );
        let (_dir, path) = file(&wat::parse_str(text).unwrap());
        let short = |limits: &mut GuestLimits| limits.load.compile_wall = Duration::from_secs(1);
        let error = load_from(&path, short).unwrap_err().to_string();
        assert!(error.contains("it cannot be compiled"), "{error}");
        error
    };
    // No name for an export; more of them than a pipe holds.
    assert!(fault("A_A").contains("A_A"));
    assert!(fault(&"A_".repeat(49_500)).len() < 10_000);
}

/// A component that is nothing but these items: it is looked at, compiled, and then lacks its functions.
fn raw(items: &str) -> String {
    let text = format!(
        "(component {items} (instance $empty) (export \"pibench:plugin/tools@0.1.0\" (instance $empty)))"
    );
    let (_dir, path) = file(&wat::parse_str(text).unwrap());
    let plugins = Plugins::new([].into(), Vec::new(), cache());
    let error = plugins.load_file("guest", &path).unwrap_err();
    error.to_string()
}

fn above_and_at(above: &str, at: &str, said: &str) {
    let error = raw(above);
    assert!(error.contains(said), "{error}");
    let error = raw(at);
    assert!(!error.contains(said), "{error}");
}

#[test]
fn core_instances() {
    let instances = |count| {
        format!(
            "(core module $m) {}",
            "(core instance (instantiate $m))".repeat(count)
        )
    };
    above_and_at(&instances(17), &instances(16), "core module instances");
}

#[test]
fn memories() {
    let memories = |count| {
        format!(
            "(core module $m (memory 1)) {}",
            "(core instance (instantiate $m))".repeat(count)
        )
    };
    above_and_at(&memories(3), &memories(2), "memories");
}

#[test]
fn tables() {
    let tables = |count| {
        let table = "(table 1 funcref)".repeat(count);
        format!("(core module $m {table}) (core instance (instantiate $m))")
    };
    above_and_at(&tables(17), &tables(16), "tables");
}

#[tokio::test]
async fn table_elements() {
    let table = |elements| {
        format!("(core module $m (table {elements} funcref)) (core instance (instantiate $m))")
    };
    above_and_at(&table(20_001), &table(20_000), "table");
    let grows = |elements| {
        Guest::honest().with("(table $t 1 funcref)").doing(
            "call",
            &format!("(if (i32.eq (table.grow $t (ref.null func) (i32.const {elements})) (i32.const -1)) (then unreachable)) (i32.const 160)"),
        )
    };
    let fault = fault(&grows(20_000), Limits::APP).await;
    assert!(matches!(fault, GuestFault::Trap { .. }), "{fault:?}");
    ok(&grows(19_999), Limits::APP).await;
}

/// Calls itself so often.
fn deep(frames: u32) -> Guest {
    Guest::honest()
        .with(
            "(func $down (param $n i32) (result i32)
                (if (result i32) (i32.eqz (local.get $n))
                    (then (i32.const 0))
                    (else (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))))",
        )
        .doing(
            "call",
            &format!("(drop (call $down (i32.const {frames}))) (i32.const 160)"),
        )
}

#[tokio::test]
async fn wasm_stack() {
    let fault = fault(&deep(10_000_000), Limits::APP).await;
    assert!(
        matches!(&fault, GuestFault::Trap { trap } if trap.contains("stack")),
        "{fault:?}"
    );
    ok(&deep(1000), Limits::APP).await;
}

/// A host function runs on what the guest left of the stack: it must still have room when the guest has used all of its.
#[tokio::test]
async fn async_stack() {
    let guest = Guest::honest()
        .with(
            r#"(import "pibench:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
            (func $down (param $n i32)
                (call $log (i32.const 1) (i32.const 192) (i32.const 2))
                (call $down (i32.add (local.get $n) (i32.const 1))))"#,
        )
        .doing("call", "(call $down (i32.const 0)) (i32.const 160)");
    // Each line of the log is paid for, and the stack is to end first.
    let limits = Limits {
        fuel: 1 << 40,
        ..Limits::APP
    };
    let fault = fault(&guest, limits).await;
    assert!(
        matches!(&fault, GuestFault::Trap { trap } if trap.contains("stack")),
        "{fault:?}"
    );
    ok(&deep(1000), Limits::APP).await;
}

/// More apps are open than there are places; none notices. That the engine's pool is larger than all places together is
/// a test of `engine`.
#[tokio::test]
async fn pool() {
    let plugins = few_places(2);
    let plugin = Guest::honest().load_by(&plugins).unwrap();
    let mut apps = Vec::new();
    for _ in 0..6 {
        apps.push(open(Arc::clone(&plugin), tight()).await.unwrap());
    }
    for app in &mut apps {
        call(app).await.unwrap();
    }
    assert_eq!(apps.iter().filter(|app| app.is_live()).count(), 2);
}
