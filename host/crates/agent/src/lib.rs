//! The built-in scaffold: a model in a loop with tools, over a workspace and apps. It knows nothing of hidden intents,
//! checklists or graders; what it is given is what an agent may know.

mod chat;
mod consolidation;
mod context;
pub mod environment;
mod files;
mod memory;
pub mod prompts;
pub mod schedule;
mod skills;
mod subagent;
pub mod tokens;
mod toolbox;
pub mod tools;
mod written;

use std::time::{Duration, Instant};

use chat::{Bounds, Chat};
pub use context::Channel;
pub use environment::Environment;
use environment::{Called, Effect, MOST_CALLS, OUT_OF_TIME, Request};
pub use files::RESULTS_FOLDER;
pub use prompts::{AgentPromptError, AgentPrompts, name_undefined};
pub use toolbox::{Toolbox, builtin};
use tools::spawn::Spawned;

use tracing::Instrument;
use tracing::field::Empty;

use pibench_core::message::{ChatRequest, Done, GO_ON, Reply, ToolCall, ToolSpec, Usage};
use pibench_core::record::{CallRecord, CallStatus};
use pibench_core::vocabulary::Protocol;
use pibench_model::{Model, ModelError, told};
use pibench_record::event::{Fault, FaultKind, Step, Turn};
use pibench_sandbox::count_waits;

/// How often the same call may be made in a row, in one turn: after any other call its answer may be a new one.
const SAME_CALL: usize = 3;

/// How often an answer that was cut off at the model's output limit is gone on with.
const CONTINUED: u32 = 3;

/// Bytes of results after which no further call of an answer is run.
const MOST_RESULTS: usize = 8 << 20;

/// Told to the model when it answered nothing, twice.
const FINAL_ANSWER: &str = "Your answer was empty. Give your final answer to the user now, in words and without calling \
a tool.";

/// What the record says of an answer that was not readable as it came.
const REPAIRED: &str = "an answer of the model held text that is no Unicode, or nested without end: U+FFFD stands for it";

/// Told to the model when it makes the same call again.
const SAME_ANSWER: &str =
    "the same call was made several times in a row; its answer will not change: go another way";

/// Told to the user when a turn has used up its iterations.
const OUT_OF_ITERATIONS: &str = "I have used up the steps of this turn; the work is not finished.";

/// Bounds of a turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnLimits {
    /// Answers of the model.
    pub iterations: u32,
    pub timeout: Duration,
}

/// How an agent is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub protocol: Protocol,
    /// Tokens that fit the model.
    pub window: usize,
    /// Where the first message comes from. The next ones are the user's.
    pub channel: Channel,
}

/// The agent in one session.
#[derive(Debug)]
pub struct Agent<'a> {
    model: &'a Model,
    setup: Setup,
    chat: Chat,
}

/// What one turn came to.
#[derive(Debug, Clone, Default)]
pub struct TurnDone {
    pub steps: Vec<Step>,
    /// All text to the user, in order.
    pub response: String,
    /// Answers that hold a call of a tool in their text.
    pub written_calls: u32,
    pub faults: Vec<Fault>,
    pub usage: Usage,
    pub end: TurnEnd,
    said: Vec<String>,
}

