//! What makes a suite's content good, beyond being well-formed: hidden intents that are hidden and can be found, matchers
//! that do what their author thinks, checklists of single requirements, groups whose dependency is real, tools and files
//! that exist. Looks at the files only and plays nothing; the released benchmark calls this its task validator.
//!
//! It reads the files once more, because the loaded suite has forgotten where things stand and what only authors need. Of a
//! suite that is broken in places it looks at what could be read.

mod alone;
mod checklist;
mod dates;
mod episode;
mod evidence;
mod example;
mod history;
mod leak;
mod owned;
mod recipients;
mod recovery;
mod rules;
mod shown;
mod skills;
mod tries;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use rayon::prelude::*;

use crate::load::{Loader, PERSONA, SESSION, folder_and_name, join};
use crate::manifest::IMPORTED;
use crate::manifest::{PersonaFile, RuleFile, SessionFile, SuiteFile};
use crate::problem::Report;
use crate::problem::{Problem, Problems, Source};
use crate::suite::{Persona, Session, Suite};
use crate::toml_file::{Document, Place};
pub use history::History;
use pibench_core::form::composed;
use pibench_core::matcher::{Matcher, Piece};
use pibench_core::near::nearest;
use shown::Shown;
use tries::Tries;

/// A tool that the agent can have, and all the text of it that a model reads.
#[derive(Debug, Clone)]
pub struct ToolText {
    pub name: String,
    pub text: String,
}

/// A suite beside the files that it was made of.
#[derive(Debug)]
pub struct Authored<'s> {
    suite: &'s Suite,
    personas: Vec<(&'s Persona, AuthoredPersona)>,
}

#[derive(Debug)]
struct AuthoredPersona {
    source: Source,
    imported: bool,
    /// Whether every session of the episode could be read: without one, it is not known what the others miss.
    whole: bool,
    /// By id.
    sessions: BTreeMap<String, AuthoredSession>,
}

#[derive(Debug)]
struct AuthoredSession {
    source: Source,
    file: SessionFile,
}

/// The tools that an agent can have.
#[derive(Debug)]
pub struct Tools<'a> {
    pub known: &'a [ToolText],
    /// The apps that could not be loaded, of whose tools nothing is known.
    pub absent: &'a BTreeSet<String>,
}

/// Why a persona's agent has not a tool.
enum Lack {
    /// It is not there.
    Nowhere,
    /// It is there, and the persona does not list it.
    NotTheirs,
}

/// Why a plugin cannot be used.
#[derive(Debug)]
pub struct Fault {
    pub reason: String,
    /// The plugins that are where a missing one was looked for.
    pub there: Vec<String>,
}

impl Tools<'_> {
    /// The apps of which any tool is there.
    fn apps(&self) -> impl Iterator<Item = &str> {
        let known = self.known.iter();
        known.filter_map(|known| Some(known.name.split_once("__")?.0))
    }

    /// Whether an app that nobody has is what an absent one was meant to be: the error of that one tells it.
    fn is_meant(&self, app: &str) -> bool {
        let absent = self.absent.iter().map(String::as_str);
        let is_there = self.absent.contains(app) || self.apps().any(|known| known == app);
        !is_there && nearest(app, absent).is_some()
    }

    /// Whether a warning says of an app only what the error of an absent one says: a letter that is wrong is told once.
    pub fn is_told(&self, problem: &Problem) -> bool {
        let lacking = problem.message().strip_prefix("the persona has no tool");
        let tool = lacking.and_then(|named| named.split('`').nth(1));
        let app = tool.map(|tool| tool.split_once("__").map_or(tool, |(app, _)| app));
        !problem.is_error() && app.is_some_and(|app| self.is_meant(app))
    }

    /// Whether a tool, or any tool of `<app>__*`, is there, as far as that is known.
    fn have(&self, tool: &str) -> bool {
        let absent = tool
            .split_once("__")
            .is_some_and(|(app, _)| self.absent.contains(app));
        let mut names = self.known.iter().map(|known| known.name.as_str());
        absent
            || match tool.strip_suffix('*') {
                Some(app) => names.any(|name| name.starts_with(app)),
                None => names.any(|name| name == tool),
            }
    }

    /// What keeps a persona's agent from a tool, as far as that is known. What the error of an absent app tells is nothing more.
    fn lack(&self, tool: &str, persona: &Persona) -> Option<Lack> {
        let app = tool.split_once("__").map(|(app, _)| app);
        if app.is_some_and(|app| self.is_meant(app)) {
            return None;
        }
        if !self.have(tool) {
            return Some(Lack::Nowhere);
        }
        (app.is_some() && !persona.has_tool(tool)).then_some(Lack::NotTheirs)
    }

    /// What may have been meant by a tool that nobody has, or else what to do.
    fn remedy(&self, tool: &str, otherwise: &str) -> String {
        let names = self.known.iter().map(|known| known.name.as_str());
        let near = match tool.strip_suffix("__*") {
            Some(app) => nearest(app, self.apps()).map(|app| format!("{app}__*")),
            None => nearest(tool, names).map(str::to_owned),
        };
        match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => otherwise.to_owned(),
        }
    }
}

