//! Writes the world's groups and expenses as constant tables (`src/world.rs`).

use std::io;

use pibench_world::rust::{email, list, moment, table, text};
use pibench_world::{Expense, Group, SEED, World, rust};

fn main() -> io::Result<()> {
    let world = World::new(SEED);
    let groups = world.groups();
    let mut expenses: Vec<(u32, &Expense)> = (1..)
        .zip(&groups)
        .flat_map(|(id, group)| group.expenses.iter().map(move |expense| (id, expense)))
        .collect();
    expenses.sort_by_key(|(_, expense)| expense.created_at);
    let groups = (1..)
        .zip(&groups)
        .map(|(id, it)| (id, group(&world, id, it)));
    let expenses = (1..)
        .zip(expenses)
        .map(|(id, (group, it))| (id, expense(&world, id, group, it)));
    let source = [
        table("GROUPS", "u32", "Group", groups),
        table("EXPENSES", "u32", "Expense", expenses),
    ];
    rust::write(&source.concat())
}

fn group(world: &World, id: u32, group: &Group) -> String {
    let members = group.members.iter();
    format!(
        "Group {{ id: {id}, name: {}, description: {}, creator: {}, members: {}, created_at: {}, deleted: false, \
         invitation_code: {} }}",
        text(&group.name),
        text(&group.description),
        email(&world.people[group.members[0]].email),
        list(members.map(|member| email(&world.people[*member].email))),
        moment(group.created_at),
        text(&group.invitation_code),
    )
}

fn expense(world: &World, id: u32, group: u32, expense: &Expense) -> String {
    let share = |(debtor, cents): &(usize, u32)| {
        let debtor = email(&world.people[*debtor].email);
        format!("Share {{ debtor: {debtor}, amount: Money::constant({cents}) }}")
    };
    let payer = email(&world.people[expense.payer].email);
    format!(
        "Expense {{ id: {id}, group: Some({group}), description: {}, paid_amount: Money::constant({}), payer: {payer}, \
         shares: {}, creator: {payer}, created_at: {}, receipt: None, receipt_text: None, deleted: false }}",
        text(&expense.description),
        expense.paid,
        list(expense.shares.iter().map(share)),
        moment(expense.created_at),
    )
}
