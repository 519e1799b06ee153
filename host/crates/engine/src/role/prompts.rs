//! The prompts of user agent and judge: template files, built in or from a folder, tried out when they are loaded. They
//! hold all wording; what a model may see is chosen by the caller.

use std::collections::BTreeMap;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};
use thiserror::Error;

use super::exhibit::{Picture, Shown};
use super::parse::ListItem;
use pibench_agent::name_undefined;

/// The version of the built-in prompts, the agent's among them: scores are compared within one. It rises with every
/// change of their texts, and of how much is shown by them.
const VERSION: u32 = 8;

/// Files of a folder of prompts that are the agent's: the scaffold reads and shows them.
const OF_AGENT: [&str; 2] = ["system.md", "subagent.md"];

/// Bytes of one template file.
const FILE_LIMIT: u64 = 1 << 20;

/// One prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptName {
    Satisfaction,
    Question,
    Reveal,
    Answer,
    Rubric,
    PiBenchSatisfaction,
    PiBenchQuestion,
    PiBenchRubric,
}

macro_rules! prompt_file {
    ($file:literal) => {
        ($file, include_str!(concat!("../../prompts/", $file)))
    };
}

impl PromptName {
    const ALL: [Self; 8] = [
        Self::Satisfaction,
        Self::Question,
        Self::Reveal,
        Self::Answer,
        Self::Rubric,
        Self::PiBenchSatisfaction,
        Self::PiBenchQuestion,
        Self::PiBenchRubric,
    ];

    /// Name and built-in text of the template file.
    fn built_in(self) -> (&'static str, &'static str) {
        match self {
            Self::Satisfaction => prompt_file!("satisfaction.md"),
            Self::Question => prompt_file!("question.md"),
            Self::Reveal => prompt_file!("reveal.md"),
            Self::Answer => prompt_file!("answer.md"),
            Self::Rubric => prompt_file!("rubric.md"),
            Self::PiBenchSatisfaction => prompt_file!("pi-bench-satisfaction.md"),
            Self::PiBenchQuestion => prompt_file!("pi-bench-question.md"),
            Self::PiBenchRubric => prompt_file!("pi-bench-rubric.md"),
        }
    }

    pub(crate) fn file(self) -> &'static str {
        self.built_in().0
    }

    /// The variables without which the prompt cannot do its work.
    fn must_show(self) -> &'static [&'static str] {
        match self {
            Self::Satisfaction => &[
                "format",
                "items",
                "error",
                "conversation",
                "earlier",
                "response",
                "calls",
                "changes",
            ],
            Self::Question => &["format", "items", "error", "response"],
            Self::Reveal => &["format", "items", "error", "conversation"],
            Self::Answer => &["format", "items", "error", "persona.profile", "facts"],
            Self::Rubric => &["format", "items", "error", "conversation", "tools", "files"],
            // One that leaves out our format asks for the released code's.
            Self::PiBenchSatisfaction => &["items", "response", "files"],
            Self::PiBenchQuestion => &["items", "response"],
            Self::PiBenchRubric => &["items", "intents", "conversation", "tools", "files"],
        }
    }
}

/// Why a folder of prompts cannot be used.
#[derive(Debug, Error)]
pub enum PromptError {
    #[error("read the prompts in {path}: {source}")]
    Read {
        path: Utf8PathBuf,
        source: io::Error,
    },
    #[error("use {path}: no prompt has this name; there are {known}")]
    Unknown { path: Utf8PathBuf, known: String },
    #[error("use {path}: it is larger than {FILE_LIMIT} bytes")]
    TooLarge { path: Utf8PathBuf },
    #[error("use the prompt {file}: {reason}")]
    Template { file: &'static str, reason: String },
    #[error(
        "use the prompt {file}: it never shows `{{{{ {variable} }}}}`, which the built-in prompts of version {VERSION} do"
    )]
    LeavesOut {
        file: &'static str,
        variable: &'static str,
    },
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) system: String,
    pub(crate) user: String,
    /// Shown after the user's text.
    pub(crate) pictures: Vec<Picture>,
}

impl Prompt {
    /// BLAKE3 of both texts and of the pictures, hex.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hash_part(&mut hasher, &self.system);
        hash_part(&mut hasher, &self.user);
        for Picture { head, image } in &self.pictures {
            hash_part(&mut hasher, head);
            hash_part(&mut hasher, &image.data);
        }
        hasher.finalize().to_hex().to_string()
    }
}

fn hash_part(hasher: &mut blake3::Hasher, part: &str) {
    // The length keeps ("a", "bc") and ("ab", "c") apart.
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part.as_bytes());
}

