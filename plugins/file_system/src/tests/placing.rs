use super::*;

const DEEDS: [&str; 4] = ["copy_file", "move_file", "copy_directory", "move_directory"];

/// The arguments of a copy or move.
fn place(tool: &str, source: &str, destination: &str) -> Value {
    if tool.ends_with("file") {
        json!({"source_file_path": source, "destination_file_path": destination})
    } else {
        json!({"source_directory_path": source, "destination_directory_path": destination})
    }
}

fn overwriting(tool: &str, source: &str, destination: &str) -> Value {
    let mut arguments = place(tool, source, destination);
    arguments["overwrite"] = json!(true);
    arguments
}

/// The entry with other values.
fn changed(mut entry: Value, values: &[(&str, &str)]) -> Value {
    for (key, value) in values {
        entry[*key] = json!(value);
    }
    entry
}

const NOW: [(&str, &str); 2] = [
    ("created_at", "2026-03-02T09:00:00"),
    ("updated_at", "2026-03-02T09:00:00"),
];

#[test]
fn a_file_is_copied() {
    let mut session = ida();
    let source = entry(&mut session, "~/draft.txt");
    let answer = session.ok(
        "copy_file",
        place("copy_file", "~/draft.txt", "~/study/final.txt"),
    );
    assert_eq!(
        answer,
        json!({"message": "The file is copied.", "destination_file_path": "/home/ida/study/final.txt"})
    );
    assert_eq!(entry(&mut session, "~/draft.txt"), source);
    let mut copy = changed(source, &[("path", "~/study/final.txt")]);
    copy["id"] = json!(13);
    assert_eq!(
        entry(&mut session, "~/study/final.txt"),
        changed(copy.clone(), &NOW)
    );
    let mut keeping = place("copy_file", "~/draft.txt", "/old.txt");
    keeping["retain_dates"] = json!(true);
    session.ok("copy_file", keeping);
    copy["id"] = json!(14);
    assert_eq!(
        entry(&mut session, "/old.txt"),
        changed(copy, &[("path", "/old.txt")])
    );
}

#[test]
fn a_file_is_moved_and_keeps_its_id() {
    let mut session = ida();
    let source = entry(&mut session, "~/draft.txt");
    let answer = session.ok(
        "move_file",
        place("move_file", "~/draft.txt", "~/study/final.txt"),
    );
    assert_eq!(
        answer,
        json!({"message": "The file is moved.", "destination_file_path": "/home/ida/study/final.txt"})
    );
    let moved = changed(source.clone(), &[("path", "~/study/final.txt")]);
    assert_eq!(
        entry(&mut session, "~/study/final.txt"),
        changed(moved, &NOW)
    );
    assert_eq!(entry(&mut session, "~/draft.txt"), json!(null));
    let mut keeping = place("move_file", "~/plan.txt", "~/plan.md");
    keeping["retain_dates"] = json!(true);
    let plan = entry(&mut session, "~/plan.txt");
    session.ok("move_file", keeping);
    assert_eq!(
        entry(&mut session, "~/plan.md"),
        changed(plan, &[("path", "~/plan.md")])
    );
}

#[test]
fn a_directory_is_copied_with_all_that_is_in_it() {
    let mut session = ida();
    let before = paths(&mut session, IDA);
    let answer = session.ok(
        "copy_directory",
        place("copy_directory", "~/study", "/backup/"),
    );
    assert_eq!(
        answer,
        json!({"message": "The directory is copied.", "destination_directory_path": "/backup/"})
    );
    let mut after = before;
    after.extend(["/backup/", "/backup/law/", "/backup/law/moot.txt"].map(str::to_owned));
    after.sort();
    assert_eq!(paths(&mut session, IDA), after);
    let copy = entry(&mut session, "/backup/law/moot.txt");
    assert_eq!(copy["content"], "The second point.");
    assert_eq!(copy["created_at"], "2026-03-02T09:00:00");
    // The copy is a thing of its own.
    session.ok(
        "create_file",
        json!({"file_path": "/backup/law/moot.txt", "content": "x", "overwrite": true}),
    );
    assert_eq!(
        entry(&mut session, "~/study/law/moot.txt")["content"],
        "The second point."
    );
    let mut keeping = place("copy_directory", "~/study", "/old");
    keeping["retain_dates"] = json!(true);
    session.ok("copy_directory", keeping);
    assert_eq!(
        entry(&mut session, "/old/law")["updated_at"],
        "2026-01-02T10:00:00"
    );
}

