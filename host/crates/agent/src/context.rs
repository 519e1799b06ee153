//! What the model reads: the system prompt, the runtime block of a user message, the text of a tool's result.

use std::fmt;

use jiff::civil::DateTime;
use minijinja::{Value, context};

use super::files::{MEMORY, read};
use super::prompts::{AgentPromptError, AgentPrompts, Shown};
use super::skills::{self, Skill};
use super::toolbox::Toolbox;
use pibench_core::record::{CallRecord, CallStatus};
use pibench_core::vocabulary::Protocol;
use pibench_sandbox::workspace::Workspace;

/// Characters of one file in the system prompt. The agent writes some of them, and a prompt that outgrows the window
/// would end every later session.
const FILE_CHARACTERS: usize = 20_000;

/// Files of the workspace that are part of the system prompt when they are there.
const BOOTSTRAP: [&str; 4] = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md"];

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The user.
    Chat,
    /// A signal from outside.
    Environment,
    /// The agent woke by itself.
    Heartbeat,
    /// A job of the agent's own is due.
    Cron,
    /// The agent that spawned this one.
    Subagent,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chat => "chat",
            Self::Environment => "environment",
            Self::Heartbeat => "heartbeat",
            Self::Cron => "cron",
            Self::Subagent => "subagent",
        })
    }
}

/// In this order: who the agent is and how it works, the workspace's bootstrap files, what it remembers, the skills that
/// are always there, and a line for each other skill.
pub(super) fn system_prompt(
    prompts: &AgentPrompts,
    workspace: &Workspace,
    toolbox: &Toolbox,
) -> Result<String, AgentPromptError> {
    let mut files = Vec::new();
    for path in BOOTSTRAP {
        let text = shown(read(workspace, path)?, path);
        if !text.is_empty() {
            files.push(context! { path, text });
        }
    }
    let memory = shown(read(workspace, MEMORY)?, MEMORY);
    let (always, others): (Vec<_>, Vec<_>) = skills::found(workspace, toolbox)?
        .into_iter()
        .partition(|skill| skill.always && skill.lacks.is_empty());
    let [always, others] = [always, others].map(told);
    let shown = Shown {
        files,
        memory,
        always,
        others,
    };
    Ok(prompts.render(&shown)?)
}

/// Skills as the template sees them.
fn told(skills: Vec<Skill>) -> Vec<Value> {
    let one = |skill: Skill| {
        let Skill {
            name,
            description,
            path,
            body,
            lacks,
            always: _,
        } = skill;
        context! { name, description, path, body, lacks }
    };
    skills.into_iter().map(one).collect()
}

/// What the agent is told when a subagent is done.
pub(super) fn subagent_result(label: &str, result: &str) -> String {
    format!("[subagent `{label}` is done]\n{result}")
}

/// A file as the system prompt shows it.
fn shown(text: String, path: &str) -> String {
    if text.len() <= FILE_CHARACTERS {
        return text;
    }
    let kept: String = text.chars().take(FILE_CHARACTERS).collect();
    format!("{kept}\n[cut here: read the rest of {path} with read_file]")
}

/// A message with its runtime block: the session's date and time with the weekday, and where the message comes from.
pub(super) fn user_message(text: &str, clock: &str, channel: Channel) -> String {
    let weekday = clock
        .parse::<DateTime>()
        .map(|now| now.strftime(" (%A)").to_string())
        .unwrap_or_default();
    format!("{text}\n\n[now: {clock}{weekday}; channel: {channel}]")
}