impl TurnDone {
    /// The turn's calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallRecord> {
        self.steps.iter().flat_map(Step::calls)
    }

    /// Whether this call was made so often already without another one since.
    fn repeats(&self, request: &Request<'_>) -> bool {
        let latest = self.steps.iter().rev().flat_map(|step| {
            let calls: Vec<&CallRecord> = step.calls().collect();
            calls.into_iter().rev()
        });
        let same = latest
            .take(SAME_CALL)
            .filter(|record| same(record, request));
        same.count() == SAME_CALL
    }

    /// The text to the user is complete.
    fn ended(mut self, end: TurnEnd) -> Self {
        let said = std::mem::take(&mut self.said).into_iter();
        let said: Vec<String> = said.filter(|text| !text.is_empty()).collect();
        self.response = said.join("\n\n");
        self.end = end;
        self
    }

    fn answered(mut self, text: String) -> Self {
        self.said.push(text);
        self.ended(TurnEnd::Answered)
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum TurnEnd {
    #[default]
    Answered,
    Timeout,
    Model(ModelError),
    /// A guest timed out twice: the machine is to blame.
    Infrastructure,
}

impl<'a> Agent<'a> {
    /// An agent at the start of a session, with the tools of `toolbox`.
    pub fn new(model: &'a Model, setup: Setup, toolbox: &Toolbox, system: String) -> Self {
        Self {
            model,
            setup,
            chat: Chat::new(setup.protocol, bounds(model, setup, toolbox), system),
        }
    }

    /// The system prompt for the workspace as it is now.
    pub fn system_prompt(environment: &Environment) -> Result<String, AgentPromptError> {
        let Environment {
            prompts,
            workspace,
            toolbox,
            ..
        } = environment;
        context::system_prompt(prompts, workspace, toolbox)
    }

    /// Puts a turn of the record into the chat, as if it had just been played.
    pub fn replay(&mut self, turn: &Turn) {
        self.chat.is_nearly_full();
        // What was consolidated was so before the message came.
        let consolidated = |step: &&Step| matches!(step, Step::Consolidated { .. });
        for step in turn.steps.iter().filter(consolidated) {
            self.chat.see(step);
        }
        self.hear(&turn.message, &turn.clock);
        for step in turn.steps.iter().filter(|step| !consolidated(step)) {
            // The chat was made to fit before each question, and each question left one of these.
            if matches!(step, Step::Reply { .. }) {
                self.chat.fit();
            }
            self.chat.see(step);
        }
    }

    /// Plays one turn: from the user's message to the answer.
    pub async fn turn(
        &mut self,
        environment: &mut Environment,
        number: u32,
        message: &str,
        limits: TurnLimits,
    ) -> TurnDone {
        let mut done = TurnDone::default();
        if let Err(error) = self.consolidate(environment, &mut done).await {
            return done.ended(TurnEnd::Model(error));
        }
        if done.faults.iter().any(is_of_the_machine) {
            return done.ended(TurnEnd::Infrastructure);
        }
        self.hear(message, &environment.clock.to_string());
        // What earlier turns are turned into is none of this one's time, as it is not at a session's end.
        let mut deadline = Instant::now() + limits.timeout;
        self.work(environment, number, limits.iterations, &mut deadline, done)
            .await
    }

    /// Asks the model and runs its calls, until it answers. The deadline moves by what is waited for.
    async fn work(
        &mut self,
        environment: &mut Environment,
        number: u32,
        iterations: u32,
        deadline: &mut Instant,
        mut done: TurnDone,
    ) -> TurnDone {
        // What was written of an answer that is being gone on with.
        let mut begun = String::new();
        let (mut continued, mut empty) = (0, 0);
        for _ in 0..iterations {
            let tools = environment.toolbox.specs();
            let spent = &mut done.usage;
            let reply = match self.ask(tools, empty < 2, *deadline, spent).await {
                Ok((reply, waited)) => {
                    // What the model did not work is none of the turn's time.
                    *deadline += waited;
                    reply
                }
                Err(end) => return done.ended(end),
            };
            done.usage += reply.usage;
            let Reply {
                text,
                calls,
                truncated,
                repaired,
                done: elsewhere,
                ..
            } = reply.clone();
            if repaired {
                done.faults.push(Fault {
                    kind: FaultKind::Model,
                    source: "agent".into(),
                    cause: "unreadable".into(),
                    message: REPAIRED.into(),
                });
            }
            self.add(&mut done, step_of(reply));
            if !calls.is_empty() {
                let beside = std::mem::take(&mut begun) + &text;
                let asked = Asked::of(&beside, &calls, &elsewhere);
                let going = self
                    .run_calls(environment, number, &asked, deadline, &mut done)
                    .await;
                match going {
                    Going::On => continue,
                    Going::Ended(end) => return done.ended(end),
                }
            }
            done.written_calls += u32::from(written::holds_call(&text, tools));
            begun.push_str(&text);
            if truncated && continued < CONTINUED {
                continued += 1;
                self.add(&mut done, nudge(GO_ON));
            } else if !begun.trim().is_empty() || empty == 2 {
                return done.answered(begun);
            } else {
                empty += 1;
                if empty == 2 {
                    self.add(&mut done, nudge(FINAL_ANSWER));
                }
            }
        }
        done.said.push(OUT_OF_ITERATIONS.to_owned());
        let notice = Step::Notice {
            text: OUT_OF_ITERATIONS.into(),
        };
        self.add(&mut done, notice);
        done.ended(TurnEnd::Answered)
    }

    /// One answer within the time that is left, and how long was waited beside it. `spent` grows by what was spent without one.
    async fn ask(
        &mut self,
        tools: &[ToolSpec],
        may_call: bool,
        deadline: Instant,
        spent: &mut Usage,
    ) -> Result<(Reply, Duration), TurnEnd> {
        self.chat.fit();
        let request = ChatRequest {
            messages: self.chat.messages(),
            tools,
            may_call,
            temperature: None,
            max_output: None,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match self.model.chat_within(request, left).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(usage)) => {
                *spent += usage;
                Err(TurnEnd::Timeout)
            }
            Err(error) => {
                *spent += error.usage();
                Err(TurnEnd::Model(error))
            }
        }
    }

    /// Runs the calls of one answer in order, those to the web side by side before. A question to the user ends the
    /// turn: what the model wanted after it is answered with a note, so that no call is left without a result, and what it
    /// wrote `beside` the calls is read by the user with the question. Beside other calls it is talking to itself. Pictures
    /// are shown, and subagents run, when all calls are done. What is above the limits of one answer, or comes when the
    /// turn's time is used up, is answered with a line that says so.
    async fn run_calls(
        &mut self,
        environment: &mut Environment,
        turn: u32,
        asked: &Asked<'_>,
        deadline: &mut Instant,
        done: &mut TurnDone,
    ) -> Going {
        let Asked {
            beside,
            calls,
            done: elsewhere,
        } = *asked;
        let requests: Vec<Request<'_>> = calls.iter().map(Request::of).collect();
        let mut fetched = environment.fetch_ahead(&requests, *deadline).await;
        let mut answer = Answer::new(done);
        for (place, request) in requests.into_iter().enumerate() {
            let id = request.call.id.clone();
            let span = tracing::info_span!("call", tool = %request.call.name, %id, error = Empty);
            let called =
                if let Some(Done { ok, text, .. }) = elsewhere.iter().find(|done| done.id == id) {
                    environment.record_elsewhere(turn, request, *ok, text)
                } else if let Some(why) = answer.objection(place, &request, *deadline, done) {
                    environment.refuse(turn, request, &why)
                } else if let Some(ran) = fetched.remove(&place) {
                    span.in_scope(|| environment.record_call(turn, request, ran))
                } else {
                    let call = environment.call(turn, request, *deadline);
                    // Boxed: it is by far the largest part of a turn's future.
                    let call = Box::pin(call.instrument(span.clone()));
                    let (called, waited) = count_waits(call).await;
                    *deadline += waited;
                    called
                };
            let record = answer.take(called, beside, done);
            match record.status {
                CallStatus::Ok => {}
                CallStatus::ToolError => drop(span.record("error", "tool_error")),
                CallStatus::Failed => drop(span.record("error", "failed")),
            }
            span.in_scope(|| told::call(&record.arguments, &record.result));
            drop(span);
            let file = if self.chat.is_bounded() {
                environment.keep_long(&record).unwrap_or_else(|fault| {
                    answer.ended = Some(TurnEnd::Infrastructure);
                    done.faults.push(fault);
                    None
                })
            } else {
                None
            };
            self.add(done, Step::Call { id, record, file });
        }
        let Answer {
            ended,
            spawned,
            pictures,
            ..
        } = answer;
        for picture in pictures {
            self.add(done, picture);
        }
        if !matches!(ended, Some(TurnEnd::Infrastructure | TurnEnd::Timeout)) {
            for task in spawned {
                let result = self.delegate(environment, turn, task, deadline, done).await;
                if let Err(end) = result {
                    return Going::Ended(end);
                }
            }
        }
        ended.map_or(Going::On, Going::Ended)
    }

    /// The session is over. Where another one `follows`, what it needs is saved (see `memory`).
    pub async fn finish(
        &mut self,
        environment: &mut Environment,
        follows: bool,
    ) -> Result<memory::Remembered, ModelError> {
        self.model.end_session().await;
        if !follows {
            return Ok(memory::Remembered::default());
        }
        self.chat.fit();
        let over = memory::Occasion::SessionOver;
        memory::remember(self.model, self.chat.messages(), over, environment).await
    }

    fn add(&mut self, done: &mut TurnDone, step: Step) {
        self.chat.see(&step);
        done.steps.push(step);
    }

    fn hear(&mut self, text: &str, clock: &str) {
        let channel = std::mem::replace(&mut self.setup.channel, Channel::Chat);
        self.chat.hear(text, clock, channel);
    }
}

