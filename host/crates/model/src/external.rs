//! An agent of somebody else's in the place of a model. The loop asks as it would ask a model; here the question becomes
//! what the other agent is told, and what that agent does next becomes the reply. So its calls run through the same
//! tools, limits and records as those of a model. How the other agent is reached is not known here.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::ModelError;
use pibench_core::message::{
    ChatRequest, Done, Message, Reasoning, Reply, ToolCall, ToolSpec, Usage,
};

/// The tool of the memory step, with which a session ends.
const SAVE_MEMORY: &str = "save_memory";

/// What a call is answered with when its session ended before it had a result.
const OVER: &str = "The session is over.";

/// What stands in the history: the other agent's memory is its own matter.
const PLAYED: &str = "Played by an external agent.";

/// What an agent is told that ended its turn without a word.
const EMPTY: &str = "Your answer was empty. Answer the user in words.";

/// The loop's half: one model for sessions that are played one after the other.
#[derive(Debug, Clone)]
pub struct External(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What the agent is told.
    told: mpsc::UnboundedSender<Signal>,
    /// What it does.
    done: Mutex<mpsc::UnboundedReceiver<(u64, Act)>>,
    /// The call before: what it came to is known with the next question.
    last: Mutex<Last>,
    /// The message that is being worked on: what is done for an earlier one comes too late.
    message: AtomicU64,
    /// Whether the agent was told of this session before.
    heard: AtomicBool,
    /// The other half, until somebody serves it.
    outside: Lock<Option<Outside>>,
}

#[derive(Debug, Default)]
enum Last {
    #[default]
    None,
    /// It waits for its result.
    Waiting(Waiting),
    /// The agent carried it out itself.
    Done(String),
    /// None, but an answer without a word, to so many messages.
    Blank(usize),
}

#[derive(Debug)]
struct Waiting {
    id: String,
    result: oneshot::Sender<Called>,
}

/// What the agent has to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    Told(Told),
    /// The time of the turn is used up: what it does for it is no longer wanted.
    OutOfTime,
    /// The session is over.
    Over,
}

/// A message for the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// 1, 2, 3, ...
    pub number: u64,
    pub message: String,
    /// The system prompt of the built-in scaffold, with the first message of a session.
    pub instructions: Option<String>,
    /// What was said and done in this session before, where the program was started anew in the middle of it.
    pub past: Option<Past>,
    /// The tools from here on.
    pub tools: Vec<ToolSpec>,
}

/// The first part of a session, for an agent that has not seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub instructions: String,
    /// As one text.
    pub conversation: String,
}

#[derive(Debug)]
enum Act {
    Call {
        name: String,
        arguments: String,
        said: Said,
        result: oneshot::Sender<Called>,
    },
    /// A call that the agent carried out itself.
    Did {
        name: String,
        arguments: String,
        ok: bool,
        text: String,
        said: Said,
    },
    /// The agent has its session and the message: its time begins.
    Ready,
    Answer(Said),
    Failed(ModelError),
}

/// What was said up to an act, and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    pub text: String,
    /// What it thought, and what it planned.
    pub thoughts: String,
    pub usage: Usage,
}

