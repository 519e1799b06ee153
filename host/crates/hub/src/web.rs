//! The hub over HTTP: who asks is found by a token before anything is read, each submitter sees what is its own, and an answer
//! holds what an agent may know and nothing else. Every path begins with `/v1`.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Extension, Router};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::config::{HubFile, Quotas};
use crate::finish::{SIGNATURE, STATEMENT};
use crate::hall::{Away, Hub, HubOrAway, MEGABYTE};
use crate::ledger::{
    Episode, EpisodeState, Ledger, LedgerError, NotBegun, Opened, Run, RunState, Spot, rest_of_day,
    used_up,
};
use crate::room::Taken;
use pibench_core::cost::MicroUsd;
use pibench_door::{Door, DoorError, Guest, Peer, Room};
use pibench_engine::serve::weighed;

/// How long the bytes of a request may be on their way.
const ARRIVE: Duration = Duration::from_secs(30);

/// Bytes of a request that is none of the protocol's.
const SMALL: usize = 4096;

/// Bytes of an answer of the protocol's: results of tools are cut long before.
const LARGEST_ANSWER: usize = 64 << 20;

/// Values of a message of the protocol: 5 MiB when it is taken apart, which no room is taken for.
const VALUES: usize = 20_000;

/// Requests of a submitter that are answered at once: some for each of its episodes, and a few beside.
const OF_EPISODE: u32 = 2;
const BESIDE: u32 = 8;

/// Addresses of a chain of proxies that are looked at.
const HOPS: usize = 16;

/// Whose token a request has.
#[derive(Debug, Clone)]
struct Submitter(Arc<str>);

/// An answer that is not what was asked for. Its text is for the submitter: it holds nothing of the machine.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    reason: String,
    wait: Option<Duration>,
}

type Answer = Result<Response, Refused>;

impl Refused {
    fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
            wait: None,
        }
    }

    fn after(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// There is more on the next day.
    fn used_up(reason: String) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, reason).after(rest_of_day())
    }

    fn absent() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such thing of yours")
    }
}

impl From<LedgerError> for Refused {
    fn from(error: LedgerError) -> Self {
        tracing::error!("failed to {error}");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the host cannot answer now",
        )
    }
}

impl From<HubOrAway> for Refused {
    fn from(away: HubOrAway) -> Self {
        match away {
            HubOrAway::Hub(error) => error.into(),
            HubOrAway::Away(Away::Absent) => Self::new(
                StatusCode::NOT_FOUND,
                "this episode was never opened: POST /v1/runs/ID/episodes opens it",
            ),
            HubOrAway::Away(Away::Over) => Self::new(StatusCode::GONE, "the episode is over"),
            HubOrAway::Away(Away::Queued(before)) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("the episode waits for its place, with {before} before it: ask again"),
            )
            .after(Duration::from_secs(5)),
            HubOrAway::Away(Away::Closing) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the host is about to start anew: ask again",
            )
            .after(Duration::from_secs(10)),
            HubOrAway::Away(Away::Full) => full(),
            HubOrAway::Away(Away::Spent(why)) => Self::used_up(why),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = json_answer(self.status, &json!({ "error": self.reason }));
        if let Some(wait) = self.wait {
            let seconds = wait.as_secs_f64().ceil().max(1.0);
            if let Ok(value) = HeaderValue::from_str(&format!("{seconds}")) {
                response.headers_mut().insert(RETRY_AFTER, value);
            }
        }
        response
    }
}

fn full() -> Refused {
    Refused::new(
        StatusCode::INSUFFICIENT_STORAGE,
        "your room on the host's disk is full: abandon a run, or ask the host's owner",
    )
}

fn json_answer(status: StatusCode, value: &Value) -> Response {
    let mut response = (status, value.to_string()).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Gives a refusal that others wrote, such as that of a path's method, the form of the hub's own. Its headers stay.
async fn in_own_form(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, SMALL).await.unwrap_or_default();
    let reason = if status == StatusCode::METHOD_NOT_ALLOWED {
        "this path does not take that method: the header `Allow` names those that it takes".into()
    } else {
        String::from_utf8_lossy(&text)
    };
    let kind = HeaderValue::from_static("application/json");
    parts.headers.insert(CONTENT_TYPE, kind);
    parts.headers.remove(CONTENT_LENGTH);
    let told = json!({ "error": reason }).to_string();
    Response::from_parts(parts, Body::from(told))
}

fn found(value: &Value) -> Response {
    json_answer(StatusCode::OK, value)
}

