//! `pibench-host serve`: the sessions of a suite for an agent of the user's own, which speaks the Model Context Protocol.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;

use super::run::{Output, plan_of, play_plan};
use crate::cli::ServeArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_door::Door;
use pibench_engine::AgentRole;
use pibench_engine::serve;
use pibench_engine::serve::{ServeError, Service};
use pibench_model::external::Outside;

/// Bytes of the token.
const TOKEN: usize = 32;

/// How long an answer may be on its way after the agent was told that everything is over.
const GRACE: Duration = Duration::from_millis(500);

/// Plays the sessions one after the other, as the agent drives them.
pub(super) fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    let ServeArgs { run, stdio, port } = args;
    let mut run = run.clone();
    if run.dry_run {
        return Err(anyhow!(
            "serve: what an agent from outside costs is not known here; leave out --dry-run"
        ))
        .or_exit(Exit::Usage);
    }
    // One agent works on one session at a time.
    run.settings.jobs = Some(1);
    if run.resume.is_none() {
        if !run.settings.agent.is_empty() {
            return Err(anyhow!(
                "serve: the agent comes from outside; leave out --agent"
            ))
            .or_exit(Exit::Usage);
        }
        run.settings.agent = vec![AgentRole::EXTERNAL.into()];
        run.settings.runs = run.settings.runs.or(Some(1));
    }
    let (plan, resume) = plan_of(&run)?;
    let outside = match &plan.roles.agent {
        AgentRole::External(external) => external.outside(),
        _ => None,
    };
    let outside = outside.ok_or_else(|| {
        anyhow!(
            "serve {}: its agent is not one from outside",
            plan.folder.root().display()
        )
    });
    let outside = outside.or_exit(Exit::Usage)?;
    // Standard output is the protocol's.
    let output = match (stdio, run.json) {
        (true, _) => Output::Stderr,
        (false, true) => Output::Json,
        (false, false) => Output::Table,
    };
    let token = token()?;
    let (stdio, port) = (*stdio, *port);
    let served = async move {
        if let Err(error) = until_over(outside, stdio, port, token).await {
            pibench_report::tell!("error: failed to {error}");
        }
    };
    play_plan(plan, resume, output, served)
}

/// Serves until the agent was told that everything is over, or has gone.
async fn until_over(
    outside: Outside,
    stdio: bool,
    port: u16,
    token: String,
) -> Result<(), ServeError> {
    let service = Service::new(outside).await;
    let over = service.clone();
    let over = async {
        over.over().await;
        tokio::time::sleep(GRACE).await;
        Ok(())
    };
    if stdio {
        return tokio::select! {
            ended = serve::stdio(service) => ended,
            ended = over => ended,
        };
    }
    let door = Door::open(port).await?;
    announce(&door, &token);
    tokio::select! {
        () = serve::http(service, door, token) => Ok(()),
        ended = over => ended,
    }
}

/// Where the server is and what it wants, in one line for a program to read.
fn announce(door: &Door, token: &str) {
    let url = format!("http://{}/mcp", door.address());
    pibench_report::tell!(
        "Serving at {url}; every request needs the header `Authorization: Bearer {token}`."
    );
    println!("{}", json!({ "url": url, "token": token }));
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("draw a token: {error}"))
        .or_exit(Exit::Io)?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}
