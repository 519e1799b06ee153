//! Finding, checking and preparing plugins: name to component file to something that can be instantiated.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use camino::Utf8PathBuf;
use pibench_core::vocabulary::Grant;
use serde_json::Value;
use sha2::{Digest, Sha256};
use wasmtime::component::{Component, HasSelf, Linker};

use super::arguments::{self, SCHEMA_BYTES, Size, VALUES_OF_APP};
use super::bindings::{
    document_reader::DocumentReaderPre, grader::GraderPre, python_runtime::PythonRuntimePre,
    shell::ShellPre, tool_app::ToolAppPre,
};
use super::cache::known::{Known, Stamp};
use super::cache::{Cache, hex};
use super::compile::{self, CompileError};
use super::component::Facts;
use super::described::{self, Told};
use super::engine::{self, Allocation, Effort, Engines};
use super::fault::bounded;
use super::limits::{GuestLimits, Kind, Limits};
use super::lock::{self, Lock, LockError};
use super::plugin::{LiveApp, LoadError, Papers, Plugin, Pre, World};
use super::policy::{self, Grants, Origin};
use super::profile::Profile;
use super::seats::Seats;
use super::signed::{self, Signed, Signers};
use super::state::State;
use pibench_core::message::ToolSpec;
use pibench_suite::manifest::PolicyFile;

const TOOLS: &str = "pibench:plugin/tools@0.1.0";
const GRADING: &str = "pibench:plugin/grading@0.1.0";
const COMMANDS: &str = "pibench:plugin/commands@0.1.0";
const DOCUMENTS: &str = "pibench:plugin/documents@0.1.0";
const INTERPRETER: &str = "pibench:plugin/interpreter@0.1.0";

/// What a guest may import of ours, by world.
const APP_IMPORTS: &[&str] = &["types", "clock", "random", "log"];
const GRADER_IMPORTS: &[&str] = &["types", "log", "workspace", "evidence"];
const SHELL_IMPORTS: &[&str] = &["types", "log", "files", "python"];
const DOCUMENT_IMPORTS: &[&str] = &["types", "log"];

/// The packages of WASI 0.2's command world, which are linked inert.
const WASI: &[&str] = &["cli", "clocks", "filesystem", "io", "random", "sockets"];

/// A component file that was judged.
struct Judged {
    kind: Kind,
    /// Whether it may be compiled in this process.
    vouched: bool,
    papers: Papers,
}

/// All plugins of a process, each loaded when it is first asked for.
pub struct Plugins {
    engines: Engines,
    cache: Cache,
    named: BTreeMap<String, Utf8PathBuf>,
    dirs: Vec<PathBuf>,
    terms: Terms,
    /// A place for each name that was asked for, filled once its plugin is loaded.
    loaded: Mutex<HashMap<String, Arc<Place>>>,
    /// The hashes that `papers` gave out, by name: what is loaded later has to have them.
    told: Mutex<HashMap<String, String>>,
    /// What files held a moment ago, by their paths: what has just changed is not remembered for other processes.
    looked: Mutex<HashMap<PathBuf, (Stamp, Known)>>,
    /// The locks of folders, by their paths: one may be long, and every component of its folder is held to it.
    locks: Mutex<HashMap<PathBuf, (Stamp, Arc<Lock>)>>,
    /// Those whose code could be better, for `compile_well`.
    hurried: Mutex<BTreeSet<String>>,
    seats: BTreeMap<Kind, Arc<Seats<Box<LiveApp>>>>,
}

/// Where a plugin will be, once it is loaded.
type Place = Mutex<Option<Arc<Plugin>>>;

