//! Rules of the house that no compiler checks: who may import whom, what stands nowhere, what the documents promise.

mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::scene::{Scene, files, root};

/// The files that the project keeps, by path from its root.
#[expect(clippy::disallowed_methods, reason = "a test asks git what is tracked")]
fn tracked() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "-co", "--exclude-standard"])
        .current_dir(root())
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let read = |path: &str| {
        Some((
            path.to_owned(),
            std::fs::read_to_string(root().join(path)).ok()?,
        ))
    };
    listed
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(read)
        .collect()
}

fn sources(below: &str) -> Vec<(String, String)> {
    // Benches start processes and tasks as tests do.
    let rust = |(path, _): &(String, String)| {
        path.starts_with(below) && path.ends_with("rs") && !path.starts_with("host/benches/")
    };
    let found: Vec<_> = tracked().into_iter().filter(rust).collect();
    assert!(!found.is_empty(), "no sources below {below}");
    found
}

fn assert_absent(below: &str, words: &[&str], allowed: &[&str]) {
    for (path, text) in sources(below) {
        if allowed.contains(&path.as_str()) {
            continue;
        }
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            for word in words {
                assert!(
                    !line.contains(word),
                    "{path}:{}: `{word}` does not belong here",
                    number + 1
                );
            }
        }
    }
}

#[test]
fn eval_is_pure() {
    assert_absent(
        "host/crates/core",
        &[
            "async ",
            "tokio",
            "std::fs",
            "std::env",
            "std::time",
            "Instant",
            "rayon",
            "rand_",
            "rand::",
            "getrandom",
        ],
        &[
            "host/crates/core/src/session/tests.rs",
            "host/crates/core/src/aggregate/tests.rs",
            // Resampling, from a seed that is given.
            "host/crates/core/src/statistics/draw.rs",
        ],
    );
}

/// The Cargo.toml of a folder.
fn manifest(folder: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml"));
    text.unwrap().parse().unwrap()
}

/// The host's crates by the names of their folders, the program itself as `host`.
fn manifests() -> Vec<(String, toml::Table)> {
    let mut all = vec![("host".to_owned(), manifest("host"))];
    for entry in std::fs::read_dir(root().join("host/crates")).unwrap() {
        let floor = entry.unwrap().file_name().into_string().unwrap();
        let manifest = manifest(&format!("host/crates/{floor}"));
        all.push((floor, manifest));
    }
    assert!(all.len() > 19);
    all
}

/// What a crate is built of, on any target. Its tests may know more.
fn needed(manifest: &toml::Table) -> Vec<String> {
    let kinds = ["dependencies", "build-dependencies"].map(|kind| manifest.get(kind));
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let targets = targets.map(|target| target.get("dependencies"));
    let tables = kinds.into_iter().chain(targets).flatten();
    let names = tables.filter_map(toml::Value::as_table);
    names.flat_map(toml::Table::keys).cloned().collect()
}

/// The sets of features with which each package is built, by name and version.
#[expect(
    clippy::disallowed_methods,
    reason = "a test asks cargo what it would build"
)]
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", "--edges", edges,
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    let said = String::from_utf8(output.stdout).unwrap();
    for line in said.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.trim_end_matches(" (*)").split_once('|').unwrap();
        let features = features.to_owned();
        found
            .entry(package.to_owned())
            .or_default()
            .insert(features);
    }
    found
}

/// A feature that the tests alone ask for would have that package, and all above it, compiled a second time.
#[test]
fn packages_have_the_same_features_with_and_without_the_tests() {
    let (built, tested) = (features("normal,build"), features("normal,build,dev"));
    for (package, features) in &built {
        // Macros have it without the places in sources that a test reads.
        if !package.starts_with("proc-macro2 ") {
            assert_eq!(
                features, &tested[package],
                "{package}; name it in host/Cargo.toml"
            );
        }
    }
    assert!(built.len() > 300, "{}", built.len());
}

