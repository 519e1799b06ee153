//! Todoist: projects with sections, tasks with sub-tasks, labels, comments and assignees, and notifications.
//!
//! Everybody has an Inbox project, which is theirs alone. A project may be shared: its creator and its collaborators
//! see and change everything in it; only the creator archives or deletes it. No tool shares a project or answers an
//! invitation; seeds say who is in it. Nothing in an archived project can be changed. Labels and favorites are
//! personal; a label may stand on the tasks of a shared project. Deleting a project, a section or a task deletes what
//! is in it. Completing a task leaves its sub-tasks as they are.
//!
//! Others are told: whoever a task is assigned to or taken from, and a task's creator and assignee when it is completed
//! or commented on. Attachments have a name, and those of the file system app a text, which graders see. A comment with
//! `attachment_file_paths` is refused (422) where the host does not hand over the files, with the reason.
//!
//! Lists of tasks are lists of ids, so adding, moving and deleting take the same time in a long section as in a short
//! one.
//!
//! # Records
//!
//! ```toml
//! [[apps.todoist.labels]]
//! owner = "ida@vale.example"          # somebody with an account
//! name = "urgent"                     # no two labels of an owner have the same
//! color = "red"                       # charcoal if left out; red, blue, green, orange, yellow
//!
//! [[apps.todoist.projects]]
//! id = "thesis"                       # a key for other records, unique; may be left out
//! owner = "ida@vale.example"
//! name = "Thesis"
//! color = "blue"                      # charcoal if left out
//! description = "..."                 # this and all that follows may be left out
//! favorite = true                     # the owner's
//! archived = false
//! collaborators = ["bo@lind.example"] # with accounts
//! invited = ["cy@moor.example"]       # anybody
//! sections = ["Reading", "Writing"]   # in their order
//! created_at = "2026-02-27T18:00:00"  # the clock's now if left out, here and below
//!
//! [[apps.todoist.tasks]]
//! id = "outline"                      # a key for other records, unique; may be left out
//! project = "thesis"                  # the creator's Inbox if left out
//! section = "Writing"                 # none if left out
//! creator = "ida@vale.example"        # the project's owner if left out
//! title = "Write the outline"
//! description = "..."                 # this and all that follows may be left out
//! due_date = "2026-03-09"
//! duration = 2                        # with its unit: minutes, hours or days
//! duration_unit = "hours"
//! priority = "high"                   # medium if left out; low
//! completed = false
//! labels = ["urgent"]                 # the creator's
//! assignee = "bo@lind.example"        # somebody in the project
//! assigner = "ida@vale.example"       # the creator if left out
//! created_at = "2026-02-27T18:00:00"
//!
//! [[apps.todoist.sub_tasks]]
//! task = "outline"
//! title = "Collect headings"          # and, as for tasks: description, due_date, duration, duration_unit, priority,
//! completed = true                    # completed, created_at
//!
//! [[apps.todoist.comments]]
//! task = "outline"
//! author = "bo@lind.example"          # somebody in the project
//! content = "Three chapters?"
//! attachments = ["draft.pdf"]         # file names; none if left out
//! created_at = "2026-02-28T09:00:00"
//!
//! [[apps.todoist.notifications]]      # records notify nobody by themselves
//! owner = "ida@vale.example"
//! type = "comment_posted"             # task_assigned, task_unassigned, task_completed, project_invitation, reminder
//! title = "New comment"               # the usual one of the type if left out
//! message = "Bo Lind commented on a task: Write the outline"
//! read = false                        # false if left out
//! by = "bo@lind.example"              # who did it; may be left out
//! project = "thesis"                  # what it is about; both may be left out
//! task = "outline"
//! created_at = "2026-02-28T09:00:00"
//! ```
//!
//! Unknown keys are errors. Keys hold across later additions. Each kind of record has ids of its own, 1, 2, 3, ... in
//! the order in which they are added; the first projects are the Inboxes, by email address. Ids are not reused. Tasks
//! and sub-tasks stand in the order of the records.
//!
//! # State
//!
//! `{"projects": [{id, creator, name, color, description, is_inbox, favorite_of, is_archived, collaborators, invited,
//! created_at}], "sections": [{id, project_id, name, order_index, created_at}], "tasks": [{id, project_id, section_id,
//! order_index, creator, title, description, due_date, priority, is_completed, duration, duration_unit, assignee,
//! assigner, label_ids, created_at}], "sub_tasks": [{id, task_id, order_index, title, description, due_date, priority,
//! is_completed, duration, duration_unit, created_at}], "labels": [{id, creator, name, color}], "comments": [{id,
//! task_id, author, content, attachments, created_at}], "notifications": [{id, owner, type, title, message, read,
//! created_at, data}]}`, by id; people are addresses, `data` holds the ids of what a notification is about.
//! A comment whose attachments have texts has `attachment_texts` too.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod arguments;
mod comments;
mod labels;
mod notifications;
mod order;
mod projects;
mod record;
mod sections;
mod sub_tasks;
mod tasks;
mod view;
mod work;
mod world;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::layer::Layer;
use pibench_sdk::records::Records;
use pibench_sdk::table::Table;
use pibench_sdk::tool::Tools;
use serde::{Deserialize, Serialize};

use crate::comments::Comment;
use crate::labels::Label;
use crate::notifications::Notification;
use crate::projects::{Inbox, Project};
use crate::record::Keys;
use crate::sections::Section;
use crate::sub_tasks::SubTask;
use crate::tasks::Task;