/// On what terms plugins are loaded.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    pub limits: GuestLimits,
    /// What the operator says. None trusts every plugin: for tests and benches.
    pub policy: Option<PolicyFile>,
    /// Whose signatures count, where the policy names them.
    pub signers: Option<Signers>,
    /// What every plugin is held to, beside the lock of its folder. It vouches for none.
    pub lock: Option<Lock>,
    /// The folders of the host's own plugins.
    pub own: Vec<PathBuf>,
    /// This program, to be run for compiling what nobody vouches for. None compiles here.
    pub compiler: Option<PathBuf>,
    /// Instances are made one by one and not taken from a pool, as is done by itself where the address space is too
    /// small for one.
    pub on_demand: bool,
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
    /// kept below `cache`. Every plugin is trusted: what runs those of strangers says its `terms`.
    pub fn new(named: BTreeMap<String, Utf8PathBuf>, dirs: Vec<PathBuf>, cache: &Path) -> Self {
        Self::on_terms(named, dirs, cache, Terms::default())
    }

    /// As `new`, on terms.
    pub fn on_terms(
        named: BTreeMap<String, Utf8PathBuf>,
        dirs: Vec<PathBuf>,
        cache: &Path,
        terms: Terms,
    ) -> Self {
        let seats = |kind: Kind| {
            let places = terms.limits.of(kind).live_stores;
            (kind, Arc::new(Seats::new(places)))
        };
        let allocation = if terms.on_demand {
            Allocation::OnDemand
        } else {
            Allocation::pooled(&terms.limits)
        };
        Self {
            engines: Engines::new(allocation),
            cache: Cache::open(cache),
            named,
            dirs,
            seats: Kind::ALL.into_iter().map(seats).collect(),
            terms,
            loaded: Mutex::default(),
            told: Mutex::default(),
            looked: Mutex::default(),
            locks: Mutex::default(),
            hurried: Mutex::default(),
        }
    }

    /// The plugin of that name, compiled and checked.
    pub fn get(&self, name: &str) -> Result<Arc<Plugin>, LoadError> {
        self.placed(name, Effort::Full)
    }

    /// As `get`, and where it is one of the host's own, pinned, and not compiled yet, in a half of the time, for slower code
    /// that is kept until there is better. Nothing that it answers differs: its fuel is the same, and the host's own end
    /// far from the end of their stack. Not for the Python interpreter and the shell, who go deeper.
    pub fn get_soon(&self, name: &str) -> Result<Arc<Plugin>, LoadError> {
        self.placed(name, Effort::Quick)
    }

    /// The names of those that `get_soon` compiled quickly, in this process or an earlier one.
    pub fn hurried(&self) -> Vec<String> {
        held(&self.hurried).iter().cloned().collect()
    }

    /// Compiles a plugin once more, for processes to come.
    pub fn compile_well(&self, name: &str) -> Result<(), LoadError> {
        if !self.cache.keeps() {
            return Ok(());
        }
        let path = self.find(name)?;
        let wasm = self.read(name, &path)?;
        let judged = self.judge(name, &path, self.examine(name, &path, &wasm)?)?;
        self.compile(name, &path, &wasm, &judged, Effort::Full)?;
        let (profile, sha256) = (judged.kind.profile(), &judged.papers.sha256);
        if let Ok(engine) = self.engines.get(profile) {
            self.cache.remove_replaced(&engine, profile, sha256);
        }
        held(&self.hurried).remove(name);
        Ok(())
    }

    fn placed(&self, name: &str, effort: Effort) -> Result<Arc<Plugin>, LoadError> {
        let place = Arc::clone(held(&self.loaded).entry(name.to_owned()).or_default());
        // Held while the plugin is compiled: two sessions never compile one plugin twice, and nobody waits for another's.
        let mut place = held(&place);
        if let Some(plugin) = &*place {
            return Ok(Arc::clone(plugin));
        }
        let plugin = Arc::new(self.load(name, &self.find(name)?, effort)?);
        *place = Some(Arc::clone(&plugin));
        Ok(plugin)
    }

    /// The names of all tool apps that there are.
    pub fn tool_apps(&self) -> Result<Vec<String>, LoadError> {
        let files = self.dirs.iter().filter_map(|dir| dir.read_dir().ok());
        let files = files.flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let found = files.filter(|file| file.extension() == Some("wasm".as_ref()));
        let found = found.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()));
        let names: BTreeSet<String> = self.named.keys().cloned().chain(found).collect();
        let mut apps = Vec::new();
        for name in names {
            let path = self.find(&name)?;
            let known = self.know(&name, &path)?;
            if self.judge(&name, &path, known)?.papers.world == World::ToolApp {
                apps.push(name);
            }
        }
        Ok(apps)
    }

    /// Whether there is a file for this plugin.
    pub fn is_there(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    fn find(&self, name: &str) -> Result<PathBuf, LoadError> {
        if let Some(path) = self.named.get(name) {
            return Ok(path.clone().into_std_path_buf());
        }
        let mut looked = Vec::new();
        let mut absent = None;
        for dir in &self.dirs {
            let path = dir.join(format!("{name}.wasm"));
            if !path.is_file() {
                looked.push(path.display().to_string());
                absent = absent.or(self.pinned_beside(name, &path)?);
                continue;
            }
            // In the place of one that was pinned no other is taken.
            return match absent {
                Some((digest, absent)) if self.know(name, &path)?.sha256 != digest => {
                    Err(absent.into())
                }
                _ => Ok(path),
            };
        }
        Err(match absent {
            Some((_, absent)) => absent.into(),
            None => LoadError::Missing {
                name: name.to_owned(),
                looked,
            },
        })
    }

    /// What is known of a plugin before it is compiled: for one that is loaded when it is first used.
    pub fn papers(&self, name: &str) -> Result<Papers, LoadError> {
        let path = self.find(name)?;
        let known = self.know(name, &path)?;
        let papers = self.judge(name, &path, known)?.papers;
        held(&self.told).insert(name.to_owned(), papers.sha256.clone());
        Ok(papers)
    }

    /// What a tool app of the host's own says of its tools, where it is pinned and that is written down: it need not be compiled
    /// to be told.
    pub fn described(&self, name: &str) -> Option<Vec<Told>> {
        let Papers {
            origin,
            pinned,
            sha256,
            ..
        } = self.papers(name).ok()?;
        let path = self.find(name).ok()?;
        let vouched = pinned && origin == Origin::Own;
        vouched.then(|| described::beside(&path, &sha256)).flatten()
    }

    /// Whether it was compiled before, here and for this engine.
    pub fn is_compiled(&self, name: &str) -> bool {
        self.has(name, &[Effort::Full])
    }

    /// Whether `get_soon` has nothing to compile.
    pub fn is_soon_there(&self, name: &str) -> bool {
        self.has(name, &[Effort::Full, Effort::Quick])
    }

    fn has(&self, name: &str, efforts: &[Effort]) -> bool {
        let judged = self.find(name).and_then(|path| {
            let known = self.know(name, &path)?;
            self.judge(name, &path, known)
        });
        let Ok(Judged { kind, papers, .. }) = judged else {
            return false;
        };
        let profile = kind.profile();
        let Ok(engine) = self.engines.get(profile) else {
            return false;
        };
        let has = |&effort: &Effort| self.cache.has(&engine, profile, effort, &papers.sha256);
        efforts.iter().any(has)
    }

    /// Refuses a plugin of others that asks for what the policy does not speak of: whether it plays without is for the
    /// operator to say, as a grader that finds every path denied would score 0 without a word.
    pub fn decide(&self, name: &str, papers: &Papers) -> Result<(), LoadError> {
        let Some(policy) = &self.terms.policy else {
            return Ok(());
        };
        if papers.signed.is_some() {
            // What the policy lets its signer grant is a word on it.
            return Ok(());
        }
        let asks = policy::undecided(policy, name, papers.origin, papers.declared).names();
        if asks.is_empty() {
            return Ok(());
        }
        let name = name.to_owned();
        Err(LoadError::Undecided { name, asks })
    }

    /// Loads a component file under a name.
    pub fn load_file(&self, name: &str, path: &Path) -> Result<Plugin, LoadError> {
        self.load(name, path, Effort::Full)
    }

    fn load(&self, name: &str, path: &Path, effort: Effort) -> Result<Plugin, LoadError> {
        let wasm = self.read(name, path)?;
        let judged = self.judge(name, path, self.examine(name, path, &wasm)?)?;
        let told = held(&self.told).get(name).cloned();
        if told.is_some_and(|told| told != judged.papers.sha256) {
            return Err(LoadError::Changed {
                name: name.to_owned(),
                path: path.to_owned(),
            });
        }
        let (component, (pre, interpreter)) = self.compile(name, path, &wasm, &judged, effort)?;
        let Judged { kind, papers, .. } = judged;
        let Papers {
            sha256,
            size,
            facts,
            origin,
            pinned,
            declared,
            grants,
            signed,
            cap,
            ..
        } = papers;
        Ok(Plugin {
            attaches: self.attaches(name, origin, signed.as_ref()),
            name: name.to_owned(),
            path: path.to_owned(),
            sha256,
            size,
            profile: kind.profile(),
            declared,
            facts,
            origin,
            pinned,
            grants,
            signed,
            cap,
            component,
            pre,
            interpreter,
            seats: Arc::clone(&self.seats[&kind]),
        })
    }

    /// What a component file holds, if it was read before, and has not changed since. Before any of it is run, all of it is read.
    fn know(&self, name: &str, path: &Path) -> Result<Known, LoadError> {
        let stamp = Stamp::of(path);
        if let Some((then, known)) = held(&self.looked).get(path)
            && Some(*then) == stamp
        {
            return Ok(known.clone());
        }
        if let Some(known) = stamp.and_then(|stamp| self.cache.known(&stamp)) {
            return Ok(known);
        }
        let known = self.examine(name, path, &self.read(name, path)?)?;
        if let Some(stamp) = stamp
            && Stamp::of(path) == Some(stamp)
        {
            self.cache.remember(&stamp, &known);
            let looked = (stamp, known.clone());
            held(&self.looked).insert(path.to_owned(), looked);
        }
        Ok(known)
    }

    /// Reads what a component says of itself, if the locks hold its bytes to be what was meant: of others nothing is read.
    fn examine(&self, name: &str, path: &Path, wasm: &[u8]) -> Result<Known, LoadError> {
        let (sha256, size) = (hex(&Sha256::digest(wasm)), wasm.len());
        self.check_locks(path, &sha256, size, None)?;
        let facts = Facts::of(wasm).map_err(|reason| not_component(name, path, &reason))?;
        Ok(Known {
            sha256,
            size,
            facts,
        })
    }

    /// Holds a component to the suite's lock and to that of its folder; whether there is one beside it.
    fn check_locks(
        &self,
        path: &Path,
        sha256: &str,
        size: usize,
        facts: Option<&Facts>,
    ) -> Result<bool, LockError> {
        let beside = self.lock_beside(path)?;
        for lock in self.terms.lock.iter().chain(beside.as_deref()) {
            lock.check(path, sha256, size as u64, facts)?;
        }
        Ok(beside.is_some())
    }

    /// The lock of a component's folder, read again once it has changed; None where there is none.
    fn lock_beside(&self, path: &Path) -> Result<Option<Arc<Lock>>, LockError> {
        let file = path.with_file_name(lock::FILE);
        let stamp = Stamp::of(&file);
        if let Some((then, lock)) = held(&self.locks).get(&file)
            && Some(*then) == stamp
        {
            return Ok(Some(Arc::clone(lock)));
        }
        let Some(lock) = lock::beside(path)?.map(Arc::new) else {
            return Ok(None);
        };
        if let Some(stamp) = stamp
            && Stamp::of(&file) == Some(stamp)
        {
            held(&self.locks).insert(file, (stamp, Arc::clone(&lock)));
        }
        Ok(Some(lock))
    }

    /// The digest that the lock of a folder pins for a component, and what is said where its file is not there.
    fn pinned_beside(
        &self,
        name: &str,
        path: &Path,
    ) -> Result<Option<(String, LockError)>, LockError> {
        let Some(lock) = self.lock_beside(path)? else {
            return Ok(None);
        };
        Ok(lock.digest(path).map(|digest| {
            let absent = LockError::Absent {
                name: name.to_owned(),
                path: path.to_owned(),
                lock: lock.path.clone(),
            };
            (digest.to_owned(), absent)
        }))
    }

    /// Decides what a component file may be and use.
    fn judge(&self, name: &str, path: &Path, known: Known) -> Result<Judged, LoadError> {
        let Known {
            sha256,
            size,
            facts,
        } = known;
        let pinned = self.check_locks(path, &sha256, size, Some(&facts))?;
        let world = world(&facts).ok_or_else(|| {
            let reason = format!("it exports neither {TOOLS} nor {GRADING}");
            not_component(name, path, &reason)
        })?;
        if let Some(import) = foreign_import(&facts, world) {
            return Err(LoadError::Import {
                name: name.to_owned(),
                path: path.to_owned(),
                import,
            });
        }
        let origin = self.origin(path);
        let kind = kind(name, world);
        let statement = || {
            let declared = declared(&facts);
            signed::statement(name, &sha256, size as u64, &facts, declared)
        };
        let signed = match (&self.terms.policy, origin) {
            (Some(policy), Origin::Others) => {
                signed::check_signature(policy, self.terms.signers.as_ref(), name, path, statement)?
            }
            _ => None,
        };
        let (grants, cap) = self.terms_of(name, kind, origin, &facts, signed.as_ref())?;
        Ok(Judged {
            kind,
            vouched: pinned && origin == Origin::Own,
            papers: Papers {
                world,
                interprets: world == World::Grader && exports(&facts, INTERPRETER),
                sha256,
                size,
                declared: declared(&facts),
                facts,
                origin,
                pinned,
                grants,
                signed,
                cap,
            },
        })
    }

    /// The component, compiled or from the cache, and linked. What nobody vouches for is compiled in a process of its
    /// own.
    fn compile(
        &self,
        name: &str,
        path: &Path,
        wasm: &[u8],
        judged: &Judged,
        effort: Effort,
    ) -> Result<(Component, Prepared), LoadError> {
        let Judged {
            kind,
            vouched,
            papers,
        } = judged;
        let failed = |source: CompileError| LoadError::Compile {
            name: name.to_owned(),
            path: path.to_owned(),
            source,
        };
        let invalid =
            |error: wasmtime::Error| failed(CompileError::Invalid(bounded(&format!("{error:#}"))));
        let profile = kind.profile();
        let engine = self.engines.get(profile).map_err(invalid)?;
        let sha256 = &papers.sha256;
        let quick = effort == Effort::Quick
            && *vouched
            && profile == Profile::App
            && !self.cache.has(&engine, profile, Effort::Full, sha256);
        let effort = if quick { Effort::Quick } else { Effort::Full };
        let here = || engine::compiler(profile, effort)?.precompile_component(wasm);
        let compile = || match &self.terms.compiler {
            Some(program) if !vouched => {
                compile::in_child(program, profile, wasm, self.terms.limits.load)
            }
            _ => here().map_err(|error| CompileError::Invalid(bounded(&format!("{error:#}")))),
        };
        let component = self
            .cache
            .component(&engine, profile, effort, sha256, compile);
        if quick {
            held(&self.hurried).insert(name.to_owned());
        }
        let component = component.map_err(failed)?;
        let prepared = prepare(&engine, &component, papers.world).map_err(invalid)?;
        Ok((component, prepared))
    }

    fn terms_of(
        &self,
        name: &str,
        kind: Kind,
        origin: Origin,
        facts: &Facts,
        signed: Option<&Signed>,
    ) -> Result<(Grants, Option<Limits>), LoadError> {
        let limits = self.terms.limits.of(kind);
        let Some(policy) = &self.terms.policy else {
            return Ok((declared(facts), None));
        };
        let grants = policy::granted(policy, name, origin, signed, declared(facts));
        let cap =
            policy::capped(policy, name, kind, limits).map_err(|reason| LoadError::Policy {
                name: name.to_owned(),
                reason,
            })?;
        Ok((grants, Some(cap)))
    }

    fn attaches(&self, name: &str, origin: Origin, signed: Option<&Signed>) -> bool {
        let asked = std::iter::once(Grant::Attachments).collect();
        let policy = self.terms.policy.as_ref();
        policy.is_none_or(|policy| {
            policy::granted(policy, name, origin, signed, asked).has(Grant::Attachments)
        })
    }

    /// A plugin is the host's own when it stands in one of its folders, however the path is written.
    fn origin(&self, path: &Path) -> Origin {
        let folder = path.parent().and_then(|dir| dir.canonicalize().ok());
        let own = |dir: &PathBuf| dir.canonicalize().ok() == folder;
        if self.terms.policy.is_none() || folder.is_some() && self.terms.own.iter().any(own) {
            Origin::Own
        } else {
            Origin::Others
        }
    }

    fn read(&self, name: &str, path: &Path) -> Result<Vec<u8>, LoadError> {
        let failed = |reason: String| LoadError::Read {
            name: name.to_owned(),
            path: path.to_owned(),
            reason,
        };
        let most = self.terms.limits.load.component_bytes;
        let file = std::fs::File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => failed(
                "there is no such file; if it is yours, build it with `pibench-host plugin build`"
                    .into(),
            ),
            _ => failed(error.to_string()),
        })?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let mut wasm = Vec::with_capacity(usize::try_from(length).unwrap_or(most).min(most) + 1);
        let mut limited = std::io::Read::take(file, most as u64 + 1);
        std::io::Read::read_to_end(&mut limited, &mut wasm)
            .map_err(|error| failed(error.to_string()))?;
        if wasm.len() > most {
            return Err(failed(format!("it has more than component_bytes = {most}")));
        }
        Ok(wasm)
    }
}

