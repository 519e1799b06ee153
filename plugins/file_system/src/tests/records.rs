#![expect(clippy::needless_pass_by_value, reason = "`json!` is written in place")]

use super::*;

#[track_caller]
fn check_seed(list: &str, records: Value, expected: &str) {
    let mut session = ida();
    let before = session.state();
    let error = app::add(&mut session.app, &json!({list: records}).to_string()).unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(session.state(), before);
}

#[test]
fn the_state_holds_every_tree_and_no_secret() {
    let mut session = ida();
    let state = session.state();
    let lists: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(lists, ["directories", "files"]);
    let ids = |list: &str| -> Vec<u64> {
        state[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(ids("directories"), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ids("files"), [9, 10, 11, 12]);
    let old = "2020-01-01T00:00:00";
    for (index, path) in ["/", "/home", "~"].iter().enumerate() {
        let directory = json!({"id": index + 4, "owner": IDA, "path": path, "created_at": old, "updated_at": old});
        assert_eq!(state["directories"][index + 3], directory);
    }
    let law = json!({
        "id": 8, "owner": IDA, "path": "~/study/law", "created_at": "2026-01-01T10:00:00",
        "updated_at": "2026-01-02T10:00:00",
    });
    assert_eq!(state["directories"][7], law);
    assert_eq!(state["directories"][6]["updated_at"], "2026-01-01T10:00:00");
    let draft = json!({
        "id": 10, "owner": IDA, "path": "~/draft.txt", "content": "Dear all", "created_at": "2026-01-04T10:00:00",
        "updated_at": "2026-01-05T10:00:00",
    });
    assert_eq!(state["files"][1], draft);
    let text = state.to_string();
    assert!(!text.contains("\"pw\"") && !text.contains(session.token.as_deref().unwrap()));
}

#[test]
fn a_home_directory_bears_the_first_name() {
    let home_of = |first_name: &str| {
        let person = json!({"first_name": first_name, "last_name": "", "email": "x@y.test", "password": "pw"});
        let mut session = Session::<FileSystem>::open(&json!({"people": [person]}));
        session.log_in("x@y.test", "pw");
        let homes = "/home";
        let place = move |name: &str| json!({"directory_path": format!("{homes}/{name}"), "allow_if_exists": false});
        move |name: &str| {
            session
                .clone()
                .refused("create_directory", place(name))
                .message
        }
    };
    let there = "~ is a directory that exists already.";
    assert_eq!(home_of("Ida Maria")("ida"), there);
    assert_eq!(home_of("Jean-Luc")("jeanluc"), there);
    assert_eq!(home_of("Édith")("édith"), there);
    assert_eq!(home_of("../..")("user"), there);
}

#[test]
fn a_session_continues_the_tree_of_the_persona() {
    let mut session = ida();
    let records = json!({
        "directories": [{"owner": IDA, "path": "~/study/tax"}],
        "files": [{"owner": "Ida@Vale.test", "path": "/shared/in/a.txt", "content": "a"}],
    });
    app::add(&mut session.app, &records.to_string()).unwrap();
    assert_eq!(entry(&mut session, "~/study/tax")["id"], 13);
    assert_eq!(entry(&mut session, "/shared/in/a.txt")["id"], 16);
    assert_eq!(
        entry(&mut session, "/shared")["created_at"],
        "2026-03-02T09:00:00"
    );
}

#[test]
fn a_wrong_record_is_named_and_nothing_is_added() {
    let record = |key: &str, value: Value| {
        let mut record = json!({"owner": IDA, "path": "~/new"});
        record[key] = value;
        json!([{"owner": IDA, "path": "~/fine"}, record])
    };
    let early = json!([{"owner": IDA, "path": "~/x", "created_at": "2026-01-02", "updated_at": "2026-01-01"}]);
    for list in ["directories", "files"] {
        for (key, value, expected) in [
            ("owner", json!("x@y.test"), "owner: x@y.test has no account"),
            (
                "path",
                json!("new"),
                "\"new\" is no good path: it must begin with / or ~/.",
            ),
            ("path", json!("~/study"), "path: ~/study exists already"),
            (
                "path",
                json!("~/plan.txt"),
                "path: ~/plan.txt exists already",
            ),
            ("path", json!("~/plan.txt/x"), "~/plan.txt is a file."),
            ("path", json!("~/fine"), "path: ~/fine exists already"),
        ] {
            check_seed(list, record(key, value), &format!("{list}[1]: {expected}"));
        }
        let message = format!(
            "{list}[0]: updated_at 2026-01-01T00:00:00 is before created_at 2026-01-02T00:00:00"
        );
        check_seed(list, early.clone(), &message);
    }
    let binary = "files[1]: The content holds control characters: a file holds text only.";
    check_seed("files", record("content", json!("\u{7}")), binary);
    let unknown = "directories[1]: unknown field `content`, expected one of `owner`, `path`, `created_at`, `updated_at`";
    check_seed("directories", record("content", json!("x")), unknown);
    check_seed(
        "directories",
        json!([{"owner": IDA, "path": "/"}]),
        "directories[0]: path: / exists already",
    );
    let unknown = "unknown key \"links\", expected one of `directories`, `files`";
    check_seed("links", json!([]), unknown);
}

#[test]
fn a_moment_of_a_record_has_no_offset() {
    testkit::check_moments::<FileSystem>(&[
        ("directories", "created_at"),
        ("directories", "updated_at"),
        ("files", "created_at"),
        ("files", "updated_at"),
    ]);
}
