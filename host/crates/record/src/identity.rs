//! What makes a run the run that it is: all of its manifest that changes a score. Where things lie, what they cost, how many
//! there are at a time and on which machine are no part of it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::folder::Manifest;
use pibench_core::count::list_first;

/// Keys that change no score: when and where it was played, and what another key has by its contents.
const ELSEWHERE: [&str; 9] = [
    "started",
    "shard",
    "suite_path",
    "plugin_dirs",
    "prompts",
    "policy",
    // What it grants and lowers stands with the plugins and limits.
    "policy_digest",
    // What it sets stands in the suite's parts, or in a key of its own.
    "set",
    "max_cost",
];

/// What of a plugin counts: all else follows from its bytes, or from who vouches for it.
const OF_PLUGIN: [&str; 3] = ["sha256", "grants", "limits"];

/// What of a run's rules counts where two agents are compared.
const OF_RULES: [&str; 4] = [
    "suite_digest",
    "suite_parts",
    "protocol",
    "protocol_version",
];

/// What may change a score by itself, whoever the agent is.
const OF_SIMULATOR: [&str; 10] = [
    "user",
    "judge",
    "models.user",
    "models.judge",
    "prompts_digest",
    "prompts_version",
    "scaffold",
    "scaffold_prompt_digest",
    "plugins",
    "limits",
];

/// Something in which two runs differ, in words: `seed`, "the bytes of plugin gmail".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The manifest's key; of the settings of a role's model, with the role.
    key: String,
    words: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Everything in which two runs are not the same one.
pub fn differences(a: &Manifest, b: &Manifest) -> Vec<Difference> {
    let (a, b) = (counted(a), counted(b));
    let mut found = BTreeSet::new();
    for key in keys(&a, &b) {
        walk(&mut vec![key], a.get(key), b.get(key), &mut |path| {
            let key = match path {
                ["models", role, ..] => format!("models.{role}"),
                _ => path[0].to_owned(),
            };
            let words = words(path);
            found.insert(Difference { key, words });
        });
    }
    // The digest follows from the parts, where they are known.
    if found.iter().any(|one| one.key == "suite_parts") {
        found.retain(|one| one.key != "suite_digest");
    }
    found.into_iter().collect()
}

/// Why the scores of two runs, of whichever agents, say nothing of each other: another suite, other rules. Empty if they do.
pub fn incomparable(a: &Manifest, b: &Manifest) -> Vec<Difference> {
    of(&OF_RULES, differences(a, b))
}

/// What may be a part of the difference between two runs' scores, beside their agents.
pub fn beside_agent(a: &Manifest, b: &Manifest) -> Vec<Difference> {
    of(&OF_SIMULATOR, differences(a, b))
}

fn of(keys: &[&str], mut all: Vec<Difference>) -> Vec<Difference> {
    all.retain(|one| keys.contains(&one.key.as_str()));
    all
}

/// Differences in words, each once: of own prompts two keys tell in the same.
pub fn in_words(differences: &[Difference]) -> Vec<String> {
    let mut words: Vec<String> = differences.iter().map(ToString::to_string).collect();
    words.dedup();
    words
}

/// Differences in one line, the first of many.
pub fn listed(differences: &[Difference]) -> String {
    list_first(in_words(differences), 6)
}

/// The manifest as far as it counts.
fn counted(manifest: &Manifest) -> Map<String, Value> {
    // It was read from JSON or is about to be written as such.
    let Ok(Value::Object(mut all)) = serde_json::to_value(manifest) else {
        return Map::new();
    };
    all.retain(|key, _| !ELSEWHERE.contains(&key.as_str()));
    if let Some(Value::Object(plugins)) = all.get_mut("plugins") {
        for mark in plugins.values_mut().filter_map(Value::as_object_mut) {
            mark.retain(|key, _| OF_PLUGIN.contains(&key.as_str()));
        }
    }
    all
}

fn keys<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    a.keys().chain(b.keys()).map(String::as_str).collect()
}

/// Tells the path of each leaf that is not the same on both sides.
fn walk<'a>(
    path: &mut Vec<&'a str>,
    a: Option<&'a Value>,
    b: Option<&'a Value>,
    found: &mut impl FnMut(&[&str]),
) {
    if a == b {
        return;
    }
    let (Some(Value::Object(a)), Some(Value::Object(b))) = (a, b) else {
        return found(path);
    };
    for key in keys(a, b) {
        path.push(key);
        walk(path, a.get(key), b.get(key), found);
        path.pop();
    }
}

fn words(path: &[&str]) -> String {
    match path {
        ["suite_digest"] => "the suite".into(),
        ["suite_parts", part, ..] => format!("the suite's `{part}`"),
        ["prompts_digest" | "prompts_version"] => "the prompts".into(),
        ["scaffold_prompt_digest"] => "the agent's prompts".into(),
        ["process"] => "the agent's entry".into(),
        ["process", "set", name] => format!("the agent's variable {name}"),
        ["process", "product", ..] => "the agent's version".into(),
        ["process", what, ..] => format!("`{what}` of the agent's entry"),
        ["models", role, ..] => format!("the settings of the {role}'s model"),
        ["plugins", name] => format!("whether there is a plugin `{name}`"),
        ["plugins", name, "sha256"] => format!("the bytes of plugin `{name}`"),
        ["plugins", name, what, ..] => format!("the {what} of plugin `{name}`"),
        ["limits", kind, ..] => format!("the limits of `{kind}`"),
        _ => format!("`{}`", path.join(".")),
    }
}
