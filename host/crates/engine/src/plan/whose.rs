//! Whose word it is what a record says. Which server is asked by which key, and which program runs, is for the operator to say, and a
//! run folder may be a stranger's. What this user said himself is known by a mark in the cache, where nobody else can write. It asks
//! nobody, and follows nothing that a record names.

use camino::Utf8Path;

use super::error::GO_ON;
use super::{Machine, PlanError};
use pibench_core::player;
use pibench_record::Manifest;
use pibench_sandbox::{keep_said, was_said};
use pibench_suite::load::Assignment;
use pibench_suite::manifest::{ModelFile, ProviderFile, WebFile, WebProvider};
use pibench_suite::suite::Suite;

/// What a setting of a suite speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    /// How sessions are played and scored, in numbers and in words of the program's own.
    Play,
    /// Names, and how fast it is played.
    Name,
    /// Places, servers, keys, programs: the operator's.
    Operators,
}

/// By the first part of a setting's key. What is not known here is the operator's.
fn topic(key: &str) -> Topic {
    match key {
        "protocol" | "scaffold" | "scaffold_prompt" | "runs" | "seed" | "filter" | "session"
        | "state" | "ablate" | "limits" => Topic::Play,
        "version" | "id" | "title" | "agent" | "user" | "judge" | "jobs" | "memory" => Topic::Name,
        _ => Topic::Operators,
    }
}

/// Of a setting of a record, `KEY=VALUE`; None of what is none.
fn topic_of(set: &str) -> Option<Topic> {
    match set.parse::<Assignment>() {
        Ok(Assignment::Set { path, .. }) => path.first().map(|key| topic(key)),
        _ => None,
    }
}

/// Whether a setting of a stranger's record is taken.
pub(super) fn is_of_play(set: &str) -> bool {
    topic_of(set) == Some(Topic::Play)
}

/// The settings of a record that only its operator may choose.
fn operators(manifest: &Manifest) -> Vec<&str> {
    let set = manifest.set.iter().map(String::as_str);
    set.filter(|set| !matches!(topic_of(set), Some(Topic::Play | Topic::Name)))
        .collect()
}

/// The agent of a record that is a program of this machine's.
fn program(manifest: &Manifest) -> Option<&str> {
    player::process(&manifest.agent).map(|_| manifest.agent.as_str())
}

/// What a suite says of these, as it stands in its file.
fn of_suite(suite: &Suite) -> Vec<String> {
    let providers = suite.providers.iter().map(|(name, provider)| {
        let ProviderFile {
            base_url,
            base_url_env,
            key_env,
            key_header,
            ..
        } = provider;
        let more = [
            ("base_url_env", base_url_env),
            ("key_env", key_env),
            ("key_header", key_header),
        ];
        let more = more.into_iter().filter_map(|(key, value)| {
            let value = value.as_ref()?;
            Some(format!(", {key}={value}"))
        });
        let more: String = more.collect();
        format!("providers.{name}.base_url={}{more}", shown(base_url))
    });
    let models = suite.models.iter().map(|(name, model)| {
        let ModelFile {
            provider, model, ..
        } = model;
        format!("models.{name}.provider={provider}, model={model}")
    });
    let WebFile { provider, url, .. } = &suite.web;
    let web = match provider {
        WebProvider::Offline => None,
        WebProvider::Brave => Some("web.provider=brave".to_owned()),
        WebProvider::Searxng => {
            let url = url.as_deref().unwrap_or_default();
            Some(format!("web.url={}", shown(url)))
        }
    };
    providers.chain(models).chain(web).collect()
}

/// An address with a user in it may hold his password.
fn shown(text: &str) -> &str {
    match text.split_once('@') {
        None => text,
        Some(_) => text.split_once('=').map_or("...", |(key, _)| key),
    }
}

/// What tells these words of a record from others.
fn digest(manifest: &Manifest) -> String {
    let said = (operators(manifest), &manifest.suite_path, program(manifest));
    // Texts, which JSON can hold.
    let text = serde_json::to_vec(&said).unwrap_or_default();
    blake3::hash(&text).to_hex().to_string()
}

/// Whether two records say the same of what is the operator's.
pub(super) fn is_same(a: &Manifest, b: &Manifest) -> bool {
    digest(a) == digest(b)
}