/// A script has no window: what it saved of a result must stay. An agent from outside keeps a chat of its own.
fn bounds(model: &Model, setup: Setup, toolbox: &Toolbox) -> Option<Bounds> {
    model.has_window().then(|| Bounds {
        window: setup.window,
        tools: toolbox.tokens(),
        thoughts: model.wants_thoughts(),
    })
}

/// What one answer asks for.
struct Asked<'a> {
    /// What was written beside the calls.
    beside: &'a str,
    calls: &'a [ToolCall],
    /// Those that were carried out elsewhere.
    done: &'a [Done],
}

impl<'a> Asked<'a> {
    fn of(beside: &'a str, calls: &'a [ToolCall], done: &'a [Done]) -> Self {
        Self {
            beside,
            calls,
            done,
        }
    }
}

/// The calls of one answer, up to the one that is run now.
struct Answer {
    /// Why no further one is run.
    ended: Option<TurnEnd>,
    spawned: Vec<Spawned>,
    pictures: Vec<Step>,
    /// Texts to the user that went before it.
    said_before: usize,
    /// Bytes of the results.
    results: usize,
}

impl Answer {
    fn new(done: &TurnDone) -> Self {
        Self {
            ended: None,
            spawned: Vec::new(),
            pictures: Vec::new(),
            said_before: done.said.len(),
            results: 0,
        }
    }

