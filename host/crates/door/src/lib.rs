//! The one way in over HTTP: it takes connections on 127.0.0.1, or where the operator says, and lends each to an application,
//! which says who it lets in.
//! Until then a connection is a stranger's: there are few of them, each has little time, and none keeps anybody else out or
//! takes the descriptors of a run. It answers nothing itself, and starts no task.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::{Extension, Router};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;

/// How many may come in at a time.
#[derive(Debug, Clone)]
pub struct Room {
    /// Connections, all in all. Each is a descriptor of the process.
    pub connections: usize,
    /// Connections of one address. One more is closed at once.
    pub of_peer: usize,
    /// Strangers. With one more, the one that has waited longest is sent away: who has a token needs a moment only.
    pub strangers: usize,
    /// Strangers of one address. With one more, the oldest of that address is sent away: none of another's.
    pub strangers_of_peer: usize,
    /// Addresses through which others come, as of a proxy: the bounds of one address are not theirs.
    pub gates: Vec<IpAddr>,
}

impl Default for Room {
    /// Of what serves one reader or agent: a browser opens six connections, an agent one or two.
    fn default() -> Self {
        Self {
            connections: 128,
            of_peer: 128,
            strangers: 64,
            strangers_of_peer: 32,
            gates: Vec::new(),
        }
    }
}

/// How long a stranger has to send the head of a request with a token.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may rest between two requests, and take for the head of one.
const REST: Duration = Duration::from_mins(1);

/// How long no connection is taken when the system gives none, such as without descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes of a request's head, and its header lines.
const HEAD: usize = 64 << 10;
const HEADERS: usize = 64;

/// Why nobody can come in.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address}: {source}")]
pub struct DoorError {
    address: SocketAddr,
    source: std::io::Error,
}

/// A port that is listened on; nobody is let in yet.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    room: Room,
}

/// The address that a connection comes from: an extension of each of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Whoever is behind a connection: an extension of each of its requests. The application admits whom it knows by its token;
/// who is not admitted in time, or while too many others come, is sent away.
#[derive(Debug, Clone, Default)]
pub struct Guest(Arc<Standing>);

#[derive(Debug, Default)]
struct Standing {
    admitted: AtomicBool,
    gone: AtomicBool,
    /// It was sent away, and may not have heard of it yet.
    leaving: AtomicBool,
    sent_away: Notify,
    crowd: Arc<Crowd>,
}

/// The connections that were admitted by a name.
#[derive(Debug, Default)]
struct Crowd(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    name: Box<str>,
    guest: Guest,
    /// A request is being answered on it.
    works: bool,
    /// When the last request began or was answered.
    last: Instant,
}

/// A request on a connection that was admitted by a name, until it is dropped.
#[derive(Debug)]
pub struct Visit(Guest);

impl Drop for Visit {
    fn drop(&mut self) {
        let mut crowd = self.0.crowd();
        if let Some(known) = crowd.iter_mut().find(|known| known.guest.is(&self.0)) {
            known.works = false;
            known.last = Instant::now();
        }
    }
}

impl Guest {
    /// The request had the token: the connection may stay.
    pub fn admit(&self) {
        self.0.admitted.store(true, Ordering::Relaxed);
    }

