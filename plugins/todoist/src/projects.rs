//! Projects, who is in them, and the tools about them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::civil::DateTime;
use pibench_sdk::account::{Account, Email};
use pibench_sdk::list::List;
use pibench_sdk::listing::NO_LIMIT;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::arguments::{Color, ProjectId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowProjects {
    pub color: Option<Color>,
    pub is_favorite: Option<bool>,
    pub is_archived: Option<bool>,
    #[serde(flatten)]
    pub list: listing::List<NO_LIMIT>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateProject {
    pub name: String,
    #[serde(default)]
    pub color: Color,
    pub description: Option<String>,
    #[serde(default)]
    pub is_favorite: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateProject {
    pub project_id: u32,
    pub name: Option<String>,
    pub color: Option<Color>,
    pub description: Option<String>,
    pub is_favorite: Option<bool>,
    /// Nothing in it can be changed then.
    pub is_archived: Option<bool>,
}

/// The longest name of a project, a section or a label, in bytes.
pub(crate) const MAX_NAME: usize = 200;
/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 16 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Project {
    pub creator: Email,
    pub name: Text,
    pub color: Color,
    pub description: Text,
    /// Everybody has one: it can be neither changed nor deleted.
    pub is_inbox: bool,
    /// Whose favorite it is.
    pub favorite_of: BTreeSet<Email>,
    pub is_archived: bool,
    /// Who else is in it.
    pub collaborators: List<Email>,
    pub invites: List<Invite>,
    pub created_at: DateTime,
    /// In their order.
    pub sections: List<u32>,
    /// The tasks outside the sections, in their order.
    pub tasks: List<u32>,
}

/// The project that is somebody's Inbox.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Inbox(pub u32);

/// Somebody who was asked to join and has not answered. Only seeds bring any.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Invite {
    pub code: Text,
    pub invitee: Email,
}

impl Todoist {
    pub(crate) fn show_projects(
        &mut self,
        me: &Email,
        arguments: ShowProjects,
    ) -> Result<Vec<Value>, ToolError> {
        let ShowProjects {
            color,
            is_favorite,
            is_archived,
            list,
        } = arguments;
        let wanted = |project: &Project| {
            project.has_member(me)
                && color.is_none_or(|color| project.color == color)
                && is_favorite.is_none_or(|favorite| project.favorite_of.contains(me) == favorite)
                && is_archived.is_none_or(|archived| project.is_archived == archived)
        };
        let mut projects: Vec<(u32, &Project)> = self
            .projects
            .iter()
            .filter(|(_, project)| wanted(project))
            .collect();
        projects.sort_by_key(|(id, project)| Reverse((project.created_at, *id)));
        let text =
            |(_, project): &(u32, &Project)| format!("{}\n{}", project.name, project.description);
        let projects = list.of(projects, text, &project_fields())?;
        Ok(projects
            .into_iter()
            .map(|(id, project)| self.view_project(me, id, project))
            .collect())
    }

    pub(crate) fn show_project(
        &mut self,
        me: &Email,
        ProjectId { project_id }: ProjectId,
    ) -> Result<Value, ToolError> {
        let project_id = self.named_project(me, project_id);
        let project = self.project(me, project_id)?;
        Ok(self.view_project(me, project_id, project))
    }

    pub(crate) fn create_project(
        &mut self,
        me: &Email,
        arguments: CreateProject,
    ) -> Result<Value, ToolError> {
        let CreateProject {
            name,
            color,
            description,
            is_favorite,
        } = arguments;
        let mut project = Project::new(me.clone(), clock::now());
        project.name = self.unused_name(me, &name, None)?;
        project.color = color;
        project.description = checked_description(description.unwrap_or_default())?;
        project.favorite_of = is_favorite.then(|| me.clone()).into_iter().collect();
        let project_id = self.projects.insert(project);
        Ok(json!({
            "message": format!("Project {project_id} is created."),
            "project_id": project_id,
        }))
    }

    pub(crate) fn update_project(
        &mut self,
        me: &Email,
        arguments: UpdateProject,
    ) -> Result<Value, ToolError> {
        let UpdateProject {
            project_id,
            name,
            color,
            description,
            is_favorite,
            is_archived,
        } = arguments;
        let project_id = self.named_project(me, project_id);
        let mut project = self.project(me, project_id)?.clone();
        let content = name.is_some() || color.is_some() || description.is_some();
        if project.is_inbox && (content || is_archived.is_some()) {
            return Err(ToolError::invalid(
                "The Inbox can only be made a favorite; everything else about it is fixed.",
            ));
        }
        if is_archived.is_some() && project.creator != *me {
            return Err(only_the_creator(&project, "archive", project_id));
        }
        project.is_archived = is_archived.unwrap_or(project.is_archived);
        if content && project.is_archived {
            return Err(archived(project_id));
        }
        if let Some(name) = name {
            project.name = self.unused_name(&project.creator, &name, Some(project_id))?;
        }
        if let Some(description) = description {
            project.description = checked_description(description)?;
        }
        project.color = color.unwrap_or(project.color);
        match is_favorite {
            Some(true) => _ = project.favorite_of.insert(me.clone()),
            Some(false) => _ = project.favorite_of.remove(me),
            None => {}
        }
        if let Some(kept) = self.projects.get_mut(project_id) {
            *kept = project;
        }
        Ok(json!({"message": format!("Project {project_id} is updated.")}))
    }

    pub(crate) fn delete_project(
        &mut self,
        me: &Email,
        ProjectId { project_id }: ProjectId,
    ) -> Result<Value, ToolError> {
        let project_id = self.named_project(me, project_id);
        let project = self.project(me, project_id)?;
        if project.is_inbox {
            return Err(ToolError::invalid("The Inbox cannot be deleted."));
        }
        if project.creator != *me {
            return Err(only_the_creator(project, "delete", project_id));
        }
        self.projects.remove(project_id);
        self.sections
            .retain(|_, section| section.project != project_id);
        self.forget_tasks(|task| task.project == project_id);
        Ok(json!({"message": format!("Project {project_id} is deleted with all that was in it.")}))
    }

    /// The project that an argument names: 0 is one's Inbox.
    pub(crate) fn named_project(&self, me: &Email, id: u32) -> u32 {
        let inbox = self.inboxes.get(me).filter(|_| id == 0);
        inbox.map_or(id, |inbox| inbox.0)
    }

    /// A name that no other project of the creator's has: 409 if one has it. Records may bring such ones.
    fn unused_name(
        &self,
        creator: &Email,
        name: &str,
        own_id: Option<u32>,
    ) -> Result<Text, ToolError> {
        let name = checked_name(name)?;
        let same = |project: &Project| project.creator == *creator && project.name == name;
        match self
            .projects
            .iter()
            .find(|(id, project)| same(project) && Some(*id) != own_id)
        {
            None => Ok(name),
            Some((id, _)) => Err(ToolError::taken(format!(
                "Project {id} has the name {name:?} already."
            ))),
        }
    }

    /// A project that one is in: 409 if there is none, 422 if it is other people's.
    pub(crate) fn project(&self, me: &Email, id: u32) -> Result<&Project, ToolError> {
        let project = self
            .projects
            .get(id)
            .ok_or_else(|| ToolError::conflict("project", id))?;
        if !project.has_member(me) {
            return Err(ToolError::invalid(format!(
                "Project {id} belongs to another account."
            )));
        }
        Ok(project)
    }

    /// The same, 422 too if it is archived.
    pub(crate) fn open_project(&self, me: &Email, id: u32) -> Result<&Project, ToolError> {
        let project = self.project(me, id)?;
        if project.is_archived {
            return Err(archived(id));
        }
        Ok(project)
    }

    /// All tasks of a project, in sections too.
    pub(crate) fn num_tasks(&self, project: &Project) -> usize {
        let sections = project.sections.iter();
        let in_sections = sections.filter_map(|id| Some(self.sections.get(*id)?.tasks.len()));
        project.tasks.len() + in_sections.sum::<usize>()
    }
}

impl Project {
    /// Nameless and empty.
    pub(crate) fn new(creator: Email, created_at: DateTime) -> Self {
        Self {
            creator,
            name: Text::default(),
            color: Color::default(),
            description: Text::default(),
            is_inbox: false,
            favorite_of: BTreeSet::new(),
            is_archived: false,
            collaborators: List::default(),
            invites: List::default(),
            created_at,
            sections: List::default(),
            tasks: List::default(),
        }
    }

    pub(crate) fn inbox(account: &Account) -> Self {
        Self {
            name: Text::constant("Inbox"),
            is_inbox: true,
            ..Self::new(account.email.clone(), account.registered_at)
        }
    }

    pub(crate) fn has_member(&self, person: &Email) -> bool {
        self.creator == *person || self.collaborators.contains(person)
    }
}

pub(crate) fn checked_name(name: &str) -> Result<Text, ToolError> {
    Ok(text::not_empty("name", name, MAX_NAME)?.into())
}

pub(crate) fn checked_description(description: String) -> Result<Text, ToolError> {
    Ok(text::at_most("description", description, MAX_DESCRIPTION)?.into())
}

fn archived(id: u32) -> ToolError {
    ToolError::invalid(format!(
        "Project {id} is archived, so nothing in it can be changed. Set is_archived to false first."
    ))
}

fn only_the_creator(project: &Project, what: &str, id: u32) -> ToolError {
    ToolError::invalid(format!(
        "Only the creator, {}, can {what} project {id}.",
        project.creator
    ))
}

pub(crate) fn project_fields<'a>() -> [listing::Field<(u32, &'a Project)>; 1] {
    [("created_at", |a, b| a.1.created_at.cmp(&b.1.created_at))]
}
