//! What two releases of a pack differ in, as far as scores go: which of them can still be held against each other. A session is
//! played in what those before it left, so that a change reaches all that come after it in its episode.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use pibench_suite::identity::Parts;
use pibench_suite::suite::{Persona, Session, Suite};
use pibench_vault::{FILES_FILE, KEY_FILE, keyring};
use serde::Serialize;
use serde_json::{Value, json};

use crate::contents::{Contents, sha256};
use crate::manifest::{self, Manifest};
use crate::trace::WORDINGS;

/// A release.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub suite: &'a Suite,
    pub contents: &'a Contents,
    pub manifest: &'a Manifest,
    /// The folder of its files.
    pub root: &'a Utf8Path,
}

/// What is not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Such as `personas/clerk/sessions/rota` or `plugin rota_rules`.
    pub what: String,
    /// Whose scores it may change.
    pub reach: Reach,
}

/// How far a change goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    All,
    Persona(String),
    /// A session, and those that come after it.
    From {
        persona: String,
        session: String,
    },
    /// A session's score alone.
    Score {
        persona: String,
        session: String,
    },
}

/// All differences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub changes: Vec<Change>,
    /// Files of no session that are `changed`, `added` or `removed`, such as `LICENSE`, and plugins, such as `plugin rota_rules`, of
    /// which no change tells.
    pub files: BTreeMap<String, &'static str>,
    /// Keys of `pack.toml` with both values, but name and release.
    pub fields: BTreeMap<String, [Value; 2]>,
    /// Settings that a command line may name, and that are not the same where none does.
    pub defaults: Vec<String>,
    /// Sessions whose scores can be held against each other, by persona.
    pub comparable: BTreeMap<String, Vec<String>>,
    /// Sessions of both that cannot.
    pub incomparable: BTreeMap<String, Vec<String>>,
    /// Sessions that the first has alone.
    pub gone: BTreeMap<String, Vec<String>>,
    /// Sessions that the second has alone.
    pub new: BTreeMap<String, Vec<String>>,
}

impl Difference {
    /// Between two releases.
    pub fn between(a: Side<'_>, b: Side<'_>) -> Self {
        let told = changes(a, b);
        let mut found = Self {
            files: files(a, b, &told),
            fields: fields(a.manifest, b.manifest),
            defaults: defaults(a.suite, b.suite),
            ..Self::default()
        };
        let personas = a.suite.personas.iter().chain(&b.suite.personas);
        let ids: BTreeSet<&str> = personas.map(|persona| persona.id.as_str()).collect();
        for id in ids {
            let sessions = |suite: &Suite| -> Vec<String> {
                let persona = suite.personas.iter().find(|one| one.id == id);
                let sessions = persona.into_iter().flat_map(|one| &one.sessions);
                sessions.map(|session| session.id.clone()).collect()
            };
            let (before, after) = (sessions(a.suite), sessions(b.suite));
            let mut put = |to: fn(&mut Self) -> &mut BTreeMap<String, Vec<String>>, of: &str| {
                let list = to(&mut found).entry(id.to_owned()).or_default();
                list.push(of.to_owned());
            };
            let reached = reached(&told, id, &before);
            for session in &before {
                if !after.contains(session) {
                    put(|all| &mut all.gone, session);
                } else if reached.contains(session.as_str()) {
                    put(|all| &mut all.incomparable, session);
                } else {
                    put(|all| &mut all.comparable, session);
                }
            }
            for session in after.iter().filter(|session| !before.contains(session)) {
                put(|all| &mut all.new, session);
            }
        }
        found.changes = told;
        found
    }

    /// Whether a run of one stands beside a run of the other as a whole.
    pub fn is_comparable(&self) -> bool {
        self.changes.is_empty() && self.gone.is_empty() && self.new.is_empty()
    }
}

/// The sessions of a persona whose scores some change may reach.
fn reached<'s>(changes: &[Change], persona: &str, sessions: &'s [String]) -> BTreeSet<&'s str> {
    let mut reached = BTreeSet::new();
    for Change { reach, .. } in changes {
        let some: &[String] = match reach {
            Reach::All => sessions,
            Reach::Persona(id) if id == persona => sessions,
            Reach::From {
                persona: id,
                session,
            } if id == persona => {
                let at = sessions.iter().position(|one| one == session);
                &sessions[at.unwrap_or(sessions.len())..]
            }
            Reach::Score {
                persona: id,
                session,
            } if id == persona => {
                let at = sessions.iter().position(|one| one == session);
                at.map_or(&[][..], |at| &sessions[at..=at])
            }
            _ => &[],
        };
        reached.extend(some.iter().map(String::as_str));
    }
    reached
}

fn changes(a: Side<'_>, b: Side<'_>) -> Vec<Change> {
    let (one, other) = (&a.suite.parts, &b.suite.parts);
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let folders = folders(one, other);
    let mut changes = Vec::new();
    for key in keys {
        // Which personas there are is told by their sessions.
        if one.get(key) != other.get(key) && key != "personas" {
            changes.push(Change {
                what: key.clone(),
                reach: reach(key, &folders),
            });
        }
    }
    if a.suite.limits != b.suite.limits {
        changes.push(Change {
            what: "limits".into(),
            reach: Reach::All,
        });
    }
    let names = a.suite.plugin_names();
    let names: BTreeSet<String> = names.union(&b.suite.plugin_names()).cloned().collect();
    for name in names {
        if plugin(a, &name) != plugin(b, &name) {
            changes.extend(
                reaches(a.suite, b.suite, &name)
                    .into_iter()
                    .map(|reach| Change {
                        what: format!("plugin {name}"),
                        reach,
                    }),
            );
        }
    }
    changes
}

