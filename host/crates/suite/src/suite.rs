//! The suite as the rest of the host works with it: read, validated, every reference resolved. Built by `load` only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8PathBuf;
use jiff::civil::DateTime;
use serde_json::Value;

use crate::assignment::Assignment;
use crate::catalog;
use crate::identity::Parts;
use crate::manifest::{
    AgentFile, FilterFile, Isolation, LimitOverrides, ModelFile, Person, ProviderFile, Reset,
    SessionLimits, Trigger, WebFile,
};
use pibench_core::matcher::Matcher;
use pibench_core::player;
use pibench_core::size::Memory;
use pibench_core::vocabulary::{
    Ablation, Category, FoundIn, Protocol, Scaffold, ScaffoldPrompt, Scope, ToolEvidence, When,
};

/// The workspace's file of what the agent is told about the user.
pub const USER_MD: &str = "USER.md";

/// A whole suite.
#[derive(Debug, Clone)]
pub struct Suite {
    pub id: String,
    pub title: String,
    /// The suite file.
    pub path: Utf8PathBuf,
    /// What of it changes a score.
    pub parts: Parts,
    /// BLAKE3 over these, hex: two suites with the same digest are the same.
    pub digest: String,
    pub protocol: Protocol,
    pub scaffold: Scaffold,
    pub scaffold_prompt: ScaffoldPrompt,
    pub agent: String,
    /// None: not named.
    pub user: Option<String>,
    pub judge: Option<String>,
    pub runs: Option<u32>,
    pub seed: u64,
    pub filter: FilterFile,
    pub jobs: Option<u32>,
    /// The bound of the program's own memory.
    pub memory: Option<Memory>,
    pub session: SessionLimits,
    pub reset: Reset,
    pub ablate: Option<Ablation>,
    /// Component files by plugin name, absolute or relative to the working directory.
    pub plugins: BTreeMap<String, Utf8PathBuf>,
    /// The policy file that the suite names.
    pub policy: Option<Utf8PathBuf>,
    /// The lock that the suite's plugins are held to.
    pub lock: Option<Utf8PathBuf>,
    pub limits: LimitOverrides,
    pub providers: BTreeMap<String, ProviderFile>,
    pub models: BTreeMap<String, ModelFile>,
    /// Agents that are processes of their own.
    pub agents: BTreeMap<String, AgentFile>,
    pub web: WebFile,
    /// The pages that the agent's web holds, when it is offline.
    pub corpus: Vec<Page>,
    pub personas: Vec<Persona>,
    /// What the command line put in the place of the file's settings.
    pub assigned: Vec<Assignment>,
}

/// One page of the suite's own web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub url: String,
    pub title: String,
    /// Markdown.
    pub text: String,
}

impl Suite {
    /// Gives each agent that is a process of its own its whole name: `acp:NAME` where only the entry was named, and the one of an
    /// agent that nothing confines where its entry says so.
    pub fn name_agents(&mut self) {
        let ready = catalog::ready_agents();
        let models = catalog::Catalog::with(&self.providers, &self.models).models;
        let is_entry = |name: &str| self.agents.contains_key(name) || ready.contains_key(name);
        let whole_name = |name: &str| {
            let whole = match player::process(name) {
                None if is_entry(name) && !models.contains_key(name) => {
                    format!("{}{name}", player::PROCESS)
                }
                _ => name.to_owned(),
            };
            let open = |what: &str| {
                let agent = self.agents.get(what);
                agent.is_some_and(|agent| agent.isolation == Isolation::None)
            };
            match player::process(&whole) {
                Some((what, true)) if open(what) => format!("{}{what}", player::UNCONFINED),
                _ => whole,
            }
        };
        let names: Vec<String> = catalog::panel(&self.agent).map(whole_name).collect();
        self.agent = names.join(",");
    }

    /// The plugins that the suite needs: its personas' apps and its rules' graders, each once.
    pub fn plugin_names(&self) -> BTreeSet<String> {
        self.personas
            .iter()
            .flat_map(Persona::plugin_names)
            .collect()
    }

    /// A session by the ids of its persona and itself, and that persona.
    pub fn find_session(&self, persona: &str, session: &str) -> Option<(&Persona, &Session)> {
        let persona = self.personas.iter().find(|one| one.id == persona)?;
        let session = persona.sessions.iter().find(|one| one.id == session)?;
        Some((persona, session))
    }

    /// The personas of which anything is played, where these personas and these sessions are; empty lists leave nothing out.
    pub fn played<'a>(
        &'a self,
        personas: &'a [String],
        sessions: &'a [String],
    ) -> impl Iterator<Item = &'a Persona> {
        let is_of = |all: &[String], id: &String| all.is_empty() || all.contains(id);
        self.personas.iter().filter(move |persona| {
            let mut own = persona.sessions.iter();
            is_of(personas, &persona.id) && own.any(|session| is_of(sessions, &session.id))
        })
    }
}

/// One simulated user with an episode.
#[derive(Debug, Clone)]
pub struct Persona {
    pub id: String,
    pub name: String,
    /// For the user agent only.
    pub profile: String,
    pub user_md: String,
    /// What the user tells whoever asks, by what it is.
    pub facts: BTreeMap<String, String>,
    /// As written: `<app>__<tool>` or `<app>__*`.
    pub tools: Vec<String>,
    /// Files of its skills, to stage at the start.
    pub skills: Vec<Staged>,
    /// Its other files, to stage at the start.
    pub files: Vec<Staged>,
    pub people: Vec<Person>,
    /// Whether the apps hold the generated world too.
    pub world: bool,
    /// Records at the start, by app.
    pub apps: BTreeMap<String, Value>,
    /// In the order of the episode.
    pub sessions: Vec<Session>,
}