/// Each floor, those that it may stand on, and what is heavy or dangerous that it may know. Cargo refuses circles.
const FLOORS: [(&str, &[&str], &[&str]); 20] = [
    ("core", &[], &[]),
    ("memory", &[], &[]),
    ("embedded", &[], &["zstd"]),
    ("door", &[], &["hyper"]),
    ("acp", &["core"], &["agent-client-protocol-schema"]),
    ("signature", &[], &["ssh-key"]),
    ("vault", &[], &["age", "aes-gcm-siv", "ssh-key", "zstd"]),
    ("suite", &["core", "vault"], &[]),
    ("import", &["core", "suite"], &["rusqlite"]),
    (
        "sandbox",
        &["core", "memory", "signature", "suite"],
        &["wasmtime", "wasmtime-wasi"],
    ),
    ("tls", &[], &["reqwest", "rustls"]),
    ("model", &["core", "memory", "suite", "tls"], &["reqwest"]),
    ("agent", &["core", "sandbox", "model", "record"], &[]),
    ("record", &["core", "vault"], &[]),
    ("store", &["record", "tls"], &["object_store"]),
    (
        "engine",
        &[
            "core",
            "memory",
            "door",
            "acp",
            "signature",
            "vault",
            "suite",
            "import",
            "sandbox",
            "model",
            "agent",
            "record",
        ],
        &["agent-client-protocol-schema"],
    ),
    (
        "report",
        &["core", "door", "vault", "suite", "record"],
        &["plotters"],
    ),
    ("board", &["core", "vault", "record", "report"], &["zstd"]),
    (
        "pack",
        &["core", "vault", "suite", "tls"],
        &["reqwest", "zstd"],
    ),
    // What submitters used and what waits must outlast the process, and two processes write it: the hub and `hub token`.
    (
        "hub",
        &["core", "door", "signature", "record", "engine", "board"],
        &["rusqlite"],
    ),
];

#[test]
fn each_crate_stands_on_those_that_it_may() {
    let crates = std::fs::read_dir(root().join("host/crates")).unwrap();
    assert_eq!(crates.count(), FLOORS.len(), "a crate has no floor here");
    let special: Vec<&str> = FLOORS
        .iter()
        .flat_map(|(_, _, own)| *own)
        .copied()
        .collect();
    for (name, below, own) in FLOORS {
        let manifest = manifest(&format!("host/crates/{name}"));
        for dependency in &needed(&manifest) {
            let floor = dependency
                .strip_prefix("pibench-")
                .filter(|floor| *floor != "search");
            assert!(
                floor.is_none_or(|floor| below.contains(&floor)),
                "{name} may not know {dependency}"
            );
            let special = special.contains(&dependency.as_str());
            assert!(
                !special || own.contains(&dependency.as_str()),
                "{dependency} does not belong into {name}"
            );
        }
    }
}

