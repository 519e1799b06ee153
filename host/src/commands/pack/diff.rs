//! `pibench-host pack diff`: what changed, and which scores can no longer be held against each other.

use std::collections::BTreeMap;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use super::install::look_at;
use super::store;
use super::stranger::show_moved;
use crate::cli::pack::DiffPacksArgs;
use crate::commands::make_temporary_folder;
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::difference::{Change, Difference, Reach, Side};
use pibench_pack::store::Store;
use pibench_pack::{Contents, Manifest, PackError, contents, manifest, suite_file};
use pibench_report::escape::line;
use pibench_suite::load::load;
use pibench_suite::pack::Pack;
use pibench_suite::suite::Suite;

/// A release as it is looked at.
struct Release {
    root: Utf8PathBuf,
    contents: Contents,
    manifest: Manifest,
    suite: Suite,
    /// Where an archive was unpacked to.
    _dir: tempfile::TempDir,
}

/// Prints the difference of two releases.
pub(super) fn diff(args: &DiffPacksArgs) -> Result<Exit, Failure> {
    let DiffPacksArgs {
        a,
        b,
        store: place,
        json,
    } = args;
    let store = store(place)?;
    let (a, b) = (read(a, &store)?, read(b, &store)?);
    let difference = Difference::between(a.side(), b.side());
    if *json {
        let found = json!({
            "version": 1, "a": a.named(), "b": b.named(), "comparable": difference.is_comparable(), "difference": difference,
        });
        println!("{found}");
    } else {
        print_difference(&a.named(), &b.named(), &difference);
    }
    Ok(Exit::Complete)
}

impl Release {
    fn side(&self) -> Side<'_> {
        Side {
            suite: &self.suite,
            contents: &self.contents,
            manifest: &self.manifest,
            root: &self.root,
        }
    }

    fn named(&self) -> String {
        format!("{}@{}", self.contents.name, self.contents.release)
    }
}

fn read(path: &Utf8Path, store: &Store) -> Result<Release, Failure> {
    let dir = make_temporary_folder()?;
    let (root, contents) = match path.as_str().split_once('@') {
        Some((name, release)) if !path.exists() => {
            let found = store.installed(name, release)?;
            let folder = Utf8PathBuf::try_from(found.folder).or_exit(Exit::Io)?;
            look_at(&folder, dir.path())?
        }
        _ => look_at(path, dir.path())?,
    };
    suite_file::check(&root, &contents)?;
    let suite = match load(&root.join(suite_file::FILE)) {
        Ok(loaded) => loaded.suite,
        Err(problems) => {
            let shown = if path.is_file() { path } else { &root };
            show_moved(problems.0, &root, shown);
            return Err(anyhow!(
                "read the suite of {path}: it has the problems above"
            ))
            .or_exit(Exit::InvalidInput);
        }
    };
    Ok(Release {
        manifest: read_manifest(&root)?,
        root,
        contents,
        suite,
        _dir: dir,
    })
}

fn read_manifest(root: &Utf8Path) -> Result<Manifest, Failure> {
    let refused = |reason: String| PackError::refused(root, reason);
    let mut pack = Pack::open_as_it_lies(root).map_err(|error| refused(error.to_string()))?;
    let text = pack.read(manifest::FILE, manifest::LIMIT);
    let text = text.map_err(|error| refused(format!("failed to {error}")))?;
    Ok(contents::manifest_of(&text).map_err(refused)?)
}

fn print_difference(a: &str, b: &str, difference: &Difference) {
    let Difference {
        changes,
        files,
        fields,
        defaults,
        comparable,
        incomparable,
        gone,
        new,
    } = difference;
    for (key, [before, after]) in fields {
        let values = format!("{before} before, {after} now");
        println!("changed: `{key}` of {}: {}", manifest::FILE, line(&values));
    }
    for (what, how) in files {
        println!("{how}: {}", line(what));
    }
    for Change { what, reach } in changes {
        println!("changed: {} ({})", line(what), line(&shown(reach)));
    }
    for (words, sessions) in [
        ("no longer comparable", incomparable),
        ("gone", gone),
        ("new", new),
        ("still comparable", comparable),
    ] {
        for (persona, sessions) in sessions {
            println!("{words}: {}: {}", line(persona), line(&sessions.join(", ")));
        }
    }
    if !defaults.is_empty() {
        println!(
            "where a command line names none, {} are others: name them, to play both alike",
            defaults.join(", ")
        );
    }
    let count = |all: &BTreeMap<String, Vec<String>>| all.values().map(Vec::len).sum::<usize>();
    if difference.is_comparable() {
        println!("{a} and {b}: every score of one can be held against those of the other");
    } else {
        println!(
            "{a} and {b}: no run of one stands beside one of the other as a whole; the scores of {} sessions can be held against \
             each other, of {} no longer",
            count(comparable),
            count(incomparable)
        );
    }
}

fn shown(reach: &Reach) -> String {
    match reach {
        Reach::All => "every score".into(),
        Reach::Persona(id) => format!("every score of {id}"),
        Reach::From { session, .. } => format!("{session} and what is played after it"),
        Reach::Score { session, .. } => format!("the score of {session}"),
    }
}