/// Takes the hub's address. Who knocks waits until it is served.
pub async fn open_door(file: &HubFile) -> Result<Door, DoorError> {
    let limits = file.limits;
    let strangers = (limits.connections / 2).max(1);
    let room = Room {
        connections: limits.connections,
        of_peer: limits.connections_of_address,
        strangers,
        strangers_of_peer: (strangers / 2).max(1),
        gates: file.proxies.clone(),
    };
    Door::open_at(file.listen, room).await
}

/// Answers at the hub's door until the future is dropped.
pub async fn serve(hub: Arc<Hub>, door: Door) {
    let app = Router::new()
        .route("/v1", get(overview))
        .route("/v1/runs", get(runs).post(begin_run))
        .route("/v1/runs/{run}", get(run).delete(abandon))
        .route("/v1/runs/{run}/episodes", axum::routing::post(open_episode))
        .route("/v1/runs/{run}/episodes/{number}", get(episode))
        .route("/v1/runs/{run}/episodes/{number}/mcp", any(play))
        .route("/v1/runs/{run}/result", get(statement))
        .route("/v1/runs/{run}/result.sig", get(signature))
        .fallback(async || Refused::absent())
        .layer(middleware::from_fn_with_state(Arc::clone(&hub), admit))
        .with_state(hub);
    door.serve(app).await;
}

/// Lets nobody in without a token, and nobody faster than it may.
async fn admit(
    State(hub): State<Arc<Hub>>,
    Extension(guest): Extension<Guest>,
    Extension(Peer(peer)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let given = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "))
        .unwrap_or_default();
    let name = match hub.ledger.recognise(given) {
        Ok(Some(name)) => name,
        Ok(None) => return refuse_token(&hub, asking(&hub, peer, request.headers())).await,
        Err(error) => return Refused::from(error).into_response(),
    };
    let quotas = hub.quotas(&name);
    let most = quotas.connections;
    let Some(visit) = guest.admit_as(&name, most as usize) else {
        let reason = format!("{most} connections of yours are at work, and there may be no more");
        let refused =
            Refused::new(StatusCode::TOO_MANY_REQUESTS, reason).after(Duration::from_secs(1));
        let mut response = refused.into_response();
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
        return response;
    };
    // No page of a browser has a token to show.
    if request.headers().contains_key(ORIGIN) {
        return Refused::new(StatusCode::FORBIDDEN, "no browser's page may ask").into_response();
    }
    let at_once = quotas.episodes_at_once.saturating_mul(OF_EPISODE) + BESIDE;
    let now = Instant::now();
    if let Err(wait) = hub
        .pace
        .enter(&name, quotas.requests_a_second, at_once, now)
    {
        let reason = "you ask too fast, or too much at once";
        return Refused::new(StatusCode::TOO_MANY_REQUESTS, reason)
            .after(wait)
            .into_response();
    }
    let entered = Entered(Arc::clone(&hub), name.as_str().into());
    request.extensions_mut().insert(Submitter(name.into()));
    let response = in_own_form(next.run(request).await).await;
    drop((entered, visit));
    response
}

/// A request of a submitter's that is being answered.
struct Entered(Arc<Hub>, Arc<str>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.pace.leave(&self.1);
    }
}

async fn refuse_token(hub: &Hub, address: IpAddr) -> Response {
    let most = hub.file.limits.guesses_a_minute;
    match hub.guesses.count_wrong(address, most, Instant::now()) {
        Some(wait) => {
            tokio::time::sleep(wait).await;
            Refused::new(StatusCode::UNAUTHORIZED, "a valid bearer token is needed").into_response()
        }
        None => Refused::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens")
            .after(Duration::from_mins(1))
            .into_response(),
    }
}

/// Who asks: of what a proxy sends, the last address that is none of a proxy. What others write into that header is not read.
fn asking(hub: &Hub, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    address(&hub.file.proxies, peer, headers)
}

fn address(proxies: &[IpAddr], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let is_proxy = |address: &IpAddr| proxies.contains(&address.to_canonical());
    if !is_proxy(&peer) {
        return peer;
    }
    let lines = headers.get_all("x-forwarded-for").into_iter();
    let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
    let mut hops = lines
        .iter()
        .rev()
        .flat_map(|line| line.rsplit(','))
        .take(HOPS);
    hops.find_map(|hop| match hop.trim().parse::<IpAddr>() {
        Ok(hop) if is_proxy(&hop) => None,
        // What is no address was not written by a proxy of ours.
        other => Some(other.unwrap_or(peer)),
    })
    .unwrap_or(peer)
}

type App = State<Arc<Hub>>;
type By = Extension<Submitter>;

