//! Each denial has its granted twin: the same act without what is denied.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use pibench_core::record::ChangeKind;

/// A workspace at `ws` in a folder of its own, and a secret beside it.
struct Fixture {
    outer: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        Self::with(Quota::default())
    }

    fn with(quota: Quota) -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("secret"), "hidden").unwrap();
        let workspace = Workspace::create(&root(&outer), quota).unwrap();
        Self { outer, workspace }
    }

    /// A name inside the workspace as the operating system sees it.
    fn inside(&self, name: &str) -> std::path::PathBuf {
        self.outer.path().join("ws").join(name)
    }

    fn write(&mut self, path: &str, content: &str) -> Result<(), WorkspaceError> {
        self.workspace.write(&at(path), content.as_bytes())
    }

    fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        self.workspace
            .read(&at(path))
            .map(|content| String::from_utf8(content).unwrap())
    }

    fn names(&self, path: &str, recursive: bool) -> Vec<String> {
        let path = WorkspacePath::parse_directory(path).unwrap();
        let entries = self.workspace.list(&path, recursive).unwrap();
        entries.iter().map(|entry| entry.path.to_string()).collect()
    }

    fn changes(&mut self) -> Vec<(String, ChangeKind, String)> {
        let changes = self.workspace.take_changes().unwrap();
        changes
            .into_iter()
            .map(|change| (change.path.to_string(), change.kind, change.added))
            .collect()
    }
}

fn root(outer: &TempDir) -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(outer.path().join("ws")).unwrap()
}

