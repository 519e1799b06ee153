//! A grader that misbehaves as its configuration says: `{"do": "loop"}`. The host's tests load it as an untrusted
//! plugin.

use pibench_sdk::grader::{Check, Evidence, Grader, Verdict, Workspace};
use serde_json::Value;

struct Hostile;

impl Grader for Hostile {
    fn list_checks(_config: &str) -> Result<Vec<Check>, String> {
        Ok(vec![Check {
            id: "met".into(),
            description: String::new(),
        }])
    }

    #[expect(clippy::disallowed_methods, reason = "it tries")]
    fn grade(
        config: &str,
        _evidence: &Evidence,
        workspace: &dyn Workspace,
    ) -> Result<Vec<Verdict>, String> {
        let config: Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
        let reason = match config["do"].as_str() {
            Some("pass") => "as asked".to_owned(),
            Some("nothing") => return Ok(Vec::new()),
            Some("loop") => spin(),
            Some("eat memory") => eat_memory(),
            Some("hold memory") => {
                let held = std::hint::black_box(vec![1_u8; 110 << 20]);
                let spun = spin_for(1_500_000_000);
                format!("{} {spun}", held.len())
            }
            Some("panic") => panic!("a guest's panic"),
            Some("divide by zero") => divide(0),
            Some("overflow the stack") => format!("{}", recurse(1)),
            Some("exit") => std::process::exit(3),
            Some("long reason") => "x".repeat(1 << 22),
            Some("refuse") => return Err("\u{1b}[31mcannot grade".into()),
            Some("sleep") => sleep(),
            Some("read files") => outside(),
            Some("read workspace") => {
                return Ok(vec![verdict(&format!(
                    "{:?}",
                    workspace.read(path(&config))
                ))]);
            }
            Some("read environment") => {
                format!("{:?}", std::env::vars().chain(args()).collect::<Vec<_>>())
            }
            Some("connect") => format!(
                "{:?}",
                std::net::TcpStream::connect("127.0.0.1:80").map(drop)
            ),
            Some("tell the time") => format!("{:?}", std::time::SystemTime::now()),
            other => return Err(format!("unknown deed {other:?}")),
        };
        Ok(vec![verdict(&reason)])
    }
}

fn verdict(reason: &str) -> Verdict {
    Verdict {
        check: "met".into(),
        pass: true,
        reason: reason.to_owned(),
    }
}

fn path(config: &Value) -> &str {
    config["path"].as_str().unwrap_or_default()
}

fn args() -> impl Iterator<Item = (String, String)> {
    std::env::args().map(|argument| ("argument".into(), argument))
}

fn spin_for(rounds: u64) -> u64 {
    (0..rounds / 8).fold(0, |sum, round| std::hint::black_box(sum ^ round))
}

fn spin() -> String {
    let mut count = 0_u64;
    loop {
        count = std::hint::black_box(count + 1);
        if count == 0 {
            return "overflowed".into();
        }
    }
}

fn eat_memory() -> String {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(std::hint::black_box(vec![1; 1 << 20]));
    }
}

fn divide(by: u64) -> String {
    (7 / std::hint::black_box(by)).to_string()
}

#[expect(unconditional_recursion, reason = "that is the attack")]
fn recurse(depth: u64) -> u64 {
    std::hint::black_box(recurse(std::hint::black_box(depth + 1)) + 1)
}

fn sleep() -> String {
    std::thread::sleep(std::time::Duration::from_hours(1));
    "slept".into()
}

fn outside() -> String {
    let paths = [
        "/etc/passwd",
        "/proc/self/environ",
        "../../../../etc/passwd",
        ".",
    ];
    let read = |path: &&str| {
        std::fs::read(path)
            .map(|bytes| bytes.len())
            .map_err(|error| error.kind())
    };
    format!(
        "{:?} {:?}",
        paths.iter().map(read).collect::<Vec<_>>(),
        std::fs::read_dir("/").map(drop).is_ok()
    )
}

pibench_sdk::export_grader!(Hostile);
