//! Collects what an estimate needs from a plan: the sizes of its sessions' material. It plays nothing and asks no model;
//! apps are only asked for their tools.

use super::error::EpisodeError;
use super::plan::Plan;
use super::preflight::tool_lists;
use pibench_agent::Toolbox;
use pibench_core::estimate;
use pibench_core::estimate::{BYTES_PER_TOKEN, Estimate, Material};
use pibench_suite::suite::{Grading, Persona, Session};

/// What a plan will ask of its models, over all its runs.
pub async fn estimate(plan: &Plan) -> Result<Estimate, EpisodeError> {
    let mut total = Estimate::default();
    if plan.preflight {
        let lists = tool_lists(plan).await?;
        let schemas = lists.iter().map(|list| schema_tokens(&list.toolbox));
        total += estimate::preflight(&schemas.collect::<Vec<_>>());
    }
    for persona in plan.personas() {
        let frame = frame(plan, persona).await?;
        for session in plan.sessions(persona) {
            let material = Material {
                frame_tokens: frame,
                ..material(plan, persona, session)
            };
            let once = estimate::session(&material, plan.protocol);
            total += Estimate {
                turns: once.turns * u64::from(plan.runs),
                agent: once.agent.times(plan.runs.into()),
                user: once.user.times(plan.runs.into()),
                judge: once.judge.times(plan.runs.into()),
            };
        }
    }
    Ok(total)
}

/// The tools' schemas and the system prompt of an empty workspace.
async fn frame(plan: &Plan, persona: &Persona) -> Result<u64, EpisodeError> {
    let schemas = schema_tokens(&plan.toolbox(persona).await?);
    let prompt = plan.roles.agent_prompts.template();
    Ok(schemas + tokens(prompt) + tokens(&persona.user_md))
}

fn schema_tokens(toolbox: &Toolbox) -> u64 {
    tokens(&serde_json::to_string(toolbox.specs()).unwrap_or_default())
}

fn material(plan: &Plan, persona: &Persona, session: &Session) -> Material {
    let contents = session.intents.iter().map(|intent| &intent.content);
    let rubrics = session
        .checklist
        .iter()
        .filter(|item| matches!(item.grading, Grading::Rubric { .. }));
    let staged = session
        .files
        .iter()
        .filter(|file| session.files_read.contains(&file.path));
    Material {
        intents: session.intents.len() as u64,
        intent_tokens: contents.map(|content| tokens(content)).sum(),
        rubrics: rubrics.clone().count() as u64,
        rubric_tokens: rubrics.map(|item| tokens(&item.criterion)).sum(),
        max_turns: plan.suite.session.max_turns.into(),
        read_tokens: staged
            .map(|file| file.content.len() as u64 / BYTES_PER_TOKEN)
            .sum(),
        frame_tokens: 0,
        request_tokens: tokens(&session.request),
        profile_tokens: tokens(&persona.profile),
    }
}

fn tokens(text: &str) -> u64 {
    text.len() as u64 / BYTES_PER_TOKEN
}
