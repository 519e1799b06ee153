//! The memory step: at a session's end the model turns it into an entry of the history and an updated memory, so that
//! later sessions can recall it (the paper's Fig. 5 measures what that is worth).
//!
//! It is one more question of the session, whose every request has the same tools, `save_memory` among them: providers'
//! caches take what begins alike, first the tools, then the chat, and the step is the longest request of all. The choice
//! of the tool is left to the model: to force it would cost Anthropic's cache of the chat and is refused there with
//! thinking, and local servers differ in it. A call in the middle of a session is refused.

use super::chat::repaired;
use super::environment::Environment;
use super::files::{HISTORY, MEMORY, own_path, read};
use super::tools::Builtin;
use super::tools::save_memory::Saved;
use pibench_core::message::{ChatRequest, Message, Reply, ToolSpec, Usage};
use pibench_model::{Model, ModelError};
use pibench_record::event::{Fault, FaultKind, Step};
use pibench_sandbox::workspace::WorkspaceError;

const REQUEST: &str = "Call save_memory once: history_entry sums up in one paragraph what was asked, done, decided and left \
open, with names, paths and dates; memory_update is the whole new text of your long-term memory: what you knew before and \
still holds, and what this session taught you of the user's lasting preferences, conventions and facts.";

/// Why the model is asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion {
    SessionOver,
    /// Its first turns no longer fit.
    ChatFull,
}

impl Occasion {
    fn words(self) -> &'static str {
        match self {
            Self::SessionOver => "The session is over.",
            Self::ChatFull => {
                "The session goes on, but what stands above has become too long to be shown to you again."
            }
        }
    }
}

const AGAIN: &str = "Nothing was saved. Call save_memory now, with a history_entry.";

/// Characters of the raw extract that is kept when the model saves nothing.
const EXTRACT: usize = 4000;

/// What the memory step came to.
#[derive(Debug, Default)]
pub struct Remembered {
    pub steps: Vec<Step>,
    /// The entry of the history.
    pub entry: String,
    pub usage: Usage,
    pub fault: Option<Fault>,
}

/// Asks twice; a session is never lost without a word: then a raw extract is kept, and the fault recorded. An error is
/// infrastructure or setup; nothing was saved, and the step can be made again.
pub(super) async fn remember(
    model: &Model,
    chat: &[Message],
    occasion: Occasion,
    environment: &mut Environment,
) -> Result<Remembered, ModelError> {
    let mut done = Remembered::default();
    let memory = match read(&environment.workspace, MEMORY) {
        Ok(memory) => memory,
        Err(error) => {
            done.fault = Some(unsaved(&error));
            return Ok(done);
        }
    };
    let tools = environment.toolbox.specs();
    let saved = match ask(model, chat, tools, occasion.words(), &memory, &mut done).await {
        Ok(Some(saved)) => saved,
        Ok(None) => give_up(chat, "it saved no memory, asked twice", &mut done),
        Err(error @ ModelError::Refused { .. }) => {
            done.usage += error.usage();
            give_up(chat, &error.to_string(), &mut done)
        }
        Err(error) => return Err(error),
    };
    if let Err(error) = save(&saved, environment) {
        done.fault = Some(unsaved(&error));
    }
    done.entry = saved.history_entry;
    Ok(done)
}

async fn ask(
    model: &Model,
    chat: &[Message],
    tools: &[ToolSpec],
    occasion: &str,
    memory: &str,
    done: &mut Remembered,
) -> Result<Option<Saved>, ModelError> {
    let mut messages = repaired(chat);
    messages.push(Message::User {
        text: format!("{occasion} {REQUEST}\n\nYour memory now:\n{memory}"),
    });
    for _ in 0..2 {
        let reply = model
            .remember(ChatRequest {
                messages: &messages,
                tools,
                may_call: true,
                temperature: None,
                max_output: None,
            })
            .await?;
        let saved = reply
            .calls
            .iter()
            .find(|call| call.name == Builtin::SaveMemory.name());
        let saved = saved.and_then(|call| serde_json::from_str(&call.arguments).ok());
        let Reply {
            text,
            reasoning,
            calls,
            usage,
            truncated: _,
            repaired: _,
            done: _,
        } = reply;
        done.usage += usage;
        if !text.is_empty() || !calls.is_empty() {
            messages.push(Message::Assistant {
                text: text.clone(),
                reasoning: reasoning.clone(),
                calls: calls.clone(),
            });
        }
        done.steps.push(Step::Reply {
            text,
            reasoning,
            calls,
        });
        if saved.is_some() {
            return Ok(saved);
        }
        messages.push(Message::User { text: AGAIN.into() });
        messages = repaired(&messages);
    }
    Ok(None)
}

fn give_up(chat: &[Message], reason: &str, done: &mut Remembered) -> Saved {
    done.fault = Some(fault(reason));
    let lines = chat.iter().filter_map(|message| match message {
        Message::User { text } => Some(format!("User: {text}")),
        Message::Assistant { text, .. } if !text.is_empty() => Some(format!("Assistant: {text}")),
        _ => None,
    });
    let raw: String = lines
        .collect::<Vec<_>>()
        .join("\n")
        .chars()
        .take(EXTRACT)
        .collect();
    Saved {
        history_entry: format!("[raw extract] {raw}"),
        memory_update: String::new(),
    }
}

fn fault(message: &str) -> Fault {
    Fault {
        kind: FaultKind::Model,
        source: Builtin::SaveMemory.name().into(),
        cause: "memory".into(),
        message: message.into(),
    }
}

/// What the machine keeps from being read or written is none of the model's faults.
fn unsaved(error: &WorkspaceError) -> Fault {
    let fault = fault(&format!("the memory could not be kept: failed to {error}"));
    match error.of_the_machine() {
        Some(_) => Fault {
            kind: FaultKind::Infrastructure,
            ..fault
        },
        None => fault,
    }
}

fn save(saved: &Saved, environment: &mut Environment) -> Result<(), WorkspaceError> {
    let Saved {
        history_entry,
        memory_update,
    } = saved;
    let history = read(&environment.workspace, HISTORY)?;
    let blank = if history.is_empty() { "" } else { "\n\n" };
    let text = format!(
        "{history}{blank}[{}] {}\n",
        environment.clock,
        history_entry.trim()
    );
    environment
        .workspace
        .stage(&own_path(HISTORY), text.as_bytes())?;
    if memory_update.trim().is_empty() {
        return Ok(());
    }
    environment.workspace.stage(
        &own_path(MEMORY),
        format!("{}\n", memory_update.trim()).as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::path::WorkspacePath;
    use pibench_sandbox::workspace::Limit;

    #[test]
    fn memory_that_a_full_disk_loses_is_the_machines_fault_and_that_of_a_full_quota_the_models() {
        let path = WorkspacePath::ROOT;
        let full = WorkspaceError::Io {
            path: path.clone(),
            // ENOSPC
            source: std::io::Error::from_raw_os_error(28),
        };
        assert_eq!(unsaved(&full).kind, FaultKind::Infrastructure);
        let quota = WorkspaceError::Quota {
            path,
            limit: Limit::Bytes,
            allowed: 1,
            actual: 2,
        };
        assert_eq!(unsaved(&quota).kind, FaultKind::Model);
    }
}
