use super::*;

fn books() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("hub")).unwrap();
    (dir, ledger)
}

fn begin(ledger: &Ledger, name: &str, episodes: u32) -> Run {
    let run = ledger.add_run(name, "a", episodes, Quotas::default());
    run.unwrap().unwrap()
}

fn open(ledger: &Ledger, run: &Run, quotas: Quotas) -> Opened {
    ledger.open_episode(run, None, quotas).unwrap()
}

#[test]
fn a_token_is_nowhere_in_the_books_and_known_until_it_is_revoked() {
    let (dir, ledger) = books();
    let token = ledger.add_token("ana").unwrap();
    let recognised = |token: &str| ledger.recognise(token.as_bytes()).unwrap();
    assert_eq!(recognised(&token).as_deref(), Some("ana"));
    let (id, secret) = parts(token.as_bytes()).unwrap();
    let other = "0".repeat(secret.len());
    assert_eq!(recognised(&format!("pibench_{id}_{other}")), None);
    assert_eq!(
        recognised(&format!("pibench_{}_{secret}", "0".repeat(16))),
        None
    );
    for entry in std::fs::read_dir(dir.path().join("hub")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let held = |text: &str| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        assert!(!held(secret), "the secret is kept");
    }
    assert!(
        ledger
            .add_token("ana")
            .unwrap_err()
            .to_string()
            .contains("is valid")
    );
    ledger.revoke_token("ana").unwrap();
    assert_eq!(recognised(&token), None);
    assert!(ledger.revoke_token("ana").is_err());
    let newer = ledger.add_token("ana").unwrap();
    assert_eq!(
        (recognised(&newer).as_deref(), recognised(&token)),
        (Some("ana"), None)
    );
    assert_eq!(ledger.tokens().unwrap().len(), 2);
    assert!(ledger.add_token("a b").is_err() && ledger.add_token("").is_err());
}

#[test]
fn quotas_count_by_submitter_and_leave_the_others_alone() {
    let (_dir, ledger) = books();
    let quotas = Quotas {
        episodes_a_day: 3,
        episodes_at_once: 2,
        open_runs: 1,
        turns_a_day: 2,
        ..Quotas::default()
    };
    let (run, other) = (begin(&ledger, "ana", 9), begin(&ledger, "bo", 9));
    let refused = ledger.add_run("ana", "a", 9, quotas).unwrap().unwrap_err();
    assert!(
        matches!(&refused, NotBegun::Refused(why) if why.contains("1 runs that are not finished")),
        "{refused:?}"
    );
    assert_eq!(open(&ledger, &run, quotas), Opened::Now(1));
    assert_eq!(open(&ledger, &run, quotas), Opened::Now(2));
    assert!(matches!(open(&ledger, &run, quotas), Opened::Refused(why) if why.contains("at once")));
    assert_eq!(
        ledger.open_episode(&run, Some(2), quotas).unwrap(),
        Opened::Already(2)
    );
    let spot = |number| Spot {
        run: run.id.clone(),
        number,
    };
    let (first, ..) = ledger.next().unwrap().unwrap();
    assert_eq!(first, spot(1));
    ledger
        .stop(
            &first,
            EpisodeState::Over,
            Duration::from_secs(7),
            Duration::ZERO,
        )
        .unwrap();
    assert_eq!(ledger.episode(&first).unwrap().unwrap().seconds, 7);
    assert_eq!(open(&ledger, &run, quotas), Opened::Now(3));
    ledger.next().unwrap();
    ledger
        .stop(&spot(2), EpisodeState::Over, Duration::ZERO, Duration::ZERO)
        .unwrap();
    let why = open(&ledger, &run, quotas);
    assert!(
        matches!(&why, Opened::UsedUp(why) if why.contains("your 3 episodes of this day")),
        "{why:?}"
    );
    assert_eq!(open(&ledger, &other, quotas), Opened::Now(1));
    for granted in [true, true, false] {
        assert_eq!(ledger.begin_turn(&spot(3), "ana", quotas).unwrap(), granted);
    }
    assert!(ledger.begin_turn(&spot(3), "bo", quotas).unwrap());
    ledger.add_bytes("ana", 5).unwrap();
    ledger.add_bytes("ana", 6).unwrap();
    let used = Used {
        episodes: 3,
        turns: 2,
        runs: 1,
        bytes: 11,
        paid: MicroUsd(0),
    };
    assert_eq!(ledger.used("ana").unwrap(), used);
}

