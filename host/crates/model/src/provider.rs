//! Where a model is served: a spec resolved to an address, a key and habits, from the built-in list, the suite's own
//! entries and the environment. It reads settings only and never connects to anything.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use thiserror::Error;

use pibench_core::cost::Price;
use pibench_core::message::Role;
use pibench_core::near::did_you_mean;
use pibench_core::player::ModelSettings;
use pibench_core::secrets::Secrets;
use pibench_core::vocabulary::WireFormat;
use pibench_suite::catalog::Catalog;
use pibench_suite::manifest::{ModelFile, ProviderFile};

/// Looks up an environment variable. Passed in, so that nothing here reads the process's environment by itself.
pub type Environment<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// The process's own environment; a value that is not UTF-8 counts as absent.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Why a model cannot be used. No message holds a key or an address that could hold one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderError {
    #[error(
        "find the model `{spec}`: want PROVIDER/MODEL, or one of {known}; others go under [models.NAME] in the suite"
    )]
    UnknownModel { spec: String, known: String },
    #[error(
        "find the provider of `{spec}`{near}: known are {known}; others go under [providers.NAME] in the suite"
    )]
    Unknown {
        spec: String,
        /// What was meant, as a question; empty where nothing is like it.
        near: String,
        known: String,
    },
    #[error("find the key for `{spec}`: the environment variable {variable} is not set")]
    NoKey { spec: String, variable: String },
    #[error("use the key for `{spec}`: the value of {variable} cannot stand in an HTTP header")]
    BadKey { spec: String, variable: String },
    #[error("use the base URL for `{spec}`: {reason}")]
    BadUrl { spec: String, reason: String },
    #[error(
        "set up the HTTP client: {reason}; certificates come from the package ca-certificates, or from the file that \
         SSL_CERT_FILE names"
    )]
    Setup { reason: String },
}

impl ProviderError {
    /// With the address that is wrong, and the variable that it is from. An address with a user in it is not shown.
    fn of(self, base: &str, variable: Option<&str>) -> Self {
        let Self::BadUrl { spec, reason } = self else {
            return self;
        };
        let shown = if base.contains('@') {
            String::new()
        } else {
            format!("`{base}`: ")
        };
        let from = variable.map_or_else(String::new, |name| format!("the value of {name}, "));
        Self::BadUrl {
            spec,
            reason: format!("{from}{shown}{reason}; want http://HOST:PORT/v1 or https://HOST/v1"),
        }
    }
}

/// A key. Its text leaves this type only inside a header marked as sensitive.
#[derive(Clone)]
pub(super) struct Key {
    text: String,
    secrets: Secrets,
    name: HeaderName,
    value: HeaderValue,
}

impl Key {
    /// `header`: the provider's own, where it has one.
    fn new(text: &str, format: WireFormat, header: Option<&str>) -> Option<Self> {
        let (name, value) = match (header, format) {
            (Some(header), _) => (
                HeaderName::from_bytes(header.as_bytes()).ok()?,
                text.to_owned(),
            ),
            (None, WireFormat::OpenAi | WireFormat::Responses) => {
                (AUTHORIZATION, format!("Bearer {text}"))
            }
            (None, WireFormat::Anthropic) => {
                (HeaderName::from_static("x-api-key"), text.to_owned())
            }
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some(Self {
            text: text.to_owned(),
            secrets: Secrets::new([("key", text)]),
            name,
            value,
        })
    }

    /// What tells it from another key, and does not give it away.
    pub(super) fn digest(&self) -> String {
        let digest = blake3::derive_key("pibench-host 2026-11-24 which key", self.text.as_bytes());
        blake3::Hash::from_bytes(digest).to_hex()[..16].to_owned()
    }

    /// The header that carries it.
    pub(super) fn header(&self) -> (HeaderName, HeaderValue) {
        (self.name.clone(), self.value.clone())
    }

    /// `text` without the key, should a server have echoed it.
    pub(super) fn redact(&self, text: String) -> String {
        self.secrets.cut(text)
    }

    /// The same of every text in a value.
    pub(super) fn redact_value(&self, value: &mut Value) {
        self.secrets.cut_value(value);
    }

    /// A text that was shortened at its end, without the part of the key that may stand there.
    pub(super) fn without_torn_end<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        self.secrets.without_torn_end(text)
    }
}