/// What the submitter may use, and has used.
async fn overview(State(hub): App, Extension(Submitter(name)): By) -> Answer {
    let (quotas, used) = (hub.quotas(&name), hub.ledger.used(&name)?);
    let bytes = hub.bytes(&name)?;
    let disk = hub.measure(&name).await?;
    Ok(found(&json!({
        "submitter": &*name,
        "episodes_of_a_run": hub.episodes,
        "today": {
            "episodes": { "used": used.episodes, "of": quotas.episodes_a_day },
            "turns": { "used": used.turns, "of": quotas.turns_a_day },
            "runs": { "used": used.runs, "of": quotas.runs_a_day },
            "bytes": { "used": bytes, "of": u64::from(quotas.megabytes_a_day) * MEGABYTE },
            "dollars": { "used": used.paid.usd(), "of": quotas.dollars_a_day.map(MicroUsd::usd) },
        },
        "episodes_at_once": quotas.episodes_at_once,
        "open_runs": quotas.open_runs,
        "requests_a_second": quotas.requests_a_second,
        "connections": quotas.connections,
        "hours_of_an_episode": quotas.hours,
        "idle_minutes": quotas.idle_minutes,
        "broken_turns": quotas.broken_turns,
        "disk_bytes": { "used": disk, "of": u64::from(quotas.disk_megabytes) * MEGABYTE },
    })))
}

async fn runs(State(hub): App, Extension(Submitter(name)): By) -> Answer {
    let all = hub.ledger.runs_of(&name)?;
    let all: Vec<Value> = all.iter().map(run_value).collect();
    Ok(found(&json!({ "runs": all })))
}

fn run_value(run: &Run) -> Value {
    let mut value = json!({
        "run": run.id,
        "agent": run.agent,
        "state": run.state,
        "episodes": run.episodes,
        "begun": run.made,
    });
    if let Some(why) = &run.why {
        value["why"] = why.as_str().into();
    }
    value
}

/// What begins a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    agent: String,
}

/// What opens an episode.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    /// The next one unless it says so.
    episode: Option<u32>,
}

async fn begin_run(State(hub): App, Extension(Submitter(name)): By, request: Request) -> Answer {
    let want = "say who plays by {\"agent\": \"NAME\"} and no more";
    let Begin { agent } = small(&hub, &name, request, want).await?;
    has_room(&hub, &name).await?;
    let begun = hub
        .ledger
        .add_run(&name, &agent, hub.episodes, hub.quotas(&name))?;
    match begun {
        Ok(run) => Ok(json_answer(StatusCode::CREATED, &run_value(&run))),
        Err(NotBegun::Name(reason)) => Err(Refused::new(StatusCode::BAD_REQUEST, reason)),
        Err(NotBegun::Refused(reason)) => Err(Refused::new(StatusCode::CONFLICT, reason)),
        Err(NotBegun::UsedUp(reason)) => Err(Refused::used_up(reason)),
    }
}

async fn run(State(hub): App, Extension(Submitter(name)): By, Path(id): Path<String>) -> Answer {
    let run = own(&hub, &name, &id)?;
    let opened = hub.ledger.episodes(&id)?;
    let mut value = run_value(&run);
    value["opened"] = opened.iter().map(episode_value).collect();
    Ok(found(&value))
}

fn episode_value(episode: &Episode) -> Value {
    json!({ "episode": episode.number, "state": episode.state, "broken_turns": episode.broken })
}

async fn abandon(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path(id): Path<String>,
) -> Answer {
    let run = own(&hub, &name, &id)?;
    if run.state != RunState::Open {
        return Err(Refused::new(
            StatusCode::CONFLICT,
            "the run is not open any more",
        ));
    }
    hub.fail(&id, "it was abandoned")?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn open_episode(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path(id): Path<String>,
    request: Request,
) -> Answer {
    let run = own(&hub, &name, &id)?;
    let want = "say which episode by {\"episode\": N} and no more, or nothing for the next one";
    let Open { episode: number } = small(&hub, &name, request, want).await?;
    if run.state != RunState::Open {
        return Err(Refused::new(
            StatusCode::CONFLICT,
            "the run is not open any more",
        ));
    }
    if hub.is_closing() {
        return Err(HubOrAway::Away(Away::Closing).into());
    }
    has_room(&hub, &name).await?;
    if let Some(why) = hub.lacks_money(&name)? {
        return Err(Refused::used_up(why));
    }
    let quotas = hub.quotas(&name);
    let (number, status) = match hub.ledger.open_episode(&run, number, quotas)? {
        Opened::Now(number) => (number, StatusCode::CREATED),
        Opened::Already(number) => (number, StatusCode::OK),
        Opened::Refused(reason) => {
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, reason));
        }
        Opened::UsedUp(reason) => return Err(Refused::used_up(reason)),
        Opened::Absent => {
            let reason = format!("this run has the episodes 1 to {}", run.episodes);
            return Err(Refused::new(StatusCode::NOT_FOUND, reason));
        }
        Opened::All => {
            return Err(Refused::new(
                StatusCode::CONFLICT,
                "every episode of this run was opened before",
            ));
        }
    };
    hub.wake();
    let value = json!({ "episode": number, "mcp": format!("/v1/runs/{id}/episodes/{number}/mcp") });
    Ok(json_answer(status, &value))
}

