//! The doors for those who talk to a running program: the lines of an agent's own process, tokens and requests to a hub.

use std::cell::RefCell;
use std::net::IpAddr;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, Error, InitializeResponse, PromptResponse, ReadTextFileRequest,
    RequestId, RequestPermissionRequest, SessionNotification, WriteTextFileRequest,
};
use serde_json::Value;
use tempfile::TempDir;

use pibench_acp::{Incoming, Outgoing, read};
use pibench_hub::{Ledger, hear};

/// What an agent's process wrote, line by line. What is a message is the same message when it is written by this program.
pub fn acp(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        match read(line) {
            Ok(Incoming::Notification { method, params }) => {
                typed::<SessionNotification>(&params);
                let written = Outgoing::notification(&method, &params);
                assert_eq!(
                    once(&written),
                    Ok(Incoming::Notification { method, params })
                );
            }
            Ok(Incoming::Request { id, method, params }) => {
                typed::<ReadTextFileRequest>(&params);
                typed::<WriteTextFileRequest>(&params);
                typed::<CreateTerminalRequest>(&params);
                typed::<RequestPermissionRequest>(&params);
                let written = Outgoing::request(7, &method, &params);
                let expected = Incoming::Request {
                    id: RequestId::Number(7),
                    method,
                    params,
                };
                assert_eq!(once(&written), Ok(expected));
                // Whatever its number is, the answer is one line.
                let _ = once(&Outgoing::answer(&id, &Err(Error::method_not_found())));
            }
            Ok(Incoming::Answer { result, .. }) => {
                if let Ok(result) = result {
                    typed::<PromptResponse>(&result);
                    typed::<InitializeResponse>(&result);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads parameters as the schema has them, or says why not.
fn typed<T: serde::de::DeserializeOwned>(params: &Value) {
    if let Err(error) = Incoming::params::<T>(params.clone()) {
        assert!(!error.to_string().is_empty());
    }
}

/// Reads what was written, which is one line.
fn once(written: &[u8]) -> Result<Incoming, pibench_acp::NoMessage> {
    let line = written.strip_suffix(b"\n").unwrap_or_default();
    assert!(!line.is_empty() && !line.contains(&b'\n'));
    read(line)
}

/// A hub's books with a submitter, whose token is the seeds' `TOKEN`.
struct Books {
    ledger: Ledger,
    token: String,
    _folder: TempDir,
}

thread_local! {
    static BOOKS: RefCell<Option<Books>> = const { RefCell::new(None) };
}

fn books() -> Option<Books> {
    let folder = tempfile::tempdir().ok()?;
    let ledger = Ledger::open(&folder.path().join("hub")).ok()?;
    Some(Books {
        token: ledger.add_token("ana").ok()?,
        ledger,
        _folder: folder,
    })
}

/// A request to a hub, by its lines: a token, what proxies say of who asks, a run's id, and the body. Another text than the
/// token is nobody's, nobody but a proxy says for whom it asks, and the run of a stranger is none.
pub fn hub(bytes: &[u8]) {
    BOOKS.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = books();
        }
        let Some(books) = kept else {
            return;
        };
        let mut parts = bytes.splitn(4, |byte| *byte == b'\n');
        let mut next = || parts.next().unwrap_or_default();
        let (token, forwarded, run, body) = (next(), next(), next(), next());
        let own = token == b"TOKEN";
        let token = if own { books.token.as_bytes() } else { token };
        let (proxy, stranger) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([9, 9, 9, 9]));
        for peer in [proxy, stranger] {
            let heard = hear(&books.ledger, &[proxy], peer, [token, forwarded, run, body]);
            let Ok(heard) = heard else {
                unreachable!("nothing that is said breaks the books: {heard:?}");
            };
            assert_eq!(heard.submitter.is_some(), own);
            assert!(peer == proxy || heard.address == stranger);
            // Ids are drawn, but a fuzzer sees what they are compared with: another's run is none all the same.
            assert!(own || !heard.is_own);
            if let Some(agent) = heard.begun {
                assert!(own && !agent.is_empty() && !agent.contains(char::is_control));
            }
        }
    });
}