/// One session on its way through the checks.
struct Ground<'a> {
    persona: &'a Persona,
    /// The session's place in the episode.
    index: usize,
    session: &'a Session,
    file: &'a SessionFile,
    authored: &'a AuthoredPersona,
    root: Place<'a>,
    tries: &'a Tries,
}

impl<'s> Authored<'s> {
    /// Reads the files of a suite that was loaded from its path, as far as they could be.
    pub fn read(suite: &'s Suite) -> Result<Self, Problems> {
        let (folder, name) = folder_and_name(&suite.path);
        let mut loader = Loader::open(folder)?;
        let file: SuiteFile = loader.wire(name)?.1;
        let mut read = |persona: &Persona| {
            let named = |folder: &&String| Utf8Path::new(folder).file_name() == Some(&persona.id);
            let folder = file.personas.iter().find(named)?;
            AuthoredPersona::read(&mut loader, persona, folder)
        };
        let personas = suite.personas.iter();
        let personas = personas
            .filter_map(|persona| Some((persona, read(persona)?)))
            .collect();
        Ok(Self { suite, personas })
    }

    /// Everything that is wrong or odd, in the order of the files.
    pub fn problems(&self, tools: &Tools<'_>) -> Vec<Problem> {
        let tries = Tries::default();
        let each = self.personas.par_iter();
        let mut problems: Vec<Problem> = each
            .flat_map_iter(|(persona, authored)| self.problems_of(persona, authored, tools, &tries))
            .collect();
        let spent = tries
            .spent()
            .map(|message| Problem::of_file(&self.suite.path, message));
        problems.extend(spent);
        problems
    }

    fn problems_of(
        &self,
        persona: &Persona,
        authored: &AuthoredPersona,
        tools: &Tools<'_>,
        tries: &Tries,
    ) -> Vec<Problem> {
        let everybody = self.suite.personas.iter().flat_map(|one| &one.people);
        let people: Vec<&str> = everybody.map(|one| one.email.as_str()).collect();
        let mut problems = authored.own_problems(persona, tools, &people);
        let mut shown = Shown::of_persona(self.suite, persona, tools.known);
        for (index, session) in persona.sessions.iter().enumerate() {
            shown.add_session(persona, index);
            let Some(AuthoredSession { source, file }) = authored.sessions.get(&session.id) else {
                continue;
            };
            problems.extend(on_document(source, |root, report| {
                let ground = Ground {
                    persona,
                    index,
                    session,
                    file,
                    authored,
                    root,
                    tries,
                };
                ground.check(&shown, tools, report);
                if !authored.imported {
                    recipients::check(&session.apps, &people, &ground.root, report);
                }
            }));
        }
        problems
    }

    /// An error of a session that only playing it could show, at the key of its file that `part` leads to.
    pub fn session_problem(
        &self,
        persona: &str,
        session: &str,
        part: Part<'_>,
        message: String,
        help: &str,
    ) -> Problem {
        let Some(source) = self.source(persona, session) else {
            return Problem::of_file(&self.suite.path, message).help(help);
        };
        let problems = on_document(source, |root, report| {
            report.add_with_help(part.find(&root).span(), message.clone(), help);
        });
        let plain = || Problem::of_file(&source.path, message.clone()).help(help);
        problems.into_iter().next().unwrap_or_else(plain)
    }

