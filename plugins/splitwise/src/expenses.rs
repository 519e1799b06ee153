//! The tools about expenses, and the rules that every expense keeps.

use std::collections::BTreeSet;

use pibench_sdk::account::Email;
use pibench_sdk::attachment::Receipt;
use pibench_sdk::listing::List;
use pibench_sdk::time::{Since, Until};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, listing};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ledger::{Expense, Group, MAX_MEMBERS, MAX_WHAT, Share};
use crate::money::Money;
use crate::{Splitwise, not_blank, within};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]
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

pub(crate) const EXPENSE_FIELDS: &[listing::Field<Expense>] = &[
    ("created_at", |a, b| a.created_at.cmp(&b.created_at)),
    ("amount", |a, b| a.paid_amount.cmp(&b.paid_amount)),
];

/// How many cents the debts of an expense may be off together at most: as many as the service takes.
pub(crate) const ROUNDING: i64 = 10;

/// The same of so many debts that somebody tells a tool: each may have been rounded, and more than that is a mistake.
fn rounding(debts: usize) -> i64 {
    i64::try_from(debts).unwrap_or(ROUNDING).min(ROUNDING)
}

/// What somebody says about an expense; not checked yet.
#[derive(Debug)]
pub(crate) struct Entry {
    pub group: Option<u32>,
    pub description: String,
    pub paid_amount: Money,
    pub payer: Email,
    pub debtors: Vec<Email>,
    /// Equal shares if left out.
    pub debts: Option<Vec<Money>>,
    /// How many cents the debts may be off together.
    pub rounding: i64,
}

impl Splitwise {
    pub(crate) fn record_expense(
        &mut self,
        me: &Email,
        arguments: RecordExpense,
    ) -> Result<Value, ToolError> {
        let RecordExpense {
            description,
            paid_amount,
            payer_email,
            debtor_emails,
            debt_amounts,
            group_id,
            receipt,
        } = arguments;
        let file = receipt.file()?;
        let rounding = rounding(debtor_emails.len());
        let entry = Entry {
            group: group_id,
            description,
            paid_amount,
            payer: Email::parse(&payer_email)?,
            debtors: addresses(&debtor_emails)?,
            debts: debt_amounts,
            rounding,
        };
        if let Some(group) = group_id {
            self.open_group(me, group)?;
        }
        let expense = Expense {
            receipt: file.as_ref().map(|file| file.name().into()),
            receipt_text: file.map(|file| file.content.into()),
            ..self.checked(me, entry)?
        };
        let expense_id = self.ledger.insert_expense(expense);
        Ok(
            json!({"message": format!("Expense {expense_id} is recorded."), "expense_id": expense_id}),
        )
    }

    pub(crate) fn update_expense(
        &mut self,
        me: &Email,
        arguments: UpdateExpense,
    ) -> Result<Value, ToolError> {
        let UpdateExpense {
            expense_id,
            description,
            paid_amount,
            payer_email,
            debtor_emails,
            debt_amounts,
        } = arguments;
        let old = self.changeable(me, expense_id)?;
        let payer = payer_email.map(|email| Email::parse(&email)).transpose()?;
        let debtors = debtor_emails.map(|emails| addresses(&emails)).transpose()?;
        let paid_amount = paid_amount.unwrap_or(old.paid_amount);
        let (debts, rounding) = match debt_amounts {
            // What they are off already they may stay.
            None if debtors.is_none() => (kept_debts(old, paid_amount)?, i64::MAX),
            debts => {
                let told = debts.as_ref().map_or(0, Vec::len);
                (debts, rounding(told))
            }
        };
        let entry = Entry {
            group: old.group,
            description: description.unwrap_or_else(|| old.description.clone().into()),
            paid_amount,
            payer: payer.unwrap_or_else(|| old.payer.clone()),
            debtors: debtors.unwrap_or_else(|| debtors_of(old)),
            debts,
            rounding,
        };
        let changed = Expense {
            id: expense_id,
            creator: old.creator.clone(),
            created_at: old.created_at,
            receipt: old.receipt.clone(),
            receipt_text: old.receipt_text.clone(),
            ..self.checked(me, entry)?
        };
        self.ledger.expenses.insert(expense_id, changed);
        Ok(json!({"message": format!("Expense {expense_id} is updated.")}))
    }

