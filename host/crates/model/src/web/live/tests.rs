use std::collections::BTreeMap;

use wiremock::matchers::{header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::web::tests::AsItIs;

/// Names and their addresses, without the system.
struct Names(BTreeMap<&'static str, IpAddr>);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self
            .0
            .get(name.as_str())
            .map(|address| SocketAddr::new(*address, 0));
        Box::pin(async move {
            let found = found.ok_or("no such name")?;
            Ok(Box::new(std::iter::once(found)) as Addrs)
        })
    }
}

/// As in earnest, but that the test's own server counts as public.
fn public_or_server(address: IpAddr) -> bool {
    address == IpAddr::from([127, 0, 0, 1]) || is_public(address)
}

fn live(public: fn(IpAddr) -> bool) -> Live {
    let names = [
        ("server.example", IpAddr::from([127, 0, 0, 1])),
        ("inside.example", IpAddr::from([10, 0, 0, 7])),
        ("metadata.example", IpAddr::from([169, 254, 169, 254])),
    ];
    let engine = Engine::searxng("http://127.0.0.1:1");
    Live::with(engine, Arc::new(Names(names.into())), public).unwrap()
}

async fn server(answers: &[(&str, ResponseTemplate)]) -> MockServer {
    let server = MockServer::start().await;
    for (at, answer) in answers {
        Mock::given(method("GET"))
            .and(path(*at))
            .respond_with(answer.clone())
            .mount(&server)
            .await;
    }
    server
}

fn moved(to: &str) -> ResponseTemplate {
    ResponseTemplate::new(302).insert_header("location", to)
}

fn html(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text.as_bytes().to_vec(), "text/html; charset=utf-8")
}

async fn refused(live: &Live, address: &str) -> String {
    let page = live.page(address, ExtractMode::Markdown, &AsItIs).await;
    page.unwrap_err().to_string()
}

const ARTICLE: &str = "Tides\n\nHigh water at **the harbour** is at [noon](/noon).";