impl Persona {
    /// The same person with other sessions; its own are not copied first, for they are most of it.
    #[must_use]
    pub fn with_sessions(&self, sessions: Vec<Session>) -> Self {
        Self {
            id: self.id.clone(),
            name: self.name.clone(),
            profile: self.profile.clone(),
            user_md: self.user_md.clone(),
            facts: self.facts.clone(),
            tools: self.tools.clone(),
            skills: self.skills.clone(),
            files: self.files.clone(),
            people: self.people.clone(),
            world: self.world,
            apps: self.apps.clone(),
            sessions,
        }
    }

    /// Whether somebody under `people` is the user: by the name.
    pub(crate) fn is_user(&self, person: &Person) -> bool {
        let name = format!("{} {}", person.first_name, person.last_name);
        name.eq_ignore_ascii_case(&self.name)
    }

    /// All that the user tells whoever asks, by what it is: the facts, and what stands under `people` of the user.
    pub fn plain_facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        if let Some(person) = self.people.iter().find(|person| self.is_user(person)) {
            facts.insert("mail address".to_owned(), person.email.clone());
            let phone = person.phone_number.clone();
            facts.extend(phone.map(|number| ("phone number".to_owned(), number)));
            for app in self.app_names() {
                let password = person.passwords.get(&app).or(person.password.as_ref());
                facts.extend(password.map(|one| (format!("{app} password"), one.clone())));
            }
        }
        facts.extend(self.facts.clone());
        facts
    }

    /// The apps that the persona's tools name, sorted, each once.
    pub fn app_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .tools
            .iter()
            .filter_map(|tool| tool.split_once("__"))
            .map(|(app, _)| app.to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The plugins that it needs: its apps and its rules' graders, some of them more than once.
    pub fn plugin_names(&self) -> impl Iterator<Item = String> {
        let graders = self.sessions.iter().flat_map(Session::graders);
        let apps = self.app_names().into_iter();
        apps.chain(graders.map(str::to_owned))
    }

    /// Whether the persona has an app's tool, by its name or by `<app>__*`.
    pub fn has_tool(&self, tool: &str) -> bool {
        lists_tool(&self.tools, tool)
    }
}

/// Whether the tools that a persona lists hold this one.
pub(super) fn lists_tool(tools: &[String], tool: &str) -> bool {
    let all = tool.split_once("__").map(|(app, _)| format!("{app}__*"));
    tools
        .iter()
        .any(|listed| listed == tool || Some(listed) == all.as_ref())
}

/// One task.
#[derive(Debug, Clone)]
pub struct Session {
    pub id: String,
    pub title: String,
    pub category: Option<Category>,
    pub clock: DateTime,
    pub trigger: Trigger,
    pub request: String,
    pub intents: Vec<Intent>,
    pub checklist: Vec<Item>,
    pub files: Vec<Staged>,
    pub apps: BTreeMap<String, Value>,
    pub files_read: Vec<String>,
    pub tool_evidence: Vec<ToolEvidence>,
    pub reference: Vec<Step>,
    /// Earlier sessions of the group; empty unless this is a group's final session.
    pub depends_on: Vec<String>,
    /// A later session of the episode depends on this one, so it is not scored by itself.
    pub dependency_only: bool,
}

impl Session {
    /// Whether graders are asked about it.
    pub fn has_rules(&self) -> bool {
        self.graders().next().is_some()
    }

    /// The graders of its rules, one for each.
    pub fn graders(&self) -> impl Iterator<Item = &str> {
        self.checklist
            .iter()
            .filter_map(|item| match &item.grading {
                Grading::Rule(rule) => Some(rule.grader.as_str()),
                Grading::Rubric { .. } => None,
            })
    }

    /// What scripted judges ask about each turn.
    pub fn matchers(&self) -> impl Iterator<Item = &Matcher> {
        let of_items = self
            .checklist
            .iter()
            .filter_map(|item| match &item.grading {
                Grading::Rubric { met } => met.as_ref(),
                Grading::Rule(_) => None,
            });
        let of_intents = self.intents.iter();
        of_intents
            .filter_map(|intent| intent.satisfied.as_ref())
            .chain(of_items)
    }
}

/// One hidden intent.
#[derive(Debug, Clone)]
pub struct Intent {
    pub id: String,
    pub content: String,
    pub scope: Scope,
    /// Where an agent can find it, as the task's author says.
    pub found_in: Vec<FoundIn>,
    pub satisfied: Option<Matcher>,
    pub asked: Option<Matcher>,
}

/// One checklist item.
#[derive(Debug, Clone)]
pub struct Item {
    pub id: String,
    pub criterion: String,
    pub weight: f64,
    pub when: When,
    pub grading: Grading,
}

/// How an item is graded.
#[derive(Debug, Clone)]
pub enum Grading {
    Rubric { met: Option<Matcher> },
    Rule(Rule),
}

/// A rule, ready for the grader.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub grader: String,
    /// With the script's text in place.
    pub config: Value,
    /// None: the grader's only check.
    pub check: Option<String>,
}

/// A file to stage, its content read when the suite was loaded.
#[derive(Debug, Clone)]
pub struct Staged {
    /// In the workspace: relative, plain components only.
    pub path: String,
    /// Shared: plays of parts of a suite hold it many times.
    pub content: Arc<[u8]>,
}

/// One step of a reference workflow.
#[derive(Debug, Clone)]
pub enum Step {
    Call {
        tool: String,
        arguments: Value,
        save: Option<String>,
    },
    Say {
        text: String,
    },
}
