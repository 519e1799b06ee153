use std::sync::{Arc, Mutex};

use serde_json::json;
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::*;
use crate::cassette::Cassette;
use pibench_core::message::{Message, Reasoning};
use pibench_core::vocabulary::WireFormat;
use pibench_suite::manifest::{ModelFile, ProviderFile};

const KEY: &str = "sk-test-0123456789";

/// A provider `test` with one preset, `special`.
struct Setup {
    provider: ProviderFile,
    preset: ModelFile,
    tape: Tape,
    stall: Duration,
    role: Role,
    key: String,
}

impl Setup {
    fn at(base_url: &str) -> Self {
        let built_in = pibench_suite::catalog::built_in();
        let provider = ProviderFile {
            base_url: base_url.to_owned(),
            base_url_env: None,
            key_env: Some("TEST_KEY".into()),
            ..built_in.providers["openai"].clone()
        };
        let preset = ModelFile {
            provider: "test".into(),
            model: "model".into(),
            format: None,
            thinking: [("effort".to_owned(), json!("medium"))].into(),
            plain: [("effort".to_owned(), json!("none"))].into(),
            ..built_in.models["gpt-5.4"].clone()
        };
        Self {
            provider,
            preset,
            tape: Tape::Off,
            stall: STALL_TIMEOUT,
            role: Role::Judge,
            key: KEY.into(),
        }
    }

    fn model(self, spec: &str, pause: Pause) -> Client {
        let Self {
            provider,
            preset,
            tape,
            stall,
            role,
            key,
        } = self;
        let catalog = Catalog {
            providers: [("test".to_owned(), provider)].into(),
            models: [("special".to_owned(), preset)].into(),
        };
        let key = |_: &str| Some(key.clone());
        let mut clients = Clients::new(catalog, &key, tape);
        clients.model_with(spec, role, pause, stall).unwrap()
    }

    fn with(self, tape: Tape) -> Self {
        Self { tape, ..self }
    }

    /// A model without a preset.
    fn client(self, pause: Pause) -> Client {
        self.model("test/other", pause)
    }
}

fn noted() -> Pause {
    Pause::Noted(Arc::default())
}

fn answer(text: &str) -> ResponseTemplate {
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    ResponseTemplate::new(200).set_body_json(body)
}

fn failing(status: u16, words: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"error": {"message": words}}))
}

/// A server that gives the answers in their order, the last one again and again.
async fn server(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let asked = Mutex::new(0);
    let respond = move |_: &Request| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        answers[(*asked - 1).min(answers.len() - 1)].clone()
    };
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}")))
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

async fn ask(client: &Client, temperature: Option<f64>) -> Result<Reply, ModelError> {
    let messages = [Message::User {
        text: "Hello?".into(),
    }];
    let request = ChatRequest {
        messages: &messages,
        tools: &[],
        may_call: true,
        temperature,
        max_output: None,
    };
    client.chat(request).await
}

/// What the client makes of the answers, and how often it asked.
async fn play(answers: Vec<ResponseTemplate>) -> (Result<Reply, ModelError>, usize, Vec<f64>) {
    let server = server(answers).await;
    let pause = noted();
    let client = Setup::at(&format!("{}/v1", server.uri())).client(pause.clone());
    let result = ask(&client, Some(0.0)).await;
    let asked = server.received_requests().await.unwrap().len();
    (result, asked, pause.noted())
}

