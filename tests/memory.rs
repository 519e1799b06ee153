//! The bound of the program's own memory (`--memory`), by each of those who can fill it beside a guest: answers of models.
//! Who holds most is ended and named, and what is played is the same in the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::models::asks_for_memory;
use crate::scaffold;
use crate::scene::{Scene, expect};

/// Answers that are under way at once, and the bytes of each: less than the limit of one answer, and all together more than
/// the bound.
const ANSWERS: usize = 8;
const BYTES: usize = 15 << 20;

/// Nothing here takes a minute: a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server of the chat completions of which the first answers are long: a completion, and blanks behind it. They begin when
/// all are asked for, and have no end until the client has broken one off. `long`: how many there are.
#[derive(Default)]
struct Server {
    asked: AtomicUsize,
    broken: AtomicUsize,
}

impl Server {
    /// Its address, and what it counts.
    fn start(long: usize) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = Arc::new(Self::default());
        let counts = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, server) = (stream.unwrap(), Arc::clone(&server));
                std::thread::spawn(move || server.answer(stream, long));
            }
        });
        (url, counts)
    }

    fn answer(&self, mut stream: TcpStream, long: usize) {
        let body = body(&stream);
        let place = self.asked.fetch_add(1, Ordering::SeqCst);
        let reply = if asks_for_memory(&body) {
            let saved = json!({ "history_entry": "Played.", "memory_update": "Blue." });
            scaffold::calls(&[("save_memory", saved)])
        } else {
            scaffold::text("Done.")
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
        let answer = format!("{head}{reply}");
        stream.write_all(answer.as_bytes()).unwrap();
        if place >= long {
            return;
        }
        wait(|| self.asked.load(Ordering::SeqCst) >= long);
        let sent = stream.write_all(&vec![b' '; BYTES]);
        let mut is_broken = sent.is_err();
        // A blank now and then: the client looks at what it holds when something comes.
        let began = Instant::now();
        while !is_broken && self.broken.load(Ordering::SeqCst) == 0 && began.elapsed() < PATIENCE {
            is_broken = stream.write_all(b" ").is_err();
            std::thread::sleep(Duration::from_millis(2));
        }
        if is_broken {
            self.broken.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn body(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_lowercase();
        if let Some(told) = line.strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Waits for a fact.
fn wait(fact: impl Fn() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < PATIENCE, "nothing came of it");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn journals(scene: &Scene, run: &str, runs: usize) -> Vec<Vec<u8>> {
    let path = |number: usize| scene.path(&format!("{run}/journal/p.r{number}.jsonl"));
    let read = |number| std::fs::read(path(number)).unwrap();
    (1..=runs).map(read).collect()
}

#[test]
fn near_the_bound_the_longest_answer_of_a_model_is_ended_and_named_and_asked_for_again() {
    let scene = Scene::new();
    scaffold::suite(&scene, "", "");
    let number = ANSWERS.to_string();
    let run = |url: &str, out: &str, memory: &str| {
        let begin = ["run", "tasks/suite.toml", "--agent", "openai/m"];
        let more = ["--runs", &number, "--jobs", &number, "--no-preflight"];
        let last = ["--out", out, "--memory", memory];
        let args = [&begin[..], &more, &last].concat();
        let variables = [("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", "k")];
        scene.run_with(&args, &variables)
    };
    let (url, server) = Server::start(ANSWERS);
    expect(&run(&url, "run", "96M"), 0, &[]);
    assert!(server.broken.load(Ordering::SeqCst) > 0);
    let log = std::fs::read_to_string(scene.path("run/log.jsonl")).unwrap();
    for said in ["an answer of 127.0.0.1", "its answer was ended: it held"] {
        assert!(log.contains(said), "{said} is not in {log}");
    }
    // Where there is room, and where answers are short, the same is played.
    let (url, server) = Server::start(0);
    expect(&run(&url, "whole", "4G"), 0, &[]);
    assert_eq!(server.broken.load(Ordering::SeqCst), 0);
    let [run, whole] = ["run", "whole"].map(|run| journals(&scene, run, ANSWERS));
    assert!(run == whole);
}

/// A search service whose answers are long and have no end until one was broken off; then they are short. Its address, and how many
/// were broken off.
fn search_service() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let broken = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&broken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, broken) = (stream.unwrap(), Arc::clone(&counts));
            std::thread::spawn(move || find_nothing(stream, &broken));
        }
    });
    (url, broken)
}

/// Blanks, fewer than a page may have, and then that there are no results.
fn find_nothing(mut stream: TcpStream, broken: &AtomicUsize) {
    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let _ = lines.take_while(|line| !line.is_empty()).count();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    if broken.load(Ordering::SeqCst) == 0 {
        let mut is_broken = stream.write_all(&vec![b' '; 9 << 19]).is_err();
        let began = Instant::now();
        while !is_broken && broken.load(Ordering::SeqCst) == 0 && began.elapsed() < PATIENCE {
            is_broken = stream.write_all(b" ").is_err();
            std::thread::sleep(Duration::from_millis(2));
        }
        if is_broken {
            broken.fetch_add(1, Ordering::SeqCst);
            return;
        }
    }
    // The program may have broken this one off, too.
    let _ = stream.write_all(b"{\"results\": []}");
}