/// A model's server, ready to be asked.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// As it was asked for: `openai/gpt-x`, or a preset's name.
    pub(super) spec: String,
    /// The provider's name, in the catalog.
    pub(super) provider: String,
    /// The provider's name of the model.
    pub(super) model: String,
    pub(super) format: WireFormat,
    /// Where chats are posted.
    pub(super) url: Url,
    pub(super) key: Option<Key>,
    /// The variable that holds the key.
    pub(super) key_env: Option<String>,
    /// The variable that the address is from, if it is.
    pub(super) address_env: Option<String>,
    /// Tools that a request may have; None: as many as there are.
    pub(super) max_tools: Option<u32>,
    pub(super) temperature: bool,
    /// Whether it can be shown pictures.
    pub(super) vision: bool,
    pub(super) give_back: Option<String>,
    /// Fields that every request's body has: the role's switch for thinking.
    pub(super) fields: Map<String, Value>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) output_limit: String,
    pub(super) always_thinks: bool,
    pub(super) price: Option<Price>,
    pub(super) limits: RateLimits,
}

/// How fast a provider may be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RateLimits {
    pub(super) concurrency: Option<u32>,
    pub(super) requests_per_minute: Option<u32>,
    pub(super) tokens_per_minute: Option<u32>,
}

impl Endpoint {
    /// Resolves a preset's name, or `PROVIDER/MODEL`, whose first slash splits. A preset for the same model lends its
    /// habits to the second form, too. `needed`: whether a key must be there; if not, none is
    /// read.
    pub(super) fn resolve(
        spec: &str,
        role: Role,
        catalog: &Catalog,
        environment: Environment<'_>,
        needed: bool,
    ) -> Result<Self, ProviderError> {
        let model = model(spec, catalog)?;
        let (name, provider) = provider(spec, &model.provider, role, catalog)?;
        let replaced = provider
            .base_url_env
            .as_deref()
            .and_then(|name| value(environment, name));
        let format = model.format.unwrap_or(provider.format);
        let base = replaced.as_deref().unwrap_or(&provider.base_url);
        let fields = match role {
            Role::Agent => model.thinking,
            Role::User | Role::Judge => model.plain,
        };
        Ok(Self {
            spec: spec.to_owned(),
            url: chat_url(spec, base, format).map_err(|error| {
                let variable = provider.base_url_env.as_deref();
                error.of(base, variable.filter(|_| replaced.is_some()))
            })?,
            key: if needed {
                key(spec, provider, format, environment, replaced.is_some())?
            } else {
                None
            },
            key_env: provider.key_env.clone(),
            address_env: (provider.base_url_env.clone()).filter(|_| replaced.is_some()),
            // The bound is the provider's own server's.
            max_tools: model
                .max_tools
                .or(provider.max_tools.filter(|_| replaced.is_none())),
            provider: name,
            model: model.model,
            format,
            vision: model.vision,
            temperature: model.temperature.unwrap_or(provider.temperature),
            give_back: provider.give_back.clone(),
            fields: fields.into_iter().collect(),
            max_output_tokens: model.max_output_tokens,
            output_limit: provider.output_limit.clone(),
            always_thinks: model.always_thinks,
            price: model.price,
            limits: RateLimits {
                concurrency: provider.concurrency,
                requests_per_minute: provider.requests_per_minute,
                tokens_per_minute: provider.tokens_per_minute,
            },
        })
    }