async fn check_infrastructure(answers: Vec<ResponseTemplate>, expected: &str, attempts: usize) {
    let (result, asked, _) = play(answers).await;
    match result {
        Err(ModelError::Infrastructure { server, reason }) => {
            assert!(reason.contains(expected), "{reason}");
            assert!(server.starts_with("test/other at 127.0.0.1:"), "{server}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(asked, attempts, "{expected}");
}

async fn check_setup(rejected: ResponseTemplate, expected: &str, mend: &str) {
    let (result, asked, _) = play(vec![rejected]).await;
    match result {
        Err(
            ModelError::Setup {
                server,
                reason,
                remedy,
            }
            | ModelError::Window {
                server,
                reason,
                remedy,
                ..
            },
        ) => {
            assert!(reason.contains(expected), "{reason}");
            assert!(remedy.contains(mend), "{expected}: {remedy}");
            assert!(server.starts_with("test/other at 127.0.0.1:"), "{server}");
        }
        other => panic!("{expected}: {other:?}"),
    }
    assert_eq!(asked, 1, "{expected}");
}

async fn check_refused(answers: Vec<ResponseTemplate>, expected: &str, attempts: usize) {
    let (result, asked, _) = play(answers).await;
    match result {
        Err(ModelError::Refused { reason, .. }) => assert!(reason.contains(expected), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(asked, attempts, "{expected}");
}

#[tokio::test]
async fn a_reply_comes_back() {
    let (reply, asked, waits) = play(vec![answer("Hi.")]).await;
    assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 1));
    assert_eq!(waits, [0.0; 0]);
}

#[tokio::test]
async fn trouble_is_asked_again_with_growing_waits() {
    for status in [408, 409, 429, 500, 503, 529] {
        let (reply, asked, waits) = play(vec![
            failing(status, "busy"),
            failing(status, "busy"),
            answer("Hi."),
        ])
        .await;
        assert_eq!(
            (reply.unwrap().text.as_str(), asked),
            ("Hi.", 3),
            "{status}"
        );
        assert!(
            (1.0..=2.0).contains(&waits[0]) && (2.0..=4.0).contains(&waits[1]),
            "{waits:?}"
        );
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    check_infrastructure(
        vec![failing(503, "overloaded, sorry")],
        "status 503: overloaded, sorry",
        7,
    )
    .await;
}

/// The server says that it may be asked again at once, and it is not so.
#[tokio::test]
async fn a_rate_that_is_exceeded_is_waited_for_longer_than_any_number_of_attempts() {
    let lies = || failing(429, "slow down").insert_header("retry-after", "0");
    let mut answers: Vec<ResponseTemplate> = (0..30).map(|_| lies()).collect();
    answers.push(answer("Hi."));
    let (reply, asked, waits) = play(answers).await;
    assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 31));
    assert!(waits.iter().sum::<f64>() > 600.0 && waits[29] >= 30.0);
    let (reply, asked, waits) = play(vec![lies()]).await;
    assert!(reply.is_err() && asked < 100, "not for ever: {asked}");
    assert!((1_800.0..1_900.0).contains(&waits.iter().sum::<f64>()));
}

#[tokio::test]
async fn a_brief_question_has_a_short_answer_and_fewer_attempts() {
    let server = server(vec![failing(503, "busy")]).await;
    let setup = || Setup::at(&format!("{}/v1", server.uri()));
    let plain = setup().client(noted()).briefly();
    assert!(ask(&plain, None).await.is_err());
    let switched = setup().model("special", noted()).briefly();
    assert!(ask(&switched, None).await.is_err());
    let sent = server.received_requests().await.unwrap();
    let limits: Vec<Value> = sent
        .iter()
        .map(|request| request.body_json::<Value>().unwrap()["max_completion_tokens"].clone())
        .collect();
    // Who may think first is not cut.
    assert_eq!(
        limits,
        [vec![json!(1024); 4], vec![Value::Null; 4]].concat()
    );
}

#[tokio::test]
async fn retry_after_is_honoured_up_to_a_limit() {
    let wait = |header: &str| failing(429, "slow down").insert_header("retry-after", header);
    let (reply, _, waits) = play(vec![wait("17"), answer("Hi.")]).await;
    assert!(reply.is_ok());
    assert_eq!(waits, [17.0]);
    // The window of a limit may be long.
    let (reply, _, waits) = play(vec![wait("900"), wait("700"), answer("Hi.")]).await;
    assert!(reply.is_ok());
    assert_eq!(waits, [900.0, 700.0]);
    // And no longer than any limit's, whatever the server says.
    let later = "Fri, 31 Dec 2999 23:59:59 GMT";
    for (lie, waited) in [("99999999", 900.0), (later, 900.0)] {
        let (reply, _, waits) = play(vec![wait("900"), wait(lie), answer("Hi.")]).await;
        assert!(reply.is_ok());
        assert_eq!(waits, [900.0, waited]);
    }
    // Of a server that is down it is no limit's.
    let down = failing(503, "down").insert_header("retry-after", "3600");
    check_infrastructure(vec![down], "down", 1).await;
}

#[tokio::test]
async fn what_the_operator_must_mend_is_not_asked_again() {
    for (status, remedy) in [
        (301, "check `base_url` of [providers.test]"),
        (400, "mend what the server says"),
        (401, "check the key in TEST_KEY"),
        (402, "fill up the account at test"),
        (403, "check the key in TEST_KEY"),
        (404, "check `base_url` of [providers.test]"),
        (405, "check `base_url` of [providers.test]"),
        (413, "serve it with a longer context"),
        (422, "mend what the server says"),
        (451, "mend what the server says"),
    ] {
        check_setup(failing(status, "no such thing"), "no such thing", remedy).await;
    }
}

fn answered(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

async fn check_setups(remedy: &str, answers: &[(u16, Value, &str)]) {
    for (status, body, expected) in answers {
        check_setup(answered(*status, body), expected, remedy).await;
    }
}

fn said(words: &str, code: &str) -> Value {
    json!({"error": {"message": words, "type": "invalid_request_error", "param": null, "code": code}})
}

// What servers answer, in bodies as people have reported them.

#[tokio::test]
async fn a_rejected_key_is_setup() {
    let google = json!([{"error": {
        "code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT",
    }}]);
    let openai = said("Incorrect API key provided: sk-***.", "invalid_api_key");
    let anthropic = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let answers = [
        (400, google, "status 400: API key not valid."),
        (401, openai, "status 401: Incorrect API key"),
        (401, anthropic, "status 401: invalid x-api-key"),
    ];
    check_setups("check the key in TEST_KEY", &answers).await;
}

#[tokio::test]
async fn an_empty_account_is_setup() {
    let anthropic = json!({"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    }});
    let dashscope = json!({"error": {
        "message": "Access denied, please make sure your account is in good standing.", "code": "Arrearage",
    }});
    let openai = said(
        "Billing hard limit has been reached",
        "billing_hard_limit_reached",
    );
    let quota = json!({"error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
    }});
    let zai = json!({"error": {
        "code": "1113", "message": "Insufficient balance or no resource package. Please recharge.",
    }});
    let moonshot = json!({"error": {
        "message": "Your account is not active, current state: suspended", "type": "exceeded_current_quota_error",
    }});
    let answers = [
        (400, anthropic, "status 400: Your credit balance is too low"),
        (400, dashscope, "status 400: Access denied"),
        (400, openai, "status 400: Billing hard limit"),
        (429, quota, "status 429: You exceeded your current quota"),
        (429, zai, "status 429: Insufficient balance"),
        (429, moonshot, "status 429: Your account is not active"),
    ];
    check_setups("fill up the account at test", &answers).await;
}

#[tokio::test]
async fn a_model_that_is_not_there_is_setup() {
    let anthropic =
        json!({"type": "error", "error": {"type": "not_found_error", "message": "model: sonnet4"}});
    let words = "The model `gpt-x` does not exist or you do not have access to it.";
    let openai = said(words, "model_not_found");
    let deepseek = said("Model Not Exist", "invalid_request_error");
    let openrouter =
        json!({"error": {"message": "some/model is not a valid model ID", "code": 400}});
    let litellm = json!({"error": {
        "message": {"error": "/chat/completions: Invalid model name passed in model=other. Call `/v1/models` to view \
            available models for your key."},
        "type": "None", "param": "None", "code": "400",
    }});
    let vllm = json!({
        "object": "error", "message": "The model `other` does not exist.", "type": "NotFoundError", "param": null,
        "code": 404,
    });
    let answers = [
        (404, anthropic, "status 404: model: sonnet4"),
        (404, openai, "status 404: The model `gpt-x`"),
        (400, deepseek, "status 400: Model Not Exist"),
        (400, openrouter, "status 400: some/model is not"),
        (
            400,
            litellm,
            "status 400: /chat/completions: Invalid model name",
        ),
        (404, vllm, "status 404: The model `other`"),
    ];
    check_setups("check the name `other`", &answers).await;
}

#[tokio::test]
async fn tools_that_are_not_taken_are_setup() {
    let openrouter = json!({"error": {"code": 404, "message": "No endpoints found that support tool use. To learn \
        more about provider routing, visit: https://openrouter.ai/docs/provider-routing"}});
    let vllm = json!({
        "object": "error", "type": "BadRequestError", "param": null, "code": 400,
        "message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    });
    let ollama = json!({"error": {
        "message": "registry.ollama.ai/library/gemma3:4b does not support tools", "type": "api_error", "param": null,
        "code": null,
    }});
    let llamacpp = json!({"error": {
        "code": 500, "message": "tools param requires --jinja flag", "type": "server_error",
    }});
    let answers = [
        (404, openrouter, "No endpoints found that support tool use"),
        (400, vllm, "requires --enable-auto-tool-choice"),
        (400, ollama, "does not support tools"),
        (500, llamacpp, "tools param requires --jinja flag"),
    ];
    check_setups("serve `other` with tools", &answers).await;
    let openai = json!({"error": {
        "message": "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with \
            length 132 instead.",
        "type": "invalid_request_error", "param": "tools", "code": "array_above_max_length",
    }});
    let gemini = json!([{"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "* tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be specified.",
    }}]);
    let answers = [
        (400, openai, "array too long"),
        (400, gemini, "At most 512"),
    ];
    check_setups("shorten `tools` of the persona", &answers).await;
}

#[tokio::test]
async fn a_picture_that_cannot_be_seen_is_setup() {
    let words = "No endpoints found that support image input";
    let openrouter = json!({"error": {"message": words, "code": 404}});
    let words = "messages[3]: unknown variant `image_url`, expected `text` at line 1 column 901";
    let deepseek = said(words, "invalid_request_error");
    let vllm = json!({
        "object": "error", "message": "At most 0 image(s) may be provided in one prompt.", "type": "BadRequestError",
        "param": null, "code": 400,
    });
    let answers = [
        (404, openrouter, "status 404: No endpoints"),
        (400, deepseek, "status 400: messages[3]"),
        (400, vllm, "status 400: At most 0 image(s)"),
    ];
    check_setups("say `vision = false`", &answers).await;
}

/// `MiniMax` says it with status 200.
#[tokio::test]
async fn a_status_within_the_answer_counts_as_its_own() {
    let minimax = |code: u16, words: &str| {
        let body = json!({"base_resp": {"status_code": code, "status_msg": words}});
        answered(200, &body)
    };
    let balance = minimax(1008, "insufficient balance");
    check_setup(
        balance,
        "insufficient balance (1008)",
        "fill up the account",
    )
    .await;
    let long = minimax(2013, "invalid params, context window exceeds limit");
    check_setup(
        long,
        "context window exceeds limit (2013)",
        "longer context",
    )
    .await;
    let sensitive = minimax(1026, "input new_sensitive");
    check_refused(vec![sensitive], "input new_sensitive (1026)", 1).await;
}

/// Gemini and `DashScope` say of a minute's limit what `OpenAI` says of an empty account.
#[tokio::test]
async fn a_limit_that_passes_is_waited_for() {
    let gemini = json!([{"error": {
        "code": 429, "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 30s.",
    }}]);
    let dashscope = json!({"error": {
        "message": "You exceeded your current quota, please check your plan and billing details. For details, see: \
            https://help.aliyun.com/zh/model-studio/error-code#token-limit",
        "type": "insufficient_quota", "code": "insufficient_quota",
    }});
    for body in [gemini, dashscope] {
        let (reply, asked, _) = play(vec![answered(429, &body), answer("Hi.")]).await;
        assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 2));
    }
}

/// Which length the window should have is said where the server says its own.
#[tokio::test]
async fn a_context_that_is_too_long_names_the_window() {
    let openai = json!({"error": {
        "message": "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in \
            the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
        "type": "invalid_request_error", "param": null, "code": "invalid_request_error",
    }});
    let responses = json!({"error": {
        "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded",
    }});
    let anthropic = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "prompt is too long: 208656 tokens > 200000 maximum",
    }});
    let litellm = json!({"error": {
        "message": "litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {\"type\":\"error\",\
            \"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context \
            limit: 179413 + 32768 > 200000, decrease input length or `max_tokens` and try again\"}}",
        "type": null, "param": null, "code": "400",
    }});
    let gemini = json!([{"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    }}]);
    let dashscope = json!({"error": {
        "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
        "type": "invalid_request_error", "code": "invalid_parameter_error",
    }});
    let vllm = |tokens: u64| {
        let words = format!("This model's maximum context length is {tokens} tokens.");
        json!({"error": {"message": words, "type": "BadRequestError", "param": null, "code": 400}})
    };
    for (status, body, tokens) in [
        (400, openai, Some(131_072)),
        (400, responses, None),
        (400, anthropic, Some(200_000)),
        (400, litellm, Some(200_000)),
        (400, gemini, Some(1_048_576)),
        (400, dashscope, Some(983_616)),
        // The smallest window fits them, and a smaller one is none.
        (400, vllm(40_960), Some(40_960)),
        (400, vllm(32_768), Some(32_768)),
    ] {
        let expected = tokens.map_or("N below the model's context".into(), |tokens: u64| {
            let window = (tokens / 4 * 3).max(32_768);
            format!("{window}, for its context is {tokens} tokens")
        });
        let remedy = remedy(Role::Agent, answered(status, &body)).await;
        let window = "set `[session] window_tokens` to ";
        assert!(
            remedy.starts_with(&format!("{window}{expected}")),
            "{remedy}"
        );
        // What a judge is shown follows from the session, and not from the window.
        let judges = self::remedy(Role::Judge, answered(status, &body)).await;
        assert!(!judges.contains("window_tokens"), "{judges}");
    }
}

#[tokio::test]
async fn a_context_that_no_window_fits_is_told_and_no_window_named() {
    let llamacpp = json!({"error": {
        "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 4390, "n_ctx": 4096,
        "message": "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
    }});
    let openrouter = json!({"error": {
        "message": "Provider returned error", "code": 400,
        "metadata": {"provider_name": "P", "raw": "This model's maximum context length is 32767 tokens."},
    }});
    let lmstudio = json!({
        "error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= \
            n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
    });
    let older = json!({
        "error": "Trying to keep the first 6262 tokens when context the overflows. However, the model is loaded with context \
            length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide \
            a shorter input",
    });
    for (status, body, tokens) in [
        (400, llamacpp.clone(), 4_096),
        // As some of its versions have it.
        (500, llamacpp, 4_096),
        (400, openrouter, 32_767),
        (400, lmstudio, 4_096),
        (400, older, 4_096),
    ] {
        let remedy = remedy(Role::Agent, answered(status, &body)).await;
        let expected = format!(
            "serve it with a context of at least 32768 tokens, for it has {tokens} and no smaller window is played"
        );
        assert!(remedy.starts_with(&expected), "{remedy}");
        assert!(!remedy.contains("window_tokens"), "{remedy}");
    }
}

async fn remedy(role: Role, answer: ResponseTemplate) -> String {
    let server = server(vec![answer]).await;
    remedy_of(Setup {
        role,
        ..Setup::at(&format!("{}/v1", server.uri()))
    })
    .await
}

async fn remedy_of(setup: Setup) -> String {
    match ask(&setup.client(noted()), None).await {
        Err(ModelError::Setup { remedy, .. } | ModelError::Window { remedy, .. }) => remedy,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refusal_that_a_setting_mends_names_it() {
    let words = |field: &str, other: &str| {
        let words = format!(
            "Unsupported parameter: '{field}' is not supported with this model. Use '{other}' instead."
        );
        answered(400, &said(&words, "unsupported_parameter"))
    };
    for (field, other) in [
        ("max_tokens", "max_completion_tokens"),
        ("max_completion_tokens", "max_tokens"),
    ] {
        let server = server(vec![words(field, other)]).await;
        let mut setup = Setup::at(&format!("{}/v1", server.uri()));
        setup.provider.output_limit = field.into();
        let expected = format!(
            "say `output_limit = \"{other}\"` in [providers.test] (--set providers.test.output_limit={other})"
        );
        assert_eq!(remedy_of(setup).await, expected);
    }
    for words in [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ] {
        let server = server(vec![failing(400, words)]).await;
        let setup = || Setup::at(&format!("{}/v1", server.uri()));
        let expected = "say `give_back = \"reasoning_content\"` in [providers.test] \
            (--set providers.test.give_back=reasoning_content), in a new run";
        assert_eq!(remedy_of(setup()).await, expected);
        // It is set: something else is wrong.
        let mut set = setup();
        set.provider.give_back = Some("reasoning_content".into());
        assert_eq!(remedy_of(set).await, "mend what the server says");
    }
}

/// The key is right, and its header another one.
#[tokio::test]
async fn azures_classic_address_is_told_from_a_wrong_key() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(failing(
            401,
            "Access denied due to invalid subscription key",
        ))
        .mount(&server)
        .await;
    let at = |path: &str| Setup::at(&format!("{}{path}", server.uri()));
    for path in [
        "/openai/deployments/m?api-version=2024-10-21",
        "/openai/deployments/m",
        "/gateway?api-version=2024-10-21",
    ] {
        let remedy = remedy_of(at(path)).await;
        let own = "`key_header = \"api-key\"` in [providers.test]";
        for part in [own, ".openai.azure.com/openai/v1", "`base_url` of"] {
            assert!(remedy.contains(part), "{part}: {remedy}");
        }
    }
    let remedy = remedy_of(at("/openai/v1")).await;
    assert!(remedy.starts_with("check the key in TEST_KEY"), "{remedy}");
    Mock::given(path("/openai/deployments/m/chat/completions"))
        .and(header("api-key", KEY))
        .respond_with(answer("Hi."))
        .with_priority(1)
        .mount(&server)
        .await;
    let mut own = at("/openai/deployments/m?api-version=2024-10-21");
    own.provider.key_header = Some("api-key".into());
    assert_eq!(ask(&own.client(noted()), None).await.unwrap().text, "Hi.");
    let sent = server.received_requests().await.unwrap();
    assert!(!sent.last().unwrap().headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_refusal_of_the_content_stays_the_models_doing() {
    let openai = json!({"error": {
        "message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with \
            a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
        "type": "invalid_request_error", "param": null, "code": "invalid_prompt",
    }});
    let azure = json!({"error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please \
            modify your prompt and retry.",
        "type": null, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }});
    let anthropic = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "Output blocked by content filtering policy",
    }});
    let deepseek = json!({"error": {
        "message": "Content Exists Risk", "type": "invalid_request_error", "param": null, "code": "invalid_request_error",
    }});
    let dashscope = json!({"error": {
        "code": "data_inspection_failed", "param": null, "message": "Input data may contain inappropriate content.",
        "type": "data_inspection_failed",
    }});
    let moonshot = json!({"error": {
        "type": "content_filter", "message": "The request was rejected because it was considered high risk",
    }});
    let openrouter = json!({"error": {
        "code": 403, "message": "Your chosen model requires moderation and your input was flagged",
    }});
    for (status, body, words) in [
        (400, openai, "Invalid prompt"),
        (400, azure, "content management policy"),
        (400, anthropic, "Output blocked"),
        (400, deepseek, "Content Exists Risk"),
        (400, dashscope, "inappropriate content"),
        (400, moonshot, "considered high risk"),
        (403, openrouter, "your input was flagged"),
    ] {
        check_refused(vec![answered(status, &body)], words, 1).await;
    }
    // A word of it does not make it one.
    let parameter = failing(400, "Unsupported parameter: 'safety_settings'");
    check_setup(parameter, "safety_settings", "mend what the server says").await;
    let account = failing(403, "Your account was flagged; write to us.");
    check_setup(account, "account was flagged", "check the key in TEST_KEY").await;
}

/// An empty answer would be asked for again; a refusal is the model's last word.
#[tokio::test]
async fn an_answer_that_is_a_refusal_is_not_asked_for_again() {
    let body =
        json!({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]});
    let filtered = ResponseTemplate::new(200).set_body_json(body);
    check_refused(vec![filtered], "filter of contents", 1).await;
    // The word goes into the record, and is the server's.
    let word = format!("content_filter:\u{1b}[31m{}", "x".repeat(5_000));
    let body = json!({"choices": [{"message": {"content": ""}, "finish_reason": word}]});
    let (result, ..) = play(vec![ResponseTemplate::new(200).set_body_json(body)]).await;
    let said = result.unwrap_err().to_string();
    assert!(said.len() < 800 && !said.contains('\u{1b}'), "{said}");
}

#[tokio::test]
async fn the_servers_words_come_in_one_line_of_bounded_length() {
    check_setup(
        ResponseTemplate::new(413),
        "status 413: Payload Too Large",
        "",
    )
    .await;
    let text = ResponseTemplate::new(422).set_body_string("plain\nwords\u{1b}[31m");
    check_setup(text, "status 422: plain words [31m", "").await;
    let long = ResponseTemplate::new(400).set_body_string("x".repeat(5_000));
    let (result, ..) = play(vec![long]).await;
    assert!(result.unwrap_err().to_string().len() < 800);
}

#[tokio::test]
async fn unreadable_answers_are_asked_again_a_few_times() {
    let cut = ResponseTemplate::new(200).set_body_string("{\"choices\": [");
    check_infrastructure(vec![cut], "no JSON", 3).await;
    let page = || ResponseTemplate::new(200).set_body_string("<html>Gateway</html>");
    let shape = || ResponseTemplate::new(200).set_body_json(json!({"object": "list"}));
    let (reply, asked, _) = play(vec![page(), shape(), answer("Hi.")]).await;
    assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 3));
}