/// Crates that read bytes of strangers, and the floors that may have them; none named: all may. What is not on a list fails the
/// test: say whether it reads such bytes, and whether it is bounded in time, memory and depth whatever they are. What is not,
/// such as quick-xml, calamine or pdf-extract, belongs into a guest.
const PARSERS: [(&str, &[&str]); 39] = [
    ("age", &["vault"]),
    ("agent-client-protocol-schema", &["acp", "engine", "host"]),
    ("axum", &["door", "engine", "hub", "report"]),
    ("base64", &["board", "core", "pack", "record", "report"]),
    ("boon", &["sandbox"]),
    ("cronexpr", &["agent"]),
    ("csv", &["record", "report"]),
    ("flate2", &["report"]),
    ("globset", &["agent", "core"]),
    ("granit-parser", &["import"]),
    ("hyper", &["door"]),
    ("hyper-util", &["door"]),
    ("jiff", &[]),
    ("minijinja", &["agent", "engine", "host"]),
    ("object_store", &["store"]),
    ("parquet", &["report"]),
    ("percent-encoding", &["model", "store"]),
    ("regex", &["agent", "core"]),
    ("regex-automata", &["core"]),
    ("regex-syntax", &["core"]),
    ("reqwest", &["model", "pack", "tls"]),
    ("rmcp", &["engine", "hub"]),
    ("rusqlite", &["hub", "import"]),
    // What a server sends before anything is encrypted; its records have 16 KiB at most.
    ("rustls", &["tls"]),
    ("serde", &[]),
    ("serde-saphyr", &["agent", "suite"]),
    ("serde_json", &[]),
    // A list of tokens and no tree; of a line of a few hundred characters.
    ("spdx", &["pack"]),
    ("ssh-key", &["signature", "vault"]),
    ("tar", &["board", "pack", "vault"]),
    ("toml", &[]),
    ("toml_parser", &["suite"]),
    ("unicode-normalization", &["core", "pack"]),
    ("unicode-security", &["pack"]),
    ("url", &["store"]),
    ("wasmparser", &["sandbox"]),
    ("wasmtime", &["sandbox"]),
    ("zip", &["report"]),
    ("zstd", &["board", "embedded", "pack", "vault"]),
];

/// Crates that read no bytes of strangers.
const OTHERS: [&str; 42] = [
    "aes-gcm-siv",
    "anyhow",
    "async-trait",
    "blake3",
    "bstr",
    "bytes",
    "camino",
    "cap-std",
    "clap",
    "clap_complete",
    "clap_mangen",
    "comfy-table",
    "console",
    "fnv",
    "futures",
    "getrandom",
    "indexmap",
    "indicatif",
    "memchr",
    "miette",
    "mimalloc",
    "plotters",
    "rand_chacha",
    "rand_core",
    "rayon",
    "rustix",
    "schemars",
    "semver",
    "sha2",
    "signal-hook",
    "similar",
    "slab",
    "strsim",
    "tempfile",
    "thiserror",
    "tokio",
    "tokio-util",
    "tracing",
    "tracing-subscriber",
    "wasmtime-wasi",
    "zerocopy",
    "zeroize",
];

/// The crates that a floor's program is made of, on any system.
fn dependencies(manifest: &toml::Table) -> Vec<&String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let tables = tables.filter_map(|table| table.get("dependencies")?.as_table());
    tables.flat_map(toml::Table::keys).collect()
}

#[test]
fn what_reads_bytes_of_strangers_stands_where_it_may() {
    for (floor, manifest) in manifests() {
        for name in dependencies(&manifest) {
            let parser = PARSERS.iter().find(|(parser, _)| parser == name);
            if let Some((_, floors)) = parser {
                let may = floors.is_empty() || floors.contains(&floor.as_str());
                assert!(may, "{name} reads bytes of strangers: not in {floor}");
                continue;
            }
            assert!(
                name.starts_with("pibench-") || OTHERS.contains(&name.as_str()),
                "{floor} has {name}: say in tests/tidy.rs whether it reads bytes of strangers"
            );
        }
    }
}

#[test]
fn tasks_are_spawned_by_the_dispatcher_only() {
    assert_absent(
        "host/",
        &[
            ".spawn(",
            "tokio::spawn",
            "spawn_blocking",
            "rayon::spawn",
            "thread::spawn",
        ],
        &[
            "host/crates/engine/src/dispatcher.rs",
            // Episodes that are verified side by side.
            "host/crates/engine/src/verify.rs",
            // The epoch ticker, the progress display, and the compiling of patterns: threads, no tasks.
            "host/crates/sandbox/src/engine.rs",
            "host/crates/report/src/progress.rs",
            "host/crates/engine/src/words.rs",
            // Episodes that come one by one while others play, and what is made of those that are over.
            "host/crates/hub/src/hall.rs",
            // What sends spans.
            "host/crates/model/src/collector.rs",
            // A server of the test's own.
            "host/crates/model/src/client/tests.rs",
            // Parts of a run that a test plays at once.
            "host/crates/engine/src/spending/share.rs",
            // What a test has work beside the host.
            "host/crates/sandbox/src/workspace/beside.rs",
            // What sends files to a store, on a runtime of its own.
            "host/crates/store/src/sender.rs",
            // What hears the signals that end a command on copies of stored runs.
            "host/src/commands/stored.rs",
            // The process of an agent of the operator's own.
            "host/crates/acp/src/process.rs",
            // The compiling process, and the alarm in it.
            "host/crates/sandbox/src/compile.rs",
        ],
    );
}