#[test]
fn runs_that_are_begun_and_abandoned_are_counted_and_leave_nothing_but_their_number() {
    let (dir, ledger) = books();
    let quotas = Quotas {
        runs_a_day: 3,
        ..Quotas::default()
    };
    let add = |name: &str| ledger.add_run(name, "a", 1, quotas).unwrap();
    let abandon = |run: &Run| {
        let why = Some("it was abandoned");
        ledger.end_run(&run.id, RunState::Failed, why).unwrap();
    };
    let [bare, played, last] = [(); 3].map(|()| add("ana").unwrap());
    open(&ledger, &played, quotas);
    for run in [&bare, &played] {
        abandon(run);
    }
    let refused = add("ana").unwrap_err();
    assert!(
        matches!(&refused, NotBegun::UsedUp(why) if why.contains("your 3 runs of this day")),
        "{refused:?}"
    );
    add("bo").unwrap();
    // What is abandoned has no folder.
    let kept = ledger.ids_of("ana").unwrap();
    assert_eq!(kept, std::slice::from_ref(&last.id));
    // On its day it says why it has no result. The next day it is gone, unless it was played in.
    let is_there = |run: &Run| ledger.run(&run.id).unwrap().is_some();
    assert!(is_there(&bare));
    let back = "UPDATE run SET made = '2020-01-01T00:00:00Z'; UPDATE used SET day = '2020-01-01'";
    ledger.writer().execute_batch(back).unwrap();
    let next = add("ana").unwrap();
    let are_there = [&bare, &played, &last].map(is_there);
    assert_eq!(are_there, [false, true, true]);
    let attempts = [&played, &last, &next].map(|run| ledger.attempt(run).unwrap());
    assert_eq!(attempts, [2, 3, 4]);
    assert_eq!(ledger.used("ana").unwrap().runs, 1);
    // A hub that starts forgets them too, whoever's they are.
    abandon(&next);
    let made = "UPDATE run SET made = '2020-01-01T00:00:00Z'";
    ledger.writer().execute(made, []).unwrap();
    drop(ledger);
    let ledger = Ledger::open(&dir.path().join("hub")).unwrap();
    let _lock = ledger.play().unwrap();
    assert_eq!(ledger.run(&next.id).unwrap(), None);
    assert_eq!(ledger.failed_runs().unwrap(), [played.id]);
    assert!(ledger.run(&last.id).unwrap().is_some());
}

#[test]
fn the_newest_runs_and_those_of_a_state_are_found_without_a_look_at_the_others() {
    let (_dir, ledger) = books();
    let plan = |sql: &str| -> String {
        let connection = ledger.reader();
        let mut asked = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let rows = asked.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let lines: Vec<String> = rows.map(Result::unwrap).collect();
        lines.join("; ")
    };
    let newest = plan("SELECT id FROM run WHERE name = 'ana' ORDER BY made DESC, id LIMIT 100");
    assert!(newest.contains("of_name (name=?)"), "{newest}");
    assert!(!newest.contains("ORDER BY"), "sorted: {newest}");
    let open = plan("SELECT id FROM run WHERE state = 'open'");
    assert!(open.contains("of_state (state=?)"), "{open}");
}

