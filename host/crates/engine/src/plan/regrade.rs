//! A finished run to the plan of grading it again, in a new run folder: all of the run but what it is graded by.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::answers::offline;
use super::cast::{Names, UNKNOWN, cast, clients, recorded};
use super::reopen::{
    assignments, load, plugin_dirs, policy_file, prompts_folder, same_rules, suite_file,
};
use super::resolve::{absolute, of_folder};
use super::{Answers, Guests, Machine, Made, Plan, PlanError, Roles, whose};
use crate::role::prompts::Prompts;
use crate::spending::Spending;
use pibench_core::player;
use pibench_core::player::{ModelSettings, Players};
use pibench_record::event::{Event, VERSION};
use pibench_record::folder::{FolderError, Graded, read_outline, read_results};
use pibench_record::identity::{differences, listed};
use pibench_record::outline::{IntentOutline, Outline, SessionOutline};
use pibench_record::{Manifest, RunFolder, journal};
use pibench_suite::load::Assignment;
use pibench_suite::suite::{Intent, Session, Suite};

/// The judge's key in a manifest's models.
const JUDGE: &str = "judge";

/// By what a run is graded again.
#[derive(Debug, Clone, Default)]
pub struct Grading<'a> {
    /// The suite with the rules and rubrics; None for the run's, as it is now.
    pub suite: Option<&'a Utf8Path>,
    /// Options in the place of what the run has: `judge`, `protocol`, `policy`, `jobs`.
    pub chosen: &'a [Assignment],
    /// A folder of plugins, before those of the run.
    pub plugins: Option<&'a Utf8Path>,
    /// A folder of prompts to judge by; None for the run's own, as they were, or else the built-in ones of this program.
    pub prompts: Option<&'a Utf8Path>,
    pub answers: Answers,
    /// Whether what the record says of servers and keys is the operator's word, though nobody here said it before.
    pub trusts_record: bool,
}

/// The run in `dir`, and the plan that grades it into `out`. A grading into `out` that was cut off is gone on with.
pub fn regrade(
    machine: &Machine,
    dir: &Utf8Path,
    out: &Utf8Path,
    by: &Grading<'_>,
) -> Result<(RunFolder, Plan), PlanError> {
    let (played, was) = RunFolder::read(dir.as_std_path()).map_err(PlanError::input)?;
    same_rules("grade", dir, &was)?;
    let is_own = whose::check_record(machine, "grade", dir, &was, by.trusts_record)?;
    check_whole(dir, &played)?;
    let suite = load_suite(machine, dir, &played, &was, by)?;
    if is_own {
        whose::keep(machine, &was, &suite);
    } else if by.suite.is_none() {
        whose::check_suite("grade", dir, &suite)?;
    }
    let prompts = load_prompts(dir, &was, by.prompts)?;
    let named_prompts = by.prompts.map(absolute).transpose()?;
    let (roles, spending) = cast_judges(&was, &suite, &prompts, &by.answers)?;
    let policy = by.choose_policy(suite.policy.as_deref(), dir, &was)?;
    let own = by.plugins.map(|dir| dir.as_std_path().to_owned());
    let dirs = own.into_iter().chain(plugin_dirs(machine, &was)).collect();
    let guests = Guests::of(machine, &suite, dirs, policy.as_deref())?;
    guests.decide(&suite)?;
    let graded = (&*was.personas, &*was.sessions);
    let manifest = Manifest {
        version: VERSION,
        host: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now().to_string(),
        suite_path: absolute(&suite.path)?,
        suite_digest: suite.digest.clone(),
        suite_parts: suite.parts.clone(),
        protocol: suite.protocol,
        judge: roles.judge_name.clone(),
        players: Players {
            judge: roles.players().judge,
            ..was.players
        },
        models: models(&was, &roles),
        plugin_dirs: guests.recorded_dirs(),
        prompts: named_prompts.or_else(|| was.prompts.clone()),
        prompts_version: prompts.version(),
        prompts_digest: prompts.digest().to_owned(),
        policy: policy.map(Utf8PathBuf::into_string),
        policy_digest: guests.policy.as_ref().map(|policy| policy.digest.clone()),
        plugins: guests.load_marks(machine, &suite, graded, false)?,
        limits: guests.recorded_limits(),
        graded: Some(read_graded(dir, &played, &was)?),
        max_cost: None,
        ..was.clone()
    };
    // Nobody said which program plays: that was not asked.
    if is_own || (by.suite.is_some() && player::process(&was.agent).is_none()) {
        whose::keep(machine, &manifest, &suite);
    }
    let folder = folder(out, &manifest, &played)?;
    let web = offline(&suite);
    let plan = Plan::of(
        &manifest,
        Made {
            suite: Arc::new(suite),
            roles,
            spending,
            guests: &guests,
            folder,
            web: Arc::new(web),
            beside: false,
            preflight: false,
            grace: Duration::ZERO,
            log: None,
            most: None,
        },
    );
    Ok((played, plan))
}

