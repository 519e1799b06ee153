//! An agent of the operator's own in the place of a model: a child process that speaks the Agent Client Protocol. It is told
//! each message of the user as a prompt, and reaches the apps by an MCP server of this program's (`desk`). What it asks its
//! client for, files and commands, is done by the same tools as a model's calls (`request`); what it says that it did by
//! itself becomes calls of the record (`deeds`). A process plays one session: the next one is a new conversation. How it ends
//! is typed: what the operator must mend is setup, what the agent did wrong is its own, and time that is used up is a timeout.

mod deeds;
mod desk;
mod ready;
mod request;
mod running;

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

pub use pibench_acp::Hidden;
pub(super) use ready::employ;
pub use ready::{Prepared, ReadyError, prepare, settings};
pub use running::{BRIDGE, BRIDGE_TOKEN, BRIDGE_URL};

use desk::Desk;
use running::{Ended, Running};

use crate::serve;
use pibench_core::message::Usage;
use pibench_door::Door;
use pibench_model::ModelError;
use pibench_model::external::{External, Outside, Over, Said, Signal, Told};
use pibench_sandbox::workspace::View;

/// How long a prompt may take to end after it was cancelled.
const CANCELLED: Duration = Duration::from_secs(2);

/// Before what was said in a session that another process of the agent's played.
const GONE_ON: &str = "This conversation was interrupted. What was said and done in it so far:";

/// What the record says of that.
const REPLAYED: &str =
    "[A new process of the agent's goes on here: it was told the conversation so far as text.]";

/// Serves an agent's tools and steers its processes, as long as somebody polls it.
async fn play(
    prepared: Prepared,
    outside: Outside,
    view: View,
    door: Door,
    token: String,
) -> Infallible {
    let desk = Desk::new(outside, prepared.tools);
    let url = format!("http://{}/mcp", door.address());
    let steer = Steer {
        prepared,
        desk: desk.clone(),
        view,
        url,
        token: token.clone(),
        running: None,
    };
    // The server starts tasks of its own, which may outlive the episode and its log.
    let served = serve::http(desk, door, token).with_subscriber(NoSubscriber::default());
    tokio::select! {
        () = served => {}
        () = steer.steer() => {}
    }
    std::future::pending().await
}

/// Starts an agent and lets it open a session, to see that it can: nothing is played.
pub async fn greet(prepared: &Prepared) -> Result<(), ModelError> {
    let broken = |reason: String| ModelError::Infrastructure {
        server: "the agent".into(),
        reason,
    };
    let door = Door::open(0)
        .await
        .map_err(|error| broken(error.to_string()))?;
    let token = ready::token().map_err(broken)?;
    let external = External::default();
    let outside = external
        .outside()
        .ok_or_else(|| broken("its other half is taken".into()))?;
    let url = format!("http://{}/mcp", door.address());
    let served = serve::http(Desk::new(outside, prepared.tools), door, token.clone());
    tokio::select! {
        () = served => Ok(()),
        started = Running::start(prepared, &url, &token) => {
            started?.end().await;
            Ok(())
        }
    }
}

/// One episode's agent: at most one process at a time.
struct Steer {
    prepared: Prepared,
    desk: Desk,
    view: View,
    /// Where its tools are served, and to whom.
    url: String,
    token: String,
    running: Option<Running>,
}

