//! Turns the public π-Bench data (schema v2, YAML) into a suite of ours. It reads through the same door as suites are
//! read, writes a new folder in one piece, and says of everything that it left behind: a task that cannot be read is one
//! line, and the others are written. It runs no script: what checks a rule script has is asked of the caller.

mod appworld;
mod episode;
mod metadata;
mod script;
mod session;
mod source;
mod suite;
mod write;
mod yaml;

use std::collections::BTreeMap;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value, json};

pub use self::appworld::OpenApp;
use self::appworld::Seed;
pub use self::session::FIRST_CLOCK;
use self::source::{EpisodeYaml, Input, ProfileYaml, ToolsYaml};
use self::write::Staging;
use pibench_suite::load::is_id;
use pibench_suite::load::seed::{FOLDER, PEOPLE};
use pibench_suite::manifest::{PersonaFile, SessionFile};
use pibench_suite::problem::{Problem, Problems};

/// The folder of what the apps start from.
const SEED: &str = "appworld";

/// Why a user is no persona.
const WITHOUT_TASKS: &str = "it has no task that could be read, so the persona is left out";

/// What the released code writes before the names of app tools.
pub(super) const TOOL_PREFIX: &str = "mcp_appworld_";

/// Asked for the check names of a rule script, given its text.
pub type ListChecks<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<String>, String>;

/// Databases of apps, which all personas start from.
pub struct Databases<'a> {
    /// The folder, with a file for each app.
    pub dir: &'a Utf8Path,
    pub open_app: OpenApp<'a>,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub personas: usize,
    pub sessions: usize,
    pub intents: usize,
    pub rubrics: usize,
    pub rules: usize,
    /// Asset files, now staged by their sessions.
    pub files: usize,
    /// People and app records of the databases.
    pub people: usize,
    pub records: usize,
    /// What could not be carried over, one line each. The import is complete when there is none.
    pub left_out: Vec<String>,
    /// What a user should know, and lost nothing by.
    pub notes: Vec<String>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The data breaks its own format.
    #[error("import data that breaks the format:\n{0}")]
    Rejected(Problems),
    /// The data keeps its format, and the suite made of it breaks ours.
    #[error("make a suite of the data:\n{0}")]
    Unloadable(Problems),
    /// No task could be read: a line for each.
    #[error("import data of which nothing can be read:\n{}", .0.join("\n"))]
    Nothing(Vec<String>),
    #[error("import into {0}: it exists already")]
    Exists(Utf8PathBuf),
    #[error("write {path}: {source}")]
    Io {
        path: Utf8PathBuf,
        source: io::Error,
    },
}

/// Imports a folder that holds `data/<user>/...`, or the `data` folder itself, into the new folder `out`. `is_there` says
/// whether there is an app, or a tool `<app>__<tool>`, of a name: other tools are left out, so that what is there can be
/// played. `apps` are databases that all personas start from; without them their apps hold the generated world.
pub fn import(
    source: &Utf8Path,
    apps: Option<Databases<'_>>,
    out: &Utf8Path,
    list_checks: ListChecks<'_>,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<Report, ImportError> {
    if out.symlink_metadata().is_ok() {
        return Err(ImportError::Exists(out.to_owned()));
    }
    let input =
        Input::open(source).map_err(|problem| ImportError::Rejected(Problems(vec![*problem])))?;
    let seed = apps.map(|apps| seed(apps, is_there)).transpose();
    let seed = seed.map_err(|problem| ImportError::Rejected(Problems(vec![*problem])))?;
    let failed = |source| ImportError::Io {
        path: out.to_owned(),
        source,
    };
    let staging = Staging::beside(out).map_err(failed)?;
    let mut importer = Importer {
        input,
        seed,
        staging,
        list_checks,
        is_there,
        report: Report::default(),
        problems: Vec::new(),
        personas: Vec::new(),
        made: BTreeMap::new(),
    };
    importer.personas().map_err(failed)?;
    importer.write_seed().map_err(failed)?;
    if let Err(problems) = importer.settle().map_err(failed)? {
        // The folder that they are in goes away: they are of what it would have become.
        let from = importer.staging.path("");
        let problems = problems.0.into_iter();
        let moved = problems.map(|problem| problem.moved(&from, out));
        return Err(ImportError::Unloadable(Problems(moved.collect())));
    }
    let Importer {
        staging,
        report,
        problems,
        personas,
        ..
    } = importer;
    if personas.is_empty() && !problems.is_empty() {
        return Err(ImportError::Rejected(Problems(problems)));
    }
    if personas.is_empty() {
        return Err(ImportError::Nothing(report.left_out));
    }
    staging.publish(out).map_err(failed)?;
    Ok(report)
}

