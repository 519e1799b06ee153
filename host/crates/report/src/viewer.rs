//! The page served on this machine, so that a run can be watched while it plays. It answers reads on 127.0.0.1 only, to
//! whoever knows the address with its token, and writes nothing.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::bundle::Report;
use super::page::{episode_chunks, index, shell};
use super::record::{RecordError, RunRecord};

/// Connections at a time: a browser opens six; a page of others that tries to use up the rest waits.
const CONNECTIONS: usize = 64;

/// Why there is no viewer.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    #[error("listen on 127.0.0.1:{port}: {source}")]
    Listen { port: u16, source: std::io::Error },
    #[error("draw a token: {reason}")]
    Token { reason: String },
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Viewer {
    listener: TcpListener,
    address: SocketAddr,
    /// 128 random bits, hex: other users and other pages of this machine cannot guess it.
    token: String,
}

impl Viewer {
    /// Takes a port; 0 for any that is free.
    pub async fn bind(port: u16) -> Result<Self, ViewerError> {
        let failed = |source| ViewerError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| ViewerError::Token {
            reason: error.to_string(),
        })?;
        let token = format!("{:032x}", u128::from_be_bytes(bits));
        Ok(Self {
            listener,
            address,
            token,
        })
    }

    /// Where a browser finds the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers until the future is dropped. All connections are parts of this one task.
    pub async fn serve(self, dirs: Vec<PathBuf>, seed: u64) {
        let desk = Rc::new(Desk {
            hosts: [
                format!("127.0.0.1:{}", self.address.port()),
                format!("localhost:{}", self.address.port()),
            ],
            token: self.token,
            dirs,
            seed,
            kept: RefCell::new(None),
        });
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = open.next() => {}
                accepted = self.listener.accept(), if open.len() < CONNECTIONS => {
                    if let Ok((stream, _)) = accepted {
                        open.push(connection(stream, Rc::clone(&desk)));
                    }
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, desk: Rc<Desk>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = desk.answer(request.method(), request.uri().path(), host(&request));
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

fn host(request: &Request<Incoming>) -> Option<&str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

/// What answers: the runs, read anew when their files have grown.
struct Desk {
    hosts: [String; 2],
    token: String,
    dirs: Vec<PathBuf>,
    seed: u64,
    kept: RefCell<Option<(String, Rc<Report>)>>,
}

impl Desk {
    fn answer(&self, method: &Method, path: &str, host: Option<&str>) -> Response<Full<Bytes>> {
        // Another site whose name leads here (DNS rebinding) sends its own name.
        if !host.is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return refused(StatusCode::MISDIRECTED_REQUEST, "unknown host");
        }
        let asked = path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let Some((token, path)) = asked else {
            return refused(StatusCode::NOT_FOUND, "the address needs its token");
        };
        // Equal in time: blake3 compares hashes so.
        if blake3::hash(token.as_bytes()) != blake3::hash(self.token.as_bytes()) {
            return refused(StatusCode::NOT_FOUND, "the address needs its token");
        }
        if method != Method::GET {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "read only");
        }
        match self.page(path) {
            Ok(response) => response,
            Err(error) => refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                &format!("failed to {error}"),
            ),
        }
    }

    fn page(&self, path: &str) -> Result<Response<Full<Bytes>>, RecordError> {
        let json = |value: &Value| response(StatusCode::OK, "application/json", value.to_string());
        Ok(match path {
            "" => response(
                StatusCode::OK,
                "text/html; charset=utf-8",
                shell(&*self.report()?),
            ),
            "index.json" => json(&index(&*self.report()?)),
            "version" => json(&json!({
                "version": self.version(),
                "complete": self.report()?.runs.iter().all(|run| run.complete),
            })),
            path => match path.strip_prefix("session/").map(str::parse) {
                Some(Ok(place)) => json(&session(&*self.report()?, place)),
                _ => refused(StatusCode::NOT_FOUND, "no such page"),
            },
        })
    }

    /// The report of what is on disk now.
    fn report(&self) -> Result<Rc<Report>, RecordError> {
        let version = self.version();
        if let Some((kept, report)) = &*self.kept.borrow()
            && *kept == version
        {
            return Ok(Rc::clone(report));
        }
        let runs: Result<Vec<RunRecord>, RecordError> =
            self.dirs.iter().map(|dir| RunRecord::so_far(dir)).collect();
        let report = Rc::new(Report::new(runs?, &[], self.seed));
        *self.kept.borrow_mut() = Some((version, Rc::clone(&report)));
        Ok(report)
    }

    /// Changes when a line is journaled and when a run ends: journals only grow.
    fn version(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for dir in &self.dirs {
            for path in record_files(dir) {
                let length = path.metadata().map_or(0, |metadata| metadata.len());
                hasher.update(path.as_os_str().as_encoded_bytes());
                hasher.update(&length.to_le_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

fn record_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = dir
        .join("journal")
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.push(dir.join("results.json"));
    files.sort();
    files
}

/// A session by its place in the index.
fn session(report: &Report, mut place: usize) -> Value {
    for run in &report.runs {
        let lines = &run.results.sessions;
        let Some(line) = lines.get(place) else {
            place -= lines.len();
            continue;
        };
        let same = |other: &&_| {
            let other: &pibench_record::results::SessionLine = other;
            (&other.persona, other.run) == (&line.persona, line.run)
        };
        let episode: Vec<_> = lines.iter().filter(same).cloned().collect();
        let at = episode.iter().position(|other| other.id == line.id);
        return at
            .and_then(|at| episode_chunks(run, &episode).nth(at))
            .unwrap_or_default();
    }
    Value::Null
}

fn refused(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", why.to_owned())
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
    response
}
