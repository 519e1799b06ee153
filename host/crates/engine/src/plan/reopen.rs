//! A run folder to its plan: nothing that a score depends on may have changed since it was made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::answers::offline;
use super::cast::{Names, cast, clients, recorded};
use super::error::GO_ON;
use super::resolve::{Wanted, begin, log_of, of_folder, only, settle, warn_of_files};
use super::{Answers, Guests, Machine, Made, Notice, Plan, PlanError, Playing, process, whose};
use crate::role::prompts::Prompts;
use pibench_core::cost::MicroUsd;
use pibench_core::player::{LEXICAL, ModelSettings};
use pibench_core::size::Memory;
use pibench_core::vocabulary::PROTOCOL_VERSION;
use pibench_model::client::Clients;
use pibench_record::folder::read_manifest;
use pibench_record::identity::{differences, listed};
use pibench_record::{Manifest, RunFolder};
use pibench_suite::load::{Assignment, load_with};
use pibench_suite::suite::Suite;
use pibench_vault::keyring;

/// What is done with a run by what a board has, whoever made it.
const CHECK: &str = "check";

/// What a run folder is opened for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// To look at it: nothing is asked, and nothing is written.
    Look,
    /// To hold the patterns of a suite as it is now, of `Places`, against the verdicts of the record: nothing is asked or
    /// written, and the suite may have changed.
    Against,
    /// To judge it again by this judge, who is its user agent too: nothing is written. `again`: a recording is gone on with.
    /// `trusts_record`: what it says of servers and keys is the operator's word. Of a stranger's run it never is.
    Judge {
        judge: &'a str,
        answers: &'a Answers,
        again: bool,
        trusts_record: bool,
    },
}

impl Purpose<'_> {
    /// What is done with the run, as failures say it.
    fn verb(self) -> &'static str {
        match self {
            Self::Look => "verify",
            Self::Against => "hold patterns against",
            Self::Judge { .. } => "judge",
        }
    }
}

/// How a run is gone on with: what may be other than it was.
#[derive(Debug, Clone, Default)]
pub struct GoingOn {
    /// Episodes at once; None for as many as the suite says.
    pub jobs: Option<u32>,
    /// The bound of the program's memory; None for what the suite says.
    pub memory: Option<Memory>,
    /// US dollars; None for what the run was begun with.
    pub max_cost: Option<f64>,
    /// Whether the models are asked a question before the first session.
    pub preflight: bool,
    /// Whether it is one of several agents.
    pub beside: bool,
    /// Whether what its record says of servers, keys and programs is the operator's word, though nobody here said it before.
    pub trusts_record: bool,
}

/// The plan of a run folder, as it was made. Of its files, which may be elsewhere by now, what is not named is looked for where the
/// record says. Their contents are compared in any case; those of a policy by what they grant and limit.
pub fn reopen_by(
    machine: &Machine,
    dir: &Utf8Path,
    purpose: Purpose<'_>,
    places: Places<'_>,
) -> Result<Plan, PlanError> {
    let (folder, manifest) = RunFolder::read(dir.as_std_path()).map_err(of_folder)?;
    let of = |path: Option<&Utf8Path>| path.map(ToString::to_string);
    let mut plugin_dirs: Vec<String> = of(places.plugins).into_iter().collect();
    plugin_dirs.extend_from_slice(&manifest.plugin_dirs);
    let manifest = Manifest {
        suite_path: of(places.suite).unwrap_or(manifest.suite_path),
        plugin_dirs,
        policy: of(places.policy).or(manifest.policy),
        // Patterns are asked in no words.
        prompts: moved_prompts(manifest.prompts, places.prompts)
            .filter(|_| !matches!(purpose, Purpose::Against)),
        ..manifest
    };
    look(machine, dir, (folder, manifest), purpose, false)
}

/// Where things are on this machine. Of the record of a stranger no place is followed, named here or not, and no setting that names
/// a place, a server, a key or a program is taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places<'a> {
    /// The suite file; of a stranger's run None for the suite that the program carries.
    pub suite: Option<&'a Utf8Path>,
    /// A folder of plugins, before the others.
    pub plugins: Option<&'a Utf8Path>,
    pub policy: Option<&'a Utf8Path>,
    /// A folder of prompts, where agent, user agent or judge were not asked by the built-in ones.
    pub prompts: Option<&'a Utf8Path>,
}

