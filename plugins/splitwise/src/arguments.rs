//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::listing::{PageIndex, PageLimit};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ledger::{MAX_GROUP_DESCRIPTION, MAX_MEMBERS, MAX_NAME, MAX_WHAT};
use crate::money::Money;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateGroup {
    /// The group's name, not empty.
    #[schemars(length(min = 1, max = MAX_NAME))]
    pub name: String,
    /// The email addresses of the members; you are one without being named.
    #[schemars(length(max = MAX_MEMBERS))]
    pub member_emails: Vec<String>,
    /// What the group is for.
    #[schemars(length(max = MAX_GROUP_DESCRIPTION))]
    pub description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddMember {
    /// The group's id.
    pub group_id: u32,
    /// The email address of the new member.
    pub user_email: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupIdOnly {
    /// The group's id.
    pub group_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListGroups {
    /// Deleted groups (true), or those in use (false).
    #[serde(default)]
    pub delete: bool,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordExpense {
    /// What was paid for, not empty.
    #[schemars(length(min = 1, max = MAX_WHAT))]
    pub description: String,
    /// How much was paid, above 0, with two decimals at most.
    pub paid_amount: Money,
    /// The email address of the one who paid.
    pub payer_email: String,
    /// The email addresses of all who share the cost, each once; the payer as well if part of it is the payer's own.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debtor_emails: Vec<String>,
    /// Each one's share, in the order of debtor_emails; together exactly paid_amount. Without it, equal shares: cents
    /// that do not divide go to the first.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debt_amounts: Option<Vec<Money>>,
    /// The group that the expense belongs to; all who take part are members. Without it, an expense outside groups, in
    /// which you take part.
    pub group_id: Option<u32>,
    /// The receipt's path in the file system app. Not available: a call with it is refused.
    pub receipt_file_path: Option<String>,
    /// The token of the file system app, for the receipt.
    pub file_system_access_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateExpense {
    /// The expense's id.
    pub expense_id: u32,
    /// What was paid for, not empty.
    #[schemars(length(min = 1, max = MAX_WHAT))]
    pub description: Option<String>,
    /// How much was paid, above 0, with two decimals at most. Equal shares follow it; uneven ones must be given anew.
    pub paid_amount: Option<Money>,
    /// The email address of the one who paid.
    pub payer_email: Option<String>,
    /// The email addresses of all who share the cost, in place of the old ones. Without debt_amounts, in equal shares.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debtor_emails: Option<Vec<String>>,
    /// Each one's share, in the order of the debtors; together exactly the paid amount.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debt_amounts: Option<Vec<Money>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpenseIdOnly {
    /// The expense's id.
    pub expense_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListExpenses {
    /// The group's id.
    pub group_id: u32,
    /// Words to look for in descriptions; any of them may match. Without it, all expenses.
    pub query: Option<String>,
    /// Only expenses that this person paid or shares.
    pub participant_email: Option<String>,
    /// Only expenses of at least this much.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_amount: f64,
    /// Only expenses of at most this much. Without it, any.
    #[schemars(range(min = 0))]
    pub max_amount: Option<f64>,
    /// Only expenses recorded then or later: a date, or a date and time.
    #[serde(default)]
    pub min_created_at: Since,
    /// Only expenses recorded then or earlier: a date, or a date and time.
    #[serde(default)]
    pub max_created_at: Until,
    /// Deleted expenses (true), or those that count (false).
    #[serde(default)]
    pub deleted: bool,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
    /// + (ascending) or - (descending) and one of created_at, paid_amount, description, expense_id.
    pub sort_by: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupBalance {
    /// The group's id. Without it, the expenses outside groups in which you take part.
    pub group_id: Option<u32>,
    /// Only the row of this person. Without it, a row for each.
    pub email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonBalance {
    /// The other person's email address.
    pub email: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchUsers {
    /// Words to look for in names and addresses; any of them may match. Without it, everybody.
    pub query: Option<String>,
    /// Whether you may be among the results.
    #[serde(default)]
    pub include_self: bool,
    #[serde(default)]
    pub page_index: PageIndex,
    #[serde(default)]
    pub page_limit: PageLimit,
}
