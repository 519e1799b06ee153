//! Skills: folders of the workspace with instructions for a kind of work. A `SKILL.md` opens with a YAML block that names
//! it; what follows is read by the agent when it needs it. The agent may write skills of its own, so nothing in them is
//! trusted: a file that cannot be read as one is left out.

use serde::Deserialize;

use super::files::{own_path, read};
use super::toolbox::Toolbox;
use pibench_core::skill::{Names, SIZE};
use pibench_sandbox::workspace::{EntryKind, Workspace, WorkspaceError};

/// Where they are.
const FOLDER: &str = "skills";

/// Skills that the system prompt names, and characters of each description.
const MOST: usize = 100;
const DESCRIPTION: usize = 300;

/// A skill, as the system prompt tells it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) path: String,
    /// Whether it stands in the prompt in full.
    pub(super) always: bool,
    pub(super) body: String,
    /// The tools that it needs and the agent has not, in one line.
    pub(super) lacks: String,
}

/// The block at the top. Other keys are another scaffold's.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    name: String,
    description: String,
    always: bool,
    /// Tools without which it is of no use.
    tools: Option<Names>,
}

/// The skills of a workspace, sorted by folder.
pub(super) fn found(
    workspace: &Workspace,
    toolbox: &Toolbox,
) -> Result<Vec<Skill>, WorkspaceError> {
    let entries = match workspace.list(&own_path(FOLDER), false) {
        Ok(entries) => entries,
        Err(error) if error.of_the_machine().is_some() => return Err(error),
        Err(_) => return Ok(Vec::new()),
    };
    let mut skills = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Directory)
    {
        let path = format!("{}/SKILL.md", entry.path);
        let folder = entry.path.components().last().unwrap_or_default();
        // A skill that cannot be opened is no reason to end the session.
        let text = read(workspace, &path).unwrap_or_default();
        skills.extend(skill(&text, &path, folder, toolbox));
        if skills.len() == MOST {
            break;
        }
    }
    Ok(skills)
}

fn skill(text: &str, path: &str, folder: &str, toolbox: &Toolbox) -> Option<Skill> {
    if text.is_empty() || text.len() > SIZE {
        return None;
    }
    // An agent writes as it likes: a byte order mark and line ends of Windows are no reason to miss the block.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (head, body) = split(&text);
    let Head {
        name,
        description,
        always,
        tools,
    } = serde_saphyr::from_str(head).ok()?;
    let tools = tools.map(Names::into_list).unwrap_or_default();
    let lacks = tools.into_iter().filter(|tool| !toolbox.has(tool));
    let lacks: Vec<String> = lacks.collect();
    Some(Skill {
        name: if name.is_empty() {
            folder.to_owned()
        } else {
            line(&name)
        },
        description: line(&description),
        path: path.to_owned(),
        always,
        body: body.trim().to_owned(),
        lacks: line(&lacks.join(", ")),
    })
}

/// The YAML block, empty where there is none, and the rest.
fn split(text: &str) -> (&str, &str) {
    text.strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"))
        .unwrap_or(("{}", text))
}

/// One line of bounded length.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::vocabulary::Scaffold;

    fn check(text: &str, expected: Option<(&str, &str, bool, &str, &str)>) {
        let toolbox = Toolbox::new(Scaffold::default(), []).unwrap();
        let found = skill(text, "skills/f/SKILL.md", "f", &toolbox);
        let found = found.as_ref().map(|skill| {
            let Skill {
                name,
                description,
                always,
                body,
                lacks,
                ..
            } = skill;
            (
                name.as_str(),
                description.as_str(),
                *always,
                body.as_str(),
                lacks.as_str(),
            )
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_skill_is_read_with_what_it_needs() {
        check(
            "---\nname: Planner\ndescription: >\n  Makes\n  plans.\ntools: [read_file, fly]\n---\nDo it.\n",
            Some(("Planner", "Makes plans.", false, "Do it.", "fly")),
        );
        check(
            "---\nname: A\ndescription: B\nalways: true\nauthor: somebody\n---\n\nBody\n---\nmore",
            Some(("A", "B", true, "Body\n---\nmore", "")),
        );
        check(
            "\u{feff}---\r\nname: W\r\ndescription: On Windows.\r\ntools: [fly]\r\n---\r\nOne.\r\nTwo.\r\n",
            Some(("W", "On Windows.", false, "One.\nTwo.", "fly")),
        );
        // Other scaffolds write the tools as a text.
        check(
            "---\nname: T\ndescription: D\ntools: read_file, fly swim\n---\nx",
            Some(("T", "D", false, "x", "fly, swim")),
        );
        check(
            "---\nname: T\ndescription: D\ntools:\n---\nx",
            Some(("T", "D", false, "x", "")),
        );
    }

    #[test]
    fn what_is_no_skill_is_left_out_or_named_by_its_folder() {
        check("Just text.", Some(("f", "", false, "Just text.", "")));
        check("", None);
        check("---\nname: [\n---\nx", None);
        check("---\nname: {a: b}\n---\nx", None);
        check("---\nname: a\nalways: maybe\n---\nx", None);
        check("---\nname: a\ntools: {a: b}\n---\nx", None);
        check(&format!("---\nname: a\n---\n{}", "x".repeat(SIZE)), None);
    }

    /// The skills of the paper's Table 4, in its order.
    const PUBLISHED: [&str; 21] = [
        "Jargon Translator",
        "PubMed Search",
        "Local File Grounding",
        "PDF Reader",
        "JSON Translator",
        "Customer Requirement Analysis",
        "iFinD Finance Data Search",
        "China Tax Law",
        "Python Data Analysis",
        "Data Analysis",
        "Planning",
        "News Aggregator",
        "Defense Lawyer",
        "Corporate Lawyer",
        "Proactive Task Validator",
        "One-Page Credit Analysis",
        "Financial Analysis",
        "Web Browsing",
        "Local Web Search",
        "Medical Literature Reader Pro",
        "Law Exam Trainer",
    ];

    #[test]
    fn the_embedded_skills_are_the_published_ones_and_name_the_tools_that_they_use() {
        let toolbox = Toolbox::new(Scaffold::default(), []).unwrap();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tasks/skills");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(root).unwrap() {
            let folder = entry.unwrap().path();
            let text = std::fs::read_to_string(folder.join("SKILL.md")).unwrap();
            assert!(text.starts_with("---\n"), "{}", folder.display());
            let folder = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let skill = skill(&text, "", &folder, &toolbox).expect(&folder);
            assert_eq!(skill.lacks, "", "{folder}: tools that there are not");
            assert!(!skill.description.is_empty() && !skill.body.is_empty());
            let by_name = skill.name.to_lowercase().replace(' ', "-");
            assert_eq!(folder, by_name, "the folder is the name");

            let head: Head = serde_saphyr::from_str(split(&text).0).unwrap();
            let listed = head.tools.map(Names::into_list).unwrap_or_default();
            let told = |tool: &str| {
                skill.body.contains(&format!("`{tool}`"))
                    || tool == "exec" && skill.body.to_lowercase().contains("python3")
            };
            for tool in toolbox.specs().iter().map(|spec| &spec.name) {
                assert!(
                    !told(tool) || listed.contains(tool),
                    "{folder}: its text names `{tool}`, its head does not"
                );
            }
            names.push(skill.name);
        }
        names.sort();
        let mut published = PUBLISHED.to_vec();
        published.sort_unstable();
        assert_eq!(names, published);
    }
}
