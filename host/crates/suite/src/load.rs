//! Reads a suite from disk and says everything that is wrong with it, each with its file, line and remedy. What it
//! hands out is complete and consistent: nothing behind it looks at a task file again. It does not know which tools
//! and graders exist: that is for those who load plugins.

mod episode;
pub mod pilots;
mod policy;
pub mod seed;
mod session;
mod setting;
pub mod skill;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use serde_json::Value;

use crate::catalog;
use crate::catalog::Catalog;
use crate::identity;
use crate::manifest::{
    AgentFile, FilterFile, LIST_LIMIT, LimitOverride, LimitOverrides, MOST, ModelFile, PersonaFile,
    ProviderFile, SMALLEST_WINDOW, SuiteFile,
};
use crate::pack::{Asked, Pack, ReadError, plain};
use crate::problem::Report;
use crate::problem::{Problem, Problems, Source};
use crate::suite::{Page, Persona, Session, Suite, USER_MD};
use crate::toml_file::{Document, Place};
use pibench_core::near::nearest;
use pibench_core::player;

pub(super) use session::step;

pub use crate::assignment::Assignment;
pub use policy::{LoadedPolicy, policy};
pub use setting::{Choice, OPTIONS, Origin, SCAFFOLD_PROMPT, Setting, settings};

/// Bytes of a task file or a rule script. The largest public task file has 12 KiB and the largest script 20 KiB; a
/// file of this size parses in some 50 ms.
pub(super) const TEXT_LIMIT: u64 = 1 << 20;

/// Bytes of one staged file: the workspace's own limit for a file.
pub const STAGED_LIMIT: u64 = 64 << 20;

/// Characters of an id: with the folders around it, a path stays below the limits of all systems.
const ID_LIMIT: usize = 64;

/// The files' names within their folders.
pub const SUITE: &str = "suite.toml";
pub(super) const PERSONA: &str = "persona.toml";
pub(super) const SESSION: &str = "session.toml";

/// A suite that can be played.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub suite: Suite,
    /// What is odd about it, no errors among it.
    pub warnings: Vec<Problem>,
}

/// The suite file that is meant: one may name the folder that it lies in.
pub fn suite_file(path: &Utf8Path) -> Utf8PathBuf {
    if path.is_dir() {
        path.join(SUITE)
    } else {
        path.to_owned()
    }
}

/// The file of the suite that a path lies in: as the path was named, else from the root. None where there is none above.
pub fn suite_above(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let find = |path: &Utf8Path| {
        // What is left of a path when its `..` are taken away lies elsewhere.
        let folders = path
            .ancestors()
            .take_while(|folder| !folder.ends_with(".."));
        let mut files = folders.map(|folder| folder.join(SUITE));
        files.find(|file| file.is_file())
    };
    // What lies above `.` is known by its whole path only.
    find(path).or_else(|| find(&path.canonicalize_utf8().ok()?))
}

/// Reads a suite file and all that it names, below the file's folder. On failure, every problem that was found:
/// errors and warnings, file by file, each file's in the order of its lines.
pub fn load(path: &Utf8Path) -> Result<Loaded, Problems> {
    load_with(path, &[])
}

/// The same with settings of the command line in the place of the file's, which must be sound without them.
pub fn load_with(path: &Utf8Path, assigned: &[Assignment]) -> Result<Loaded, Problems> {
    let path = suite_file(path);
    let mut loaded = load_set(&path, assigned)?;
    let put = loaded.suite.put(assigned);
    put.map_err(|message| Problems(vec![Problem::of_file(&path, message)]))?;
    Ok(loaded)
}

fn load_set(path: &Utf8Path, assigned: &[Assignment]) -> Result<Loaded, Problems> {
    let set: Vec<&str> = assigned.iter().filter_map(Assignment::text).collect();
    if set.is_empty() {
        return read(path, &[]);
    }
    let Loaded { warnings, .. } = read(path, &[])?;
    match read(path, assigned) {
        Ok(Loaded { suite, .. }) => Ok(Loaded { suite, warnings }),
        Err(Problems(problems)) => {
            // The lines of a text that nobody wrote say nothing.
            let problem = |problem: &Problem| {
                let message = format!("with --set {}: {}", set.join(" --set "), problem.message());
                let told = Problem::of_file(path, message);
                match problem.remedy() {
                    Some(remedy) => told.help(remedy),
                    None => told,
                }
            };
            let errors = problems.iter().filter(|problem| problem.is_error());
            Err(Problems(errors.map(problem).collect()))
        }
    }
}

