use super::*;

#[test]
fn a_directory_is_created() {
    let mut session = ida();
    let answer = session.ok(
        "create_directory",
        json!({"directory_path": "~/study/tax/"}),
    );
    assert_eq!(
        answer,
        json!({"message": "The directory ~/study/tax is created."})
    );
    let expected = json!({
        "id": 13, "owner": IDA, "path": "~/study/tax", "created_at": "2026-03-02T09:00:00",
        "updated_at": "2026-03-02T09:00:00",
    });
    assert_eq!(entry(&mut session, "~/study/tax"), expected);
}

#[test]
fn a_directory_is_created_with_those_on_the_way_if_told() {
    let deep = |recursive: bool| json!({"directory_path": "/a/b/c", "recursive": recursive});
    check_refused(
        "create_directory",
        deep(false),
        422,
        "There is no directory /a/b.",
    );
    let mut session = ida();
    session.ok("create_directory", deep(true));
    let paths = paths(&mut session, IDA);
    assert!(
        ["/a/", "/a/b/", "/a/b/c/"]
            .iter()
            .all(|path| paths.contains(&(*path).to_owned())),
        "{paths:?}"
    );
}

#[test]
fn a_directory_that_exists_is_accepted_or_refused_as_told() {
    let mut session = ida();
    let before = session.state();
    let answer = session.ok("create_directory", json!({"directory_path": "~/study"}));
    assert_eq!(
        answer,
        json!({"message": "The directory ~/study exists already."})
    );
    assert_eq!(session.state(), before);
    for (path, message) in [
        ("~/study", "~/study is a directory that exists already."),
        ("/", "/ is a directory that exists already."),
    ] {
        let arguments = json!({"directory_path": path, "allow_if_exists": false});
        check_refused("create_directory", arguments, 422, message);
    }
    for allow_if_exists in [true, false] {
        let file = json!({"directory_path": "~/plan.txt", "allow_if_exists": allow_if_exists});
        check_refused("create_directory", file, 422, "~/plan.txt is a file.");
    }
}

#[test]
fn a_directory_needs_a_good_path_without_a_file_on_the_way() {
    let recursive = |path: &str| json!({"directory_path": path, "recursive": true});
    for (path, message) in [
        (
            "./study",
            "\"./study\" is no good path: write it without ..",
        ),
        ("~/../x", "\"~/../x\" is no good path: write it without ..."),
        ("~/plan.txt/x/y", "~/plan.txt is a file."),
    ] {
        check_refused("create_directory", recursive(path), 422, message);
    }
    let below = json!({"directory_path": "~/plan.txt/x"});
    check_refused("create_directory", below, 422, "~/plan.txt is a file.");
}

#[test]
fn a_file_is_created() {
    let mut session = ida();
    let answer = session.ok(
        "create_file",
        json!({"file_path": "~/study/a b.md", "content": "Ü\n\tx"}),
    );
    assert_eq!(
        answer,
        json!({"message": "The file is created.", "file_path": "/home/ida/study/a b.md"})
    );
    let expected = json!({
        "id": 13, "owner": IDA, "path": "~/study/a b.md", "content": "Ü\n\tx", "created_at": "2026-03-02T09:00:00",
        "updated_at": "2026-03-02T09:00:00",
    });
    assert_eq!(entry(&mut session, "~/study/a b.md"), expected);
    session.ok("create_file", json!({"file_path": "/top"}));
    assert_eq!(entry(&mut session, "/top")["content"], "");
    session.ok("create_file", json!({"file_path": "~/new/deep/x"}));
    assert_eq!(entry(&mut session, "~/new/deep/x")["content"], "");
}

#[test]
fn a_path_without_its_first_slash_begins_at_the_root() {
    let mut session = ida();
    session.ok("create_directory", json!({"directory_path": "tax"}));
    session.ok("create_file", json!({"file_path": "tax/2025.txt"}));
    let copy = json!({"source_file_path": "tax/2025.txt", "destination_file_path": "old.txt"});
    assert_eq!(
        session.ok("copy_file", copy)["destination_file_path"],
        "/old.txt"
    );
    assert_ne!(entry(&mut session, "/tax/2025.txt"), json!(null));
}

#[test]
fn a_name_may_have_an_extension_or_none() {
    let mut session = ida();
    session.ok("create_file", json!({"file_path": "~/readme"}));
    session.ok("create_directory", json!({"directory_path": "~/v1.2"}));
    assert_ne!(entry(&mut session, "~/readme"), json!(null));
    assert_ne!(entry(&mut session, "~/v1.2"), json!(null));
}

#[test]
fn a_directory_keeps_its_dates_whatever_happens_in_it() {
    let mut session = ida();
    let before = entry(&mut session, "~/study");
    session.ok("create_file", json!({"file_path": "~/study/new.txt"}));
    assert_eq!(entry(&mut session, "~/study"), before);
}

