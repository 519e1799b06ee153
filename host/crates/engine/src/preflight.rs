//! One small question to each model before the first session: can it be reached, does it take the key, the settings of its
//! role and the persona's tools, and does it answer? It is asked, recorded and replayed like any other; what is answered
//! counts in no score.

use std::time::{Duration, Instant};

use futures::future::join_all;

use super::error::EpisodeError;
use super::plan::{AgentRole, Plan};
use pibench_agent::Toolbox;
use pibench_core::message::{ChatRequest, Message, Role, ToolSpec, Usage};
use pibench_model::ModelError;
use pibench_model::client::Client;
use pibench_model::cut::Count;
use pibench_model::place::Place;

/// What is asked.
const QUESTION: &str =
    "This is a check of the connection. Answer with the single word OK and call no tool.";

/// Where it is asked, in the place of a persona: there is no run 0.
const PLACE: &str = "preflight";

/// One model's answer.
#[derive(Debug)]
pub struct Probe {
    pub role: Role,
    pub model: String,
    /// Of the agent: whose tools were sent with it, and how many.
    pub tools: Option<(Vec<String>, usize)>,
    pub took: Duration,
    pub usage: Usage,
    pub answer: Result<Answered, ModelError>,
}

/// How it went, when it went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    Yes,
    /// And its server counted fewer tokens than the question has at the least.
    Doubtful {
        counted: u64,
        least: u64,
    },
    /// Nobody was asked: the recording that is replayed has no such question.
    NotRecorded,
}

/// The tools of some personas, who all have the same.
pub(super) struct ToolList {
    pub(super) personas: Vec<String>,
    pub(super) toolbox: Toolbox,
}

/// Asks all of a plan's models, each in every role that it has, at the same time. Scripted ones are not asked.
pub async fn preflight(plan: &Plan) -> Result<Vec<Probe>, EpisodeError> {
    let roles = &plan.roles;
    let mut probes = Vec::new();
    if let AgentRole::Client(client) = &roles.agent {
        for list in tool_lists(plan).await? {
            probes.push(probe(client, Some(list)));
        }
    }
    let others = roles.user.client().into_iter().chain(roles.judge.clients());
    probes.extend(others.map(|client| probe(client, None)));
    Ok(join_all(probes).await)
}

/// Asks models that need no tools, each in its role, at the same time.
pub async fn probe_all(clients: &[Client]) -> Vec<Probe> {
    join_all(clients.iter().map(|client| probe(client, None))).await
}

/// The different lists of tools of the personas that are played.
pub(super) async fn tool_lists(plan: &Plan) -> Result<Vec<ToolList>, EpisodeError> {
    let mut lists: Vec<ToolList> = Vec::new();
    for persona in plan.personas() {
        if plan.sessions(persona).next().is_none() {
            continue;
        }
        let toolbox = plan.toolbox(persona).await?;
        let same = |list: &&mut ToolList| list.toolbox.specs() == toolbox.specs();
        match lists.iter_mut().find(same) {
            Some(list) => list.personas.push(persona.id.clone()),
            None => lists.push(ToolList {
                personas: vec![persona.id.clone()],
                toolbox,
            }),
        }
    }
    Ok(lists)
}

async fn probe(client: &Client, list: Option<ToolList>) -> Probe {
    let place = Place::new(PLACE, 0);
    if let Some(list) = &list {
        place.begin(&list.personas.join(" "), 0);
    }
    let began = Instant::now();
    let tools = list.as_ref().map_or(&[][..], |list| list.toolbox.specs());
    let asked = ask(&client.at(&place).briefly(), tools).await;
    let (usage, answer) = match asked {
        Ok((answered, usage)) => (usage, Ok(answered)),
        Err(error) => (error.usage(), Err(error)),
    };
    Probe {
        role: client.role(),
        model: client.spec().to_owned(),
        tools: list.map(|list| (list.personas, list.toolbox.specs().len())),
        took: began.elapsed(),
        usage,
        answer,
    }
}

async fn ask(client: &Client, tools: &[ToolSpec]) -> Result<(Answered, Usage), ModelError> {
    let messages = [Message::User {
        text: QUESTION.into(),
    }];
    let is_agent = client.role() == Role::Agent;
    let request = ChatRequest {
        messages: &messages,
        tools,
        may_call: true,
        // As in the sessions.
        temperature: (!is_agent).then_some(0.0),
        max_output: None,
    };
    if !client.can_answer(request) {
        return Ok((Answered::NotRecorded, Usage::default()));
    }
    let reply = client.chat(request).await?;
    // A model that thinks may be cut before its first word.
    if !is_agent && reply.text.trim().is_empty() && !reply.truncated {
        return Err(ModelError::Setup {
            server: client.spec().to_owned(),
            reason: "it answered the preflight without a word".into(),
            remedy:
                "choose a model that answers in text, or leave the question out by --no-preflight"
                    .into(),
        });
    }
    let answered = match Count::of(request, &reply.usage) {
        Count::Whole => Answered::Yes,
        Count::Low { counted, least } | Count::Cut { counted, least } => {
            Answered::Doubtful { counted, least }
        }
    };
    Ok((answered, reply.usage))
}

impl Probe {
    /// Who was asked, with which tools.
    pub fn who(&self) -> String {
        let role = match self.role {
            Role::Agent => "agent",
            Role::User => "user",
            Role::Judge => "judge",
        };
        let tools = self
            .tools
            .as_ref()
            .map(|(personas, count)| format!(" with {count} tools ({})", personas.join(", ")));
        format!("{role} {}{}", self.model, tools.unwrap_or_default())
    }

    /// How it went, in a few words.
    pub fn line(&self) -> String {
        let how = match self.answer {
            Ok(Answered::Yes | Answered::Doubtful { .. }) => "ok",
            Ok(Answered::NotRecorded) => "not recorded",
            Err(_) => "failed",
        };
        let doubt = match self.answer {
            Ok(Answered::Doubtful { counted, least }) => format!(
                " (its server counted {counted} tokens of a request that has {least} at the least: see that its context is long enough)"
            ),
            _ => String::new(),
        };
        let took = self.took.as_secs_f64();
        format!("{} {how}, {took:.1} s{doubt}", self.who())
    }
}