/// Where a run's prompts are now. Of several runs, those that had none of their own were asked by nothing else.
fn moved_prompts(recorded: Option<String>, named: Option<&Utf8Path>) -> Option<String> {
    let recorded = recorded?;
    Some(named.map_or(recorded, ToString::to_string))
}

/// The plan of a run folder that a stranger made.
pub fn reopen_foreign(
    machine: &Machine,
    dir: &Utf8Path,
    purpose: Purpose<'_>,
    places: Places<'_>,
) -> Result<Plan, PlanError> {
    let (folder, manifest) = RunFolder::read(dir.as_std_path()).map_err(of_folder)?;
    let carried = machine.suite.clone().map(Utf8PathBuf::try_from);
    let suite = match (places.suite, carried) {
        (Some(named), _) => named.to_owned(),
        (None, Some(Ok(carried))) => carried,
        (None, _) => {
            return Err(PlanError::asked(format!(
                "check {dir}: name its suite's file by --suite; the place that it names itself is not looked at, and a checkout's suite is \
                 taken by name only"
            )));
        }
    };
    if manifest.prompts.is_some() && places.prompts.is_none() {
        return Err(PlanError::asked(format!(
            "check {dir}: user agent and judge were asked by prompts of its own; name your copy of them by --prompts"
        )));
    }
    let of = |path: Option<&Utf8Path>| path.map(ToString::to_string);
    let manifest = Manifest {
        suite_path: suite.to_string(),
        plugin_dirs: of(places.plugins).into_iter().collect(),
        policy: of(places.policy),
        prompts: moved_prompts(manifest.prompts, places.prompts),
        // What they change is compared with the suite that is here.
        set: taken(manifest.set),
        ..manifest
    };
    look(machine, dir, (folder, manifest), purpose, true)
}

/// The settings of a stranger's record that say how it was played.
fn taken(mut set: Vec<String>) -> Vec<String> {
    set.retain(|one| whose::is_of_play(one));
    set
}

/// The plan of a run folder that is being made of parts, to write what follows from its journals: nothing is asked. `dir` is
/// how these are called.
pub fn of_draft(
    machine: &Machine,
    dir: &Utf8Path,
    folder: RunFolder,
    manifest: Manifest,
) -> Result<Plan, PlanError> {
    let purpose = Purpose::Look;
    look(machine, dir, (folder, manifest), purpose, false)
}

fn look(
    machine: &Machine,
    dir: &Utf8Path,
    (folder, manifest): (RunFolder, Manifest),
    purpose: Purpose<'_>,
    is_foreign: bool,
) -> Result<Plan, PlanError> {
    let verb = if is_foreign { CHECK } else { purpose.verb() };
    let found = (folder, manifest);
    let opened = match purpose {
        Purpose::Judge { trusts_record, .. } if !is_foreign => {
            Opened::read_own(verb, machine, dir, found, None, trusts_record)?
        }
        _ => Opened::read(verb, machine, dir, found, None)?,
    };
    if is_foreign {
        opened.check_suite(dir)?;
    }
    if !matches!(purpose, Purpose::Against) {
        opened.check_same(verb, machine, dir)?;
    }
    let played = Names::played(&opened.manifest);
    if matches!(purpose, Purpose::Against)
        && [&played.user, &played.judge].contains(&&LEXICAL.to_owned())
    {
        return Err(PlanError::asked(format!(
            "hold patterns against {dir}: patterns judged it; name a run that models judged"
        )));
    }
    let silent = recorded(&opened.manifest, &played);
    let (names, mut models) = match purpose {
        Purpose::Look => (played, silent),
        Purpose::Against => (judged_by(&played, LEXICAL), silent),
        Purpose::Judge {
            judge,
            answers,
            again,
            trusts_record: _,
        } => {
            let tape = answers.tape(&opened.suite, again)?;
            (judged_by(&played, judge), clients(&opened.suite, tape))
        }
    };
    let (roles, spending) = cast(names, &opened.prompts, &mut models, None)?;
    let web = offline(&opened.suite);
    Ok(Plan::of(
        &opened.manifest,
        Made {
            suite: Arc::new(opened.suite),
            roles,
            spending,
            guests: &opened.guests,
            folder: opened.folder,
            web: Arc::new(web),
            beside: false,
            preflight: false,
            grace: Duration::ZERO,
            log: None,
            most: None,
        },
    ))
}