#[test]
fn a_file_that_exists_is_replaced_only_if_told() {
    let mut session = ida();
    let plan = |overwrite: bool| json!({"file_path": "~/plan.txt", "content": "New", "overwrite": overwrite});
    check_refused(
        "create_file",
        plan(false),
        422,
        "~/plan.txt is a file that exists already.",
    );
    let answer = session.ok("create_file", plan(true));
    assert_eq!(answer["message"], "The file's content is replaced.");
    let expected = json!({
        "id": 9, "owner": IDA, "path": "~/plan.txt", "content": "New", "created_at": "2026-01-03T10:00:00",
        "updated_at": "2026-03-02T09:00:00",
    });
    assert_eq!(entry(&mut session, "~/plan.txt"), expected);
}

#[test]
fn a_file_that_breaks_a_rule_is_not_created() {
    for (path, status, message) in [
        ("~/plan.txt/x", 422, "~/plan.txt is a file."),
        ("~/study", 422, "~/study is a directory."),
        (
            "/",
            422,
            "\"/\" is no good path: it names a directory; give the path of a file.",
        ),
        (
            "~/x/",
            422,
            "\"~/x/\" is no good path: it names a directory; give the path of a file.",
        ),
        (
            "../x",
            422,
            "\"../x\" is no good path: write it without ...",
        ),
    ] {
        let arguments = json!({"file_path": path, "overwrite": true});
        check_refused("create_file", arguments, status, message);
    }
    let content = |content: String| json!({"file_path": "~/x", "content": content});
    let long = "The content has 65537 characters; at most 65536 fit.";
    check_refused("create_file", content("x".repeat(65537)), 422, long);
    let binary = "The content holds control characters: a file holds text only.";
    check_refused("create_file", content("a\u{0}".to_owned()), 422, binary);
}

#[test]
fn a_full_disk_takes_no_more_content() {
    let mut session = ida();
    let file =
        |number: usize| json!({"file_path": format!("/f{number}"), "content": "x".repeat(65536)});
    for number in 0..15 {
        session.ok("create_file", file(number));
    }
    let full = "The disk is full: at most 5000 directories and files with 1048576 bytes fit.";
    assert_eq!(session.refused("create_file", file(15)).message, full);
    let mut again = file(0);
    again["overwrite"] = json!(true);
    session.ok("create_file", again);
    let copy = json!({"source_file_path": "/f0", "destination_file_path": "/copy"});
    assert_eq!(session.refused("copy_file", copy).message, full);
    let replaced =
        json!({"source_file_path": "/f0", "destination_file_path": "/f1", "overwrite": true});
    session.ok("copy_file", replaced);
}

#[test]
fn copies_of_copies_end_when_the_disk_is_full() {
    let mut session = ida();
    session.ok("create_directory", json!({"directory_path": "/a"}));
    for number in 0.. {
        let inside = format!("/a/{number}");
        session.ok("create_directory", json!({"directory_path": "/b"}));
        let arguments = json!({"source_directory_path": "/a", "destination_directory_path": "/b", "overwrite": true});
        if let Err(error) = session.call("copy_directory", arguments) {
            assert_eq!((error.status, number), (422, 12));
            break;
        }
        let into = json!({"source_directory_path": "/b", "destination_directory_path": inside});
        session.ok("move_directory", into);
    }
    let deep = format!("/x{}", "/d".repeat(200));
    session.ok(
        "create_directory",
        json!({"directory_path": deep, "recursive": true}),
    );
    assert!(session.state().to_string().len() < 8 << 20 && session.app.snapshot().len() < 8 << 20);
}

#[test]
fn a_disk_too_full_for_the_whole_way_gets_none_of_it() {
    let mut session = ida();
    let row = |number: usize| format!("/r{number}{}", "/d".repeat(199));
    for number in 0..24 {
        session.ok(
            "create_directory",
            json!({"directory_path": row(number), "recursive": true}),
        );
    }
    let last = json!({"directory_path": row(24), "recursive": true});
    assert_eq!(session.refused("create_directory", last).status, 422);
}

#[test]
fn the_host_reads_a_file_with_its_owners_token() {
    let mut session = ida();
    let token = session.token.clone().unwrap();
    let read = |path: &str, token: &str| json!({"file_path": path, "access_token": token});
    assert_eq!(
        session.ok("show_file", read("~/plan.txt", &token)),
        json!({"path": "/home/ida/plan.txt", "content": "First read."})
    );
    for (path, token, status, message) in [
        (
            "~/none.txt",
            token.as_str(),
            422,
            "There is no file ~/none.txt.",
        ),
        ("~/study", &token, 422, "~/study is a directory."),
        (
            "~/plan.txt",
            "guess",
            401,
            "The access_token is not valid. Log in again.",
        ),
    ] {
        let error = session.refused("show_file", read(path, token));
        assert_eq!((error.status, error.message.as_str()), (status, message));
    }
    assert!(
        FileSystem::tools()
            .declarations()
            .iter()
            .all(|tool| tool.name != "show_file")
    );
}
