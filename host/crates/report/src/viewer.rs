//! The page served on this machine, so that a run can be watched while it plays. It answers reads on 127.0.0.1 only, to
//! whoever knows the address with its token, and writes nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use pibench_door::{Door, DoorError, Guest};
use serde_json::{Value, json};

use super::follow::pulse;
use super::page::{episode_chunks, index, shell};
use super::progress::doing;
use super::report::Report;
use super::run_record::{RecordError, RunRecord};
use pibench_record::folder_lock::is_worked_on;
use pibench_record::parts::runs_in;

/// Why there is no viewer.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    #[error(transparent)]
    Door(#[from] DoorError),
    #[error("draw a token: {reason}")]
    Token { reason: String },
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Viewer {
    door: Door,
    /// 128 random bits, hex: other users and other pages of this machine cannot guess it.
    token: String,
}

impl Viewer {
    /// Takes a port; 0 for any that is free.
    pub async fn bind(port: u16) -> Result<Self, ViewerError> {
        let door = Door::open(port).await?;
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| ViewerError::Token {
            reason: error.to_string(),
        })?;
        let token = format!("{:032x}", u128::from_be_bytes(bits));
        Ok(Self { door, token })
    }

    /// Where a browser finds the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.door.address(), self.token)
    }

    /// Answers until the future is dropped. `dirs`: run folders, or folders of several agents or parts.
    pub async fn serve(self, dirs: Vec<PathBuf>, seed: u64) {
        let port = self.door.address().port();
        let desk = Arc::new(Desk {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token: self.token,
            dirs,
            seed,
            kept: Mutex::new(None),
        });
        let app = Router::new().fallback(answer).with_state(desk);
        self.door.serve(app).await;
    }
}

async fn answer(
    State(desk): State<Arc<Desk>>,
    Extension(guest): Extension<Guest>,
    request: Request,
) -> Response {
    let path = request.uri().path();
    desk.answer(request.method(), path, host(request.headers()), &guest)
}

fn host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
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
    kept: Mutex<Option<(String, Arc<Report>)>>,
}

impl Desk {
    fn answer(&self, method: &Method, path: &str, host: Option<&str>, guest: &Guest) -> Response {
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
        guest.admit();
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

    fn page(&self, path: &str) -> Result<Response, RecordError> {
        let json = |value: &Value| response(StatusCode::OK, "application/json", value.to_string());
        Ok(match path {
            "" => response(
                StatusCode::OK,
                "text/html; charset=utf-8",
                shell(&*self.report()?),
            ),
            "index.json" => json(&json!(index(&*self.report()?))),
            "version" => json(&json!({
                "version": self.version(),
                "complete": self.report()?.runs.iter().all(|run| run.complete),
                "doing": self.doing(),
            })),
            path => match path.strip_prefix("session/").map(str::parse) {
                Some(Ok(place)) => json(&session(&*self.report()?, place)),
                _ => refused(StatusCode::NOT_FOUND, "no such page"),
            },
        })
    }

    /// The report of what is on disk now.
    fn report(&self) -> Result<Arc<Report>, RecordError> {
        let version = self.version();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, report)) = &*kept
            && *of == version
        {
            return Ok(Arc::clone(report));
        }
        let mut runs = Vec::new();
        for dir in &self.dirs {
            runs.extend(RunRecord::all_so_far(dir)?);
        }
        let report = Arc::new(Report::new(runs, &[], self.seed)?);
        *kept = Some((version, Arc::clone(&report)));
        Ok(report)
    }

    /// How the models are doing, in words; null where none is asked now.
    fn doing(&self) -> Option<String> {
        let dirs: Vec<PathBuf> = self.dirs.iter().flat_map(|dir| runs_in(dir)).collect();
        let pulse = pulse(dirs.iter().map(PathBuf::as_path))?;
        Some(doing(&pulse).join("; "))
    }

    /// Changes when a line is journaled, when a run ends, and when nobody plays it any more: journals only grow.
    fn version(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for dir in self.dirs.iter().flat_map(|dir| runs_in(dir)) {
            for path in record_files(&dir) {
                let length = path.metadata().map_or(0, |metadata| metadata.len());
                hasher.update(path.as_os_str().as_encoded_bytes());
                hasher.update(&length.to_le_bytes());
            }
            hasher.update(&[u8::from(is_worked_on(&dir))]);
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
            .and_then(|at| {
                let times = run.times(&line.persona, line.run);
                episode_chunks(run, &episode, times).nth(at)
            })
            .unwrap_or_default();
    }
    Value::Null
}

fn refused(status: StatusCode, why: &str) -> Response {
    response(status, "text/plain; charset=utf-8", why.to_owned())
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = (status, body).into_response();
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
