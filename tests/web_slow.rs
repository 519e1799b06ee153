//! A web that takes its time: a call to it ends with the turn, and few are under way at once.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scaffold::{Asked, RUN, calls, play, suite, text, turns};
use crate::scene::{Scene, expect};

/// A search service that answers once `together` searches are asked for at the same time, with no results; never, if it is 0.
#[derive(Default)]
struct Service {
    together: usize,
    asked: AtomicUsize,
    open: AtomicUsize,
    /// Of those that were open at the same time.
    most: AtomicUsize,
}

impl Service {
    /// Its address, and what it counts.
    fn start(together: usize) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::new(Self {
            together,
            ..Self::default()
        });
        let counts = Arc::clone(&service);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, service) = (stream.unwrap(), Arc::clone(&service));
                std::thread::spawn(move || service.answer(stream));
            }
        });
        (url, counts)
    }

    fn answer(&self, mut stream: TcpStream) {
        let lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let _ = lines.take_while(|line| !line.is_empty()).count();
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(open, Ordering::SeqCst);
        let place = self.asked.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        let is_due = || {
            let asked = self.asked.load(Ordering::SeqCst);
            self.together > 0 && asked > place / self.together * self.together + self.together - 1
        };
        while !is_due() && began.elapsed() < Duration::from_mins(2) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Time for one more to come, if there is one.
        std::thread::sleep(Duration::from_millis(100));
        self.open.fetch_sub(1, Ordering::SeqCst);
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"results\": []}";
        // Nobody may wait for it any more.
        let _ = stream.write_all(answer.as_bytes());
    }
}

/// What comes of a first turn with so many searches: how it ended, and their results.
async fn searched(url: &str, timeout: u32, searches: usize) -> (Value, Vec<String>) {
    let scene = Scene::new();
    let more = format!(
        "[session]\nturn_timeout_s = {timeout}\n[web]\nprovider = \"searxng\"\nurl = \"{url}\"\n"
    );
    suite(&scene, &more, "");
    let search = |at: usize| ("web_search", json!({ "query": format!("tides {at}") }));
    let all: Vec<_> = (0..searches).map(search).collect();
    let answer = move |asked: &Asked| {
        if asked.messages.len() == 2 && asked.last().contains("Request one.") {
            return calls(&all);
        }
        text("Done.")
    };
    expect(&play(&scene, &RUN, answer).await, 0, &[]);
    let first = turns(&scene)[0].clone();
    let steps = first["steps"].as_array().unwrap().iter();
    let result = |step: &Value| Some(step["record"]["result"].as_str()?.to_owned());
    (first["outcome"].clone(), steps.filter_map(result).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_the_web_that_has_no_end_ends_with_the_turn() {
    let used_up = "not run to its end: the time of this turn is used up";
    for searches in [1, 2] {
        let began = Instant::now();
        let (url, service) = Service::start(0);
        let (outcome, results) = searched(&url, 3, searches).await;
        assert_eq!(service.asked.load(Ordering::SeqCst), searches);
        assert_eq!(outcome, "turn_timeout", "{results:?}");
        assert!(
            results.iter().all(|result| result == used_up),
            "{results:?}"
        );
        assert_eq!(results.len(), searches);
        // An answer itself may take 30 seconds.
        assert!(began.elapsed() < Duration::from_secs(25));
        let (url, _) = Service::start(searches);
        let (outcome, results) = searched(&url, 60, searches).await;
        assert_eq!(outcome, Value::Null);
        assert!(results[0].starts_with("No results"), "{results:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_calls_to_the_web_are_under_way_at_once_and_no_more() {
    let (url, service) = Service::start(8);
    let (_, results) = searched(&url, 60, 24).await;
    assert_eq!(results.len(), 24);
    assert_eq!(service.most.load(Ordering::SeqCst), 8);
}
