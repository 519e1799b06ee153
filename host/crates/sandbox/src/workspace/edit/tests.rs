//! Parts of files, folders and new names: quotas and changes are those of whole files.

use camino::Utf8PathBuf;
use tempfile::TempDir;

use crate::workspace::{Quota, Usage, Workspace, WorkspaceError};
use pibench_core::path::WorkspacePath;
use pibench_core::record::ChangeKind;

/// A workspace at `ws` in a folder of its own.
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
        let workspace = Workspace::create(&root(&outer), quota).unwrap();
        Self { outer, workspace }
    }
}

fn root(outer: &TempDir) -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(outer.path().join("ws")).unwrap()
}

fn at(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

/// Counted anew.
fn reopen(fixture: &Fixture) -> Workspace {
    Workspace::open(&root(&fixture.outer), Quota::default()).unwrap()
}

#[test]
fn parts_of_a_file_are_written_in_place() {
    let mut fixture = Fixture::new();
    let a = at("a");
    fixture.workspace.write(&a, b"hello").unwrap();
    fixture.workspace.write_at(&a, 1, b"EL").unwrap();
    fixture.workspace.append(&a, b"!").unwrap();
    assert_eq!(fixture.workspace.read(&a).unwrap(), b"hELlo!");
    fixture.workspace.write_at(&a, 8, b"x").unwrap();
    assert_eq!(fixture.workspace.read(&a).unwrap(), b"hELlo!\0\0x");
    fixture.workspace.set_size(&a, 2).unwrap();
    assert_eq!(fixture.workspace.view().read_range(&a, 1, 9).unwrap(), b"E");
    assert_eq!(fixture.workspace.usage(), Usage { bytes: 2, files: 1 });
    fixture.workspace.append(&at("b"), b"new").unwrap();
    assert_eq!(reopen(&fixture).usage(), fixture.workspace.usage());
    let missing = fixture.workspace.write_at(&at("c"), 0, b"x");
    assert!(matches!(missing, Err(WorkspaceError::NotFound(_))));
}

#[test]
fn parts_are_counted_against_the_quotas() {
    let mut fixture = Fixture::with(Quota {
        bytes: 10,
        file_bytes: 8,
        ..Quota::default()
    });
    fixture.workspace.write(&at("a"), b"1234").unwrap();
    fixture.workspace.write(&at("b"), b"12345").unwrap();
    let over = [
        fixture.workspace.append(&at("a"), b"56"),
        fixture.workspace.write_at(&at("a"), 9, b"x"),
        fixture.workspace.set_size(&at("a"), u64::MAX),
    ];
    for result in over {
        assert!(
            matches!(result, Err(WorkspaceError::Quota { .. })),
            "{result:?}"
        );
    }
    assert_eq!(fixture.workspace.read(&at("a")).unwrap(), b"1234");
    fixture.workspace.append(&at("a"), b"5").unwrap();
    assert_eq!(
        fixture.workspace.usage(),
        Usage {
            bytes: 10,
            files: 2
        }
    );
}

#[test]
fn folders_are_made_one_by_one() {
    let mut fixture = Fixture::new();
    let orphan = fixture.workspace.make_directory(&at("a/b"));
    assert!(
        matches!(orphan, Err(WorkspaceError::NotFound(_))),
        "{orphan:?}"
    );
    fixture.workspace.make_directory(&at("a")).unwrap();
    fixture.workspace.make_directory(&at("a/b")).unwrap();
    let twice = fixture.workspace.make_directory(&at("a"));
    assert!(matches!(twice, Err(WorkspaceError::Exists(_))), "{twice:?}");
    assert_eq!(reopen(&fixture).usage(), fixture.workspace.usage());
}

#[test]
fn names_that_come_and_go_are_not_remembered() {
    let mut fixture = Fixture::new();
    fixture.workspace.write(&at("old/x"), b"x\n").unwrap();
    fixture.workspace.take_changes().unwrap();
    for number in 0..10 {
        let name = at(&format!("n{number}"));
        assert_eq!(fixture.workspace.rename(&at("old"), &name).unwrap(), 1);
        assert_eq!(fixture.workspace.rename(&name, &at("old")).unwrap(), 1);
        fixture.workspace.write(&name, b"new").unwrap();
        fixture.workspace.remove(&name).unwrap();
    }
    let remembered = fixture.workspace.books().tracker.remembered();
    assert_eq!(remembered, 1, "the file that was there");
    assert_eq!(fixture.workspace.take_changes().unwrap(), []);
    fixture.workspace.write(&at("n1"), b"new").unwrap();
    let changes = fixture.workspace.take_changes().unwrap();
    assert_eq!(changes[0].kind, ChangeKind::Created);
}

#[test]
fn a_renamed_folder_takes_its_files_along_and_tells_of_each() {
    let mut fixture = Fixture::new();
    fixture.workspace.write(&at("a/x"), b"x\n").unwrap();
    fixture.workspace.write(&at("a/b/y"), b"y\n").unwrap();
    fixture.workspace.take_changes().unwrap();
    fixture.workspace.rename(&at("a"), &at("c")).unwrap();
    let changes = fixture.workspace.take_changes().unwrap();
    let told: Vec<(&str, ChangeKind)> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("a/b/y", ChangeKind::Deleted),
            ("a/x", ChangeKind::Deleted),
            ("c/b/y", ChangeKind::Created),
            ("c/x", ChangeKind::Created),
        ]
    );
    assert_eq!(reopen(&fixture).usage(), fixture.workspace.usage());
}

