//! What the tools answer and what graders see.

use pibench_sdk::account::Email;
use pibench_sdk::layer::RowState;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Splitwise;
use crate::ledger::{Expense, Group, Share};
use crate::money::decimal;

/// What graders see.
#[derive(Debug, Serialize)]
pub(crate) struct State {
    groups: Vec<RowState<Value>>,
    expenses: Vec<RowState<Value>>,
}

impl Splitwise {
    pub(crate) fn view_group(&self, group: &Group) -> Value {
        let Group {
            id,
            name,
            description,
            creator,
            members,
            created_at,
            deleted,
            invitation_code,
        } = group;
        json!({
            "group_id": id,
            "name": name,
            "description": (!description.is_empty()).then_some(description),
            "created_at": created_at,
            "deleted": deleted,
            "creator": self.view_person(creator),
            "members": members.iter().map(|member| self.view_person(member)).collect::<Vec<_>>(),
            "invitation_code": invitation_code,
        })
    }

    pub(crate) fn view_expense(&self, expense: &Expense) -> Value {
        let Expense {
            id,
            group,
            description,
            paid_amount,
            payer,
            shares,
            creator,
            created_at,
            receipt,
            receipt_text: _,
            deleted,
        } = expense;
        let share = |share: &Share| json!({"debtor": self.view_person(&share.debtor), "debt_amount": share.amount});
        json!({
            "expense_id": id,
            "group_id": group,
            "description": description,
            "deleted": deleted,
            "receipt_file_name": receipt,
            "created_at": created_at,
            "shares": shares.iter().map(share).collect::<Vec<_>>(),
            "creator": self.view_person(creator),
            "payer": self.view_person(payer),
            "paid_amount": paid_amount,
        })
    }

    pub(crate) fn view_person(&self, person: &Email) -> Value {
        json!({"name": self.accounts.name(person), "email": person})
    }

    /// See the crate's documentation.
    pub(crate) fn view_state(&self) -> State {
        State {
            groups: self.ledger.groups.state(|_, group| state_of_group(group)),
            expenses: self
                .ledger
                .expenses
                .state(|_, expense| state_of_expense(expense)),
        }
    }
}

/// Puts a balance into a view: its direction, and its amount without a sign under `key`.
pub(crate) fn view_owed(view: &mut Value, key: &str, cents: i64) {
    view["direction"] = json!(match cents {
        1.. => "you_owe_them",
        0 => "no_balance",
        ..0 => "they_owe_you",
    });
    view[key] = json!(decimal(cents.abs()));
}

fn state_of_group(group: &Group) -> Value {
    let Group {
        id,
        name,
        description,
        creator,
        members,
        created_at,
        deleted,
        // It lets people in, and says nothing about what was done.
        invitation_code: _,
    } = group;
    json!({
        "id": id, "name": name, "description": description, "creator": creator, "members": members,
        "created_at": created_at, "deleted": deleted,
    })
}

fn state_of_expense(expense: &Expense) -> Value {
    let Expense {
        id,
        group,
        description,
        paid_amount,
        payer,
        shares,
        creator,
        created_at,
        receipt,
        receipt_text,
        deleted,
    } = expense;
    let share = |share: &Share| json!({"debtor": share.debtor, "debt_amount": share.amount});
    let mut state = json!({
        "id": id, "group_id": group, "description": description, "paid_amount": paid_amount, "payer": payer,
        "shares": shares.iter().map(share).collect::<Vec<_>>(), "creator": creator, "created_at": created_at,
        "receipt": receipt, "deleted": deleted,
    });
    if let Some(text) = receipt_text {
        state["receipt_text"] = json!(text);
    }
    state
}
