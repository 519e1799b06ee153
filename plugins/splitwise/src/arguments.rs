//! What the tools take. The comments are what a model reads.
#![expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]

use pibench_sdk::attachment::Receipt;
use pibench_sdk::listing::{List, NO_LIMIT, Page, Search};
use pibench_sdk::time::{Since, Until};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ledger::{MAX_GROUP_DESCRIPTION, MAX_MEMBERS, MAX_NAME, MAX_WHAT};
use crate::money::Money;

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
pub(crate) struct RecordExpense {
    #[schemars(length(min = 1, max = MAX_WHAT))]
    pub description: String,
    pub paid_amount: Money,
    pub payer_email: String,
    /// All who share, the payer too if that is one.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debtor_emails: Vec<String>,
    /// In their order, in sum paid_amount. Default: equal.
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debt_amounts: Option<Vec<Money>>,
    pub group_id: Option<u32>,
    #[serde(flatten)]
    pub receipt: Receipt,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateExpense {
    pub expense_id: u32,
    #[schemars(length(min = 1, max = MAX_WHAT))]
    pub description: Option<String>,
    /// Unequal shares are then given anew.
    pub paid_amount: Option<Money>,
    pub payer_email: Option<String>,
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debtor_emails: Option<Vec<String>>,
    #[schemars(length(min = 1, max = MAX_MEMBERS))]
    pub debt_amounts: Option<Vec<Money>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpenseIdOnly {
    pub expense_id: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListExpenses {
    pub group_id: u32,
    /// Payer or debtor.
    pub participant_email: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_amount: f64,
    #[schemars(range(min = 0))]
    pub max_amount: Option<f64>,
    #[serde(default)]
    pub min_created_at: Since,
    #[serde(default)]
    pub max_created_at: Until,
    #[serde(default)]
    pub deleted: bool,
    #[serde(flatten)]
    pub list: List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupBalance {
    /// Default: outside groups.
    pub group_id: Option<u32>,
    pub email: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonBalance {
    pub email: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchUsers {
    #[serde(default)]
    pub include_self: bool,
    #[serde(flatten)]
    pub search: Search,
}
