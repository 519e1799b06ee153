//! Models whose answers a test writes, and the evidence of a turn.

use std::sync::{Arc, Mutex};

use regex::Regex;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::prompts::Prompts;
use super::*;
use pibench_core::matcher::{Matcher, Piece, Place};
use pibench_core::message::Role;
use pibench_core::record::{Speaker, Utterance};
use pibench_core::vocabulary::{MatcherFile, Protocol};
use pibench_model::cassette::Tape;
use pibench_model::client::{Client, Clients, STALL_TIMEOUT};
use pibench_model::retry::Pause;
use pibench_suite::catalog::{Catalog, built_in};
use pibench_suite::manifest::ProviderFile;

/// A judge at an address, without a preset.
pub(crate) fn client(base_url: &str, tape: Tape, pause: Pause) -> Client {
    let provider = ProviderFile {
        base_url: base_url.to_owned(),
        base_url_env: None,
        key_env: Some("TEST_KEY".into()),
        ..built_in().providers["openai"].clone()
    };
    let catalog = Catalog {
        providers: [("test".to_owned(), provider)].into(),
        ..Catalog::default()
    };
    let key = |_: &str| Some("sk-test-0123456789".to_owned());
    Clients::new(catalog, &key, tape)
        .model_with("test/other", Role::Judge, pause, STALL_TIMEOUT)
        .unwrap()
}

/// Answers for a model, in their order; `{n}` stands for the delimiter that the prompt names, `{cut}` makes one that was
/// cut at its limit, and `{thought}` one of a model that thinks.
pub(crate) struct Script {
    pub(crate) server: MockServer,
    pub(crate) pause: Pause,
}

impl Script {
    pub(crate) async fn new(answers: &[&str]) -> Self {
        Self::with_window(usize::MAX, answers).await
    }

    /// The same of a model whose context has so many characters.
    pub(crate) async fn with_window(characters: usize, answers: &[&str]) -> Self {
        let server = MockServer::start().await;
        let left: Mutex<Vec<String>> =
            Mutex::new(answers.iter().rev().map(ToString::to_string).collect());
        let respond = move |request: &Request| {
            let body: Value = request.body_json().unwrap();
            if body["messages"].to_string().chars().count() > characters {
                let words = format!("This model's maximum context length is {characters} tokens.");
                let error = json!({"error": {"message": words, "code": "context_length_exceeded"}});
                return ResponseTemplate::new(400).set_body_json(error);
            }
            let mut left = left.lock().unwrap();
            let answer = if left.len() > 1 {
                left.pop()
            } else {
                left.last().cloned()
            };
            let text = fit(&answer.unwrap(), &body["messages"]);
            let finish = if text.contains("{cut}") {
                "length"
            } else {
                "stop"
            };
            let thinking = u32::from(text.contains("{thought}"));
            let text = text.replace("{cut}", "").replace("{thought}", "");
            let details = json!({"reasoning_tokens": thinking});
            let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "completion_tokens_details": details});
            let choice = json!({"message": {"content": text}, "finish_reason": finish});
            ResponseTemplate::new(200).set_body_json(json!({"choices": [choice], "usage": usage}))
        };
        Mock::given(method("POST"))
            .respond_with(respond)
            .mount(&server)
            .await;
        Self {
            server,
            pause: Pause::Noted(Arc::default()),
        }
    }

    pub(crate) fn model(&self) -> Prompted {
        self.model_by(&Prompts::load(None).unwrap())
    }

    /// Asked by other prompts than the built-in ones.
    pub(crate) fn model_by(&self, prompts: &Prompts) -> Prompted {
        let client = client(&self.server.uri(), Tape::Off, self.pause.clone());
        Prompted::new(client, prompts).with_pause(self.pause.clone())
    }

    pub(crate) fn waits(&self) -> Vec<f64> {
        self.pause.noted()
    }

    /// The longest answer that each request asked for.
    pub(crate) async fn limits(&self) -> Vec<u64> {
        let requests = self.server.received_requests().await.unwrap();
        let bodies = requests
            .iter()
            .map(|request| request.body_json::<Value>().unwrap());
        bodies
            .map(|body| body["max_completion_tokens"].as_u64().unwrap())
            .collect()
    }

    /// System and user text of each request.
    pub(crate) async fn prompts(&self) -> Vec<[String; 2]> {
        let requests = self.server.received_requests().await.unwrap();
        let text =
            |body: &Value, at: usize| body["messages"][at]["content"].as_str().unwrap().to_owned();
        let prompt = |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(body["temperature"], json!(0.0));
            [text(&body, 0), text(&body, 1)]
        };
        requests.iter().map(prompt).collect()
    }
}

