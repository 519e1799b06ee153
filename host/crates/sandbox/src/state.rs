//! What a store holds beside the guest: an inert WASI, the session's clock, seeded randomness, a bounded log, and the
//! limiter. Nothing here reaches the machine.

use std::any::Any;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use jiff::civil::DateTime;
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng as _, SeedableRng as _, TryRng};
use rustix::io::Errno;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{Component, ResourceTable};
use wasmtime::{CallHook, Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::clock::{Clocks, Overslept};
use super::engine::EngineLimits;
use super::fault::{GuestFault, bounded, escaped};
use super::limits::Limits;
use super::policy::Grants;
use super::profile::Profile;
use super::program::Python;
use super::served::{Late, patience, serve};
use crate::workspace::{View, Workspace};
use pibench_core::vocabulary::Grant;
use pibench_memory::{Holding, hold};

/// Whose store it is.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) engine: &'a Engine,
    pub(super) component: &'a Component,
    pub(super) profile: Profile,
    pub(super) grants: Grants,
}

/// The data of one store.
pub(super) struct State {
    /// Made when the guest first asks for it, which most never do.
    wasi: Option<WasiCtx>,
    /// For `wasi`: streams of its own.
    stdio: Option<Stdio>,
    table: ResourceTable,
    pub(super) limiter: Limiter,
    pub(super) clocks: Clocks,
    random: Random,
    pub(super) log: Log,
    /// The workspace at the moment of grading; None for apps.
    pub(super) workspace: Option<View>,
    /// The workspace to read and write: the shell's, and that of its Python programs.
    pub(super) files: Option<Workspace>,
    /// How the shell starts Python programs; None elsewhere.
    pub(super) python: Option<Python>,
    /// The exit code of a guest that left by WASI's door.
    pub(super) exited: Option<u8>,
    pub(super) work: HostWork,
    /// That of the call of the host which returns next is the engine's own, at a tick.
    ticked: bool,
    /// In the listings that are open.
    pub(super) names: usize,
    pub(super) key: [u8; 32],
    grants: Grants,
    /// The interface that the guest used in this call and was not granted.
    pub(super) denied: Option<Grant>,
    /// The place in the engine's pool, given back with the store.
    _permit: OwnedSemaphorePermit,
    /// What a processor may work for the call.
    pub(super) wall: Duration,
}

impl State {
    /// A store with nothing in reach but what the plugin was granted. `key` seeds everything that the guest may draw at
    /// random.
    pub(super) fn store(
        owner: Owner<'_>,
        limits: Limits,
        key: [u8; 32],
        reach: Reach,
        permit: OwnedSemaphorePermit,
    ) -> Store<Self> {
        let (view, files, python, stdio) = match reach {
            Reach::Nothing => (None, None, None, None),
            Reach::View(view) => (Some(view), None, None, None),
            Reach::Shell { files, python } => (None, Some(files), Some(python), None),
            Reach::Program { files, stdio } => (None, files, None, Some(stdio)),
        };
        let Limits {
            memory,
            log_bytes,
            hostcall_bytes,
            handles,
            resources,
            // Of a call, armed for each.
            fuel: _,
            wall: _,
            // Checked where the answer is taken.
            result_bytes: _,
            json_depth: _,
            json_nodes: _,
            snapshot_bytes: _,
            // Of all instances of a kind.
            live_stores: _,
            queue: _,
        } = limits;
        let Owner {
            name,
            engine,
            component: _,
            profile,
            grants,
        } = owner;
        let key = if grants.has(Grant::Random) {
            key
        } else {
            [0; 32]
        };
        // The shell's own bounds look at the clock without end, and it waits by sleeping.
        let clocks = Clocks::new(profile != Profile::Shell);
        let mut table = ResourceTable::new();
        table.set_max_capacity(resources);
        let work = HostWork::new(limits.fuel);
        let log = Log::new(grants.has(Grant::Log).then_some(log_bytes), work.clone());
        let state = Self {
            wasi: None,
            stdio,
            table,
            limiter: Limiter::new(memory, profile.limits(), hold(|| format!("plugin {name}"))),
            clocks,
            random: Random::default(),
            log,
            workspace: view,
            files,
            python,
            exited: None,
            work,
            ticked: false,
            names: 0,
            key,
            grants,
            denied: None,
            _permit: permit,
            wall: Duration::ZERO,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(hostcall_bytes);
        store.set_max_component_handles(handles);
        store.epoch_deadline_callback(|mut context| context.data_mut().tick());
        store.call_hook(|mut context, hook| context.data_mut().charge_crossing(hook));
        store
    }

    /// At a tick: ends a guest that holds too much, and lets the others have their turn. Whose time is over is not polled again.
    fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        self.ticked = true;
        if let Some(crowded) = self.limiter.holding.ended() {
            return Err(GuestFault::from(crowded).into());
        }
        let others = Box::pin(tokio::task::yield_now());
        Ok(UpdateDeadline::YieldCustom(1, others))
    }