#[test]
fn a_directory_is_moved_with_all_that_is_in_it() {
    let mut session = ida();
    let moot = entry(&mut session, "~/study/law/moot.txt");
    let answer = session.ok(
        "move_directory",
        place("move_directory", "~/study/law", "/law"),
    );
    assert_eq!(
        answer,
        json!({"message": "The directory is moved.", "destination_directory_path": "/law/"})
    );
    let moved = changed(changed(moot, &[("path", "/law/moot.txt")]), &NOW);
    assert_eq!(entry(&mut session, "/law/moot.txt"), moved);
    assert_eq!(entry(&mut session, "/law")["id"], 8);
    assert_eq!(entry(&mut session, "~/study/law"), json!(null));
    let mut keeping = place("move_directory", "/law", "~/law");
    keeping["retain_dates"] = json!(true);
    let before = entry(&mut session, "/law");
    session.ok("move_directory", keeping);
    assert_eq!(
        entry(&mut session, "~/law"),
        changed(before, &[("path", "~/law")])
    );
}

#[test]
fn what_exists_is_replaced_only_if_told() {
    for (tool, destination) in [
        ("copy_file", "~/plan.txt"),
        ("move_file", "~/plan.txt"),
        ("copy_directory", "/full"),
        ("move_directory", "/full"),
    ] {
        let source = if tool.ends_with("file") {
            "~/draft.txt"
        } else {
            "~/study"
        };
        let mut session = ida();
        session.ok(
            "create_directory",
            json!({"directory_path": "/full/of/things", "recursive": true}),
        );
        let error = session.refused(tool, place(tool, source, destination));
        let message = format!("{destination} exists already. Set overwrite to replace it.");
        assert_eq!((error.status, error.message), (422, message));
        session.ok(tool, overwriting(tool, source, destination));
        let paths = paths(&mut session, IDA);
        let there = |path: &str| paths.iter().any(|own| own.trim_end_matches('/') == path);
        assert!(there(destination), "{tool}");
        assert_eq!(there(source), tool.starts_with("copy"), "{tool}");
        if tool.ends_with("directory") {
            assert!(
                there("/full/law/moot.txt") && !there("/full/of"),
                "{tool}: {paths:?}"
            );
        } else {
            assert_eq!(entry(&mut session, destination)["content"], "Dear all");
        }
        tree::check_sound(&session);
    }
}

#[test]
fn what_is_not_there_is_not_placed() {
    for tool in DEEDS {
        let kind = if tool.ends_with("file") {
            "file"
        } else {
            "directory"
        };
        let none = format!("There is no {kind} ~/none.");
        check_refused(tool, place(tool, "~/none", "~/x"), 422, &none);
        let source = if kind == "file" {
            "~/plan.txt"
        } else {
            "~/study"
        };
        let mut session = ida();
        session.ok(tool, place(tool, source, "~/none/yet/x"));
        assert_ne!(entry(&mut session, "~/none/yet/x"), json!(null));
        tree::check_sound(&session);
        check_refused(
            tool,
            place(tool, source, "~/draft.txt/x"),
            422,
            "~/draft.txt is a file.",
        );
        let bad = "\"./x\" is no good path: write it without ..";
        check_refused(tool, place(tool, "./x", "~/x"), 422, bad);
        check_refused(tool, place(tool, source, "./x"), 422, bad);
        let same = format!("{source} is both the source and the destination.");
        check_refused(tool, overwriting(tool, source, source), 422, &same);
    }
}

