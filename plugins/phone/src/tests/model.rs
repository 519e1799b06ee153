//! Random lives: against a model that is only a list, and against the rule that nothing panics.

use super::*;

const NUMBERS: [&str; 5] = [IDAS, BOS, CYS, DENTIST, "5550140000"];

fn people() -> Value {
    json!({"people": seed()["people"], "records": {}})
}

/// What random calls take for texts.
pub(super) const TEXTS: [&str; 12] = [
    IDAS,
    "pw",
    BOS,
    "pb",
    DENTIST,
    "lunch late",
    "07:30",
    "-sent_at",
    "2026-02-02",
    "friend",
    IDA,
    "",
];

proptest! {
    /// Ida and Bo send to each other and to others, from an empty phone.
    #[test]
    fn each_conversation_is_what_both_sent_in_order(
        sends in prop::collection::vec((any::<bool>(), 0..NUMBERS.len()), 0..40),
    ) {
        let mut session = Session::<Phone>::open(&people());
        let tokens = [(IDAS, "pw"), (BOS, "pb")].map(|(number, password)| {
            session.log_in(number, password);
            session.token.clone()
        });
        let mut model: Vec<(&str, &str)> = Vec::new();
        for (is_bo, to) in sends {
            let (from, to) = ([IDAS, BOS][usize::from(is_bo)], NUMBERS[to]);
            session.token.clone_from(&tokens[usize::from(is_bo)]);
            let sent = session.call("send_text_message", json!({"phone_number": to, "message": "x"}));
            if [IDAS, BOS, CYS].contains(&to) {
                model.push((from, to));
                prop_assert_eq!(sent.unwrap()["text_message_id"].as_u64(), Some(model.len() as u64));
            } else {
                prop_assert_eq!(sent.unwrap_err().status, 409);
            }
        }
        for (me, token) in [IDAS, BOS].into_iter().zip(&tokens) {
            session.token.clone_from(token);
            for other in NUMBERS {
                let expected: Vec<u64> = (1..)
                    .zip(&model)
                    .filter(|(_, pair)| [(me, other), (other, me)].contains(pair))
                    .map(|(id, _)| id)
                    .collect();
                let mut shown = Vec::new();
                for page in 0..3 {
                    let window = session.call("show_text_message_window", json!({
                        "phone_number": other, "pagination_order": "ascending", "page_limit": 20, "page_index": page,
                    }));
                    prop_assert_eq!(window.is_ok(), [IDAS, BOS, CYS].contains(&other));
                    shown.extend(window.map_or_else(|_| Vec::new(), |it| ids(&it, "text_message_id")));
                }
                prop_assert_eq!(shown, expected);
            }
        }
    }

    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..60),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<Phone>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
        }
        let state = session.state();
        let mut numbers: Vec<_> = state["contacts"].as_array().unwrap().iter()
            .filter(|contact| contact["phone_number"] != json!(null))
            .map(|contact| (contact["owner"].to_string(), contact["phone_number"].to_string()))
            .collect();
        let all = numbers.len();
        numbers.sort();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), all, "an owner has two contacts with one number");
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