    /// An error of a plugin that cannot be used, at the first rule or tool that names it.
    pub fn plugin_problem(&self, name: &str, fault: &Fault, tools: &Tools<'_>) -> Problem {
        let (graders, own) = (["python", "rules"], self.suite.plugins.keys());
        let named = own.chain(&fault.there).map(String::as_str);
        let known = graders.into_iter().chain(named).chain(tools.apps());
        let known = known.chain(self.kept());
        let near = nearest(name, known.filter(|one| !tools.absent.contains(*one)));
        let problem = self.at_plugin(name, &fault.reason);
        match near {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        }
    }

    /// The apps of which a persona or one of its sessions has records.
    fn kept(&self) -> impl Iterator<Item = &str> {
        let personas = self.suite.personas.iter();
        let kept = personas.flat_map(|persona| {
            let sessions = persona.sessions.iter().map(|session| &session.apps);
            sessions.chain([&persona.apps]).flat_map(BTreeMap::keys)
        });
        kept.map(String::as_str)
    }

    fn at_plugin(&self, name: &str, message: &str) -> Problem {
        for (persona, authored) in &self.personas {
            let sessions = persona.sessions.iter();
            for AuthoredSession { source, file } in
                sessions.filter_map(|session| authored.sessions.get(&session.id))
            {
                let mut rules = file.checklist.iter().map(|item| item.rule.as_ref());
                let is_of = |rule: Option<&RuleFile>| rule.is_some_and(|rule| rule.grader == name);
                if let Some(index) = rules.position(is_of) {
                    return at_place(source, message, |root| {
                        let rule = root.key("checklist").index(index).key("rule");
                        rule.key("grader").span()
                    });
                }
            }
            let mut tools = persona.tools.iter().map(|tool| tool.split_once("__"));
            if let Some(index) = tools.position(|tool| tool.is_some_and(|(app, _)| app == name)) {
                return at_place(&authored.source, message, |root| {
                    root.key("tools").index(index).span()
                });
            }
        }
        Problem::of_file(&self.suite.path, message)
    }

    /// An error of a persona, of imported data a warning, at a key of its file.
    pub fn persona_problem(
        &self,
        persona: &str,
        key: &str,
        message: &str,
        help: &str,
    ) -> Vec<Problem> {
        let personas = self.personas.iter();
        let of = personas.filter(|(known, _)| known.id == persona);
        of.flat_map(|(_, authored)| {
            on_document(&authored.source, |root, report| {
                let span = root.key(key).span();
                if authored.imported {
                    report.warn(span, message.to_owned(), help);
                } else {
                    report.add_with_help(span, message.to_owned(), help);
                }
            })
        })
        .collect()
    }

    fn source(&self, persona: &str, session: &str) -> Option<&Source> {
        let mut personas = self.personas.iter();
        let (_, authored) = personas.find(|(known, _)| known.id == persona)?;
        Some(&authored.sessions.get(session)?.source)
    }

    /// Whether every session of a persona could be read.
    pub fn is_whole(&self, persona: &str) -> bool {
        let mut personas = self.personas.iter();
        personas.any(|(known, authored)| known.id == persona && authored.whole)
    }

    /// The file of a session, as problems name it.
    pub fn file(&self, persona: &str, session: &str) -> Option<&Utf8Path> {
        Some(&self.source(persona, session)?.path)
    }
}

/// A part of a session file.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    Session,
    /// By its id's place in the list.
    Intent(usize),
    Item(usize),
    /// Of an item's rule: its kind, `accepts` or `rejects`, and its place there.
    Example(usize, &'a str, usize),
    Key(&'a str),
}

impl Part<'_> {
    fn find<'d>(self, root: &Place<'d>) -> Place<'d> {
        match self {
            Part::Session => root.key("id"),
            Part::Intent(index) => root.key("intents").index(index).key("id"),
            Part::Item(index) => root.key("checklist").index(index).key("id"),
            Part::Example(item, kind, nth) => {
                let rule = root.key("checklist").index(item).key("rule");
                rule.key(kind).index(nth)
            }
            Part::Key(key) => root.key(key),
        }
    }
}

