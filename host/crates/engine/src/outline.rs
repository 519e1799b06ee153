//! The outline of what a plan plays, for readers of its run folder. Asks the apps for their tools and plays nothing.

use std::collections::BTreeMap;

use super::error::EpisodeError;
use super::plan::Plan;
use pibench_agent::builtin;
use pibench_core::message::ToolSpec;
use pibench_core::vocabulary::When;
use pibench_record::event::VERSION;
use pibench_record::outline::{
    Described, IntentOutline, ItemOutline, Outline, PersonaOutline, SessionOutline,
};
use pibench_sandbox::App;
use pibench_sandbox::described::Told;
use pibench_suite::load::skill::head;
use pibench_suite::suite::{Grading, Item, Persona, Session, Suite};

/// The whole suite as the plan sees it.
pub async fn outline(plan: &Plan) -> Result<Outline, EpisodeError> {
    Ok(Outline {
        version: VERSION,
        suite: plan.suite.id.clone(),
        title: plan.suite.title.clone(),
        scripted: plan.roles.scripted(),
        personas: personas(plan),
        tools: tools(plan).await?,
        skills: skills(&plan.suite),
    })
}

/// All personas of the suite, told which of their sessions are played.
pub(super) fn personas(plan: &Plan) -> Vec<PersonaOutline> {
    let personas = plan.suite.personas.iter();
    personas.map(|one| persona(plan, one)).collect()
}

pub(super) fn persona(plan: &Plan, persona: &Persona) -> PersonaOutline {
    let played = plan.personas().any(|one| one.id == persona.id);
    let planned: Vec<&str> = plan
        .sessions(persona)
        .filter(|_| played)
        .map(|session| session.id.as_str())
        .collect();
    persona_with(
        persona,
        |session| planned.contains(&session.id.as_str()),
        |session| plan.roles.lacks_matcher(session),
    )
}

/// A persona's outline, told which sessions are played and which of them the scripted judges cannot see.
pub(super) fn persona_with(
    persona: &Persona,
    planned: impl Fn(&Session) -> bool,
    lacks_matcher: impl Fn(&Session) -> bool,
) -> PersonaOutline {
    let outline = |session: &Session| SessionOutline {
        id: session.id.clone(),
        title: session.title.clone(),
        category: session.category,
        planned: planned(session),
        depends_on: session.depends_on.clone(),
        dependency_only: session.dependency_only,
        no_offline_matcher: lacks_matcher(session),
        request: session.request.clone(),
        intents: session.intents.iter().map(intent).collect(),
        checklist: session.checklist.iter().map(item).collect(),
    };
    PersonaOutline {
        id: persona.id.clone(),
        name: persona.name.clone(),
        sessions: persona.sessions.iter().map(outline).collect(),
    }
}

fn intent(intent: &pibench_suite::suite::Intent) -> IntentOutline {
    IntentOutline {
        id: intent.id.clone(),
        content: intent.content.clone(),
        scope: intent.scope,
        found_in: intent.found_in.clone(),
    }
}

fn item(item: &Item) -> ItemOutline {
    ItemOutline {
        id: item.id.clone(),
        criterion: item.criterion.clone(),
        weight: item.weight,
        at_end: item.when == When::End,
        grader: match &item.grading {
            Grading::Rubric { .. } => None,
            Grading::Rule(rule) => Some(rule.grader.clone()),
        },
    }
}

/// Every skill that a persona starts with, once; one whose head cannot be read goes by its folder.
pub(super) fn skills(suite: &Suite) -> Vec<Described> {
    let mut skills: BTreeMap<&str, Described> = BTreeMap::new();
    for file in suite.personas.iter().flat_map(|one| &one.skills) {
        let folder = file.path.strip_prefix("skills/");
        let Some(folder) = folder.and_then(|path| path.strip_suffix("/SKILL.md")) else {
            continue;
        };
        let (name, description) = head(&file.content).map_or_else(
            |_| (folder.to_owned(), String::new()),
            |head| (head.name, head.description),
        );
        skills.insert(folder, Described { name, description });
    }
    skills.into_values().collect()
}

/// Every tool that a persona of the suite has, once.
async fn tools(plan: &Plan) -> Result<Vec<Described>, EpisodeError> {
    let builtin = builtin(plan.scaffold);
    let mut tools: BTreeMap<String, String> = builtin.iter().map(described).collect();
    let mut apps: BTreeMap<String, Vec<Told>> = BTreeMap::new();
    for persona in &plan.suite.personas {
        for app in persona.app_names() {
            if !apps.contains_key(&app) {
                apps.insert(app.clone(), told(plan, &app).await?);
            }
            let has = |(name, _): &&Told| persona.has_tool(name);
            tools.extend(apps[&app].iter().filter(has).cloned());
        }
    }
    let named = |(name, description)| Described { name, description };
    Ok(tools.into_iter().map(named).collect())
}

/// The tools of an app. Where they are written down, it need not be there: it may be one that nothing is played with.
async fn told(plan: &Plan, app: &str) -> Result<Vec<Told>, EpisodeError> {
    if let Some(tools) = plan.plugins.described(app) {
        return Ok(tools);
    }
    let plugin = plan.plugins.get(app)?;
    let listed = App::list_tools(&plugin, plan.app_limits).await?;
    Ok(listed.iter().map(described).collect())
}

fn described(tool: &ToolSpec) -> Told {
    (tool.name.clone(), tool.description.clone())
}