    pub(super) fn settings(&self) -> ModelSettings {
        // Every field by name, so that a new one has to be thought about here.
        let Self {
            spec,
            model,
            format,
            temperature,
            vision,
            give_back,
            fields,
            max_output_tokens,
            // Room for an answer, which is asked for again where it was cut.
            output_limit: _,
            always_thinks: _,
            provider: _,
            url: _,
            key: _,
            key_env: _,
            address_env: _,
            max_tools: _,
            price: _,
            limits: _,
        } = self.clone();
        ModelSettings {
            name: spec,
            model,
            format,
            temperature,
            vision,
            give_back,
            fields,
            max_output_tokens,
        }
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

fn model(spec: &str, catalog: &Catalog) -> Result<ModelFile, ProviderError> {
    if let Some(preset) = catalog.models.get(spec) {
        return Ok(preset.clone());
    }
    let (provider, model) = split(spec).ok_or_else(|| ProviderError::UnknownModel {
        spec: spec.to_owned(),
        known: names(&catalog.models),
    })?;
    let same = |preset: &&ModelFile| preset.provider == provider && preset.model == model;
    Ok(catalog
        .models
        .values()
        .find(same)
        .cloned()
        .unwrap_or_else(|| ModelFile {
            provider: provider.to_owned(),
            model: model.to_owned(),
            format: None,
            vision: true,
            temperature: None,
            thinking: BTreeMap::new(),
            plain: BTreeMap::new(),
            max_output_tokens: None,
            max_tools: None,
            always_thinks: false,
            price: None,
        }))
}

/// The name of a provider's entry for the agent alone: what `--base-url` makes.
pub fn for_agent(provider: &str) -> String {
    format!("{provider}{FOR_AGENT}")
}

const FOR_AGENT: &str = "-for-agent";

/// Whether it is such an entry's name.
pub(super) fn is_for_agent(provider: &str) -> bool {
    provider.ends_with(FOR_AGENT)
}

/// The name of the provider whose entry for the agent it is, or its own.
pub(super) fn without_agent(provider: &str) -> &str {
    provider.strip_suffix(FOR_AGENT).unwrap_or(provider)
}

/// The provider of a model in a role, and its name. The agent may have an entry of its own, which nobody else is asked by.
fn provider<'a>(
    spec: &str,
    name: &str,
    role: Role,
    catalog: &'a Catalog,
) -> Result<(String, &'a ProviderFile), ProviderError> {
    let own = for_agent(name);
    if role == Role::Agent
        && let Some(found) = catalog.providers.get(&own)
    {
        return Ok((own, found));
    }
    let found = catalog.providers.get(name);
    let found = found.map(|found| (name.to_owned(), found));
    found.ok_or_else(|| ProviderError::Unknown {
        spec: spec.to_owned(),
        near: did_you_mean(name, catalog.providers.keys().map(String::as_str)),
        known: names(&catalog.providers),
    })
}

fn names<T>(entries: &BTreeMap<String, T>) -> String {
    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
    names.join(", ")
}

/// `optional`: the address is the operator's own, which may need no key.
fn key(
    spec: &str,
    provider: &ProviderFile,
    format: WireFormat,
    environment: Environment<'_>,
    optional: bool,
) -> Result<Option<Key>, ProviderError> {
    let Some(variable) = &provider.key_env else {
        return Ok(None);
    };
    let (spec, variable) = (spec.to_owned(), variable.clone());
    match value(environment, &variable) {
        Some(text) => match Key::new(&text, format, provider.key_header.as_deref()) {
            Some(key) => Ok(Some(key)),
            None => Err(ProviderError::BadKey { spec, variable }),
        },
        None if optional => Ok(None),
        None => Err(ProviderError::NoKey { spec, variable }),
    }
}

/// A variable that is set to nothing is not set.
fn value(environment: Environment<'_>, name: &str) -> Option<String> {
    let text = environment(name)?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn split(spec: &str) -> Option<(&str, &str)> {
    let (provider, model) = spec.split_once('/')?;
    (!provider.is_empty() && !model.is_empty()).then_some((provider, model))
}

fn chat_url(spec: &str, base: &str, format: WireFormat) -> Result<Url, ProviderError> {
    let tail: &[&str] = match format {
        WireFormat::OpenAi => &["chat", "completions"],
        WireFormat::Anthropic => &["messages"],
        WireFormat::Responses => &["responses"],
    };
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
        Ok(mut path) => path.pop_if_empty().extend(tail),
        Err(()) => return Err(refused("it has no path")),
    };
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(base_url: &str) -> Catalog {
        let mut catalog = pibench_suite::catalog::built_in();
        let file = ProviderFile {
            base_url: base_url.into(),
            base_url_env: None,
            key_env: Some("LAB_KEY".into()),
            temperature: false,
            ..catalog.providers["vllm"].clone()
        };
        catalog.providers.insert("lab".into(), file);
        catalog
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
        Endpoint::resolve(spec, Role::Agent, &catalog(base), &environment, true)
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
        let built_in = pibench_suite::catalog::built_in();
        assert!(built_in.providers.len() >= 13);
        let specs = built_in.providers.keys().map(|name| format!("{name}/m"));
        for spec in specs.chain(built_in.models.keys().cloned()) {
            let key = |name: &str| name.ends_with("_KEY").then(|| "k".to_owned());
            let endpoint = Endpoint::resolve(&spec, Role::Agent, &built_in, &key, true);
            assert!(endpoint.is_ok(), "{spec}");
        }
    }

    #[test]
    fn a_preset_knows_its_provider_switches_and_price() {
        let built_in = pibench_suite::catalog::built_in();
        let key = |name: &str| name.ends_with("_KEY").then(|| "k".to_owned());
        let resolve = |spec: &str, role| {
            Endpoint::resolve(spec, role, &built_in, &key, true)
                .ok()
                .unwrap()
        };
        for spec in ["gpt-5.4", "openai/gpt-5.4"] {
            let agent = resolve(spec, Role::Agent);
            assert_eq!(agent.model, "gpt-5.4");
            assert_eq!(agent.fields["reasoning"]["effort"], "medium");
            assert_eq!(agent.url.as_str(), "https://api.openai.com/v1/responses");
            assert!((agent.price.unwrap().output - 15.0).abs() < 1e-9);
            let judge = resolve(spec, Role::Judge);
            assert_eq!(judge.fields["reasoning"]["effort"], "none");
        }
        let other = resolve("openai/other", Role::Agent);
        assert!(other.fields.is_empty() && other.price.is_none());
        assert!(!resolve("kimi-k2.5", Role::Judge).temperature);
        assert!(resolve("kimi-k2.5", Role::Agent).vision);
        for blind in ["deepseek-v3.2", "minimax-m2.7", "glm-5.1"] {
            assert!(!resolve(blind, Role::Agent).vision, "{blind}");
        }
    }

    #[test]
    fn each_format_has_its_path_and_its_key_header() {
        let key = |_: &str| Some("sk-1234567890".to_owned());
        let built_in = pibench_suite::catalog::built_in();
        let endpoint = Endpoint::resolve("claude-opus-4.6", Role::Agent, &built_in, &key, true)
            .ok()
            .unwrap();
        assert_eq!(
            endpoint.url.as_str(),
            "https://api.anthropic.com/v1/messages"
        );
        let (name, value) = endpoint.key.unwrap().header();
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("x-api-key", "sk-1234567890")
        );
        assert!(value.is_sensitive());
    }