    /// Charges each call of the host, whichever it is, when it returns. Not that of a tick, which real time decides.
    fn charge_crossing(&mut self, hook: CallHook) -> wasmtime::Result<()> {
        match hook {
            CallHook::ReturningFromHost if std::mem::take(&mut self.ticked) => Ok(()),
            CallHook::ReturningFromHost => self.work.spend(CROSSING),
            _ => Ok(()),
        }
    }

    /// Sets the randomness of one call: the same when the call is repeated after a fault.
    pub(super) fn seed_call(&mut self, call: u64) {
        self.random = Random {
            call: Some(call),
            drawing: None,
        };
    }

    /// The next number of that randomness; before the first call, of the key's own.
    pub(super) fn draw(&mut self) -> u64 {
        let seed = || match self.random.call {
            None => self.key,
            Some(call) => *blake3::keyed_hash(&self.key, &call.to_le_bytes()).as_bytes(),
        };
        let drawing = &mut self.random.drawing;
        drawing
            .get_or_insert_with(|| ChaCha12Rng::from_seed(seed()))
            .next_u64()
    }

    /// Sets the session's moment, for a guest that may know it.
    pub(super) fn set_now(&mut self, now: DateTime) {
        if self.grants.has(Grant::Clock) {
            self.clocks.set_moment(now);
        }
    }

    /// Whether the guest may use an interface; that it may not is noted.
    pub(super) fn may_use(&mut self, grant: Grant) -> bool {
        let granted = self.grants.has(grant);
        if !granted {
            self.denied = Some(grant);
        }
        granted
    }
}

/// A stream of numbers, made when the first one is drawn, which is in few calls.
#[derive(Default)]
struct Random {
    call: Option<u64>,
    drawing: Option<ChaCha12Rng>,
}

/// What a guest may reach beside what its plugin was granted.
pub(super) enum Reach {
    Nothing,
    /// A grader's: the workspace at the moment of grading.
    View(View),
    /// The shell's: the workspace, and how Python programs are started.
    Shell {
        files: Workspace,
        python: Python,
    },
    /// A Python program's: the shell's workspace if it was started there, and streams of its own in place of the log.
    Program {
        files: Option<Workspace>,
        stdio: Stdio,
    },
}

impl State {
    pub(super) fn table_mut(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// Charges one call of the host that looks at files, and the bytes that it moves.
    pub(super) fn charge(&self, bytes: usize) -> wasmtime::Result<()> {
        self.work.charge(bytes)
    }

    /// Charges a path that the guest names, by its length.
    pub(super) fn charge_path(&self, path: &str) -> wasmtime::Result<()> {
        self.work.spend(NAMED * path.len() as u64)
    }
}

/// Work that the host does for a guest, in units of fuel: as much as the guest's own, counted apart. So a guest
/// that lets the host work without end stops at the same place each time.
#[derive(Clone)]
pub(super) struct HostWork(Arc<AtomicU64>);

/// What a call costs that looks at files, beside its bytes: about the time in which a guest does as many instructions.
const HOST_CALL: u64 = 50_000;

/// What any call of the host costs, the smallest too: half a microsecond.
const CROSSING: u64 = 2000;

/// What a handle costs that a guest waits for, in units: it is looked up and asked.
pub(super) const WAITED: u64 = 2000;

/// What a random number costs, one of a byte too.
const DRAWN: u64 = 50;

/// What a byte of a path costs: it may be the name of a folder.
const NAMED: u64 = 50;

/// What an entry of a listing costs, in bytes: its name is looked up.
pub(super) const ENTRY: usize = 4096;

/// What an entry below a folder costs that is moved, in bytes: its content is remembered as it was.
pub(super) const MOVED: usize = 50_000;

/// Names in the listings that a guest holds open. One more listing is refused.
pub(super) const MOST_NAMES: usize = 200_000;

impl HostWork {
    fn new(fuel: u64) -> Self {
        Self(Arc::new(AtomicU64::new(fuel)))
    }

    /// For the next call.
    fn refill(&self, fuel: u64) {
        self.0.store(fuel, Ordering::Relaxed);
    }

    pub(super) fn charge(&self, bytes: usize) -> wasmtime::Result<()> {
        self.spend(HOST_CALL + bytes as u64)
    }