/// Before the first answer it is the wrong address; after that a gateway may put it in the place of an answer.
#[tokio::test]
async fn a_page_for_people_is_no_models_server_unless_that_has_answered() {
    let page = || {
        let page = "\n<!DOCTYPE html><html><title>Chats</title></html>";
        ResponseTemplate::new(200).set_body_string(page)
    };
    let told = remedy(Role::Agent, page()).await;
    let mend =
        "check `base_url` of [providers.test] (--base-url for the agent): a web page is there";
    assert!(told.starts_with(mend), "{told}");
    let server = server(vec![answer("Hi."), page()]).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
    assert!(ask(&client, None).await.is_ok());
    let error = ask(&client, None).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Infrastructure { .. }),
        "{error}"
    );
}

/// llama.cpp and Ollama say it with a status of 500, Groq with 400.
#[tokio::test]
async fn a_call_that_its_server_cannot_read_is_the_models_fault_when_it_comes_again() {
    let llamacpp = json!({"error": {
        "code": 500, "message": "Failed to parse input at pos 40: <tool_call>...", "type": "server_error",
    }});
    let ollama = json!({"error": {
        "message": "error parsing tool call: raw='{\"path\": \"a', err=unexpected end of JSON input",
        "type": "api_error", "param": null, "code": null,
    }});
    let groq = json!({"error": {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=",
    }});
    for (status, body, words) in [
        (500, llamacpp, "status 500: Failed to parse input at pos 40"),
        (500, ollama, "status 500: error parsing tool call"),
        (400, groq, "status 400: Failed to call a function"),
    ] {
        let broken = || answered(status, &body);
        check_refused(vec![broken()], words, 3).await;
        let (reply, asked, _) = play(vec![broken(), broken(), answer("Hi.")]).await;
        assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 3));
    }
    // What is not about the answer stays the server's trouble.
    let killed = failing(500, "llama runner process has terminated: signal: killed");
    check_infrastructure(vec![killed], "has terminated", 7).await;
}