    /// The request had the token of somebody who may have so many connections. For one more, that which has rested longest is
    /// closed, of this name alone. None when each of them has a request at work, and the connection is as it was before; and for one
    /// that is being closed.
    pub fn admit_as(&self, name: &str, most: usize) -> Option<Visit> {
        let mut crowd = self.crowd();
        // It would take the place of one that may stay, and be closed all the same.
        if self.0.leaving.load(Ordering::Relaxed) {
            return None;
        }
        let is_here = |known: &Known| known.guest.is(self);
        if !crowd
            .iter()
            .any(|known| is_here(known) && *known.name == *name)
        {
            let of_name = crowd.iter().enumerate();
            let of_name = of_name.filter(|(_, known)| *known.name == *name);
            if of_name.clone().count() >= most {
                let resting = of_name.filter(|(_, known)| !known.works);
                let (place, _) = resting.min_by_key(|(_, known)| known.last)?;
                crowd.swap_remove(place).guest.send_away();
            }
            // A proxy's connections are now one's and now another's.
            crowd.retain(|known| !is_here(known));
            crowd.push(Known {
                name: name.into(),
                guest: self.clone(),
                works: true,
                last: Instant::now(),
            });
        } else if let Some(known) = crowd.iter_mut().find(|known| is_here(known)) {
            known.works = true;
            known.last = Instant::now();
        }
        self.admit();
        Some(Visit(self.clone()))
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn crowd(&self) -> MutexGuard<'_, Vec<Known>> {
        self.0
            .crowd
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn of(crowd: &Arc<Crowd>) -> Self {
        Self(Arc::new(Standing {
            crowd: Arc::clone(crowd),
            ..Standing::default()
        }))
    }

    /// The connection has ended.
    fn leave(&self) {
        self.0.gone.store(true, Ordering::Relaxed);
        self.crowd().retain(|known| !known.guest.is(self));
    }

    fn is_stranger(&self) -> bool {
        !self.0.admitted.load(Ordering::Relaxed) && !self.0.gone.load(Ordering::Relaxed)
    }

    fn send_away(&self) {
        self.0.leaving.store(true, Ordering::Relaxed);
        self.0.sent_away.notify_one();
    }

    /// Ends when the guest is sent away, or was a stranger for too long.
    async fn overstay(&self, patience: Duration) {
        tokio::select! {
            () = self.0.sent_away.notified() => return,
            () = sleep(patience) => {}
        }
        if !self.is_stranger() {
            self.0.sent_away.notified().await;
        }
    }
}

/// The strangers that are in, the oldest first.
#[derive(Debug, Default)]
struct Strangers(VecDeque<(IpAddr, Guest)>);

impl Strangers {
    /// Takes one more, for whom another may have to go.
    fn add(&mut self, peer: IpAddr, guest: Guest, room: &Room) {
        self.0.retain(|(_, other)| other.is_stranger());
        let of_peer = self.0.iter().filter(|(other, _)| *other == peer).count();
        let oldest = if of_peer >= room.strangers_of_peer && !room.gates.contains(&peer) {
            self.0.iter().position(|(other, _)| *other == peer)
        } else {
            (self.0.len() >= room.strangers).then_some(0)
        };
        if let Some((_, oldest)) = oldest.and_then(|place| self.0.remove(place)) {
            oldest.send_away();
        }
        self.0.push_back((peer, guest));
    }
}

impl Door {
    /// Takes a port of this machine's own address; 0 for any that is free.
    pub async fn open(port: u16) -> Result<Self, DoorError> {
        Self::open_at((Ipv4Addr::LOCALHOST, port).into(), Room::default()).await
    }

    /// Takes an address that the operator names: other machines may reach it.
    pub async fn open_at(address: SocketAddr, room: Room) -> Result<Self, DoorError> {
        let failed = |source| DoorError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            room,
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets the application answer, until the future is dropped. All connections are parts of this one future.
    pub async fn serve(self, app: Router) {
        self.serve_patiently(app, PATIENCE).await;
    }

    async fn serve_patiently(self, app: Router, patience: Duration) {
        let mut open = FuturesUnordered::new();
        let mut strangers = Strangers::default();
        let crowd = Arc::new(Crowd::default());
        let mut of_peers: HashMap<IpAddr, usize> = HashMap::new();
        let room = &self.room;
        loop {
            tokio::select! {
                Some(peer) = open.next() => leave(&mut of_peers, peer),
                accepted = self.listener.accept(), if open.len() < room.connections => match accepted {
                    Ok((stream, peer)) => {
                        let peer = peer.ip();
                        let of_peer = of_peers.entry(peer).or_default();
                        if *of_peer >= room.of_peer && !room.gates.contains(&peer) {
                            tracing::debug!("{peer} has {of_peer} connections: one more was closed");
                            continue;
                        }
                        *of_peer += 1;
                        let guest = Guest::of(&crowd);
                        strangers.add(peer, guest.clone(), room);
                        open.push(attend(stream, app.clone(), guest, peer, patience));
                    }
                    Err(error) => {
                        tracing::warn!("no connection was taken: {error}");
                        // Those that are open are served meanwhile.
                        let pause = sleep(PAUSE);
                        let serving = async {
                            while let Some(peer) = open.next().await {
                                leave(&mut of_peers, peer);
                            }
                        };
                        let _ = tokio::time::timeout_at(pause.deadline(), serving).await;
                    }
                }
            }
        }
    }
}

/// A connection of this address has ended.
fn leave(of_peers: &mut HashMap<IpAddr, usize>, peer: IpAddr) {
    if let Entry::Occupied(mut of_peer) = of_peers.entry(peer) {
        *of_peer.get_mut() -= 1;
        if *of_peer.get() == 0 {
            of_peer.remove();
        }
    }
}

/// Serves a connection to its end; whose it was.
async fn attend(
    stream: TcpStream,
    app: Router,
    guest: Guest,
    peer: IpAddr,
    patience: Duration,
) -> IpAddr {
    let app = app.layer(Extension(guest.clone()));
    let service = TowerToHyperService::new(app.layer(Extension(Peer(peer))));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REST)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = serving => if let Err(error) = served {
            tracing::debug!("a connection ended: {error}");
        },
        () = guest.overstay(patience) => tracing::debug!("a stranger was sent away"),
    }
    guest.leave();
    peer
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Request;
    use axum::http::StatusCode;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const CONNECTIONS: usize = 128;
    const STRANGERS: usize = 64;
    const STRANGERS_OF_PEER: usize = 32;

