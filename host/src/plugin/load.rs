//! Finding, checking and preparing plugins: name to component file to something that can be instantiated.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use camino::Utf8PathBuf;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, Linker};

use super::bindings::{grader::GraderPre, tool_app::ToolAppPre};
use super::cache::{Cache, hex};
use super::engine::{Engines, POOL, Profile};
use super::fault::{GuestFault, bounded};
use super::state::State;
use crate::model::ToolSpec;

/// The largest component file, in bytes.
const COMPONENT: u64 = 32 << 20;

const TOOLS: &str = "pibench:plugin/tools@0.1.0";
const GRADING: &str = "pibench:plugin/grading@0.1.0";

/// What a guest may import of ours, by world.
const APP_IMPORTS: &[&str] = &["types", "clock", "random", "log"];
const GRADER_IMPORTS: &[&str] = &["types", "log", "workspace", "evidence"];

/// The packages of WASI 0.2's command world, which are linked inert.
const WASI: &[&str] = &["cli", "clocks", "filesystem", "io", "random", "sockets"];

/// What a plugin is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    ToolApp,
    Grader,
}

/// Why a plugin cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("find plugin `{name}`: looked for {}; build it with `make plugins`, or name its file under [plugins]", looked.join(", "))]
    Missing { name: String, looked: Vec<String> },
    #[error("read plugin `{name}` from {}: {reason}", path.display())]
    Read {
        name: String,
        path: PathBuf,
        reason: String,
    },
    #[error("load plugin `{name}` from {}: {reason}", path.display())]
    NotComponent {
        name: String,
        path: PathBuf,
        reason: String,
    },
    #[error("load plugin `{name}` from {}: it imports {import}, which no plugin gets", path.display())]
    Import {
        name: String,
        path: PathBuf,
        import: String,
    },
    #[error("load plugin `{name}`: it is a {found}, and a {wanted} is needed here")]
    WrongWorld {
        name: String,
        found: &'static str,
        wanted: &'static str,
    },
    #[error("start plugin `{name}`: it {fault}")]
    Fault { name: String, fault: GuestFault },
    #[error("load plugin `{name}`: {reason}")]
    BadTools { name: String, reason: String },
}

/// A component that is ready to be instantiated.
pub struct Plugin {
    pub name: String,
    pub path: PathBuf,
    /// Hex.
    pub sha256: String,
    /// In bytes.
    pub size: usize,
    pub profile: Profile,
    pub(super) pre: Pre,
    /// Below the size of the engine's pool: callers queue.
    pub(super) permits: Arc<Semaphore>,
}

#[derive(Clone)]
pub(super) enum Pre {
    ToolApp(ToolAppPre<State>),
    Grader(GraderPre<State>),
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

impl Plugin {
    pub fn world(&self) -> World {
        match self.pre {
            Pre::ToolApp(_) => World::ToolApp,
            Pre::Grader(_) => World::Grader,
        }
    }

    pub(super) fn engine(&self) -> &wasmtime::Engine {
        match &self.pre {
            Pre::ToolApp(pre) => pre.engine(),
            Pre::Grader(pre) => pre.engine(),
        }
    }

    pub(super) fn wrong_world(&self, wanted: World) -> LoadError {
        LoadError::WrongWorld {
            name: self.name.clone(),
            found: title(self.world()),
            wanted: title(wanted),
        }
    }
}

fn title(world: World) -> &'static str {
    match world {
        World::ToolApp => "tool app",
        World::Grader => "grader",
    }
}

/// All plugins of a process, each loaded when it is first asked for.
pub struct Plugins {
    engines: Engines,
    cache: Cache,
    named: BTreeMap<String, Utf8PathBuf>,
    dirs: Vec<PathBuf>,
    loaded: Mutex<HashMap<String, Arc<Plugin>>>,
    permits: [Arc<Semaphore>; 2],
}

impl std::fmt::Debug for Plugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugins")
            .field("named", &self.named)
            .field("dirs", &self.dirs)
            .finish_non_exhaustive()
    }
}

impl Plugins {
    /// `named` come first (a suite's `[plugins]`), then `<dir>/<name>.wasm` in the order of `dirs`. Compiled code is
    /// kept below `cache`.
    pub fn new(named: BTreeMap<String, Utf8PathBuf>, dirs: Vec<PathBuf>, cache: &Path) -> Self {
        // One instance is left free, so that the pool itself never refuses.
        let permits = |pool: u32| Arc::new(Semaphore::new(pool as usize - 1));
        Self {
            engines: Engines::default(),
            cache: Cache::open(cache),
            named,
            dirs,
            loaded: Mutex::default(),
            permits: [permits(POOL), permits(16)],
        }
    }