/// `OpenRouter`, `DeepSeek`, Z.ai and vLLM say so with status 200.
#[tokio::test]
async fn an_answer_that_its_server_broke_off_is_asked_for_again_and_never_the_models() {
    let broken = |finish: &str, error: &Value| {
        let choice = json!({
            "index": 0, "finish_reason": finish, "error": error,
            "message": {"role": "assistant", "content": "I started to"},
        });
        answered(200, &json!({ "choices": [choice] }))
    };
    let gone = json!({"code": 502, "message": "Provider disconnected"});
    let no_status = json!({"message": "Provider disconnected"});
    let none = Value::Null;
    for (finish, error, words) in [
        ("error", &gone, "status 502: Provider disconnected"),
        ("stop", &gone, "status 502: Provider disconnected"),
        ("error", &no_status, "Provider disconnected"),
        ("error", &none, "broken off (finish_reason error)"),
        ("insufficient_system_resource", &none, "broken off"),
        ("network_error", &none, "broken off"),
        ("abort", &none, "broken off"),
        ("model_error", &none, "broken off"),
    ] {
        let (reply, asked, _) = play(vec![broken(finish, error), answer("Hi.")]).await;
        assert_eq!(
            (reply.unwrap().text.as_str(), asked),
            ("Hi.", 2),
            "{finish}"
        );
        check_infrastructure(vec![broken(finish, error)], words, 7).await;
    }
    for finish in ["stop", "eos", "MALFORMED_FUNCTION_CALL", "errors"] {
        let (reply, asked, _) = play(vec![broken(finish, &none)]).await;
        assert_eq!(
            (reply.unwrap().text.as_str(), asked),
            ("I started to", 1),
            "{finish}"
        );
    }
    // It is read as any other error is.
    let unpaid = json!({"code": 402, "message": "Insufficient credits"});
    let mend = "fill up the account at test";
    check_setup(broken("error", &unpaid), "Insufficient credits", mend).await;
    let flagged = json!({"message": "your input was flagged"});
    check_refused(vec![broken("error", &flagged)], "was flagged", 1).await;
}