#[tokio::test]
async fn a_page_is_shown_as_readable_text_also_behind_a_redirect() {
    let server = server(&[("/old", moved("/new")), ("/new", html(ARTICLE))]).await;
    let port = server.address().port();
    let live = live(public_or_server);
    for mode in [ExtractMode::Markdown, ExtractMode::Text] {
        let page = live
            .page(&format!("http://server.example:{port}/old"), mode, &AsItIs)
            .await
            .unwrap();
        assert_eq!(page.title, "Tides");
        assert!(page.url.ends_with("/new"), "{}", page.url);
        let is_marked = page.text.contains("**the harbour**");
        assert_eq!(is_marked, mode == ExtractMode::Markdown, "{}", page.text);
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_read_says_so_and_the_machines_fault_is_no_pages() {
    let server = server(&[
        ("/bad", html("unreadable")),
        ("/full", html("no room")),
        ("/plain", html("")),
    ])
    .await;
    let live = live(public_or_server);
    let base = format!("http://server.example:{}", server.address().port());
    let read = |path: &str| {
        let address = format!("{base}/{path}");
        let live = &live;
        async move { live.page(&address, ExtractMode::Text, &AsItIs).await }
    };
    let bad = read("bad").await.unwrap_err();
    assert!(matches!(bad, WebError::Fetch { .. }), "{bad:?}");
    assert!(bad.to_string().ends_with("its reader needs more"), "{bad}");
    let full = read("full").await.unwrap_err();
    assert_eq!(full, WebError::Machine("no room".into()));
    // Without a title the address stands there.
    assert_eq!(read("plain").await.unwrap().title, format!("{base}/plain"));
}

#[tokio::test]
async fn no_address_of_this_machine_or_its_network_is_reached() {
    let live = live(is_public);
    for address in [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1:8080/",
        "http://0/",
        "http://inside.example/",
        "http://metadata.example/",
        "http://server.example/",
    ] {
        let reason = refused(&live, address).await;
        assert!(
            reason.contains("is not an address of the public web"),
            "{address}: {reason}"
        );
    }
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let server = server(&[
        ("/literal", moved("http://10.0.0.1/")),
        ("/name", moved("http://inside.example/")),
        ("/file", moved("file:///etc/passwd")),
        ("/loop", moved("/loop")),
        ("/nowhere", ResponseTemplate::new(302)),
        ("/fine", html(ARTICLE)),
    ])
    .await;
    let live = live(public_or_server);
    let base = format!("http://server.example:{}", server.address().port());
    for (at, expected) in [
        ("/literal", "10.0.0.1 is not an address of the public web"),
        ("/name", "10.0.0.7 is not an address of the public web"),
        ("/file", "`file` is neither http nor https"),
        ("/loop", "more than 5 redirects"),
        ("/nowhere", "without an address"),
    ] {
        let reason = refused(&live, &format!("{base}{at}")).await;
        assert!(reason.contains(expected), "{at}: {reason}");
    }
    assert!(
        live.page(&format!("{base}/fine"), ExtractMode::Text, &AsItIs)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn other_schemes_names_and_what_is_no_text_are_refused() {
    let image = ResponseTemplate::new(200).set_body_raw(vec![0x89], "image/png");
    let server = server(&[("/image", image), ("/gone", ResponseTemplate::new(404))]).await;
    let base = format!("server.example:{}", server.address().port());
    let live = live(public_or_server);
    for (address, expected) in [
        ("file:///etc/passwd".to_owned(), "neither http nor https"),
        ("ftp://server.example/".into(), "neither http nor https"),
        ("not an address".into(), "relative URL"),
        (format!("http://me:secret@{base}/"), "a name or a password"),
        (format!("http://{base}/image"), "of type image/png"),
        (format!("http://{base}/gone"), "answered 404"),
        ("http://unknown.example/".into(), "no such name"),
    ] {
        let reason = refused(&live, &address).await;
        assert!(reason.contains(expected), "{address}: {reason}");
    }
}

#[tokio::test]
async fn a_page_without_end_is_cut() {
    let long = "x".repeat(MAX_BYTES + 1000);
    let plain = ResponseTemplate::new(200).set_body_raw(long.into_bytes(), "text/plain");
    let server = server(&[("/long", plain)]).await;
    let address = format!("http://server.example:{}/long", server.address().port());
    let page = live(public_or_server)
        .page(&address, ExtractMode::Text, &AsItIs)
        .await
        .unwrap();
    assert_eq!(page.text.len(), MAX_BYTES);
}

#[tokio::test]
async fn both_search_services_are_understood() {
    let server = MockServer::start().await;
    let brave = serde_json::json!({ "web": { "results": [
        { "title": "Tides", "url": "https://a.example/", "description": "Noon." }, { "title": "no address" },
    ] } });
    Mock::given(path("/brave"))
        .and(query_param("q", "high water"))
        .and(query_param("count", "3"))
        .and(header("x-subscription-token", "secret"))
        .respond_with(ResponseTemplate::new(200).set_body_json(brave))
        .mount(&server)
        .await;
    let searxng = serde_json::json!({ "results": [
        { "title": "Tides", "url": "https://a.example/", "content": "Noon." },
        { "title": "More", "url": "https://b.example/", "content": "" },
    ] });
    Mock::given(path("/search"))
        .and(query_param("format", "json"))
        .respond_with(ResponseTemplate::new(200).set_body_json(searxng))
        .mount(&server)
        .await;
    let url = format!("{}/brave", server.uri());
    let key = "secret".to_owned();
    for engine in [Engine::Brave { url, key }, Engine::searxng(&server.uri())] {
        let live = Live::new(engine).unwrap();
        let hits = live.search("high water", 3).await.unwrap();
        let expected = Hit {
            title: "Tides".into(),
            url: "https://a.example/".into(),
            excerpt: "Noon.".into(),
        };
        assert_eq!(hits[0], expected);
        assert!(!format!("{live:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_search_service_that_fails_is_told_without_its_key() {
    let server = MockServer::start().await;
    let url = format!("{}/brave", server.uri());
    let key = "secret".to_owned();
    let live = Live::new(Engine::Brave { url, key }).unwrap();
    let error = live.search("x", 3).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "search for \"x\": the search service answered 404 Not Found"
    );
}