    /// The plugin of that name, compiled and checked.
    pub fn get(&self, name: &str) -> Result<Arc<Plugin>, LoadError> {
        // The lock is held while a plugin is compiled: two sessions never compile one plugin twice.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plugin) = loaded.get(name) {
            return Ok(Arc::clone(plugin));
        }
        let plugin = Arc::new(self.load_file(name, &self.find(name)?)?);
        loaded.insert(name.to_owned(), Arc::clone(&plugin));
        Ok(plugin)
    }

    /// What was loaded so far, by name.
    pub fn loaded(&self) -> BTreeMap<String, Arc<Plugin>> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded
            .iter()
            .map(|(name, plugin)| (name.clone(), Arc::clone(plugin)))
            .collect()
    }

    fn find(&self, name: &str) -> Result<PathBuf, LoadError> {
        if let Some(path) = self.named.get(name) {
            return Ok(path.clone().into_std_path_buf());
        }
        let candidates: Vec<_> = self
            .dirs
            .iter()
            .map(|dir| dir.join(format!("{name}.wasm")))
            .collect();
        candidates
            .iter()
            .find(|path| path.is_file())
            .cloned()
            .ok_or_else(|| LoadError::Missing {
                name: name.to_owned(),
                looked: candidates
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect(),
            })
    }

    /// Loads a component file under a name.
    pub fn load_file(&self, name: &str, path: &Path) -> Result<Plugin, LoadError> {
        let wasm = read(name, path)?;
        let not_component = |reason: String| LoadError::NotComponent {
            name: name.to_owned(),
            path: path.to_owned(),
            reason: bounded(&reason),
        };
        if !is_component(&wasm) {
            return Err(not_component("it is no WebAssembly component".into()));
        }
        let profile = if name == "python" {
            Profile::Python
        } else {
            Profile::App
        };
        let failed = |error: wasmtime::Error| not_component(format!("{error:#}"));
        let engine = self.engines.get(profile).map_err(failed)?;
        let component = self
            .cache
            .component(&engine, profile, &wasm)
            .map_err(failed)?;
        let world = world(&component)
            .ok_or_else(|| not_component(format!("it exports neither {TOOLS} nor {GRADING}")))?;
        if let Some(import) = foreign_import(&component, world) {
            return Err(LoadError::Import {
                name: name.to_owned(),
                path: path.to_owned(),
                import,
            });
        }
        let pre = prepare(&engine, &component, world).map_err(failed)?;
        Ok(Plugin {
            name: name.to_owned(),
            path: path.to_owned(),
            sha256: hex(&Sha256::digest(&wasm)),
            size: wasm.len(),
            profile,
            pre,
            permits: Arc::clone(&self.permits[usize::from(profile == Profile::Python)]),
        })
    }
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |reason: String| LoadError::Read {
        name: name.to_owned(),
        path: path.to_owned(),
        reason,
    };
    let size = std::fs::metadata(path)
        .map_err(|error| failed(error.to_string()))?
        .len();
    if size > COMPONENT {
        return Err(failed(format!("{size} bytes, more than {COMPONENT}")));
    }
    std::fs::read(path).map_err(|error| failed(error.to_string()))
}

/// The preamble of a component: magic, version 13, layer 1. Compiled code and core modules have others.
fn is_component(wasm: &[u8]) -> bool {
    wasm.starts_with(b"\0asm\x0d\x00\x01\x00")
}

fn world(component: &Component) -> Option<World> {
    let exports = component.component_type();
    let engine = component.engine();
    if exports.get_export(engine, TOOLS).is_some() {
        return Some(World::ToolApp);
    }
    exports.get_export(engine, GRADING).map(|_| World::Grader)
}

fn foreign_import(component: &Component, world: World) -> Option<String> {
    let ours = match world {
        World::ToolApp => APP_IMPORTS,
        World::Grader => GRADER_IMPORTS,
    };
    let known = |name: &str| {
        if let Some(interface) = name.strip_prefix("pibench:plugin/") {
            return interface
                .strip_suffix("@0.1.0")
                .is_some_and(|name| ours.contains(&name));
        }
        let wasi = name
            .strip_prefix("wasi:")
            .and_then(|rest| rest.split_once('/'));
        wasi.is_some_and(|(package, rest)| WASI.contains(&package) && rest.contains("@0.2."))
    };
    let types = component.component_type();
    let mut imports = types.imports(component.engine());
    let found = imports.find(|(name, item)| {
        !known(name) || !matches!(item.ty, ComponentItem::ComponentInstance(_))
    });
    found.map(|(name, _)| bounded(name))
}

fn prepare(
    engine: &wasmtime::Engine,
    component: &Component,
    world: World,
) -> wasmtime::Result<Pre> {
    let mut linker: Linker<State> = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    match world {
        World::ToolApp => {
            super::bindings::tool_app::ToolApp::add_to_linker::<_, HasSelf<State>>(
                &mut linker,
                |state| state,
            )?;
            Ok(Pre::ToolApp(ToolAppPre::new(
                linker.instantiate_pre(component)?,
            )?))
        }
        World::Grader => {
            super::bindings::grader::Grader::add_to_linker::<_, HasSelf<State>>(
                &mut linker,
                |state| state,
            )?;
            Ok(Pre::Grader(GraderPre::new(
                linker.instantiate_pre(component)?,
            )?))
        }
    }
}

/// An app's tools under the names that the agent uses, `<app>__<tool>`, checked: names, sizes, schemas.
pub(super) fn tool_specs(
    app: &str,
    tools: Vec<super::bindings::tool_app::exports::pibench::plugin::tools::Tool>,
) -> Result<Vec<ToolSpec>, String> {
    if tools.is_empty() || tools.len() > 256 {
        return Err(format!(
            "it has {} tools; 1 to 256 are possible",
            tools.len()
        ));
    }
    tools
        .into_iter()
        .map(|tool| tool_spec(app, &tool.name, tool.description, &tool.schema))
        .collect()
}

fn tool_spec(app: &str, name: &str, description: String, schema: &str) -> Result<ToolSpec, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "tool name `{}` is not lower case with underscores",
            bounded(name)
        ));
    }
    if description.len() > 4096 {
        return Err(format!(
            "the description of `{name}` has more than 4096 bytes"
        ));
    }
    let parameters: Value = serde_json::from_str(schema)
        .map_err(|error| format!("the schema of `{name}` is no JSON: {error}"))?;
    if parameters["type"] != "object" {
        return Err(format!("the schema of `{name}` is not of type object"));
    }
    Ok(ToolSpec {
        name: format!("{app}__{name}"),
        description,
        parameters,
    })
}