/// Nothing is played, and all is judged by one.
fn judged_by(played: &Names, judge: &str) -> Names {
    Names {
        agent: "nop".into(),
        user: judge.to_owned(),
        judge: judge.to_owned(),
        scaffold_prompt: played.scaffold_prompt,
    }
}

/// The plan of a run that is gone on with.
pub fn go_on(
    machine: &Machine,
    dir: &Utf8Path,
    answers: Answers,
    playing: &Playing,
    how: &GoingOn,
) -> Result<Plan, PlanError> {
    only(go_on_all(
        machine,
        &[(dir.to_owned(), answers)],
        playing,
        how,
    )?)
}

/// The plans of runs that are gone on with, each with its answers, by one way to each provider.
pub fn go_on_all(
    machine: &Machine,
    runs: &[(Utf8PathBuf, Answers)],
    playing: &Playing,
    how: &GoingOn,
) -> Result<Vec<Plan>, PlanError> {
    let mut shared: Option<Clients<'static>> = None;
    let mut plans = Vec::new();
    for (dir, answers) in runs {
        // Before it is locked, which writes into it.
        let manifest = read_manifest(dir.as_std_path()).map_err(of_folder)?;
        check_played(GO_ON, dir, &manifest)?;
        let found = RunFolder::open(dir.as_std_path()).map_err(of_folder)?;
        let trusts = how.trusts_record;
        let mut opened = Opened::read_own(GO_ON, machine, dir, found, how.jobs, trusts)?;
        opened.check_same(GO_ON, machine, dir)?;
        opened.suite.memory = how.memory.or(opened.suite.memory);
        let tape = answers.tape(&opened.suite, true)?;
        playing.check_messages(&opened.suite)?;
        let clients = match &mut shared {
            Some(clients) => {
                clients.tape(tape);
                clients
            }
            None => shared.insert(clients(&opened.suite, tape)),
        };
        let names = Names::played(&opened.manifest);
        let kept = opened.manifest.max_cost;
        let most = how.max_cost.or(kept.map(MicroUsd::usd));
        let (roles, mut spending) = cast(names, &opened.prompts, clients, most)?;
        spending.is_other = spending.limit != kept;
        may_go_on(dir, &opened, roles.models())?;
        let web = answers.web(&opened.suite)?;
        begin(machine, &mut opened.folder, playing, &roles)?;
        let log = log_of(machine, &opened.folder, playing)?;
        let plan = Plan::of(
            &opened.manifest,
            Made {
                suite: Arc::new(opened.suite),
                roles,
                spending,
                guests: &opened.guests,
                folder: opened.folder,
                web: Arc::new(web),
                beside: how.beside,
                preflight: how.preflight,
                grace: playing.grace,
                log,
                most: Some(machine.most),
            },
        );
        warn_of_files(machine, &plan);
        plans.push(plan);
    }
    Ok(plans)
}

/// A run folder with what its manifest names, found as it was.
struct Opened {
    folder: RunFolder,
    manifest: Manifest,
    suite: Suite,
    prompts: Prompts,
    guests: Guests,
}

impl Opened {
    /// What `read` gives, where models are asked or an agent is started by it: by what the operator said and nobody else.
    fn read_own(
        verb: &str,
        machine: &Machine,
        dir: &Utf8Path,
        found: (RunFolder, Manifest),
        jobs: Option<u32>,
        trusts_record: bool,
    ) -> Result<Self, PlanError> {
        let is_own = whose::check_record(machine, verb, dir, &found.1, trusts_record)?;
        let opened = Self::read(verb, machine, dir, found, jobs)?;
        if is_own {
            whose::keep(machine, &opened.manifest, &opened.suite);
        } else {
            whose::check_suite(verb, dir, &opened.suite)?;
        }
        Ok(opened)
    }

    /// As it is now, whatever it was. `verb`: what is done with the run.
    fn read(
        verb: &str,
        machine: &Machine,
        dir: &Utf8Path,
        (folder, manifest): (RunFolder, Manifest),
        jobs: Option<u32>,
    ) -> Result<Self, PlanError> {
        check_played(verb, dir, &manifest)?;
        same_rules(verb, dir, &manifest)?;
        let mut assigned = assignments(&manifest)?;
        assigned.extend(jobs.map(|jobs| Assignment::chosen("jobs", jobs)));
        let suite = load(
            machine,
            &suite_file(verb, machine, dir, &manifest)?,
            &assigned,
        )?;
        let own_prompts = prompts_folder(verb, dir, &manifest)?;
        let prompts = Prompts::load(own_prompts).map_err(PlanError::input)?;
        let policy = policy_file(verb, dir, &manifest)?;
        let guests = Guests::of(machine, &suite, plugin_dirs(machine, &manifest), policy)?;
        Ok(Self {
            folder,
            manifest,
            suite,
            prompts,
            guests,
        })
    }