#[test]
fn an_episode_that_no_waiting_brings_is_told_from_one_that_has_to_wait() {
    let (_dir, ledger) = books();
    let run = begin(&ledger, "ana", 2);
    let quotas = Quotas {
        episodes_at_once: 1,
        ..Quotas::default()
    };
    let one = |number| ledger.open_episode(&run, Some(number), quotas).unwrap();
    assert_eq!(one(1), Opened::Now(1));
    assert_eq!([one(0), one(3)], [Opened::Absent, Opened::Absent]);
    assert!(matches!(one(2), Opened::Refused(_)));
    assert_eq!(open(&ledger, &run, Quotas::default()), Opened::Now(2));
    assert_eq!(open(&ledger, &run, quotas), Opened::All);
}

#[test]
fn money_is_counted_by_submitter_and_for_all_and_outlasts_the_process() {
    let (dir, ledger) = books();
    let purse = |own: Option<u64>, all: Option<u64>| Purse {
        own: own.map(MicroUsd),
        all: all.map(MicroUsd),
    };
    ledger.pay("ana", MicroUsd(600_000)).unwrap();
    ledger.pay("ana", MicroUsd(400_000)).unwrap();
    ledger.pay_for_hub(MicroUsd(5)).unwrap();
    drop(ledger);
    let ledger = Ledger::open(&dir.path().join("hub")).unwrap();
    let lacks = |name: &str, own, all| ledger.lacks_money(name, purse(own, all)).unwrap();
    let why = lacks("ana", Some(1_000_000), None).unwrap();
    assert!(
        why.contains("may cost 1.00 USD a day for your episodes"),
        "{why}"
    );
    assert_eq!(lacks("ana", Some(1_000_001), Some(1_000_006)), None);
    assert_eq!(lacks("ana", None, None), None);
    assert_eq!(lacks("bo", Some(1), None), None);
    let why = lacks("bo", Some(1), Some(1_000_005)).unwrap();
    assert!(why.contains("for all episodes of this host"), "{why}");
}

#[test]
fn books_of_the_version_before_are_gone_on_with() {
    let (dir, ledger) = books();
    let token = ledger.add_token("ana").unwrap();
    let (first, other, second) = (
        begin(&ledger, "ana", 1),
        begin(&ledger, "bo", 1),
        begin(&ledger, "ana", 1),
    );
    ledger
        .writer()
        .execute_batch(
            "DROP INDEX of_state; DROP INDEX of_name; CREATE INDEX of_name ON run (name);
            ALTER TABLE run DROP COLUMN attempt; ALTER TABLE used DROP COLUMN runs;
            DROP TABLE asked; DROP INDEX of_day; ALTER TABLE used DROP COLUMN micro_usd; PRAGMA user_version = 1",
        )
        .unwrap();
    drop(ledger);
    let ledger = Ledger::open(&dir.path().join("hub")).unwrap();
    let known = ledger.recognise(token.as_bytes()).unwrap();
    assert_eq!(known.as_deref(), Some("ana"));
    let attempts = [&first, &other, &second].map(|run| ledger.attempt(run).unwrap());
    assert_eq!(attempts, [1, 1, 2]);
    let third = begin(&ledger, "ana", 1);
    assert_eq!(ledger.attempt(&third).unwrap(), 3);
    assert_eq!(ledger.used("ana").unwrap().runs, 3);
    ledger.pay("ana", MicroUsd(7)).unwrap();
    assert_eq!(ledger.used("ana").unwrap().paid, MicroUsd(7));
    assert!(!ledger.has_answered("m").unwrap());
    ledger.put_answered("m").unwrap();
    assert!(ledger.has_answered("m").unwrap() && !ledger.has_answered("n").unwrap());
    ledger
        .writer()
        .execute("UPDATE asked SET at = at - 86500", [])
        .unwrap();
    assert!(!ledger.has_answered("m").unwrap(), "it holds for a day");
}

