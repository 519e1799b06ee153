//! The tools about who owes whom.

use std::collections::BTreeMap;

use pibench_sdk::account::Email;
use pibench_sdk::tool::{NoArguments, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Splitwise;
use crate::ledger::{Debts, Expense};
use crate::money::decimal;
use crate::view::view_owed;

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

impl Splitwise {
    pub(crate) fn show_group_balance(
        &mut self,
        me: &Email,
        arguments: GroupBalance,
    ) -> Result<Vec<Value>, ToolError> {
        let GroupBalance { group_id, email } = arguments;
        let group = group_id.map(|id| self.group(me, id)).transpose()?;
        if group.is_none()
            && email
                .as_deref()
                .is_some_and(|email| Email::new(email) != *me)
        {
            return Err(ToolError::invalid(
                "Outside of groups only your own balance is shown: leave email out, or give a group_id.",
            ));
        }
        let of_this = |expense: &&Expense| {
            expense.group == group_id && (group_id.is_some() || expense.involves(me))
        };
        let debts = Debts::of(self.ledger.counting().filter(of_this));
        let people: Vec<&Email> = match group {
            Some(group) => group.members.iter().collect(),
            None => vec![me],
        };
        let Some(email) = email else {
            let rows = people
                .into_iter()
                .map(|person| self.view_row(&debts, person));
            return Ok(rows.collect());
        };
        let person = match group {
            Some(group) => self.member_of(group, &email)?,
            None => self.somebody(&email)?,
        };
        Ok(vec![self.view_row(&debts, &person)])
    }

    pub(crate) fn show_people_balance(
        &mut self,
        me: &Email,
        _: NoArguments,
    ) -> Result<Value, ToolError> {
        let debts = Debts::of(self.ledger.counting());
        let (owing, owed) = totals(&debts, me);
        let view = |(other, cents)| {
            let mut view = json!({"email": other, "name": self.accounts.name(other)});
            view_owed(&mut view, "amount", cents);
            view
        };
        Ok(json!({
            "you_owe_others": decimal(owing),
            "others_owe_you": decimal(owed),
            "breakdown": debts.with(me).map(view).collect::<Vec<_>>(),
        }))
    }

    pub(crate) fn show_person_balance(
        &mut self,
        me: &Email,
        arguments: PersonBalance,
    ) -> Result<Value, ToolError> {
        let person = self.somebody(&arguments.email)?;
        if person == *me {
            return Err(ToolError::invalid(
                "That is yourself. Name somebody else, or use show_people_balance.",
            ));
        }
        let mut by_group: BTreeMap<Option<u32>, Vec<&Expense>> = BTreeMap::new();
        for expense in self.ledger.counting() {
            by_group.entry(expense.group).or_default().push(expense);
        }
        let mut total = 0;
        let mut breakdown = Vec::new();
        for (group, expenses) in by_group {
            let cents = Debts::of(expenses.into_iter()).between(me, &person);
            if cents == 0 {
                continue;
            }
            total += cents;
            let name = group.and_then(|group| self.ledger.groups.get(&group));
            let name = name.map_or("Non-Group Entries", |group| &group.name);
            let mut view = json!({"group_id": group, "group_name": name});
            view_owed(&mut view, "amount", cents);
            breakdown.push(view);
        }
        let mut view = json!({});
        view_owed(&mut view, "total", total);
        view["breakdown"] = breakdown.into();
        Ok(view)
    }

    /// 409 for an address without an account.
    fn somebody(&self, email: &str) -> Result<Email, ToolError> {
        let person = Email::parse(email)?;
        self.check_known(&person)?;
        Ok(person)
    }

    /// One person's debts and claims.
    fn view_row(&self, debts: &Debts, person: &Email) -> Value {
        let (owing, owed) = totals(debts, person);
        let breakdown = |sign: i64| -> Vec<Value> {
            debts
                .with(person)
                .filter(|(_, cents)| cents * sign > 0)
                .map(|(other, cents)| {
                    let mut view = self.view_person(other);
                    view["amount"] = json!(decimal(cents * sign));
                    view
                })
                .collect()
        };
        json!({
            "source": self.view_person(person),
            "source_owes_to_targets": {"total": decimal(owing), "breakdown": breakdown(1)},
            "targets_owe_to_source": {"total": decimal(owed), "breakdown": breakdown(-1)},
        })
    }
}

/// What somebody owes to others and what others owe to them, in cents.
fn totals(debts: &Debts, person: &Email) -> (i64, i64) {
    let sum = |sign: i64| {
        let cents = debts.with(person).map(|(_, cents)| cents * sign);
        cents.filter(|cents| *cents > 0).sum()
    };
    (sum(1), sum(-1))
}