/// The servers and models that a suite file with these settings knows, the built-in ones among them. What it names is not read, and
/// what is wrong with it not told.
pub fn read_catalog(path: &Utf8Path, assigned: &[Assignment]) -> Catalog {
    let path = suite_file(path);
    let (folder, name) = folder_and_name(&path);
    let read = || -> Option<SuiteFile> {
        let mut loader = Loader::open(folder).ok()?;
        let source = loader.assign(name, assigned).ok()?;
        loader.file(&source, |_, document, report| document.read(report))
    };
    read().map_or_else(catalog::built_in, |file| {
        Catalog::with(&file.providers, &file.models)
    })
}

/// What of a suite could be read, however much is wrong with the rest, and every problem: for who looks for more. The
/// sessions and personas that could not be read are not in it.
pub fn readable(path: &Utf8Path) -> (Option<Suite>, Vec<Problem>) {
    let (folder, name) = folder_and_name(path);
    match Loader::open(folder) {
        Ok(mut loader) => (loader.suite(path, name, &[]), loader.problems),
        Err(Problems(problems)) => (None, problems),
    }
}

/// The same, and what its files name of its folder; of a private pack as it lies there.
pub fn asked(path: &Utf8Path) -> (Option<Suite>, Asked) {
    let (folder, name) = folder_and_name(path);
    let Ok(pack) = Pack::open_as_it_lies(folder) else {
        return (None, Asked::default());
    };
    let mut loader = Loader {
        pack,
        problems: Vec::new(),
    };
    let suite = loader.suite(path, name, &[]);
    (suite, loader.pack.asked())
}

fn read(path: &Utf8Path, set: &[Assignment]) -> Result<Loaded, Problems> {
    let (folder, name) = folder_and_name(path);
    let mut loader = Loader::open(folder)?;
    let suite = loader.suite(path, name, set);
    match suite {
        Some(suite) if !loader.problems.iter().any(Problem::is_error) => Ok(Loaded {
            suite,
            warnings: loader.problems,
        }),
        _ => Err(Problems(loader.problems)),
    }
}

/// Every problem of one suite file.
pub(super) fn suite_problems(path: &Utf8Path) -> Vec<Problem> {
    match load(path) {
        Ok(loaded) => loaded.warnings,
        Err(Problems(problems)) => problems,
    }
}

/// Every problem of one persona file and its sessions.
pub(super) fn persona_problems(path: &Utf8Path) -> Vec<Problem> {
    alone(path, |loader, source, folder| {
        loader.persona(&source, folder, "");
    })
}

/// Every problem of one session file. What only its persona can tell (its tools, the episode) stays open.
pub(super) fn session_problems(path: &Utf8Path) -> Vec<Problem> {
    alone(path, |loader, source, folder| {
        loader.session(&source, folder, "", None);
    })
}

fn alone(path: &Utf8Path, read: impl FnOnce(&mut Loader, Source, Option<&str>)) -> Vec<Problem> {
    let (folder, name) = folder_and_name(path);
    let mut loader = match Loader::open(folder) {
        Ok(loader) => loader,
        Err(Problems(problems)) => return problems,
    };
    match loader.source(name) {
        Ok(source) => read(&mut loader, source, folder.file_name()),
        Err(message) => return vec![Problem::of_file(path, message)],
    }
    loader.problems
}

pub(super) fn folder_and_name(path: &Utf8Path) -> (&Utf8Path, &str) {
    (
        path.parent().unwrap_or(Utf8Path::new("")),
        path.file_name().unwrap_or(""),
    )
}