    pub(crate) fn delete_expense(
        &mut self,
        me: &Email,
        ExpenseIdOnly { expense_id }: ExpenseIdOnly,
    ) -> Result<Value, ToolError> {
        self.changeable(me, expense_id)?;
        if let Some(expense) = self.ledger.expenses.get_mut(&expense_id) {
            expense.deleted = true;
        }
        Ok(json!({"message": format!("Expense {expense_id} is deleted.")}))
    }

    pub(crate) fn show_group_expenses(
        &mut self,
        me: &Email,
        arguments: ListExpenses,
    ) -> Result<Vec<Value>, ToolError> {
        let ListExpenses {
            group_id,
            participant_email,
            min_amount,
            max_amount,
            min_created_at,
            max_created_at,
            deleted,
            list,
        } = arguments;
        let group = self.ledger.groups.get(&group_id);
        let is_member = group.is_some_and(|group| group.has(me));
        let participant = participant_email.as_deref().map(Email::parse).transpose()?;
        let wanted = |expense: &Expense| {
            let amount = f64::from(expense.paid_amount);
            expense.group == Some(group_id)
                && (is_member || expense.involves(me))
                && expense.deleted == deleted
                && participant
                    .as_ref()
                    .is_none_or(|person| expense.involves(person))
                && amount >= min_amount
                && max_amount.is_none_or(|most| amount <= most)
                && (min_created_at.0..=max_created_at.0).contains(&expense.created_at)
        };
        let mut expenses: Vec<&Expense> = self
            .ledger
            .expenses
            .values()
            .filter(|expense| wanted(expense))
            .collect();
        expenses.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
        let text = |expense: &&Expense| expense.description.to_string();
        let expenses = list.of(expenses, text, EXPENSE_FIELDS)?;
        Ok(expenses
            .into_iter()
            .map(|expense| self.view_expense(expense))
            .collect())
    }

    /// An expense that keeps the rules, recorded now by `creator`; it has no id yet.
    pub(crate) fn checked(&self, creator: &Email, entry: Entry) -> Result<Expense, ToolError> {
        let Entry {
            group,
            description,
            paid_amount,
            payer,
            debtors,
            debts,
            rounding,
        } = entry;
        let members = group.map(|id| self.group(creator, id)).transpose()?;
        let shares = shares(paid_amount, debtors.clone(), debts, rounding)?;
        for person in debtors.iter().chain([&payer, creator]) {
            self.check_known(person)?;
        }
        if let Some(group) = members {
            // Who paid for a group may stand outside of it.
            each_is_member(group, debtors.iter())?;
        } else if payer != *creator && !debtors.contains(creator) {
            return Err(ToolError::invalid(format!(
                "{creator} takes no part in the expense, and it belongs to no group: name {creator} as the payer or \
                 a debtor, or give a group_id."
            )));
        }
        if paid_amount == Money::default() {
            return Err(ToolError::invalid("The paid amount must be above 0."));
        }
        let owes = |share: &Share| share.debtor != payer && share.amount > Money::default();
        if !shares.iter().any(owes) {
            return Err(ToolError::invalid(
                "Nobody but the payer has a share, so nobody owes anything.",
            ));
        }
        Ok(Expense {
            id: 0,
            group,
            description: within(
                "description",
                not_blank("description", description)?,
                MAX_WHAT,
            )?
            .into(),
            paid_amount,
            payer,
            shares: shares.into(),
            creator: creator.clone(),
            created_at: clock::now(),
            receipt: None,
            receipt_text: None,
            deleted: false,
        })
    }