impl Said {
    /// The text of one call of an agent whose models and their costs are not known.
    pub fn by_unknown(text: String) -> Self {
        Self {
            text,
            thoughts: String::new(),
            usage: Usage::untold(),
        }
    }
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
    told: Mutex<mpsc::UnboundedReceiver<Signal>>,
    act: mpsc::UnboundedSender<(u64, Act)>,
    /// The message that was told last.
    message: AtomicU64,
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
            message: AtomicU64::new(0),
        };
        Self(Arc::new(Inner {
            told,
            done: Mutex::new(done),
            last: Mutex::default(),
            message: AtomicU64::new(0),
            heard: AtomicBool::new(false),
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

    /// Tells the agent what is new, and waits until it is ready for it: how long that took. Its time begins then.
    pub(super) async fn tell(&self, request: ChatRequest<'_>) -> Result<Duration, ModelError> {
        let began = Instant::now();
        if !self.hand_over(request).await {
            return Ok(Duration::ZERO);
        }
        match self.next_act().await {
            Some(Act::Ready) => Ok(began.elapsed()),
            Some(Act::Failed(error)) => Err(error),
            // It does nothing for a message before it is ready for it.
            Some(_) | None => Err(let_go()),
        }
    }

    /// Waits for what the agent does about what it was told.
    pub(super) async fn chat(&self, request: ChatRequest<'_>) -> Result<Reply, ModelError> {
        // Names of calls only have to differ within a chat.
        let id = format!("call_{}", request.messages.len());
        match self.next_act().await {
            Some(Act::Answer(said)) => {
                if said.text.trim().is_empty() {
                    *self.0.last.lock().await = Last::Blank(request.messages.len());
                }
                Ok(reply(said, Vec::new(), Vec::new()))
            }
            Some(Act::Failed(error)) => Err(error),
            Some(Act::Call {
                name,
                arguments,
                said,
                result,
            }) => {
                let waiting = Waiting {
                    id: id.clone(),
                    result,
                };
                *self.0.last.lock().await = Last::Waiting(waiting);
                let call = ToolCall {
                    id,
                    name,
                    arguments,
                };
                Ok(reply(said, vec![call], Vec::new()))
            }
            Some(Act::Did {
                name,
                arguments,
                ok,
                text,
                said,
            }) => {
                *self.0.last.lock().await = Last::Done(id.clone());
                let done = Done {
                    id: id.clone(),
                    ok,
                    text,
                };
                let call = ToolCall {
                    id,
                    name,
                    arguments,
                };
                Ok(reply(said, vec![call], vec![done]))
            }
            Some(Act::Ready) | None => Err(let_go()),
        }
    }

    /// What the agent does for the message that is open. What it does for an earlier one is dropped, and who waits for its
    /// result is told that there is none.
    async fn next_act(&self) -> Option<Act> {
        let mut acts = self.0.done.lock().await;
        let open = self.0.message.load(Ordering::Relaxed);
        loop {
            let (message, act) = acts.recv().await?;
            if message == open {
                return Some(act);
            }
            if let Act::Call { result, .. } = act {
                let _ = result.send(over());
            }
        }
    }

    /// The time of the turn is used up.
    pub(super) fn out_of_time(&self) {
        let _ = self.0.told.send(Signal::OutOfTime);
    }

    /// No call of the session's gets a result any more.
    pub(super) async fn end_session(&self) {
        self.0.heard.store(false, Ordering::Relaxed);
        if let Last::Waiting(Waiting { result, .. }) =
            std::mem::take(&mut *self.0.last.lock().await)
        {
            let _ = result.send(over());
        }
        let _ = self.0.told.send(Signal::Over);
    }

    /// The result of the call that waits, and the message that came; whether one came.
    async fn hand_over(&self, request: ChatRequest<'_>) -> bool {
        let ChatRequest {
            messages, tools, ..
        } = request;
        let last = std::mem::take(&mut *self.0.last.lock().await);
        let new = match (messages.last(), &last) {
            // It is asked the same again, whose last message may be what a tool said.
            (_, Last::Blank(asked)) if *asked == messages.len() => Some(EMPTY),
            (
                Some(Message::Tool { call_id, .. }),
                Last::Waiting(Waiting { id, .. }) | Last::Done(id),
            ) if call_id == id => None,
            // The answer to a question that was asked before the program was started anew.
            (Some(Message::User { text } | Message::Tool { text, .. }), _) => Some(text.as_str()),
            (Some(Message::Assistant { calls, .. }), _) if calls.is_empty() => Some(EMPTY),
            _ => None,
        };
        if let Last::Waiting(Waiting { id, result }) = last {
            let called = Called {
                text: result_of(messages, &id).unwrap_or_else(|| OVER.to_owned()),
                ended: new.is_some(),
            };
            // An agent that no longer waits has gone; what it does next says so.
            let _ = result.send(called);
        }
        let Some(new) = new else { return false };
        let system = match messages.first() {
            Some(Message::System { text }) => Some(text.clone()),
            _ => None,
        };
        let heard = self.0.heard.swap(true, Ordering::Relaxed);
        let first = messages.len() == 2;
        let past = || Past {
            instructions: system.clone().unwrap_or_default(),
            conversation: conversation(messages),
        };
        let number = self.0.message.fetch_add(1, Ordering::Relaxed) + 1;
        let _ = self.0.told.send(Signal::Told(Told {
            number,
            message: new.to_owned(),
            past: (!first && !heard).then(past),
            instructions: system.filter(|_| first),
            tools: tools.to_vec(),
        }));
        true
    }
}

fn reply(said: Said, calls: Vec<ToolCall>, done: Vec<Done>) -> Reply {
    let Said {
        text,
        thoughts,
        usage,
    } = said;
    Reply {
        text,
        reasoning: Reasoning::new(thoughts, Vec::new()),
        calls,
        usage,
        done,
        ..Reply::default()
    }
}

fn let_go() -> ModelError {
    ModelError::Infrastructure {
        server: "the external agent".into(),
        reason: "it was let go of".into(),
    }
}

fn over() -> Called {
    Called {
        text: OVER.to_owned(),
        ended: true,
    }
}

fn result_of(messages: &[Message], id: &str) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        Message::Tool { call_id, text } if call_id == id => Some(text.clone()),
        _ => None,
    })
}