/// The top-level keys of a task file, for telling its kind; nothing when it does not parse.
pub(super) fn keys_of(path: &Utf8Path) -> Vec<String> {
    let (folder, name) = folder_and_name(path);
    let Ok(mut loader) = Loader::open(folder) else {
        return Vec::new();
    };
    let Ok(source) = loader.source(name) else {
        return Vec::new();
    };
    let document = Document::parse(&source.text, &mut Report::new(&source));
    document
        .map(|document| document.keys().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// One load: the pack, and what was found so far.
#[derive(Debug)]
pub(super) struct Loader {
    pack: Pack,
    problems: Vec<Problem>,
}

impl Loader {
    pub(super) fn open(folder: &Utf8Path) -> Result<Self, Problems> {
        match Pack::open(folder) {
            Ok(pack) => Ok(Self {
                pack,
                problems: Vec::new(),
            }),
            Err(error) => Err(Problems(vec![Problem::of_file(
                folder,
                format!("cannot open the folder: {error}"),
            )])),
        }
    }

    /// A text file of the pack. The error is a message for the place that names the file.
    pub(super) fn source(&mut self, path: &str) -> Result<Source, String> {
        let content = self
            .pack
            .read(path, TEXT_LIMIT)
            .map_err(|error| cannot(&error))?;
        let text = String::from_utf8(content).map_err(|error| {
            format!(
                "cannot read `{path}`: not UTF-8 from byte {} on",
                error.utf8_error().valid_up_to()
            )
        })?;
        Ok(Source {
            path: self.pack.shown(path),
            text: text.into(),
        })
    }

    /// Reads a session of an episode by a loader of its own, whose problems come with it. The error is a message for the place that
    /// names the session.
    fn read_session(
        &self,
        name: &str,
        folder: &str,
        file: &PersonaFile,
    ) -> (Vec<Problem>, Result<Option<Session>, String>) {
        let mut own = Self {
            pack: self.pack.clone(),
            problems: Vec::new(),
        };
        let folder = join(folder, &format!("sessions/{name}"));
        let source = own.source(&join(&folder, SESSION));
        let session =
            source.map(|source| own.session(&source, Some(name), &folder, Some(&file.tools)));
        (own.problems, session)
    }

    /// Parses a file and builds something of it. The file's own problems come before those of the files it names.
    fn file<T>(
        &mut self,
        source: &Source,
        build: impl FnOnce(&mut Self, &Document<'_>, &mut Report<'_>) -> Option<T>,
    ) -> Option<T> {
        let position = self.problems.len();
        let mut report = Report::new(source);
        let found = Document::parse(&source.text, &mut report)
            .and_then(|document| build(self, &document, &mut report));
        self.problems.splice(position..position, report.finish());
        found
    }

    /// The suite file with the command line's settings in it.
    fn assign(&mut self, name: &str, set: &[Assignment]) -> Result<Source, String> {
        let Source { path, text } = self.source(name)?;
        let text = match set {
            [] => text,
            set => setting::assigned(&text, set)?.into(),
        };
        Ok(Source { path, text })
    }

    fn suite(&mut self, path: &Utf8Path, name: &str, set: &[Assignment]) -> Option<Suite> {
        let source = match self.assign(name, set) {
            Ok(source) => source,
            Err(message) => {
                self.problems.push(Problem::of_file(path, message));
                return None;
            }
        };
        self.file(&source, |loader, document, report| {
            let file: SuiteFile = document.read(report)?;
            check_settings(&file, &document.root(), report);
            let personas =
                loader.personas(&file.personas, &document.root().key("personas"), report);
            check_filter(
                &file.filter,
                &personas,
                &document.root().key("filter"),
                report,
            );
            let place = document.root().key("web").key("corpus");
            let corpus = loader.corpus(file.web.corpus.as_deref(), &place, report);
            web::check(&file.web, &document.root().key("web"), report);
            let plugins = plugins(
                &loader.pack,
                &file.plugins,
                &document.root().key("plugins"),
                report,
            );
            let mut beside = |key: &str, file: &Option<String>| {
                let file = loader.pack.shown(file.as_deref()?);
                if !file.is_file() {
                    let place = document.root().key(key);
                    report.add(place.span(), format!("no such file: {file}"));
                    // The rest is looked at without it.
                    return None;
                }
                Some(file)
            };
            let policy = beside("policy", &file.policy);
            let lock = beside("lock", &file.lock);
            let parts = identity::parts(&file, name, &loader.pack.files());
            let beside = Beside {
                parts,
                plugins,
                policy,
                lock,
                corpus,
                personas,
            };
            Some(assemble(file, path, beside))
        })
    }

    fn personas(
        &mut self,
        folders: &[String],
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Persona> {
        check_length("personas", folders.len(), place, report);
        if folders.is_empty() {
            report.add_with_help(
                place.span(),
                "no personas",
                "name at least one persona's folder",
            );
        }
        let mut personas: Vec<Persona> = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, folder) in folders.iter().enumerate() {
            let span = place.index(index).span();
            if !seen.insert(folder) {
                report.add(
                    span,
                    format!("the persona folder `{folder}` is listed twice"),
                );
                continue;
            }
            let source = match plain(folder) {
                Ok(()) => self.source(&format!("{folder}/{PERSONA}")),
                Err(reason) => Err(format!(
                    "cannot read the persona folder `{folder}`: {reason}"
                )),
            };
            let source = match source {
                Ok(source) => source,
                Err(message) => {
                    report.add(span, message);
                    continue;
                }
            };
            let Some(persona) = self.persona(&source, Utf8Path::new(folder).file_name(), folder)
            else {
                continue;
            };
            if personas.iter().any(|other| other.id == persona.id) {
                report.add(
                    span,
                    format!("a second persona with the id `{}`", persona.id),
                );
                continue;
            }
            personas.push(persona);
        }
        personas
    }

    /// `name` is the folder's name, `folder` its path from the pack's root, `""` for the root itself.
    fn persona(&mut self, source: &Source, name: Option<&str>, folder: &str) -> Option<Persona> {
        self.file(source, |loader, document, report| {
            let mut file: PersonaFile = document.read(report)?;
            let root = document.root();
            loader.seed(&mut file, &root.key("seed"), report);
            check_id(&file.id, name, &root.key("id"), report);
            check_text("profile", &file.profile, &root.key("profile"), report);
            check_facts(&file.facts, &root.key("facts"), report);
            check_tools(&file.tools, &root.key("tools"), report);
            check_people(&file, &root.key("people"), report);
            check_apps(&file.apps, Some(&file.tools), &root.key("apps"), report);
            check_length("episode", file.episode.len(), &root.key("episode"), report);
            if file.episode.is_empty() {
                report.add(root.key("episode").span(), "the episode has no sessions");
            }
            let skills = loader.skills(&file.skills, folder, &root.key("skills"), report);
            let user_md = Some(USER_MD).filter(|_| !file.user_md.is_empty());
            let skill_files = skills.iter().map(|file| file.path.as_str());
            let there: Vec<&str> = skill_files.chain(user_md).collect();
            let files = loader.stage(&file.files, folder, &there, &root.key("files"), report);
            let sessions = loader.episode(&file, folder, &root.key("episode"), report);
            // A name that is misspelt is told, and its folder would be told once more.
            if sessions.len() == file.episode.len() {
                loader.report_unplayed(&file, folder, &root.key("episode"), report);
            }
            if name.is_some_and(|name| name != file.id) {
                return None;
            }
            let PersonaFile {
                version: _,
                id,
                name,
                profile,
                user_md,
                facts,
                tools,
                skills: _,
                files: _,
                people,
                world,
                seed: _,
                apps,
                episode: _,
                metadata: _,
            } = file;
            Some(Persona {
                id,
                name,
                profile,
                user_md,
                facts,
                tools,
                skills,
                files,
                people,
                world,
                apps: without_dates(apps),
                sessions,
            })
        })
    }

    /// Hints at session folders that the episode does not name: nobody would miss them.
    fn report_unplayed(
        &self,
        file: &PersonaFile,
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) {
        let sessions = join(folder, "sessions");
        // A folder that cannot be read is told where a session of it is.
        for name in self.pack.names(&sessions).unwrap_or_default() {
            let named = file.episode.iter().any(|entry| entry.session == name);
            if !named && self.pack.is_file(&format!("{sessions}/{name}/{SESSION}")) {
                report.warn(
                    place.span(),
                    format!("the episode does not name the session in `sessions/{name}`"),
                    format!("add {{ session = \"{name}\" }} where it is to be played, or take the folder away"),
                );
            }
        }
    }

    /// The sessions of an episode that could be read, in its order.
    fn episode(
        &mut self,
        file: &PersonaFile,
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Session> {
        // Most of what loading takes is reading sessions, and none needs another one.
        let read: Vec<_> = (0..file.episode.len())
            .into_par_iter()
            .map(|index| {
                let name = &file.episode[index].session;
                let stands_before = file.episode[..index]
                    .iter()
                    .any(|earlier| earlier.session == *name);
                (is_id(name) && !stands_before).then(|| self.read_session(name, folder, file))
            })
            .collect();
        let mut sessions: Vec<Option<Session>> = Vec::new();
        for (index, (entry, read)) in file.episode.iter().zip(read).enumerate() {
            let span = place.index(index).key("session").span();
            let name = &entry.session;
            sessions.push(match read {
                None if is_id(name) => {
                    report.add(
                        span,
                        format!("the session `{name}` stands twice in the episode"),
                    );
                    None
                }
                None => {
                    report.add_with_help(span, format!("`{name}` is no id"), ID_RULE);
                    None
                }
                Some((problems, session)) => {
                    self.problems.extend(problems);
                    session.unwrap_or_else(|message| {
                        report.add(span, message);
                        None
                    })
                }
            });
        }
        episode::check(&file.episode, &sessions, place, report);
        episode::check_clocks(&sessions, place, report);
        let depended: BTreeSet<&String> = file
            .episode
            .iter()
            .flat_map(|entry| &entry.depends_on)
            .collect();
        sessions
            .into_iter()
            .zip(&file.episode)
            .filter_map(|(session, entry)| {
                let session = session?;
                let dependency_only = depended.contains(&session.id);
                Some(Session {
                    depends_on: entry.depends_on.clone(),
                    dependency_only,
                    ..session
                })
            })
            .collect()
    }
}

/// What stands beside a suite file, read.
struct Beside {
    parts: identity::Parts,
    plugins: BTreeMap<String, camino::Utf8PathBuf>,
    policy: Option<camino::Utf8PathBuf>,
    lock: Option<camino::Utf8PathBuf>,
    corpus: Vec<Page>,
    personas: Vec<Persona>,
}

/// The suite of a file that was read and checked.
fn assemble(file: SuiteFile, path: &Utf8Path, beside: Beside) -> Suite {
    let Beside {
        parts,
        plugins,
        policy,
        lock,
        corpus,
        personas,
    } = beside;
    // Every field by name, so that a new one has to be thought about here.
    let SuiteFile {
        version: _,
        id,
        title,
        personas: _,
        protocol,
        scaffold,
        scaffold_prompt,
        agent,
        user,
        judge,
        runs,
        seed,
        filter,
        jobs,
        memory,
        session,
        state,
        ablate,
        plugins: _,
        policy: _,
        lock: _,
        limits,
        providers,
        models,
        agents,
        web,
    } = file;
    Suite {
        id,
        title,
        path: path.to_owned(),
        digest: identity::digest(&parts),
        parts,
        protocol,
        scaffold,
        scaffold_prompt,
        agent,
        user,
        judge,
        runs,
        seed,
        filter,
        // Others were told, and no check could play with them.
        jobs: jobs.filter(|jobs| (1..=MOST).contains(jobs)),
        memory,
        session,
        reset: state.reset,
        ablate,
        plugins,
        policy,
        lock,
        limits,
        providers,
        models,
        agents,
        web,
        corpus,
        personas,
        assigned: Vec::new(),
    }
}

/// A text without the byte order mark and the line ends that editors on Windows write.
fn plain_lines(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n")
}

fn cannot(error: &ReadError) -> String {
    format!("cannot {error}")
}

/// The path of a file that stands beside a task file. It is checked before it is joined, so that the message names
/// what was written.
fn beside(folder: &str, path: &str) -> Result<String, String> {
    plain(path).map_err(|reason| format!("cannot read `{path}`: {reason}"))?;
    Ok(join(folder, path))
}

/// A path below a folder of the pack, `""` being its root.
pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

const ID_RULE: &str =
    "an id has 1 to 64 lower case letters, digits, `-` and `_`, and starts with a letter or digit";

/// Ids name folders, columns and files everywhere, so they are the same on systems that fold case.
pub fn is_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    id.len() <= ID_LIMIT
        && id.chars().all(allowed)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Checks an id, and that it is the name of the folder where it has one.
fn check_id(id: &str, folder: Option<&str>, place: &Place<'_>, report: &mut Report<'_>) {
    if !is_id(id) {
        return report.add_with_help(place.span(), format!("`{id}` is no id"), ID_RULE);
    }
    if let Some(folder) = folder.filter(|folder| *folder != id) {
        let message = format!("the id `{id}` is not the folder's name, `{folder}`");
        report.add_with_help(place.span(), message, "rename one of them");
    }
}

/// Checks the ids of a list, and that none stands twice.
fn check_ids<'a>(ids: impl Iterator<Item = &'a str>, place: &Place<'_>, report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    for (index, id) in ids.enumerate() {
        let place = place.index(index).key("id");
        check_id(id, None, &place, report);
        if !seen.insert(id) {
            report.add(
                place.span(),
                format!("a second `{id}`; ids are unique within the session"),
            );
        }
    }
}

fn check_text(key: &str, text: &str, place: &Place<'_>, report: &mut Report<'_>) {
    if text.trim().is_empty() {
        report.add(place.span(), format!("`{key}` is empty"));
    }
}

fn check_facts(facts: &BTreeMap<String, String>, place: &Place<'_>, report: &mut Report<'_>) {
    check_length("facts", facts.len(), place, report);
    for (kind, value) in facts {
        let is_line = |text: &str| !text.trim().is_empty() && !text.contains('\n');
        if !is_line(kind) || !is_line(value) {
            let message = format!("the fact `{}` is no line", kind.escape_debug());
            let help =
                "write what it is and its value, each on one line: \"home address\" = \"...\"";
            report.add_with_help(place.key(kind).span(), message, help);
        }
    }
}

fn check_length(key: &str, length: usize, place: &Place<'_>, report: &mut Report<'_>) {
    if length > LIST_LIMIT {
        report.add(
            place.span(),
            format!("`{key}` has {length} entries, more than the limit of {LIST_LIMIT}"),
        );
    }
}

fn check_settings(file: &SuiteFile, root: &Place<'_>, report: &mut Report<'_>) {
    check_id(&file.id, None, &root.key("id"), report);
    for agent in catalog::panel(&file.agent) {
        let place = root.key("agent");
        let is_entry =
            file.agents.contains_key(agent) || catalog::ready_agents().contains_key(agent);
        if !is_entry {
            check_model(agent, &player::SCRIPTED, &file.models, &place, report);
        }
    }
    let judges = file.judge.iter().flat_map(|judge| catalog::panel(judge));
    let judges = judges.map(|judge| (judge, "judge"));
    for (model, key) in judges.chain(file.user.iter().map(|user| (user.as_str(), "user"))) {
        check_model(
            model,
            &[player::LEXICAL],
            &file.models,
            &root.key(key),
            report,
        );
    }
    for (key, count) in [("runs", file.runs), ("jobs", file.jobs)] {
        if count.is_some_and(|count| !(1..=MOST).contains(&count)) {
            report.add(
                root.key(key).span(),
                format!("`{key}` must be from 1 to {MOST}"),
            );
        }
    }
    let session = root.key("session");
    let limits = file.session;
    for (key, zero) in [
        ("max_turns", limits.max_turns == 0),
        ("max_iterations", limits.max_iterations == 0),
        ("turn_timeout_s", limits.turn_timeout_s == 0),
        ("heartbeat_minutes", limits.heartbeat_minutes == Some(0)),
    ] {
        if zero {
            report.add(
                session.key(key).span(),
                format!("`{key}` must be at least 1"),
            );
        }
    }
    if limits.window_tokens < SMALLEST_WINDOW {
        report.add_with_help(
            session.key("window_tokens").span(),
            format!("`window_tokens` is {}", limits.window_tokens),
            format!("at least {SMALLEST_WINDOW}: tools and answer alone take half of that"),
        );
    }
    check_limits(&file.limits, &root.key("limits"), report);
    for (name, provider) in &file.providers {
        check_provider(name, provider, &root.key("providers").key(name), report);
    }
    for (name, model) in &file.models {
        check_preset(name, model, &root.key("models").key(name), report);
    }
    for (name, agent) in &file.agents {
        check_agent(name, agent, &root.key("agents").key(name), report);
    }
}

fn check_agent(name: &str, agent: &AgentFile, place: &Place<'_>, report: &mut Report<'_>) {
    if name.is_empty() || name.contains(['/', ',']) || name.chars().any(char::is_whitespace) {
        let help = "a name without slash, comma and white space";
        report.add_with_help(place.span(), format!("`{name}` names no agent"), help);
    }
    let AgentFile {
        command,
        environment,
        set,
        cwd,
        isolation: _,
        read: _,
        tools: _,
        home: _,
        mode: _,
    } = agent;
    if command
        .first()
        .is_none_or(|program| program.trim().is_empty())
    {
        let help = "the program and its arguments, as in `command = [\"gemini\", \"--acp\"]`";
        report.add_with_help(
            place.key("command").span(),
            "`command` names no program",
            help,
        );
    }
    let mut names = environment.iter().chain(set.keys());
    if let Some(name) = names.find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let help =
            "names of variables; values stand in `set`, or in this program's own environment";
        let place = place.key("environment");
        report.add_with_help(place.span(), format!("`{name}` names no variable"), help);
    }
    if let Some(cwd) = cwd
        && let Err(reason) = plain(cwd)
    {
        let told = format!("`cwd` has to be a folder of the workspace: {reason}");
        report.add(place.key("cwd").span(), told);
    }
}

