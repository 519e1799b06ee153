//! An agent of somebody else's in the place of a model. The loop asks as it would ask a model; here the question becomes
//! what the other agent is told, and what that agent does next becomes the reply. So its calls run through the same
//! tools, limits and records as those of a model. How the other agent is reached is not known here.

use std::sync::{Arc, Mutex as Lock, PoisonError};

use serde_json::json;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::ModelError;
use pibench_core::message::{ChatRequest, Message, Reply, ToolCall, ToolSpec, Usage};

/// The tool of the memory step, with which a session ends.
const SAVE_MEMORY: &str = "save_memory";

/// What a call is answered with when its session ended before it had a result.
const OVER: &str = "The session is over.";

/// What stands in the history: the other agent's memory is its own matter.
const PLAYED: &str = "Played by an external agent.";

/// The loop's half: one model for all sessions of a run, which are played one after the other.
#[derive(Debug, Clone)]
pub struct External(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What the agent is told.
    told: mpsc::UnboundedSender<Told>,
    /// What it does.
    done: Mutex<mpsc::UnboundedReceiver<Act>>,
    /// A call that waits for its result.
    waiting: Mutex<Option<Waiting>>,
    /// The other half, until somebody serves it.
    outside: Lock<Option<Outside>>,
}

#[derive(Debug)]
struct Waiting {
    id: String,
    result: oneshot::Sender<Called>,
}

/// A message for the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub message: String,
    /// The system prompt of the built-in scaffold, with the first message of a session.
    pub instructions: Option<String>,
    /// The tools from here on.
    pub tools: Vec<ToolSpec>,
}

#[derive(Debug)]
enum Act {
    Call {
        name: String,
        arguments: String,
        result: oneshot::Sender<Called>,
    },
    Answer(String),
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub text: String,
    /// The turn ended with it: another message comes, or nothing more.
    pub ended: bool,
}

/// The other half, for whoever serves the agent.
#[derive(Debug)]
pub struct Outside {
    told: Mutex<mpsc::UnboundedReceiver<Told>>,
    act: mpsc::UnboundedSender<Act>,
}

/// The run is over, or was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("go on: every session is played")]
pub struct Over;

impl Default for External {
    fn default() -> Self {
        let (told, told_receiver) = mpsc::unbounded_channel();
        let (act, done) = mpsc::unbounded_channel();
        let outside = Outside {
            told: Mutex::new(told_receiver),
            act,
        };
        Self(Arc::new(Inner {
            told,
            done: Mutex::new(done),
            waiting: Mutex::new(None),
            outside: Lock::new(Some(outside)),
        }))
    }
}

impl External {
    /// The other half; None when it was taken before.
    pub fn outside(&self) -> Option<Outside> {
        let mut outside = self
            .0
            .outside
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        outside.take()
    }

    /// Tells the agent what is new and waits for what it does.
    pub(super) async fn chat(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        self.hand_over(request).await;
        match self.0.done.lock().await.recv().await {
            Some(Act::Answer(text)) => Ok(Reply {
                text,
                usage: one_call(),
                ..Reply::default()
            }),
            Some(Act::Call {
                name,
                arguments,
                result,
            }) => {
                // Names of calls only have to differ within a chat.
                let id = format!("call_{}", request.messages.len());
                let waiting = Waiting {
                    id: id.clone(),
                    result,
                };
                *self.0.waiting.lock().await = Some(waiting);
                Ok(Reply {
                    calls: vec![ToolCall {
                        id,
                        name,
                        arguments,
                    }],
                    usage: one_call(),
                    ..Reply::default()
                })
            }
            None => Err(ModelError::Infrastructure {
                server: "the external agent".into(),
                reason: "it was let go of".into(),
            }),
        }
    }

    /// No call of the session's gets a result any more.
    pub(super) async fn end_session(&self) {
        if let Some(Waiting { result, .. }) = self.0.waiting.lock().await.take() {
            let called = Called {
                text: OVER.to_owned(),
                ended: true,
            };
            let _ = result.send(called);
        }
    }

    /// The result of the call that waits, and the message that came.
    async fn hand_over(&self, request: ChatRequest<'_>) {
        let ChatRequest {
            messages, tools, ..
        } = request;
        let waiting = self.0.waiting.lock().await.take();
        let new = match (messages.last(), &waiting) {
            (Some(Message::Tool { call_id, .. }), Some(Waiting { id, .. })) if call_id == id => {
                None
            }
            // The answer to a question that was asked before the program was started anew.
            (Some(Message::User { text } | Message::Tool { text, .. }), _) => Some(text),
            _ => None,
        };
        if let Some(Waiting { id, result }) = waiting {
            let called = Called {
                text: result_of(messages, &id).unwrap_or_else(|| OVER.to_owned()),
                ended: new.is_some(),
            };
            // An agent that no longer waits has gone; what it does next says so.
            let _ = result.send(called);
        }
        let Some(new) = new else { return };
        let first = messages.len() == 2;
        let instructions = match messages.first() {
            Some(Message::System { text }) if first => Some(text.clone()),
            _ => None,
        };
        let _ = self.0.told.send(Told {
            message: new.clone(),
            instructions,
            tools: tools.to_vec(),
        });
    }
}

fn result_of(messages: &[Message], id: &str) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        Message::Tool { call_id, text } if call_id == id => Some(text.clone()),
        _ => None,
    })
}

/// The answer to the memory step.
pub(super) fn remembered() -> Reply {
    let arguments = json!({ "history_entry": PLAYED, "memory_update": "" });
    Reply {
        calls: vec![ToolCall {
            id: "call_memory".into(),
            name: SAVE_MEMORY.into(),
            arguments: arguments.to_string(),
        }],
        usage: one_call(),
        ..Reply::default()
    }
}

/// What the agent's own models cost is not known here.
fn one_call() -> Usage {
    Usage {
        calls: 1,
        unpriced_calls: 1,
        ..Usage::default()
    }
}

impl Outside {
    /// The next message; waits for it.
    pub async fn next(&self) -> Result<Told, Over> {
        self.told.lock().await.recv().await.ok_or(Over)
    }

    /// Makes a tool call; its result. Calls wait for each other.
    pub async fn call(&self, name: &str, arguments: String) -> Result<Called, Over> {
        let (result, receiver) = oneshot::channel();
        let name = name.to_owned();
        let act = Act::Call {
            name,
            arguments,
            result,
        };
        self.act.send(act).map_err(|_| Over)?;
        receiver.await.map_err(|_| Over)
    }

    /// Ends the turn with this answer.
    pub fn answer(&self, text: String) -> Result<(), Over> {
        self.act.send(Act::Answer(text)).map_err(|_| Over)
    }
}
