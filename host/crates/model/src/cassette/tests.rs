use super::*;

fn spot(turn: u32) -> Spot {
    Spot {
        persona: "p".into(),
        run: 1,
        session: "s".into(),
        turn,
    }
}

fn question(texts: &[&str], turn: u32, occurrence: u32) -> Question {
    let messages: Vec<Message> = texts
        .iter()
        .map(|text| Message::User {
            text: (*text).to_owned(),
        })
        .collect();
    let request = ChatRequest {
        messages: &messages,
        tools: &[],
        may_call: true,
        temperature: Some(0.0),
        max_output: None,
    };
    Question::new(
        spot(turn),
        Role::Judge,
        "a/m",
        &Fingerprint::of(request),
        occurrence,
    )
}

fn answer(text: &str) -> Recorded {
    Recorded::Reply {
        reply: Reply {
            text: text.into(),
            ..Reply::default()
        },
        temperature: None,
    }
}

fn found(cassette: &Cassette, question: &Question) -> Option<String> {
    match cassette.find(question)? {
        Recorded::Reply { reply, .. } => Some(reply.text),
        Recorded::Refused { reason, .. } | Recorded::Window { reason, .. } => Some(reason),
        Recorded::Late | Recorded::OutOfTime { .. } => None,
    }
}

fn recorded() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape");
    let cassette = Cassette::record(&path, false).unwrap();
    for (question, text) in [
        (question(&["one", "two"], 1, 1), "first"),
        (question(&["one", "two"], 1, 2), "second"),
        (question(&["one", "two"], 2, 1), "other turn"),
    ] {
        cassette.keep(question, answer(text)).unwrap();
    }
    (dir, path)
}

#[test]
fn what_was_recorded_is_found_by_place_and_occurrence() {
    let (_dir, path) = recorded();
    let cassette = Cassette::replay(&path).unwrap();
    let at = |turn, occurrence| found(&cassette, &question(&["one", "two"], turn, occurrence));
    assert_eq!(at(1, 1).as_deref(), Some("first"));
    assert_eq!(at(1, 2).as_deref(), Some("second"));
    assert_eq!(at(2, 1).as_deref(), Some("other turn"));
    assert_eq!(at(1, 3), None);
}

#[test]
fn an_answer_that_was_given_again_replaces_the_first() {
    let (_dir, path) = recorded();
    let again = Cassette::record(&path, true).unwrap();
    again
        .keep(question(&["one", "two"], 1, 1), answer("again"))
        .unwrap();
    let cassette = Cassette::replay(&path).unwrap();
    assert_eq!(
        found(&cassette, &question(&["one", "two"], 1, 1)).as_deref(),
        Some("again")
    );
}

#[test]
fn a_miss_names_the_request_and_the_nearest_recorded_one() {
    let (_dir, path) = recorded();
    let cassette = Cassette::replay(&path).unwrap();
    let message = cassette
        .miss(&question(&["one", "three"], 2, 1))
        .to_string();
    for part in [
        "at p/s, run 1, turn 2, time 1",
        "(a/m) at p/s, run 1, turn 2, time 1, differs from message 2 on: recorded is `user: two`, asked is `user: three`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = cassette.miss(&question(&["one", "two"], 1, 3)).to_string();
    assert!(message.contains("has the same messages"), "{message}");
    let message = cassette.miss(&question(&["one"], 1, 1)).to_string();
    assert!(
        message.contains("recorded is `user: two`, asked is nothing"),
        "{message}"
    );
}

#[test]
fn a_recording_whose_requests_are_no_digests_is_told_of() {
    let (_dir, path) = recorded();
    for entry in std::fs::read_dir(&path).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["request"] = "a\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".into();
            line.to_string() + "\n"
        });
        std::fs::write(&file, lines.collect::<String>()).unwrap();
    }
    let cassette = Cassette::replay(&path).unwrap();
    let message = cassette.miss(&question(&["one"], 1, 1)).to_string();
    assert!(
        message.contains("the nearest recorded one, a\u{e9}"),
        "{message}"
    );
}

#[test]
fn a_recording_is_not_mixed_with_another_runs() {
    let (_dir, path) = recorded();
    let error = Cassette::record(&path, false).unwrap_err();
    assert!(matches!(error, CassetteError::Taken { .. }), "{error}");
}

#[test]
fn a_folder_without_recordings_is_no_recording() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("nowhere")] {
        let error = Cassette::replay(&path).unwrap_err();
        assert!(matches!(error, CassetteError::Empty { .. }), "{error}");
    }
}

#[test]
fn damage_is_named_with_its_line_and_a_cut_last_line_is_left_out() {
    let (_dir, path) = recorded();
    let file = path.join("p.r1.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let cassette = Cassette::replay(&path).unwrap();
    assert_eq!(found(&cassette, &question(&["one", "two"], 2, 1)), None);
    assert!(found(&cassette, &question(&["one", "two"], 1, 2)).is_some());
    // Older recordings hold.
    for older in ["\"version\":1", "\"version\":2", "\"version\":3"] {
        fs::write(&file, whole.replace("\"version\":4", older)).unwrap();
        assert!(Cassette::replay(&path).is_ok());
    }
    fs::write(&file, whole.replacen("\"version\":4", "\"version\":9", 2)).unwrap();
    let message = Cassette::replay(&path).unwrap_err().to_string();
    assert!(
        message.contains("p.r1.jsonl:1: its version is 9"),
        "{message}"
    );
    fs::write(&file, format!("{whole}{{}}\n")).unwrap();
    let message = Cassette::replay(&path).unwrap_err().to_string();
    assert!(message.contains("p.r1.jsonl:4: missing field"), "{message}");
}

#[test]
fn whatever_an_answer_can_depend_on_makes_another_request() {
    let message = [Message::User { text: "a".into() }];
    let tool = [pibench_core::message::ToolSpec {
        name: "t".into(),
        description: String::new(),
        parameters: serde_json::Value::Null.into(),
    }];
    let request = |messages, tools, temperature| {
        Fingerprint::of(ChatRequest {
            messages,
            tools,
            may_call: true,
            temperature,
            max_output: None,
        })
        .hash
    };
    let requests = [
        request(&message[..], &[][..], None),
        request(&[][..], &[][..], None),
        request(&message[..], &tool[..], None),
        request(&message[..], &[][..], Some(0.0)),
    ];
    for (at, one) in requests.iter().enumerate() {
        assert!(!requests[..at].contains(one), "{at}");
    }
}
