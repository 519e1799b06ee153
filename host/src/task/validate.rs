//! What makes a suite's content good, beyond being well-formed: hidden intents that are hidden and can be found, matchers
//! that do what their author thinks, checklists of single requirements, groups whose dependency is real, tools and files
//! that exist. Looks at the files only and plays nothing; the released benchmark calls this its task validator.
//!
//! It reads the files once more, because the loaded suite has forgotten where things stand and what only authors need.

mod checklist;
mod episode;
mod example;
mod leak;
mod recovery;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::document::{Document, Place, Report};
use super::import::IMPORTED;
use super::load::{Loader, PERSONA, SESSION, folder_and_name, join};
use super::manifest::{PersonaFile, SessionFile, SuiteFile};
use super::problem::{Problem, Problems, Source};
use super::suite::{Persona, Session, Suite};
use shown::Shown;

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
    personas: Vec<AuthoredPersona>,
}

#[derive(Debug)]
struct AuthoredPersona {
    source: Source,
    imported: bool,
    sessions: Vec<AuthoredSession>,
}

#[derive(Debug)]
struct AuthoredSession {
    source: Source,
    file: SessionFile,
}

/// One session on its way through the checks.
struct Ground<'a> {
    persona: &'a Persona,
    /// The session's place in the episode.
    index: usize,
    session: &'a Session,
    file: &'a SessionFile,
    /// Those of the earlier sessions, and this one's.
    files: &'a [AuthoredSession],
    /// Data of another project: what its authors did is told, and fails nothing.
    imported: bool,
    root: Place<'a>,
}

impl<'s> Authored<'s> {
    /// Reads the files of a suite that was loaded from its path.
    pub fn read(suite: &'s Suite) -> Result<Self, Problems> {
        let (folder, name) = folder_and_name(&suite.path);
        let mut loader = Loader::open(folder)?;
        let file: SuiteFile = loader.wire(name)?.1;
        let personas = suite.personas.iter().zip(&file.personas);
        let personas = personas
            .map(|(persona, folder)| AuthoredPersona::read(&mut loader, persona, folder))
            .collect::<Result<_, _>>()?;
        Ok(Self { suite, personas })
    }

    /// Everything that is wrong or odd, in the order of the files. `tools` are all that the plugins and the host offer.
    pub fn problems(&self, tools: &[ToolText]) -> Vec<Problem> {
        let known: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut problems = Vec::new();
        for (persona, authored) in self.suite.personas.iter().zip(&self.personas) {
            problems.extend(authored.own_problems(persona, &known));
            let mut shown = Shown::of_persona(persona, tools);
            for (index, session) in persona.sessions.iter().enumerate() {
                shown.add_session(persona, index);
                let AuthoredSession { source, file } = &authored.sessions[index];
                problems.extend(on_document(source, |root, report| {
                    let ground = Ground {
                        persona,
                        index,
                        session,
                        file,
                        files: &authored.sessions[..=index],
                        imported: authored.imported,
                        root,
                    };
                    ground.check(&shown, &known, report);
                }));
            }
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

    fn source(&self, persona: &str, session: &str) -> Option<&Source> {
        let personas = self.suite.personas.iter().zip(&self.personas);
        let (of, authored) = personas
            .into_iter()
            .find(|(known, _)| known.id == persona)?;
        let place = of.sessions.iter().position(|known| known.id == session)?;
        Some(&authored.sessions.get(place)?.source)
    }
}

/// A part of a session file.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    Session,
    /// By its id's place in the list.
    Intent(usize),
    Item(usize),
    Key(&'a str),
}

impl Part<'_> {
    fn find<'d>(self, root: &Place<'d>) -> Place<'d> {
        match self {
            Part::Session => root.key("id"),
            Part::Intent(index) => root.key("intents").index(index).key("id"),
            Part::Item(index) => root.key("checklist").index(index).key("id"),
            Part::Key(key) => root.key(key),
        }
    }
}

impl AuthoredPersona {
    fn read(loader: &mut Loader, persona: &Persona, folder: &str) -> Result<Self, Problems> {
        let (source, file): (Source, PersonaFile) = loader.wire(&join(folder, PERSONA))?;
        let session = |loader: &mut Loader, session: &Session| {
            let path = join(folder, &format!("sessions/{}/{SESSION}", session.id));
            let (source, file) = loader.wire(&path)?;
            Ok(AuthoredSession { source, file })
        };
        Ok(Self {
            source,
            imported: file.metadata.contains_key(IMPORTED),
            sessions: persona
                .sessions
                .iter()
                .map(|known| session(loader, known))
                .collect::<Result<_, Problems>>()?,
        })
    }

    /// The persona file's: its tools exist, and its groups are groups.
    fn own_problems(&self, persona: &Persona, known: &BTreeSet<&str>) -> Vec<Problem> {
        on_document(&self.source, |root, report| {
            for (index, tool) in persona.tools.iter().enumerate() {
                if !offered(tool, known) {
                    report.add_with_help(
                        root.key("tools").index(index).span(),
                        format!("no plugin has the tool `{tool}`"),
                        "`pibench-host list` names the apps, and the app's description its tools",
                    );
                }
            }
            if !self.imported {
                episode::check(persona, &self.sessions, &root.key("episode"), report);
            }
        })
    }
}

/// Whether a tool, or any tool of `<app>__*`, is there.
fn offered(tool: &str, known: &BTreeSet<&str>) -> bool {
    match tool.strip_suffix('*') {
        Some(app) => known.iter().any(|name| name.starts_with(app)),
        None => known.contains(tool),
    }
}

impl Ground<'_> {
    fn check(&self, shown: &Shown, known: &BTreeSet<&str>, report: &mut Report<'_>) {
        leak::check(self, shown, report);
        if !self.imported {
            recovery::check(self, shown, report);
            example::check(self, report);
            checklist::check(self, report);
        }
        self.check_tools(known, report);
        self.check_files_read(shown, report);
    }

    /// What the reference workflow calls and what the judge is shown must be there.
    fn check_tools(&self, known: &BTreeSet<&str>, report: &mut Report<'_>) {
        let steps = self.file.reference.iter().enumerate();
        let steps = steps.filter_map(|(index, step)| {
            let place = self.root.key("reference").index(index).key("tool");
            Some((step.tool.as_ref()?, place))
        });
        let evidence = self.file.evidence.tools.iter().enumerate();
        let evidence = evidence.map(|(index, evidence)| {
            let place = self.root.key("evidence").key("tools").index(index);
            (&evidence.tool, place.key("tool"))
        });
        for (tool, place) in steps.chain(evidence) {
            if !known.contains(tool.as_str()) {
                let message = format!("there is no tool `{tool}`");
                self.report(
                    report,
                    &place,
                    message,
                    "name a built-in tool or one of a plugin",
                );
            }
        }
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
                report.warn(place.span(), message, help);
            }
        }
    }

    /// An error, or of imported data a warning.
    fn report(&self, report: &mut Report<'_>, place: &Place<'_>, message: String, help: &str) {
        if self.imported {
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
    let lower = text.to_lowercase();
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