fn at(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

fn reopen(fixture: &Fixture) -> Workspace {
    Workspace::open(&root(&fixture.outer), *fixture.workspace.view.quota()).unwrap()
}

fn change(path: &str, kind: ChangeKind, added: &str) -> (String, ChangeKind, String) {
    (path.into(), kind, added.into())
}

/// Checks that an error is a quota's, with these figures.
fn check_quota(result: Result<(), WorkspaceError>, limit: Limit, allowed: u64, actual: u64) {
    match result {
        Err(WorkspaceError::Quota {
            limit: l,
            allowed: w,
            actual: a,
            ..
        }) => {
            assert_eq!((l, w, a), (limit, allowed, actual));
        }
        other => panic!("no quota error: {other:?}"),
    }
}

#[test]
fn a_written_file_is_read_back_and_its_folders_are_made() {
    let mut fixture = Fixture::new();
    fixture.write("notes/2026/a.md", "one\n").unwrap();
    assert_eq!(fixture.read("/workspace/notes/2026/a.md").unwrap(), "one\n");
    fixture.write("./notes/2026/a.md", "two\n").unwrap();
    assert_eq!(fixture.read("notes/2026/a.md").unwrap(), "two\n");
    assert_eq!(
        fs::read_to_string(fixture.inside("notes/2026/a.md")).unwrap(),
        "two\n"
    );
}

#[test]
fn a_workspace_is_created_once_and_opened_again() {
    let mut fixture = Fixture::new();
    fixture.write("a", "x").unwrap();
    let again = Workspace::create(&root(&fixture.outer), Quota::default());
    assert!(matches!(again, Err(WorkspaceError::Open { .. })));
    assert_eq!(reopen(&fixture).read(&at("a")).unwrap(), b"x");
    let missing = Workspace::open(Utf8Path::new("/nonexistent/ws"), Quota::default());
    assert!(matches!(missing, Err(WorkspaceError::Open { .. })));
}

#[test]
fn a_missing_file_is_not_found() {
    let mut fixture = Fixture::new();
    fixture.write("a/b", "x").unwrap();
    assert!(matches!(
        fixture.read("a/c"),
        Err(WorkspaceError::NotFound(_))
    ));
    assert!(matches!(
        fixture.read("z/c"),
        Err(WorkspaceError::NotFound(_))
    ));
    assert!(matches!(
        fixture.workspace.remove(&at("z")),
        Err(WorkspaceError::NotFound(_))
    ));
    assert!(matches!(
        fixture.workspace.list(&at("z"), false),
        Err(WorkspaceError::NotFound(_))
    ));
    assert_eq!(fixture.read("a/b").unwrap(), "x");
}

#[test]
fn files_and_folders_are_not_taken_for_each_other() {
    let mut fixture = Fixture::new();
    fixture.write("a/b", "x").unwrap();
    assert!(matches!(
        fixture.read("a"),
        Err(WorkspaceError::NotAFile(_))
    ));
    assert!(matches!(
        fixture.write("a", "y"),
        Err(WorkspaceError::NotAFile(_))
    ));
    assert!(matches!(
        fixture.write(".", "y"),
        Err(WorkspaceError::NotAFile(_))
    ));
    assert!(matches!(
        fixture.read("."),
        Err(WorkspaceError::NotAFile(_))
    ));
    assert!(matches!(
        fixture.read("a/b/c"),
        Err(WorkspaceError::NotADirectory(_))
    ));
    assert!(matches!(
        fixture.write("a/b/c", "y"),
        Err(WorkspaceError::NotADirectory(_))
    ));
    assert!(matches!(
        fixture.workspace.list(&at("a/b"), false),
        Err(WorkspaceError::NotADirectory(_))
    ));
    assert!(matches!(
        fixture.workspace.remove(&WorkspacePath::ROOT),
        Err(WorkspaceError::NotAFile(_))
    ));
}

#[test]
fn names_differ_in_case() {
    let mut fixture = Fixture::new();
    fixture.write("Notes.md", "upper").unwrap();
    assert!(matches!(
        fixture.read("notes.md"),
        Err(WorkspaceError::NotFound(_))
    ));
    fixture.write("notes.md", "lower").unwrap();
    assert_eq!(fixture.read("Notes.md").unwrap(), "upper");
}

#[test]
fn listings_are_sorted_and_have_sizes() {
    let mut fixture = Fixture::new();
    for path in ["b/z", "b/a/x", "a.txt", "c"] {
        fixture.write(path, "12345").unwrap();
    }
    assert_eq!(fixture.names("", false), ["a.txt", "b", "c"]);
    assert_eq!(fixture.names("b/", false), ["b/a", "b/z"]);
    assert_eq!(
        fixture.names("", true),
        ["a.txt", "b", "b/a", "b/a/x", "b/z", "c"]
    );
    let sizes: Vec<u64> = fixture
        .workspace
        .list(&WorkspacePath::ROOT, false)
        .unwrap()
        .iter()
        .map(|e| e.size)
        .collect();
    assert_eq!(sizes, [5, 0, 5]);
    let stat = fixture.workspace.stat(&at("b")).unwrap();
    assert_eq!((stat.kind, stat.size), (EntryKind::Directory, 0));
    assert_eq!(
        fixture.workspace.stat(&WorkspacePath::ROOT).unwrap().kind,
        EntryKind::Directory
    );
}

/// Tries every way through a link.
fn check_link_is_refused(fixture: &mut Fixture, through: &str) {
    let path = at(through);
    assert!(
        matches!(fixture.workspace.read(&path), Err(WorkspaceError::Link(_))),
        "read {through}"
    );
    assert!(
        matches!(
            fixture.workspace.write(&path, b"x"),
            Err(WorkspaceError::Link(_))
        ),
        "write {through}"
    );
    assert!(
        matches!(
            fixture.workspace.remove(&path),
            Err(WorkspaceError::Link(_))
        ),
        "remove {through}"
    );
}

#[test]
fn a_link_to_a_file_is_refused_wherever_it_leads() {
    let mut fixture = Fixture::new();
    fixture.write("plain", "granted").unwrap();
    symlink(
        fixture.outer.path().join("secret"),
        fixture.inside("absolute"),
    )
    .unwrap();
    symlink("../secret", fixture.inside("relative")).unwrap();
    symlink("plain", fixture.inside("inner")).unwrap();
    symlink("nowhere", fixture.inside("dangling")).unwrap();
    symlink("/proc/self/environ", fixture.inside("proc")).unwrap();
    for link in ["absolute", "relative", "inner", "dangling", "proc"] {
        check_link_is_refused(&mut fixture, link);
        assert_eq!(
            fixture.workspace.stat(&at(link)).unwrap().kind,
            EntryKind::Refused
        );
    }
    assert_eq!(
        fs::read_to_string(fixture.outer.path().join("secret")).unwrap(),
        "hidden"
    );
    assert!(!fixture.inside("nowhere").exists());
    assert_eq!(fixture.read("plain").unwrap(), "granted");
    fixture.write("plain", "x").unwrap();
    fixture.workspace.remove(&at("plain")).unwrap();
}

#[test]
fn a_link_to_a_folder_is_refused_wherever_it_leads() {
    let mut fixture = Fixture::new();
    fixture.write("real/file", "granted").unwrap();
    symlink(fixture.outer.path(), fixture.inside("outer")).unwrap();
    symlink("real", fixture.inside("inner")).unwrap();
    check_link_is_refused(&mut fixture, "outer/secret");
    check_link_is_refused(&mut fixture, "inner/file");
    let through = WorkspacePath::parse_directory("inner/").unwrap();
    assert!(matches!(
        fixture.workspace.list(&through, false),
        Err(WorkspaceError::Link(_))
    ));
    assert_eq!(
        fixture.names("", true),
        ["inner", "outer", "real", "real/file"]
    );
    assert_eq!(fixture.names("real/", false), ["real/file"]);
    assert_eq!(fixture.read("real/file").unwrap(), "granted");
}

#[test]
fn a_hard_link_is_refused_until_it_is_the_only_name() {
    let mut fixture = Fixture::new();
    fs::hard_link(fixture.outer.path().join("secret"), fixture.inside("hard")).unwrap();
    check_link_is_refused(&mut fixture, "hard");
    assert_eq!(
        fixture.workspace.stat(&at("hard")).unwrap().kind,
        EntryKind::Refused
    );
    fs::remove_file(fixture.outer.path().join("secret")).unwrap();
    assert_eq!(fixture.read("hard").unwrap(), "hidden");
}

#[test]
fn a_socket_is_refused_and_a_plain_file_in_its_place_is_not() {
    let mut fixture = Fixture::new();
    let listener = std::os::unix::net::UnixListener::bind(fixture.inside("socket")).unwrap();
    assert!(matches!(
        fixture.read("socket"),
        Err(WorkspaceError::Special(_))
    ));
    assert!(matches!(
        fixture.write("socket", "x"),
        Err(WorkspaceError::Special(_))
    ));
    assert_eq!(
        fixture.workspace.stat(&at("socket")).unwrap().kind,
        EntryKind::Refused
    );
    drop(listener);
    fs::remove_file(fixture.inside("socket")).unwrap();
    fixture.write("socket", "x").unwrap();
    assert_eq!(fixture.read("socket").unwrap(), "x");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "only mkfifo makes a pipe")]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let fixture = Fixture::new();
    let made = std::process::Command::new("mkfifo")
        .arg(fixture.inside("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    assert!(matches!(
        fixture.read("pipe"),
        Err(WorkspaceError::Special(_))
    ));
}