async fn episode(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path((id, number)): Path<(String, u32)>,
) -> Answer {
    own(&hub, &name, &id)?;
    let spot = Spot { run: id, number };
    let episode = hub.ledger.episode(&spot)?.ok_or_else(Refused::absent)?;
    let mut value = episode_value(&episode);
    if episode.state == EpisodeState::Queued {
        value["before"] = hub.ledger.before(&spot)?.into();
    }
    Ok(found(&value))
}

/// The protocol, for the agent.
async fn play(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path((id, number)): Path<(String, u32)>,
    request: Request,
) -> Answer {
    own(&hub, &name, &id)?;
    let most = hub.file.limits.request_kib as usize * 1024;
    let (parts, body) = request.into_parts();
    let (bytes, room) = receive(&hub, &name, &parts.headers, body, most).await?;
    let standing = hub.seat(&Spot { run: id, number }, &name).await?;
    let presence = standing.seat.enter();
    let request = Request::from_parts(parts, Body::from(weighed(bytes, VALUES)));
    let (parts, body) = standing.endpoint.handle(request).await.into_parts();
    let bytes = to_bytes(Body::new(body), LARGEST_ANSWER).await;
    let bytes = bytes.map_err(|_| {
        Refused::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the answer was too large",
        )
    })?;
    drop((presence, room));
    hub.add_bytes(&name, bytes.len());
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

async fn statement(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path(id): Path<String>,
) -> Answer {
    result(&hub, &name, &id, STATEMENT, "application/json")
}

async fn signature(
    State(hub): App,
    Extension(Submitter(name)): By,
    Path(id): Path<String>,
) -> Answer {
    result(&hub, &name, &id, SIGNATURE, "text/plain")
}

fn result(hub: &Hub, name: &str, id: &str, file: &str, kind: &'static str) -> Answer {
    let run = own(hub, name, id)?;
    match run.state {
        RunState::Finished => {}
        RunState::Open => {
            return Err(Refused::new(
                StatusCode::CONFLICT,
                "the run has no result: it is not played to its end, or not signed yet",
            ));
        }
        RunState::Failed => {
            let why = run.why.unwrap_or_else(|| "it failed".into());
            let reason = format!("the run has no result and never will: {why}");
            return Err(Refused::new(StatusCode::GONE, reason));
        }
    }
    let text = std::fs::read_to_string(hub.places.run(id).join(file)).map_err(|error| {
        tracing::error!(run = id, "failed to read {file}: {error}");
        Refused::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the host cannot answer now",
        )
    })?;
    let mut response = text.into_response();
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// The submitter's run: of those of others nobody is told whether there are any.
fn own(hub: &Hub, name: &str, id: &str) -> Result<Run, Refused> {
    let run = hub.ledger.run(id)?;
    run.filter(|run| run.name == name)
        .ok_or_else(Refused::absent)
}

async fn has_room(hub: &Arc<Hub>, name: &str) -> Result<(), Refused> {
    hub.measure(name).await?;
    if hub.is_full(name) {
        return Err(full());
    }
    Ok(())
}

fn has_bytes(hub: &Hub, name: &str) -> Result<(), Refused> {
    let most = hub.quotas(name).megabytes_a_day;
    if hub.bytes(name)? >= u64::from(most) * MEGABYTE {
        return Err(Refused::used_up(used_up(most, "megabytes")));
    }
    Ok(())
}

/// A small JSON object of these keys alone; one without any where nothing was sent. `want`: what to send, for the submitter.
async fn small<T: DeserializeOwned>(
    hub: &Hub,
    name: &str,
    request: Request,
    want: &str,
) -> Result<T, Refused> {
    let (parts, body) = request.into_parts();
    let (bytes, _) = receive(hub, name, &parts.headers, body, SMALL).await?;
    object(&bytes).map_err(|error| {
        Refused::new(
            StatusCode::BAD_REQUEST,
            format!("{want}; what was sent is something else: {error}"),
        )
    })
}

fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    // Read as a map first: a list would be taken for the fields in their order.
    let keys: Map<String, Value> = match bytes {
        [] => Map::new(),
        bytes => serde_json::from_slice(bytes)?,
    };
    serde_json::from_value(Value::Object(keys))
}

/// The bytes of a submitter's request, and the room that they take until they are done with.
async fn receive(
    hub: &Hub,
    name: &str,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<(Vec<u8>, Taken), Refused> {
    has_bytes(hub, name)?;
    let large = || {
        Refused::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a request has at most {most} bytes"),
        )
    };
    let told = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let told = told.and_then(|value| value.parse::<usize>().ok());
    if told.is_some_and(|told| told > most) {
        return Err(large());
    }
    let reading = async {
        let room = hub.room.take(name, told.unwrap_or(most)).await;
        let mut room = room.ok_or_else(large)?;
        let count = |bytes| hub.add_bytes(name, bytes);
        let bytes = read(body, most, count).await.ok_or_else(large)?;
        room.keep(bytes.len());
        Ok((bytes, room))
    };
    let slow = || {
        Refused::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request did not arrive in time",
        )
    };
    timeout(ARRIVE, reading).await.map_err(|_| slow())?
}

/// All bytes of a body, each counted as it comes. None of one that has more, or breaks off: what came is counted all the same.
async fn read(mut body: Body, most: usize, mut count: impl FnMut(usize)) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        // Trailers are not read.
        let Ok(bytes) = frame.ok()?.into_data() else {
            continue;
        };
        count(bytes.len());
        if bytes.len() > most - all.len() {
            return None;
        }
        all.extend_from_slice(&bytes);
    }
    Some(all)
}

/// What is made of a request before anything is done for it.
#[derive(Debug)]
pub struct Heard {
    /// Whose token it has.
    pub submitter: Option<String>,
    /// Who asks.
    pub address: IpAddr,
    /// Whether it names a run of this submitter.
    pub is_own: bool,
    /// The run that it begins, where it begins one.
    pub begun: Option<String>,
}

/// Reads the parts of a request as `serve` does, for fuzzers: a token, what proxies say, a run's id, a body that begins a run.
pub fn hear(
    ledger: &Ledger,
    proxies: &[IpAddr],
    peer: IpAddr,
    [token, forwarded, run, body]: [&[u8]; 4],
) -> Result<Heard, LedgerError> {
    let submitter = ledger.recognise(token)?;
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(forwarded) {
        headers.append("x-forwarded-for", value);
    }
    let name = submitter.clone().unwrap_or_default();
    let run = ledger.run(&String::from_utf8_lossy(run))?;
    let body = object(&body[..body.len().min(SMALL)]).ok();
    let begun = match body {
        Some(Begin { agent }) if submitter.is_some() => {
            ledger.add_run(&name, &agent, 1, Quotas::default())?.ok()
        }
        _ => None,
    };
    Ok(Heard {
        is_own: run.is_some_and(|run| run.name == name),
        address: address(proxies, peer, &headers),
        begun: begun.map(|run| run.agent),
        submitter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, lines: &[&str], expected: &str) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let proxies = ["10.0.0.1", "10.0.0.2"].map(|proxy| proxy.parse().unwrap());
        let found = address(&proxies, peer.parse().unwrap(), &headers);
        assert_eq!(found.to_string(), expected, "{peer} {lines:?}");
    }

    #[test]
    fn only_a_proxy_says_for_whom_it_asks() {
        check("10.0.0.1", &["7.7.7.7"], "7.7.7.7");
        check("9.9.9.9", &["7.7.7.7"], "9.9.9.9");
        // What came before the proxy's own entry was written by anybody.
        check("10.0.0.1", &["1.1.1.1, 7.7.7.7"], "7.7.7.7");
        check("10.0.0.1", &["1.1.1.1", "7.7.7.7, 10.0.0.2"], "7.7.7.7");
        check("10.0.0.1", &["1.1.1.1, nonsense"], "10.0.0.1");
        check("10.0.0.1", &[], "10.0.0.1");
    }

    #[tokio::test]
    async fn the_bytes_of_a_body_are_counted_as_they_come_whether_it_is_taken_or_not() {
        for (most, taken) in [(11, true), (10, false)] {
            let mut counted = 0_usize;
            let body = Body::from("11 of bytes");
            let all = read(body, most, |bytes| counted += bytes).await;
            assert_eq!((all.is_some(), counted), (taken, 11), "{most}");
        }
    }
}
