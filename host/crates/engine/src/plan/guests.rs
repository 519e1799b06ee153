//! The plugins of a suite on the operator's terms: which there are, what they may use, under which limits, and what a manifest
//! keeps of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{Machine, Notice, PlanError};
use pibench_record::folder::{PluginMark, SignedMark};
use pibench_sandbox::document::DOCUMENT;
use pibench_sandbox::plugin::Papers;
use pibench_sandbox::policy::Origin;
use pibench_sandbox::shell::{PYTHON, SHELL};
use pibench_sandbox::signed::Signers;
use pibench_sandbox::{GuestLimits, LoadError, Plugin, Plugins, Terms, World, lock};
use pibench_signature::AllowedSigners;
use pibench_suite::load;
use pibench_suite::load::LoadedPolicy;
use pibench_suite::manifest::PolicyFile;
use pibench_suite::suite::{Persona, Session, Suite};

/// The plugins of the agent's own tools, which every suite has. The largest last.
pub const OF_TOOLS: [&str; 3] = [DOCUMENT, SHELL, PYTHON];

/// All guests of a suite.
#[derive(Debug)]
pub struct Guests {
    pub limits: GuestLimits,
    pub plugins: Arc<Plugins>,
    /// The policy in effect; None for no word of any plugin.
    pub policy: Option<LoadedPolicy>,
    /// Where plugins are looked for, in this order.
    pub dirs: Vec<PathBuf>,
}

impl Guests {
    /// The plugins of a suite, of these folders and of the program, under the policy that the suite names.
    pub fn of(
        machine: &Machine,
        suite: &Suite,
        dirs: Vec<PathBuf>,
        policy: Option<&Utf8Path>,
    ) -> Result<Self, PlanError> {
        let loaded = policy.map(read_policy).transpose()?;
        let policy = loaded.as_ref().map(|loaded| loaded.policy.clone());
        let policy = policy.unwrap_or_default();
        let limits = limits(suite, &policy)?;
        let places = limits.for_episodes(at_once(suite));
        let in_policy: Vec<String> = policy.plugins.keys().cloned().collect();
        let named = suite.plugins.clone();
        let lock = suite.lock.as_deref();
        let plugins = open(machine, named, dirs.clone(), &places, policy, lock)?;
        for plugin in in_policy.iter().filter(|name| !plugins.is_there(name)) {
            (machine.tell)(Notice::Unknown { plugin });
        }
        Ok(Self {
            limits,
            plugins: Arc::new(plugins),
            policy: loaded,
            dirs,
        })
    }

    /// Loads the plugins that the suite needs, so that a missing one is told before anything is played; the personas and sessions
    /// that are played say which can wait. Those of the agent's own tools are looked for only: with `beside`, what is the
    /// program's own and not compiled yet is compiled while the first turns play, and the others quickly, to be compiled again
    /// then. Trials play on the threads that would compile, so theirs are compiled before. What one asked for and did not get is
    /// told.
    pub(super) fn load_marks(
        &self,
        machine: &Machine,
        suite: &Suite,
        (personas, sessions): (&[String], &[String]),
        beside: bool,
    ) -> Result<BTreeMap<String, PluginMark>, PlanError> {
        let needed = suite.plugin_names();
        let played = used(suite, personas, sessions);
        // The largest first.
        let own = OF_TOOLS.into_iter().rev();
        let own = own.filter(|name| !needed.contains(*name));
        let names: Vec<&str> = own.chain(needed.iter().map(String::as_str)).collect();
        let later: BTreeSet<&str> = needed
            .par_iter()
            .map(String::as_str)
            .filter(|name| self.can_wait(name, &played, beside))
            .collect();
        let is_compiled = |name: &str| {
            beside && self.plugins.is_soon_there(name) || self.plugins.is_compiled(name)
        };
        let fresh = needed.iter().map(String::as_str).filter(|name| {
            self.plugins.is_there(name) && !later.contains(name) && !is_compiled(name)
        });
        let fresh: Vec<&str> = fresh.collect();
        // Reading and hashing some 100 MB is most of the start of a run.
        let each = names.par_iter().with_max_len(1);
        let told: Vec<_> = each.clone().map(|name| self.plugins.papers(name)).collect();
        // What is not as a lock says is refused before anything is compiled.
        let told = told.into_iter().map(|papers| match papers {
            Err(error @ LoadError::Lock(_)) => Err(PlanError::input(error)),
            papers => Ok(papers),
        });
        let told = told.collect::<Result<Vec<_>, _>>()?;
        let papers = |(&name, papers): (&&str, Result<Papers, LoadError>)| {
            let papers = papers?;
            if !needed.contains(name) || later.contains(name) {
                return Ok(papers);
            }
            let begun = Instant::now();
            let plugin = self.ready(name, beside)?;
            if fresh.len() > 1 && fresh.contains(&name) {
                tell_compiled(machine, &[name], begun);
            }
            Ok(plugin.papers())
        };
        if !fresh.is_empty() {
            (machine.tell)(Notice::Compiling { plugins: &fresh });
        }
        let begun = Instant::now();
        let papers: Vec<_> = each.zip(told).map(papers).collect();
        if !fresh.is_empty() {
            tell_compiled(machine, &fresh, begun);
        }
        let mut marks = BTreeMap::new();
        for (name, papers) in names.into_iter().zip(papers) {
            match papers {
                Ok(papers) => {
                    marks.insert(name.to_owned(), mark(machine, name, papers));
                }
                // A machine may be without Python: the shell says so where a command needs it.
                Err(LoadError::Missing { .. }) if name == PYTHON && !needed.contains(PYTHON) => {}
                Err(error) => return Err(PlanError::input(error)),
            }
        }
        Ok(marks)
    }