fn counting(tokens: u64) -> ResponseTemplate {
    let body = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 10}});
    answered(200, &body)
}

/// Asks with a text of so many characters.
async fn ask_at_length(client: &Client, characters: usize) -> Result<Reply, ModelError> {
    let text = "ab ".repeat(characters / 3);
    let request = ChatRequest {
        messages: &[Message::User { text }],
        tools: &[],
        may_call: true,
        temperature: None,
        max_output: None,
    };
    client.chat(request).await
}

fn check_cut(result: Result<Reply, ModelError>, counted: u64) {
    let Err(ModelError::Window { reason, remedy, .. }) = result else {
        panic!("{result:?}");
    };
    let expected = format!("it counted {counted} tokens of a request that has ");
    assert!(reason.starts_with(&expected), "{reason}");
    assert!(remedy.contains("OLLAMA_CONTEXT_LENGTH"), "{remedy}");
}

#[tokio::test]
async fn a_request_that_was_cut_is_told_at_once_before_the_sessions() {
    for counted in [4_096, 2_050] {
        let server = server(vec![counting(counted)]).await;
        let client = || Setup::at(&format!("{}/v1", server.uri())).client(noted());
        check_cut(ask_at_length(&client().briefly(), 60_000).await, counted);
        // It may be as short as that.
        assert!(ask_at_length(&client().briefly(), 16_000).await.is_ok());
    }
    for counted in [0, 100, 4_000, 4_100, 15_000, 16_384] {
        let server = server(vec![counting(counted)]).await;
        let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
        let asked = ask_at_length(&client.briefly(), 60_000).await;
        assert!(asked.is_ok(), "{counted}");
    }
}

#[tokio::test]
async fn within_a_session_a_request_was_cut_where_another_has_the_same_count() {
    let server = server(vec![counting(4_096)]).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
    for _ in 0..2 {
        // The same one once more says nothing new.
        assert!(ask_at_length(&client, 60_000).await.is_ok());
    }
    check_cut(ask_at_length(&client, 90_000).await, 4_096);
}