/// What the apps start from: as much of the databases as they take.
fn seed(apps: Databases<'_>, is_there: &dyn Fn(&str) -> bool) -> Result<Seed, Box<Problem>> {
    let Databases { dir, open_app } = apps;
    let mut seed = appworld::read(dir)?;
    let names: Vec<&str> = appworld::names().filter(|app| is_there(app)).collect();
    seed.fit(&names, open_app);
    Ok(seed)
}

struct Importer<'a> {
    input: Input,
    seed: Option<Seed>,
    staging: Staging,
    list_checks: ListChecks<'a>,
    is_there: &'a dyn Fn(&str) -> bool,
    report: Report,
    /// Why there is no persona, where there is none.
    problems: Vec<Problem>,
    personas: Vec<PersonaFile>,
    /// By our folder.
    made: BTreeMap<String, Made>,
}

/// A folder of ours: a persona's, a session's or a skill's.
struct Made {
    /// The file or folder of the data that it was made of.
    source: String,
    session: Option<SessionFile>,
}

impl Importer<'_> {
    fn personas(&mut self) -> io::Result<()> {
        let users = match self.input.users() {
            Ok(users) => users,
            Err(problem) => {
                self.problems.push(*problem);
                return Ok(());
            }
        };
        for user in users {
            let persona = self.persona(&user)?;
            self.personas.extend(persona);
        }
        Ok(())
    }

    /// Writes what the apps start from, for all personas.
    fn write_seed(&mut self) -> io::Result<()> {
        let Some(seed) = &self.seed else {
            self.report.notes.push(
                "the data has no people and no app records: the apps hold the generated world, and nobody can log in"
                    .to_owned(),
            );
            return Ok(());
        };
        let folder = format!("{FOLDER}/{SEED}");
        let people = serde_json::to_vec_pretty(&seed.people).map_err(io::Error::other)?;
        self.staging.write(&format!("{folder}/{PEOPLE}"), &people)?;
        for (app, records) in &seed.apps {
            let text = serde_json::to_vec_pretty(records).map_err(io::Error::other)?;
            self.staging.write(&format!("{folder}/{app}.json"), &text)?;
        }
        let lists = seed.apps.values().filter_map(Value::as_object).flatten();
        let records = lists.filter_map(|(_, list)| Some(list.as_array()?.len()));
        self.report.people = seed.people.len();
        self.report.records = records.sum();
        self.report.left_out.extend(seed.left_out.iter().cloned());
        Ok(())
    }

    /// Imports one user, whose folder `user` is.
    fn persona(&mut self, user: &str) -> io::Result<Option<PersonaFile>> {
        let profile = self
            .input
            .yaml::<ProfileYaml>(&format!("{user}/profile.yaml"));
        let episode = self
            .input
            .yaml::<EpisodeYaml>(&format!("{user}/episode.yaml"));
        let tools = self.input.yaml::<ToolsYaml>(&format!("{user}/tools.yaml"));
        let (Some(profile), Some(episode), Some(tools)) = (
            self.accept(profile),
            self.accept(episode),
            self.accept(tools),
        ) else {
            self.leave_out(user, "the user with all tasks, for want of that file");
            return Ok(None);
        };
        let user_id = profile.user_id.clone();
        let taken = |id: &String| self.personas.iter().any(|persona| persona.id == *id);
        let Some(id) = to_id(&user_id).filter(|id| !taken(id)) else {
            let what = "stands twice or has no letter or digit";
            self.reject(user, &format!("the user id `{user_id}` {what}"));
            return Ok(None);
        };
        if episode.runtime.is_some() {
            self.report.notes.push(format!(
                "{user}/episode.yaml: `runtime` is not needed here: apps run in the host"
            ));
        }
        let sessions = self.sessions(user, &id, &episode)?;
        if sessions.is_empty() {
            self.leave_out(user, WITHOUT_TASKS);
            return Ok(None);
        }
        self.leftovers(user, &episode);
        let skills = self.skills(user, &id)?;
        for key in tools.rest.keys() {
            self.leave_out(
                &format!("{user}/tools.yaml"),
                format!("{key}: no key of the format"),
            );
        }
        let ours = rest_of(&profile, &episode, &tools, &skills);
        let persona = PersonaFile {
            version: pibench_suite::manifest::VERSION,
            id: id.clone(),
            name: user_id.replace('_', " "),
            profile: profile_text(
                &profile.role,
                profile.preferences.as_ref(),
                &profile.long_term_goals,
            ),
            user_md: self.user_md(user),
            facts: BTreeMap::new(),
            tools: self.tools(user, tools),
            skills: skills.into_keys().collect(),
            files: Vec::new(),
            people: Vec::new(),
            world: self.seed.is_none(),
            seed: self.seed.as_ref().map(|_| SEED.to_owned()),
            apps: BTreeMap::new(),
            episode: sessions,
            metadata: self.metadata(user, Map::new(), ours),
        };
        self.make(&format!("personas/{id}"), user, None);
        Ok(Some(persona))
    }

    /// Copies the skills, under names that ours can have; those of them that are skills, each with its own name.
    fn skills(&mut self, user: &str, persona: &str) -> io::Result<BTreeMap<String, String>> {
        let folder = format!("{user}/skills");
        let mut skills = BTreeMap::new();
        let mut files = 0;
        for name in self.names(&folder) {
            let path = format!("{folder}/{name}");
            let id = to_id(&name).filter(|id| !skills.contains_key(id));
            let Some(id) = id.filter(|_| self.input.is_folder(&path)) else {
                self.leave_out(&path, "no folder with a name of its own, so no skill");
                continue;
            };
            let out = format!("personas/{persona}/skills/{id}");
            let copied = self.copy(&path, &out, &[])?;
            files += copied.len();
            if copied.iter().any(|file| file == "SKILL.md") {
                self.make(&out, &path, None);
                skills.insert(id, name);
            } else {
                self.leave_out(&path, "it has no SKILL.md, so the persona does not have it");
            }
        }
        if files > 0 {
            self.report.notes.push(format!(
                "{folder}: {files} files copied to personas/{persona}/skills"
            ));
        }
        Ok(skills)
    }

    /// Takes what was read; what is wrong with it otherwise, which costs the persona.
    fn accept<T>(&mut self, read: Result<T, Box<Problem>>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(problem) => {
                let path = self.input.relative(problem.file());
                self.leave_out_for(&path, std::slice::from_ref(&problem));
                self.problems.push(*problem);
                None
            }
        }
    }

    fn make(&mut self, folder: &str, source: &str, session: Option<SessionFile>) {
        let source = source.to_owned();
        self.made
            .insert(folder.to_owned(), Made { source, session });
    }

    /// A user who is no persona.
    fn reject(&mut self, user: &str, message: &str) {
        self.leave_out(user, message);
        self.problems
            .push(Problem::of_file(&self.input.shown(user), message));
    }

    fn leave_out(&mut self, path: &str, what: impl std::fmt::Display) {
        self.report.left_out.push(format!("{path}: {what}"));
    }

    /// Leaves out a file for its problems, in one line.
    fn leave_out_for(&mut self, path: &str, problems: &[Problem]) {
        let told = |problem: &Problem| {
            let place = match (problem.line(), problem.column()) {
                (Some(line), Some(column)) => format!("{line}:{column}: "),
                _ => String::new(),
            };
            let remedy = problem.remedy().map(|remedy| format!(" ({remedy})"));
            place + problem.message() + &remedy.unwrap_or_default()
        };
        let told: Vec<String> = problems.iter().map(told).collect();
        let told = told.join("; ");
        // An editor goes to `path:line:column`.
        let space = if problems.first().is_some_and(|first| first.line().is_some()) {
            ""
        } else {
            " "
        };
        let line = format!("{path}:{space}{told}");
        self.report.left_out.push(line);
    }

    /// What stands in a folder that is there; a folder that cannot be listed is left out.
    fn names(&mut self, folder: &str) -> Vec<String> {
        self.input.names(folder).unwrap_or_else(|reason| {
            self.leave_out(folder, reason);
            Vec::new()
        })
    }

    fn user_md(&mut self, user: &str) -> String {
        self.input
            .text(&format!("{user}/USER.md"))
            .unwrap_or_default()
    }

    fn tools(&mut self, user: &str, file: ToolsYaml) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        let mut missing: BTreeMap<String, usize> = BTreeMap::new();
        let path = format!("{user}/tools.yaml");
        for name in file.tool_names {
            let tool = name.strip_prefix(TOOL_PREFIX).unwrap_or(&name).to_owned();
            let Some((app, of_app)) = tool.split_once("__") else {
                self.leave_out(&path, format!("`{name}` is no app tool"));
                continue;
            };
            if !(self.is_there)(app) {
                *missing.entry(app.to_owned()).or_default() += 1;
            } else if of_app != "*" && !(self.is_there)(&tool) {
                self.leave_out(&path, format!("app `{app}` has no tool `{tool}`"));
            } else if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        for (app, count) in missing {
            let line = format!("there is no plugin for app `{app}`: {count} of its tools");
            self.leave_out(&path, line);
        }
        tools
    }

    /// What stands in a user's folder and is no part of the format.
    fn leftovers(&mut self, user: &str, episode: &EpisodeYaml) {
        const KNOWN: [&str; 7] = [
            "USER.md",
            "episode.yaml",
            "profile.yaml",
            "scripts",
            "skills",
            "tasks",
            "tools.yaml",
        ];
        let names = self.names(user);
        for name in names.iter().filter(|name| !KNOWN.contains(&name.as_str())) {
            self.leave_out(&format!("{user}/{name}"), "no part of the format");
        }
        let tasks = episode.entries().filter_map(Result::ok);
        let tasks: Vec<String> = tasks.map(|task| task.task_id).collect();
        let folder = format!("{user}/tasks");
        for name in self.names(&folder) {
            if !tasks.contains(&name) {
                self.leave_out(&format!("{folder}/{name}"), "no task of the episode");
            }
        }
        let folder = format!("{user}/scripts");
        for name in self.names(&folder) {
            let path = format!("{folder}/{name}");
            if !self.input.was_read(&path) {
                self.leave_out(&path, "a script that no task of the episode names");
            }
        }
    }
}

