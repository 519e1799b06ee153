use wasmtime::component::{Component, Instance, Linker, TypedFunc};
use wasmtime::{Engine, Store};

use super::*;

/// Calls a host function, deep in its own frames.
const GUEST: &str = r#"
    (component
        (import "ask" (func $ask (result u32)))
        (core func $lowered (canon lower (func $ask)))
        (core module $inner
            (import "host" "ask" (func $ask (result i32)))
            (func $deeper (result i32) call $ask)
            (func (export "run") (result i32) call $deeper))
        (core instance $made (instantiate $inner (with "host" (instance (export "ask" (func $lowered))))))
        (func (export "run") (result u32) (canon lift (core func $made "run"))))
"#;

/// What a call comes to whose host function does `ask`, as this module bounds and names calls.
async fn run(ask: fn() -> u32) -> Result<u32, GuestFault> {
    let engine = Engine::default();
    let component = Component::new(&engine, wat::parse_str(GUEST).unwrap()).unwrap();
    let mut linker = Linker::new(&engine);
    let mut root = linker.root();
    let defined = root.func_wrap_async(
        "ask",
        move |_: wasmtime::StoreContextMut<'_, ()>, (): ()| Box::new(async move { Ok((ask(),)) }),
    );
    defined.unwrap();
    let mut store = Store::new(&engine, ());
    let instance: Instance = linker
        .instantiate_async(&mut store, &component)
        .await
        .unwrap();
    let function: TypedFunc<(), (u32,)> = instance.get_typed_func(&mut store, "run").unwrap();
    let called = bound_call(Limits::APP, function.call_async(&mut store, ())).await;
    match called {
        Ok((answer,)) => Ok(answer),
        Err(error) => Err(fault(&error, false, Limits::APP)),
    }
}

#[tokio::test]
async fn a_panic_of_a_host_function_is_the_hosts_fault_of_that_call_and_the_next_guest_runs() {
    let broken = run(|| panic!("a bug of \u{1b}[2Jours")).await.unwrap_err();
    assert!(broken.is_infrastructure());
    assert_eq!(
        broken.to_string(),
        "could not be run: the host panicked in a call of the guest's: a bug of \\u{1b}[2Jours"
    );
    assert_eq!(run(|| 7).await, Ok(7));
}

#[test]
fn address_space_that_the_system_denies_is_the_machines_fault_and_another_end_the_guests() {
    let denied = wasmtime::Error::from(Errno::NOMEM).context("mmap failed to reserve 0x1 bytes");
    let denied = fault(&denied, false, Limits::APP);
    assert!(denied.is_infrastructure());
    let said = denied.to_string();
    assert!(
        said.contains("mmap failed to reserve") && said.contains("`ulimit -v`"),
        "{said}"
    );
    let own = fault(&wasmtime::Error::msg("unreachable"), false, Limits::APP);
    assert!(matches!(own, GuestFault::Trap { .. }), "{own}");
}
