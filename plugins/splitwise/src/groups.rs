//! The tools about groups and people.

use pibench_sdk::account::{Account, Email};
use pibench_sdk::clock;
use pibench_sdk::listing::{NO_LIMIT, Page, Search};
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ledger::{Debts, Group, MAX_GROUP_DESCRIPTION, MAX_MEMBERS, MAX_NAME};
use crate::view::view_owed;
use crate::{Splitwise, not_blank, within};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateGroup {
    #[schemars(length(min = 1, max = MAX_NAME))]
    pub name: String,
    /// Beside you.
    #[schemars(length(max = MAX_MEMBERS))]
    pub member_emails: Vec<String>,
    #[schemars(length(max = MAX_GROUP_DESCRIPTION))]
    pub description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddMember {
    pub group_id: u32,
    pub user_email: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupIdOnly {
    pub group_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListGroups {
    /// Deleted ones.
    #[serde(default)]
    pub delete: bool,
    #[serde(flatten)]
    pub page: Page<NO_LIMIT>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchUsers {
    #[serde(default)]
    pub include_self: bool,
    #[serde(flatten)]
    pub search: Search,
}

impl Splitwise {
    pub(crate) fn create_group(
        &mut self,
        me: &Email,
        arguments: CreateGroup,
    ) -> Result<Value, ToolError> {
        let CreateGroup {
            name,
            member_emails,
            description,
        } = arguments;
        let members: Result<Vec<Email>, ToolError> = member_emails
            .iter()
            .map(|email| Email::parse(email))
            .collect();
        let group = self.new_group(me, name, description.unwrap_or_default(), members?)?;
        let same = |other: &Group| other.creator == *me && other.name == group.name;
        if self.ledger.groups.values().any(same) {
            return Err(ToolError::taken(format!(
                "You have a group of the name {:?} already.",
                group.name
            )));
        }
        let group_id = self.ledger.insert_group(group);
        Ok(json!({"message": format!("Group {group_id} is created."), "group_id": group_id}))
    }

    /// A group of now that keeps the rules; it has no id and no code yet.
    pub(crate) fn new_group(
        &self,
        creator: &Email,
        name: String,
        description: String,
        others: Vec<Email>,
    ) -> Result<Group, ToolError> {
        let mut members: Vec<Email> = Vec::new();
        for person in std::iter::once(creator.clone()).chain(others) {
            self.check_known(&person)?;
            if !members.contains(&person) {
                members.push(person);
            }
        }
        if members.len() > MAX_MEMBERS {
            return Err(full());
        }
        Ok(Group {
            id: 0,
            name: within("name", not_blank("name", name)?, MAX_NAME)?.into(),
            description: within("description", description, MAX_GROUP_DESCRIPTION)?.into(),
            creator: creator.clone(),
            members: members.into(),
            created_at: clock::now(),
            deleted: false,
            invitation_code: Text::default(),
        })
    }

    pub(crate) fn add_member_to_group(
        &mut self,
        me: &Email,
        arguments: AddMember,
    ) -> Result<Value, ToolError> {
        let AddMember {
            group_id,
            user_email,
        } = arguments;
        let group = self.open_group(me, group_id)?;
        let person = Email::parse(&user_email)?;
        self.check_known(&person)?;
        if group.has(&person) {
            return Err(ToolError::taken(format!(
                "{person} is a member of group {group_id} already."
            )));
        }
        if group.members.len() >= MAX_MEMBERS {
            return Err(full());
        }
        let message = format!("{person} is a member of group {group_id} now.");
        if let Some(group) = self.ledger.groups.get_mut(&group_id) {
            group.members.to_mut().push(person);
        }
        Ok(json!({"message": message}))
    }

    pub(crate) fn show_group(
        &mut self,
        me: &Email,
        GroupIdOnly { group_id }: GroupIdOnly,
    ) -> Result<Value, ToolError> {
        Ok(self.view_group(self.group(me, group_id)?))
    }

    pub(crate) fn show_groups(
        &mut self,
        me: &Email,
        arguments: ListGroups,
    ) -> Result<Vec<Value>, ToolError> {
        let ListGroups { delete, page } = arguments;
        let mut groups: Vec<&Group> = self
            .ledger
            .groups
            .values()
            .filter(|group| group.has(me) && group.deleted == delete)
            .collect();
        groups.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
        Ok(page
            .of(groups)
            .into_iter()
            .map(|group| self.view_group(group))
            .collect())
    }

    pub(crate) fn search_users(
        &mut self,
        me: &Email,
        arguments: SearchUsers,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchUsers {
            include_self,
            search,
        } = arguments;
        let mut users = self.accounts.search(search.query.as_deref());
        users.retain(|user| include_self || user.email != *me);
        let debts = Debts::of(self.ledger.counting());
        let view = |user: &Account| {
            let mut view = json!({"name": user.name(), "email": user.email});
            view_owed(&mut view, "amount", debts.between(me, &user.email));
            view
        };
        Ok(search.page().of(users).into_iter().map(view).collect())
    }

    /// 409 for an address without an account.
    pub(crate) fn check_known(&self, person: &Email) -> Result<(), ToolError> {
        if self.accounts.contains(person) {
            Ok(())
        } else {
            Err(ToolError::conflict("account", person))
        }
    }

    /// One of one's own groups: 409 if there is none, 422 if one is no member.
    pub(crate) fn group(&self, me: &Email, id: u32) -> Result<&Group, ToolError> {
        let group = self.ledger.groups.get(&id);
        let group = group.ok_or_else(|| ToolError::conflict("group", id))?;
        if !group.has(me) {
            return Err(ToolError::invalid(format!(
                "{me} is no member of group {id}."
            )));
        }
        Ok(group)
    }

    /// One of one's own groups that is not deleted (422).
    pub(crate) fn open_group(&self, me: &Email, id: u32) -> Result<&Group, ToolError> {
        let group = self.group(me, id)?;
        if group.deleted {
            return Err(ToolError::invalid(format!("Group {id} is deleted.")));
        }
        Ok(group)
    }
}

fn full() -> ToolError {
    ToolError::invalid(format!("A group has at most {MAX_MEMBERS} members."))
}