/// Whether the provider is known is for the model's layer to say.
fn check_preset(name: &str, model: &ModelFile, place: &Place<'_>, report: &mut Report<'_>) {
    if name.is_empty() || name.contains(['/', ',']) || name.chars().any(char::is_whitespace) {
        let help = "a name without slash, comma and white space";
        report.add_with_help(place.span(), format!("`{name}` names no model"), help);
    }
    if !player::is_model(name) {
        let help =
            "choose another name: this one is the scripted model's wherever a model is named";
        report.add_with_help(place.span(), format!("`{name}` is a scripted model"), help);
    }
    for (key, value) in [("provider", &model.provider), ("model", &model.model)] {
        if value.trim().is_empty() {
            report.add(place.key(key).span(), format!("`{key}` must not be empty"));
        }
    }
    if let Some(price) = &model.price
        && !price.is_sound()
    {
        report.add(
            place.key("price").span(),
            "a price is US dollars per million tokens, 0 or more",
        );
    }
    for (key, limit) in [
        ("max_output_tokens", model.max_output_tokens),
        ("max_tools", model.max_tools),
    ] {
        if limit == Some(0) {
            let message = format!("`{key}` must be at least 1");
            report.add(place.key(key).span(), message);
        }
    }
}

/// A scripted model by name, a preset, or `PROVIDER/MODEL`.
fn check_model(
    model: &str,
    scripted: &[&str],
    models: &BTreeMap<String, ModelFile>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    // A command of the operator's, or an entry of `agents`, as it will be found.
    if scripted == player::SCRIPTED && player::process(model).is_some() {
        return;
    }
    let parts = model
        .split_once('/')
        .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let preset = || models.contains_key(model) || catalog::built_in().models.contains_key(model);
    if !parts && !scripted.contains(&model) && !preset() {
        let help = format!("{}, a known model, or PROVIDER/MODEL", scripted.join(", "));
        report.add_with_help(place.span(), format!("unknown model `{model}`"), help);
    }
}

