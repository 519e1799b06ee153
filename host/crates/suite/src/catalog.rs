//! Model servers and models that are known by name: the built-in list, in the format that a suite's own tables have. It
//! reads no environment and resolves nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::manifest::{AgentFile, ModelFile, ProviderFile};

const BUILT_IN: &str = include_str!("providers.toml");

const AGENTS: &str = include_str!("agents.toml");

/// Agents that can be had from registries, with what is to be known of them.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReadyAgent {
    /// How it is installed.
    pub install: String,
    /// Variables that hold a key; it needs one of them.
    pub needs: Vec<String>,
    #[serde(flatten)]
    pub agent: AgentFile,
}

/// Servers and models by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    pub providers: BTreeMap<String, ProviderFile>,
    pub models: BTreeMap<String, ModelFile>,
}

/// The built-in list.
pub fn built_in() -> Catalog {
    // The list is compiled in and read by a test, so it cannot fail here.
    toml::from_str(BUILT_IN).unwrap_or_default()
}

impl Catalog {
    /// The built-in list with a suite's own entries, which go before those of the same name.
    pub fn with(
        providers: &BTreeMap<String, ProviderFile>,
        models: &BTreeMap<String, ModelFile>,
    ) -> Self {
        let mut catalog = built_in();
        catalog.providers.extend(providers.clone());
        catalog.models.extend(models.clone());
        catalog
    }
}

/// The built-in agents that are processes of their own, by name.
pub fn ready_agents() -> BTreeMap<String, ReadyAgent> {
    // Compiled in and read by a test, as above.
    toml::from_str(AGENTS).unwrap_or_default()
}

/// The agent that `acp:WHAT` means: an entry of the suite, a built-in one, or a command line.
pub fn agent(what: &str, own: &BTreeMap<String, AgentFile>) -> Result<AgentFile, String> {
    if let Some(agent) = own.get(what) {
        return Ok(agent.clone());
    }
    if let Some(ready) = ready_agents().remove(what) {
        return Ok(ready.agent);
    }
    let command = words(what)?;
    if command.is_empty() {
        return Err("it names neither an entry of [agents] nor a command".into());
    }
    Ok(AgentFile {
        command,
        ..AgentFile::default()
    })
}

/// The words of a command line: white space parts them, and quotes of either kind keep what is between them together.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote is not closed in `{line}`"));
    }
    words.extend(word);
    Ok(words)
}

/// The judges that one setting names: `A`, or `A,B,C`.
pub fn panel(judge: &str) -> impl Iterator<Item = &str> {
    judge.split(',').map(str::trim)
}

/// A judge that one setting names more than once.
pub fn twice(judge: &str) -> Option<&str> {
    let mut seen = BTreeSet::new();
    panel(judge).find(|one| !seen.insert(*one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_sound() {
        let catalog: Catalog = toml::from_str(BUILT_IN).unwrap();
        // The nine models of the paper's Table 1.
        let of_the_paper = [
            "gpt-5.4",
            "gemini-3.1-pro",
            "claude-opus-4.6",
            "deepseek-v3.2",
            "minimax-m2.7",
            "kimi-k2.5",
            "seed-2.0-pro",
            "glm-5.1",
            "qwen3.6-plus",
        ];
        for name in of_the_paper {
            assert!(catalog.models.contains_key(name), "{name}");
        }
        for (name, model) in &catalog.models {
            assert!(catalog.providers.contains_key(&model.provider), "{name}");
            assert!(model.price.is_none_or(|price| price.is_sound()), "{name}");
        }
    }

    #[test]
    fn every_entry_says_where_it_was_found_and_when() {
        let mut said = String::new();
        for line in BUILT_IN.lines() {
            if line.starts_with('#') {
                said.push_str(line);
            } else if line.starts_with('[') {
                let is_local =
                    line.contains("vllm") || line.contains("ollama") || line.contains("llamacpp");
                assert!(is_local || said.contains("Found 20"), "{line}");
                said.clear();
            } else {
                said.clear();
            }
        }
    }

    #[test]
    fn a_command_line_is_taken_apart_as_a_shell_does_it_with_quotes() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).unwrap(), expected);
        check("  gemini  --acp ", &["gemini", "--acp"]);
        check("a 'b c' \"d 'e'\"f ''", &["a", "b c", "d 'e'f", ""]);
        assert!(words("a 'b").unwrap_err().contains("not closed"));
    }

    #[test]
    fn an_agent_is_an_entry_or_a_command() {
        let ready: BTreeMap<String, ReadyAgent> = toml::from_str(AGENTS).unwrap();
        for name in ["claude-agent-acp", "codex-acp", "gemini-cli"] {
            let ReadyAgent {
                install,
                needs,
                agent,
            } = &ready[name];
            assert!(!agent.command.is_empty() && !install.is_empty() && !needs.is_empty());
            assert!(needs.iter().all(|key| agent.environment.contains(key)));
        }
        let own = AgentFile {
            command: vec!["mine".into()],
            ..AgentFile::default()
        };
        let agents = BTreeMap::from([("gemini-cli".to_owned(), own.clone())]);
        assert_eq!(agent("gemini-cli", &agents).unwrap(), own);
        let none = BTreeMap::new();
        assert_eq!(agent("gemini-cli", &none).unwrap().command[1], "--acp");
        assert_eq!(
            agent("python3 a.py", &none).unwrap().command,
            ["python3", "a.py"]
        );
        assert!(agent("  ", &none).unwrap_err().contains("neither"));
    }

    #[test]
    fn a_suites_entries_go_first() {
        let mut own = built_in().providers["openai"].clone();
        own.base_url = "https://lab.example/v1".into();
        let providers = BTreeMap::from([("openai".to_owned(), own.clone())]);
        let catalog = Catalog::with(&providers, &BTreeMap::new());
        assert_eq!(catalog.providers["openai"], own);
        assert!(catalog.providers.contains_key("anthropic"));
    }

    #[test]
    fn several_judges_stand_in_one_setting() {
        let judges: Vec<&str> = panel("a/m, b/m,c").collect();
        assert_eq!(judges, ["a/m", "b/m", "c"]);
        assert_eq!(panel("lexical").collect::<Vec<_>>(), ["lexical"]);
        assert_eq!(twice("a/m, b/m,c"), None);
        assert_eq!(twice("a/m,b/m, a/m"), Some("a/m"));
    }
}