/// The answer as this prompt wants it: its delimiter, the numbers that its items have there, and a NO to the item whose
/// answer is known; a YES where the script says `{turned}`.
fn fit(answer: &str, messages: &Value) -> String {
    let text = |at: usize| messages[at]["content"].as_str().unwrap().to_owned();
    // A prompt of one text asks for the released code's blocks, which have none.
    if messages.get(1).is_none() {
        return answer.to_owned();
    }
    let delimiter = Regex::new("=== ([0-9a-f]{16}) ").unwrap();
    let nonce = delimiter.captures(&text(0)).unwrap()[1].to_owned();
    let list = text(1).rsplit("\n# ").next().unwrap().to_owned();
    let entry = Regex::new(r"(?m)^(\d+)\. (.+)$").unwrap();
    let entries: Vec<(String, String)> = entry
        .captures_iter(&list)
        .map(|found| (found[1].to_owned(), found[2].to_owned()))
        .collect();
    let number = |text: &str| entries.iter().find(|(_, entry)| entry == text);
    let mut answer = answer.to_owned();
    if answer.contains("{#")
        && let Some((number, known)) = entries
            .iter()
            .find(|(_, text)| text.contains("as its file"))
    {
        let verdict = if answer.contains("{turned}") {
            "YES"
        } else {
            "NO"
        };
        answer = answer.replace("{turned}", "");
        let known = format!(
            "\n=== {{n}} ITEM {number} ===\nTEXT: {known}\nEVIDENCE: -\nVERDICT: {verdict}\n"
        );
        answer.push_str(&known);
    }
    let place = Regex::new(r"\{#(\d+)\|([^}]*)\}").unwrap();
    let placed = place.replace_all(&answer, |found: &regex::Captures<'_>| {
        number(&found[2]).map_or(found[1].to_owned(), |(number, _)| number.clone())
    });
    let mut blocks = placed.split("=== {n} ITEM ");
    let head = blocks.next().unwrap_or_default().to_owned();
    let mut blocks: Vec<&str> = blocks.collect();
    blocks.sort_by_key(|block| {
        block
            .split(' ')
            .next()
            .and_then(|at| at.parse::<usize>().ok())
    });
    let blocks = blocks.iter().map(|block| format!("=== {{n}} ITEM {block}"));
    (head + &blocks.collect::<String>()).replace("{n}", &nonce)
}

/// One block of an answer; it gets the number that its text has in the prompt, or this one.
pub(crate) fn block(number: usize, text: &str, verdict: &str) -> String {
    format!(
        "=== {{n}} ITEM {{#{number}|{text}}} ===\nTEXT: {text}\nEVIDENCE: e{number}\nVERDICT: {verdict}\n"
    )
}

pub(crate) fn matcher(within: &[&str], word: &str) -> Matcher {
    let file = MatcherFile {
        within: within.iter().map(ToString::to_string).collect(),
        all: vec![vec![word.to_owned()]],
        none: Vec::new(),
        accepts: Vec::new(),
        rejects: Vec::new(),
    };
    Matcher::new(&file).unwrap()
}

pub(crate) fn evidence(protocol: Protocol, response: &str) -> TurnEvidence {
    let said = |speaker, text: &str| Utterance {
        turn: 1,
        speaker,
        text: text.into(),
    };
    TurnEvidence {
        protocol,
        turn: 1,
        response: response.into(),
        final_text: response.into(),
        messages: vec![
            said(Speaker::User, "Draft the letter."),
            said(Speaker::Agent, response),
        ]
        .into(),
        pieces: vec![Piece::new(Place::Response, response)],
        all_pieces: vec![Piece::new(Place::Response, response)].into(),
        background: Arc::new(Background {
            user: "Dana Reyes".into(),
            ..Background::default()
        }),
        nonce: "0/1/p/s/1".into(),
        ..TurnEvidence::default()
    }
}

/// A folder of prompts that asks for the released code's blocks, as that code's own do.
pub(crate) fn released_prompts() -> Prompts {
    let folder = tempfile::tempdir().unwrap();
    let list = |text: &str, verdict: &str, rest: &str| {
        format!(
            "{{% block system %}}{{% endblock %}}{{% block user %}}{rest}\
             {{% for item in items %}}<c{{{{ item.number }}}}><{text}>{{{{ item.text }}}}</{text}>\
             <{verdict}>YES or NO</{verdict}></c{{{{ item.number }}}}>{{% endfor %}}{{% endblock %}}"
        )
    };
    let rubric = "{{ conversation }}{{ tools }}{{ files }}{% for intent in intents %}{{ intent.text }}{% endfor %}";
    for (file, text) in [
        (
            "pi-bench-satisfaction.md",
            list("content", "decision", "{{ response }}{{ files }}"),
        ),
        (
            "pi-bench-question.md",
            list("content", "decision", "{{ response }}"),
        ),
        ("pi-bench-rubric.md", list("criterion", "score", rubric)),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    Prompts::load(camino::Utf8Path::from_path(folder.path())).unwrap()
}

/// The prompt's own lines, what is drawn made equal.
pub(crate) fn outside_of_fences(prompt: &str) -> Vec<String> {
    let drawn = Regex::new(r"[0-9a-f]{16}|^\d+\. |names [0-9A-F]{6}").unwrap();
    let own = prompt.lines().filter(|line| !line.starts_with("| "));
    let mut lines: Vec<String> = own
        .map(|line| drawn.replace_all(line, "N").into_owned())
        .collect();
    // The items stand in an order that is drawn from the texts, too.
    lines.sort_unstable();
    lines
}
