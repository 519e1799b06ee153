//! Groups and expenses. A payment is taken as an expense of who paid for who received it: who owes whom comes out the
//! same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Database, Records, Row, Users, key, put, record};

const GROUP: [&str; 6] = [
    "id",
    "user_id",
    "name",
    "description",
    "created_at",
    "deleted",
];
const EXPENSE: [&str; 9] = [
    "id",
    "user_id",
    "group_id",
    "payer_id",
    "description",
    "amount",
    "deleted",
    "receipt_file_name",
    "created_at",
];
const PAYMENT: [&str; 10] = [
    "id",
    "group_id",
    "user_id",
    "payer_id",
    "receiver_id",
    "amount",
    "description",
    "deleted",
    "receipt_file_name",
    "created_at",
];

pub(super) fn records(database: &mut Database, users: &Users) -> Records {
    let mut members: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    database.mark_derived("group_member", &["id", "joined_at"]);
    for row in database.rows("group_member", &["group_id", "user_id"]) {
        match (row.integer("group_id"), users.email(&row, "user_id")) {
            (Some(group), Some(member)) => members.entry(group).or_default().push(member),
            _ => database.skip("group_member", "no known group or user"),
        }
    }
    let mut groups = Vec::new();
    let mut known = BTreeSet::new();
    for row in database.rows("group", &GROUP) {
        let (Some(id), Some(creator), Some(name)) =
            (row.id(), users.email(&row, "user_id"), row.text("name"))
        else {
            database.skip("group", "no known creator or no name");
            continue;
        };
        let all = members.entry(id).or_default();
        if !all.contains(&creator) {
            all.push(creator.clone());
        }
        let others: Vec<&Value> = all.iter().filter(|member| **member != creator).collect();
        known.insert(id);
        groups.push(record(json!({
            "id": key("group", id),
            "name": name,
            "description": row.text("description"),
            "members": others,
            "creator": creator,
            "created_at": row.moment("created_at"),
            "deleted": row.flag("deleted"),
        })));
    }
    members.retain(|group, _| known.contains(group));
    let mut expenses = expenses(database, users, &members);
    expenses.extend(payments(database, users, &members));
    let mut records = Records::new();
    put(&mut records, "groups", groups);
    put(&mut records, "expenses", expenses);
    records
}

fn expenses(
    database: &mut Database,
    users: &Users,
    members: &BTreeMap<i64, Vec<Value>>,
) -> Vec<Value> {
    let mut shares: BTreeMap<i64, Vec<(Value, i64)>> = BTreeMap::new();
    database.mark_derived("expense_share", &["id", "created_at"]);
    for row in database.rows(
        "expense_share",
        &["expense_id", "debtor_id", "share_amount"],
    ) {
        let share = (
            row.integer("expense_id"),
            users.email(&row, "debtor_id"),
            cents(&row, "share_amount"),
        );
        match share {
            (Some(expense), Some(debtor), Some(amount)) => {
                shares.entry(expense).or_default().push((debtor, amount));
            }
            _ => database.skip("expense_share", "no known expense, debtor or amount"),
        }
    }
    let mut expenses = Vec::new();
    database.mark_derived(
        "expense",
        &[
            "debtor_ids",
            "participant_ids",
            "receipt_download_count",
            "search_text",
        ],
    );
    for row in database.rows("expense", &EXPENSE) {
        let debts = row
            .id()
            .and_then(|id| shares.remove(&id))
            .unwrap_or_default();
        match expense(&row, users, members, debts) {
            Ok(expense) => expenses.push(expense),
            Err(reason) => database.skip("expense", reason),
        }
    }
    expenses
}

fn payments(
    database: &mut Database,
    users: &Users,
    members: &BTreeMap<i64, Vec<Value>>,
) -> Vec<Value> {
    let mut expenses = Vec::new();
    database.mark_derived(
        "payment",
        &[
            "participant_ids",
            "payer_email",
            "payer_name",
            "receiver_email",
            "receiver_name",
            "receipt_download_count",
            "search_text",
        ],
    );
    for row in database.rows("payment", &PAYMENT) {
        let (Some(receiver), Some(amount)) =
            (users.email(&row, "receiver_id"), cents(&row, "amount"))
        else {
            database.skip("payment", "no known receiver or amount");
            continue;
        };
        let debts = vec![(receiver, amount)];
        match expense(&row, users, members, debts) {
            Ok(expense) => {
                expenses.push(expense);
                database.skip("payment", "taken as expenses of the payer for the receiver");
            }
            Err(reason) => database.skip("payment", reason),
        }
    }
    expenses
}

/// Cents that shares may be off together: the service takes as many.
const TAKEN_OFF: u64 = 10;

/// An expense whose shares are together what was paid: what nobody else owes is the payer's own. Shares that were rounded one
/// by one, or are a little off as the service takes them, stay as they are.
fn expense(
    row: &Row,
    users: &Users,
    members: &BTreeMap<i64, Vec<Value>>,
    mut debts: Vec<(Value, i64)>,
) -> Result<Value, &'static str> {
    let payer = users.email(row, "payer_id").ok_or("no known payer")?;
    let creator = row.or_lost(
        users.email(row, "user_id"),
        "user_id",
        "changed to the payer",
    );
    let creator = creator.unwrap_or_else(|| payer.clone());
    let amount = cents(row, "amount").ok_or("no amount")?;
    // No share is above the limit of amounts, and there are fewer than a million.
    let rest = amount - debts.iter().map(|(_, share)| share).sum::<i64>();
    let rounded = rest.unsigned_abs() <= TAKEN_OFF.max(debts.len() as u64);
    if rest < 0 && !rounded {
        return Err("the shares are more than what was paid");
    }
    match debts.iter_mut().find(|(debtor, _)| *debtor == payer) {
        _ if rounded => {}
        Some((_, own)) => *own += rest,
        None => debts.push((payer.clone(), rest)),
    }
    let group = row.integer("group_id");
    let part = |person: &Value| debts.iter().any(|(debtor, _)| debtor == person);
    let creator = match group.map(|group| members.get(&group)) {
        None if creator == payer || part(&creator) => creator,
        None => {
            row.note_loss("user_id", "changed to the payer");
            payer.clone()
        }
        Some(None) => return Err("no known group"),
        Some(Some(members)) => {
            let debtors = debts.iter().map(|(debtor, _)| debtor);
            if debtors
                .chain([&payer, &creator])
                .any(|one| !members.contains(one))
            {
                return Err("somebody takes part who is not in the group");
            }
            creator
        }
    };
    let dollars = |cents: i64| cents as f64 / 100.0;
    Ok(record(json!({
        "group": group.map(|group| key("group", group)),
        "description": row.text("description").unwrap_or_else(|| "Payment".into()),
        "paid_amount": dollars(amount),
        "payer": payer,
        "debtors": debts.iter().map(|(debtor, _)| debtor).collect::<Vec<_>>(),
        "debt_amounts": debts.iter().map(|(_, share)| dollars(*share)).collect::<Vec<_>>(),
        "creator": creator,
        "created_at": row.moment("created_at"),
        "receipt": row.text("receipt_file_name"),
        "deleted": row.flag("deleted"),
    })))
}

/// The most cents of an amount: sums of all of a table's are far from overflowing.
const MOST: i64 = 1_000_000_000_000;

/// Whole cents above zero.
fn cents(row: &Row, column: &str) -> Option<i64> {
    let dollars = row.number(column)?;
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let cents = (dollars * 100.0).round() as i64;
    (1..=MOST).contains(&cents).then_some(cents)
}