#[test]
fn what_is_told_on_stderr_ends_no_run() {
    assert_absent(
        "host/",
        &["eprintln!(", "eprint!("],
        &[
            "host/crates/embedded/src/main.rs",
            "host/benches/host.rs",
            // The compiling process tells the one that waits for it.
            "host/crates/sandbox/src/compile.rs",
        ],
    );
}

#[test]
fn unsafe_code_stands_in_one_file() {
    assert_absent(
        "host/",
        &["unsafe {", "unsafe fn", "unsafe impl"],
        &["host/crates/sandbox/src/cache.rs"],
    );
}

#[test]
fn generated_bindings_stay_where_they_are() {
    for (path, text) in sources("host/") {
        let inside = path.starts_with("host/crates/sandbox");
        assert!(
            inside || !(text.contains("wasmtime::") || text.contains("wasmtime_wasi")),
            "{path} knows wasmtime"
        );
    }
}

#[test]
fn nothing_is_unfinished_and_no_machine_is_named() {
    // Split, so that this file does not find itself.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    let machines = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    for (path, text) in tracked() {
        // The people of the tasks have homes in the File System app.
        let apps = ["tasks/", "plugins/file_system/"];
        let home = if apps.iter().any(|folder| path.starts_with(folder)) {
            machines[2]
        } else {
            ""
        };
        for word in marks.iter().chain(&machines) {
            assert!(
                *word == home || !text.contains(word),
                "{path} holds `{word}`"
            );
        }
    }
}

/// A digest that depends on the builder's folders is one that nobody else can check.
#[test]
fn no_component_names_the_machine_that_built_it() {
    let own = root().join("target/plugins");
    let hostile = root().join("target/wasm32-wasip2/guest");
    let of = |dir: &Path| {
        files(dir)
            .into_iter()
            .filter(|(name, _)| Path::new(name).extension().is_some_and(|end| end == "wasm"))
    };
    let hostile = of(&hostile).filter(|(name, _)| name.starts_with("hostile_"));
    let all: Vec<_> = of(&own).chain(hostile).collect();
    assert!(all.len() > 12, "{}", all.len());
    let (here, home) = (root(), format!("{}/", std::env::var("HOME").unwrap()));
    let here = here.to_str().unwrap();
    for (name, bytes) in all {
        // What componentize-py brings along was built elsewhere, by a cargo of its own.
        let of_others = name == "python.wasm";
        let places = [
            (here, true),
            ("/registry/src/", !of_others),
            (&home, !of_others),
        ];
        for (place, _) in places.into_iter().filter(|(_, counts)| *counts) {
            let found = bytes
                .windows(place.len())
                .any(|part| part == place.as_bytes());
            assert!(
                !found,
                "{name} holds the path {place}: build it by plugins/build.sh"
            );
        }
    }
}

#[test]
fn modules_are_named_for_what_they_are() {
    for (path, _) in sources("host/").into_iter().chain(sources("plugins")) {
        let name = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        assert!(
            ![
                "util", "utils", "helper", "helpers", "common", "manager", "mod"
            ]
            .contains(&name),
            "{path}"
        );
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (path, text) in sources("host/").into_iter().chain(sources("plugins")) {
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        assert!(
            tests || text.starts_with("//!"),
            "{path} opens without a word on its job"
        );
    }
}

#[test]
fn the_architecture_fits_and_names_rooms_that_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() < 200, "{} lines", text.lines().count());
    for word in text.split(|c: char| c.is_whitespace() || "`(),|".contains(c)) {
        let room = ["host/", "plugins/", "tests/", "tasks/", "wit/"]
            .iter()
            .any(|room| word.starts_with(room));
        if room && !word.contains(['*', '<']) {
            let path = word.trim_end_matches(['.', ':', ';']);
            assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}");
        }
    }
}