fn check_filter(
    filter: &FilterFile,
    personas: &[Persona],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let FilterFile {
        personas: wanted,
        sessions,
    } = filter;
    let there = personas.iter().map(|persona| &persona.id).collect();
    let own = personas.iter().flat_map(|persona| &persona.sessions);
    let known = own.map(|session| &session.id).collect();
    let mut check = |key: &str, wanted: &[String], there: &BTreeSet<&String>| {
        for (index, id) in wanted.iter().enumerate() {
            if !there.contains(id) {
                let told = format!("the suite has no `{id}` that could be loaded");
                report.add(place.key(key).index(index).span(), told);
            }
        }
    };
    check("personas", wanted, &there);
    check("sessions", sessions, &known);
}

/// Whether a limit is above the host's is for the host to say: this layer does not know it.
pub(super) fn check_limits(limits: &LimitOverrides, place: &Place<'_>, report: &mut Report<'_>) {
    let LimitOverrides {
        app,
        grader,
        shell,
        document,
        load,
    } = limits;
    for (kind, limit) in [
        ("app", app),
        ("grader", grader),
        ("shell", shell),
        ("document", document),
    ] {
        check_limit(limit, &place.key(kind), report);
    }
    check_above_zero(&load.named(), &place.key("load"), report);
}

pub(super) fn check_limit(limit: &LimitOverride, place: &Place<'_>, report: &mut Report<'_>) {
    check_above_zero(&limit.named(), place, report);
}