/// `told`: what is told of in other words.
fn files(a: Side<'_>, b: Side<'_>, told: &[Change]) -> BTreeMap<String, &'static str> {
    let (one, other) = (digests(a), digests(b));
    let folders = folders(&a.suite.parts, &b.suite.parts);
    let is_of_session = |path: &str| {
        let rest = |folder: &String| path.strip_prefix(folder.as_str());
        let mut rests = folders.keys().filter_map(rest);
        rests.any(|rest| rest.starts_with("/sessions/"))
    };
    let mut files = BTreeMap::new();
    // The author's wordings are in no private pack.
    let is_private = [&one, &other]
        .iter()
        .any(|side| side.contains_key(FILES_FILE));
    for path in one.keys().chain(other.keys()) {
        let how = match (one.get(path), other.get(path)) {
            (Some(before), Some(after)) if before == after => continue,
            (Some(_), Some(_)) => "changed",
            (None, _) => "added",
            (Some(_), None) => "removed",
        };
        // What is encrypted is other bytes each time.
        let is_left_out = [KEY_FILE, FILES_FILE, manifest::FILE].contains(&path.as_str())
            || (is_private && path == WORDINGS);
        if is_left_out || is_of_session(path) {
            continue;
        }
        let path = Utf8Path::new(path);
        let what = match path.file_stem() {
            Some(name) if path.extension() == Some("wasm") => format!("plugin {name}"),
            _ => path.to_string(),
        };
        if told.iter().all(|change| change.what != what) {
            files.insert(what, how);
        }
    }
    files
}

/// Of all files, those that are encrypted too: their suite was read by the same key.
fn digests(side: Side<'_>) -> BTreeMap<String, String> {
    let files = side.contents.files.iter();
    let open = files.map(|file| (file.path.clone(), file.sha256.clone()));
    let private = keyring::files_of(side.root.as_std_path());
    let private = private.ok().flatten().unwrap_or_default();
    let private = private.into_iter();
    open.chain(private.map(|(path, bytes)| (path, sha256(&bytes))))
        .collect()
}

fn fields(a: &Manifest, b: &Manifest) -> BTreeMap<String, [Value; 2]> {
    let (a, b) = (json!(a), json!(b));
    let keys = ["title", "authors", "license", "host"].into_iter();
    keys.filter(|key| a[key] != b[key])
        .map(|key| (key.to_owned(), [a[key].clone(), b[key].clone()]))
        .collect()
}

/// The folders of both suites' personas, each with its id.
fn folders(one: &Parts, other: &Parts) -> BTreeMap<String, String> {
    let lists = [one, other]
        .into_iter()
        .filter_map(|parts| parts.get("personas"));
    let paths = lists.filter_map(|list| serde_json::from_str::<Vec<String>>(list).ok());
    paths
        .flatten()
        .map(|path| {
            let path = path.trim_end_matches('/').to_owned();
            let id = path.rsplit('/').next().unwrap_or_default().to_owned();
            (path, id)
        })
        .collect()
}

/// How far a part of a suite reaches: a session's folder, a persona's, or anything else.
fn reach(part: &str, folders: &BTreeMap<String, String>) -> Reach {
    for (folder, id) in folders {
        let Some(rest) = part.strip_prefix(folder.as_str()) else {
            continue;
        };
        if let Some(session) = rest.strip_prefix("/sessions/") {
            return Reach::From {
                persona: id.clone(),
                session: session.to_owned(),
            };
        }
        if rest.is_empty() || rest.starts_with('/') {
            return Reach::Persona(id.clone());
        }
    }
    Reach::All
}

/// The digest of a plugin that a pack brings; None for one that the host has.
fn plugin<'a>(side: Side<'a>, name: &str) -> Option<&'a str> {
    let path = side.suite.plugins.get(name)?;
    let path = path.strip_prefix(side.root).ok()?;
    let mut files = side.contents.files.iter();
    files
        .find(|file| file.path == path.as_str())
        .map(|file| file.sha256.as_str())
}

/// Whom a plugin reaches: an app all of a persona, a grader the sessions that it grades.
fn reaches(a: &Suite, b: &Suite, name: &str) -> BTreeSet<Reach> {
    let personas = a.personas.iter().chain(&b.personas);
    let of = |persona: &Persona| -> Vec<Reach> {
        if persona.app_names().iter().any(|app| app == name) {
            return vec![Reach::Persona(persona.id.clone())];
        }
        let graded = |session: &&Session| session.graders().any(|grader| grader == name);
        let sessions = persona.sessions.iter().filter(graded);
        let score = |session: &Session| Reach::Score {
            persona: persona.id.clone(),
            session: session.id.clone(),
        };
        sessions.map(score).collect()
    };
    personas.flat_map(of).collect()
}

fn defaults(a: &Suite, b: &Suite) -> Vec<String> {
    let of = |suite: &Suite| -> BTreeMap<&'static str, Value> {
        BTreeMap::from([
            ("protocol", json!(suite.protocol)),
            ("scaffold", json!(suite.scaffold)),
            ("scaffold_prompt", json!(suite.scaffold_prompt)),
            ("agent", json!(suite.agent)),
            ("user", json!(suite.user)),
            ("judge", json!(suite.judge)),
            ("runs", json!(suite.runs)),
            ("seed", json!(suite.seed)),
            ("filter", json!(suite.filter)),
            ("ablate", json!(suite.ablate)),
        ])
    };
    let (a, b) = (of(a), of(b));
    let changed = a.into_iter().filter(|(key, value)| b[key] != *value);
    changed.map(|(key, _)| key.to_owned()).collect()
}
