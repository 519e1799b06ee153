//! What fuzzers call, one function for each door that foreign bytes come through. Each takes any bytes, never fails, and
//! asserts what must be true of what was accepted. `tests/fuzz` drives them; `tests/fuzz_cases.rs` repeats seeds and
//! findings. Nothing else calls this.

mod peer;
mod record;
mod travel;
mod vault;
mod wording;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

pub use self::peer::{acp, hub};
pub use self::record::{databases, journal, outputs};
pub use self::travel::{pack, signature, submission};
pub use self::vault::vault;
pub use self::wording::{patterns, reply, schema};
use pibench_engine::role::fence::{Draw, Nonce};
use pibench_engine::role::parse;
use pibench_engine::role::parse::{ListItem, Styles};
use pibench_import::tasks::import as import_pi_bench;
use pibench_sandbox::lock::Lock;
use pibench_sandbox::{Limits, Plugins, convert};
use pibench_suite::check::check;
use pibench_suite::load::{load, policy as load_policy};
use pibench_suite::problem::lines;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
    static PLUGINS: Plugins = Plugins::new(BTreeMap::new(), Vec::new(), Path::new("/dev/null/none"));
}

/// Writes files below a folder that the thread keeps, and hands it out. Without a folder there is nothing to do.
fn in_folder(files: &[(&str, &[u8])], then: impl FnOnce(&Utf8Path)) {
    FOLDER.with_borrow_mut(|folder| {
        if folder.is_none() {
            *folder = tempfile::tempdir().ok();
        }
        let Some(root) = folder
            .as_ref()
            .and_then(|dir| Utf8Path::from_path(dir.path()))
        else {
            return;
        };
        let write = |(path, content): &(&str, &[u8])| {
            let path = root.join(path);
            let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            parent.and_then(|()| std::fs::write(path, content)).is_ok()
        };
        if files.iter().all(write) {
            then(root);
        }
    });
}

/// A component's file, compiled and linked or refused.
pub fn component(bytes: &[u8]) {
    in_folder(&[("plugin.wasm", bytes)], |root| {
        PLUGINS.with(|plugins| {
            let loaded = plugins.load_file("plugin", root.join("plugin.wasm").as_std_path());
            if let Err(error) = loaded {
                assert!(!error.to_string().is_empty());
            }
        });
    });
}

/// A lock's text.
pub fn lock(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Lock::parse(text) {
        // What was accepted is written and read again.
        Ok(lock) => {
            let written = toml::to_string(&lock).unwrap_or_default();
            assert_eq!(Lock::parse(&written).as_ref(), Ok(&lock));
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// An operator's policy.
pub fn policy(bytes: &[u8]) {
    in_folder(&[("policy.toml", bytes)], |root| {
        match load_policy(&root.join("policy.toml")) {
            Ok(loaded) => assert_eq!(loaded.policy.version, 1),
            Err(problems) => assert!(!problems.0.is_empty()),
        }
    });
}

/// A JSON text that a guest returns.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let limits = Limits {
        result_bytes: 10_000,
        json_depth: 8,
        json_nodes: 500,
        ..Limits::APP
    };
    let Ok(value) = convert::json(text, limits) else {
        return;
    };
    // What was accepted can be written, read again, and is the same.
    let written = value.to_string();
    let again = convert::json(
        &written,
        Limits {
            result_bytes: usize::MAX,
            ..limits
        },
    );
    assert_eq!(again.as_ref().ok(), Some(&value));
}

const PERSONA: &[u8] =
    b"version = 1\nid = \"a\"\nname = \"A\"\nprofile = \"x\"\nepisode = [{ session = \"s\" }]\n";
const SUITE: &[u8] = b"version = 1\nid = \"f\"\npersonas = [\"a\"]\n";

/// A suite, persona or session file: the first byte says which.
pub fn task(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let path = match kind % 3 {
        0 => "suite.toml",
        1 => "a/persona.toml",
        _ => "a/sessions/s/session.toml",
    };
    let files = [
        ("suite.toml", SUITE),
        ("a/persona.toml", PERSONA),
        (path, text),
    ];
    in_folder(&files, |root| {
        check(&root.join(path));
        match load(&root.join("suite.toml")) {
            Ok(loaded) => assert!(!loaded.suite.personas.is_empty()),
            Err(problems) => {
                let told = lines(&problems.0);
                let control = told.chars().any(|c| c.is_control() && c != '\n');
                assert!(!told.is_empty() && !control, "{told:?}");
            }
        }
    });
}

const EPISODE: &[u8] = b"schema_version: v2\nepisode_id: e\nuser_id: a\ntasks:\n  - task_id: t\n";
const PROFILE: &[u8] = b"schema_version: v2\nuser_id: a\nrole: clerk\n";

/// A YAML file of the public data: the first byte says which.
pub fn import(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let path = match kind % 4 {
        0 => "data/a/episode.yaml",
        1 => "data/a/profile.yaml",
        2 => "data/a/tools.yaml",
        _ => "data/a/tasks/t/task.yaml",
    };
    let files = [
        ("data/a/episode.yaml", EPISODE),
        ("data/a/profile.yaml", PROFILE),
        ("data/a/tools.yaml", b"schema_version: v2\ntools: []\n"),
        (path, text),
    ];
    in_folder(&files, |root| {
        let out: Utf8PathBuf = root.join("out");
        // What an earlier input left.
        if std::fs::remove_dir_all(&out).is_err() && out.exists() {
            return;
        }
        let mut checks = |_: &str| Ok(vec!["met".to_owned()]);
        if let Err(error) = import_pi_bench(root, None, &out, &mut checks, &|_| true) {
            assert!(!error.to_string().is_empty());
        } else {
            // What was written is a suite that loads.
            assert!(load(&out.join("suite.toml")).is_ok());
        }
    });
}

/// A judge's or user agent's reply. The delimiter of the seeds is that of `nonce`.
pub fn judge(bytes: &[u8]) {
    let Ok(reply) = std::str::from_utf8(bytes) else {
        return;
    };
    let nonce = nonce();
    let items = ListItem::list(["The file was kept.", "The mail  was sent."].into_iter());
    for styles in [Styles::Absent, Styles::Wanted] {
        let kept = parse::kept_verdicts(reply, &nonce, &items, styles);
        assert_eq!(kept.len(), items.len());
        if let Ok(verdicts) = parse::verdicts(reply, &nonce, &items, styles) {
            let all: Option<Vec<_>> = kept.into_iter().collect();
            assert_eq!(all.as_ref(), Some(&verdicts));
        }
    }
    if let Ok(chosen) = parse::choice(reply, &nonce, &items) {
        assert!(chosen < items.len());
    }
    if let Ok(message) = parse::message(reply, &nonce) {
        assert!(!message.is_empty() && !nonce.occurs_in(&message));
    }
}

fn nonce() -> Nonce {
    Draw::new("fuzz", "fuzz").nonce()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_the_judge_have_the_delimiter_that_is_asked_for() {
        let seeds = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/fuzz/seeds/judge"
        ));
        for seed in std::fs::read_dir(seeds).unwrap() {
            let text = std::fs::read_to_string(seed.unwrap().path()).unwrap();
            assert!(nonce().occurs_in(&text), "{} is not in {text}", nonce());
        }
    }
}