fn not_component(name: &str, path: &Path, reason: &str) -> LoadError {
    LoadError::NotComponent {
        name: name.to_owned(),
        path: path.to_owned(),
        reason: bounded(reason),
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn declared(facts: &Facts) -> Grants {
    policy::declared(facts.imports.iter().map(|import| import.name.as_str()))
}

fn kind(name: &str, world: World) -> Kind {
    match world {
        World::ToolApp => Kind::App,
        World::Grader if name == "python" => Kind::Python,
        World::Grader => Kind::Grader,
        World::Shell => Kind::Shell,
        World::Document => Kind::Document,
    }
}

fn world(facts: &Facts) -> Option<World> {
    let worlds = [
        (TOOLS, World::ToolApp),
        (COMMANDS, World::Shell),
        (DOCUMENTS, World::Document),
        (GRADING, World::Grader),
    ];
    let found = worlds.into_iter().find(|(name, _)| exports(facts, name));
    found.map(|(_, world)| world)
}

fn exports(facts: &Facts, interface: &str) -> bool {
    facts.exports.iter().any(|export| export == interface)
}

fn foreign_import(facts: &Facts, world: World) -> Option<String> {
    let ours = match world {
        World::ToolApp => APP_IMPORTS,
        World::Grader => GRADER_IMPORTS,
        World::Shell => SHELL_IMPORTS,
        World::Document => DOCUMENT_IMPORTS,
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
    let found = facts
        .imports
        .iter()
        .find(|import| !known(&import.name) || !import.interface);
    found.map(|import| bounded(&import.name))
}

type Prepared = (Pre, Option<PythonRuntimePre<State>>);

pub(super) fn prepare(
    engine: &wasmtime::Engine,
    component: &Component,
    world: World,
) -> wasmtime::Result<Prepared> {
    use super::bindings::{grader, shell, tool_app};
    let mut linker: Linker<State> = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    super::host::clocks::add_to_linker(&mut linker)?;
    match world {
        World::ToolApp => {
            tool_app::ToolApp::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            let pre = ToolAppPre::new(linker.instantiate_pre(component)?)?;
            Ok((Pre::ToolApp(pre), None))
        }
        World::Grader => {
            grader::Grader::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            super::host::wasi_files::add_to_linker(&mut linker)?;
            let pre = linker.instantiate_pre(component)?;
            let types = component.component_type();
            let interpreter = types
                .get_export(engine, INTERPRETER)
                .map(|_| PythonRuntimePre::new(pre.clone()))
                .transpose()?;
            Ok((Pre::Grader(GraderPre::new(pre)?), interpreter))
        }
        World::Shell => {
            use shell::pibench::plugin::files;
            use tool_app::pibench::plugin::{log, types};
            types::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            files::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            super::python::add_to_linker(&mut linker)?;
            let pre = ShellPre::new(linker.instantiate_pre(component)?)?;
            Ok((Pre::Shell(pre), None))
        }
        World::Document => {
            use tool_app::pibench::plugin::log;
            log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
            let pre = DocumentReaderPre::new(linker.instantiate_pre(component)?)?;
            Ok((Pre::Document(pre), None))
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
    let mut values = 0;
    tools
        .into_iter()
        .map(|tool| {
            let (spec, size) = tool_spec(app, &tool.name, tool.description, &tool.schema)?;
            values += size.values;
            if values > VALUES_OF_APP {
                return Err(format!(
                    "the schemas of its tools have more than {VALUES_OF_APP} JSON values together"
                ));
            }
            Ok(spec)
        })
        .collect()
}

fn tool_spec(
    app: &str,
    name: &str,
    description: String,
    schema: &str,
) -> Result<(ToolSpec, Size), String> {
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
    if schema.len() > SCHEMA_BYTES {
        return Err(format!(
            "the schema of `{name}` has {} bytes, more than {SCHEMA_BYTES}",
            schema.len()
        ));
    }
    let parameters: Value = serde_json::from_str(schema)
        .map_err(|error| format!("the schema of `{name}` is no JSON: {error}"))?;
    if parameters["type"] != "object" {
        return Err(format!("the schema of `{name}` is not of type object"));
    }
    let size = arguments::measure(&parameters)
        .map_err(|reason| format!("the schema of `{name}` is not taken: {reason}"))?;
    let spec = ToolSpec {
        name: format!("{app}__{name}"),
        description,
        parameters: parameters.into(),
    };
    Ok((spec, size))
}
