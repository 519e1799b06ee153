//! Where a model is served: `PROVIDER/MODEL` resolved to an address, a key and habits, from the built-in list, the
//! suite's own providers and the environment. It reads settings only and never connects to anything.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use thiserror::Error;

use crate::task::manifest::ProviderFile;

const BUILT_IN: &str = include_str!("providers.toml");

/// Looks up an environment variable. Passed in, so that nothing here reads the process's environment by itself.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment; a value that is not UTF-8 counts as absent.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Why a model cannot be used. No message holds a key or an address that could hold one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderError {
    #[error("read the model `{spec}`: want PROVIDER/MODEL")]
    NotASpec { spec: String },
    #[error(
        "find the provider of `{spec}`: known are {known}; others go under [providers.NAME] in the suite"
    )]
    Unknown { spec: String, known: String },
    #[error("find the key for `{spec}`: the environment variable {variable} is not set")]
    NoKey { spec: String, variable: String },
    #[error("use the key for `{spec}`: the value of {variable} cannot stand in an HTTP header")]
    BadKey { spec: String, variable: String },
    #[error("use the base URL for `{spec}`: {reason}")]
    BadUrl { spec: String, reason: String },
    #[error("set up the HTTP client for `{spec}`: {reason}")]
    Setup { spec: String, reason: String },
}

/// A key. Its text leaves this type only inside a header marked as sensitive.
#[derive(Clone)]
pub(super) struct Key {
    text: String,
    header: HeaderValue,
}

impl Key {
    /// Shorter keys are placeholders for servers that want any (`EMPTY`, `ollama`): ordinary words, and no secret.
    const SECRET_LENGTH: usize = 8;

    fn new(text: &str) -> Option<Self> {
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        header.set_sensitive(true);
        Some(Self {
            text: text.to_owned(),
            header,
        })
    }

    /// The `Authorization` header.
    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// `text` without the key, should a server have echoed it.
    pub(super) fn redact(&self, text: String) -> String {
        let secret = self.text.len() >= Self::SECRET_LENGTH;
        if secret && text.contains(&self.text) {
            return text.replace(&self.text, "[key]");
        }
        text
    }
}

/// A model's server, ready to be asked.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// As it was asked for: `openai/gpt-x`.
    pub(super) spec: String,
    /// The provider's name of the model.
    pub(super) model: String,
    /// Where chats are posted.
    pub(super) url: Url,
    pub(super) key: Option<Key>,
    pub(super) temperature: bool,
}

impl Endpoint {
    /// Resolves `PROVIDER/MODEL`; the first slash splits. The suite's providers go before built-in ones.
    pub(super) fn resolve(
        spec: &str,
        suite: &BTreeMap<String, ProviderFile>,
        environment: Environment<'_>,
    ) -> Result<Self, ProviderError> {
        let (name, model) = split(spec)?;
        let provider = Provider::find(spec, name, suite)?;
        let replaced = provider
            .base_url_env
            .as_deref()
            .and_then(|name| value(environment, name));
        let base = replaced.as_deref().unwrap_or(&provider.base_url);
        Ok(Self {
            spec: spec.to_owned(),
            model: model.to_owned(),
            url: chat_url(spec, base)?,
            key: provider.key(spec, environment, replaced.is_some())?,
            temperature: provider.temperature,
        })
    }

    /// Names the server in messages: the model as asked for, and the host.
    pub(super) fn label(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{} at {host}:{port}", self.spec),
            None => format!("{} at {host}", self.spec),
        }
    }
}

/// One provider: a line of the built-in list, or of the suite.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    base_url: String,
    #[serde(default)]
    base_url_env: Option<String>,
    #[serde(default)]
    key_env: Option<String>,
    #[serde(default = "yes")]
    temperature: bool,
}

fn yes() -> bool {
    true
}

impl Provider {
    fn find(
        spec: &str,
        name: &str,
        suite: &BTreeMap<String, ProviderFile>,
    ) -> Result<Self, ProviderError> {
        if let Some(file) = suite.get(name) {
            return Ok(Self::from_suite(file));
        }
        let mut built_in = built_in();
        built_in.remove(name).ok_or_else(|| {
            let known: Vec<&str> = built_in
                .keys()
                .chain(suite.keys())
                .map(String::as_str)
                .collect();
            ProviderError::Unknown {
                spec: spec.to_owned(),
                known: known.join(", "),
            }
        })
    }

    fn from_suite(file: &ProviderFile) -> Self {
        let ProviderFile {
            base_url,
            key_env,
            temperature,
        } = file.clone();
        Self {
            base_url,
            base_url_env: None,
            key_env,
            temperature,
        }
    }

    /// `optional`: the address is the operator's own, which may need no key.
    fn key(
        &self,
        spec: &str,
        environment: Environment<'_>,
        optional: bool,
    ) -> Result<Option<Key>, ProviderError> {
        let Some(variable) = &self.key_env else {
            return Ok(None);
        };
        let (spec, variable) = (spec.to_owned(), variable.clone());
        match value(environment, &variable) {
            Some(text) => match Key::new(&text) {
                Some(key) => Ok(Some(key)),
                None => Err(ProviderError::BadKey { spec, variable }),
            },
            None if optional => Ok(None),
            None => Err(ProviderError::NoKey { spec, variable }),
        }
    }
}

fn built_in() -> BTreeMap<String, Provider> {
    // The list is compiled in and read by a test, so it cannot fail here.
    toml::from_str(BUILT_IN).unwrap_or_default()
}