/// What a prompt may show. Every template gets every variable, empty where it is not meant for the prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    pub(crate) nonce: String,
    /// How to answer: `parse`'s own words.
    pub(crate) format: String,
    pub(crate) items: Vec<ListItem>,
    /// Of the user's hidden intents those that are met or told: what the user may say again to whoever asks.
    pub(crate) settled: Vec<ListItem>,
    /// All hidden intents of the session, for the judge of rubrics under `pi-bench`.
    pub(crate) intents: Vec<ListItem>,
    pub(crate) shown: Shown,
    /// The user's name.
    pub(crate) persona_name: String,
    /// For the user's own messages only.
    pub(crate) persona_profile: String,
    /// What the user tells whoever asks, by what it is.
    pub(crate) facts: BTreeMap<String, String>,
    /// Whether the message answers a question.
    pub(crate) asked: bool,
    /// Why the last reply could not be read; empty on the first attempt.
    pub(crate) error: String,
}

impl Fields {
    fn context(&self) -> Value {
        let item = |item: &ListItem| context! { number => item.number, text => item.text.as_str() };
        let items: Vec<Value> = self.items.iter().map(item).collect();
        let settled: Vec<Value> = self.settled.iter().map(item).collect();
        let intents: Vec<Value> = self.intents.iter().map(item).collect();
        let fact = |(kind, value): (&String, &String)| context! { kind => kind.as_str(), value => value.as_str() };
        let facts: Vec<Value> = self.facts.iter().map(fact).collect();
        let Shown {
            response,
            calls,
            changes,
            files,
            conversation,
            earlier,
            tools,
            pictures: _,
        } = &self.shown;
        context! {
            nonce => self.nonce.as_str(),
            format => self.format.as_str(),
            items => items,
            settled => settled,
            intents => intents,
            response => response.as_str(),
            calls => calls.as_str(),
            changes => changes.as_str(),
            files => files.as_str(),
            conversation => conversation.as_str(),
            earlier => earlier.as_str(),
            tools => tools.as_str(),
            persona => context! {
                name => self.persona_name.as_str(),
                profile => self.persona_profile.as_str(),
            },
            facts => facts,
            asked => self.asked,
            error => self.error.as_str(),
        }
    }

    /// Marks in every place, to see which of them a template shows.
    fn sample() -> Self {
        let shown = Shown {
            response: mark("response"),
            calls: mark("calls"),
            changes: mark("changes"),
            files: mark("files"),
            conversation: mark("conversation"),
            earlier: mark("earlier"),
            tools: mark("tools"),
            pictures: Vec::new(),
        };
        Self {
            nonce: mark("nonce"),
            format: mark("format"),
            items: ListItem::list([mark("items").as_str()].into_iter()),
            settled: ListItem::list([mark("settled").as_str()].into_iter()),
            intents: ListItem::list([mark("intents").as_str()].into_iter()),
            shown,
            persona_name: mark("persona.name"),
            persona_profile: mark("persona.profile"),
            facts: [("kind".to_owned(), mark("facts"))].into(),
            asked: true,
            error: mark("error"),
        }
    }
}

/// What a template may show, as [`Fields`] gives it.
const VARIABLES: [&str; 18] = [
    "nonce",
    "format",
    "items",
    "settled",
    "intents",
    "response",
    "calls",
    "changes",
    "files",
    "conversation",
    "earlier",
    "tools",
    "persona",
    "persona.name",
    "persona.profile",
    "facts",
    "asked",
    "error",
];

fn mark(variable: &str) -> String {
    format!("<the {variable} go here>")
}

/// All prompts, ready to be rendered.
#[derive(Debug, Clone)]
pub struct Prompts {
    environment: Environment<'static>,
    /// The agent's, where the folder has them.
    own: BTreeMap<&'static str, String>,
    digest: String,
    version: Option<u32>,
    /// Those that ask for answers in the released code's format.
    released: Vec<PromptName>,
}

impl Prompts {
    /// The built-in prompts, those in `folder` in their place. A file there has the name of the one that it replaces;
    /// any other name is an error. Every template is tried with all and with no evidence, so that a mistake shows now.
    pub fn load(folder: Option<&Utf8Path>) -> Result<Self, PromptError> {
        let mut texts: BTreeMap<&'static str, String> = PromptName::ALL
            .iter()
            .map(|name| name.built_in())
            .map(|(file, text)| (file, text.to_owned()))
            .collect();
        let mut own = BTreeMap::new();
        if let Some(folder) = folder {
            replace(&mut texts, &mut own, folder)?;
        }
        let prompts = Self {
            own,
            digest: digest(&texts),
            version: folder.is_none().then_some(VERSION),
            environment: compile(texts)?,
            released: Vec::new(),
        };
        let mut released = Vec::new();
        for name in PromptName::ALL {
            if !prompts.try_out(name)? {
                released.push(name);
            }
        }
        Ok(Self {
            released,
            ..prompts
        })
    }