    /// An expense that one may change, as everybody may who is concerned: 409 if there is none, 422 if it is deleted,
    /// or of a group without oneself, or between others.
    fn changeable(&self, me: &Email, id: u32) -> Result<&Expense, ToolError> {
        let expense = self.ledger.expenses.get(&id);
        let expense = expense.ok_or_else(|| ToolError::conflict("expense", id))?;
        match expense.group {
            Some(group) => self.open_group(me, group).map(|_| ())?,
            None if expense.involves(me) => (),
            None => {
                return Err(ToolError::invalid(format!(
                    "Expense {id} is between others."
                )));
            }
        }
        if expense.deleted {
            return Err(ToolError::invalid(format!("Expense {id} is deleted.")));
        }
        Ok(expense)
    }

    /// 409 for an address without an account, 422 for somebody outside the group.
    pub(crate) fn member_of(&self, group: &Group, email: &str) -> Result<Email, ToolError> {
        let person = Email::parse(email)?;
        self.check_known(&person)?;
        each_is_member(group, [&person])?;
        Ok(person)
    }
}

fn addresses(emails: &[String]) -> Result<Vec<Email>, ToolError> {
    emails.iter().map(|email| Email::parse(email)).collect()
}

fn debtors_of(expense: &Expense) -> Vec<Email> {
    let debtor = |share: &Share| share.debtor.clone();
    expense.shares.iter().map(debtor).collect()
}

fn each_is_member<'a>(
    group: &Group,
    people: impl IntoIterator<Item = &'a Email>,
) -> Result<(), ToolError> {
    match people.into_iter().find(|person| !group.has(person)) {
        None => Ok(()),
        Some(person) => Err(ToolError::invalid(format!(
            "{person} is no member of group {}.",
            group.id
        ))),
    }
}

/// The debts of an expense whose debtors stay while the amount may change: None for equal shares.
fn kept_debts(old: &Expense, paid_amount: Money) -> Result<Option<Vec<Money>>, ToolError> {
    let debts: Vec<Money> = old.shares.iter().map(|share| share.amount).collect();
    if debts == old.paid_amount.in_equal_shares(debts.len()) {
        return Ok(None);
    }
    if paid_amount == old.paid_amount {
        return Ok(Some(debts));
    }
    // As a seed may bring them, each rounded for itself.
    if debts.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(None);
    }
    Err(ToolError::invalid(
        "The shares are uneven: a new paid_amount needs new debt_amounts too.",
    ))
}

fn shares(
    paid_amount: Money,
    debtors: Vec<Email>,
    debts: Option<Vec<Money>>,
    rounding: i64,
) -> Result<Vec<Share>, ToolError> {
    if debtors.is_empty() || debtors.len() > MAX_MEMBERS {
        return Err(ToolError::invalid(format!(
            "An expense has from 1 to {MAX_MEMBERS} debtors, not {}.",
            debtors.len()
        )));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = debtors.iter().find(|debtor| !seen.insert(*debtor)) {
        return Err(ToolError::invalid(format!(
            "{twice} stands twice among the debtors."
        )));
    }
    let debts = match debts {
        None => paid_amount.in_equal_shares(debtors.len()),
        Some(debts) => checked_debts(paid_amount, &debtors, debts, rounding)?,
    };
    let share = |(debtor, amount)| Share { debtor, amount };
    Ok(debtors.into_iter().zip(debts).map(share).collect())
}

fn checked_debts(
    paid_amount: Money,
    debtors: &[Email],
    debts: Vec<Money>,
    rounding: i64,
) -> Result<Vec<Money>, ToolError> {
    if debts.len() != debtors.len() {
        return Err(ToolError::invalid(format!(
            "There are {} debtors and {} debt amounts; each debtor needs one.",
            debtors.len(),
            debts.len()
        )));
    }
    let sum: i64 = debts.iter().map(|debt| debt.cents()).sum();
    if (sum - paid_amount.cents()).abs() > rounding {
        return Err(ToolError::invalid(format!(
            "The debt amounts are {}.{:02} together, but {paid_amount} was paid. If part of it is the payer's own, \
             name the payer among the debtors with that part.",
            sum / 100,
            sum % 100
        )));
    }
    Ok(debts)
}
