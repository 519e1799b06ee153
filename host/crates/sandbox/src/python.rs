//! Programs that the shell runs with `python3`: each in a store of its own, on what is left of the command's fuel and
//! time, with the workspace as the only files.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::bindings::python_runtime::PythonRuntime;
use super::bindings::shell::pibench::plugin::python::Outcome;
use super::bindings::tool_app::pibench::plugin::types::Program;
use super::fault::GuestFault;
use super::limits::Limits;
use super::live::Live;
use super::plugin::Plugin;
use super::program::{Python, Share, Used};
use super::state::{Reach, State, Stdio};
use crate::workspace::Workspace;

/// Programs are run by this plugin; by none where it was not built.
pub(super) fn runner(plugin: Option<Arc<Plugin>>) -> Python {
    let run = plugin.map(|plugin| {
        let run = move |share| {
            let plugin = Arc::clone(&plugin);
            async move { run(&plugin, share).await }.boxed()
        };
        Arc::new(run) as Arc<_>
    });
    Python { run }
}

/// The interface that `python3` calls.
const INTERFACE: &str = "pibench:plugin/python@0.1.0";

/// Fuel that stays with the shell, so that it can say why a program was stopped.
const RESERVE: u64 = 100_000_000;

type Answer = Result<Outcome, String>;

/// Links `pibench:plugin/python`. By hand, because a program takes from the fuel of the store that calls.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap_async(
        "run",
        |store: StoreContextMut<'_, State>, (program, stdin): (Program, Vec<u8>)| {
            Box::new(async move { Ok((start(store, program, stdin).await?,)) })
        },
    )
}

async fn start(
    mut store: StoreContextMut<'_, State>,
    program: Program,
    stdin: Vec<u8>,
) -> wasmtime::Result<Answer> {
    let Some(Python { run }) = store.data().python.clone() else {
        return Ok(Err("there is no Python here".into()));
    };
    let Some(run) = run else {
        let reason = "there is no Python on this machine: the plugin was not built";
        return Ok(Err(reason.into()));
    };
    let fuel = store.get_fuel()?;
    let state = store.data();
    let time = state.clocks.passed();
    let (_, most) = time;
    let share = Share {
        program,
        stdin,
        files: state.files.as_ref().map(Workspace::share),
        now: state.clocks.moment(),
        time,
        key: state.key,
        fuel: fuel.saturating_sub(RESERVE),
        wall: state.wall,
    };
    let (ended, used) = run(share).await;
    store.set_fuel(fuel - used.fuel.min(fuel))?;
    store.data().clocks.resume(used.elapsed, most);
    match ended {
        Ok(outcome) => Ok(Ok(outcome)),
        Err(GuestFault::Slept { .. }) => {
            // Past the end, so that the shell's own timeout ends the command line.
            store.data().clocks.resume(most + PAST_THE_END, most);
            Ok(Err(
                "stopped: it slept past the end of the command's time".into()
            ))
        }
        // The time is the whole command's.
        Err(fault @ GuestFault::Busy { .. }) => Err(wasmtime::Error::new(fault)),
        Err(fault) if fault.is_infrastructure() => Err(wasmtime::Error::new(fault)),
        Err(fault) => Ok(Err(format!("stopped: it {fault}"))),
    }
}

const PAST_THE_END: Duration = Duration::from_millis(1);

/// Runs a program; also says what it took.
async fn run(plugin: &Plugin, share: Share) -> (Result<Outcome, GuestFault>, Used) {
    let host = |reason: String| GuestFault::Host { reason };
    let Share {
        program,
        stdin,
        files,
        now,
        time: (elapsed, most),
        key,
        fuel,
        wall,
    } = share;
    let limits = Limits {
        fuel,
        wall,
        ..plugin.capped(Limits::PYTHON)
    };
    let unused = Used { fuel: 0, elapsed };
    let Some(pre) = &plugin.interpreter else {
        let reason = format!("`{}` runs no programs", plugin.name);
        return (Err(host(reason)), unused);
    };
    let streams = Stdio::new(stdin);
    let stdio = streams.clone();
    let reach = Reach::Program { files, stdio };
    let made = plugin.start(limits, key, reach, async |store| {
        pre.instantiate_async(store).await
    });
    let mut live: Live<PythonRuntime> = match made.await {
        Ok(live) => live,
        Err(fault) => return (Err(fault), unused),
    };
    let ran = live
        .call(limits, now, async |live: &mut Live<PythonRuntime>| {
            live.store.data().clocks.resume(elapsed, most);
            let interpreter = live.guest.pibench_plugin_interpreter();
            interpreter.call_run(&mut live.store, &program).await
        })
        .await;
    let used = Used {
        fuel: ran.fuel(),
        elapsed: live.store.data().clocks.passed().0,
    };
    // A program may leave by the system's door.
    let ended = match live.store.data().exited {
        Some(code) if ran.result.is_err() => Ok(code),
        _ => ran.result,
    };
    let outcome = ended.map(|exit_code| Outcome {
        stdout: streams.stdout.contents().into(),
        stderr: streams.stderr.contents().into(),
        exit_code,
    });
    (outcome, used)
}
