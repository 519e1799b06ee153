//! Unread counts against a model of plain flags: what comes in is unread, what is read or put away is not counted.

use std::collections::BTreeMap;

use super::*;

const ACTORS: [(&str, &str); 2] = [(IDA, "pw"), (BO, "pb")];
/// Who mail goes to.
const RECIPIENTS: [&str; 3] = [IDA, BO, "cy@moor.test"];

/// What one of the actors does; threads are taken modulo those that they have.
#[derive(Debug, Clone)]
enum Deed {
    Send(Vec<usize>),
    Reply(usize, Vec<usize>),
    Mark(usize, bool),
    Archive(usize),
}

fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    let to = || prop::sample::subsequence(vec![0, 1, 2], 1..=3);
    let deed = prop_oneof![
        3 => to().prop_map(Deed::Send),
        2 => (any::<usize>(), to()).prop_map(|(thread, to)| Deed::Reply(thread, to)),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(thread, read)| Deed::Mark(thread, read)),
        1 => any::<usize>().prop_map(Deed::Archive),
    ];
    prop::collection::vec((0..2_usize, deed), 0..40)
}

/// What the model knows of a thread.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Copy)]
struct Flags {
    incoming: bool,
    outgoing: bool,
    read: bool,
    archived: bool,
}

/// Each actor's threads by their subject without "Re: ".
#[derive(Default)]
struct Model([BTreeMap<String, Flags>; 2]);

impl Model {
    /// One email to these recipients.
    fn mail(&mut self, from: usize, to: &[usize], subject: &str) {
        let fresh = Flags {
            incoming: false,
            outgoing: false,
            read: true,
            archived: false,
        };
        let sent = self.0[from].entry(subject.to_owned()).or_insert(fresh);
        sent.outgoing = true;
        for to in to.iter().filter(|to| **to < 2) {
            let received = self.0[*to].entry(subject.to_owned()).or_insert(fresh);
            received.incoming = true;
            received.read = false;
            received.archived = false;
        }
    }

    fn check(&self, session: &mut Session<Gmail>) {
        for (threads, (email, password)) in self.0.iter().zip(ACTORS) {
            session.log_in(email, password);
            for read in [false, true] {
                let count = |counts: fn(&Flags) -> bool| {
                    let wanted = threads.values().filter(|it| it.read == read);
                    wanted.filter(|it| counts(it)).count()
                };
                let sizes = session.ok("show_category_sizes", json!({"read": read}));
                let expected = json!([
                    count(|it| it.incoming && !it.archived),
                    count(|it| it.outgoing && !it.archived),
                    count(|it| it.archived),
                ]);
                let shown = json!([sizes["inbox"], sizes["outbox"], sizes["archived"]]);
                assert_eq!(shown, expected, "{email}, read: {read}");
                // Counted is what is listed.
                let listed = json!({"read": read, "archived": false, "page_limit": 20});
                let rows = session.ok("show_inbox_threads", listed);
                let rows = rows.as_array().unwrap().len() as u64;
                assert_eq!(rows, sizes["inbox"].as_u64().unwrap().min(20), "{email}");
            }
        }
    }
}

/// The id of an actor's thread, and of its last email.
fn thread(session: &mut Session<Gmail>, owner: &str, subject: &str) -> (Value, Value) {
    let state = session.state();
    let mut threads = state["threads"].as_array().unwrap().iter();
    let same = |it: &&Value| {
        let own = it["subject"].as_str().unwrap();
        it["owner"] == owner && own.strip_prefix("Re: ").unwrap_or(own) == subject
    };
    let found = threads.find(same).unwrap();
    let emails = found["email_ids"].as_array().unwrap();
    (found["id"].clone(), emails.last().unwrap().clone())
}

proptest! {
    #[test]
    fn unread_counts_are_those_of_the_model_after_any_deeds(deeds in deeds()) {
        let mut world = seed();
        world["records"] = json!({});
        let mut session = Session::<Gmail>::open(&world);
        let mut model = Model::default();
        for (number, (who, deed)) in deeds.into_iter().enumerate() {
            let (me, password) = ACTORS[who];
            session.log_in(me, password);
            let addresses = |to: &[usize]| to.iter().map(|to| RECIPIENTS[*to]).collect::<Vec<_>>();
            let own: Vec<String> = model.0[who].keys().cloned().collect();
            let pick = |which: usize| own.get(which % own.len().max(1)).cloned();
            match deed {
                Deed::Send(to) => {
                    let subject = format!("No. {number}");
                    session.ok("send_email", json!({"email_addresses": addresses(&to), "subject": subject, "body": "x"}));
                    model.mail(who, &to, &subject);
                }
                Deed::Reply(which, to) => if let Some(subject) = pick(which) {
                    let (id, email) = thread(&mut session, me, &subject);
                    session.ok("reply_to_email", json!({"email_thread_id": id, "email_id": email, "body": "y",
                        "email_addresses": addresses(&to)}));
                    model.mail(who, &to, &subject);
                },
                Deed::Mark(which, read) => if let Some(subject) = pick(which) {
                    let (id, _) = thread(&mut session, me, &subject);
                    let tool = if read { "mark_thread_read" } else { "mark_thread_unread" };
                    let was = &mut model.0[who].get_mut(&subject).unwrap().read;
                    let answer = session.call(tool, json!({"email_thread_id": id}));
                    assert_eq!(answer.is_err(), *was == read, "{answer:?}");
                    *was = read;
                },
                Deed::Archive(which) => if let Some(subject) = pick(which) {
                    let (id, _) = thread(&mut session, me, &subject);
                    let archived = &mut model.0[who].get_mut(&subject).unwrap().archived;
                    let answer = session.call("mark_thread_archived", json!({"email_thread_id": id}));
                    assert_eq!(answer.is_err(), *archived, "{answer:?}");
                    *archived = true;
                },
            }
            model.check(&mut session);
        }
    }
}
