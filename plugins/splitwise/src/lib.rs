//! Splitwise: who paid what for whom, in groups and outside them, and who owes whom because of it.
//!
//! Money is in whole cents, to which every amount is rounded. Equal shares give the cents that do not divide to the first
//! debtors; shares that are told may be off what was paid, by a cent each and by ten at most. Balances are netted between two
//! people and never moved to a third, so all balances of a group are zero together. Deleted expenses, and those of deleted
//! groups, do not count; they are still listed when asked for.
//!
//! Whoever is in a group may see, record, change and delete its expenses; outside groups, whoever takes part may.
//!
//! Receipts have a name, and those of the file system app a text, which graders see. A call with `receipt_file_path` is
//! refused (422) where the host does not hand over the file, with the reason.
//!
//! # Records
//!
//! ```toml
//! [[apps.splitwise.groups]]
//! id = "flat"                       # a key for expenses, unique; may be left out
//! name = "Flat 12"
//! description = "Rent and bills"    # empty if left out
//! creator = "ida@vale.example"      # somebody with an account; the first member
//! members = ["bo@lind.example"]     # more people with accounts
//! created_at = "2026-01-05T18:00:00"  # the clock's now if left out
//! deleted = false
//!
//! [[apps.splitwise.expenses]]
//! group = "flat"                    # outside any group if left out
//! description = "Electricity, January"
//! paid_amount = 84.50
//! payer = "bo@lind.example"         # in a group, payer, debtors and creator are members
//! debtors = ["ida@vale.example", "bo@lind.example"]
//! debt_amounts = [50, 34.50]        # equal shares if left out; off by ten cents at most, or one for each debtor
//! creator = "bo@lind.example"       # who recorded it: the payer if left out; outside groups, one who takes part
//! created_at = "2026-02-02T20:15:00"  # the clock's now if left out
//! receipt = "electricity.pdf"       # a file name; may be left out
//! deleted = false
//! ```
//!
//! Unknown keys are errors. Keys hold across later additions: a session's expenses may belong to a persona's groups.
//! Groups and expenses get the ids 1, 2, 3, ... in the order in which they are added; ids are not reused.
//!
//! # State
//!
//! `{"groups": [{id, name, description, creator, members, created_at, deleted}], "expenses": [{id, group_id,
//! description, paid_amount, payer, shares: [{debtor, debt_amount}], creator, created_at, receipt, deleted}]}`, by id;
//! people are addresses, amounts decimal numbers. An expense whose receipt has a text has `receipt_text` too.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "tools are methods of one shape: arguments by value, and a result"
)]

mod balances;
mod expenses;
mod groups;
mod ledger;
mod money;
mod record;
mod view;
mod world;

use std::collections::BTreeMap;

use pibench_sdk::account::Accounts;
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::records::Records;
use pibench_sdk::tool::{ToolError, Tools};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

export_tool_app!(Splitwise);

/// The app's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Splitwise {
    accounts: Accounts,
    ledger: Ledger,
    /// What the records call a group.
    keys: BTreeMap<String, u32>,
}

impl ToolApp for Splitwise {
    fn tools() -> Tools<Self> {
        Tools::new()
            .login()
            .private(
                "search_users",
                "With your balance with each.",
                Self::search_users,
            )
            .private("create_group", "With you in it.", Self::create_group)
            .private(
                "add_member_to_group",
                "Earlier expenses stay.",
                Self::add_member_to_group,
            )
            .private("show_group", "With its members.", Self::show_group)
            .private("show_groups", "Newest first.", Self::show_groups)
            .private(
                "record_expense",
                "A repayment: payer_email paid, the one debtor received.",
                Self::record_expense,
            )
            .private(
                "update_expense",
                "Only what is given.",
                Self::update_expense,
            )
            .private(
                "delete_expense",
                "For all who share it.",
                Self::delete_expense,
            )
            .private(
                "show_group_expenses",
                "Latest first.",
                Self::show_group_expenses,
            )
            .sorted_by(expenses::EXPENSE_FIELDS)
            .private(
                "show_group_balance",
                "Of each member.",
                Self::show_group_balance,
            )
            .private(
                "show_people_balance",
                "In all and by person.",
                Self::show_people_balance,
            )
            .private(
                "show_person_balance",
                "In all and by group (null: outside).",
                Self::show_person_balance,
            )
    }

    fn open(accounts: Accounts) -> Self {
        Self {
            ledger: Ledger::new(accounts.world()),
            accounts,
            keys: BTreeMap::new(),
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

fn not_blank(what: &str, text: String) -> Result<String, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::invalid(format!("The {what} must not be empty.")));
    }
    Ok(text)
}

fn within(what: &str, text: String, limit: usize) -> Result<String, ToolError> {
    let length = text.chars().count();
    if length > limit {
        return Err(ToolError::invalid(format!(
            "The {what} has {length} characters; at most {limit} fit."
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
