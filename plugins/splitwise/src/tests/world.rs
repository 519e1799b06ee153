//! The app over the world.

use jiff::civil::date;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;
use serde_json::json;

use crate::*;

use crate::ledger::{Debts, Ledger};
use crate::world::{EXPENSES, GROUPS};

/// What everybody owes everybody comes to nothing.
fn assert_even(ledger: &Ledger) {
    let debts = Debts::of(ledger.counting());
    let sum: i64 = debts
        .people()
        .flat_map(|person| debts.with(person))
        .map(|(_, cents)| cents)
        .sum();
    assert_eq!(sum, 0);
}

#[test]
fn the_worlds_expenses_are_shared_to_the_cent_by_members() {
    assert!(GROUPS.len() > 20 && EXPENSES.len() > 200);
    for (_, expense) in EXPENSES {
        let sum: i64 = expense
            .shares
            .iter()
            .map(|share| share.amount.cents())
            .sum();
        assert_eq!(sum, expense.paid_amount.cents());
        let group = &GROUPS[expense.group.unwrap() as usize - 1].1;
        assert!(group.has(&expense.payer));
        assert!(expense.shares.iter().all(|share| group.has(&share.debtor)));
    }
    assert_even(&Ledger::new(true));
}

#[test]
fn a_new_expense_in_a_group_of_the_world_is_all_that_the_state_tells() {
    let founder = &GROUPS[0].1.creator;
    let person = (0..100)
        .map(|person| Session::<Splitwise>::in_the_world(person, false))
        .find(|session| {
            session
                .app
                .accounts
                .named()
                .any(|account| account.email == *founder)
        });
    let mut session = person.unwrap();
    let members = &GROUPS[0].1.members;
    session.ok(
        "record_expense",
        json!({
            "description": "Tea", "paid_amount": 10, "payer_email": founder,
            "debtor_emails": members.iter().collect::<Vec<_>>(), "group_id": 1,
        }),
    );
    let state = session.state();
    assert_eq!(state["expenses"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["groups"], json!([]));
    assert_even(&session.app.ledger);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_sequence_of_calls_over_the_world_panics_and_a_snapshot_goes_on(
        person in 0..100_usize,
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        const TEXTS: [&str; 8] = ["Tea", "fenwood", "", "-paid_amount", "nobody@nowhere.example", "Petrol", "+created_at", "2026-01-01"];
        testkit::set_clock(date(2026, 3, 2).at(9, 0, 0, 0));
        let session = Session::<Splitwise>::in_the_world(person, false);
        let mut session = testkit::check_life_in_the_world(session, [&before, &after], &TEXTS);
        assert_even(&session.app.ledger);
        prop_assert!(session.state().is_object());
    }
}