/// Keeps that the operator said what this record says, where there is anything of it.
pub(super) fn keep(machine: &Machine, manifest: &Manifest, suite: &Suite) {
    let is_said = !operators(manifest).is_empty()
        || program(manifest).is_some()
        || !of_suite(suite).is_empty();
    let digest = digest(manifest);
    if is_said && !was_said(&machine.cache, &digest) {
        // Where it cannot be kept, it is asked for again.
        let _ = keep_said(&machine.cache, &digest);
    }
}

/// Refuses a record that would have a model asked, or an agent started, by words that nobody knows for the operator's. Whether
/// the suite that it names may say such things too.
pub(super) fn check_record(
    machine: &Machine,
    verb: &str,
    dir: &Utf8Path,
    manifest: &Manifest,
    trusts_record: bool,
) -> Result<bool, PlanError> {
    if trusts_record || was_said(&machine.cache, &digest(manifest)) {
        return Ok(true);
    }
    let mut said: Vec<String> = Vec::new();
    // Who looks or judges starts no agent.
    if let Some(agent) = program(manifest).filter(|_| verb == GO_ON) {
        said.push(format!("agent={agent}"));
    }
    let set = operators(manifest).into_iter();
    said.extend(set.map(|set| shown(set).to_owned()));
    refuse(verb, dir, "its manifest.json", &said)?;
    Ok(false)
}

/// Refuses a suite that only such a record names, and that says such things.
pub(super) fn check_suite(verb: &str, dir: &Utf8Path, suite: &Suite) -> Result<(), PlanError> {
    let named = format!("the suite {}, which its manifest.json names,", suite.path);
    refuse(verb, dir, &named, &of_suite(suite))
}

fn refuse(verb: &str, dir: &Utf8Path, who: &str, said: &[String]) -> Result<(), PlanError> {
    if said.is_empty() {
        return Ok(());
    }
    Err(PlanError::asked(format!(
        "{verb} {dir}: {who} says which servers are asked by which keys, or what runs here: {}. Nobody with your cache has said so \
         before: the run may be a stranger's. If it is yours, of another machine, cache or version, or if you mean this, say \
         --trust-record",
        said.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use pibench_suite::manifest::SuiteFile;

    /// A setting that is new in the suite's format is the operator's until it is thought about here.
    #[test]
    fn every_setting_of_a_suite_has_its_topic() {
        let file: SuiteFile =
            serde_json::from_value(json!({ "version": 1, "id": "a", "personas": ["p"] })).unwrap();
        let file = serde_json::to_value(file).unwrap();
        let keys = file.as_object().unwrap().keys();
        let mut operators: Vec<&str> = keys
            .map(String::as_str)
            .filter(|key| topic(key) == Topic::Operators)
            .collect();
        operators.sort_unstable();
        let named = [
            "agents",
            "lock",
            "models",
            "personas",
            "plugins",
            "policy",
            "providers",
            "web",
        ];
        assert_eq!(operators, named);
    }

    #[test]
    fn of_a_strangers_settings_those_are_taken_that_change_how_it_is_played_or_scored() {
        for set in [
            "session.max_turns=5",
            "protocol=paper",
            "limits.app.fuel=1",
            "state.reset=session",
        ] {
            assert!(is_of_play(set), "{set}");
        }
        for set in [
            "lock=/proc/self/environ",
            "providers.openai.base_url=http://thief.example/v1",
            "\"providers\".openai.key_env=SECRET",
            "models.m.provider=lab",
            "agents.a.command=[\"sh\"]",
            "plugins.gmail=/tmp/a.wasm",
            "policy=/etc/passwd",
            "web.corpus=/etc",
            "personas=[\"/etc\"]",
            "jobs=1000",
            "agent=acp:sh",
            "nothing=1",
            "no setting",
            "",
        ] {
            assert!(!is_of_play(set), "{set}");
        }
    }

    #[test]
    fn an_address_with_a_user_in_it_is_not_shown() {
        for (text, expected) in [
            ("http://lab.example/v1", "http://lab.example/v1"),
            ("http://me:pw@lab.example/v1", "..."),
            (
                "providers.a.base_url=http://me:pw@lab",
                "providers.a.base_url",
            ),
            ("providers.a.key_env=KEY", "providers.a.key_env=KEY"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