fn check_above_zero(limits: &[(String, u64)], place: &Place<'_>, report: &mut Report<'_>) {
    for (key, _) in limits.iter().filter(|(_, value)| *value == 0) {
        report.add_with_help(
            place.key(key).span(),
            format!("`{key}` must be above 0"),
            "leave it out instead",
        );
    }
}

/// Whether a text can be a server's address.
pub fn is_http(url: &str) -> bool {
    let host = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
}

/// Headers that every request has, in lower case.
const HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "anthropic-version",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
];

fn may_carry_key(header: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !header.is_empty()
        && header.bytes().all(is_part)
        && !HEADERS.contains(&header.to_ascii_lowercase().as_str())
}

fn check_provider(name: &str, provider: &ProviderFile, place: &Place<'_>, report: &mut Report<'_>) {
    let ProviderFile {
        format: _,
        base_url,
        base_url_env,
        key_env,
        key_header,
        temperature: _,
        give_back: _,
        max_tools,
        output_limit,
        concurrency,
        requests_per_minute,
        tokens_per_minute,
    } = provider;
    if !is_id(name) {
        report.add_with_help(place.span(), format!("`{name}` is no id"), ID_RULE);
    }
    if !is_http(base_url) {
        let message = format!("`{base_url}` is no http or https address");
        report.add_with_help(
            place.key("base_url").span(),
            message,
            "as in https://api.openai.com/v1",
        );
    }
    check_text(
        "output_limit",
        output_limit,
        &place.key("output_limit"),
        report,
    );
    if let Some(header) = key_header
        .as_deref()
        .filter(|header| !may_carry_key(header))
    {
        report.add_with_help(
            place.key("key_header").span(),
            format!("no key can stand in the header `{}`", header.escape_debug()),
            "as in `api-key`, of letters, digits and hyphens, and none that every request has",
        );
    }
    for (key, variable) in [("key_env", key_env), ("base_url_env", base_url_env)] {
        let no_name = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        if variable.as_deref().is_some_and(no_name) {
            report.add(
                place.key(key).span(),
                format!("`{key}` must be the name of an environment variable"),
            );
        }
    }
    for (key, limit) in [
        ("max_tools", max_tools),
        ("concurrency", concurrency),
        ("requests_per_minute", requests_per_minute),
        ("tokens_per_minute", tokens_per_minute),
    ] {
        if *limit == Some(0) {
            report.add_with_help(
                place.key(key).span(),
                format!("`{key}` must be above 0"),
                "leave it out instead",
            );
        }
    }
}

