//! An agent of the operator's own in the place of a model: a child process that speaks the Agent Client Protocol. It is told
//! each message of the user as a prompt, and reaches the apps by an MCP server of this program's (`desk`). What it asks its
//! client for, files and commands, is done by the same tools as a model's calls (`request`); what it says that it did by
//! itself becomes calls of the record (`deeds`). A process plays one session, or all of its episode's
//! where it says that it can load sessions: each is a new conversation. How it ends is typed: what the operator must mend is setup, what the agent did wrong is its own, and time that is used up is a timeout.

mod deeds;
mod desk;
mod ready;
mod request;
mod running;
mod terminal;

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::MissedTickBehavior;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

pub use pibench_acp::Hidden;
pub use ready::{Prepared, ReadyError, hide, prepare, settings};
pub(super) use ready::{employ, forget};
pub use running::{BRIDGE, BRIDGE_TOKEN, BRIDGE_URL};

use desk::Desk;
use running::{Ended, Running};

use crate::serve;
use pibench_acp::Launch;
use pibench_door::Door;
use pibench_model::ModelError;
use pibench_model::external::{External, Outside, Over, Said, Signal, Told};
use pibench_record::RunFolder;
use pibench_record::folder::Product;
use pibench_sandbox::workspace::{View, overfull};

/// How long a prompt may take to end after it was cancelled.
const CANCELLED: Duration = Duration::from_secs(2);

/// Before what was said in a session that another process of the agent's played.
const GONE_ON: &str = "This conversation was interrupted. What was said and done in it so far:";

/// What the record says of that.
const REPLAYED: &str =
    "[A new process of the agent's goes on here: it was told the conversation so far as text.]";

/// What it says of an agent that had its session loaded instead.
const LOADED: &str = "[A new process of the agent's goes on here: it loaded its session, with what it did in a turn that was cut \
                      off, if there was one.]";

/// How often it is looked how much an agent has written into the workspace.
const WATCH: Duration = Duration::from_millis(250);

/// Serves an agent's tools and steers its processes, until every session is played.
async fn play(
    prepared: Prepared,
    outside: Outside,
    view: View,
    door: Door,
    token: String,
    folder: &RunFolder,
) {
    let desk = Desk::new(outside, prepared.tools, prepared.launch.secrets.clone());
    let url = format!("http://{}/mcp", door.address());
    let steer = Steer {
        prepared,
        desk: desk.clone(),
        view,
        url,
        token: token.clone(),
        running: None,
        ended: None,
        folder,
    };
    // The server starts tasks of its own, which may outlive the episode and its log.
    let served = serve::http(desk, door, token).with_subscriber(NoSubscriber::default());
    tokio::select! {
        () = served => {}
        () = steer.steer() => {}
    }
}

/// Starts an agent and lets it open a session, to see that it can: nothing is played. The bytes of memory that it then holds.
pub async fn greet(prepared: &Prepared) -> Result<u64, ModelError> {
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
    let desk = Desk::new(outside, prepared.tools, prepared.launch.secrets.clone());
    let served = serve::http(desk, door, token.clone());
    tokio::select! {
        () = served => Err(broken("its server ended".into())),
        started = Running::start(prepared, (&url, &token), None) => {
            let running = started?.0;
            let memory = running.memory();
            running.end().await;
            Ok(memory)
        }
    }
}

/// One episode's agent: at most one process at a time.
struct Steer<'p> {
    prepared: Prepared,
    desk: Desk,
    view: View,
    /// Where its tools are served, and to whom.
    url: String,
    token: String,
    running: Option<Running>,
    /// Why the process was ended between two turns.
    ended: Option<String>,
    folder: &'p RunFolder,
}

