//! The host's own hand: nothing that an agent left keeps it from its work.

use camino::Utf8PathBuf;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::TempDir;

use crate::workspace::{Quota, Usage, Workspace, WorkspaceError};
use pibench_core::path::WorkspacePath;
use pibench_core::record::ChangeKind::{Created, Deleted};

fn with(quota: Quota) -> (TempDir, Workspace) {
    let outer = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(outer.path().join("ws")).unwrap();
    let workspace = Workspace::create(&path, quota).unwrap();
    (outer, workspace)
}

fn at(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

fn changes(workspace: &mut Workspace) -> Vec<(String, pibench_core::record::ChangeKind)> {
    let changes = workspace.take_changes().unwrap().into_iter();
    changes
        .map(|change| (change.path.to_string(), change.kind))
        .collect()
}

#[test]
fn what_stands_in_the_way_of_a_staged_file_gets_another_name() {
    let (_outer, mut workspace) = with(Quota::default());
    workspace.write(&at("a.md/x"), b"in a folder").unwrap();
    workspace.write(&at("b"), b"a file").unwrap();
    workspace.write(&at("b.before"), b"older").unwrap();
    workspace.take_changes().unwrap();
    workspace.stage(&at("a.md"), b"staged").unwrap();
    workspace.stage(&at("b/c.md"), b"staged too").unwrap();
    let expected = [
        ("a.md", Created),
        ("a.md.before/x", Created),
        ("a.md/x", Deleted),
        ("b", Deleted),
        ("b.before-2", Created),
        ("b/c.md", Created),
    ];
    let expected: Vec<_> = expected.map(|(path, kind)| (path.to_owned(), kind)).into();
    assert_eq!(changes(&mut workspace), expected);
    assert_eq!(workspace.read(&at("b.before-2")).unwrap(), b"a file");
    // What is a file already is written over, and its neighbours stay.
    workspace.stage(&at("a.md"), b"anew").unwrap();
    assert_eq!(workspace.read(&at("a.md")).unwrap(), b"anew");
    assert_eq!(workspace.read(&at("b.before")).unwrap(), b"older");
    // Where there is no longer name, it goes.
    let long = "n".repeat(250);
    workspace.write(&at(&format!("{long}/x")), b"x").unwrap();
    workspace.stage(&at(&long), b"staged").unwrap();
    assert_eq!(workspace.read(&at(&long)).unwrap(), b"staged");
}

#[test]
fn a_full_workspace_takes_what_is_staged_and_nothing_more_from_others() {
    let (_outer, mut workspace) = with(Quota {
        files: 1,
        bytes: 4,
        ..Quota::default()
    });
    workspace.write(&at("own"), b"1234").unwrap();
    workspace.stage(&at("in/put"), b"56").unwrap();
    assert_eq!(workspace.usage(), Usage { bytes: 6, files: 3 });
    let refused = workspace.write(&at("more"), b"");
    assert!(matches!(refused, Err(WorkspaceError::Quota { .. })));
}

#[cfg(unix)]
#[test]
fn links_and_folders_without_end_are_cleared_away() {
    let (outer, mut workspace) = with(Quota::default());
    let root = outer.path().join("ws");
    std::fs::write(outer.path().join("kept"), "kept").unwrap();
    std::os::unix::fs::symlink(outer.path().join("kept"), root.join("link")).unwrap();
    let deep = |name: &str| (0..60).fold(root.join(name), |path, _| path.join("d"));
    std::fs::create_dir_all(deep("deep")).unwrap();
    workspace.write(&at("own"), b"1").unwrap();
    workspace.take_changes().unwrap();
    workspace.stage(&at("link"), b"staged").unwrap();
    workspace.stage(&at("deep"), b"staged").unwrap();
    assert_eq!(workspace.read(&at("deep")).unwrap(), b"staged");
    std::os::unix::fs::symlink("/", root.join("other")).unwrap();
    std::fs::create_dir_all(deep("far")).unwrap();
    workspace.clear().unwrap();
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    assert_eq!(workspace.usage(), Usage::default());
    assert_eq!(std::fs::read(outer.path().join("kept")).unwrap(), b"kept");
}

#[cfg(unix)]
#[test]
fn folders_of_any_depth_are_cleared_away_whatever_is_locked_in_them() {
    let (outer, mut workspace) = with(Quota::default());
    let root = outer.path().join("ws");
    let mut folder = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
    for _ in 0..20_000 {
        folder.create_dir("d").unwrap();
        folder = folder.open_dir("d").unwrap();
    }
    // Names that the host itself gives, too.
    std::fs::write(root.join("d/1"), "1").unwrap();
    std::fs::create_dir_all(root.join("d/d/2/locked")).unwrap();
    std::fs::create_dir_all(root.join("d/2/locked")).unwrap();
    let locked = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(root.join("d/d/2"), locked).unwrap();
    workspace.clear().unwrap();
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
}

#[test]
fn empty_folders_are_told_and_made_again() {
    let (_outer, mut workspace) = with(Quota::default());
    workspace.make_directory(&at("a")).unwrap();
    workspace.make_directory(&at("a/b")).unwrap();
    workspace.make_directory(&at("c")).unwrap();
    workspace.write(&at("d/e"), b"1").unwrap();
    assert_eq!(workspace.empty_folders().unwrap(), ["a/b", "c"]);

    let (_outer, mut again) = with(Quota::default());
    again.write(&at("d/e"), b"1").unwrap();
    again.make_directory(&at("x")).unwrap();
    again.make_directory(&at("x/y")).unwrap();
    again
        .set_empty_folders(&workspace.empty_folders().unwrap())
        .unwrap();
    assert_eq!(again.empty_folders().unwrap(), ["a/b", "c"]);
    assert_eq!(again.usage(), workspace.usage());
}

#[test]
fn a_folder_that_holds_only_what_is_never_opened_is_an_empty_one() {
    let (outer, workspace) = with(Quota::default());
    let inside = outer.path().join("ws");
    std::fs::write(outer.path().join("secret"), b"1").unwrap();
    for folder in ["hard", "link", "plain"] {
        std::fs::create_dir(inside.join(folder)).unwrap();
    }
    std::fs::hard_link(outer.path().join("secret"), inside.join("hard/1")).unwrap();
    std::os::unix::fs::symlink(outer.path(), inside.join("link/1")).unwrap();
    std::fs::write(inside.join("plain/1"), b"1").unwrap();
    assert_eq!(workspace.empty_folders().unwrap(), ["hard", "link"]);
    // Its own file beside it counts.
    std::fs::write(inside.join("hard/2"), b"1").unwrap();
    let root = Utf8PathBuf::from_path_buf(inside).unwrap();
    let again = Workspace::open(&root, Quota::default()).unwrap();
    assert_eq!(again.empty_folders().unwrap(), ["link"]);
}

#[test]
fn empty_folders_are_looked_for_again_after_each_edit() {
    let (_outer, mut workspace) = with(Quota::default());
    let empty = |workspace: &Workspace| workspace.empty_folders().unwrap();
    assert_eq!(empty(&workspace), [""; 0]);
    workspace.make_directory(&at("a")).unwrap();
    assert_eq!(empty(&workspace), ["a"]);
    // By another hold on the same files.
    workspace.share().write(&at("a/1"), b"1").unwrap();
    assert_eq!(empty(&workspace), [""; 0]);
    workspace.rename(&at("a/1"), &at("2")).unwrap();
    assert_eq!(empty(&workspace), ["a"]);
    workspace.append(&at("a/3"), b"1").unwrap();
    assert_eq!(empty(&workspace), [""; 0]);
    workspace.remove(&at("a/3")).unwrap();
    assert_eq!(empty(&workspace), ["a"]);
    workspace.stage(&at("a/4"), b"1").unwrap();
    assert_eq!(empty(&workspace), [""; 0]);
    workspace.set_empty_folders(&["b".into()]).unwrap();
    assert_eq!(empty(&workspace), ["b"]);
    workspace.clear().unwrap();
    assert_eq!(empty(&workspace), [""; 0]);
}
