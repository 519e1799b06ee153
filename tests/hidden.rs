//! What the agent and the apps can read holds no hidden intent, no checklist item and no word of a grader.

use std::collections::BTreeSet;

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
    let shown = fold(shown);
    for secret in secrets(session) {
        let leaked = spans(&secret)
            .into_iter()
            .find(|span| shown.contains(span.as_str()));
        assert_eq!(
            leaked, None,
            "{place} shows a secret of {}: {secret}",
            session.id
        );
    }
}

/// The `nop` agent is told each intent only after it said nothing; so what it is shown before that is all that an agent
/// can see by itself. The cheating agent calls every tool, so the results are all that the apps give.
#[test]
fn nothing_that_the_agent_or_an_app_can_read_tells_a_secret() {
    let suite = suite();
    // Side by side: the search takes most of the time.
    std::thread::scope(|scope| {
        for persona in &suite.personas {
            scope.spawn(|| assert_persona_hidden(persona));
        }
    });
}

fn assert_persona_hidden(persona: &Persona) {
    let scene = Scene::new();
    for agent in ["nop", "cheat"] {
        scene.play_all(agent, &["--agent", agent, "--persona", &persona.id]);
    }
    let read = |path: &str| std::fs::read_to_string(scene.path(path)).unwrap();
    let mut places: Vec<(String, String)> = Vec::new();
    for agent in ["nop", "cheat"] {
        for line in read(&format!("{agent}/journal/{}.r1.jsonl", persona.id)).lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            match event["event"].as_str().unwrap() {
                "session_started" => {
                    places.push((
                        "the first message".into(),
                        event["message"].as_str().unwrap().into(),
                    ));
                    let system = read(&format!(
                        "{agent}/blobs/{}",
                        event["system"].as_str().unwrap()
                    ));
                    places.push(("the system prompt".into(), system));
                    for mark in event["apps"].as_object().unwrap().values() {
                        let snapshot = read(&format!(
                            "{agent}/blobs/{}",
                            mark["snapshot"].as_str().unwrap()
                        ));
                        places.push(("an app's state".into(), snapshot));
                    }
                    for change in event["changes"].as_array().into_iter().flatten() {
                        let blob = std::fs::read(scene.path(&format!(
                            "{agent}/blobs/{}",
                            change["blob"].as_str().unwrap()
                        )));
                        places.push((
                            change["path"].to_string(),
                            String::from_utf8_lossy(&blob.unwrap()).into(),
                        ));
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
                        places.push((step["record"]["tool"].to_string(), text.into()));
                    }
                }
                _ => {}
            }
        }
    }
    assert!(places.len() > 40, "{}", places.len());
    for session in &persona.sessions {
        for (place, shown) in &places {
            assert_hidden(shown, place, session);
        }
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