    /// Why a call is not run; None where it is.
    fn objection(
        &mut self,
        place: usize,
        request: &Request<'_>,
        deadline: Instant,
        done: &TurnDone,
    ) -> Option<String> {
        if self.ended.is_none() && Instant::now() >= deadline {
            self.ended = Some(TurnEnd::Timeout);
        }
        match self.ended {
            Some(TurnEnd::Timeout) => Some(OUT_OF_TIME.to_owned()),
            Some(_) => Some("not run: the turn ended before it".into()),
            None if place >= MOST_CALLS => {
                Some(format!("not run: of one answer {MOST_CALLS} calls are run"))
            }
            None if self.results > MOST_RESULTS => Some(format!(
                "not run: the results of this answer's calls have {} bytes already",
                self.results
            )),
            None => done.repeats(request).then(|| SAME_ANSWER.into()),
        }
    }

    /// Takes what a call did beside its result; its record.
    fn take(&mut self, called: Called, beside: &str, done: &mut TurnDone) -> CallRecord {
        let Called {
            record,
            effect,
            fault,
        } = called;
        self.results += record.result.len();
        match effect {
            Some(Effect::Said(text)) => done.said.push(text),
            Some(Effect::Asked(text)) => {
                done.said.push(text);
                done.said.insert(self.said_before, beside.trim().to_owned());
                self.ended = Some(TurnEnd::Answered);
            }
            Some(Effect::Spawned(spawned)) => self.spawned.push(spawned),
            Some(Effect::Picture(step)) => self.pictures.push(step),
            None => {}
        }
        if fault.as_ref().is_some_and(is_of_the_machine) {
            self.ended = Some(TurnEnd::Infrastructure);
        }
        done.faults.extend(fault);
        record
    }
}

fn is_of_the_machine(fault: &Fault) -> bool {
    fault.kind == FaultKind::Infrastructure
}

/// Whether a turn goes on after some calls.
enum Going {
    On,
    Ended(TurnEnd),
}

fn same(record: &CallRecord, request: &Request<'_>) -> bool {
    record.tool == request.call.name && record.arguments == request.arguments
}

fn nudge(text: &str) -> Step {
    Step::Nudge { text: text.into() }
}

fn step_of(reply: Reply) -> Step {
    let Reply {
        text,
        reasoning,
        calls,
        usage: _,
        truncated: _,
        repaired: _,
        done: _,
    } = reply;
    Step::Reply {
        text,
        reasoning,
        calls,
    }
}