/// All but the system prompt and the last message, as one text.
fn conversation(messages: &[Message]) -> String {
    let mut text = String::new();
    let all = messages.len().saturating_sub(1);
    for message in &messages[..all] {
        // Writing to a string cannot fail.
        let _ = match message {
            Message::System { .. } => Ok(()),
            Message::User { text: said } => writeln!(text, "[user]\n{said}\n"),
            Message::Assistant {
                text: said, calls, ..
            } => {
                let calls = calls
                    .iter()
                    .map(|call| format!("[called {}] {}\n", call.name, call.arguments));
                let calls: String = calls.collect();
                writeln!(text, "[assistant]\n{said}\n{calls}")
            }
            Message::Tool { text: said, .. } => writeln!(text, "[result]\n{said}\n"),
            Message::Picture { text: said, .. } => writeln!(text, "[picture] {said}\n"),
        };
    }
    text
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
        usage: Usage::untold(),
        ..Reply::default()
    }
}

impl Outside {
    /// What comes next; waits for it.
    pub async fn next(&self) -> Result<Signal, Over> {
        let signal = self.told.lock().await.recv().await.ok_or(Over)?;
        if let Signal::Told(Told { number, .. }) = &signal {
            self.message.store(*number, Ordering::Relaxed);
        }
        Ok(signal)
    }

    /// The next message; waits for it.
    pub async fn next_message(&self) -> Result<Told, Over> {
        loop {
            if let Signal::Told(told) = self.next().await? {
                return Ok(told);
            }
        }
    }

    fn act(&self, act: Act) -> Result<(), Over> {
        let message = self.message.load(Ordering::Relaxed);
        self.act.send((message, act)).map_err(|_| Over)
    }

    /// Makes a tool call; its result. Calls wait for each other.
    pub async fn call(&self, name: &str, arguments: String, said: Said) -> Result<Called, Over> {
        let (result, receiver) = oneshot::channel();
        self.act(Act::Call {
            name: name.to_owned(),
            arguments,
            said,
            result,
        })?;
        receiver.await.map_err(|_| Over)
    }

    /// Tells of a call that the agent carried out itself, with the JSON text of its arguments and what it came to.
    pub fn did(
        &self,
        name: &str,
        arguments: String,
        ok: bool,
        text: String,
        said: Said,
    ) -> Result<(), Over> {
        let name = name.to_owned();
        self.act(Act::Did {
            name,
            arguments,
            ok,
            text,
            said,
        })
    }

    /// The agent is ready for the message: its time begins. To be said before all else that it does for it.
    pub fn ready(&self) -> Result<(), Over> {
        self.act(Act::Ready)
    }

    /// Ends the turn with this answer.
    pub fn answer(&self, said: Said) -> Result<(), Over> {
        self.act(Act::Answer(said))
    }

    /// Ends the turn because the agent cannot go on.
    pub fn fail(&self, error: ModelError) -> Result<(), Over> {
        self.act(Act::Failed(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    /// What comes of a message within this time, where the agent takes longer to be ready for it and then does this.
    async fn asked(
        external: External,
        does: impl FnOnce(&Outside),
    ) -> Result<Result<(Reply, Duration), Usage>, ModelError> {
        let outside = external.outside().unwrap();
        let model = Model::External(external);
        let text = "Request one.".to_owned();
        let request = ChatRequest {
            messages: &[Message::User { text }],
            tools: &[],
            may_call: true,
            temperature: None,
            max_output: None,
        };
        let agent = async {
            outside.next_message().await.unwrap();
            tokio::time::sleep(LIMIT * 4).await;
            does(&outside);
            // Its half is there until it was heard.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            reply = model.chat_within(request, LIMIT) => reply,
            () = agent => unreachable!(),
        }
    }

    const LIMIT: Duration = Duration::from_millis(100);

    #[tokio::test]
    async fn an_agent_that_is_being_opened_takes_none_of_its_turns_time() {
        let ready = |outside: &Outside| {
            outside.ready().unwrap();
            outside.answer(Said::by_unknown("Done.".into())).unwrap();
        };
        let (reply, waited) = asked(External::default(), ready).await.unwrap().unwrap();
        assert_eq!(reply.text, "Done.");
        assert!(waited >= LIMIT * 4, "{waited:?}");
        // One that cannot be opened is told of, and has not used up its time.
        let setup = ModelError::Setup {
            server: "the agent".into(),
            reason: "it does not greet".into(),
            remedy: "mend it".into(),
        };
        let told = setup.clone();
        let fails = |outside: &Outside| outside.fail(told).unwrap();
        let failed = asked(External::default(), fails).await;
        assert_eq!(failed.unwrap_err(), setup);
        // Its time begins when it is ready.
        let late = asked(External::default(), |outside| outside.ready().unwrap()).await;
        assert!(late.unwrap().is_err());
    }
}