/// The suite with the rules and rubrics to grade by, and what the options say: it must be the one that was played.
fn load_suite(
    machine: &Machine,
    dir: &Utf8Path,
    played: &RunFolder,
    was: &Manifest,
    by: &Grading<'_>,
) -> Result<Suite, PlanError> {
    let path = match by.suite {
        Some(named) => named.to_owned(),
        None => suite_file("grade", machine, dir, was)?,
    };
    let mut suite = load(machine, &path, &assignments(was)?)?;
    if suite.id != was.suite {
        return Err(PlanError::input(format!(
            "grade {dir} by {path}: it is the suite `{}`, and `{}` was played",
            suite.id, was.suite
        )));
    }
    // What the run has, until an option says otherwise.
    suite.protocol = was.protocol;
    suite.judge = Some(was.judge.clone());
    suite.policy = was.policy.as_ref().map(Utf8PathBuf::from);
    suite.put(by.chosen).map_err(PlanError::asked)?;
    let outline = read_outline(played.root()).map_err(PlanError::input)?;
    let outline = outline.ok_or_else(|| format!("grade {dir}: it has no outline.json"));
    same_play(&outline.map_err(PlanError::input)?, &suite).map_err(PlanError::input)?;
    if was.imported.is_some() && suite.judge.as_deref() == Some(UNKNOWN) {
        return Err(PlanError::input(format!(
            "grade {dir}: it is imported and does not say who judged; name a judge by --judge"
        )));
    }
    Ok(suite)
}

/// The prompts to judge by. A folder of the run's own must be as it was: whoever wants it as it is now names it.
fn load_prompts(
    dir: &Utf8Path,
    was: &Manifest,
    named: Option<&Utf8Path>,
) -> Result<Prompts, PlanError> {
    let folder = match named {
        Some(_) => named,
        None => prompts_folder("grade", dir, was)?,
    };
    let prompts = Prompts::load(folder).map_err(PlanError::input)?;
    match folder {
        Some(own) if named.is_none() && prompts.digest() != was.prompts_digest => {
            Err(PlanError::input(format!(
                "grade {dir}: changed since it was begun: the prompts in {own}, or the built-in ones beside them; put them back, or \
                 name them by --prompts to judge by them as they are now"
            )))
        }
        _ => Ok(prompts),
    }
}

/// Who played is named and not asked; the judge is, and what it costs is counted.
fn cast_judges(
    was: &Manifest,
    suite: &Suite,
    prompts: &Prompts,
    answers: &Answers,
) -> Result<(Roles, Spending), PlanError> {
    let names = Names {
        judge: suite.judge.clone().unwrap_or_default(),
        ..Names::played(was)
    };
    let alone = Names {
        agent: "nop".into(),
        user: player::LEXICAL.into(),
        ..names.clone()
    };
    let mut silent = recorded(was, &names);
    let (all, _) = cast(names, prompts, &mut silent, None)?;
    let mut asked = clients(suite, answers.tape(suite, true)?);
    let (judging, spending) = cast(alone, prompts, &mut asked, None)?;
    let roles = Roles {
        judge: judging.judge,
        unpriced: judging.unpriced,
        ..all
    };
    Ok((roles, spending))
}

impl Grading<'_> {
    /// The policy in effect, absolute: the one that was named, or that of the run.
    fn choose_policy(
        &self,
        policy: Option<&Utf8Path>,
        dir: &Utf8Path,
        was: &Manifest,
    ) -> Result<Option<Utf8PathBuf>, PlanError> {
        let is_own = |one: &Assignment| {
            matches!(
                one,
                Assignment::Chosen {
                    option: "policy",
                    ..
                }
            )
        };
        match policy {
            Some(own) if self.chosen.iter().any(is_own) => Ok(Some(absolute(own)?.into())),
            _ => Ok(policy_file("grade", dir, was)?.map(ToOwned::to_owned)),
        }
    }
}

