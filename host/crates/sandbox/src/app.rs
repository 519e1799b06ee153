//! One open tool app: a store that one episode owns, and its life after a fault. A call that breaks the guest loses
//! that call only: the state comes back from the last snapshot and the calls since.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::civil::DateTime;
use serde_json::Value;

use super::bindings::tool_app::exports::pibench::plugin::tools::ToolError;
use super::fault::{GuestFault, bounded};
use super::limits::Limits;
use super::live::not_run;
use super::load::tool_specs;
use super::plugin::{LiveApp, LoadError, Plugin, Pre, World};
use super::seats::Ticket;
use super::{cache::hex, convert};
use pibench_core::message::ToolSpec;
use pibench_core::record::GuestCall;

/// What an app answers: a result, or a refusal that the agent sees.
pub type Answer = Result<Value, Refusal>;

/// An app's refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 401, 404, 409 or 422.
    pub status: u16,
    pub message: String,
}

/// A tool app with an open state.
pub struct App {
    plugin: Arc<Plugin>,
    limits: Limits,
    key: [u8; 32],
    instance: Held,
    /// The state before `since`; None until `open` or `restore` succeeded.
    snapshot: Option<Vec<u8>>,
    /// What was done since the snapshot, to be done again after a fault.
    since: Vec<Done>,
    /// The state as graders see it, until something is done.
    state: Option<Arc<str>>,
    /// Calls so far: part of the key of each call's randomness.
    calls: u64,
    /// What the guest logged and nobody took yet.
    log: String,
    /// What the calls took, as far as nobody took it yet.
    measured: Vec<GuestCall>,
}

/// Where the instance is.
enum Held {
    /// Nowhere: not made yet, or dropped after a fault.
    None,
    /// In use by a method of this app.
    Here(Box<LiveApp>),
    /// Between two calls, where it can be evicted: what is in it can be made again from the snapshot.
    Parked(Ticket),
}

#[derive(Clone)]
struct Done {
    tool: String,
    arguments: String,
    now: DateTime,
    call: u64,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("plugin", &self.plugin.name)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// Why an app cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("open app `{app}`: it {fault}")]
    Fault { app: String, fault: GuestFault },
    /// The app's own words about the records of a task file.
    #[error("open app `{app}`: {reason}")]
    Records { app: String, reason: String },
}

impl App {
    /// Opens an app on a seed (see `wit/tools.wit`). `key` decides all its randomness.
    pub async fn open(
        plugin: Arc<Plugin>,
        limits: Limits,
        key: [u8; 32],
        seed: &Value,
        now: DateTime,
    ) -> Result<Self, OpenError> {
        let mut app = Self::closed(plugin, limits, key)?;
        let seed = convert::written(seed);
        let opened = app
            .enter("open", now, async |live| {
                tools(live).call_open(&mut live.store, &seed).await
            })
            .await;
        app.records(opened)?;
        app.keep().await?;
        Ok(app)
    }

    /// Opens an app on a snapshot that it gave before.
    pub async fn resume(
        plugin: Arc<Plugin>,
        limits: Limits,
        key: [u8; 32],
        snapshot: Vec<u8>,
        calls: u64,
    ) -> Result<Self, OpenError> {
        let mut app = Self::closed(plugin, limits, key)?;
        app.snapshot = Some(snapshot);
        app.calls = calls;
        let live = app.revive().await.map_err(|fault| app.broken(fault))?;
        app.instance = Held::Here(Box::new(live));
        app.park();
        Ok(app)
    }

    fn closed(plugin: Arc<Plugin>, limits: Limits, key: [u8; 32]) -> Result<Self, LoadError> {
        if plugin.world() != World::ToolApp {
            return Err(plugin.wrong_world(World::ToolApp));
        }
        Ok(Self {
            limits: plugin.capped(limits),
            plugin,
            key,
            instance: Held::None,
            snapshot: None,
            since: Vec::new(),
            state: None,
            calls: 0,
            log: String::new(),
            measured: Vec::new(),
        })
    }

    /// Whether its calls are given files of the file system app.
    pub fn attaches(&self) -> bool {
        self.plugin.attaches
    }

    /// The app's tools, as the agent sees them.
    pub async fn list_tools(
        plugin: &Arc<Plugin>,
        limits: Limits,
    ) -> Result<Vec<ToolSpec>, LoadError> {
        let mut app = Self::closed(Arc::clone(plugin), limits, [0; 32])?;
        let listed = app
            .enter("list-tools", DateTime::default(), async |live| {
                tools(live).call_list_tools(&mut live.store).await
            })
            .await
            .map_err(|fault| LoadError::Fault {
                name: plugin.name.clone(),
                fault,
            })?;
        tool_specs(&plugin.name, listed).map_err(|reason| LoadError::BadTools {
            name: plugin.name.clone(),
            reason,
        })
    }