#[test]
fn the_queue_is_fair_to_who_plays_least() {
    let (_dir, ledger) = books();
    let quotas = Quotas::default();
    let (flood, other) = (begin(&ledger, "ana", 9), begin(&ledger, "bo", 9));
    for _ in 0..5 {
        open(&ledger, &flood, quotas);
    }
    open(&ledger, &other, quotas);
    let last = Spot {
        run: other.id.clone(),
        number: 1,
    };
    assert_eq!(ledger.before(&last).unwrap(), 5);
    let next = || ledger.next().unwrap().unwrap().1.name;
    assert_eq!([next(), next(), next()], ["ana", "bo", "ana"]);
    // A process that comes after goes on with all.
    let lock = ledger.play().unwrap();
    let other = ledger.play().unwrap_err().to_string();
    assert!(other.contains("another hub hosts"), "{other}");
    drop(lock);
    let _lock = ledger.play().unwrap();
    assert!(ledger.next().unwrap().is_none());
    ledger.queue(&last).unwrap();
    assert_eq!(next(), "bo");
    let wait = Duration::from_mins(1);
    ledger
        .stop(&last, EpisodeState::Paused, Duration::ZERO, wait)
        .unwrap();
    ledger.queue(&last).unwrap();
    assert!(ledger.next().unwrap().is_none(), "it has to wait");
    // As after the machine's clock went back by a day.
    let connection = ledger.writer();
    let day = "UPDATE episode SET not_before = not_before + 86400 WHERE state = 'queued'";
    assert_eq!(connection.execute(day, []).unwrap(), 1);
    drop(connection);
    assert_eq!(next(), "bo");
}

#[test]
fn a_run_is_played_when_all_of_its_episodes_are_over() {
    let (_dir, ledger) = books();
    let run = begin(&ledger, "ana", 2);
    for number in 1..=2 {
        assert!(ledger.played_runs().unwrap().is_empty());
        open(&ledger, &run, Quotas::default());
        ledger.next().unwrap();
        let spot = Spot {
            run: run.id.clone(),
            number,
        };
        ledger
            .stop(&spot, EpisodeState::Over, Duration::ZERO, Duration::ZERO)
            .unwrap();
    }
    assert_eq!(ledger.played_runs().unwrap(), std::slice::from_ref(&run));
    let (another, other) = (begin(&ledger, "ana", 2), begin(&ledger, "bo", 2));
    let attempts = [&run, &another, &other].map(|run| ledger.attempt(run).unwrap());
    assert_eq!(attempts, [1, 2, 1]);
    ledger.end_run(&run.id, RunState::Finished, None).unwrap();
    assert!(ledger.played_runs().unwrap().is_empty());
    // What is finished stays so.
    ledger
        .end_run(&run.id, RunState::Failed, Some("no"))
        .unwrap();
    let state = ledger.run(&run.id).unwrap().unwrap().state;
    assert_eq!(state, RunState::Finished);
}

#[test]
fn who_reads_waits_for_no_one_who_writes_and_what_is_written_settles_when_it_is_told() {
    let (dir, ledger) = books();
    let _lock = ledger.play().unwrap();
    let file = dir.path().join("hub").join(FILE);
    let settled = |text: &str| {
        let bytes = std::fs::read(&file).unwrap();
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    let token = ledger.add_token("ana").unwrap();
    let run = begin(&ledger, "ana", 1);
    // More pages than SQLite would leave beside the file by itself.
    for number in 0..2000 {
        ledger.add_bytes(&format!("s{number}"), 1).unwrap();
    }
    assert!(!settled(&run.id));
    let mut writer = ledger.writer();
    let transaction = immediate(&mut writer).unwrap();
    assert_eq!(ledger.run(&run.id).unwrap(), Some(run.clone()));
    assert!(ledger.recognise(token.as_bytes()).unwrap().is_some());
    // Nor does who is recognised wait for who measures.
    let reader = ledger.reader();
    let kept = ledger.ids_of("ana").unwrap();
    assert_eq!(kept, std::slice::from_ref(&run.id));
    drop(reader);
    ledger.settle().unwrap();
    assert!(settled(&run.id) && settled("s1999"));
    drop(transaction);
}