impl Steer<'_> {
    /// Does what it is told until the run is over.
    async fn steer(mut self) {
        let mut asked = FuturesUnordered::new();
        let mut watch = tokio::time::interval(WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                _ = watch.tick(), if self.running.is_some() => self.watch(),
                Some(done) = asked.next() => {
                    if let (Some(done), Some(running)) = (done, &mut self.running) {
                        running.answer_request(done);
                    }
                }
                happened = next(&mut self.running) => asked.extend(self.take_up(happened).await),
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
                self.cancel().await;
                if let Some(running) = self.running.take_if(|running| !running.loads) {
                    running.end().await;
                }
            }
        }
    }

    /// Ends an agent that has filled its workspace or its home, between its turns too.
    fn watch(&mut self) {
        let Some(running) = &self.running else { return };
        let Some(reason) = self.overfull() else {
            return;
        };
        let is_prompted = running.is_prompted();
        self.running = None;
        if is_prompted {
            self.fail(self.prepared.fault(reason));
        } else {
            self.ended = Some(reason);
        }
    }

    fn overfull(&self) -> Option<String> {
        let quota = self.view.quota();
        let Launch {
            workspace, home, ..
        } = &self.prepared.launch;
        let folders = [("workspace", Some(workspace)), ("home", home.as_ref())];
        let filled = folders.into_iter().find_map(|(what, folder)| {
            let reason = overfull(folder?, quota)?;
            Some(format!("it has filled its {what}: {reason}"))
        });
        filled.or_else(|| self.running.as_ref()?.hoarded(quota.bytes))
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
        let first = past.as_ref().map(|past| &past.instructions);
        let loaded = match instructions.as_ref().or(first) {
            Some(first) => self.begin(first, past.is_some()).await?,
            None => false,
        };
        // What it took until here is none of the turn's time.
        let _ = self.desk.outside().ready();
        self.desk.open();
        texts.extend(instructions);
        match past {
            Some(_) if loaded => self.desk.think(LOADED),
            Some(past) => {
                texts.push(past.instructions);
                texts.push(format!("{GONE_ON}\n\n{}", past.conversation));
                self.desk.think(REPLAYED);
            }
            None => {}
        }
        texts.push(message);
        if let Some(running) = &mut self.running {
            let asked = running.prompt(texts);
            return asked.map_err(|reason| self.prepared.fault(reason));
        }
        let reason = self.ended.take();
        Err(self
            .prepared
            .fault(reason.unwrap_or_else(|| "its process has ended".into())))
    }

    /// Opens a session whose first text this is, with the process that there is or with a new one; or has it loaded, where it was
    /// begun before and can be. Whether it was loaded.
    async fn begin(&mut self, first: &str, goes_on: bool) -> Result<bool, ModelError> {
        let prepared = &self.prepared;
        let server = (self.url.as_str(), self.token.as_str());
        let of = blake3::hash(first.as_bytes()).to_hex().to_string();
        if let Some(mut running) = self.running.take() {
            if running.loads && running.open_another(prepared, server).await {
                prepared.note(running.session(), of)?;
                self.running = Some(running);
                return Ok(false);
            }
            running.end().await;
        }
        let kept = prepared.kept(&of).filter(|_| goes_on);
        if kept.is_none() {
            prepared.begin_anew()?;
        }
        let (running, loaded) = Running::start(prepared, server, kept.as_deref()).await?;
        if let Some(product) = &running.product {
            self.check_product(product)?;
        }
        prepared.note(running.session(), of)?;
        self.running = Some(running);
        Ok(loaded)
    }

    /// One product plays a run from its beginning to its end.
    fn check_product(&self, product: &Product) -> Result<(), ModelError> {
        let known = self.folder.name_product(product);
        let known = known.map_err(|error| self.prepared.setup(error.to_string()))?;
        known.map_or(Ok(()), |known| {
            Err(self.prepared.setup(format!(
                "the run was begun with {known}, and this is {product}: install that one again, or play anew"
            )))
        })
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
    async fn take_up(&mut self, happened: Result<running::Happened, String>) -> Vec<request::Work> {
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
                if let Some(reason) = self.overfull() {
                    self.running = None;
                    self.fail(self.prepared.fault(reason));
                } else {
                    let said = self.desk.last_said();
                    let _ = self.desk.outside().answer(Said { usage, ..said });
                }
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
