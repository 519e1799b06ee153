//! A plugin that is ready to be instantiated: what is known of it, and how an instance is made.

use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Component;

use super::bindings::tool_app::ToolApp;
use super::bindings::{
    document_reader::DocumentReaderPre, grader::GraderPre, python_runtime::PythonRuntimePre,
    shell::ShellPre, tool_app::ToolAppPre,
};
use super::compile::CompileError;
use super::component::Facts;
use super::fault::GuestFault;
use super::limits::Limits;
use super::live::Live;
use super::lock::LockError;
use super::policy::{Grants, Origin};
use super::profile::Profile;
use super::seats::Seats;
use super::signed::{Signed, SignedError};
use super::state::{Owner, Reach, State};

/// What a plugin is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    ToolApp,
    Grader,
    Shell,
    Document,
}

impl World {
    /// As `wit/world.wit` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolApp => "tool-app",
            Self::Grader => "grader",
            Self::Shell => "shell",
            Self::Document => "document-reader",
        }
    }
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
    #[error("load plugin `{name}` from {}: {source}", path.display())]
    Compile {
        name: String,
        path: PathBuf,
        source: CompileError,
    },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Signed(#[from] SignedError),
    #[error("use the policy for plugin `{name}`: {reason}")]
    Policy { name: String, reason: String },
    #[error(
        "use plugin `{name}`: it asks for {}, and no policy says whether it gets that; write [plugins.{name}] with \
        grants = {asks:?} into the policy (`--policy FILE`, or `policy` of the suite), or grants = [] to refuse it",
        asks.join(", ")
    )]
    Undecided {
        name: String,
        asks: Vec<&'static str>,
    },
    #[error("load plugin `{name}` from {}: the file was changed since this program looked at it", path.display())]
    Changed { name: String, path: PathBuf },
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

/// An app's live instance.
pub(super) type LiveApp = Live<ToolApp>;

/// A component that is ready to be instantiated.
pub struct Plugin {
    pub name: String,
    pub path: PathBuf,
    /// Hex.
    pub sha256: String,
    /// In bytes.
    pub size: usize,
    pub profile: Profile,
    /// What the file says of itself.
    pub facts: Facts,
    pub origin: Origin,
    /// Whether a lock beside the file vouches for it.
    pub pinned: bool,
    /// What it asks for.
    pub declared: Grants,
    /// What it gets of that.
    pub grants: Grants,
    /// Who of those that the policy names signed it.
    pub signed: Option<Signed>,
    /// Whether calls of it are given files of the file system app that they name. No import asks for it: a schema does.
    pub attaches: bool,
    /// What a call of it may use at most, as suite and policy say; None where there is no policy to ask.
    pub cap: Option<Limits>,
    pub(super) component: Component,
    pub(super) pre: Pre,
    /// Of a grader that also runs programs for the shell: Python.
    pub(super) interpreter: Option<PythonRuntimePre<State>>,
    /// Below the size of the engine's pool: callers queue.
    pub(super) seats: Arc<Seats<Box<LiveApp>>>,
}

/// What is known of a plugin that was not compiled yet; the other fields are those of [`Plugin`].
#[derive(Debug, Clone)]
pub struct Papers {
    pub world: World,
    /// Whether it is a grader that also runs programs for the shell: Python.
    pub interprets: bool,
    pub sha256: String,
    pub size: usize,
    pub facts: Facts,
    pub origin: Origin,
    pub pinned: bool,
    pub declared: Grants,
    pub grants: Grants,
    pub signed: Option<Signed>,
    pub cap: Option<Limits>,
}

#[derive(Clone)]
pub(super) enum Pre {
    ToolApp(ToolAppPre<State>),
    Grader(GraderPre<State>),
    Shell(ShellPre<State>),
    Document(DocumentReaderPre<State>),
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
    /// What the host knew of it before it was compiled.
    pub fn papers(&self) -> Papers {
        Papers {
            world: self.world(),
            interprets: self.interpreter.is_some(),
            sha256: self.sha256.clone(),
            size: self.size,
            facts: self.facts.clone(),
            origin: self.origin,
            pinned: self.pinned,
            declared: self.declared,
            grants: self.grants,
            signed: self.signed.clone(),
            cap: self.cap,
        }
    }

    pub fn world(&self) -> World {
        match self.pre {
            Pre::ToolApp(_) => World::ToolApp,
            Pre::Grader(_) => World::Grader,
            Pre::Shell(_) => World::Shell,
            Pre::Document(_) => World::Document,
        }
    }

    /// The limits of a call: no more than the plugin may have.
    pub(super) fn capped(&self, limits: Limits) -> Limits {
        self.cap.map_or(limits, |cap| limits.within(cap))
    }

    /// A fresh instance, once there is a place for it.
    pub(super) async fn start<G>(
        &self,
        limits: Limits,
        key: [u8; 32],
        reach: Reach,
        instantiate: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<G>,
    ) -> Result<Live<G>, GuestFault> {
        let permit = self.seats.take(limits.queue).await?;
        let owner = Owner {
            name: &self.name,
            engine: self.engine(),
            component: &self.component,
            profile: self.profile,
            grants: self.grants,
        };
        Live::new(owner, limits, key, reach, permit, instantiate).await
    }

    fn engine(&self) -> &wasmtime::Engine {
        match &self.pre {
            Pre::ToolApp(pre) => pre.engine(),
            Pre::Grader(pre) => pre.engine(),
            Pre::Shell(pre) => pre.engine(),
            Pre::Document(pre) => pre.engine(),
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
        World::Shell => "shell",
        World::Document => "document reader",
    }
}