    fn ready(&self, name: &str, beside: bool) -> Result<Arc<Plugin>, LoadError> {
        if beside {
            self.plugins.get_soon(name)
        } else {
            self.plugins.get(name)
        }
    }

    /// Loads the plugins of the agent's own tools too, for play that none of it is to keep waiting. What is compiled for it is told.
    pub(super) fn load_tools(&self, machine: &Machine) -> Result<(), PlanError> {
        for name in OF_TOOLS {
            let begun = Instant::now();
            let is_fresh = self.plugins.is_there(name) && !self.plugins.is_compiled(name);
            if is_fresh {
                (machine.tell)(Notice::Compiling { plugins: &[name] });
            }
            let got = self.plugins.get(name);
            if is_fresh {
                tell_compiled(machine, &[name], begun);
            }
            match got {
                // The shell says so where a command needs it.
                Ok(_) | Err(LoadError::Missing { .. }) => {}
                Err(error) => return Err(PlanError::input(error)),
            }
        }
        Ok(())
    }

    /// Whether the first turn can do without: an app of the program's own that no persona has of which anything is played, and
    /// whose tools can be named all the same; or one of the agent's tools that is compiled beside, or that no rule needs. Of
    /// others' it is told here whether they can be loaded.
    fn can_wait(&self, name: &str, played: &BTreeSet<String>, beside: bool) -> bool {
        let papers = self.plugins.papers(name);
        let own = papers.is_ok_and(|papers| papers.pinned && papers.origin == Origin::Own);
        let is_of_tools = OF_TOOLS.contains(&name);
        let of_tools = || is_of_tools && !self.plugins.is_compiled(name);
        let is_told = || is_of_tools || self.plugins.described(name).is_some();
        let unused = || !played.contains(name) && is_told();
        own && (unused() || beside && of_tools())
    }

    /// Why a plugin by the name of one of the agent's own tools is none: the first call that needs it would end the run.
    pub fn find_misnamed(name: &str, papers: &Papers) -> Option<String> {
        let (is_one, kind) = match name {
            DOCUMENT => (papers.world == World::Document, "document reader"),
            SHELL => (papers.world == World::Shell, "shell"),
            PYTHON => (papers.interprets, "Python"),
            _ => return None,
        };
        (!is_one).then(|| {
            format!(
                "use plugin `{name}`: it is no {kind}, which the agent's own tools look for by this name"
            )
        })
    }

    /// Refuses plugins that have the name of another kind's, and those of others that no policy speaks of, before anything is
    /// played or graded.
    pub(super) fn decide(&self, suite: &Suite) -> Result<(), PlanError> {
        let own = OF_TOOLS.into_iter().map(str::to_owned);
        for name in suite.plugin_names().into_iter().chain(own) {
            // One that is missing was told, if it is needed.
            if self.plugins.is_there(&name) {
                let papers = self.plugins.papers(&name).map_err(PlanError::input)?;
                if let Some(reason) = Self::find_misnamed(&name, &papers) {
                    let reason = format!("{reason}; give the plugin another name");
                    return Err(PlanError::input(reason));
                }
                let decided = self.plugins.decide(&name, &papers);
                decided.map_err(PlanError::input)?;
            }
        }
        Ok(())
    }