    /// Whether a stranger's run is one of the suite that it is checked by, before a plugin is compiled for it.
    fn check_suite(&self, dir: &Utf8Path) -> Result<(), PlanError> {
        let Self {
            manifest, suite, ..
        } = self;
        if manifest.suite_digest == suite.digest {
            return Ok(());
        }
        let now = Manifest {
            suite_digest: suite.digest.clone(),
            suite_parts: suite.parts.clone(),
            ..manifest.clone()
        };
        Err(PlanError::input(format!(
            "check {dir}: it is a run of the suite {} (digest {}), and it is checked by the suite {} (digest {}); name the file of the \
             suite that was played by --suite (they differ in {})",
            manifest.suite,
            manifest.suite_digest,
            suite.id,
            suite.digest,
            listed(&differences(manifest, &now))
        )))
    }

    fn check_same(&self, verb: &str, machine: &Machine, dir: &Utf8Path) -> Result<(), PlanError> {
        let Self {
            manifest,
            suite,
            prompts,
            guests,
            ..
        } = self;
        let agent_prompts = Names::played(manifest).agent_prompts(prompts)?;
        let then = manifest.scaffold_prompt_digest.as_ref();
        // The prompts of a grading are its judge's: the agent had played by then.
        let of_agent = then.map(|then| {
            if manifest.graded.is_some() {
                then.clone()
            } else {
                agent_prompts.digest()
            }
        });
        let played = (&*manifest.personas, &*manifest.sessions);
        // What is played on is played as it was begun.
        let beside = verb == GO_ON;
        let now = Manifest {
            suite_digest: suite.digest.clone(),
            suite_parts: suite.parts.clone(),
            prompts_digest: prompts.digest().to_owned(),
            scaffold_prompt_digest: of_agent,
            plugins: guests.load_marks(machine, suite, played, beside)?,
            limits: guests.recorded_limits(),
            ..manifest.clone()
        };
        same_run(verb, dir, manifest, &now)
    }
}

/// Where the suite is. One that a program carried was in the cache of the machine that played; here it is in this one's. Its
/// contents are compared in any case. No other suite's place is taken by it.
pub(super) fn suite_file(
    verb: &str,
    machine: &Machine,
    dir: &Utf8Path,
    manifest: &Manifest,
) -> Result<Utf8PathBuf, PlanError> {
    let named = Utf8PathBuf::from(&manifest.suite_path);
    // The files of a private pack lie in another.
    let is_private = |folder: &Utf8Path| keyring::is_private(folder.as_std_path());
    if named.exists() || named.parent().is_some_and(is_private) {
        return Ok(named);
    }
    let carried = machine.suite.clone().map(Utf8PathBuf::try_from);
    match (carried, in_cache(&named)) {
        (Some(Ok(carried)), Some(place)) if in_cache(&carried) == Some(place) => Ok(carried),
        _ => Err(PlanError::input(format!(
            "{verb} {dir}: its suite's file {named} is not there; put it back (`verify`, `review`, `grade` and `submit` take it from \
             elsewhere by --suite)"
        ))),
    }
}

/// Where the policy is, if it was played by one.
pub(super) fn policy_file<'m>(
    verb: &str,
    dir: &Utf8Path,
    manifest: &'m Manifest,
) -> Result<Option<&'m Utf8Path>, PlanError> {
    let Some(named) = manifest.policy.as_deref().map(Utf8Path::new) else {
        return Ok(None);
    };
    // Those of a private pack lie in another file, whichever folder of it they are of.
    let mut above = named.ancestors().skip(1);
    if named.exists() || above.any(|folder| keyring::is_private(folder.as_std_path())) {
        return Ok(Some(named));
    }
    Err(PlanError::input(format!(
        "{verb} {dir}: its policy's file {named} is not there; put it back (`verify` and `grade` take it from elsewhere by --policy)"
    )))
}

