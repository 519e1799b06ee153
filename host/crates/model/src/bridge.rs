//! The half of an MCP server on standard input and output that an agent starts which takes no server by HTTP: each line goes to
//! the program that plays the session, on this machine, and its answer comes back as a line. Knows nothing of what is said.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// Bytes of one message, as the server takes them.
const MESSAGE: u64 = 64 << 20;

/// Why nothing is handed on.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("reach {0}: it is not on this machine")]
    Elsewhere(String),
    #[error("read a message: it has more than {MESSAGE} bytes")]
    Long,
    #[error("hand on a message: {0}")]
    Io(#[from] std::io::Error),
    #[error("hand on a message: {0}")]
    Http(#[from] reqwest::Error),
}

/// Hands messages on until the agent closes its side.
pub async fn bridge(url: &str, token: &str) -> Result<(), BridgeError> {
    if !url.starts_with("http://127.0.0.1:") {
        return Err(BridgeError::Elsewhere(url.to_owned()));
    }
    let client = pibench_tls::client().no_proxy().build()?;
    let mut input = BufReader::new(tokio::io::stdin());
    let mut output = tokio::io::stdout();
    let mut under_way = FuturesUnordered::new();
    let mut line = Vec::new();
    loop {
        let mut bounded = (&mut input).take(MESSAGE);
        tokio::select! {
            Some(answered) = under_way.next() => {
                let answered: Result<String, BridgeError> = answered;
                let answer = answered?;
                if !answer.is_empty() {
                    output.write_all(answer.as_bytes()).await?;
                    output.write_all(b"\n").await?;
                    output.flush().await?;
                }
            }
            // What was read before another branch won stays in `line`.
            read = bounded.read_until(b'\n', &mut line) => {
                if read? == 0 {
                    return Ok(());
                }
                if line.len() as u64 >= MESSAGE {
                    return Err(BridgeError::Long);
                }
                if line.ends_with(b"\n") {
                    let message = std::mem::take(&mut line);
                    if !message.iter().all(u8::is_ascii_whitespace) {
                        under_way.push(hand_on(&client, url, token, message));
                    }
                }
            }
        }
    }
}

/// The answer to a message: empty where there is none.
async fn hand_on(
    client: &reqwest::Client,
    url: &str,
    token: &str,
    message: Vec<u8>,
) -> Result<String, BridgeError> {
    let request = client
        .post(url)
        .bearer_auth(token)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(message);
    let answer = request.send().await?.error_for_status()?;
    let text = answer.text().await?;
    // One message is one line.
    Ok(text.replace(['\n', '\r'], " ").trim().to_owned())
}