    /// Charges where nothing can be refused: whoever has nothing left ends when the call of the host returns.
    fn owe(&self, cost: u64) {
        if self.spend(cost).is_err() {
            self.refill(0);
        }
    }

    /// Charges units.
    pub(super) fn spend(&self, cost: u64) -> wasmtime::Result<()> {
        let paid = |left: u64| left.checked_sub(cost);
        match self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(wasmtime::Trap::OutOfFuel.into()),
        }
    }
}

/// The standard streams of a program. Clones share what was written.
#[derive(Clone)]
pub(super) struct Stdio {
    stdin: Bytes,
    pub(super) stdout: MemoryOutputPipe,
    pub(super) stderr: MemoryOutputPipe,
}

/// The most that a program may write to one standard stream, in bytes (see `wit/shell.wit`). Behind it writing fails.
const STREAM: usize = 8 << 20;

impl Stdio {
    pub(super) fn new(stdin: Vec<u8>) -> Self {
        Self {
            stdin: stdin.into(),
            stdout: MemoryOutputPipe::new(STREAM),
            stderr: MemoryOutputPipe::new(STREAM),
        }
    }
}

/// Arms a call that begins now: its fuel, its time, and a limiter that remembers nothing of the last call.
pub(super) fn arm(store: &mut Store<State>, limits: Limits) -> wasmtime::Result<()> {
    store.set_fuel(limits.fuel)?;
    store.set_epoch_deadline(1);
    let state = store.data_mut();
    state.wall = limits.wall;
    state.limiter.arm();
    state.clocks.arm(limits.wall);
    state.work.refill(limits.fuel);
    Ok(())
}

/// Runs one armed call within its time. Fuel comes first wherever it counts the work, because it is the same everywhere; time is for
/// what it does not count. A panic of a host function ends the call and nothing else: the store that it left is dropped, as
/// after any fault.
pub(super) async fn bound_call<T>(
    limits: Limits,
    call: impl Future<Output = wasmtime::Result<T>>,
) -> Result<T, wasmtime::Error> {
    let mut call = std::pin::pin!(AssertUnwindSafe(call).catch_unwind());
    // Most calls neither wait nor give way, and need no measure.
    let called = match futures::poll!(call.as_mut()) {
        Poll::Ready(called) => called,
        Poll::Pending => serve(call, limits.wall)
            .await
            .map_err(wasmtime::Error::new)?,
    };
    called.unwrap_or_else(|panic| Err(HostPanic::new(panic.as_ref()).into()))
}

/// A bug of ours, met by a guest that called a host function.
#[derive(Debug, thiserror::Error)]
#[error("the host panicked in a call of the guest's: {0}")]
struct HostPanic(String);

impl HostPanic {
    fn new(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self(bounded(text.unwrap_or("without a word")))
    }
}