/// Where the operator's prompts are, if it was played by some.
pub(super) fn prompts_folder<'m>(
    verb: &str,
    dir: &Utf8Path,
    manifest: &'m Manifest,
) -> Result<Option<&'m Utf8Path>, PlanError> {
    match manifest.prompts.as_deref().map(Utf8Path::new) {
        Some(named) if !named.exists() => Err(PlanError::input(format!(
            "{verb} {dir}: its folder of prompts {named} is not there; put it back (`verify`, `review`, `audit`, `grade` and \
             `submit prepare` take it from elsewhere by --prompts)"
        ))),
        named => Ok(named),
    }
}

/// Where a program unpacked a file that it carries, without the cache and the digest: these are the machine's and the program's own.
fn in_cache(file: &Utf8Path) -> Option<(&str, &Utf8Path)> {
    let unpacked = file.parent()?.parent()?;
    let (kind, _) = unpacked.file_name()?.rsplit_once('-')?;
    Some((kind, file.strip_prefix(unpacked).ok()?))
}

/// The rest is played by the models that the beginning was played by. Nothing is left to play of what was graded again.
fn may_go_on(
    dir: &Utf8Path,
    opened: &Opened,
    models: BTreeMap<String, Vec<ModelSettings>>,
) -> Result<(), PlanError> {
    let manifest = &opened.manifest;
    let Some(graded) = &manifest.graded else {
        let now = Manifest {
            models,
            process: process::told(
                process::mark(&manifest.agent, &opened.suite.agents),
                manifest,
            ),
            ..manifest.clone()
        };
        return same_run(GO_ON, dir, manifest, &now);
    };
    Err(PlanError::asked(format!(
        "go on with {}: it was graded and not played; a grading that was cut off goes on by the same `pibench-host grade {} ...`",
        opened.folder.root().display(),
        graded.from
    )))
}

/// A suite that is sound with these settings of the command line; its warnings are told.
pub fn load(
    machine: &Machine,
    path: &Utf8Path,
    assigned: &[Assignment],
) -> Result<Suite, PlanError> {
    let loaded = load_with(path, assigned).map_err(|problems| PlanError::Suite {
        path: path.to_owned(),
        problems,
    })?;
    (machine.tell)(Notice::Suite(&loaded.warnings));
    Ok(loaded.suite)
}

/// The settings that a run was given on its command line.
pub(super) fn assignments(manifest: &Manifest) -> Result<Vec<Assignment>, PlanError> {
    let set = manifest.set.iter().map(|text| text.parse());
    set.collect::<Result<_, String>>()
        .map_err(|reason| PlanError::input(format!("use the settings of manifest.json: {reason}")))
}

/// Of what was not played here, and of what is shown of a run, no plan can be made.
fn check_played(verb: &str, dir: &Utf8Path, manifest: &Manifest) -> Result<(), PlanError> {
    let what = if manifest.imported.is_some() {
        "it was imported and not played here"
    } else if manifest.published.is_some() {
        "it is a published run; name the run that it was made of"
    } else {
        return Ok(());
    };
    Err(PlanError::input(format!(
        "{verb} {dir}: {what}; report, compare, view and verify take it"
    )))
}

/// A run is gone on with, verified and judged by the rules that it was played by.
pub(super) fn same_rules(verb: &str, dir: &Utf8Path, manifest: &Manifest) -> Result<(), PlanError> {
    let was = manifest.protocol_version;
    if was == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(PlanError::input(format!(
        "{verb} {dir}: it was played by version {was} of the protocol, and this host has version {PROTOCOL_VERSION}; \
         play it anew (report, view and show take it as it is)"
    )))
}

/// Whether a run folder is the run that an agent of a suite would play now, to the part: else it is not to be gone on with. True
/// where its record says of servers, keys and programs what is said now.
pub fn same_plan(
    machine: &Machine,
    suite: &Suite,
    wanted: &Wanted,
    agent: &str,
    dir: &Utf8Path,
) -> Result<bool, PlanError> {
    let was = read_manifest(dir.as_std_path()).map_err(of_folder)?;
    let mut now = settle(machine, suite, wanted, agent)?.manifest;
    now.process = process::told(now.process, &was);
    let differ = differences(&was, &now);
    let part = |manifest: &Manifest| {
        manifest
            .shard
            .map_or("all".into(), |shard| shard.to_string())
    };
    let (there, asked) = (part(&was), part(&now));
    if there == asked && differ.is_empty() {
        // The suite that a program carries lies in this one's cache.
        let suite_path = suite_file(GO_ON, machine, dir, &was)?.into_string();
        return Ok(whose::is_same(&Manifest { suite_path, ..was }, &now));
    }
    let mut what = Vec::new();
    if there != asked {
        what.push(format!("it has {there} of the episodes and not {asked}"));
    }
    if !differ.is_empty() {
        what.push(format!("they differ in {}", listed(&differ)));
    }
    Err(PlanError::input(format!(
        "go on with {dir}: it holds another run than the one that is asked for: {}; choose another --out",
        what.join(", ")
    )))
}

