use pibench_sdk::app;
use pibench_sdk::testkit::{self, Session};
use proptest::prelude::*;

use super::*;

mod cases;
mod creating;
mod placing;
mod records;
mod tree;
mod world;

const TOOLS: [&str; 7] = [
    "copy_directory",
    "copy_file",
    "create_directory",
    "create_file",
    "login",
    "move_directory",
    "move_file",
];

const IDA: &str = "ida@vale.test";
const BO: &str = "bo@lind.test";

/// Bo has the ids 1 to 3 and Ida 4 to 6 for root, `home` and the home directory. In Ida's home lie `study` (7) with
/// `law` (8), which has `moot.txt` (11); `plan.txt` (9) beside it, and `draft.txt` (10). Bo has `own.txt` (12).
fn seed() -> Value {
    json!({
        "people": [
            {"first_name": "Ida Maria", "last_name": "Vale", "email": IDA, "password": "pw"},
            {"first_name": "Bo", "last_name": "Lind", "email": BO, "password": "pb"},
        ],
        "records": {
            "directories": [
                {"owner": IDA, "path": "~/study/law", "created_at": "2026-01-01T10:00:00",
                 "updated_at": "2026-01-02T10:00:00"},
            ],
            "files": [
                {"owner": IDA, "path": "~/plan.txt", "content": "First read.", "created_at": "2026-01-03T10:00:00"},
                {"owner": IDA, "path": "~/draft.txt", "content": "Dear all", "created_at": "2026-01-04T10:00:00",
                 "updated_at": "2026-01-05T10:00:00"},
                {"owner": IDA, "path": "~/study/law/moot.txt", "content": "The second point.",
                 "created_at": "2026-01-06T10:00:00"},
                {"owner": BO, "path": "~/own.txt", "created_at": "2026-01-07T10:00:00"},
            ],
        },
    })
}

fn ida() -> Session<FileSystem> {
    let mut session = Session::open(&seed());
    session.log_in(IDA, "pw");
    session
}

#[track_caller]
fn check_refused(tool: &str, arguments: Value, status: u16, message: &str) {
    ida().check_refused(tool, arguments, status, message);
}

/// Somebody's paths, directories with a slash at the end.
fn paths(session: &mut Session<FileSystem>, owner: &str) -> Vec<String> {
    let state = session.state();
    let mut paths: Vec<String> = Vec::new();
    for (list, end) in [("directories", "/"), ("files", "")] {
        let entries = state[list].as_array().unwrap().iter();
        let own = entries.filter(|entry| entry["owner"] == owner);
        paths.extend(own.map(|entry| format!("{}{end}", entry["path"].as_str().unwrap())));
    }
    paths.sort();
    paths
}

/// What the state says about a path of Ida's; null if nothing is there.
fn entry(session: &mut Session<FileSystem>, path: &str) -> Value {
    let state = session.state();
    let lists = ["directories", "files"].map(|list| state[list].as_array().unwrap().clone());
    let found = lists
        .concat()
        .into_iter()
        .find(|entry| entry["path"] == path && entry["owner"] == IDA);
    found.unwrap_or_default()
}

#[test]
fn the_tools_are_those_of_the_signatures() {
    testkit::check_declarations::<FileSystem>(&TOOLS);
}

#[test]
fn schemas_carry_the_bounds_and_the_defaults() {
    let tools = FileSystem::tools().declarations();
    let schema = |name: &str| &tools.iter().find(|tool| tool.name == name).unwrap().schema;
    let file = &schema("create_file")["properties"];
    assert_eq!(file["file_path"]["maxLength"], 512);
    assert_eq!(file["content"]["maxLength"], 65536);
    assert_eq!(file["overwrite"]["default"], false);
    let directory = schema("create_directory");
    assert_eq!(directory["properties"]["allow_if_exists"]["default"], true);
    assert_eq!(directory["required"], json!(["directory_path"]));
}

#[test]
fn every_private_tool_needs_a_token() {
    let arguments = json!({
        "directory_path": "/x", "file_path": "/x", "source_file_path": "~/plan.txt", "access_token": "guess",
    });
    let mut stranger = Session::<FileSystem>::open(&seed());
    for tool in TOOLS.iter().filter(|tool| **tool != "login") {
        assert_eq!(ida().refused(tool, arguments.clone()).status, 401, "{tool}");
        assert_eq!(stranger.refused(tool, json!({})).status, 401, "{tool}");
    }
}

#[test]
fn a_login_gives_the_same_token_and_a_wrong_one_none() {
    let mut session = ida();
    let answer = session.ok(
        "login",
        json!({"username": "Ida@Vale.test", "password": "pw"}),
    );
    let token = session.token.clone();
    assert_eq!(
        answer,
        json!({"access_token": token, "token_type": "Bearer"})
    );
    let wrong = json!({"username": IDA, "password": "pb"});
    check_refused(
        "login",
        wrong,
        401,
        "The user name or the password is wrong.",
    );
}

#[test]
fn everybody_has_a_tree_of_their_own() {
    let mut session = ida();
    check_refused(
        "copy_file",
        json!({"source_file_path": "~/own.txt", "destination_file_path": "~/x"}),
        422,
        "There is no file ~/own.txt.",
    );
    let before = paths(&mut session, BO);
    session.ok("create_file", json!({"file_path": "~/own.txt"}));
    session.ok(
        "move_directory",
        json!({"source_directory_path": "~/study", "destination_directory_path": "/study"}),
    );
    assert_eq!(paths(&mut session, BO), before);
}

/// What random calls take for texts.
const TEXTS: [&str; 12] = [
    IDA,
    "pw",
    "/",
    "~",
    "~/study",
    "~/study/law",
    "~/plan.txt",
    "/a",
    "/a/b",
    "~/study/new/deep",
    "~/x",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_sequence_of_calls_panics_and_a_snapshot_goes_on_where_it_was_taken(
        before in prop::collection::vec(any::<u64>(), 0..80),
        after in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        testkit::set_clock(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
        let mut session = ida();
        let step = |session: &mut Session<FileSystem>, number| testkit::random_step(session, number, &TEXTS);
        for number in before {
            let _ = step(&mut session, number);
            tree::check_sound(&session);
        }
        testkit::check_restored(&mut session, |session| after.iter().map(|number| step(session, *number)).collect());
    }
}