export_tool_app!(Todoist);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Todoist {
    accounts: Accounts,
    projects: Table<Project>,
    /// The project of each account that is its Inbox.
    inboxes: Layer<Email, Inbox>,
    sections: Table<Section>,
    tasks: Table<Task>,
    sub_tasks: Table<SubTask>,
    labels: Table<Label>,
    comments: Table<Comment>,
    notifications: Table<Notification>,
    keys: Keys,
}

impl ToolApp for Todoist {
    fn tools() -> Tools<Self> {
        let tools = Tools::new().login().logout().search_users(&[]);
        notification_tools(comment_tools(label_tools(task_tools(project_tools(tools)))))
    }

    fn open(accounts: Accounts) -> Self {
        let world = accounts.world();
        let mut projects = Table::new(world);
        let mut inboxes = Layer::new(world);
        for account in accounts.added() {
            let inbox = Inbox(projects.insert(Project::inbox(account)));
            inboxes.insert(account.email.clone(), inbox);
        }
        Self {
            accounts,
            projects,
            inboxes,
            sections: Table::new(world),
            tasks: Table::new(world),
            sub_tasks: Table::new(world),
            labels: Table::new(world),
            comments: Table::new(world),
            notifications: Table::new(world),
            keys: Keys::default(),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        self.add_records(records)
    }

    fn state(&self) -> impl Serialize {
        self.view_state()
    }
}

fn project_tools(tools: Tools<Todoist>) -> Tools<Todoist> {
    tools
        .private(
            "show_projects",
            "Shared ones too; newest first.",
            Todoist::show_projects,
        )
        .sorted_by(&projects::project_fields())
        .private("show_project", "With its sections.", Todoist::show_project)
        .private("create_project", "With you in it.", Todoist::create_project)
        .private(
            "update_project",
            "Changes or archives a project.",
            Todoist::update_project,
        )
        .private(
            "delete_project",
            "Deletes your project for good, with its sections and tasks.",
            Todoist::delete_project,
        )
        .private("show_sections", "Of a project.", Todoist::show_sections)
        .private("create_section", "In a project.", Todoist::create_section)
        .private(
            "update_section",
            "Renames or moves a section.",
            Todoist::update_section,
        )
        .private(
            "delete_section",
            "Deletes a section for good, with its tasks.",
            Todoist::delete_section,
        )
}

fn task_tools(tools: Tools<Todoist>) -> Tools<Todoist> {
    tools
        .private(
            "show_tasks",
            "By section and order_index.",
            Todoist::show_tasks,
        )
        .sorted_by(&tasks::task_fields())
        .private("show_task", "With its labels.", Todoist::show_task)
        .private("create_task", "In a project.", Todoist::create_task)
        .private("update_task", "Only what is given.", Todoist::update_task)
        .private(
            "delete_task",
            "Deletes a task for good, with sub-tasks and comments.",
            Todoist::delete_task,
        )
        .private(
            "assign_or_unassign_task",
            "Without assignee_email: to nobody.",
            Todoist::assign_or_unassign_task,
        )
        .private("show_sub_tasks", "In their order.", Todoist::show_sub_tasks)
        .private("create_sub_task", "Below a task.", Todoist::create_sub_task)
        .private(
            "update_sub_task",
            "Only what is given.",
            Todoist::update_sub_task,
        )
        .private(
            "delete_sub_task",
            "Deletes a sub-task for good.",
            Todoist::delete_sub_task,
        )
}

fn label_tools(tools: Tools<Todoist>) -> Tools<Todoist> {
    tools
        .private(
            "search_labels",
            "Yours, or a task's.",
            Todoist::search_labels,
        )
        .private("create_label", "Of your own.", Todoist::create_label)
        .private(
            "delete_label",
            "Deletes your label for good, also from tasks.",
            Todoist::delete_label,
        )
        .private(
            "add_label_to_task",
            "Puts one of your labels on a task.",
            Todoist::add_label_to_task,
        )
        .private(
            "remove_label_from_task",
            "Takes a label off a task.",
            Todoist::remove_label_from_task,
        )
}

fn comment_tools(tools: Tools<Todoist>) -> Tools<Todoist> {
    tools
        .private(
            "show_task_comments",
            "Oldest first.",
            Todoist::show_task_comments,
        )
        .private(
            "show_task_comment",
            "With its text.",
            Todoist::show_task_comment,
        )
        .private(
            "post_task_comment",
            "Below a task.",
            Todoist::post_task_comment,
        )
        .private(
            "update_task_comment",
            "Replaces the text of your comment.",
            Todoist::update_task_comment,
        )
        .private(
            "delete_task_comment",
            "Deletes your comment for good.",
            Todoist::delete_task_comment,
        )
}

fn notification_tools(tools: Tools<Todoist>) -> Tools<Todoist> {
    tools
        .private(
            "show_notifications",
            "Latest first; they stay unread.",
            Todoist::show_notifications,
        )
        .private(
            "show_notifications_count",
            "Counts your notifications.",
            Todoist::show_notifications_count,
        )
        .private(
            "mark_notification",
            "Marks a notification as read or unread.",
            Todoist::mark_notification,
        )
        .private(
            "delete_notifications",
            "Deletes all your notifications for good.",
            Todoist::delete_notifications,
        )
}

#[cfg(test)]
mod tests;