#[test]
fn a_file_is_no_directory_and_a_directory_no_file() {
    for tool in ["copy_file", "move_file"] {
        check_refused(
            tool,
            place(tool, "~/study", "~/x"),
            422,
            "~/study is a directory.",
        );
        let onto = overwriting(tool, "~/plan.txt", "~/study/law");
        check_refused(tool, onto, 422, "~/study/law is a directory.");
    }
    for tool in ["copy_directory", "move_directory"] {
        check_refused(
            tool,
            place(tool, "~/plan.txt", "~/x"),
            422,
            "~/plan.txt is a file.",
        );
        let onto = overwriting(tool, "~/study", "~/plan.txt");
        check_refused(tool, onto, 422, "~/plan.txt is a file.");
    }
}

#[test]
fn a_directory_is_not_placed_in_itself_nor_over_itself() {
    for tool in ["copy_directory", "move_directory"] {
        let inside = "~/study/law/x lies within ~/study: nothing can hold itself.";
        check_refused(tool, place(tool, "~/study", "~/study/law/x"), 422, inside);
        check_refused(
            tool,
            place(tool, "/", "/x"),
            422,
            "/x lies within /: nothing can hold itself.",
        );
        let over = "~/study/law lies within ~/study and cannot take its place.";
        check_refused(tool, overwriting(tool, "~/study/law", "~/study"), 422, over);
        let root = "~/study lies within / and cannot take its place.";
        check_refused(tool, overwriting(tool, "~/study", "/"), 422, root);
    }
    for tool in ["copy_file", "move_file"] {
        let inside = "~/plan.txt/x lies within ~/plan.txt: nothing can hold itself.";
        check_refused(tool, place(tool, "~/plan.txt", "~/plan.txt/x"), 422, inside);
        let over = "~/study/law/moot.txt lies within ~/study/law and cannot take its place.";
        let onto = overwriting(tool, "~/study/law/moot.txt", "~/study/law");
        check_refused(tool, onto, 422, over);
    }
    // A name that only begins alike is another place.
    ida().ok(
        "move_directory",
        place("move_directory", "~/study", "~/study2"),
    );
}

#[test]
fn the_home_directory_stays_where_it_is() {
    let mut session = ida();
    let stays = |path: &str, verb: &str| {
        format!("Your home directory stays where it is: {path} cannot be {verb}.")
    };
    check_refused(
        "move_directory",
        place("move_directory", "~", "/me"),
        422,
        &stays("~", "moved"),
    );
    check_refused(
        "move_directory",
        place("move_directory", "/home", "/me"),
        422,
        &stays("/home", "moved"),
    );
    session.ok(
        "create_directory",
        json!({"directory_path": "/a/b", "recursive": true}),
    );
    for tool in ["copy_directory", "move_directory"] {
        for home in ["~", "/home"] {
            let error = session.refused(tool, overwriting(tool, "/a", home));
            assert_eq!(error.message, stays(home, "replaced"));
        }
    }
    session.ok("copy_directory", place("copy_directory", "~", "/me"));
    assert_eq!(
        entry(&mut session, "/me/plan.txt")["content"],
        "First read."
    );
}

#[test]
fn no_path_grows_too_long() {
    let mut session = ida();
    let long = format!("/{}", "n".repeat(250));
    session.ok(
        "create_directory",
        json!({"directory_path": format!("/a{long}{long}"), "recursive": true}),
    );
    let message = "The longest path in it would be too long: it has 513 bytes; at most 512 fit.";
    for tool in ["copy_directory", "move_directory"] {
        let error = session.refused(tool, place(tool, "/a", "/0123456789"));
        assert_eq!((error.status, error.message.as_str()), (422, message));
    }
    session.ok(
        "move_directory",
        place("move_directory", "/a", "/012345678"),
    );
}