/// An id of ours that is as like as can be.
pub(super) fn to_id(name: &str) -> Option<String> {
    let fold = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' => c,
        _ => '-',
    };
    let id: String = name.chars().map(fold).collect();
    let id = id.trim_matches(['-', '_']).to_owned();
    is_id(&id).then_some(id)
}

/// What the format has beside our own keys, kept under its names.
fn rest_of(
    profile: &ProfileYaml,
    episode: &EpisodeYaml,
    tools: &ToolsYaml,
    skills: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let mut ours = Map::new();
    ours.insert("user_id".to_owned(), json!(profile.user_id));
    ours.insert("tool_names".to_owned(), json!(tools.tool_names));
    ours.insert("episode_id".to_owned(), json!(episode.episode_id));
    ours.insert("long_term_goals".to_owned(), json!(profile.long_term_goals));
    ours.insert(
        "preferences".to_owned(),
        profile.preferences.clone().unwrap_or_default(),
    );
    ours.extend(profile.rest.clone());
    ours.extend(episode.rest.clone());
    let other = episode.user_id.clone().filter(|id| *id != profile.user_id);
    ours.extend(other.map(|id| ("episode_user_id".to_owned(), id.into())));
    let renamed: Map<String, Value> = skills
        .iter()
        .filter(|(id, name)| id != name)
        .map(|(id, name)| (id.clone(), json!(name)))
        .collect();
    if !renamed.is_empty() {
        ours.insert("skills".to_owned(), Value::Object(renamed));
    }
    ours
}

fn profile_text(role: &str, preferences: Option<&Value>, goals: &[String]) -> String {
    let preference = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    };
    let preferences: Vec<String> = preferences
        .and_then(Value::as_object)
        .map(|preferences| preferences.iter().map(preference).collect())
        .unwrap_or_default();
    let mut text = role.trim_end().to_owned() + "\n";
    for (title, lines) in [
        ("Preferences", preferences.as_slice()),
        ("Long-term goals", goals),
    ] {
        if !lines.is_empty() {
            text.extend(["\n## ", title, "\n- ", &lines.join("\n- "), "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests;