#[test]
fn the_readme_names_every_exit_code_and_command() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let table = std::fs::read_to_string(root().join("host/src/exit.rs")).unwrap();
    let codes = table.lines().filter_map(|line| {
        let (_, code) = line.trim().strip_prefix("Self::")?.split_once(" => ")?;
        code.trim_end_matches(',').parse::<u8>().ok()
    });
    let codes: Vec<u8> = codes.collect();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        let row = format!("| {code} |");
        assert!(text.contains(&row), "README.md lacks exit code {code}");
    }
    let help = Scene::new().run(&["--help"]).stdout;
    let help = String::from_utf8(help).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    // What a line goes on with stands further in.
    let names = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help");
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        let forms = [
            format!("pibench-host {name}"),
            format!("`{name} "),
            format!("`{name}`"),
        ];
        assert!(
            forms.iter().any(|form| text.contains(form)),
            "README.md lacks {name}"
        );
    }
}

#[test]
fn the_page_for_dashboards_names_every_field_of_the_results() {
    let printed = Scene::new().run(&["schema", "results"]).stdout;
    let schema: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    let text = std::fs::read_to_string(root().join("docs/results.md")).unwrap();
    let (_, fields) = text.split_once("## `results.json`").unwrap();
    let (fields, _) = fields.split_once("\n## ").unwrap();
    let parts = schema["$defs"].as_object().unwrap().values();
    let objects = parts
        .chain([&schema])
        .filter_map(|part| part["properties"].as_object());
    let names: Vec<&String> = objects.flat_map(serde_json::Map::keys).collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        assert!(
            fields.contains(&format!("`{name}`")),
            "docs/results.md lacks {name}"
        );
    }
}

#[test]
fn the_container_is_of_pinned_images_and_runs_as_nobody() {
    let text = std::fs::read_to_string(root().join("host/packages/Containerfile")).unwrap();
    // One instruction a line: what goes on in the next one is joined.
    let text = text.replace("\\\n", " ");
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let all: Vec<(&str, &str)> = lines.map(|line| line.split_once(' ').unwrap()).collect();
    let stages: Vec<&str> = all
        .iter()
        .filter(|(what, _)| *what == "FROM")
        .map(|(_, of)| *of)
        .collect();
    assert_eq!(stages.len(), 2, "{stages:?}");
    for image in stages {
        let image = image.split(' ').next().unwrap();
        let (_, tag) = image
            .rsplit_once(':')
            .unwrap_or_else(|| panic!("{image} has no tag"));
        assert_ne!(tag, "latest", "{image}");
    }
    let last = all.iter().rposition(|(what, _)| *what == "FROM").unwrap();
    for (what, of) in &all[last..] {
        match *what {
            "USER" => {
                let (user, group) = of.split_once(':').unwrap();
                assert!(
                    user.parse::<u32>().unwrap() > 0 && group.parse::<u32>().unwrap() > 0,
                    "{of}"
                );
            }
            "ENTRYPOINT" => assert_eq!(*of, "[\"/usr/bin/pibench-host\"]", "without a shell"),
            "COPY" => assert!(of.contains("--from=unpacked"), "{of}"),
            "FROM" | "ENV" | "WORKDIR" => {}
            other => panic!("{other} in what is handed out: {of}"),
        }
    }
    let has = |wanted: &str| {
        all[last..]
            .iter()
            .filter(|(what, _)| *what == wanted)
            .count()
    };
    assert_eq!((has("USER"), has("ENTRYPOINT")), (1, 1));
    assert!(
        all.iter()
            .all(|(what, of)| *what != "ADD" && !of.contains("curl") && !of.contains("apt"))
    );
    // The archive that the first lines name is that which `make dist` makes.
    let version = env!("CARGO_PKG_VERSION");
    let text = std::fs::read_to_string(root().join("host/packages/Containerfile")).unwrap();
    assert!(
        text.contains(&format!("ARCHIVE=pibench-host-{version}-")),
        "{version}"
    );
}