#[tokio::test(flavor = "multi_thread")]
async fn near_the_bound_the_longest_page_is_ended_and_named_and_the_run_goes_on_later() {
    const RUNS: usize = 4;
    let scene = Scene::new();
    let (url, broken) = search_service();
    let web = format!("[web]\nprovider = \"searxng\"\nurl = \"{url}\"\n");
    scaffold::suite(&scene, &web, "");
    let play = async |args: &[&str]| {
        let search = |at: usize| ("web_search", json!({ "query": format!("tides {at}") }));
        let searches: Vec<_> = (0..8).map(search).collect();
        let answer = move |asked: &scaffold::Asked| {
            if asked.last().contains("Request one.") {
                return scaffold::calls(&searches);
            }
            scaffold::text("Done.")
        };
        scaffold::play(&scene, args, answer).await
    };
    let run = async |out: &str, memory: &str| {
        let runs = RUNS.to_string();
        let begin = ["run", "tasks/suite.toml", "--agent", "openai/m", "--runs"];
        let more = [&runs, "--jobs", &runs, "--out", out, "--memory", memory];
        play(&[&begin[..], &more].concat()).await
    };
    let said = ["web was ended: it held", "raise --memory"];
    expect(&run("run", "96M").await, 6, &said);
    assert!(broken.load(Ordering::SeqCst) > 0);
    let log = std::fs::read_to_string(scene.path("run/log.jsonl")).unwrap();
    assert!(log.contains("a page of 127.0.0.1"), "{log}");
    let resumed = play(&["run", "--resume", "run", "--memory", "4G"]).await;
    expect(&resumed, 0, &[]);
    expect(&run("whole", "4G").await, 0, &[]);
    let [run, whole] = ["run", "whole"].map(|run| journals(&scene, run, RUNS));
    assert!(run == whole);
}

/// Ten personas of a session each.
fn write_ten(scene: &Scene) {
    let write = |path: String, text: String| {
        let path = scene.path(&path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let personas: Vec<String> = (0..10).map(|at| format!("p{at}")).collect();
    let suite = format!("version = 1\nid = \"ten\"\npersonas = {personas:?}\n");
    write("ten/suite.toml".into(), suite);
    for at in 0..10 {
        let persona = format!(
            "version = 1\nid = \"p{at}\"\nname = \"Ada Quill\"\nprofile = \"A clerk.\"\n[[episode]]\nsession = \"s\"\n"
        );
        write(format!("ten/p{at}/persona.toml"), persona);
        let session = "version = 1\nid = \"s\"\ntitle = \"Shelves\"\nclock = 2026-03-02T09:00:00\nrequest = \"Sort them.\"\n\
                       [[intents]]\nid = \"i\"\ncontent = \"By colour.\"\n[intents.satisfied]\nall = [['by colour']]\n\
                       [[reference]]\nsay = \"They are sorted by colour.\"\n";
        write(format!("ten/p{at}/sessions/s/session.toml"), session.into());
    }
}

/// What a command says that it took at most, in MiB.
fn peak(scene: &Scene, args: &[&str]) -> u64 {
    let output = scene.run(&[&["-v"], args].concat());
    expect(&output, 0, &["Peak memory: "]);
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("Peak memory: "));
    line.unwrap().strip_suffix(" MiB").unwrap().parse().unwrap()
}

#[test]
fn a_long_run_is_merged_verified_and_reported_in_the_memory_of_a_short_one() {
    /// For 3,000 sessions more: 3.5 KB for each. What a report holds of each is a tenth of it; a cell of a table, a line of a
    /// seal or a tree of its results is twice as much.
    const MORE: u64 = 10;
    let scene = Scene::new();
    write_ten(&scene);
    let measure = |runs: &str| {
        let all = format!("all{runs}");
        for part in 1..=2 {
            let (shard, out) = (format!("{part}/2"), format!("{all}/part-{part}"));
            let first = [
                "run",
                "ten/suite.toml",
                "--agent",
                "reference",
                "--jobs",
                "4",
            ];
            let more = ["--runs", runs, "--shard", &shard, "--out", &out];
            expect(&scene.run(&[&first[..], &more].concat()), 0, &[]);
        }
        let (run, report) = (format!("{all}/run"), format!("report{runs}"));
        [
            peak(&scene, &["merge", &all]),
            peak(&scene, &["merge", &all]),
            peak(&scene, &["verify", &run]),
            peak(&scene, &["report", &run]),
            peak(&scene, &["report", &run, "--out", &report]),
        ]
    };
    let (short, long) = (measure("20"), measure("320"));
    for (at, (short, long)) in short.into_iter().zip(long).enumerate() {
        assert!(long <= short + MORE, "{at}: {long} MiB after {short} MiB");
    }
}
