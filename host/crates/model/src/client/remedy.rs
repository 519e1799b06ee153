//! What the operator has to mend when a server rejects a request, and how to say it. It decides nothing about what happens
//! next.

use crate::provider::{Endpoint, is_for_agent, without_agent};
use pibench_core::message::Role;
use pibench_suite::catalog;
use pibench_suite::manifest::SMALLEST_WINDOW;

/// What they say when the chat is longer than the model's context, in lower case.
pub(super) const CONTEXT: [&str; 20] = [
    // OpenAI, and those who speak as it does: DeepSeek, vLLM, OpenRouter.
    "context_length_exceeded",
    "maximum context length",
    "exceeds the context window",
    "input tokens exceed the configured limit",
    "longer than the maximum model length",
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    // litellm.
    "contextwindowexceedederror",
    // Gemini.
    "exceeds the maximum number of tokens allowed",
    // llama.cpp and its Python server.
    "available context size",
    "context size has been exceeded",
    "exceed context window",
    // LM Studio.
    "greater than the context length",
    "load the model with a larger context length",
    // DashScope, Moonshot, MiniMax, Z.ai, Ark.
    "range of input length should be",
    "exceeded model token limit",
    "input token length too long",
    "context window exceeds limit",
    "prompt exceeds max length",
    "outofcontexterror",
];

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mend {
    /// The key, or what it may do.
    Key,
    /// The account has no money, or a limit of its own.
    Account,
    Model,
    /// The address.
    Address,
    /// The model is served without tools.
    Tools,
    /// There are more tools than the server takes.
    ToolCount,
    /// The model is shown a picture, and sees none.
    Pictures,
    /// The chat is longer than the model's context.
    Window,
    /// The field that bounds an answer is another one.
    OutputLimit,
    /// Earlier thinking has to go back.
    GiveBack,
    /// The address says https, and there is no TLS.
    Tls,
    /// A page for people is at the address.
    Page,
    /// It has never answered as a model's server does.
    Format,
    /// The server's words have to do.
    Other,
}

/// How servers say each of them, in lower case; the first that fits is meant.
const SAID: [(Mend, &[&str]); 8] = [
    (
        Mend::OutputLimit,
        &[
            // OpenAI and Azure, litellm.
            "'max_tokens' is not supported",
            "'max_completion_tokens' is not supported",
            "use 'max_completion_tokens'",
        ],
    ),
    (
        Mend::GiveBack,
        &[
            // DeepSeek, Moonshot.
            "must be passed back",
            "reasoning_content is missing",
        ],
    ),
    (
        Mend::ToolCount,
        &[
            // OpenAI, Gemini, Groq, Moonshot.
            "'tools': array too long",
            "function declarations can be specified",
            "'tools' : maximum number of items",
            "functions in tools currently cannot exceed",
            "too many tools",
        ],
    ),
    (
        Mend::Tools,
        &[
            // vLLM, Ollama, OpenRouter.
            "--tool-call-parser",
            "does not support tool",
            "support tool use",
            "tools is not supported",
            "tools are not supported",
            "takes no tools",
            "does not support function",
            "function calling is not",
        ],
    ),
    (
        Mend::Pictures,
        &[
            // OpenRouter, DeepSeek, vLLM.
            "support image",
            "`image_url`",
            "is not a multimodal model",
            "image(s) may be provided",
        ],
    ),
    (
        Mend::Account,
        &[
            // Anthropic, OpenAI, DashScope, DeepSeek and MiniMax, Ark.
            "credit balance",
            "usage limits",
            "billing",
            "arrearage",
            "account is in good standing",
            "insufficient balance",
            "insufficient_quota",
            "overdue",
        ],
    ),
    (
        Mend::Model,
        &[
            "model_not_found",
            "model not exist",
            "invalid model name",
            "is not a valid model",
        ],
    ),
    (
        Mend::Key,
        &[
            "api key",
            "api_key",
            "invalid authentication",
            "authenticationerror",
        ],
    ),
];

/// What stands before the length of the context in the servers' words, in lower case.
const LENGTH: [&str; 11] = [
    "context length is",
    "context length of only",
    "n_ctx",
    "context size",
    "context window of",
    "tokens allowed",
    "model token limit",
    "should be [1,",
    "configured limit of",
    "maximum model length of",
    ">",
];

impl Mend {
    /// By the status, and by what was said, in lower case.
    pub(super) fn of(status: u16, said: &str) -> Self {
        let fits = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
        let known = SAID.iter().find(|(_, phrases)| fits(phrases));
        if let Some(&(mend, _)) = known {
            return mend;
        }
        let names_model =
            said.contains("model") && fits(&["does not exist", "not found", "not_found"]);
        match status {
            401 | 403 => Self::Key,
            402 => Self::Account,
            413 => Self::Window,
            _ if names_model => Self::Model,
            300..=399 | 404 | 405 => Self::Address,
            _ => Self::Other,
        }
    }

