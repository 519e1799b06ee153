//! `pibench-host serve`: the sessions of a suite for an agent of the user's own, which speaks the Model Context Protocol.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;

use super::run::{Output, plan_of, play_plan};
use super::runtime;
use crate::cli::{RunArgs, ServeArgs};
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
    refuse_existing(&run, *stdio)?;
    // Before a run folder is made: a port may be another program's. The door belongs to this runtime until all is over.
    let runtime = runtime()?;
    let door = if *stdio {
        None
    } else {
        Some(runtime.block_on(Door::open(*port)).or_exit(Exit::Io)?)
    };
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
    let served = async move {
        if let Err(error) = until_over(outside, door, token).await {
            pibench_report::tell!("error: failed to {error}");
        }
    };
    play_plan(plan, resume, output, served)
}

/// A run that was begun before is gone on with by this command and by no other. Parts are, by their scheduler's own line.
fn refuse_existing(run: &RunArgs, stdio: bool) -> Result<(), Failure> {
    let (None, None, Some(out)) = (&run.resume, run.shard, &run.out) else {
        return Ok(());
    };
    if !out.exists() {
        return Ok(());
    }
    let verb = if stdio { "serve --stdio" } else { "serve" };
    Err(anyhow!(
        "make {out}: it is there already; go on with it by `pibench-host {verb} --resume {out}`, or choose another --out"
    ))
    .or_exit(Exit::Io)
}

/// Serves until the agent was told that everything is over, or has gone: at the door, or without one on standard input and
/// output.
async fn until_over(outside: Outside, door: Option<Door>, token: String) -> Result<(), ServeError> {
    let service = Service::new(outside).await;
    let over = service.clone();
    let over = async {
        over.over().await;
        tokio::time::sleep(GRACE).await;
        Ok(())
    };
    let Some(door) = door else {
        return tokio::select! {
            ended = serve::stdio(service) => ended,
            ended = over => ended,
        };
    };
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
