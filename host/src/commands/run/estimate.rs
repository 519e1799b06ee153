//! `run --dry-run`: what a run would ask of its models. It plans the run in a folder that is thrown away; no key is needed.

use anyhow::anyhow;
use camino::Utf8PathBuf;
use serde_json::json;

use super::{load_wanted, wanted};
use crate::cli::RunArgs;
use crate::commands::output::print_json;
use crate::commands::{machine, make_temporary_folder, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::estimate::{Estimate, assumptions};
use pibench_engine::judge::Judge;
use pibench_engine::plan::{Answers, Seat, Wanted, agents, resolve};
use pibench_engine::{AgentRole, Roles};
use pibench_model::client::Client;
use pibench_report::estimate;
use pibench_report::estimate::Row;

/// Prints an estimate for each agent, and the sum of all.
pub(super) fn print(args: &RunArgs) -> Result<Exit, Failure> {
    let suite = load_wanted(args)?;
    let machine = machine()?;
    let runtime = runtime()?;
    let trial = Wanted {
        playing: None,
        ..wanted(args)?
    };
    let mut limit = None;
    let (mut costs, mut objects) = (Vec::new(), Vec::new());
    for agent in agents(&suite)? {
        let dir = make_temporary_folder()?;
        let out = Utf8PathBuf::from_path_buf(dir.path().join("run"))
            .map_err(|path| anyhow!("use {}: it is not UTF-8", path.display()))
            .or_exit(Exit::Io)?;
        let seat = Seat {
            agent,
            out: Some(out),
            answers: Answers::None,
        };
        let plan = runtime.block_on(resolve(&machine, &suite, &trial, seat))?;
        let estimated = runtime.block_on(pibench_engine::estimate(&plan));
        let total = estimated.or_exit(Exit::InvalidInput)?;
        let personas = plan
            .personas()
            .map(|persona| plan.sessions(persona).count());
        let (sessions, rows) = (personas.sum(), asked(&plan.roles, &total));
        limit = plan.spending.limit;
        costs.push(estimate::total(&rows));
        if args.json {
            objects.push(estimate::object(sessions, plan.runs, &total, &rows));
        } else {
            println!("{}", estimate::estimate(sessions, plan.runs, &total, &rows));
        }
    }
    let cost = estimate::sum(costs);
    if args.json {
        let above = cost.zip(limit).map(|(cost, limit)| cost > limit);
        let all = json!({
            "agents": objects, "cost": cost, "max_cost": limit, "above_max_cost": above,
            "assumptions": assumptions(),
        });
        print_json(&all)?;
    } else if let Some(line) = estimate::bound(cost, limit) {
        println!("\n{line}");
    }
    Ok(Exit::Complete)
}

fn asked(roles: &Roles, total: &Estimate) -> Vec<Row> {
    let row = |role, model: &str, client: Option<&Client>, load| Row {
        role,
        model: model.to_owned(),
        asked: client.map(|client| (load, client.price())),
    };
    let agent = match &roles.agent {
        AgentRole::Client(client) => Some(client),
        AgentRole::Reference
        | AgentRole::Reactive
        | AgentRole::Nop
        | AgentRole::Cheat
        | AgentRole::External(_)
        | AgentRole::Process => None,
    };
    let mut rows = vec![
        row("agent", &roles.agent_name, agent, total.agent),
        row("user", &roles.user_name, roles.user.client(), total.user),
    ];
    let judges = roles.judge.clients();
    rows.extend(judges.map(|judge| row("judge", judge.spec(), Some(judge), total.judge)));
    if matches!(roles.judge, Judge::Lexical) {
        rows.push(row("judge", &roles.judge_name, None, total.judge));
    }
    rows
}