/// Names what ended a call.
pub(super) fn fault(error: &wasmtime::Error, refused_memory: bool, limits: Limits) -> GuestFault {
    use wasmtime::Trap;
    if let Some(panic) = error.downcast_ref::<HostPanic>() {
        return GuestFault::Host {
            reason: panic.to_string(),
        };
    }
    if error.is::<Overslept>() {
        return GuestFault::Slept {
            limit_ms: milliseconds(limits.wall),
        };
    }
    match error.downcast_ref() {
        Some(Late::Busy) => {
            return GuestFault::Busy {
                limit_ms: milliseconds(limits.wall),
            };
        }
        Some(Late::Starved) => {
            return GuestFault::Timeout {
                limit_ms: milliseconds(patience(limits.wall)),
            };
        }
        None => {}
    }
    // What the system denies the host is none of the guest's doing.
    if error.downcast_ref() == Some(&Errno::NOMEM) {
        return GuestFault::Host {
            reason: bounded(&format!(
                "{error:#}; `ulimit -v` shows what bounds the address space"
            )),
        };
    }
    // That of a guest which this one waited for.
    if let Some(fault) = error.downcast_ref::<GuestFault>() {
        return fault.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => GuestFault::Fuel { limit: limits.fuel },
        _ if refused_memory => GuestFault::Memory {
            limit: limits.memory,
        },
        Some(trap) => GuestFault::Trap {
            trap: trap.to_string(),
        },
        None => GuestFault::Trap {
            trap: bounded(&format!("{error:#}")),
        },
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Random bytes that are charged.
struct Drawing {
    numbers: ChaCha12Rng,
    work: HostWork,
}

impl TryRng for Drawing {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.work.owe(DRAWN);
        Ok(self.numbers.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.work.owe(DRAWN);
        Ok(self.numbers.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.work.owe(DRAWN * (bytes.len() as u64).div_ceil(4));
        self.numbers.fill_bytes(bytes);
        Ok(())
    }
}

fn inert_wasi(
    key: [u8; 32],
    clocks: &Clocks,
    log: &Log,
    work: &HostWork,
    stdio: Option<&Stdio>,
) -> WasiCtx {
    let derived = |label: &str| Drawing {
        numbers: ChaCha12Rng::from_seed(blake3::derive_key(label, &key)),
        work: work.clone(),
    };
    let mut seed = [0; 16];
    seed.copy_from_slice(&blake3::derive_key("pibench 2026-11 wasi insecure seed", &key)[..16]);
    let mut wasi = WasiCtxBuilder::new();
    wasi.wall_clock(clocks.clone())
        .secure_random(derived("pibench 2026-11 wasi random"))
        .insecure_random(derived("pibench 2026-11 wasi insecure"))
        .insecure_random_seed(u128::from_le_bytes(seed))
        .max_random_size(64 << 10)
        .stdout(log.clone())
        .stderr(log.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if let Some(Stdio {
        stdin,
        stdout,
        stderr,
    }) = stdio
    {
        wasi.stdin(MemoryInputPipe::new(stdin.clone()))
            .stdout(stdout.clone())
            .stderr(stderr.clone());
    }
    wasi.build()
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self {
            wasi,
            key,
            clocks,
            log,
            work,
            stdio,
            table,
            ..
        } = self;
        let ctx = wasi.get_or_insert_with(|| inert_wasi(*key, clocks, log, work, stdio.as_ref()));
        WasiCtxView { ctx, table }
    }
}

/// Bounds the sum of the instance's memories and tables, and remembers what they came to and that it refused.
pub(super) struct Limiter {
    most: usize,
    engine: EngineLimits,
    used: usize,
    /// The most since the call began.
    pub(super) peak: usize,
    pub(super) refused: bool,
    /// Of the program's own memory.
    pub(super) holding: Holding,
}

/// A table element is a pointer to the host.
const TABLE_ELEMENT: usize = 8;

impl Limiter {
    fn new(most: usize, engine: EngineLimits, holding: Holding) -> Self {
        Self {
            most,
            engine,
            used: 0,
            peak: 0,
            refused: false,
            holding,
        }
    }

    fn arm(&mut self) {
        self.refused = false;
        self.holding.rest(false);
        self.peak = self.used;
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return false;
        }
        let used = self.used.saturating_sub(current).saturating_add(desired);
        if used > self.most {
            self.refused = true;
            return false;
        }
        self.used = used;
        self.holding.set(used);
        self.peak = self.peak.max(used);
        true
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(current, desired, maximum))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.engine.table_elements {
            return Ok(false);
        }
        let bytes = |elements: usize| elements.saturating_mul(TABLE_ELEMENT);
        Ok(self.grow(bytes(current), bytes(desired), maximum.map(bytes)))
    }

    fn instances(&self) -> usize {
        self.engine.core_instances as usize
    }

    fn tables(&self) -> usize {
        self.engine.tables as usize
    }

    fn memories(&self) -> usize {
        self.engine.memories as usize
    }
}

/// Log lines and standard output of one instance: kept up to a limit, then one marker; or not at all. Writing never fails, so a guest
/// that prints without end is not told where the end is: it is charged.
#[derive(Clone)]
pub(super) struct Log {
    text: Arc<Mutex<LogText>>,
    work: HostWork,
}

struct LogText {
    text: Vec<u8>,
    /// Bytes that may still be kept.
    most: usize,
    /// Whether the marker was written, or none is wanted.
    cut: bool,
}

impl Log {
    /// None keeps nothing.
    fn new(most: Option<usize>, work: HostWork) -> Self {
        let text = LogText {
            text: Vec::new(),
            most: most.unwrap_or_default(),
            cut: most.is_none(),
        };
        Self {
            text: Arc::new(Mutex::new(text)),
            work,
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) {
        let mut log = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = bytes.len().min(log.most);
        let room = log.most;
        log.most -= kept;
        log.text.extend_from_slice(&bytes[..kept]);
        if bytes.len() > room && !log.cut {
            log.cut = true;
            log.text.extend_from_slice(b"\n[log cut]\n");
        }
    }

    /// What was written since the last call, made safe to show.
    pub(super) fn take(&self) -> String {
        let mut log = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        escaped(&String::from_utf8_lossy(&std::mem::take(&mut log.text)))
    }
}

impl IsTerminal for Log {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Log {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Log {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.work.owe(bytes.len() as u64);
        Log::write(self, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[async_trait::async_trait]
impl Pollable for Log {
    async fn ready(&mut self) {}
}

impl tokio::io::AsyncWrite for Log {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Log::write(&self, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