    /// Names and texts of the built-in prompts.
    pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
        PromptName::ALL.into_iter().map(PromptName::built_in)
    }

    /// Whether a prompt asks for answers in the released code's format.
    pub(crate) fn asks_for_released(&self, name: PromptName) -> bool {
        self.released.contains(&name)
    }

    /// A prompt of the agent's that the folder has.
    pub fn own(&self, file: &str) -> Option<&str> {
        self.own.get(file).map(String::as_str)
    }

    /// BLAKE3 over the names and texts of all prompts of user agent and judge in use, hex: for the manifest.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The version of the built-in prompts; None where a folder replaces any.
    pub fn version(&self) -> Option<u32> {
        self.version
    }

    pub(crate) fn render(&self, name: PromptName, fields: &Fields) -> Result<Prompt, PromptError> {
        let failed = |error: minijinja::Error| PromptError::Template {
            file: name.file(),
            reason: reason(&error) + &self.undefined(name, &error),
        };
        let template = self.environment.get_template(name.file()).map_err(failed)?;
        let mut rendered = template.render_captured(fields.context()).map_err(failed)?;
        let mut block = |block: &str| {
            let text = rendered.with_state_mut(|state| state.render_block(block));
            text.map(|text| text.trim().to_owned()).map_err(failed)
        };
        Ok(Prompt {
            system: block("system")?,
            user: block("user")?,
            pictures: fields.shown.pictures.clone(),
        })
    }

    /// What to say of an undefined variable; nothing of another error.
    fn undefined(&self, name: PromptName, error: &minijinja::Error) -> String {
        let template = self.environment.get_template(name.file());
        match (error.kind(), template) {
            (ErrorKind::UndefinedError, Ok(template)) => name_undefined(&template, &VARIABLES),
            _ => String::new(),
        }
    }

    /// Whether it shows our format, as all must but those of the released code's rules.
    fn try_out(&self, name: PromptName) -> Result<bool, PromptError> {
        self.render(name, &Fields::default())?;
        let Prompt { system, user, .. } = self.render(name, &Fields::sample())?;
        let shown =
            |variable: &str| system.contains(&mark(variable)) || user.contains(&mark(variable));
        match name.must_show().iter().find(|variable| !shown(variable)) {
            None => Ok(shown("format")),
            Some(variable) => Err(PromptError::LeavesOut {
                file: name.file(),
                variable,
            }),
        }
    }
}

fn compile(texts: BTreeMap<&'static str, String>) -> Result<Environment<'static>, PromptError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line that holds a tag only leaves no blank line behind. Building it fails for odd delimiters only.
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.unwrap_or_default());
    for (file, text) in texts {
        environment
            .add_template_owned(file, text)
            .map_err(|error| PromptError::Template {
                file,
                reason: reason(&error),
            })?;
    }
    Ok(environment)
}

/// The line is what an author needs first; the source says what is wrong within an expression.
fn reason(error: &minijinja::Error) -> String {
    let line = error
        .line()
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    let detail = error
        .detail()
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    format!("{line}{}{detail}", error.kind())
}

fn digest(texts: &BTreeMap<&'static str, String>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (file, text) in texts {
        hash_part(&mut hasher, file);
        hash_part(&mut hasher, text);
    }
    hasher.finalize().to_hex().to_string()
}

