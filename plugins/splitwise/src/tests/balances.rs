use std::collections::BTreeMap;

use super::*;
use crate::ledger::Debts;

#[expect(clippy::cast_possible_truncation, reason = "small amounts")]
fn cents(amount: &Value) -> i64 {
    (amount.as_f64().unwrap() * 100.0).round() as i64
}

/// Shares are what was paid, and all balances together are zero.
#[track_caller]
pub(super) fn check_zero_sums(session: &Session<Splitwise>) {
    let ledger = &session.app.ledger;
    for expense in ledger.expenses.values() {
        let sum: i64 = expense
            .shares
            .iter()
            .map(|share| share.amount.cents())
            .sum();
        assert_eq!(sum, expense.paid_amount.cents(), "{expense:?}");
    }
    let debts = Debts::of(ledger.counting());
    let sum: i64 = debts
        .people()
        .flat_map(|person| debts.with(person))
        .map(|(_, cents)| cents)
        .sum();
    assert_eq!(sum, 0);
}

#[test]
fn a_group_shows_who_owes_whom() {
    let mut session = ida();
    let rows = session.ok("show_group_balance", json!({"group_id": 1}));
    let ida = json!({"name": "Ida Vale", "email": IDA});
    let none = json!({"total": 0.0, "breakdown": []});
    let owed = |amount: f64| json!({"total": amount, "breakdown": [{"name": "Ida Vale", "email": IDA, "amount": amount}]});
    let expected = json!([
        {"source": ida, "source_owes_to_targets": none, "targets_owe_to_source": {"total": 36.66, "breakdown": [
            {"name": "Bo Lind", "email": BO, "amount": 3.33}, {"name": "Cy Moor", "email": CY, "amount": 33.33},
        ]}},
        {"source": {"name": "Bo Lind", "email": BO}, "source_owes_to_targets": owed(3.33), "targets_owe_to_source": none},
        {"source": {"name": "Cy Moor", "email": CY}, "source_owes_to_targets": owed(33.33), "targets_owe_to_source": none},
    ]);
    assert_eq!(rows, expected);
    let row = session.ok(
        "show_group_balance",
        json!({"group_id": 1, "email": "Cy@Moor.test"}),
    );
    assert_eq!(row, json!([expected[2]]));
}

#[test]
fn a_deleted_group_is_even() {
    let rows = ida().ok("show_group_balance", json!({"group_id": 3}));
    let total = |row: &Value| row["source_owes_to_targets"]["total"].clone();
    assert_eq!(
        rows.as_array()
            .unwrap()
            .iter()
            .map(total)
            .collect::<Vec<_>>(),
        [0.0, 0.0]
    );
}

#[test]
fn outside_groups_only_ones_own_balance_is_shown() {
    let rows = ida().ok("show_group_balance", json!({}));
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["source"]["email"], IDA);
    assert_eq!(rows[0]["source_owes_to_targets"]["total"], 6.2);
    let own = ida().ok("show_group_balance", json!({"email": IDA}));
    assert_eq!(own, rows);
}

#[test]
fn a_balance_of_strangers_is_refused() {
    let balance = |group: u32, email: &str| json!({"group_id": group, "email": email});
    for (arguments, status, message) in [
        (balance(9, BO), 409, "There is no group 9."),
        (
            balance(2, BO),
            422,
            "ida@vale.test is no member of group 2.",
        ),
        (balance(1, DI), 422, "di@fern.test is no member of group 1."),
        (balance(1, "x@y.test"), 409, "There is no account x@y.test."),
        (
            json!({"email": BO}),
            422,
            "Outside of groups only your own balance is shown: leave email out, or give a group_id.",
        ),
        (balance(1, "bo"), 422, "\"bo\" is no email address."),
    ] {
        check_refused("show_group_balance", arguments, status, message);
    }
}

#[test]
fn ones_balance_is_over_all_groups() {
    let balance = ida().ok("show_people_balance", json!({}));
    let expected = json!({"you_owe_others": 6.2, "others_owe_you": 36.66, "breakdown": [
        {"email": BO, "name": "Bo Lind", "direction": "they_owe_you", "amount": 3.33},
        {"email": CY, "name": "Cy Moor", "direction": "they_owe_you", "amount": 33.33},
        {"email": DI, "name": "Di Fern", "direction": "you_owe_them", "amount": 6.2},
    ]});
    assert_eq!(balance, expected);
}