    /// What to do, for a model in a role. `said`: the server's words.
    pub(super) fn remedy(self, endpoint: &Endpoint, role: Role, said: &str) -> String {
        let Endpoint {
            model,
            provider,
            key_env,
            give_back,
            output_limit,
            ..
        } = endpoint;
        let address = address(endpoint);
        let set = |key: &str, value: &str| {
            let provider = without_agent(provider);
            let line = format!("`{key} = \"{value}\"` in [providers.{provider}]");
            if catalog::built_in().providers.contains_key(provider) {
                return format!(
                    "{line} with its `base_url` and `key_env`, for it takes the built-in entry's place"
                );
            }
            format!("{line} (--set providers.{provider}.{key}={value})")
        };
        match self {
            Self::Key if is_classic_azure(endpoint) && !has_own_header(endpoint) => format!(
                "check the key, and its header: Azure's address of a deployment wants {}, and that of its version 1, \
                 https://RESOURCE.openai.azure.com/openai/v1 in {}, takes the key as it is sent",
                set("key_header", "api-key"),
                whole_address(endpoint)
            ),
            Self::Key => match key_env {
                Some(variable) => {
                    format!("check the key in {variable}, and what it may be used for")
                }
                None => format!("name the key's variable by `key_env` of [providers.{provider}]"),
            },
            Self::Account => format!("fill up the account at {provider}, or raise its limit"),
            Self::Model => format!(
                "check the name `{model}`, and whether {provider} serves it to this account"
            ),
            Self::Address => format!("check {address}"),
            Self::Tls => format!(
                "write http:// in the place of https:// in {}",
                whole_address(endpoint)
            ),
            Self::Format => {
                format!("check {address}, and its `format`: it has given no answer in this one yet")
            }
            Self::Tools => format!(
                "serve `{model}` with tools (vLLM: --enable-auto-tool-choice and --tool-call-parser; llama.cpp: --jinja), or \
                 choose another model"
            ),
            Self::Pictures => {
                format!("say `vision = false` in an entry of [models] for `{model}`, in a new run")
            }
            Self::ToolCount => format!(
                "shorten `tools` of the persona; `max_tools` of [providers.{provider}] in the suite tells it before \
                 anything is asked"
            ),
            Self::Window => window(role, said),
            Self::OutputLimit if output_limit == "max_tokens" => {
                format!("say {}", set("output_limit", "max_completion_tokens"))
            }
            Self::OutputLimit => format!("say {}", set("output_limit", "max_tokens")),
            Self::GiveBack if give_back.is_none() => {
                format!(
                    "say {}, in a new run",
                    set("give_back", "reasoning_content")
                )
            }
            Self::Page => format!(
                "check {}: a web page is there, and the address of a model's server mostly ends with /v1",
                whole_address(endpoint)
            ),
            Self::GiveBack | Self::Other => "mend what the server says".into(),
        }
    }
}

/// Where the address stands.
fn address(endpoint: &Endpoint) -> String {
    let Endpoint {
        provider,
        address_env,
        ..
    } = endpoint;
    match address_env {
        Some(variable) => format!("the address in {variable}"),
        None if is_for_agent(provider) => {
            format!("--base-url (`base_url` of [providers.{provider}])")
        }
        None => format!("`base_url` of [providers.{provider}]"),
    }
}

/// The same where nothing has answered there: a new provider may be of `--base-url`. In every role the same, so that it is told
/// once.
pub(super) fn whole_address(endpoint: &Endpoint) -> String {
    let address = address(endpoint);
    if endpoint.address_env.is_some() || is_for_agent(&endpoint.provider) {
        return address;
    }
    format!("{address} (--base-url for the agent)")
}

/// Whether Azure's older interface is at the address, which has one for each deployment and version.
fn is_classic_azure(endpoint: &Endpoint) -> bool {
    let is_of_version = |query: &str| query.contains("api-version=");
    endpoint.url.path().contains("/openai/deployments/")
        || endpoint.url.query().is_some_and(is_of_version)
}

/// Whether the key goes in a header of the provider's own.
fn has_own_header(endpoint: &Endpoint) -> bool {
    let key = endpoint.key.as_ref();
    key.is_some_and(|key| key.header().0 == "api-key")
}

/// What to do where a server read a part of what it was sent and said nothing.
pub(super) fn cut(model: &str, role: Role) -> String {
    let length = match role {
        Role::Agent => "as long as `[session] window_tokens`, 65536 unless it is set",
        _ => "of 131072 tokens, for what it is shown may have some 100,000",
    };
    format!(
        "serve `{model}` with a context {length} (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx of the model)"
    )
}

/// The agent's chat is kept within a window; what the others are shown follows from the session.
fn window(role: Role, said: &str) -> String {
    if role != Role::Agent {
        return "serve it with a longer context, or choose another model".into();
    }
    let limit = length(&said.to_lowercase());
    let least = u64::from(SMALLEST_WINDOW);
    if let Some(limit) = limit.filter(|limit| *limit < least) {
        return format!(
            "serve it with a context of at least {least} tokens, for it has {limit} and no smaller window is played; or choose \
             another model"
        );
    }
    let value = limit.map_or_else(
        || "N below the model's context".to_owned(),
        // The host's estimate may be too low for some texts.
        |limit| {
            let window = (limit / 4 * 3).max(least);
            format!("{window}, for its context is {limit} tokens")
        },
    );
    format!(
        "set `[session] window_tokens` to {value} (--set session.window_tokens=N, in a new run), or serve it with a \
         longer context"
    )
}

/// The length of the context, if the server says it.
fn length(said: &str) -> Option<u64> {
    // A bare sign of comparison means it in such a message only.
    if !CONTEXT.iter().any(|phrase| said.contains(phrase)) {
        return None;
    }
    LENGTH.iter().find_map(|before| {
        let (_, rest) = said.split_once(before)?;
        let rest = rest.trim_start_matches([' ', ':', '(']);
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        rest[..digits.unwrap_or(rest.len())].parse().ok()
    })
}