/// Components by name. A suite file is the operator's own, so these may stand outside of its folder.
fn plugins(
    pack: &Pack,
    files: &BTreeMap<String, String>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) -> BTreeMap<String, camino::Utf8PathBuf> {
    let mut plugins = BTreeMap::new();
    for (name, file) in files {
        let place = place.key(name);
        let path = pack.shown(file);
        if !is_id(name) {
            report.add_with_help(place.span(), format!("`{name}` is no id"), ID_RULE);
        } else if !path.is_file() {
            let help = "if it is yours, build it with `pibench-host plugin build`";
            report.add_with_help(place.span(), format!("no such plugin file: {path}"), help);
        }
        plugins.insert(name.clone(), path);
    }
    plugins
}

fn check_tools(tools: &[String], place: &Place<'_>, report: &mut Report<'_>) {
    check_length("tools", tools.len(), place, report);
    let mut seen = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let span = place.index(index).span();
        let known = tool
            .split_once("__")
            .is_some_and(|(app, name)| is_name(app) && (name == "*" || is_name(name)));
        if !known {
            let help = "write `<app>__<tool>`, or `<app>__*` for all tools of an app";
            report.add_with_help(span, format!("`{tool}` is no app tool"), help);
        } else if !seen.insert(tool) {
            report.add(span, format!("the tool `{tool}` is listed twice"));
        }
    }
}