    const KNOWN: &[u8] = b"GET /known HTTP/1.1\r\nHost: a\r\n\r\n";
    const UNKNOWN: &[u8] = b"GET /unknown HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Lets in who asks for `/known`.
    async fn answer(Extension(guest): Extension<Guest>, request: Request) -> StatusCode {
        if request.uri().path() != "/known" {
            return StatusCode::NOT_FOUND;
        }
        guest.admit();
        StatusCode::OK
    }

    async fn at_door<F: Future>(visit: impl FnOnce(SocketAddr) -> F) -> F::Output {
        at_door_for(PATIENCE, visit).await
    }

    async fn at_door_for<F: Future>(
        patience: Duration,
        visit: impl FnOnce(SocketAddr) -> F,
    ) -> F::Output {
        let door = Door::open(0).await.unwrap();
        let address = door.address();
        let app = Router::new().fallback(answer);
        tokio::select! {
            () = door.serve_patiently(app, patience) => unreachable!("it serves until it is dropped"),
            output = visit(address) => output,
        }
    }

    async fn connect(address: SocketAddr) -> TcpStream {
        TcpStream::connect(address).await.unwrap()
    }

    /// The status of an answer; None when the connection was closed instead.
    async fn ask(stream: &mut TcpStream, request: &[u8]) -> Option<String> {
        stream.write_all(request).await.ok()?;
        let mut head = [0; 512];
        let length = stream.read(&mut head).await.ok()?;
        let head = String::from_utf8_lossy(&head[..length]).into_owned();
        Some(head.split(' ').nth(1)?.to_owned())
    }

    async fn is_closed(stream: &mut TcpStream) -> bool {
        let mut rest = [0; 1];
        matches!(stream.read(&mut rest).await, Ok(0) | Err(_))
    }

    #[tokio::test]
    async fn idle_connections_without_end_keep_nobody_out_and_are_closed_themselves() {
        at_door(async |address| {
            let mut idle = Vec::new();
            for _ in 0..3 * CONNECTIONS {
                idle.push(connect(address).await);
                let mut known = connect(address).await;
                assert_eq!(ask(&mut known, KNOWN).await.as_deref(), Some("200"));
            }
            for stream in &mut idle[..3 * CONNECTIONS - STRANGERS_OF_PEER] {
                assert!(is_closed(stream).await);
            }
        })
        .await;
    }

    #[tokio::test]
    async fn who_was_admitted_stays_however_many_strangers_come() {
        at_door(async |address| {
            let mut known = connect(address).await;
            assert_eq!(ask(&mut known, KNOWN).await.as_deref(), Some("200"));
            let mut unknown = connect(address).await;
            assert_eq!(ask(&mut unknown, UNKNOWN).await.as_deref(), Some("404"));
            let mut idle = Vec::new();
            for _ in 0..CONNECTIONS {
                idle.push(connect(address).await);
            }
            assert!(is_closed(&mut unknown).await);
            assert_eq!(ask(&mut known, UNKNOWN).await.as_deref(), Some("404"));
        })
        .await;
    }

    #[tokio::test]
    async fn an_address_that_floods_sends_away_its_own_and_none_of_another() {
        let (peer, flood) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let mut strangers = Strangers::default();
        let room = Room::default();
        strangers.add(peer, Guest::default(), &room);
        for _ in 0..3 * STRANGERS {
            strangers.add(flood, Guest::default(), &room);
        }
        assert_eq!(strangers.0.len(), STRANGERS_OF_PEER + 1);
        assert_eq!(strangers.0[0].0, peer);
        for last in 3..=200 {
            strangers.add(IpAddr::from([127, 0, 0, last]), Guest::default(), &room);
        }
        assert_eq!(strangers.0.len(), STRANGERS);
    }

