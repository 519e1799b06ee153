//! What the agent and the apps can read holds no hidden intent, no checklist item and no word of a grader.

use std::collections::{BTreeSet, HashMap};

use camino::Utf8Path;
use pibench_suite::load::load;
use pibench_suite::suite::{Grading, Persona, Session, Suite};
use serde_json::Value;

use crate::scene::{Scene, embedded, files};

/// Characters of the spans that are looked for: long enough that no common phrase is one.
const SPAN: usize = 40;

fn suite() -> Suite {
    load(Utf8Path::from_path(&embedded()).unwrap())
        .unwrap()
        .suite
}

pub(crate) fn fold(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Every span of the secret text; the whole text when it is shorter.
pub(crate) fn spans(text: &str) -> BTreeSet<String> {
    let text: Vec<char> = fold(text).chars().collect();
    text.windows(SPAN.min(text.len().max(1)))
        .map(|span| span.iter().collect())
        .collect()
}

fn secrets(session: &Session) -> Vec<String> {
    let mut secrets: Vec<String> = session
        .intents
        .iter()
        .map(|intent| intent.content.clone())
        .collect();
    for item in &session.checklist {
        secrets.push(item.criterion.clone());
        if let Grading::Rule(rule) = &item.grading {
            secrets.extend(texts(&rule.config));
        }
    }
    secrets
}

pub(crate) fn texts(value: &Value) -> Vec<String> {
    match value {
        // A text without blanks is a name or an address, which the agent must know to write to.
        Value::String(text) if text.len() >= SPAN && text.contains(' ') => vec![text.clone()],
        Value::Array(entries) => entries.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn assert_hidden(shown: &str, place: &str, session: &Session) {
    Secrets::of(std::slice::from_ref(session)).assert_hidden(shown, place);
}

/// Every span of what some sessions keep secret, with the session and the secret that it is of: a text is gone through
/// once, however many there are.
struct Secrets {
    spans: HashMap<String, String>,
    /// Those of less than a span.
    short: Vec<(String, String)>,
}

impl Secrets {
    fn of(sessions: &[Session]) -> Secrets {
        let mut all = Secrets {
            spans: HashMap::new(),
            short: Vec::new(),
        };
        for session in sessions {
            for secret in secrets(session) {
                let source = format!("{}: {secret}", session.id);
                for span in spans(&secret) {
                    if span.chars().count() < SPAN {
                        all.short.push((span, source.clone()));
                    } else {
                        all.spans.insert(span, source.clone());
                    }
                }
            }
        }
        all
    }

    fn assert_hidden(&self, shown: &str, place: &str) {
        let shown = fold(shown);
        let starts = shown.char_indices().map(|(start, _)| start);
        let ends = starts.clone().chain([shown.len()]).skip(SPAN);
        let long = starts
            .zip(ends)
            .find_map(|(start, end)| self.spans.get(&shown[start..end]));
        let short = || {
            let mut short = self.short.iter();
            short.find_map(|(span, source)| shown.contains(span).then_some(source))
        };
        let leaked = long.or_else(short);
        assert_eq!(leaked, None, "{place} shows a secret");
    }
}

/// The `nop` agent is told each intent only after it said nothing; so what it is shown before that is all that an agent
/// can see by itself. The cheating agent calls every tool, so the results are all that the apps give.
#[test]
fn nothing_that_the_agent_or_an_app_can_read_tells_a_secret() {
    let suite = suite();
    for persona in &suite.personas {
        assert_persona_hidden(persona);
    }
}

fn assert_persona_hidden(persona: &Persona) {
    let scene = Scene::new();
    for agent in ["nop", "cheat"] {
        scene.play_all(agent, &["--agent", agent, "--persona", &persona.id]);
    }
    let read = |path: &str| std::fs::read_to_string(scene.path(path)).unwrap();
    // What is shown again in a later session is looked at once.
    let mut places: HashMap<String, String> = HashMap::new();
    for agent in ["nop", "cheat"] {
        for line in read(&format!("{agent}/journal/{}.r1.jsonl", persona.id)).lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            match event["event"].as_str().unwrap() {
                "session_started" => {
                    let message = event["message"].as_str().unwrap();
                    places.insert(message.into(), "the first message".into());
                    let system = read(&format!(
                        "{agent}/blobs/{}",
                        event["system"].as_str().unwrap()
                    ));
                    places.insert(system, "the system prompt".into());
                    for mark in event["apps"].as_object().unwrap().values() {
                        let snapshot = read(&format!(
                            "{agent}/blobs/{}",
                            mark["snapshot"].as_str().unwrap()
                        ));
                        places.insert(snapshot, "an app's state".into());
                    }
                    for change in event["changes"].as_array().into_iter().flatten() {
                        let blob = std::fs::read(scene.path(&format!(
                            "{agent}/blobs/{}",
                            change["blob"].as_str().unwrap()
                        )));
                        let text = String::from_utf8_lossy(&blob.unwrap()).into();
                        places.insert(text, change["path"].to_string());
                    }
                }
                "turn" if event["turn"] == 1 => {
                    for step in event["steps"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter(|step| step["step"] == "call")
                    {
                        let text = step["record"]["result"].as_str().unwrap();
                        places.insert(text.into(), step["record"]["tool"].to_string());
                    }
                }
                _ => {}
            }
        }
    }
    assert!(places.len() > 40, "{}", places.len());
    let secrets = Secrets::of(&persona.sessions);
    for (shown, place) in &places {
        secrets.assert_hidden(shown, place);
    }
}

/// The test above must be able to fail: the workspace of a run that was told the intents is searched the same way.
#[test]
fn a_secret_that_is_shown_is_found() {
    let suite = suite();
    let session = &suite.personas[0].sessions[0];
    let shown = format!("before {} after", session.intents[0].content);
    assert!(std::panic::catch_unwind(|| assert_hidden(&shown, "a place", session)).is_err());
}

#[test]
fn the_agents_workspace_holds_only_what_was_staged_written_or_remembered() {
    let scene = Scene::new();
    scene.play("nop", &["--agent", "nop"]);
    let suite = suite();
    let persona = &suite.personas[0];
    let staged: BTreeSet<&str> = persona
        .sessions
        .iter()
        .flat_map(|session| &session.files)
        .chain(&persona.skills)
        .chain(&persona.files)
        .map(|file| file.path.as_str())
        .collect();
    for (path, _) in files(&scene.path("nop/workspaces/law_trainee.r1")) {
        let own = ["USER.md", "memory/HISTORY.md", "memory/MEMORY.md"].contains(&path.as_str());
        assert!(own || staged.contains(path.as_str()), "{path}");
    }
}