impl AuthoredPersona {
    /// None when the persona's own file cannot be read, which its loading told.
    fn read(loader: &mut Loader, persona: &Persona, folder: &str) -> Option<Self> {
        let (source, file): (Source, PersonaFile) = loader.wire(&join(folder, PERSONA)).ok()?;
        let mut session = |session: &Session| {
            let path = join(folder, &format!("sessions/{}/{SESSION}", session.id));
            let (source, file) = loader.wire(&path).ok()?;
            Some((session.id.clone(), AuthoredSession { source, file }))
        };
        let sessions: BTreeMap<_, _> = persona.sessions.iter().filter_map(&mut session).collect();
        Some(Self {
            source,
            imported: file.metadata.contains_key(IMPORTED),
            whole: sessions.len() == file.episode.len(),
            sessions,
        })
    }

    /// The persona file's: its tools exist, and its groups are groups.
    fn own_problems(&self, persona: &Persona, tools: &Tools<'_>, people: &[&str]) -> Vec<Problem> {
        on_document(&self.source, |root, report| {
            for (index, tool) in persona.tools.iter().enumerate() {
                if !tools.have(tool) {
                    report.add_with_help(
                        root.key("tools").index(index).span(),
                        format!("no plugin has the tool `{tool}`"),
                        tools.remedy(
                            tool,
                            "`pibench-host list` names the apps, and the app's description its tools",
                        ),
                    );
                }
            }
            if !self.imported {
                dates::check_persona(persona, &root, report);
                skills::check(persona, tools, &root.key("skills"), report);
                recipients::check(&persona.apps, people, &root, report);
            }
            if !self.imported && self.whole {
                episode::check(persona, &self.sessions, &root.key("episode"), report);
            }
        })
    }
}

impl Ground<'_> {
    /// Whether one of the session's matchers reads a text, as long as all tries have not cost too much.
    fn tried(&self, name: &str, matcher: &Matcher, text: &str, piece: &Piece) -> Option<bool> {
        let name = || format!("{}/{name}", self.session.id);
        self.tries.reads(name, matcher, text, piece)
    }

    fn check(&self, shown: &Shown, tools: &Tools<'_>, report: &mut Report<'_>) {
        leak::check(self, shown, report);
        if !self.authored.imported {
            if self.authored.whole {
                recovery::check(self, shown, report);
            }
            example::check(self, report);
            checklist::check(self, report);
            alone::check(self, report);
            evidence::check(self, report);
        }
        dates::check(self, report);
        self.check_tools(tools, report);
        rules::check(self, tools, report);
        self.check_files_read(shown, report);
    }

    /// What the reference workflow calls, the judge is shown and matchers look at must be there. That the persona has what
    /// the workflow calls was seen when it was loaded.
    fn check_tools(&self, tools: &Tools<'_>, report: &mut Report<'_>) {
        let steps = self.file.reference.iter().enumerate();
        let steps = steps.filter_map(|(index, step)| {
            let place = self.root.key("reference").index(index).key("tool");
            Some((step.tool.as_deref()?, place, false))
        });
        let evidence = self.file.evidence.tools.iter().enumerate();
        let evidence = evidence.map(|(index, evidence)| {
            let place = self.root.key("evidence").key("tools").index(index);
            (evidence.tool.as_str(), place.key("tool"), true)
        });
        let looked_at = self.looked_at().map(|(tool, place)| (tool, place, true));
        for (tool, place, own) in steps.chain(evidence).chain(looked_at) {
            self.check_tool(tools, tool, &place, own, report);
        }
    }

    /// A tool that is named must be there; `own`: the persona's.
    fn check_tool(
        &self,
        tools: &Tools<'_>,
        tool: &str,
        place: &Place<'_>,
        own: bool,
        report: &mut Report<'_>,
    ) {
        match tools.lack(tool, self.persona) {
            Some(Lack::Nowhere) => {
                let message = format!("there is no tool `{tool}`");
                let help = tools.remedy(tool, "name a built-in tool or one of a plugin");
                self.report(report, place, message, &help);
            }
            Some(Lack::NotTheirs) if own => {
                let message = format!("the persona has no tool `{tool}`");
                let help = "add it to the persona's tools, or name another";
                self.report(report, place, message, help);
            }
            Some(Lack::NotTheirs) | None => {}
        }
    }

    /// The tools that matchers look at by `call:<tool>`.
    fn looked_at(&self) -> impl Iterator<Item = (&str, Place<'_>)> {
        let intents = self.file.intents.iter().enumerate().map(|(index, intent)| {
            let place = self.root.key("intents").index(index).key("satisfied");
            (intent.satisfied.as_ref(), place)
        });
        let items = self.file.checklist.iter().enumerate().map(|(index, item)| {
            let place = self.root.key("checklist").index(index).key("met");
            (item.met.as_ref(), place)
        });
        intents.chain(items).flat_map(|(matcher, place)| {
            let within = matcher.into_iter().flat_map(|matcher| &matcher.within);
            within.enumerate().filter_map(move |(nth, within)| {
                let tool = within.strip_prefix("call:")?;
                Some((tool, place.key("within").index(nth)))
            })
        })
    }

    /// A file that the judge is shown is staged, or made by a reference workflow.
    fn check_files_read(&self, shown: &Shown, report: &mut Report<'_>) {
        for (index, path) in self.file.evidence.files_read.iter().enumerate() {
            let made = written(self.file).any(|(made, _)| made == path);
            if !made && shown.file(path).is_none() {
                let place = self.root.key("evidence").key("files_read").index(index);
                let message =
                    format!("no session stages `{path}`, and no reference workflow writes it");
                let help = "name a file that is there when the session ends";
                self.report(report, &place, message, help);
            }
        }
    }

    /// An error, or of imported data a warning.
    fn report(&self, report: &mut Report<'_>, place: &Place<'_>, message: String, help: &str) {
        if self.authored.imported {
            report.warn(place.span(), message, help);
        } else {
            report.add_with_help(place.span(), message, help);
        }
    }
}