#[test]
fn a_renamed_file_replaces_a_file_and_no_folder() {
    let mut fixture = Fixture::new();
    fixture.workspace.write(&at("a"), b"aa").unwrap();
    fixture.workspace.write(&at("b"), b"b").unwrap();
    fixture.workspace.write(&at("d/x"), b"x").unwrap();
    fixture.workspace.rename(&at("a"), &at("b")).unwrap();
    assert_eq!(fixture.workspace.read(&at("b")).unwrap(), b"aa");
    assert_eq!(fixture.workspace.usage(), Usage { bytes: 3, files: 3 });
    assert!(fixture.workspace.rename(&at("b"), &at("d")).is_err());
    assert!(fixture.workspace.rename(&at("d"), &at("d/e")).is_err());
    assert!(fixture.workspace.rename(&at("none"), &at("e")).is_err());
    assert_eq!(reopen(&fixture).usage(), fixture.workspace.usage());
}

#[test]
fn no_part_of_a_link_is_written() {
    let mut fixture = Fixture::new();
    let outside = fixture.outer.path().join("secret");
    std::fs::write(&outside, "hidden").unwrap();
    let inside = fixture.outer.path().join("ws");
    std::os::unix::fs::symlink("../secret", inside.join("sym")).unwrap();
    std::fs::hard_link(&outside, inside.join("hard")).unwrap();
    for name in ["sym", "hard"] {
        let name = at(name);
        let refused = [
            fixture.workspace.append(&name, b"x"),
            fixture.workspace.write_at(&name, 0, b"x"),
            fixture.workspace.set_size(&name, 0),
            fixture.workspace.rename(&name, &at("new")).map(drop),
        ];
        for result in refused {
            assert!(matches!(result, Err(WorkspaceError::Link(_))), "{result:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "hidden");
}

#[test]
fn two_holds_on_a_workspace_count_together() {
    let mut fixture = Fixture::new();
    let mut other = fixture.workspace.share();
    other.write(&at("a"), b"abc").unwrap();
    assert_eq!(fixture.workspace.usage(), Usage { bytes: 3, files: 1 });
    let changes = fixture.workspace.take_changes().unwrap();
    assert_eq!(changes.len(), 1);
    assert!(other.take_changes().unwrap().is_empty());
}