/// The name of an app or of a tool within its app.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.len() <= ID_LIMIT
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn check_people(file: &PersonaFile, place: &Place<'_>, report: &mut Report<'_>) {
    check_length("people", file.people.len(), place, report);
    let mut seen = BTreeSet::new();
    for (index, person) in file.people.iter().enumerate() {
        let place = place.index(index);
        let span = place.key("email").span();
        if !person.email.contains('@') {
            report.add(span, format!("`{}` is no email address", person.email));
        } else if !seen.insert(person.email.to_lowercase()) {
            report.add(
                span,
                format!("a second person with the email {}", person.email),
            );
        }
        for app in person.passwords.keys() {
            warn_of_idle_app(
                app,
                &file.tools,
                place.key("passwords").key(app).span(),
                report,
            );
        }
    }
}

/// Records for an app that the persona has no tools of would never be seen.
fn check_apps(
    apps: &BTreeMap<String, Value>,
    tools: Option<&[String]>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let Some(tools) = tools else { return };
    for app in apps.keys() {
        warn_of_idle_app(app, tools, place.key(app).span(), report);
    }
}

fn warn_of_idle_app(app: &str, tools: &[String], span: Range<usize>, report: &mut Report<'_>) {
    if !tools
        .iter()
        .any(|tool| tool.split_once("__").is_some_and(|(of, _)| of == app))
    {
        let known = tools.iter().filter_map(|tool| tool.split_once("__"));
        let help = match nearest(app, known.map(|(of, _)| of)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add `{app}__*` to the persona's tools, or take the records away"),
        };
        report.warn(
            span,
            format!("the persona has no tools of the app `{app}`"),
            help,
        );
    }
}

/// Unquoted TOML dates become their text: what apps, graders and tools get is JSON, which has no dates.
pub(super) fn without_dates(apps: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    apps.into_iter()
        .map(|(app, records)| (app, without_date(records)))
        .collect()
}

fn without_date(value: Value) -> Value {
    /// How the `toml` crate hands a date to a type that knows none.
    const DATE: &str = "$__toml_private_datetime";
    match value {
        Value::Array(items) => items.into_iter().map(without_date).collect(),
        Value::Object(mut fields) => match fields.remove(DATE) {
            Some(date) => date,
            None => fields
                .into_iter()
                .map(|(key, value)| (key, without_date(value)))
                .collect(),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests;