#[test]
fn a_planted_temporary_link_is_not_written_through() {
    let mut fixture = Fixture::new();
    fixture.write("inner", "kept").unwrap();
    for target in ["secret", "ws/inner"] {
        symlink(target, fixture.outer.path().join("ws.incoming")).unwrap();
        fixture.write("a", "x").unwrap();
    }
    let secret = fs::read_to_string(fixture.outer.path().join("secret")).unwrap();
    assert_eq!(
        (secret.as_str(), fixture.read("inner").unwrap().as_str()),
        ("hidden", "kept")
    );
    assert_eq!(fixture.names("", true), ["a", "inner"]);
}

#[test]
fn what_a_killed_host_left_behind_is_removed_and_no_write_leaves_anything() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("ws.incoming"), "half").unwrap();
    let mut workspace = Workspace::create(&root(&outer), Quota::default()).unwrap();
    assert!(!outer.path().join("ws.incoming").exists());
    workspace.write(&at("a"), b"x").unwrap();
    let left = fs::read_dir(outer.path()).unwrap().count();
    assert_eq!(left, 1, "the workspace alone");
}

#[test]
fn no_name_in_the_folder_keeps_the_host_from_writing_or_is_hidden() {
    let mut fixture = Fixture::new();
    let names = [".pibench-incoming", "ws.incoming"];
    for name in names {
        fs::create_dir(fixture.inside(name)).unwrap();
        fs::write(fixture.inside(name).join("notes"), "kept").unwrap();
    }
    fixture.write("a", "x").unwrap();
    fixture.workspace.stage(&at("b"), b"y").unwrap();
    let listed = [
        ".pibench-incoming",
        ".pibench-incoming/notes",
        "a",
        "b",
        "ws.incoming",
        "ws.incoming/notes",
    ];
    assert_eq!(fixture.names("", true), listed);
    assert_eq!(fixture.read(".pibench-incoming/notes").unwrap(), "kept");
}