/// Nothing that a score depends on may have changed since.
pub(super) fn same_run(
    verb: &str,
    dir: &Utf8Path,
    was: &Manifest,
    now: &Manifest,
) -> Result<(), PlanError> {
    let changed = differences(was, now);
    if changed.is_empty() {
        return Ok(());
    }
    if verb == CHECK {
        return Err(PlanError::input(format!(
            "{verb} {dir}: it was played by other things than those that are here: {}; a board has the plugins that the program \
             carries and those of its --plugins, and its --policy and --prompts",
            listed(&changed)
        )));
    }
    Err(PlanError::input(format!(
        "{verb} {dir}: changed since it was begun: {}; put it back, or play anew (its suite is {})",
        listed(&changed),
        was.suite_path
    )))
}

/// Where its plugins were, and where this program's are: the folder may have been played on another machine, or with another
/// cache. Their bytes are compared in any case.
pub(super) fn plugin_dirs(machine: &Machine, manifest: &Manifest) -> Vec<PathBuf> {
    let dirs = manifest.plugin_dirs.iter();
    let dirs = dirs.filter(|dir| !is_unpacked(Utf8Path::new(dir)));
    let mut dirs: Vec<PathBuf> = dirs.map(PathBuf::from).collect();
    let mut here = machine.own.clone();
    here.retain(|dir| !dirs.contains(dir));
    dirs.extend(here);
    dirs
}

/// Whether a program unpacked there the plugins that it carries, in whichever cache. Nobody chose that place, and in another cache
/// than this program's they would be taken for those of others.
fn is_unpacked(dir: &Utf8Path) -> bool {
    let unpacked = dir.parent().and_then(Utf8Path::file_name);
    let digest = unpacked.and_then(|name| name.strip_prefix("embedded-"));
    let is_digest = |text: &str| text.len() == 16 && text.bytes().all(|c| c.is_ascii_hexdigit());
    dir.file_name() == Some("plugins") && digest.is_some_and(is_digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_taken_from_elsewhere_for_a_run_that_had_own_ones_and_for_no_other() {
        let (own, named) = (|| Some("own".to_owned()), Some(Utf8Path::new("moved")));
        assert_eq!(moved_prompts(own(), named).as_deref(), Some("moved"));
        assert_eq!(moved_prompts(own(), None).as_deref(), Some("own"));
        assert_eq!(moved_prompts(None, named), None);
    }

    #[test]
    fn carried_plugins_are_looked_for_in_no_cache_and_all_others_where_they_were() {
        for cache in ["/srv/a/.cache/pibench", "/scratch/b", ""] {
            let dir = Utf8Path::new(cache).join("embedded-0123456789abcdef/plugins");
            assert!(is_unpacked(&dir), "{dir}");
        }
        for other in [
            "/data/embedded-1/plugins",
            "/data/embedded-lab-of-2026-xyz/plugins",
            "/data/embedded-0123456789abcdef/mine",
            "/data/embedded-0123456789abcdef/plugins/mine",
            "/data/0123456789abcdef/plugins",
            "plugins",
            "/",
        ] {
            assert!(!is_unpacked(Utf8Path::new(other)), "{other}");
        }
    }

    #[test]
    fn a_carried_suite_is_known_in_whatever_cache_and_other_files_are_not_taken_for_it() {
        let place = |path: &'static str| in_cache(Utf8Path::new(path));
        let here = place("/srv/a/.cache/pibench/embedded-0123456789abcdef/suite/suite.toml");
        assert!(here.is_some());
        let there = place("/scratch/b/embedded-fedcba9876543210/suite/suite.toml");
        assert_eq!(there, here);
        for other in [
            "suite.toml",
            "/data/lab/suite.toml",
            "/data/my-lab/suite/suite.toml",
            "/data/embedded-1/tasks/suite.toml",
        ] {
            assert_ne!(place(other), here, "{other}");
        }
    }
}
