//! Sections of projects, and the tools about them.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::clock;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Todoist;
use crate::arguments::ProjectId;
use crate::order;
use crate::order::OrderIndex;
use crate::projects::{Project, checked_name};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SectionId {
    pub section_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSection {
    pub project_id: u32,
    pub name: String,
    /// -1: last.
    #[serde(default)]
    pub order_index: OrderIndex,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSection {
    pub section_id: u32,
    pub name: Option<String>,
    /// -1: last.
    pub order_index: Option<OrderIndex>,
}

/// The most sections of a project: they come with it in one answer.
const MAX_SECTIONS: usize = 100;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Section {
    pub project: u32,
    pub name: Text,
    pub created_at: DateTime,
    /// In their order.
    pub tasks: List<u32>,
}

impl Todoist {
    pub(crate) fn show_sections(
        &mut self,
        me: &Email,
        ProjectId { project_id }: ProjectId,
    ) -> Result<Vec<Value>, ToolError> {
        let project_id = self.named_project(me, project_id);
        let project = self.project(me, project_id)?;
        let view = |(order_index, (id, section)): (usize, (u32, &Section))| {
            json!({
                "project_id": project_id,
                "name": section.name,
                "order_index": order_index,
                "created_at": section.created_at,
                "section_id": id,
                "num_tasks": section.tasks.len(),
            })
        };
        Ok(self.sections_of(project).enumerate().map(view).collect())
    }

    pub(crate) fn create_section(
        &mut self,
        me: &Email,
        arguments: CreateSection,
    ) -> Result<Value, ToolError> {
        let CreateSection {
            project_id,
            name,
            order_index,
        } = arguments;
        let project_id = self.named_project(me, project_id);
        self.open_project(me, project_id)?;
        let section_id = self.insert_section(project_id, &name, clock::now())?;
        if let Some(project) = self.projects.get_mut(project_id) {
            order_index.move_to(section_id, project.sections.to_mut());
        }
        Ok(json!({
            "message": format!("Section {section_id} is created."),
            "section_id": section_id,
        }))
    }

    pub(crate) fn update_section(
        &mut self,
        me: &Email,
        arguments: UpdateSection,
    ) -> Result<Value, ToolError> {
        let UpdateSection {
            section_id,
            name,
            order_index,
        } = arguments;
        let project = self.section(me, section_id)?.project;
        self.open_project(me, project)?;
        let name = name
            .map(|name| self.unused_section_name(project, &name, Some(section_id)))
            .transpose()?;
        if let (Some(name), Some(section)) = (name, self.sections.get_mut(section_id)) {
            section.name = name;
        }
        if let (Some(index), Some(project)) = (order_index, self.projects.get_mut(project)) {
            index.move_to(section_id, project.sections.to_mut());
        }
        Ok(json!({"message": format!("Section {section_id} is updated.")}))
    }

    pub(crate) fn delete_section(
        &mut self,
        me: &Email,
        SectionId { section_id }: SectionId,
    ) -> Result<Value, ToolError> {
        let project = self.section(me, section_id)?.project;
        self.open_project(me, project)?;
        if let Some(project) = self.projects.get_mut(project) {
            order::remove(section_id, project.sections.to_mut());
        }
        self.sections.remove(section_id);
        self.forget_tasks(|task| task.section == Some(section_id));
        Ok(json!({"message": format!("Section {section_id} is deleted with its tasks.")}))
    }

    /// A name that no other section of the project has: 409 if one has it.
    fn unused_section_name(
        &self,
        project: u32,
        name: &str,
        own_id: Option<u32>,
    ) -> Result<Text, ToolError> {
        let name = checked_name(name)?;
        let same = |section: &Section| section.project == project && section.name == name;
        match self
            .sections
            .iter()
            .find(|(id, section)| same(section) && Some(*id) != own_id)
        {
            None => Ok(name),
            Some((id, _)) => Err(ToolError::taken(format!(
                "Section {id} has the name {name:?} already."
            ))),
        }
    }

    /// Adds a section at the end; 422 if it breaks a rule, 409 if its name is taken.
    pub(crate) fn insert_section(
        &mut self,
        project_id: u32,
        name: &str,
        created_at: DateTime,
    ) -> Result<u32, ToolError> {
        let name = self.unused_section_name(project_id, name, None)?;
        let project = self.projects.get_mut(project_id);
        // Cannot happen: the caller has found it.
        let project = project.ok_or_else(|| ToolError::conflict("project", project_id))?;
        if project.sections.len() >= MAX_SECTIONS {
            return Err(ToolError::invalid(format!(
                "A project has at most {MAX_SECTIONS} sections."
            )));
        }
        let id = self.sections.insert(Section {
            project: project_id,
            name,
            created_at,
            tasks: List::default(),
        });
        project.sections.to_mut().push(id);
        Ok(id)
    }

    /// In their order.
    pub(crate) fn sections_of(&self, project: &Project) -> impl Iterator<Item = (u32, &Section)> {
        let ids = project.sections.iter();
        ids.filter_map(|id| Some((*id, self.sections.get(*id)?)))
    }

    /// A section of a project that one is in: 409 if there is none, 422 if it is other people's.
    fn section(&self, me: &Email, id: u32) -> Result<&Section, ToolError> {
        let section = self
            .sections
            .get(id)
            .ok_or_else(|| ToolError::conflict("section", id))?;
        if self.project(me, section.project).is_err() {
            return Err(ToolError::invalid(format!(
                "Section {id} belongs to another account."
            )));
        }
        Ok(section)
    }
}
