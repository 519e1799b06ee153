//! Roles whose models are recorded, replayed, or have a cache.

use std::path::Path;

use super::*;
use pibench_model::cassette::{Cassette, Tape};

impl Script {
    fn taped(&self, tape: Tape) -> UserAgent {
        let client = client(&self.server.uri(), tape, Pause::Real);
        let model = Prompted::new(client, &Prompts::load(None).unwrap());
        UserAgent::Prompted(model.with_pause(self.pause.clone()))
    }

    async fn asked(&self) -> usize {
        self.server.received_requests().await.unwrap().len()
    }
}

/// Whether a judgement could be read.
async fn judged(user: &UserAgent, protocol: Protocol) -> bool {
    let [first, _] = intents();
    let turn = evidence(protocol, "Done.");
    user.satisfied(&[&first], &turn).await.is_ok()
}

#[tokio::test]
async fn a_replayed_role_waits_for_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let yes = block(1, "Use the firm's letterhead.", "YES");
    let script = Script::new(&["No idea.", "No idea.", &yes]).await;
    let recording = Tape::Record(Cassette::record(dir.path(), false).unwrap());
    assert!(judged(&script.taped(recording), Protocol::PiBench).await);
    assert_eq!(script.waits(), [1.0, 4.0]);
    let replayed = Tape::Replay(Cassette::replay(dir.path()).unwrap());
    assert!(judged(&script.taped(replayed), Protocol::PiBench).await);
    assert_eq!((script.waits().len(), script.asked().await), (2, 3));
}

#[tokio::test]
async fn what_was_asked_with_less_is_replayed_with_less() {
    let dir = tempfile::tempdir().unwrap();
    let yes = block(1, "Use the firm's letterhead.", "YES");
    let script = Script::with_window(110_000, &[&yes]).await;
    let ([first, _], turn) = (intents(), long_turn());
    let recording = script.taped(Tape::Record(Cassette::record(dir.path(), false).unwrap()));
    let recorded = recording.satisfied(&[&first], &turn).await.unwrap();
    drop(recording);
    let replayed = script.taped(Tape::Replay(Cassette::replay(dir.path()).unwrap()));
    let again = replayed.satisfied(&[&first], &turn).await.unwrap();
    assert_eq!((again, script.asked().await), (recorded, 2));
    // What was never asked is in no recording.
    let other = evidence(Protocol::Paper, "Done.");
    let missed = replayed.satisfied(&[&first], &other).await.unwrap_err();
    assert!(missed.to_string().contains("has no answer"), "{missed}");
}

#[tokio::test]
async fn what_no_context_takes_is_replayed_to_the_same_end() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::with_window(1_000, &[]).await;
    let [first, _] = intents();
    // The one ends its session, the other the run.
    let turns = [long_turn(), evidence(Protocol::Paper, "Done.")];
    let mut ends = Vec::new();
    let recording = script.taped(Tape::Record(Cassette::record(dir.path(), false).unwrap()));
    for turn in &turns {
        ends.push(recording.satisfied(&[&first], turn).await.unwrap_err());
    }
    let replayed = script.taped(Tape::Replay(Cassette::replay(dir.path()).unwrap()));
    for (turn, end) in turns.iter().zip(ends) {
        let again = replayed.satisfied(&[&first], turn).await.unwrap_err();
        assert_eq!(again, end);
    }
    assert_eq!(script.asked().await, 5);
}

#[tokio::test]
async fn only_what_could_be_read_stays_in_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let cache = |dir: &Path| Tape::Cache(Cassette::cache(dir).unwrap());
    let unread = Script::new(&["No idea."]).await;
    assert!(!judged(&unread.taped(cache(dir.path())), Protocol::Paper).await);
    assert!(unread.asked().await > 1);
    let refuses = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(422).set_body_string("not today"))
        .mount(&refuses)
        .await;
    let client = client(&refuses.uri(), cache(dir.path()), Pause::Real);
    let model = Prompted::new(client, &Prompts::load(None).unwrap());
    assert!(!judged(&UserAgent::Prompted(model), Protocol::Paper).await);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

    let yes = block(1, "Use the firm's letterhead.", "YES");
    let script = Script::new(&[&yes]).await;
    for _ in 0..2 {
        assert!(judged(&script.taped(cache(dir.path())), Protocol::Paper).await);
    }
    assert_eq!(script.asked().await, 1);
}