#[test]
fn a_folder_that_is_only_looked_at_is_left_as_it_is() {
    let fixture = Fixture::new();
    fs::write(fixture.inside(".pibench-incoming"), "theirs").unwrap();
    let view = View::open(&root(&fixture.outer), Quota::default()).unwrap();
    let listed = view.list(&WorkspacePath::ROOT, true).unwrap();
    assert_eq!(listed.len(), 1);
    assert!(fixture.inside(".pibench-incoming").exists());
    reopen(&fixture);
    assert!(fixture.inside(".pibench-incoming").exists());
}

#[test]
fn names_that_no_path_can_hold_are_counted_but_not_listed() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    fs::write(fixture.inside("a\nb"), "123").unwrap();
    fs::write(
        fixture
            .outer
            .path()
            .join("ws")
            .join(std::ffi::OsStr::from_bytes(b"\xff")),
        "45",
    )
    .unwrap();
    fs::write(fixture.inside("plain"), "6").unwrap();
    assert_eq!(fixture.names("", true), ["plain"]);
    assert_eq!(reopen(&fixture).usage(), Usage { bytes: 6, files: 3 });
}

#[test]
fn a_file_is_at_most_file_bytes() {
    let mut fixture = Fixture::with(Quota {
        file_bytes: 4,
        ..Quota::default()
    });
    fixture.write("a", "1234").unwrap();
    check_quota(fixture.write("a", "12345"), Limit::FileBytes, 4, 5);
    assert_eq!(fixture.read("a").unwrap(), "1234");
    fs::write(fixture.inside("planted"), "12345").unwrap();
    check_quota(fixture.read("planted").map(drop), Limit::FileBytes, 4, 5);
}

#[test]
fn all_files_are_at_most_bytes() {
    let mut fixture = Fixture::with(Quota {
        bytes: 10,
        ..Quota::default()
    });
    fixture.write("a", "123456").unwrap();
    check_quota(fixture.write("b", "12345"), Limit::Bytes, 10, 11);
    fixture.write("b", "1234").unwrap();
    check_quota(fixture.write("a", "1234567"), Limit::Bytes, 10, 11);
    fixture.write("a", "12").unwrap();
    fixture.write("c", "1234").unwrap();
    fixture.workspace.remove(&at("b")).unwrap();
    fixture.write("d", "1234").unwrap();
    assert_eq!(
        fixture.workspace.usage(),
        Usage {
            bytes: 10,
            files: 3
        }
    );
}

#[test]
fn files_and_the_folders_above_them_are_at_most_files() {
    let mut fixture = Fixture::with(Quota {
        files: 3,
        ..Quota::default()
    });
    check_quota(fixture.write("a/b/c/d", ""), Limit::Files, 3, 4);
    assert_eq!(fixture.names("", true), Vec::<String>::new());
    fixture.write("a/b/c", "").unwrap();
    check_quota(fixture.write("d", ""), Limit::Files, 3, 4);
    fixture.write("a/b/c", "again").unwrap();
    fixture.workspace.remove(&at("a/b/c")).unwrap();
    fixture.write("d", "").unwrap();
    assert_eq!(fixture.workspace.usage().files, 3);
}

#[test]
fn a_path_has_at_most_depth_components() {
    let mut fixture = Fixture::with(Quota {
        depth: 3,
        ..Quota::default()
    });
    fixture.write("a/b/c", "").unwrap();
    check_quota(fixture.write("a/b/d/e", ""), Limit::Depth, 3, 4);
    fs::create_dir_all(fixture.inside("1/2/3/4")).unwrap();
    check_quota(
        fixture.workspace.list(&WorkspacePath::ROOT, true).map(drop),
        Limit::Depth,
        3,
        4,
    );
}