    #[test]
    fn the_bounds_of_an_address_are_not_those_of_a_gate() {
        let gate = IpAddr::from([127, 0, 0, 1]);
        let room = Room {
            gates: vec![gate],
            ..Room::default()
        };
        let mut strangers = Strangers::default();
        for _ in 0..3 * STRANGERS {
            strangers.add(gate, Guest::default(), &room);
        }
        assert_eq!(strangers.0.len(), STRANGERS);
    }

    #[tokio::test]
    async fn an_address_has_so_many_connections_and_another_one_when_one_ends() {
        let room = Room {
            of_peer: 2,
            ..Room::default()
        };
        let door = Door::open_at((Ipv4Addr::LOCALHOST, 0).into(), room).await;
        let door = door.unwrap();
        let address = door.address();
        let app = Router::new().fallback(answer);
        let visits = async {
            let mut one = connect(address).await;
            let mut two = connect(address).await;
            for stream in [&mut one, &mut two] {
                assert_eq!(ask(stream, KNOWN).await.as_deref(), Some("200"));
            }
            assert!(is_closed(&mut connect(address).await).await);
            drop(one);
            // The place is free when the door has seen the end.
            let mut again = connect(address).await;
            while ask(&mut again, KNOWN).await.as_deref() != Some("200") {
                again = connect(address).await;
            }
            assert_eq!(ask(&mut two, KNOWN).await.as_deref(), Some("200"));
        };
        tokio::select! {
            () = door.serve(app) => unreachable!("it serves until it is dropped"),
            () = visits => {}
        }
    }

    #[test]
    fn one_name_has_so_many_connections_and_only_its_own_are_closed_for_more() {
        let crowd = Arc::new(Crowd::default());
        let guests: Vec<Guest> = (0..4).map(|_| Guest::of(&crowd)).collect();
        let here = |guest: &Guest| guest.crowd().iter().any(|known| known.guest.is(guest));
        let other = Guest::of(&crowd);
        drop(other.admit_as("other", 1));
        drop(guests[0].admit_as("flood", 2));
        drop(guests[1].admit_as("flood", 2));
        // It rests the least now.
        drop(guests[0].admit_as("flood", 2));
        let third = guests[2].admit_as("flood", 2);
        assert!(third.is_some() && here(&guests[0]) && !here(&guests[1]));
        // One that is being closed, and asks once more, takes nobody's place.
        assert!(guests[1].admit_as("flood", 2).is_none());
        assert!(here(&guests[0]) && !here(&guests[1]));
        let first = guests[0].admit_as("flood", 2);
        assert!(guests[3].admit_as("flood", 2).is_none(), "both are at work");
        assert!(guests[3].is_stranger() && here(&other));
        drop(first);
        assert!(guests[3].admit_as("flood", 2).is_some());
        assert!(!here(&guests[0]) && here(&guests[2]) && here(&other));
        // A connection that shows another token is the other's from then on.
        assert!(other.admit_as("third", 1).is_some());
        guests[2].leave();
        let left: Vec<_> = crowd
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|known| known.name.clone())
            .collect();
        assert_eq!(left, ["flood".into(), "third".into()]);
    }

    #[tokio::test]
    async fn a_stranger_that_sends_half_a_head_is_closed_when_its_time_is_over() {
        let half = async |address| {
            let mut slow = connect(address).await;
            slow.write_all(&KNOWN[..9]).await.unwrap();
            slow
        };
        at_door_for(Duration::ZERO, async |address| {
            assert!(is_closed(&mut half(address).await).await);
        })
        .await;
        at_door(async |address| {
            let mut slow = half(address).await;
            let answer = ask(&mut slow, &KNOWN[9..]).await;
            assert_eq!(answer.as_deref(), Some("200"));
        })
        .await;
    }

    #[tokio::test]
    async fn a_head_without_end_is_refused_and_one_of_common_size_is_not() {
        at_door(async |address| {
            let head = |length: usize| {
                let filler = "x".repeat(length);
                format!("GET /known HTTP/1.1\r\nHost: a\r\nFiller: {filler}\r\n\r\n")
            };
            let mut long = connect(address).await;
            let answer = ask(&mut long, head(2 * HEAD).as_bytes()).await;
            assert_ne!(answer.as_deref(), Some("200"));
            let mut common = connect(address).await;
            let answer = ask(&mut common, head(8 << 10).as_bytes()).await;
            assert_eq!(answer.as_deref(), Some("200"));
        })
        .await;
    }
}