#[test]
fn a_balance_with_one_person_is_broken_down_by_group() {
    let mut session = open(BO);
    let balance = session.ok("show_person_balance", json!({"email": DI}));
    let expected = json!({"direction": "they_owe_you", "total": 10.25, "breakdown": [
        {"group_id": null, "group_name": "Non-Group Entries", "direction": "you_owe_them", "amount": 30.0},
        {"group_id": 2, "group_name": "Trip", "direction": "they_owe_you", "amount": 40.25},
    ]});
    assert_eq!(balance, expected);
    let even = session.ok("show_person_balance", json!({"email": CY}));
    assert_eq!(
        even,
        json!({"direction": "no_balance", "total": 0.0, "breakdown": []})
    );
    check_refused(
        "show_person_balance",
        json!({"email": IDA}),
        422,
        "That is yourself. Name somebody else, or use show_people_balance.",
    );
    for (email, status, message) in [
        ("x@y.test", 409, "There is no account x@y.test."),
        ("bo", 422, "\"bo\" is no email address."),
    ] {
        check_refused(
            "show_person_balance",
            json!({"email": email}),
            status,
            message,
        );
    }
}

#[test]
fn paying_back_makes_even() {
    let mut session = open(CY);
    let payment = json!({"description": "Paid back", "paid_amount": 33.33, "payer_email": CY, "debtor_emails": [IDA],
        "group_id": 1});
    session.ok("record_expense", payment);
    let balance = session.ok("show_person_balance", json!({"email": IDA}));
    assert_eq!(
        (&balance["direction"], &balance["total"]),
        (&json!("no_balance"), &json!(0.0))
    );
}

/// One deed of the model test: people are indices into the four members.
#[derive(Debug, Clone)]
enum Deed {
    Record {
        payer: usize,
        debtors: Vec<usize>,
        debts: Vec<i64>,
        equal: bool,
    },
    Amount {
        expense: usize,
        cents: i64,
    },
    Payer {
        expense: usize,
        payer: usize,
    },
    Delete {
        expense: usize,
    },
}

fn deed() -> impl Strategy<Value = Deed> {
    let debtors = prop::sample::subsequence(vec![0, 1, 2, 3], 1..=4).prop_shuffle();
    let record = (
        0..4_usize,
        debtors,
        prop::collection::vec(0..100_000_i64, 4),
        any::<bool>(),
    );
    prop_oneof![
        4 => record.prop_map(|(payer, debtors, debts, equal)| {
            let debts = debts[..debtors.len()].to_vec();
            Deed::Record { payer, debtors, debts, equal }
        }),
        1 => (0..20_usize, 1..100_000_i64).prop_map(|(expense, cents)| Deed::Amount { expense, cents }),
        1 => (0..20_usize, 0..4_usize).prop_map(|(expense, payer)| Deed::Payer { expense, payer }),
        1 => (0..20_usize).prop_map(|expense| Deed::Delete { expense }),
    ]
}

/// What the model knows of an expense: payer, and debtors with their cents.
#[derive(Debug, Clone)]
struct Known {
    payer: usize,
    shares: Vec<(usize, i64)>,
    equal: bool,
    counts: bool,
}

fn equally(cents: i64, debtors: &[usize]) -> Vec<(usize, i64)> {
    let count = i64::try_from(debtors.len()).unwrap();
    let share = |(index, debtor): (usize, &usize)| {
        (
            *debtor,
            (cents + count - 1 - i64::try_from(index).unwrap()) / count,
        )
    };
    debtors.iter().enumerate().map(share).collect()
}