#[tokio::test]
async fn a_shorter_request_was_cut_where_it_has_the_count_of_one_that_was() {
    for (next, is_cut) in [(4_096, true), (4_095, false)] {
        let server = server(vec![counting(4_096), counting(next)]).await;
        let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
        assert!(ask_at_length(&client, 60_000).await.is_ok());
        // By its length alone it may be whole.
        let shorter = ask_at_length(&client, 16_000).await;
        if is_cut {
            check_cut(shorter, 4_096);
        } else {
            assert!(shorter.is_ok(), "{shorter:?}");
        }
    }
}

#[tokio::test]
async fn a_context_that_is_too_small_is_the_operators_to_mend_for_an_agent_alone() {
    let refusal = failing(400, "prompt is too long: 9000 tokens > 4096 maximum");
    for role in [Role::Agent, Role::User, Role::Judge] {
        let answers = vec![counting(4_096), counting(4_096), refusal.clone()];
        let server = server(answers).await;
        let setup = Setup {
            role,
            ..Setup::at(&format!("{}/v1", server.uri()))
        };
        let client = setup.client(noted());
        assert!(ask_at_length(&client, 60_000).await.is_ok());
        // What was answered to a part is paid for.
        for calls in [1, 0] {
            let error = ask_at_length(&client, 90_000).await.unwrap_err();
            match (role, &error) {
                (Role::Agent, ModelError::Setup { .. }) => {}
                (Role::User | Role::Judge, ModelError::Window { usage, .. }) => {
                    assert_eq!(usage.calls, calls);
                }
                _ => panic!("{role:?}: {error:?}"),
            }
        }
    }
}

#[tokio::test]
async fn counts_that_are_low_by_chance_stop_nothing() {
    let counts = [4_096, 3_000, 4_096, 2_048, 4_096];
    let server = server(Vec::from(counts.map(counting))).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
    for length in [60_000, 61_000, 62_000, 63_000, 64_000] {
        assert!(ask_at_length(&client, length).await.is_ok(), "{length}");
    }
}

/// The error at an answer that is no reply, before and after the model's first reply.
async fn check_before_and_after(broken: ResponseTemplate, expected: &str, attempts: usize) {
    let (result, asked, _) = play(vec![broken.clone()]).await;
    match result {
        Err(ModelError::Setup { reason, remedy, .. }) => {
            assert!(reason.contains(expected), "{reason}");
            let mend = "check `base_url` of [providers.test], and its `format`";
            assert!(remedy.starts_with(mend), "{remedy}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(asked, attempts);
    let server = server(vec![answer("Hi."), broken]).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).client(noted());
    assert_eq!(ask(&client, None).await.unwrap().text, "Hi.");
    match ask(&client, None).await {
        Err(ModelError::Refused { reason, .. }) => assert!(reason.contains(expected), "{reason}"),
        other => panic!("{other:?}"),
    }
    let asked = server.received_requests().await.unwrap().len();
    assert_eq!(asked, 1 + attempts);
}

#[tokio::test]
async fn what_is_no_reply_is_the_models_fault_once_it_has_answered() {
    let shape = ResponseTemplate::new(200).set_body_json(json!({"object": "list"}));
    let said = r#"not in the format (it has no `choices`): {"object":"list"}"#;
    check_before_and_after(shape, said, 3).await;
    let unknown = ResponseTemplate::new(200).set_body_json(json!({"error": "no such route"}));
    check_before_and_after(unknown, "no such route", 1).await;
}

#[tokio::test]
async fn an_error_with_status_200_counts_as_what_it_says() {
    let gateway = |code: u16| {
        ResponseTemplate::new(200)
            .set_body_json(json!({"error": {"message": "upstream", "code": code}}))
    };
    check_infrastructure(vec![gateway(502)], "status 502: upstream", 7).await;
    check_setup(gateway(403), "status 403: upstream", "TEST_KEY").await;
    check_setup(gateway(422), "status 422: upstream", "").await;
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let long = ResponseTemplate::new(200).set_body_string("x".repeat(ANSWER_LIMIT + 1));
    check_refused(vec![long], "longer than 16777216 bytes", 1).await;
    let wide = ResponseTemplate::new(200).set_body_string(format!("[{}0]", "0,".repeat(200_000)));
    check_refused(vec![wide], "holds more than 200000 values", 1).await;
}

#[tokio::test]
async fn an_answer_that_could_not_be_used_is_a_call_that_nobody_knows_the_cost_of() {
    let counted = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
    let page = ResponseTemplate::new(200).set_body_string("<html>Gateway</html>");
    let long = ResponseTemplate::new(200).set_body_string("x".repeat(ANSWER_LIMIT + 1));
    let good = || answered(200, &counted);
    let server = server(vec![good(), page, good(), long, answer("Hi.")]).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).model("special", noted());
    let paid = |usage: Usage| (usage.calls, usage.unpriced_calls, usage.cost.0);
    let meter = Arc::clone(&client.shared.meter);
    let whole = ask(&client, None).await.unwrap().usage;
    assert_eq!((paid(whole), meter.unknown()), ((1, 0, 4_000), None));
    let after = ask(&client, None).await.unwrap().usage;
    assert_eq!(paid(after), (2, 1, 4_000));
    let refused = ask(&client, None).await.unwrap_err().usage();
    assert_eq!(paid(refused), (1, 1, 0));
    assert_eq!(paid(meter.beyond(&Usage::default())), (4, 2, 8_000));
    // Their server counts all the same; the twin is an answer of one that does not.
    assert_eq!(meter.unknown(), None);
    ask(&client, None).await.unwrap();
    assert!(meter.unknown().is_some());
}

#[tokio::test]
async fn a_server_without_tls_is_told_with_what_to_write() {
    let server = server(vec![answer("Hi.")]).await;
    let address = server.address();
    let client = Setup::at(&format!("https://{address}/v1")).client(noted());
    let error = ask(&client, None).await.unwrap_err().to_string();
    let mend = "write http:// in the place of https:// in `base_url` of [providers.test]";
    for part in ["test/other at 127.0.0.1:", "it does not speak TLS", mend] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let client = Setup::at(&format!("http://{address}/v1")).client(noted());
    assert!(ask(&client, None).await.is_ok());
}

#[tokio::test]
async fn a_broken_connection_is_asked_again() {
    // A port that was free a moment ago: nobody listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let pause = noted();
    let client = Setup::at(&format!("http://{address}/v1")).client(pause.clone());
    let result = ask(&client, None).await;
    let Err(ModelError::Infrastructure { reason, .. }) = result else {
        panic!("{result:?}");
    };
    let mend =
        "check `base_url` of [providers.test] (--base-url for the agent), and that the server runs";
    assert!(reason.ends_with(mend), "{reason}");
    assert_eq!(pause.noted().len(), 6);
    // What was never asked costs nothing.
    let paid = client.shared.meter.beyond(&Usage::default());
    assert_eq!(paid, Usage::default());
}

#[tokio::test]
async fn a_model_that_refuses_the_temperature_is_asked_without() {
    let server = MockServer::start().await;
    let refuses = failing(400, "Temperature 0.0 is not supported by this model");
    Mock::given(body_partial_json(json!({"temperature": 0.0})))
        .respond_with(refuses)
        .expect(1)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .respond_with(answer("Hi."))
        .expect(2)
        .with_priority(9)
        .mount(&server)
        .await;
    let client = Setup::at(&server.uri()).client(noted());
    assert!(client.takes_temperature());
    for _ in 0..2 {
        assert_eq!(ask(&client, Some(0.0)).await.unwrap().text, "Hi.");
        assert!(!client.takes_temperature());
    }
}

/// A server that answers once with a head that promises more than it sends, and then is silent.
fn silent_server() -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\"");
            open.push(stream);
        }
    });
    address
}