#[test]
fn every_promise_of_the_security_policy_names_a_test_that_exists() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let rust: Vec<String> = tracked()
        .into_iter()
        .filter(|(path, _)| path.ends_with("rs"))
        .map(|(_, text)| text)
        .collect();
    let name = regex::Regex::new("`([a-z0-9]+(?:_[a-z0-9]+){2,})`").unwrap();
    let named: Vec<&str> = name
        .captures_iter(&text)
        .map(|found| found.extract::<1>().1[0])
        .collect();
    assert!(named.len() > 20, "{named:?}");
    for test in named {
        let function = format!("fn {test}(");
        assert!(
            rust.iter().any(|text| text.contains(&function)),
            "SECURITY.md names {test}, which is no test"
        );
    }
}

#[test]
fn every_rule_of_the_protocols_names_tests_that_exist() {
    let text = std::fs::read_to_string(root().join("docs/protocols.md")).unwrap();
    let sources: Vec<String> = tracked()
        .into_iter()
        .filter(|(path, _)| path.ends_with("rs") || path.ends_with("py"))
        .map(|(_, text)| text)
        .collect();
    let rules: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| "))
        .skip(2)
        .collect();
    assert!(rules.len() > 15, "{rules:?}");
    for rule in rules {
        let columns: Vec<&str> = rule.trim_matches('|').split('|').collect();
        assert_eq!(columns.len(), 6, "{rule}");
        let tests: Vec<&str> = columns[5].split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test: {rule}");
        for test in tests {
            let defined = [format!("fn {test}("), format!("def {test}(")];
            let exists = |text: &String| defined.iter().any(|function| text.contains(function));
            assert!(
                sources.iter().any(exists),
                "docs/protocols.md names {test}, which is no test"
            );
        }
    }
}