/// Does one deed in the app, and in the model if the app accepts it. Refused are only deeds by which nobody owes
/// anything, updates of deleted expenses, and new amounts for uneven shares.
fn act(session: &mut Session<Splitwise>, model: &mut Vec<Known>, deed: Deed) {
    let decimal = |cents: i64| json!(crate::money::decimal(cents));
    let owing = |payer: usize, shares: &[(usize, i64)]| {
        shares
            .iter()
            .any(|(debtor, cents)| *debtor != payer && *cents > 0)
    };
    match deed {
        Deed::Record {
            payer,
            debtors,
            debts,
            equal,
        } => {
            let total: i64 = debts.iter().sum();
            let mut arguments = json!({
                "group_id": 1, "description": "x", "paid_amount": decimal(total), "payer_email": PEOPLE[payer],
                "debtor_emails": debtors.iter().map(|debtor| PEOPLE[*debtor]).collect::<Vec<_>>(),
            });
            let shares = if equal {
                equally(total, &debtors)
            } else {
                arguments["debt_amounts"] = debts.iter().map(|cents| decimal(*cents)).collect();
                debtors.iter().copied().zip(debts).collect()
            };
            let accepted = session.call("record_expense", arguments).is_ok();
            assert_eq!(accepted, total > 0 && owing(payer, &shares));
            if accepted {
                let equal = shares == equally(total, &debtors);
                model.push(Known {
                    payer,
                    shares,
                    equal,
                    counts: true,
                });
            }
        }
        Deed::Amount { expense, cents } if expense < model.len() => {
            let known = &mut model[expense];
            let debtors: Vec<usize> = known.shares.iter().map(|(debtor, _)| *debtor).collect();
            let old: i64 = known.shares.iter().map(|(_, cents)| cents).sum();
            let shares = if known.equal {
                equally(cents, &debtors)
            } else {
                known.shares.clone()
            };
            let arguments = json!({"expense_id": expense + 1, "paid_amount": decimal(cents)});
            let accepted = session.call("update_expense", arguments).is_ok();
            let possible = (known.equal || cents == old) && owing(known.payer, &shares);
            assert_eq!(accepted, known.counts && possible);
            if accepted {
                known.shares = shares;
            }
        }
        Deed::Payer { expense, payer } if expense < model.len() => {
            let known = &mut model[expense];
            let arguments = json!({"expense_id": expense + 1, "payer_email": PEOPLE[payer]});
            let accepted = session.call("update_expense", arguments).is_ok();
            assert_eq!(accepted, known.counts && owing(payer, &known.shares));
            if accepted {
                known.payer = payer;
            }
        }
        Deed::Delete { expense } if expense < model.len() => {
            let accepted = session
                .call("delete_expense", json!({"expense_id": expense + 1}))
                .is_ok();
            assert_eq!(accepted, model[expense].counts);
            model[expense].counts = false;
        }
        Deed::Amount { .. } | Deed::Payer { .. } | Deed::Delete { .. } => (),
    }
}

/// What each owes each by the model, in cents, positive only.
fn owed(model: &[Known]) -> BTreeMap<(&'static str, &'static str), i64> {
    let mut owed = BTreeMap::new();
    for known in model.iter().filter(|known| known.counts) {
        for (debtor, cents) in &known.shares {
            if *debtor != known.payer {
                *owed
                    .entry((PEOPLE[*debtor], PEOPLE[known.payer]))
                    .or_insert(0) += cents;
                *owed
                    .entry((PEOPLE[known.payer], PEOPLE[*debtor]))
                    .or_insert(0) -= cents;
            }
        }
    }
    owed.retain(|_, cents| *cents > 0);
    owed
}

/// The same from the answers of a tool, checked against each other: rows, totals and both directions.
fn shown(session: &mut Session<Splitwise>) -> BTreeMap<(&'static str, &'static str), i64> {
    let rows = session.ok("show_group_balance", json!({"group_id": 1}));
    let person = |view: &Value| {
        *PEOPLE
            .iter()
            .find(|person| view["email"] == **person)
            .unwrap()
    };
    let (mut owed, mut claimed) = (BTreeMap::new(), BTreeMap::new());
    for row in rows.as_array().unwrap() {
        let source = person(&row["source"]);
        for (key, pairs) in [
            ("source_owes_to_targets", &mut owed),
            ("targets_owe_to_source", &mut claimed),
        ] {
            let entries = row[key]["breakdown"].as_array().unwrap();
            let total: i64 = entries.iter().map(|entry| cents(&entry["amount"])).sum();
            assert_eq!(total, cents(&row[key]["total"]));
            for entry in entries {
                let (source, target) = (source, person(entry));
                let pair = if key == "source_owes_to_targets" {
                    (source, target)
                } else {
                    (target, source)
                };
                pairs.insert(pair, cents(&entry["amount"]));
            }
        }
    }
    assert_eq!(owed, claimed);
    owed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn balances_are_those_of_the_model_after_any_deeds(deeds in prop::collection::vec(deed(), 0..30)) {
        let mut world = seed();
        world["records"] = json!({"groups": [{"name": "All", "creator": IDA, "members": PEOPLE}]});
        let mut session = Session::<Splitwise>::open(&world);
        session.log_in(IDA, "pw");
        let mut model = Vec::new();
        for deed in deeds {
            act(&mut session, &mut model, deed);
            check_zero_sums(&session);
        }
        prop_assert_eq!(shown(&mut session), owed(&model));
        let mut sum = 0;
        for person in PEOPLE {
            session.log_in(person, "pw");
            let balance = session.ok("show_people_balance", json!({}));
            sum += cents(&balance["others_owe_you"]) - cents(&balance["you_owe_others"]);
        }
        prop_assert_eq!(sum, 0);
    }
}