/// The files that a session's reference workflow writes as a whole, with their content.
fn written(file: &SessionFile) -> impl Iterator<Item = (&str, &str)> {
    let steps = file.reference.iter();
    steps
        .filter(|step| step.tool.as_deref() == Some("write_file"))
        .filter_map(|step| {
            let text = |key: &str| step.arguments.get(key)?.as_str();
            Some((text("path")?, text("content")?))
        })
}

/// Runs a check on a file that is known to parse; its problems.
fn on_document(source: &Source, check: impl FnOnce(Place<'_>, &mut Report<'_>)) -> Vec<Problem> {
    let mut report = Report::new(source);
    if let Some(document) = Document::parse(&source.text, &mut report) {
        check(document.root(), &mut report);
    }
    report.finish()
}

/// An error at a place of a file that is known to parse.
fn at_place(
    source: &Source,
    message: &str,
    find: impl FnOnce(&Place<'_>) -> std::ops::Range<usize>,
) -> Problem {
    let problems = on_document(source, |root, report| report.add(find(&root), message));
    let first = problems.into_iter().next();
    first.unwrap_or_else(|| Problem::of_file(&source.path, message))
}

impl Loader {
    /// A task file in its wire form; it was read once without an error.
    fn wire<T>(&mut self, path: &str) -> Result<(Source, T), Problems>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        let changed = |message| Problems(vec![Problem::of_file(Utf8Path::new(path), message)]);
        let source = self.source(path).map_err(changed)?;
        let mut report = Report::new(&source);
        let file = Document::parse(&source.text, &mut report)
            .and_then(|document| document.read(&mut report));
        match file {
            Some(file) => Ok((source, file)),
            None => Err(Problems(report.finish())),
        }
    }
}

/// Words of a text, for comparing: lower case, four letters or more or with a figure in them, each once.
fn words(text: &str) -> BTreeSet<String> {
    let lower = composed(text).to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= 4 || word.contains(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Estimated tokens of what each session gives to the agent beside the conversation, by persona and session: its
/// request, its files and its records, at four bytes a token.
pub fn material_tokens(suite: &Suite) -> BTreeMap<(String, String), usize> {
    const BYTES: usize = 4;
    let mut tokens = BTreeMap::new();
    for persona in &suite.personas {
        for session in &persona.sessions {
            let files: usize = session.files.iter().map(|file| file.content.len()).sum();
            let records: usize = session.apps.values().map(shown::length).sum();
            let bytes = shown::opening(session).len() + files + records;
            tokens.insert((persona.id.clone(), session.id.clone()), bytes / BYTES);
        }
    }
    tokens
}