/// A run can be graded when it was played to its end and nothing was changed since.
fn check_whole(path: &Utf8Path, played: &RunFolder) -> Result<(), PlanError> {
    let mut broken = played.broken_seals().map_err(PlanError::input)?;
    if let Some((name, what)) = broken.pop() {
        return Err(PlanError::input(format!(
            "grade {path}: {name}: {what}; see `pibench-host verify {path}`"
        )));
    }
    let results = read_results(played.root()).map_err(PlanError::input)?;
    for line in &results.sessions {
        let file = played.journal(&line.persona, line.run);
        let events = if file.exists() {
            journal::events(&file).map_err(PlanError::input)?
        } else {
            Vec::new()
        };
        if !matches!(events.last(), Some(Event::EpisodeFinished)) {
            return Err(PlanError::input(format!(
                "grade {path}: {} in run {} is not played to its end; go on with `pibench-host run --resume {path}` first",
                line.persona, line.run
            )));
        }
    }
    Ok(())
}

/// Where the verdicts come from.
fn read_graded(dir: &Utf8Path, played: &RunFolder, was: &Manifest) -> Result<Graded, PlanError> {
    // Of a run that was graded before: as it was played.
    let before = was.graded.as_ref();
    Ok(Graded {
        from: absolute(dir)?,
        seal: played.seal().map_err(PlanError::disk)?,
        suite_digest: was.suite_digest.clone(),
        protocol: before.map_or(was.protocol, |graded| graded.protocol),
        judge: was.judge.clone(),
        // An imported run does not say by which it was.
        prompts_digest: Some(was.prompts_digest.clone()).filter(|digest| !digest.is_empty()),
        prompts_version: was.prompts_version,
    })
}

/// Who played is who played; who judges is asked anew.
fn models(was: &Manifest, now: &Roles) -> BTreeMap<String, Vec<ModelSettings>> {
    let mut models = was.models.clone();
    models.remove(JUDGE);
    let judge = now.models().remove_entry(JUDGE);
    models.extend(judge);
    models
}

/// A folder that is there already.
#[derive(Debug, thiserror::Error)]
#[error("grade into {out}: it is there already")]
struct Taken {
    out: Utf8PathBuf,
    source: FolderError,
}

/// The new folder, or the one of a grading that was cut off.
fn folder(out: &Utf8Path, manifest: &Manifest, played: &RunFolder) -> Result<RunFolder, PlanError> {
    if !out.exists() {
        return RunFolder::create_as(out.as_std_path(), manifest, played.root(), false)
            .map_err(of_folder);
    }
    let opened = RunFolder::open(out.as_std_path()).map_err(|source| Taken {
        out: out.to_owned(),
        source,
    });
    let (folder, found) = opened.map_err(PlanError::disk)?;
    let differ = differences(&found, manifest);
    if differ.is_empty() {
        return Ok(folder);
    }
    Err(PlanError::disk(format!(
        "grade into {out}: it is there already and another grading: they differ in {}",
        listed(&differ)
    )))
}

/// What was played must be what the suite says now: its rules and rubrics may be others, and so may titles.
fn same_play(was: &Outline, suite: &Suite) -> Result<(), String> {
    let now = suite.personas.iter();
    let now = now.flat_map(|one| one.sessions.iter().map(|session| (&one.id, session)));
    let then = was.personas.iter();
    let then = then.flat_map(|one| one.sessions.iter().map(|session| (&one.id, session)));
    let (now, then): (Vec<_>, Vec<_>) = (now.collect(), then.collect());
    for (at, (persona, session)) in then.iter().enumerate() {
        let same = now
            .get(at)
            .is_some_and(|(other, now)| other == persona && is_same(session, now));
        if !same {
            return Err(format!(
                "grade {persona}/{}: the suite's session is not the one that was played; only rules and rubrics may differ",
                session.id
            ));
        }
    }
    match now.get(then.len()) {
        Some((persona, session)) => Err(format!(
            "grade {persona}/{}: the suite had no such session when it was played",
            session.id
        )),
        None => Ok(()),
    }
}

fn is_same(was: &SessionOutline, now: &Session) -> bool {
    let intent = |(was, now): (&IntentOutline, &Intent)| {
        was.id == now.id && was.content == now.content && was.scope == now.scope
    };
    was.id == now.id
        && was.request == now.request
        && was.depends_on == now.depends_on
        && was.intents.len() == now.intents.len()
        && was.intents.iter().zip(&now.intents).all(intent)
}
