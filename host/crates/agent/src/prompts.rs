//! The prompts of the built-in scaffold: the agent's system prompt, in one of two wordings or the operator's own, and
//! that of its subagents. What they show is put together in `context`.

use minijinja::{Environment, ErrorKind, Template, UndefinedBehavior, Value, context};

use pibench_core::vocabulary::ScaffoldPrompt;
use pibench_sandbox::workspace::WorkspaceError;

const NEUTRAL: &str = include_str!("../prompts/system.md");
const COACHED: &str = include_str!("../prompts/system-coached.md");
const SUBAGENT: &str = include_str!("../prompts/subagent.md");

/// The wording of a system prompt of the operator's own, in records.
const OWN: &str = "own";

/// Why there is no system prompt.
#[derive(Debug, thiserror::Error)]
pub enum AgentPromptError {
    #[error("use the prompt system.md: {0}")]
    Template(#[from] minijinja::Error),
    #[error("use the prompt system.md: {source}{there}")]
    Undefined {
        source: minijinja::Error,
        there: String,
    },
    #[error("use the prompt system.md: it never shows `{{{{ {0} }}}}`")]
    LeavesOut(&'static str),
    /// What it shows cannot be read.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// What a system prompt may show.
const VARIABLES: [&str; 4] = ["files", "memory", "always", "others"];

/// Which variables of a template are not there, and which are: behind the error of an undefined one.
pub fn name_undefined(template: &Template<'_, '_>, there: &[&str]) -> String {
    let mut others: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    others.retain(|name| !there.contains(&name.as_str()));
    others.sort();
    let there = there.join(", ");
    if others.is_empty() {
        // What a loop's variable has is not told by the template.
        format!("; there are {there}")
    } else {
        format!("; there is no {}; there are {there}", others.join(", "))
    }
}

/// The scaffold's prompts, ready to be shown.
#[derive(Debug)]
pub struct AgentPrompts {
    /// `neutral`, `coached`, or `own`.
    pub wording: &'static str,
    templates: Environment<'static>,
    system: String,
    subagent: String,
}

/// What a system prompt shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Each with `path` and `text`.
    pub(super) files: Vec<Value>,
    pub(super) memory: String,
    /// Skills, each with `name`, `description`, `path`, `body` and `lacks`: those that are there in full, and the others.
    pub(super) always: Vec<Value>,
    pub(super) others: Vec<Value>,
}

impl AgentPrompts {
    /// The files of a folder of prompts that are the agent's.
    pub const SYSTEM: &'static str = "system.md";
    pub const SUBAGENT: &'static str = "subagent.md";

    /// The built-in ones, as such a folder has them.
    pub const BUILT_IN: [(&'static str, &'static str); 2] =
        [(Self::SYSTEM, NEUTRAL), (Self::SUBAGENT, SUBAGENT)];

    /// The wording that is asked for, unless there is a system prompt of the operator's own. A mistake in that shows now.
    pub fn new(
        wording: ScaffoldPrompt,
        own_system: Option<&str>,
        own_subagent: Option<&str>,
    ) -> Result<Self, AgentPromptError> {
        let (wording, system) = match (own_system, wording) {
            (Some(own), _) => (OWN, own),
            (None, ScaffoldPrompt::Neutral) => ("neutral", NEUTRAL),
            (None, ScaffoldPrompt::Coached) => ("coached", COACHED),
        };
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates.add_template_owned(Self::SYSTEM, system.to_owned())?;
        let prompts = Self {
            wording,
            templates,
            system: system.to_owned(),
            subagent: own_subagent.unwrap_or(SUBAGENT).trim().to_owned(),
        };
        match prompts.try_out() {
            Err(AgentPromptError::Template(source))
                if source.kind() == ErrorKind::UndefinedError =>
            {
                let template = prompts.templates.get_template(Self::SYSTEM)?;
                let there = name_undefined(&template, &VARIABLES);
                Err(AgentPromptError::Undefined { source, there })
            }
            tried => tried.map(|()| prompts),
        }
    }

    /// With nothing to show, and with a mark in every place.
    fn try_out(&self) -> Result<(), AgentPromptError> {
        self.render(&Shown::default())?;
        let mark = |name: &str| format!("<the {name} go here>");
        let skill = |body: &str, description: &str| {
            context! { name => "n", path => "p", lacks => "", body, description }
        };
        let shown = self.render(&Shown {
            files: vec![context! { path => "p", text => mark("file.text") }],
            memory: mark("memory"),
            always: vec![skill(&mark("skill.body"), "")],
            others: vec![skill("", &mark("skill.description"))],
        })?;
        let needed = ["file.text", "memory", "skill.body", "skill.description"];
        let left_out = |name: &&&str| !shown.contains(&mark(name));
        match needed.iter().find(left_out) {
            None => Ok(()),
            Some(name) => Err(AgentPromptError::LeavesOut(name)),
        }
    }

    /// The system prompt that shows this.
    pub(super) fn render(&self, shown: &Shown) -> Result<String, minijinja::Error> {
        let Shown {
            files,
            memory,
            always,
            others,
        } = shown;
        let template = self.templates.get_template(Self::SYSTEM)?;
        template.render(context! { files, memory, always, others })
    }

    /// The system prompt before it is filled in.
    pub fn template(&self) -> &str {
        &self.system
    }

    /// The system prompt of a subagent.
    pub(super) fn subagent(&self) -> &str {
        &self.subagent
    }

    /// BLAKE3 of both texts, hex: for the manifest.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for text in [&self.system, &self.subagent] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in(wording: ScaffoldPrompt) -> AgentPrompts {
        AgentPrompts::new(wording, None, None).unwrap()
    }

    /// Whoever changes a built-in prompt raises the version in `user/prompts`, and puts its digest here.
    #[test]
    fn the_built_in_prompts_are_those_of_their_version() {
        let digests = [ScaffoldPrompt::Neutral, ScaffoldPrompt::Coached].map(built_in);
        assert_eq!(
            digests.map(|prompts| prompts.digest()),
            [
                "6b0f2ff84d0e083889e2b1677ba6b57c00c02cc373096b807a3f2d0420654bc8",
                "0306bca72f99d0e9c714a606d7866456d40c2a98fa64c8e1a7c0adf16c2cf8b8"
            ]
        );
    }

    #[test]
    fn an_undefined_variable_is_named_with_those_that_there_are() {
        for (own, said) in [
            (
                "{{ unknown }}",
                "undefined value (in system.md:1); there is no unknown; there are files, memory, always, others",
            ),
            (
                "{% for file in files %}{{ file.name }}{% endfor %}",
                "undefined value (in system.md:1); there are files, memory, always, others",
            ),
        ] {
            let error = AgentPrompts::new(ScaffoldPrompt::Neutral, Some(own), None).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("use the prompt system.md: {said}")
            );
        }
        AgentPrompts::new(ScaffoldPrompt::Neutral, Some(NEUTRAL), None).unwrap();
    }

    #[test]
    fn the_neutral_prompt_says_nothing_of_what_is_measured() {
        let advice = [
            "question",
            "would also",
            "rarely",
            "unsaid",
            "ask ",
            "look before",
        ];
        let holds = |wording, word: &str| {
            let text = built_in(wording).template().to_lowercase();
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(word)
        };
        for word in advice {
            assert!(!holds(ScaffoldPrompt::Neutral, word), "{word}");
        }
        assert!(
            advice
                .iter()
                .any(|word| holds(ScaffoldPrompt::Coached, word))
        );
    }
}