    /// Adds a session's records.
    pub async fn add(&mut self, records: &Value, now: DateTime) -> Result<(), OpenError> {
        self.state = None;
        let records = convert::written(records);
        let added = self
            .enter("add", now, async |live| {
                tools(live).call_add(&mut live.store, &records).await
            })
            .await;
        self.records(added)?;
        self.keep().await
    }

    /// Calls a tool by its name in the app. A fault leaves the state as it was before the call.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        now: DateTime,
    ) -> Result<Answer, GuestFault> {
        self.state = None;
        self.calls += 1;
        let done = Done {
            tool: tool.to_owned(),
            arguments: convert::written(arguments),
            now,
            call: self.calls,
        };
        let answer = match self.attempt(&done).await {
            // A slow machine gets a second try; a slow guest gets the same answer twice.
            Err(GuestFault::Timeout { .. }) => self.attempt(&done).await?,
            other => other?,
        };
        self.since.push(done);
        self.park();
        answer_of(answer, self.limits)
    }

    async fn attempt(&mut self, done: &Done) -> Result<Result<String, ToolError>, GuestFault> {
        let function = format!("call {}", done.tool);
        self.enter_and_tell(
            function,
            done.now,
            async |live| {
                live.store.data_mut().seed_call(done.call);
                tools(live)
                    .call_call(&mut live.store, &done.tool, &done.arguments)
                    .await
            },
            Result::is_err,
        )
        .await
    }

    /// The state's bytes for `resume`. After it, a fault costs no repetition.
    pub async fn snapshot(&mut self) -> Result<&[u8], GuestFault> {
        if !self.since.is_empty() || self.snapshot.is_none() {
            self.take_snapshot().await?;
            self.park();
        }
        Ok(self.snapshot.as_deref().unwrap_or_default())
    }

    /// The old snapshot stays until there is a new one.
    async fn take_snapshot(&mut self) -> Result<(), GuestFault> {
        let bytes = self
            .enter("snapshot", DateTime::default(), async |live| {
                tools(live).call_snapshot(&mut live.store).await
            })
            .await?;
        let most = self.limits.snapshot_bytes;
        if bytes.len() > most {
            let reason = format!("a snapshot of {} bytes, more than {most}", bytes.len());
            return Err(GuestFault::BadOutput { reason });
        }
        self.snapshot = Some(bytes);
        self.since.clear();
        Ok(())
    }

    /// Calls so far, for `resume`.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The state as graders see it: JSON. The guest is asked once for what it holds.
    pub async fn state(&mut self) -> Result<Arc<str>, GuestFault> {
        if let Some(state) = &self.state {
            return Ok(Arc::clone(state));
        }
        let limits = Limits {
            result_bytes: self.limits.snapshot_bytes,
            json_nodes: usize::MAX,
            ..self.limits
        };
        let text = self
            .enter("state", DateTime::default(), async |live| {
                tools(live).call_state(&mut live.store).await
            })
            .await?;
        self.park();
        convert::check(&text, limits)?;
        Ok(Arc::clone(self.state.insert(text.into())))
    }

    /// What the guest logged since the last call of this.
    pub fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log)
    }

    /// What the calls since the last call of this took.
    pub fn take_measured(&mut self) -> Vec<GuestCall> {
        std::mem::take(&mut self.measured)
    }

    /// Whether an instance is there, or the next call has to make one.
    pub fn is_live(&self) -> bool {
        match &self.instance {
            Held::None => false,
            Held::Here(_) => true,
            Held::Parked(ticket) => self.plugin.seats.is_parked(*ticket),
        }
    }

    /// Keeps what was opened or added, before anything can drop the instance that it is in.
    async fn keep(&mut self) -> Result<(), OpenError> {
        self.take_snapshot()
            .await
            .map_err(|fault| self.broken(fault))?;
        self.park();
        Ok(())
    }

    fn broken(&self, fault: GuestFault) -> OpenError {
        OpenError::Fault {
            app: self.plugin.name.clone(),
            fault,
        }
    }

    fn records(&self, result: Result<Result<(), String>, GuestFault>) -> Result<(), OpenError> {
        let app = self.plugin.name.clone();
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => Err(OpenError::Records {
                app,
                reason: bounded(&reason),
            }),
            Err(fault) => Err(OpenError::Fault { app, fault }),
        }
    }

    async fn enter<T>(
        &mut self,
        function: &str,
        now: DateTime,
        call: impl AsyncFnOnce(&mut LiveApp) -> wasmtime::Result<T>,
    ) -> Result<T, GuestFault> {
        self.enter_and_tell(function.to_owned(), now, call, |_| false)
            .await
    }

    /// Runs one bounded call in the live instance and notes what it took; a fault drops the instance.
    async fn enter_and_tell<T>(
        &mut self,
        function: String,
        now: DateTime,
        call: impl AsyncFnOnce(&mut LiveApp) -> wasmtime::Result<T>,
        refused: impl FnOnce(&T) -> bool,
    ) -> Result<T, GuestFault> {
        let (mut live, made) = if let Some(live) = self.unpark() {
            (live, Duration::ZERO)
        } else {
            let began = Instant::now();
            match self.revive().await {
                Ok(live) => (Box::new(live), began.elapsed()),
                Err(fault) => {
                    let name = &self.plugin.name;
                    self.measured
                        .push(not_run(name, function, &fault, began.elapsed()));
                    return Err(fault);
                }
            }
        };
        let ran = live.call(self.limits, now, call).await;
        self.log += &live.store.data().log.take();
        let refused = ran.result.as_ref().is_ok_and(refused);
        self.measured
            .push(ran.record(&self.plugin.name, function, made, refused));
        if ran.result.is_ok() {
            self.instance = Held::Here(live);
        }
        ran.result
    }

    /// The instance, if it is still there.
    fn unpark(&mut self) -> Option<Box<LiveApp>> {
        match std::mem::replace(&mut self.instance, Held::None) {
            Held::None => None,
            Held::Here(live) => Some(live),
            Held::Parked(ticket) => self.plugin.seats.unpark(ticket),
        }
    }

    /// Lets the instance be evicted. Only when all that is in it is in the snapshot and the calls since.
    fn park(&mut self) {
        match std::mem::replace(&mut self.instance, Held::None) {
            Held::Here(live) => {
                let ticket = self.plugin.seats.park(live);
                self.instance = ticket.map_or(Held::None, Held::Parked);
            }
            other => self.instance = other,
        }
    }

    /// A fresh instance with the state as it was.
    async fn revive(&mut self) -> Result<LiveApp, GuestFault> {
        let mut live = self.instantiate().await?;
        let Some(snapshot) = &self.snapshot else {
            return Ok(live);
        };
        let refused = |message: String| GuestFault::Failed {
            message: format!("restore: {}", bounded(&message)),
        };
        let restored = live.call(self.limits, DateTime::default(), async |live| {
            tools(live).call_restore(&mut live.store, snapshot).await
        });
        restored.await.result?.map_err(refused)?;
        for done in &self.since {
            let repeated = live.call(self.limits, done.now, async |live| {
                live.store.data_mut().seed_call(done.call);
                tools(live)
                    .call_call(&mut live.store, &done.tool, &done.arguments)
                    .await
            });
            repeated.await.result.map(drop)?;
        }
        // It was logged when the calls were made.
        let _ = live.store.data().log.take();
        Ok(live)
    }

    async fn instantiate(&mut self) -> Result<LiveApp, GuestFault> {
        let Pre::ToolApp(pre) = &self.plugin.pre else {
            return Err(GuestFault::Host {
                reason: format!("`{}` is no tool app", self.plugin.name),
            });
        };
        let reach = super::state::Reach::Nothing;
        self.plugin
            .start(self.limits, self.key, reach, async |store| {
                pre.instantiate_async(store).await
            })
            .await
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // A parked instance of nobody would keep its place.
        drop(self.unpark());
    }
}

fn tools(live: &LiveApp) -> super::bindings::tool_app::exports::pibench::plugin::tools::Guest {
    live.guest.pibench_plugin_tools().clone()
}

fn answer_of(answer: Result<String, ToolError>, limits: Limits) -> Result<Answer, GuestFault> {
    match answer {
        Ok(text) => Ok(Ok(convert::json(&text, limits)?)),
        Err(ToolError { status, message }) => {
            let message = convert::text(message, limits.result_bytes, "a message")?;
            Ok(Err(Refusal {
                status,
                message: bounded(&message),
            }))
        }
    }
}

/// A key for an app's randomness: the same seed, run, persona and app give the same key.
pub fn app_key(seed: u64, run: u32, persona: &str, app: &str) -> [u8; 32] {
    let material = format!("{seed}\0{run}\0{persona}\0{app}");
    blake3::derive_key("pibench 2026-11 app randomness", material.as_bytes())
}

/// BLAKE3 of bytes, hex: how blobs and snapshots are named.
pub fn digest(bytes: &[u8]) -> String {
    hex(blake3::hash(bytes).as_bytes())
}
