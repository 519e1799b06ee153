//! What a seed may hold, and how it becomes groups and expenses; the crate's documentation shows it.

use jiff::civil::DateTime;
use pibench_sdk::account::Email;
use pibench_sdk::records::Records;
use pibench_sdk::text::Text;
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, time};
use serde::Deserialize;

use crate::Splitwise;
use crate::expenses::{Entry, ROUNDING};
use crate::ledger::Expense;
use crate::money::Money;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupRecord {
    id: Option<String>,
    name: String,
    #[serde(default)]
    description: String,
    creator: Email,
    #[serde(default)]
    members: Vec<Email>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpenseRecord {
    group: Option<String>,
    description: String,
    paid_amount: Money,
    payer: Email,
    debtors: Vec<Email>,
    debt_amounts: Option<Vec<Money>>,
    creator: Option<Email>,
    #[serde(default, deserialize_with = "time::read_moment")]
    created_at: Option<DateTime>,
    receipt: Option<String>,
    #[serde(default)]
    deleted: bool,
}

impl Splitwise {
    pub(crate) fn add_records(&mut self, records: &mut Records) -> Result<(), String> {
        for (index, record) in records.take_list("groups")?.into_iter().enumerate() {
            self.add_group(record)
                .map_err(|error| format!("groups[{index}]: {error}"))?;
        }
        for (index, record) in records.take_list("expenses")?.into_iter().enumerate() {
            self.add_expense(record)
                .map_err(|error| format!("expenses[{index}]: {error}"))?;
        }
        Ok(())
    }

    fn add_group(&mut self, record: GroupRecord) -> Result<(), String> {
        let GroupRecord {
            id: key,
            name,
            description,
            creator,
            members,
            created_at,
            deleted,
        } = record;
        if let Some(key) = key.as_ref().filter(|key| self.keys.contains_key(*key)) {
            return Err(format!("id: {key:?} is in use already"));
        }
        let mut group = self
            .new_group(&creator, name, description, members)
            .map_err(message)?;
        group.created_at = created_at.unwrap_or(group.created_at);
        group.deleted = deleted;
        let id = self.ledger.insert_group(group);
        if let Some(key) = key {
            self.keys.insert(key, id);
        }
        Ok(())
    }

    fn add_expense(&mut self, record: ExpenseRecord) -> Result<(), String> {
        let ExpenseRecord {
            group,
            description,
            paid_amount,
            payer,
            debtors,
            debt_amounts,
            creator,
            created_at,
            receipt,
            deleted,
        } = record;
        let unknown = |key: &String| format!("group: no group has the key {key:?}");
        let group = group
            .map(|key| self.keys.get(&key).copied().ok_or_else(|| unknown(&key)))
            .transpose()?;
        let creator = creator.unwrap_or_else(|| payer.clone());
        // Each share may have been rounded for itself, elsewhere.
        let rounding = i64::try_from(debtors.len()).unwrap_or_default();
        let rounding = rounding.max(ROUNDING);
        let entry = Entry {
            rounding,
            group,
            description,
            paid_amount,
            payer,
            debtors,
            debts: debt_amounts,
        };
        let checked = self.checked(&creator, entry).map_err(message)?;
        self.ledger.insert_expense(Expense {
            created_at: created_at.unwrap_or_else(clock::now),
            receipt: receipt.map(Text::from),
            deleted,
            ..checked
        });
        Ok(())
    }
}

fn message(error: ToolError) -> String {
    error.message
}