impl Steer {
    /// Does what it is told until the run is over.
    async fn steer(mut self) {
        let mut asked = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                signal = self.desk.outside().next() => match signal {
                    Ok(signal) => {
                        asked.clear();
                        self.take(signal).await;
                    }
                    Err(Over) => return,
                },
                Some(done) = asked.next() => {
                    if let (Some(done), Some(running)) = (done, &mut self.running) {
                        running.answer_request(done);
                    }
                }
                happened = next(&mut self.running) => asked.extend(self.happened(happened).await),
            }
        }
    }

    async fn take(&mut self, signal: Signal) {
        match signal {
            Signal::Told(told) => {
                if let Err(error) = self.tell(told).await {
                    self.fail(error);
                }
            }
            Signal::OutOfTime => self.cancel().await,
            Signal::Over => {
                self.desk.close();
                if let Some(running) = self.running.take() {
                    running.end().await;
                }
            }
        }
    }

    /// Tells a message: to the process that plays the session, or to a new one.
    async fn tell(&mut self, told: Told) -> Result<(), ModelError> {
        let Told {
            number: _,
            message,
            instructions,
            past,
            tools,
        } = told;
        // A turn that was ended for it, such as by its number of calls.
        self.cancel().await;
        self.desk.offer(tools);
        let mut texts = Vec::new();
        let begins = instructions.is_some() || past.is_some();
        if begins {
            if let Some(running) = self.running.take() {
                running.end().await;
            }
            self.running = Some(Running::start(&self.prepared, &self.url, &self.token).await?);
        }
        self.desk.open();
        texts.extend(instructions);
        if let Some(past) = past {
            texts.push(past.instructions);
            texts.push(format!("{GONE_ON}\n\n{}", past.conversation));
            self.desk.think(REPLAYED);
        }
        texts.push(message);
        match &mut self.running {
            Some(running) => running
                .prompt(texts)
                .map_err(|reason| self.prepared.fault(reason)),
            None => Err(self.prepared.fault("its process has ended".into())),
        }
    }

    /// Takes a prompt back, and gives it a moment to end.
    async fn cancel(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        if !running.is_prompted() {
            return;
        }
        self.desk.close();
        let ended = tokio::time::timeout(CANCELLED, running.cancel()).await;
        if !matches!(ended, Ok(true)) {
            tracing::warn!(
                "the agent did not stop when its turn was cancelled: its process is ended"
            );
            self.running = None;
        }
    }

    /// Takes what a process did; the work that it makes.
    async fn happened(
        &mut self,
        happened: Result<running::Happened, String>,
    ) -> Vec<request::Work> {
        let Some(running) = self.running.as_mut() else {
            return Vec::new();
        };
        match happened {
            Ok(running::Happened::Nothing) => {}
            Ok(running::Happened::Update(update)) => running.deeds.update(*update, &self.desk),
            Ok(running::Happened::Asked { id, method, params }) => {
                let (desk, view) = (&self.desk, &self.view);
                return request::see_to(id, &method, params, running, desk, view, &self.prepared);
            }
            Ok(running::Happened::Ended(Ended::Answered { note, usage })) => {
                running.deeds.close(&self.desk);
                self.desk.close();
                if let Some(note) = note {
                    self.desk.think(&note);
                }
                let said = self.desk.last_said();
                let _ = self.desk.outside().answer(Said { usage, ..said });
            }
            Ok(running::Happened::Ended(Ended::Failed(error))) => {
                running.deeds.close(&self.desk);
                self.fail(self.prepared.error(error));
            }
            Err(reason) => {
                let was_prompted = running.is_prompted();
                running.deeds.close(&self.desk);
                let reason = running.epitaph(reason).await;
                self.running = None;
                if was_prompted {
                    self.fail(self.prepared.fault(reason));
                } else {
                    tracing::warn!(%reason, "the agent's process ended between two turns");
                }
            }
        }
        Vec::new()
    }

    fn fail(&self, error: ModelError) {
        self.desk.close();
        let _ = self.desk.outside().fail(error);
    }
}

/// What the process does next; never, where there is none.
async fn next(running: &mut Option<Running>) -> Result<running::Happened, String> {
    match running {
        Some(running) => running.next().await,
        None => std::future::pending().await,
    }
}

/// A turn whose cost nobody told.
fn unknown() -> Usage {
    Usage {
        calls: 1,
        unpriced_calls: 1,
        ..Usage::default()
    }
}