/// What the model is told of a call. The released code wraps an app's answers and hides their status.
pub(super) fn tool_result(record: &CallRecord, protocol: Protocol) -> String {
    let CallRecord {
        tool,
        status,
        code,
        result,
        ..
    } = record;
    // What the schema refused never came to the app.
    let answered = *status != CallStatus::ToolError || *code != 0;
    if protocol == Protocol::PiBench && tool.contains("__") && answered {
        let response = match status {
            CallStatus::Ok => result.clone(),
            CallStatus::ToolError | CallStatus::Failed => {
                serde_json::json!({ "message": result }).to_string()
            }
        };
        return format!("{{\"response\": {response}}}");
    }
    match (status, code) {
        (CallStatus::Ok, _) => result.clone(),
        (CallStatus::ToolError, 0) => {
            format!("Error: {result}\nChange the call or try another way.")
        }
        (CallStatus::ToolError, code) => {
            format!("Error {code}: {result}\nChange the call or try another way.")
        }
        (CallStatus::Failed, _) => format!("Error: the tool broke: {result}\nTry another way."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::own_path;
    use pibench_core::vocabulary::{Scaffold, ScaffoldPrompt};
    use pibench_sandbox::workspace::Quota;
    use serde_json::json;

    fn record(tool: &str, status: CallStatus, code: u16, result: &str) -> CallRecord {
        CallRecord {
            exact: None,
            number: 1,
            turn: 1,
            tool: tool.into(),
            arguments: json!({}),
            status,
            code,
            result: result.into(),
        }
    }

    #[test]
    fn the_runtime_block_knows_the_weekday() {
        assert_eq!(
            user_message("Hi", "2026-03-02T09:00:00", Channel::Chat),
            "Hi\n\n[now: 2026-03-02T09:00:00 (Monday); channel: chat]"
        );
    }

    #[test]
    fn the_released_codes_results_are_wrapped_and_know_no_status() {
        let refused = record("gmail__login", CallStatus::ToolError, 401, "wrong password");
        assert_eq!(
            tool_result(&refused, Protocol::PiBench),
            r#"{"response": {"message":"wrong password"}}"#
        );
        assert!(tool_result(&refused, Protocol::Paper).starts_with("Error 401: wrong password"));
        let file = record("read_file", CallStatus::Ok, 0, "text");
        assert_eq!(tool_result(&file, Protocol::PiBench), "text");
    }

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(dir.path()).unwrap();
        let workspace = Workspace::open(path, Quota::default()).unwrap();
        (dir, workspace)
    }

    fn prompt(wording: ScaffoldPrompt, workspace: &Workspace) -> String {
        let prompts = AgentPrompts::new(wording, None, None).unwrap();
        let toolbox = Toolbox::new(Scaffold::default(), []).unwrap();
        system_prompt(&prompts, workspace, &toolbox).unwrap()
    }

    #[test]
    fn the_system_prompt_has_everything_in_its_order() {
        check_order(ScaffoldPrompt::Neutral);
        check_order(ScaffoldPrompt::Coached);
    }

    fn check_order(wording: ScaffoldPrompt) {
        let (_dir, mut workspace) = workspace();
        let bare = prompt(wording, &workspace);
        let skill = |always: bool, text: &str| {
            format!(
                "---\nname: s\ndescription: Says {text}.\nalways: {always}\n---\nThe body {text}."
            )
        };
        let expected = [
            ("AGENTS.md", "Be brief.".to_owned(), "Be brief."),
            ("SOUL.md", "Kind.".into(), "Kind."),
            ("USER.md", "Prefers tea.".into(), "Prefers tea."),
            ("TOOLS.md", "Use grep.".into(), "Use grep."),
            (
                MEMORY,
                "The hearing is on Friday.".into(),
                "The hearing is on Friday.",
            ),
            ("skills/a/SKILL.md", skill(true, "one"), "The body one."),
            ("skills/b/SKILL.md", skill(false, "two"), "Says two."),
        ];
        for (path, content, _) in &expected {
            workspace
                .write(&own_path(path), content.as_bytes())
                .unwrap();
        }
        let full = prompt(wording, &workspace);
        let places: Vec<Option<usize>> =
            expected.iter().map(|(.., text)| full.find(text)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{places:?}\n{full}"
        );
        assert!(
            expected.iter().all(|(.., text)| !bare.contains(text)),
            "{bare}"
        );
        assert!(
            !full.contains("The body two."),
            "only its summary stands there"
        );
    }

    #[test]
    fn a_memory_that_grew_too_long_is_cut_in_the_prompt() {
        let (_dir, mut workspace) = workspace();
        workspace
            .write(&own_path(MEMORY), "x".repeat(100_000).as_bytes())
            .unwrap();
        let prompt = prompt(ScaffoldPrompt::Neutral, &workspace);
        assert!(
            prompt.len() < 30_000 && prompt.contains("[cut here"),
            "{}",
            prompt.len()
        );
    }
}