/// A variable that is set to nothing is not set.
fn value(environment: Environment<'_>, name: &str) -> Option<String> {
    let text = environment(name)?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn split(spec: &str) -> Result<(&str, &str), ProviderError> {
    match spec.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            Ok((provider, model))
        }
        _ => Err(ProviderError::NotASpec {
            spec: spec.to_owned(),
        }),
    }
}

fn chat_url(spec: &str, base: &str) -> Result<Url, ProviderError> {
    let refused = |reason: &str| ProviderError::BadUrl {
        spec: spec.to_owned(),
        reason: reason.to_owned(),
    };
    let mut url = Url::parse(base).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("want http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "it holds a user or a password; keys come from the environment",
        ));
    }
    match url.path_segments_mut() {
        Ok(mut path) => path.pop_if_empty().extend(["chat", "completions"]),
        Err(()) => return Err(refused("it has no path")),
    };
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(base_url: &str) -> BTreeMap<String, ProviderFile> {
        let file = ProviderFile {
            base_url: base_url.into(),
            key_env: Some("LAB_KEY".into()),
            temperature: false,
        };
        BTreeMap::from([("lab".into(), file)])
    }

    fn resolve(
        spec: &str,
        base: &str,
        variables: &[(&str, &str)],
    ) -> Result<Endpoint, ProviderError> {
        let environment = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Endpoint::resolve(spec, &suite(base), &environment)
    }

    fn check(spec: &str, variables: &[(&str, &str)], expected_url: &str, expected_model: &str) {
        let endpoint = resolve(spec, "https://lab.example/v1/", variables)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(endpoint.url.as_str(), expected_url);
        assert_eq!(endpoint.model, expected_model);
    }

    fn check_error(spec: &str, base: &str, variables: &[(&str, &str)], expected: &str) {
        let message = match resolve(spec, base, variables) {
            Ok(_) => panic!("{spec} was taken"),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(expected), "{message}");
        for (_, value) in variables {
            assert!(
                !message.contains(value.trim()) || value.trim().is_empty(),
                "{message}"
            );
        }
    }

    #[test]
    fn every_built_in_provider_resolves() {
        let built_in: BTreeMap<String, Provider> = toml::from_str(BUILT_IN).unwrap();
        assert!(built_in.len() >= 12);
        for name in built_in.keys() {
            let key = |name: &str| name.ends_with("_KEY").then(|| "k".to_owned());
            let endpoint = Endpoint::resolve(&format!("{name}/m"), &BTreeMap::new(), &key);
            assert!(endpoint.is_ok(), "{name}");
        }
    }

    #[test]
    fn the_first_slash_splits_provider_and_model() {
        let key = [("OPENROUTER_API_KEY", "k")];
        let url = "https://openrouter.ai/api/v1/chat/completions";
        check("openrouter/qwen/qwen-x", &key, url, "qwen/qwen-x");
    }

    #[test]
    fn openai_honours_its_two_variables() {
        let variables = [("OPENAI_API_KEY", "k")];
        check(
            "openai/m",
            &variables,
            "https://api.openai.com/v1/chat/completions",
            "m",
        );
        // The operator's own server may go without a key.
        let variables = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")];
        check(
            "openai/m",
            &variables,
            "http://127.0.0.1:9/v1/chat/completions",
            "m",
        );
        check_error(
            "openai/m",
            "https://a.example",
            &[("OPENAI_BASE_URL", " ")],
            "OPENAI_API_KEY",
        );
    }

    #[test]
    fn local_servers_need_no_key() {
        check(
            "ollama/m",
            &[],
            "http://127.0.0.1:11434/v1/chat/completions",
            "m",
        );
    }

    #[test]
    fn the_suite_adds_providers() {
        let variables = [("LAB_KEY", "k")];
        check(
            "lab/m",
            &variables,
            "https://lab.example/v1/chat/completions",
            "m",
        );
        let endpoint = resolve("lab/m", "https://lab.example/v1?version=2", &variables);
        let url = endpoint.ok().map(|endpoint| endpoint.url.to_string());
        assert_eq!(
            url.as_deref(),
            Some("https://lab.example/v1/chat/completions?version=2")
        );
    }

    #[test]
    fn bad_settings_are_named_without_secrets() {
        let base = "https://lab.example/v1";
        check_error("gpt", base, &[], "want PROVIDER/MODEL");
        check_error("/m", base, &[], "want PROVIDER/MODEL");
        check_error("lab/", base, &[], "want PROVIDER/MODEL");
        check_error("nowhere/m", base, &[], "ark, dashscope, deepseek");
        check_error("lab/m", base, &[], "LAB_KEY is not set");
        check_error(
            "lab/m",
            base,
            &[("LAB_KEY", "se\ncret")],
            "LAB_KEY cannot stand",
        );
        check_error("lab/m", "ftp://lab.example", &[], "want http or https");
        check_error("lab/m", "lab.example", &[], "base URL");
        let with_password = [("OPENAI_BASE_URL", "https://me:secret@lab.example")];
        check_error("openai/m", base, &with_password, "user or a password");
    }

    #[test]
    fn an_echoed_key_is_taken_out() {
        let key = Key::new("sk-1234567890").unwrap();
        assert_eq!(
            key.redact("bad key sk-1234567890!".into()),
            "bad key [key]!"
        );
        let placeholder = Key::new("EMPTY").unwrap();
        assert_eq!(placeholder.redact("EMPTY box".into()), "EMPTY box");
    }
}