#[test]
fn a_workspace_over_its_quota_opens_and_may_only_shrink() {
    let fixture = Fixture::new();
    fs::write(fixture.inside("a"), "123456").unwrap();
    fs::write(fixture.inside("b"), "123456").unwrap();
    let mut workspace = Workspace::open(
        &root(&fixture.outer),
        Quota {
            bytes: 8,
            files: 1,
            ..Quota::default()
        },
    )
    .unwrap();
    check_quota(workspace.write(&at("a"), b"1234567"), Limit::Bytes, 8, 13);
    check_quota(workspace.write(&at("c"), b""), Limit::Files, 1, 3);
    workspace.write(&at("a"), b"12345").unwrap();
    workspace.remove(&at("b")).unwrap();
    assert_eq!(workspace.usage(), Usage { bytes: 5, files: 1 });
}

#[test]
fn an_error_names_path_limit_and_actual_value() {
    let mut fixture = Fixture::with(Quota {
        file_bytes: 4,
        ..Quota::default()
    });
    let error = fixture.write("notes/a.md", "12345").unwrap_err();
    assert_eq!(
        error.to_string(),
        "store notes/a.md: 5 bytes in one file, 4 are allowed"
    );
}

#[test]
fn only_an_empty_folder_is_removed() {
    let mut fixture = Fixture::new();
    fixture.write("a/b", "x").unwrap();
    assert!(matches!(
        fixture.workspace.remove(&at("a")),
        Err(WorkspaceError::NotEmpty(_))
    ));
    fixture.workspace.remove(&at("a/b")).unwrap();
    fixture.workspace.remove(&at("a")).unwrap();
    assert_eq!(fixture.workspace.usage(), Usage::default());
}

#[test]
fn changes_tell_what_was_made_modified_and_removed() {
    let mut fixture = Fixture::new();
    fixture.write("kept", "a\nb\n").unwrap();
    fixture.write("gone", "x\n").unwrap();
    assert_eq!(
        fixture.changes(),
        [
            change("gone", ChangeKind::Created, "x\n"),
            change("kept", ChangeKind::Created, "a\nb\n")
        ]
    );
    fixture.write("kept", "a\nnew\nb\n").unwrap();
    fixture.write("made/here", "m\n").unwrap();
    fixture.workspace.remove(&at("gone")).unwrap();
    assert_eq!(
        fixture.changes(),
        [
            change("gone", ChangeKind::Deleted, ""),
            change("kept", ChangeKind::Modified, "new\n"),
            change("made/here", ChangeKind::Created, "m\n"),
        ]
    );
    assert_eq!(fixture.changes(), []);
}

#[test]
fn what_ends_as_it_began_has_not_changed() {
    let mut fixture = Fixture::new();
    fixture.write("a", "same").unwrap();
    fixture.changes();
    fixture.write("a", "other").unwrap();
    fixture.write("a", "same").unwrap();
    fixture.write("passing", "x").unwrap();
    fixture.workspace.remove(&at("passing")).unwrap();
    assert_eq!(fixture.changes(), []);
    fixture.workspace.remove(&at("a")).unwrap();
    fixture.write("a", "same").unwrap();
    assert_eq!(fixture.changes(), []);
    fixture.write("a", "different").unwrap();
    assert_eq!(
        fixture.changes(),
        [change("a", ChangeKind::Modified, "different\n")]
    );
}

#[test]
fn added_lines_are_those_since_the_period_began() {
    let mut fixture = Fixture::new();
    fixture.write("a", "old\n").unwrap();
    fixture.changes();
    fixture.write("a", "old\nfirst\n").unwrap();
    fixture.write("a", "old\nfirst\nsecond\n").unwrap();
    assert_eq!(
        fixture.changes(),
        [change("a", ChangeKind::Modified, "first\nsecond\n")]
    );
}

#[test]
fn a_refused_write_changes_nothing() {
    let mut fixture = Fixture::with(Quota {
        bytes: 4,
        ..Quota::default()
    });
    fixture.write("a", "1234").unwrap();
    fixture.changes();
    assert!(fixture.write("a", "12345").is_err());
    assert!(fixture.write("b/c", "1").is_err());
    assert_eq!(fixture.changes(), []);
    assert_eq!(fixture.names("", true), ["a"]);
}