#[tokio::test]
async fn a_stalled_connection_is_asked_again_and_told() {
    let pause = noted();
    let setup = Setup {
        stall: Duration::from_millis(5),
        ..Setup::at(&format!("http://{}/v1", silent_server()))
    };
    let client = setup.client(pause.clone());
    match ask(&client, None).await {
        Err(ModelError::Infrastructure { reason, .. }) => {
            assert!(
                reason.contains("nothing came for 5 ms after 10 bytes"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pause.noted().len(), 6);
    // Each was made all the same.
    let paid = client.shared.meter.beyond(&Usage::default());
    assert_eq!((paid.calls, paid.unpriced_calls), (7, 7));
}

#[tokio::test]
async fn the_anthropic_format_has_its_own_path_headers_and_answers() {
    let server = MockServer::start().await;
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model",
        "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 100},
    });
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("x-api-key", KEY))
        .and(header("anthropic-version", "2023-06-01"))
        .and(body_partial_json(
            json!({"model": "model", "max_tokens": 8192}),
        ))
        .respond_with(ResponseTemplate::new(200).set_body_json(body))
        .expect(1)
        .mount(&server)
        .await;
    let mut setup = Setup::at(&format!("{}/v1", server.uri()));
    setup.provider.format = WireFormat::Anthropic;
    let reply = ask(&setup.model("special", noted()), None).await.unwrap();
    assert_eq!(reply.text, "Hi.");
    // 2.50 and 15 USD per million.
    assert_eq!(reply.usage.known_cost().unwrap().0, 4_000);
}

#[tokio::test]
async fn the_responses_format_has_its_own_path_and_answers() {
    let server = MockServer::start().await;
    let body = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
        "usage": {"input_tokens": 1000, "output_tokens": 100},
    });
    Mock::given(method("POST"))
        .and(path("/v1/responses"))
        .and(header("authorization", format!("Bearer {KEY}")))
        .and(body_partial_json(json!({
            "model": "model", "store": false, "effort": "none", "temperature": 0.0,
            "input": [{"role": "user", "content": "Hello?"}],
        })))
        .respond_with(ResponseTemplate::new(200).set_body_json(body))
        .expect(1)
        .mount(&server)
        .await;
    let mut setup = Setup::at(&format!("{}/v1", server.uri()));
    // The preset's own format, at a provider of another.
    setup.preset.format = Some(WireFormat::Responses);
    let reply = ask(&setup.model("special", noted()), Some(0.0))
        .await
        .unwrap();
    assert_eq!(reply.text, "Hi.");
    // 2.50 and 15 USD per million.
    assert_eq!(reply.usage.known_cost().unwrap().0, 4_000);
}

#[tokio::test]
async fn an_overload_in_the_anthropic_format_carries_its_words() {
    let server = MockServer::start().await;
    let words =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(529).set_body_json(words))
        .mount(&server)
        .await;
    let mut setup = Setup::at(&server.uri());
    setup.provider.format = WireFormat::Anthropic;
    let error = ask(&setup.client(noted()), None).await.unwrap_err();
    assert!(
        error.to_string().contains("status 529: Overloaded"),
        "{error}"
    );
}

#[tokio::test]
async fn a_preset_switches_thinking_by_role_and_has_a_price() {
    let counted = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
    let server = server(vec![answered(200, &counted), answer("Hi.")]).await;
    let client = Setup::at(&format!("{}/v1", server.uri())).model("special", noted());
    let reply = ask(&client, Some(0.0)).await.unwrap();
    assert_eq!(reply.usage.known_cost().map(|cost| cost.0), Some(4_000));
    // Of what was not counted nobody knows the cost.
    let reply = ask(&client, Some(0.0)).await.unwrap();
    assert_eq!(reply.usage.known_cost(), None);
    let sent: Value = server.received_requests().await.unwrap()[0]
        .body_json()
        .unwrap();
    assert_eq!(sent["effort"], "none", "a judge does not think");
    assert_eq!(sent["temperature"], 0.0);
}

#[tokio::test]
async fn a_model_without_a_price_has_no_known_cost() {
    let (reply, ..) = play(vec![answer("Hi.")]).await;
    let usage = reply.unwrap().usage;
    assert_eq!((usage.unpriced_calls, usage.known_cost()), (1, None));
}

#[tokio::test]
async fn rates_space_the_requests_and_no_wait_counts_as_work() {
    let server = server(vec![answer("Hi.")]).await;
    let pause = noted();
    let mut setup = Setup::at(&format!("{}/v1", server.uri()));
    setup.provider.requests_per_minute = Some(6);
    let client = setup.client(pause.clone());
    for _ in 0..3 {
        ask(&client, None).await.unwrap();
    }
    let waits = pause.noted();
    assert_eq!(waits.len(), 2);
    assert!(
        (9.0..=10.0).contains(&waits[0]) && (19.0..=20.0).contains(&waits[1]),
        "{waits:?}"
    );
}

#[tokio::test]
async fn a_wait_for_the_operators_own_rate_is_told() {
    let server = server(vec![answer("Hi.")]).await;
    let mut setup = Setup::at(&format!("{}/v1", server.uri()));
    setup.provider.requests_per_minute = Some(6);
    let client = setup.client(Pause::Real);
    ask(&client, None).await.unwrap();
    assert!(client.shared.meter.waits().is_empty());
    let waits = tokio::time::timeout(Duration::from_millis(200), ask(&client, None));
    let told = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        client.shared.meter.waits()
    };
    let (answered, told) = tokio::join!(waits, told);
    assert!(answered.is_err(), "it waits ten seconds");
    assert_eq!(told, ["test: at its rate a minute, waiting 10 s"]);
}