    #[test]
    fn a_providers_own_header_carries_the_key_as_it_is_and_hides_it() {
        for format in [WireFormat::OpenAi, WireFormat::Anthropic] {
            let key = Key::new("sk-1234567890", format, Some("api-key")).unwrap();
            let (name, value) = key.header();
            assert_eq!(
                (name.as_str(), value.to_str().unwrap()),
                ("api-key", "sk-1234567890")
            );
            assert!(value.is_sensitive());
            assert_eq!(key.redact("bad key sk-1234567890".into()), "bad key [key]");
        }
    }

    #[test]
    fn the_agents_own_address_is_nobody_elses_and_neither_is_their_key_sent_there() {
        let mut catalog = pibench_suite::catalog::built_in();
        let own = ProviderFile {
            base_url: "http://127.0.0.1:9/v1".into(),
            base_url_env: None,
            key_env: None,
            ..catalog.providers["openai"].clone()
        };
        catalog.providers.insert(for_agent("openai"), own);
        let key = |name: &str| name.ends_with("_KEY").then(|| "k".to_owned());
        for spec in ["openai/m", "gpt-5.4"] {
            for role in [Role::Agent, Role::User, Role::Judge] {
                let found = Endpoint::resolve(spec, role, &catalog, &key, true);
                let found = found.ok().unwrap();
                let is_agent = role == Role::Agent;
                let host = if is_agent {
                    "127.0.0.1"
                } else {
                    "api.openai.com"
                };
                assert_eq!(found.url.host_str(), Some(host), "{spec} {role:?}");
                assert_eq!(found.key.is_none(), is_agent, "{spec} {role:?}");
                assert_eq!(is_for_agent(&found.provider), is_agent, "{spec} {role:?}");
            }
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
        check_error(
            "gpt",
            base,
            &[],
            "want PROVIDER/MODEL, or one of claude-opus-4.6, ",
        );
        check_error(
            "/m",
            base,
            &[],
            "want PROVIDER/MODEL, or one of claude-opus-4.6, ",
        );
        check_error(
            "lab/",
            base,
            &[],
            "want PROVIDER/MODEL, or one of claude-opus-4.6, ",
        );
        check_error(
            "nowhere/m",
            base,
            &[],
            "anthropic, ark, dashscope, deepseek",
        );
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
        let key = Key::new("sk-1234567890", WireFormat::OpenAi, None).unwrap();
        assert_eq!(
            key.redact("bad key sk-1234567890!".into()),
            "bad key [key]!"
        );
        let placeholder = Key::new("EMPTY", WireFormat::OpenAi, None).unwrap();
        assert_eq!(placeholder.redact("EMPTY box".into()), "EMPTY box");
    }
}
