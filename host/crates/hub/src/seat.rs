//! An episode in play, as its submitter reaches it: the engine's service behind a count of turns. A turn that was broken off is
//! begun anew only by an agent that asked for its message again: what it did before is not there any more.

use std::sync::Arc;
use std::sync::Mutex as Lock;
use std::sync::PoisonError;
use std::time::Instant;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult,
    PaginatedRequestParams, RequestId, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Mutex;

use crate::config::{Purse, Quotas};
use crate::ledger::{Ledger, LedgerError, Spot, used_up};
use pibench_engine::serve::{BEGINS, CONVERSE, Endpoint, Service, endpoint, refused};

/// One episode's seat. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Seat(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    spot: Spot,
    name: String,
    purse: Purse,
    quotas: Quotas,
    ledger: Arc<Ledger>,
    /// None when the hub let go of the episode.
    service: Lock<Option<Service>>,
    desk: Mutex<Desk>,
    watch: Lock<Watch>,
}

/// What the agent may do now. Held while a call runs: calls are made one after the other.
#[derive(Debug)]
struct Desk {
    /// The agent was told the open message since the episode was opened or gone on with.
    told: bool,
    /// The message that was counted as a turn; None when that turn has ended.
    counted: Option<u64>,
}

/// For the hub, without waiting for a call.
#[derive(Debug)]
struct Watch {
    /// Requests that are being answered.
    open: u32,
    /// When the last one began or ended.
    last: Instant,
    in_turn: bool,
}

impl Seat {
    /// `counted`: the open message, where it was counted before.
    pub(crate) fn new(
        service: Service,
        spot: Spot,
        name: String,
        purse: Purse,
        quotas: Quotas,
        ledger: Arc<Ledger>,
        counted: Option<u64>,
    ) -> Self {
        Self(Arc::new(Inner {
            spot,
            name,
            purse,
            quotas,
            ledger,
            service: Lock::new(Some(service)),
            desk: Mutex::new(Desk {
                told: false,
                counted,
            }),
            watch: Lock::new(Watch {
                open: 0,
                last: Instant::now(),
                in_turn: counted.is_some(),
            }),
        }))
    }

    pub(crate) fn endpoint(&self, hosts: &[String], most: usize) -> Endpoint<Self> {
        endpoint(self.clone(), hosts, most)
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn quotas(&self) -> Quotas {
        self.0.quotas
    }

    /// A request for this episode begins: until it is dropped, the agent is not idle.
    pub(crate) fn enter(&self) -> Presence {
        self.watch(|watch| watch.open += 1);
        Presence(self.clone())
    }

    /// Since when nothing came, if nothing is being answered.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        self.watch(|watch| (watch.open == 0).then_some(watch.last))
    }

    /// Whether the agent was given a message that it did not answer.
    pub(crate) fn in_turn(&self) -> bool {
        self.watch(|watch| watch.in_turn)
    }

    /// Lets go of the episode: what plays it ends by itself, after what it does now.
    pub(crate) fn let_go(&self) {
        *self
            .0
            .service
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn is_let_go(&self) -> bool {
        self.service().is_none()
    }

    fn service(&self) -> Option<Service> {
        let service = self.0.service.lock();
        service.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn watch<T>(&self, look: impl FnOnce(&mut Watch) -> T) -> T {
        look(&mut self.0.watch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        id: &RequestId,
        is_awaited: impl Fn() -> bool,
    ) -> Result<CallToolResult, LedgerError> {
        let Inner {
            spot,
            name,
            purse,
            quotas,
            ledger,
            desk,
            ..
        } = &*self.0;
        let asked = self.service().map(|service| service.asked(id));
        let mut desk = desk.lock().await;
        let (Some(service), Some(asked)) = (self.service(), asked) else {
            return Ok(refused(
                "the episode is paused: ask again, and it goes on with the message that is open",
            ));
        };
        let arguments = request.arguments.unwrap_or_default();
        let answers = matches!(arguments.get("answer"), Some(answer) if !answer.is_null());
        let asks = request.name == CONVERSE && !answers;
        if !desk.told && !asks {
            return Ok(refused(BEGINS));
        }
        let result = service
            .call_named(&request.name, arguments, asked, is_awaited)
            .await;
        if request.name != CONVERSE || result.is_error == Some(true) {
            return Ok(result);
        }
        let open = service.open().await;
        // Not by an answer that was sent again.
        if desk.counted.is_some() && desk.counted != open {
            desk.counted = None;
            self.watch(|watch| watch.in_turn = false);
            ledger.end_turn(spot)?;
        }
        desk.told = true;
        if desk.counted.is_none() && open.is_some() {
            if let Some(why) = ledger.lacks_money(name, *purse)? {
                desk.told = false;
                return Ok(refused(&why));
            }
            if !ledger.begin_turn(spot, name, *quotas)? {
                desk.told = false;
                return Ok(refused(&used_up(quotas.turns_a_day, "turns")));
            }
            desk.counted = open;
            self.watch(|watch| watch.in_turn = true);
        }
        Ok(result)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Presence(Seat);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.watch(|watch| {
            watch.open -= 1;
            watch.last = Instant::now();
        });
    }
}

impl ServerHandler for Seat {
    fn get_info(&self) -> ServerConfig {
        Service::info()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match self.service() {
            Some(service) => Ok(service.listed().await),
            None => Err(ErrorData::internal_error("the episode is paused", None)),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        RequestContext { id, ct, .. }: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.answer(request, &id, || !ct.is_cancelled()).await {
            Ok(result) => Ok(result.into()),
            Err(error) => {
                tracing::error!("failed to {error}");
                Err(ErrorData::internal_error(
                    "the host cannot answer now",
                    None,
                ))
            }
        }
    }
}
