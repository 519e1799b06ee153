use std::sync::{Arc, Mutex};

use serde_json::json;
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::*;
use crate::model::Message;

const KEY: &str = "sk-test-0123456789";

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
        temperature,
    };
    client.chat(request).await
}

/// What the client makes of the answers, and how often it asked.
async fn play(answers: Vec<ResponseTemplate>) -> (Result<Reply, ModelError>, usize, Vec<f64>) {
    let server = server(answers).await;
    let pause = noted();
    let client = Client::for_test(&format!("{}/v1", server.uri()), pause.clone());
    let result = ask(&client, Some(0.0)).await;
    let asked = server.received_requests().await.unwrap().len();
    (result, asked, pause.noted())
}

async fn check_infrastructure(answers: Vec<ResponseTemplate>, expected: &str, attempts: usize) {
    let (result, asked, _) = play(answers).await;
    match result {
        Err(ModelError::Infrastructure { server, reason }) => {
            assert!(reason.contains(expected), "{reason}");
            assert!(server.starts_with("test/model at 127.0.0.1:"), "{server}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(asked, attempts, "{expected}");
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

#[tokio::test]
async fn retry_after_is_honoured_up_to_a_limit() {
    let wait = |header: &str| failing(429, "slow down").insert_header("retry-after", header);
    let (reply, _, waits) = play(vec![wait("17"), answer("Hi.")]).await;
    assert!(reply.is_ok());
    assert_eq!(waits, [17.0]);
    // A date far ahead cannot be sat out.
    let later = "Fri, 31 Dec 2999 23:59:59 GMT";
    check_infrastructure(vec![wait(later)], "slow down", 1).await;
    check_infrastructure(vec![wait("3600")], "slow down", 1).await;
}

#[tokio::test]
async fn what_the_operator_must_mend_is_not_asked_again() {
    for status in [301, 401, 402, 404] {
        check_infrastructure(vec![failing(status, "no such thing")], "no such thing", 1).await;
    }
}

#[tokio::test]
async fn other_refusals_carry_the_providers_words() {
    let words = "context too long: 99 > 9";
    check_refused(
        vec![failing(400, words)],
        "status 400: context too long: 99 > 9",
        1,
    )
    .await;
    check_refused(
        vec![ResponseTemplate::new(413)],
        "status 413: Payload Too Large",
        1,
    )
    .await;
    let text = ResponseTemplate::new(422).set_body_string("plain\nwords\u{1b}[31m");
    check_refused(vec![text], "status 422: plain words [31m", 1).await;
}

#[tokio::test]
async fn unreadable_answers_are_asked_again_a_few_times() {
    let page = || ResponseTemplate::new(200).set_body_string("<html>Gateway</html>");
    check_infrastructure(vec![page()], "no JSON", 3).await;
    let shape = || ResponseTemplate::new(200).set_body_json(json!({"object": "list"}));
    check_refused(
        vec![shape()],
        r#"no chat completion (it has no `choices`): {"object":"list"}"#,
        3,
    )
    .await;
    let (reply, asked, _) = play(vec![page(), shape(), answer("Hi.")]).await;
    assert_eq!((reply.unwrap().text.as_str(), asked), ("Hi.", 3));
}

#[tokio::test]
async fn an_error_with_status_200_counts_as_what_it_says() {
    let gateway = |code: u16| {
        ResponseTemplate::new(200)
            .set_body_json(json!({"error": {"message": "upstream", "code": code}}))
    };
    check_infrastructure(vec![gateway(502)], "status 502: upstream", 7).await;
    check_refused(vec![gateway(403)], "status 403: upstream", 1).await;
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let long = ResponseTemplate::new(200).set_body_string("x".repeat(ANSWER_LIMIT + 1));
    check_refused(vec![long], "longer than 16777216 bytes", 1).await;
}

#[tokio::test]
async fn a_broken_connection_is_asked_again() {
    // A port that was free a moment ago: nobody listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let pause = noted();
    let client = Client::for_test(&format!("http://{address}/v1"), pause.clone());
    let result = ask(&client, None).await;
    assert!(
        matches!(result, Err(ModelError::Infrastructure { .. })),
        "{result:?}"
    );
    assert_eq!(pause.noted().len(), 6);
}

#[tokio::test]
async fn a_model_that_refuses_the_temperature_is_asked_without() {
    let server = MockServer::start().await;
    let refuses = failing(400, "Unsupported value: 'temperature' does not support 0.0");
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
    let client = Client::for_test(&server.uri(), noted());
    assert!(client.takes_temperature());
    for _ in 0..2 {
        assert_eq!(ask(&client, Some(0.0)).await.unwrap().text, "Hi.");
        assert!(!client.takes_temperature());
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let echo = failing(400, &format!("bad key {KEY} given"));
    let (result, ..) = play(vec![echo]).await;
    let message = result.unwrap_err().to_string();
    assert!(message.contains("bad key [key] given"), "{message}");
    let (reply, ..) = play(vec![answer(&format!("Your key is {KEY}."))]).await;
    assert_eq!(reply.unwrap().text, "Your key is [key].");
    let client = Client::for_test("http://127.0.0.1:9/v1?secret=yes", noted());
    assert_eq!(
        format!("{client:?}"),
        r#"Client("test/model at 127.0.0.1:9")"#
    );
}