#[tokio::test]
async fn work_beyond_the_time_ends_without_an_answer() {
    let address = silent_server();
    let client = Setup::at(&format!("http://{address}/v1")).client(noted());
    let messages = [Message::User {
        text: "Hello?".into(),
    }];
    let request = ChatRequest {
        messages: &messages,
        tools: &[],
        may_call: true,
        temperature: None,
        max_output: None,
    };
    let answer = client
        .chat_within(request, Duration::from_millis(5))
        .await
        .unwrap();
    assert_eq!(answer, Err(Usage::untold()));
    // A recording knows it, and its replay waits for nothing.
    let dir = tempfile::tempdir().unwrap();
    let recording = Tape::Record(Cassette::record(dir.path(), false).unwrap());
    let replayed = |dir: &std::path::Path| Tape::Replay(Cassette::replay(dir).unwrap());
    let base = format!("http://{address}/v1");
    let live = Setup::at(&base).with(recording).client(noted());
    let late = live.chat_within(request, Duration::from_millis(5)).await;
    assert_eq!(late, Ok(Err(Usage::untold())));
    // Nothing is asked, and nothing paid, without any time.
    let late = live.chat_within(request, Duration::ZERO).await;
    assert_eq!(late, Ok(Err(Usage::default())));
    let taped = Setup::at("http://127.0.0.1:1/v1").with(replayed(dir.path()));
    let again = taped
        .client(noted())
        .chat_within(request, Duration::from_mins(5))
        .await;
    assert_eq!(again, Ok(Err(Usage::untold())));
}

#[tokio::test]
async fn a_recorded_answer_is_given_back_without_a_server_or_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let thinking = json!({"choices": [{"message": {"content": "Hi.", "reasoning_content": format!("my key is {KEY}")}}],
        "usage": {"prompt_tokens": 7}});
    let server = server(vec![
        ResponseTemplate::new(200).set_body_json(thinking),
        answer("Again."),
        failing(400, "against our content policy"),
        failing(400, "prompt is too long"),
    ])
    .await;
    let base = format!("{}/v1", server.uri());
    let recording = Setup {
        tape: Tape::Record(Cassette::record(dir.path(), false).unwrap()),
        ..Setup::at(&base)
    };
    let live = recording.client(noted());
    let mut first = Vec::new();
    for _ in 0..4 {
        first.push(ask(&live, Some(0.0)).await);
    }
    assert_eq!(
        first[0].as_ref().unwrap().reasoning,
        Reasoning::new("my key is [key]".into(), Vec::new())
    );
    assert_eq!(first[1].as_ref().unwrap().text, "Again.");
    assert!(first[2].is_err() && first[3].is_err());
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(KEY));
    }
    let replaying = Setup {
        tape: Tape::Replay(Cassette::replay(dir.path()).unwrap()),
        ..Setup::at("http://127.0.0.1:1/v1")
    };
    let taped = replaying.client(noted());
    for expected in &first {
        let again = ask(&taped, Some(0.0)).await;
        match (expected, &again) {
            // The server's name is the recorded one.
            (Err(expected), Err(again)) => assert_eq!(expected, again),
            _ => assert_eq!(expected.as_ref().ok(), again.as_ref().ok()),
        }
    }
    let miss = ask(&taped, Some(0.0)).await.unwrap_err();
    assert!(matches!(&miss, ModelError::Infrastructure { .. }), "{miss}");
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
}

#[tokio::test]
async fn the_judges_cache_asks_once_and_costs_nothing_then() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(vec![answer("Yes.")]).await;
    let base = format!("{}/v1", server.uri());
    let client = || {
        let setup = Setup {
            tape: Tape::Cache(Cassette::cache(dir.path()).unwrap()),
            ..Setup::at(&base)
        };
        setup.client(noted())
    };
    let messages = [Message::User {
        text: "Hello?".into(),
    }];
    let request = ChatRequest {
        messages: &messages,
        tools: &[],
        may_call: true,
        temperature: None,
        max_output: None,
    };
    let first = client().answer(request).await.unwrap();
    assert_eq!(first.reply.usage.calls, 1);
    client().keep(&first).unwrap();
    let cached = ask(&client(), None).await.unwrap();
    assert_eq!((cached.text.as_str(), cached.usage.calls), ("Yes.", 0));
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let echo = failing(400, &format!("bad key {KEY} given"));
    let (result, ..) = play(vec![echo]).await;
    let message = result.unwrap_err().to_string();
    assert!(message.contains("bad key [key] given"), "{message}");
    let (reply, ..) = play(vec![answer(&format!("Your key is {KEY}."))]).await;
    assert_eq!(reply.unwrap().text, "Your key is [key].");
    let client = Setup::at("http://127.0.0.1:9/v1?secret=yes").client(noted());
    assert_eq!(
        format!("{client:?}"),
        r#"Client("test/other at 127.0.0.1:9")"#
    );
}

/// Servers know longer keys than the words that are shown of them.
#[tokio::test]
async fn no_part_of_a_key_is_shown_where_a_servers_words_are_cut() {
    let key = format!("sk-{}end", "0123456789".repeat(13));
    let words = format!("bad {}{key} given", "x".repeat(500));
    // What is read of it ends within the second one, and blanks are shown as one.
    let blanks = " ".repeat(ERROR_LIMIT - 2 * key.len());
    let far = format!("bad {key}{blanks}{key}");
    let inside = |error: Value| ResponseTemplate::new(200).set_body_json(json!({"error": error}));
    let text = |status, text: &str| ResponseTemplate::new(status).set_body_string(text);
    for answer in [
        failing(400, &words),
        failing(400, &format!("{words}: content_policy_violation")),
        failing(401, &words),
        text(400, &words),
        text(400, &far),
        inside(json!({"message": words, "code": 400})),
        inside(json!({"message": words})),
        text(200, &words),
        ResponseTemplate::new(200).set_body_json(json!({"object": words})),
    ] {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(answer);
        mock.mount(&server).await;
        let setup = Setup {
            key: key.clone(),
            ..Setup::at(&format!("{}/v1", server.uri()))
        };
        let error = ask(&setup.client(noted()), None).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains("bad ") && told.contains("[key]"), "{told}");
        assert!(!told.contains("01234"), "{told}");
    }
}