fn replace(
    texts: &mut BTreeMap<&'static str, String>,
    own: &mut BTreeMap<&'static str, String>,
    folder: &Utf8Path,
) -> Result<(), PromptError> {
    let read = |path: &Utf8Path, source| PromptError::Read {
        path: path.to_owned(),
        source,
    };
    let entries = folder
        .read_dir_utf8()
        .map_err(|source| read(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| read(folder, source))?;
        let path = entry.path();
        let of_agent = OF_AGENT.into_iter().find(|file| *file == entry.file_name());
        let text = match of_agent {
            Some(file) => Some(own.entry(file).or_default()),
            None => texts.get_mut(entry.file_name()),
        };
        let Some(text) = text else {
            let known: Vec<&str> = texts.keys().copied().chain(OF_AGENT).collect();
            return Err(PromptError::Unknown {
                path: path.to_owned(),
                known: known.join(", "),
            });
        };
        let length = path.metadata().map_err(|source| read(path, source))?.len();
        if length > FILE_LIMIT {
            return Err(PromptError::TooLarge {
                path: path.to_owned(),
            });
        }
        *text = std::fs::read_to_string(path).map_err(|source| read(path, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "{% block system %}{{ format }}{{ error }}{{ persona.profile }}\
                        {% for fact in facts %}{{ fact.value }}{% endfor %}{% endblock %}\
                        {% block user %}{% for item in items %}{{ item.text }}{% endfor %}{% endblock %}";

    fn load(files: &[(&str, &str)]) -> Result<Prompts, PromptError> {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        Prompts::load(Some(folder))
    }

    fn check_error(files: &[(&str, &str)], expected: &str) {
        let message = load(files).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    /// Whoever changes a built-in prompt raises its version, and puts both here.
    #[test]
    fn the_built_in_prompts_are_those_of_their_version() {
        let prompts = Prompts::load(None).unwrap();
        assert_eq!(prompts.version(), Some(8));
        assert_eq!(
            prompts.digest(),
            "c68e5f13140d680baced31def7497302c47bc86e57da4a145f18a04fe88c2ff9"
        );
        assert_eq!(load(&[("answer.md", BOTH)]).unwrap().version(), None);
    }

    #[test]
    fn the_built_in_prompts_show_what_they_must() {
        let prompts = Prompts::load(None).unwrap();
        assert_eq!(prompts.digest().len(), 64);
        assert_eq!(prompts.digest(), Prompts::load(None).unwrap().digest());
    }

    #[test]
    fn only_the_users_own_messages_show_the_profile() {
        let prompts = Prompts::load(None).unwrap();
        for name in PromptName::ALL {
            let Prompt { system, user, .. } = prompts.render(name, &Fields::sample()).unwrap();
            let shows = format!("{system}{user}").contains(&mark("persona.profile"));
            assert_eq!(shows, name == PromptName::Answer, "{name:?}");
        }
    }

    #[test]
    fn a_file_replaces_the_prompt_of_its_name() {
        let prompts = load(&[("answer.md", BOTH)]).unwrap();
        assert_ne!(prompts.digest(), Prompts::load(None).unwrap().digest());
        let fields = Fields {
            format: "F".into(),
            items: ListItem::list(["one", "<two>"].into_iter()),
            ..Fields::default()
        };
        let prompt = prompts.render(PromptName::Answer, &fields).unwrap();
        assert_eq!(
            (prompt.system.as_str(), prompt.user.as_str()),
            ("F", "one<two>")
        );
    }

    #[test]
    fn mistakes_show_when_prompts_are_loaded() {
        check_error(
            &[("answers.md", BOTH)],
            "there are answer.md, pi-bench-question.md",
        );
        check_error(
            &[("answer.md", "{% block system %}")],
            "answer.md: line 1: syntax error",
        );
        check_error(
            &[("answer.md", &format!("{BOTH}\n{{{{ profil }}}}"))],
            "line 2: undefined value; there is no profil; there are nonce, format, items",
        );
        check_error(
            &[("answer.md", "{% block system %}{% endblock %}")],
            "block 'user' not found",
        );
        let in_branch = format!("{BOTH}\n{{% if asked %}}{{{{ nothing.here }}}}{{% endif %}}");
        check_error(
            &[("answer.md", &in_branch)],
            "line 2: undefined value; there is no nothing.here; there are",
        );
        check_error(
            &[("answer.md", &BOTH.replace("{{ error }}", ""))],
            "never shows `{{ error }}`",
        );
        check_error(&[("rubric.md", BOTH)], "never shows `{{ conversation }}`");
        // A folder of before the prompts showed this.
        let old = BOTH
            .replace("facts", "items")
            .replace("fact.value", "fact.text");
        check_error(
            &[("answer.md", &old)],
            "never shows `{{ facts }}`, which the built-in prompts of version 8 do",
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let message = Prompts::load(Some(Utf8Path::new("no/such/folder")))
            .unwrap_err()
            .to_string();
        assert!(message.contains("no/such/folder"), "{message}");
    }

    #[test]
    fn a_hash_tells_prompts_apart() {
        let hash = |system: &str, user: &str| {
            Prompt {
                system: system.into(),
                user: user.into(),
                pictures: Vec::new(),
            }
            .hash()
        };
        assert_ne!(hash("a", "bc"), hash("ab", "c"));
        assert_eq!(hash("a", "b"), hash("a", "b"));
    }
}
