//! The tools that a persona's skills say they need are those that its agent has.

use super::{Lack, Tools};
use crate::load::skill;
use crate::problem::Report;
use crate::suite::Persona;
use crate::toml_file::Place;

pub(super) fn check(
    persona: &Persona,
    tools: &Tools<'_>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    for file in &persona.skills {
        let folder = file.path.strip_prefix("skills/");
        let folder = folder.and_then(|path| path.strip_suffix("/SKILL.md"));
        let Some(folder) = folder.filter(|folder| !folder.contains('/')) else {
            continue;
        };
        for tool in skill::tools(&file.content) {
            let needs = format!("the skill `{folder}` needs the tool `{tool}`");
            match tools.lack(&tool, persona) {
                Some(Lack::Nowhere) => {
                    let message = format!("{needs}, which is not there");
                    let help = "name a built-in tool or one of a plugin";
                    report.warn(place.span(), message, tools.remedy(&tool, help));
                }
                Some(Lack::NotTheirs) => {
                    let message = format!("{needs}, which the persona has not");
                    let help = "add it to the persona's tools, or take the skill away";
                    report.warn(place.span(), message, help);
                }
                None => {}
            }
        }
    }
}