#[test]
fn every_difference_of_our_apps_names_tests_that_exist() {
    let text = std::fs::read_to_string(root().join("plugins/README.md")).unwrap();
    let (_, table) = text.split_once("\n## How our apps differ\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(2)
        .collect();
    assert!(rows.len() > 20, "{rows:?}");
    let sources = sources("plugins/");
    // An app's name has one underscore at most.
    let name = regex::Regex::new("`([a-z0-9]+(?:_[a-z0-9]+){2,})`").unwrap();
    for row in rows {
        let columns: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(columns.len(), 5, "{row}");
        let mut tests = name.captures_iter(columns[4]).peekable();
        assert!(tests.peek().is_some(), "no test: {row}");
        for test in tests {
            let function = format!("fn {}(", &test[1]);
            assert!(
                sources.iter().any(|(_, text)| text.contains(&function)),
                "plugins/README.md names {}, which is no test",
                &test[1]
            );
        }
    }
}

/// A version of the interface that plugins are built against is frozen beside the tests: a change of `wit/` under the same
/// version breaks plugins that nobody rebuilt. A new version is frozen by a copy; old ones stay.
#[test]
fn the_interface_is_the_frozen_one_of_its_version() {
    let interface = |folder: &Path| -> Vec<(String, String)> {
        let texts = files(folder).into_iter();
        texts
            .filter(|(path, _)| path.ends_with("wit"))
            .map(|(path, text)| (path, String::from_utf8(text).unwrap()))
            .collect()
    };
    let current = interface(&root().join("wit"));
    let package = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let version = package(&current[0].1);
    let version = version
        .strip_prefix("package pibench:plugin@")
        .and_then(|rest| rest.strip_suffix(';'))
        .unwrap();
    let frozen = root().join("tests/fixtures/wit").join(version);
    let copy = format!("cp wit/*.wit {}", frozen.display());
    assert!(
        frozen.exists(),
        "version {version} is new; freeze it: {copy}"
    );
    let frozen = interface(&frozen);
    for ((path, text), (frozen_path, frozen_text)) in current.iter().zip(&frozen) {
        assert_eq!(
            package(text),
            package(&current[0].1),
            "{path} is of another version"
        );
        assert_eq!(
            path, frozen_path,
            "a file came or went under version {version}"
        );
        assert_eq!(
            text, frozen_text,
            "wit/{path} changed under version {version}: raise the version of every file, then {copy}"
        );
    }
    assert_eq!(
        current.len(),
        frozen.len(),
        "a file came or went under version {version}"
    );
}

#[test]
fn every_deed_of_a_hostile_guest_has_a_test() {
    let guest = std::fs::read_to_string(root().join("tests/hostile/grader/src/lib.rs")).unwrap();
    let tests = std::fs::read_to_string(root().join("tests/hostile.rs")).unwrap();
    let declared = regex::Regex::new(r#"Some\("([\w ]+)"\) =>"#).unwrap();
    let deeds: Vec<&str> = declared
        .captures_iter(&guest)
        .map(|found| found.extract::<1>().1[0])
        .collect();
    assert!(deeds.len() > 10, "{deeds:?}");
    for deed in deeds {
        assert!(
            tests.contains(&format!("\"{deed}\"")),
            "no test makes the grader `{deed}`"
        );
    }
    let guest = std::fs::read_to_string(root().join("tests/hostile/app/src/lib.rs")).unwrap();
    let declared = regex::Regex::new(r#"\.public\(\s*"(\w+)""#).unwrap();
    let tools: Vec<&str> = declared
        .captures_iter(&guest)
        .map(|found| found.extract::<1>().1[0])
        .collect();
    assert!(tools.len() > 5, "{tools:?}");
    for tool in tools {
        assert!(
            tests.contains(&format!("\"{tool}\"")),
            "no test calls the app's `{tool}`"
        );
    }
}

/// The fields of a struct in a file, by its text.
fn fields(path: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let start = text.find(&format!("pub struct {name} {{")).expect(name);
    let body = &text[start..start + text[start..].find("\n}").unwrap()];
    let field = regex::Regex::new(r"(?m)^    pub (\w+):").unwrap();
    field
        .captures_iter(body)
        .map(|found| found.extract::<1>().1[0].to_owned())
        .collect()
}

#[test]
fn every_limit_has_a_test_that_is_named_after_it() {
    let tests = std::fs::read_to_string(root().join("tests/limits.rs")).unwrap();
    let limits = "host/crates/sandbox/src/limits.rs";
    let all = [
        fields(limits, "Limits"),
        fields(limits, "LoadLimits"),
        fields("host/crates/sandbox/src/engine.rs", "EngineLimits"),
    ];
    for field in all.into_iter().flatten() {
        assert!(
            tests.contains(&format!("fn {field}()")),
            "tests/limits.rs has no test `{field}`"
        );
    }
}

#[test]
fn processes_are_started_for_compiling_for_building_and_for_the_operators_own_agents_only() {
    assert_absent(
        "host/",
        &["Command::new(", "posix_spawn", "fork("],
        &[
            "host/crates/sandbox/src/compile.rs",
            // The operator's own agents, and what confines them; the pipes of those.
            "host/crates/acp/src/confine.rs",
            "host/crates/acp/src/process.rs",
            // Cargo and componentize-py, for authors.
            "host/src/commands/plugin/build.rs",
            "host/crates/sandbox/src/workspace/tests.rs",
        ],
    );
}

#[test]
fn commands_load_plugins_on_the_operators_terms() {
    assert_absent("host/src/commands", &["Plugins::new("], &[]);
}
