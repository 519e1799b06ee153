//! `pibench-host mcp-bridge`: an agent's MCP server on standard input and output. Not for people: `acp` tells agents to start it.

use anyhow::anyhow;

use super::runtime;
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::acp::{BRIDGE_TOKEN, BRIDGE_URL};
use pibench_model::bridge::bridge as hand_on;

/// Hands messages on until the agent closes its side.
pub(super) fn bridge() -> Result<Exit, Failure> {
    let given = |name: &str| {
        let value = std::env::var(name);
        value
            .map_err(|_| anyhow!("find the session: {name} is not set; an agent that is played starts this command"))
            .or_exit(Exit::Usage)
    };
    let (url, token) = (given(BRIDGE_URL)?, given(BRIDGE_TOKEN)?);
    runtime()?
        .block_on(hand_on(&url, &token))
        .map_err(anyhow::Error::from)
        .or_exit(Exit::Io)?;
    Ok(Exit::Complete)
}
