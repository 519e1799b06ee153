//! What rules of the grader `rules` name is there: a condition on a tool or an app that the persona has not is never true, and
//! its negation always. Lists that an app has not the grader refuses itself.

use serde_json::Value;

use super::{Ground, Tools};
use crate::problem::Report;
use crate::toml_file::Place;
use pibench_core::near::nearest;

/// The grader whose configurations are read here.
const GRADER: &str = "rules";

/// What a configuration names, and where.
enum Named<'a> {
    Tool(&'a str, Place<'a>),
    App(&'a str, Place<'a>),
}

pub(super) fn check(ground: &Ground<'_>, tools: &Tools<'_>, report: &mut Report<'_>) {
    for (index, item) in ground.file.checklist.iter().enumerate() {
        let Some(rule) = item.rule.as_ref().filter(|rule| rule.grader == GRADER) else {
            continue;
        };
        let place = ground.root.key("checklist").index(index).key("rule");
        let mut named = Vec::new();
        collect(&rule.config, &place.key("config"), &mut named);
        for named in named {
            match named {
                Named::Tool(tool, place) if tool.contains('*') => {
                    check_pattern(ground, tools, tool, &place, report);
                }
                Named::Tool(tool, place) => ground.check_tool(tools, tool, &place, true, report),
                Named::App(app, place) => check_app(ground, tools, app, &place, report),
            }
        }
    }
}

/// All that a condition and those in it name. What is no condition the grader refuses.
fn collect<'a>(condition: &'a Value, place: &Place<'a>, named: &mut Vec<Named<'a>>) {
    for (kind, value) in condition.as_object().into_iter().flatten() {
        let place = place.key(kind);
        match kind.as_str() {
            "all" | "any" => {
                for (condition, place) in each(value, &place) {
                    collect(condition, &place, named);
                }
            }
            "not" => collect(value, &place, named),
            "called" | "order" => {
                for (call, place) in each(value, &place) {
                    let tools = texts(call, &place, "tool");
                    named.extend(tools.map(|(tool, place)| Named::Tool(tool, place)));
                }
            }
            "app" => {
                let apps = texts(value, &place, "name");
                named.extend(apps.map(|(app, place)| Named::App(app, place)));
            }
            "unchanged" => {
                let apps = texts(value, &place, "apps");
                named.extend(apps.map(|(app, place)| Named::App(app, place)));
                let place = place.key("except");
                for (except, place) in each(&value["except"], &place) {
                    let apps = texts(except, &place, "name");
                    named.extend(apps.map(|(app, place)| Named::App(app, place)));
                }
            }
            _ => {}
        }
    }
}

/// The entries of a list, or the one value that stands for a list.
fn each<'a>(
    value: &'a Value,
    place: &Place<'a>,
) -> impl Iterator<Item = (&'a Value, Place<'a>)> + use<'a> {
    let entries = value.as_array();
    let place = place.clone();
    let entries = entries.map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    let is_list = value.is_array();
    let entries = entries.iter().enumerate();
    entries.map(move |(index, entry)| {
        let own = if is_list {
            place.index(index)
        } else {
            place.clone()
        };
        (entry, own)
    })
}

/// The texts below a key.
fn texts<'a>(
    value: &'a Value,
    place: &Place<'a>,
    key: &str,
) -> impl Iterator<Item = (&'a str, Place<'a>)> + use<'a> {
    let entries = each(&value[key], &place.key(key));
    entries.filter_map(|(entry, place)| Some((entry.as_str()?, place)))
}

/// A tool's name in which `*` stands for any characters: one that begins as it does is there.
fn check_pattern(
    ground: &Ground<'_>,
    tools: &Tools<'_>,
    pattern: &str,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let (head, _) = pattern.split_once('*').unwrap_or((pattern, ""));
    let app = head.split_once("__").map(|(app, _)| app);
    if app.is_some_and(|app| tools.absent.contains(app) || tools.is_meant(app)) {
        return;
    }
    let mut names = tools.known.iter().map(|known| known.name.as_str());
    let is_there = names.any(|name| {
        name.starts_with(head) && (!name.contains("__") || ground.persona.has_tool(name))
    });
    if !is_there {
        let message = format!("the persona has no tool `{pattern}`");
        let help = "`pibench-host list` names the apps, and the app's description its tools";
        ground.report(report, place, message, &tools.remedy(pattern, help));
    }
}

fn check_app(
    ground: &Ground<'_>,
    tools: &Tools<'_>,
    app: &str,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let apps = ground.persona.app_names();
    if apps.iter().any(|known| known == app) || tools.is_meant(app) {
        return;
    }
    let message = format!("the persona has no app `{app}`");
    let help = match nearest(app, apps.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name an app that the persona has tools of".to_owned(),
    };
    ground.report(report, place, message, &help);
}