#[test]
fn a_file_that_became_a_folder_was_removed() {
    let mut fixture = Fixture::new();
    fixture.write("a", "x").unwrap();
    fixture.changes();
    fixture.workspace.remove(&at("a")).unwrap();
    fixture.write("a/b", "y\n").unwrap();
    assert_eq!(
        fixture.changes(),
        [
            change("a", ChangeKind::Deleted, ""),
            change("a/b", ChangeKind::Created, "y\n")
        ]
    );
}

#[test]
fn more_old_content_than_is_kept_is_still_compared() {
    let mut fixture = Fixture::new();
    let big = "line\n".repeat(8 << 20);
    fixture.write("big", &big).unwrap();
    fixture.changes();
    fixture.write("big", &format!("{big}more\n")).unwrap();
    assert_eq!(fixture.changes(), [change("big", ChangeKind::Modified, "")]);
    fixture.write("big", &big).unwrap();
    fixture.changes();
    fixture.write("big", &big).unwrap();
    assert_eq!(fixture.changes(), []);
}

#[test]
fn a_view_reads_what_the_workspace_writes() {
    let mut fixture = Fixture::new();
    let view = fixture.workspace.view().clone();
    fixture.write("a", "x").unwrap();
    assert_eq!(view.read(&at("a")).unwrap(), b"x");
    assert_eq!(view.list(&WorkspacePath::ROOT, true).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A workspace behaves as a map of paths to contents, and its counted usage is what a fresh
    /// scan finds.
    #[test]
    fn a_workspace_behaves_as_a_map(
        steps in prop::collection::vec(
            ("(a|b)(/(a|b)){0,2}", prop::option::of("[xy\n]{0,4}")),
            1..25,
        )
    ) {
        let mut fixture = Fixture::new();
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        let mut start = model.clone();
        for (number, (path, content)) in steps.into_iter().enumerate() {
            if let Some(content) = content {
                if fixture.write(&path, &content).is_ok() {
                    model.insert(path, content);
                }
            } else {
                let removed = fixture.workspace.remove(&at(&path)).is_ok();
                prop_assert!(removed || !model.contains_key(&path));
                model.remove(&path);
            }
            if number % 7 == 6 {
                check_changes(&mut fixture, &start, &model);
                start = model.clone();
            }
        }
        check_changes(&mut fixture, &start, &model);
        let files: Vec<Entry> = fixture.workspace.list(&WorkspacePath::ROOT, true).unwrap()
            .into_iter().filter(|entry| entry.kind == EntryKind::File).collect();
        prop_assert_eq!(files.len(), model.len());
        for (path, content) in &model {
            prop_assert_eq!(&fixture.read(path).unwrap(), content);
        }
        prop_assert_eq!(reopen(&fixture).usage(), fixture.workspace.usage());
    }
}

/// Checks that the changes are the difference of two models.
fn check_changes(
    fixture: &mut Fixture,
    start: &BTreeMap<String, String>,
    end: &BTreeMap<String, String>,
) {
    let mut expected = BTreeMap::new();
    for path in start.keys().chain(end.keys()) {
        let kind = match (start.get(path), end.get(path)) {
            (None, _) => ChangeKind::Created,
            (_, None) => ChangeKind::Deleted,
            (old, new) if old != new => ChangeKind::Modified,
            _ => continue,
        };
        expected.insert(path.clone(), kind);
    }
    let found: BTreeMap<String, ChangeKind> = fixture
        .changes()
        .into_iter()
        .map(|(path, kind, _)| (path, kind))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_full_disk_is_the_machines_fault_and_a_quota_is_not() {
    let path = WorkspacePath::parse("a").unwrap();
    let of = |code: i32| WorkspaceError::io(&path, std::io::Error::from_raw_os_error(code));
    for code in [Errno::NOSPC, Errno::MFILE, Errno::NFILE, Errno::DQUOT] {
        let fault = of(code.raw_os_error()).of_the_machine().unwrap();
        assert!(fault.is_infrastructure(), "{fault}");
    }
    assert_eq!(of(Errno::NOENT.raw_os_error()).of_the_machine(), None);
    assert_eq!(of(Errno::ACCESS.raw_os_error()).of_the_machine(), None);
    let quota = WorkspaceError::Quota {
        path,
        limit: Limit::Bytes,
        allowed: 1,
        actual: 2,
    };
    assert_eq!(quota.of_the_machine(), None);
}