    /// The limits as a manifest keeps them.
    pub(super) fn recorded_limits(&self) -> BTreeMap<String, Value> {
        match json!(self.limits) {
            Value::Object(fields) => fields.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }

    pub(super) fn recorded_dirs(&self) -> Vec<String> {
        let dirs = self.dirs.iter();
        dirs.map(|dir| dir.display().to_string()).collect()
    }
}

/// The apps of the personas that are played, and the graders of their chosen sessions: those that these depend on have no rules.
/// Empty lists leave nothing out.
fn used(suite: &Suite, personas: &[String], sessions: &[String]) -> BTreeSet<String> {
    let is_chosen = |session: &&Session| sessions.is_empty() || sessions.contains(&session.id);
    let played: Vec<&Persona> = suite.played(personas, sessions).collect();
    let apps = played.iter().flat_map(|persona| persona.app_names());
    let chosen = played
        .iter()
        .flat_map(|persona| persona.sessions.iter().filter(is_chosen));
    let graders = chosen.flat_map(Session::graders).map(str::to_owned);
    apps.chain(graders).collect()
}

/// The plugins of a suite's `[plugins]` and of folders, on the operator's terms. `lock` is the suite's.
pub fn open(
    machine: &Machine,
    named: BTreeMap<String, Utf8PathBuf>,
    dirs: Vec<PathBuf>,
    limits: &GuestLimits,
    policy: PolicyFile,
    lock: Option<&Utf8Path>,
) -> Result<Plugins, PlanError> {
    let lock = lock.map(|path| lock::read(path.as_std_path()));
    let terms = Terms {
        limits: *limits,
        signers: read_signers(&policy)?,
        policy: Some(policy),
        lock: lock.transpose().map_err(PlanError::input)?,
        own: machine.own.clone(),
        compiler: Some(machine.compiler.clone()),
        on_demand: false,
    };
    Ok(Plugins::on_terms(named, dirs, &machine.cache, terms))
}

/// Where plugins are looked for: the operator's folder, then those of the program.
///
/// # Errors
///
/// The operator's folder is not there or holds no component: the program's would be played with in their place, unseen.
pub fn search(machine: &Machine, own: Option<&Utf8Path>) -> Result<Vec<PathBuf>, PlanError> {
    if let Some(dir) = own {
        let failed = |reason: &str| PlanError::input(format!("use the plugins of {dir}: {reason}"));
        let entries = std::fs::read_dir(dir).map_err(|error| failed(&error.to_string()))?;
        let mut paths = entries.flatten().map(|entry| entry.path());
        if !paths.any(|path| path.extension().is_some_and(|ending| ending == "wasm")) {
            return Err(failed(
                "it holds no component (NAME.wasm); `plugin build` makes them",
            ));
        }
    }
    let own = own.map(|dir| dir.as_std_path().to_owned());
    Ok(own.into_iter().chain(machine.own.clone()).collect())
}

/// Whose signatures a policy counts, as of now.
fn read_signers(policy: &PolicyFile) -> Result<Option<Signers>, PlanError> {
    let Some(path) = &policy.allowed_signers else {
        return Ok(None);
    };
    let mut allowed = AllowedSigners::read(path.as_ref()).map_err(PlanError::input)?;
    if let Some(revoked) = &policy.revoked_keys {
        allowed = allowed.revoke(revoked.as_ref()).map_err(PlanError::input)?;
    }
    let at = Timestamp::now();
    Ok(Some(Signers { allowed, at }))
}

/// An operator's policy.
pub fn read_policy(path: &Utf8Path) -> Result<LoadedPolicy, PlanError> {
    load::policy(path).map_err(|problems| PlanError::Policy {
        path: path.to_owned(),
        problems,
    })
}

/// The limits of a suite and of a policy: of each the lower one.
pub fn limits(suite: &Suite, policy: &PolicyFile) -> Result<GuestLimits, PlanError> {
    let lowered = |by, whose: &str| {
        let lowered = GuestLimits::default().lowered(by);
        let told = |reason| format!("use the limits of {whose}: {reason}");
        lowered.map_err(|reason| PlanError::input(told(reason)))
    };
    let suites = lowered(suite.limits, suite.path.as_str())?;
    Ok(suites.within(lowered(policy.limits, "the policy")?))
}

/// Episodes that are played at once: as many as the suite says, else one for each processor.
pub fn at_once(suite: &Suite) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    suite.jobs.map_or_else(processors, |jobs| jobs as usize)
}

fn tell_compiled(machine: &Machine, plugins: &[&str], begun: Instant) {
    let took = begun.elapsed();
    (machine.tell)(Notice::Compiled { plugins, took });
}

/// What the manifest keeps of a plugin.
fn mark(machine: &Machine, name: &str, papers: Papers) -> PluginMark {
    let withheld = papers.declared.without(papers.grants).names();
    if !withheld.is_empty() {
        (machine.tell)(Notice::Withheld {
            plugin: name,
            asked: &withheld,
        });
    }
    let grants = papers.grants.names();
    PluginMark {
        sha256: papers.sha256,
        size: papers.size,
        version: papers.facts.version.clone(),
        interface: papers.facts.wit().to_owned(),
        pinned: papers.pinned,
        grants: grants.into_iter().map(str::to_owned).collect(),
        signed: papers.signed.map(|signed| SignedMark {
            by: signed.by.principal,
            key: signed.by.fingerprint,
        }),
        limits: json!(papers.cap),
    }
}
