use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Every entry is reached once from the roots: no cycle, nothing that stands twice, nothing that is lost; and every path
/// is one that finds its entry.
#[track_caller]
pub(super) fn check_sound(session: &Session<FileSystem>) {
    let tree = &session.app.tree;
    let found = tree.walk();
    assert_eq!(
        found.len(),
        tree.size().entries,
        "entries reached from the roots"
    );
    let bytes: usize = found
        .values()
        .map(|(_, _, entry)| entry.content.bytes())
        .sum();
    assert_eq!(bytes, tree.size().bytes, "the bytes that are counted");
    let mut places = BTreeSet::new();
    for (id, (owner, path, _)) in found {
        assert!(
            places.insert((owner.clone(), path.clone())),
            "{path} stands twice"
        );
        let home = Path::home(session.app.accounts.get(owner).unwrap());
        let read = Path::directory(&path, &home).unwrap();
        assert_eq!(read.to_string(), path);
        assert_eq!(
            tree.find(owner, &read).map(|entry| entry.id),
            Some(id),
            "{path}"
        );
    }
    for (owner, home) in [(IDA, "~"), (BO, "~")] {
        let owner = Email::new(owner);
        let home =
            Path::directory(home, &Path::home(session.app.accounts.get(&owner).unwrap())).unwrap();
        assert!(tree.find(&owner, &home).is_some(), "a home is gone");
    }
}

/// The model: a path's directory is None, a file its text. Paths are shown ones; `/` and what is above home are left
/// out, for no deed of the test touches them.
type Model = BTreeMap<String, Option<String>>;

/// One deed: a tool, two of the paths below, and two switches.
type Deed = (usize, usize, usize, bool, bool);

/// A small world, so that deeds meet.
const PLACES: [&str; 12] = [
    "~/a",
    "~/b",
    "~/a/a",
    "~/a/b",
    "~/b/a",
    "~/b/b",
    "~/a/a/a",
    "~/a/a/b",
    "~/a/b/a",
    "~/b/a/b",
    "~/a/a/a/a",
    "~/b/b/b/b",
];

fn around(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(around, _)| around)
}

fn is_within(path: &str, directory: &str) -> bool {
    path == directory
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn is_directory(model: &Model, path: &str) -> bool {
    path == "~" || matches!(model.get(path), Some(None))
}

/// Makes the directories that are missing around a path; false if a file is in the way.
fn make_way(model: &mut Model, path: &str) -> bool {
    let mut missing = around(path);
    let before = model.clone();
    while !before.contains_key(missing) && missing != "~" {
        model.insert(missing.to_owned(), None);
        missing = around(missing);
    }
    is_directory(&before, missing)
}

/// The model after the deed, None if it must be refused.
fn expected(
    model: &Model,
    tool: &str,
    from: &str,
    to: &str,
    switches: (bool, bool),
) -> Option<Model> {
    let mut next = model.clone();
    match tool {
        "create_file" => {
            if let Some(entry) = model.get(from)
                && !(entry.is_some() && switches.0)
            {
                return None;
            }
            let made = make_way(&mut next, from);
            next.insert(from.to_owned(), Some(to.to_owned()));
            made.then_some(next)
        }
        "create_directory" => {
            if let Some(entry) = model.get(from) {
                return (entry.is_none() && switches.0).then_some(next);
            }
            let mut missing = around(from);
            while switches.1 && !model.contains_key(missing) && missing != "~" {
                next.insert(missing.to_owned(), None);
                missing = around(missing);
            }
            next.insert(from.to_owned(), None);
            is_directory(model, missing).then_some(next)
        }
        _ => placed(model, tool, from, to, switches.0),
    }
}

fn placed(model: &Model, tool: &str, from: &str, to: &str, overwrite: bool) -> Option<Model> {
    let file = tool.ends_with("file");
    let entry = model.get(from)?;
    let replaceable = match model.get(to) {
        None => true,
        Some(there) => overwrite && there.is_some() == file,
    };
    let apart = !is_within(from, to) && !is_within(to, from);
    let mut next = model.clone();
    if entry.is_some() != file || !replaceable || !apart || !make_way(&mut next, to) {
        return None;
    }
    next.retain(|path, _| !is_within(path, to));
    for (path, entry) in model.iter().filter(|(path, _)| is_within(path, from)) {
        next.insert(format!("{to}{}", &path[from.len()..]), entry.clone());
    }
    if tool.starts_with("move") {
        next.retain(|path, _| !is_within(path, from));
    }
    Some(next)
}

fn arguments(tool: &str, from: &str, to: &str, switches: (bool, bool)) -> Value {
    match tool {
        "create_file" => json!({"file_path": from, "content": to, "overwrite": switches.0}),
        "create_directory" => {
            json!({"directory_path": from, "allow_if_exists": switches.0, "recursive": switches.1})
        }
        "copy_file" | "move_file" => {
            json!({"source_file_path": from, "destination_file_path": to, "overwrite": switches.0})
        }
        _ => {
            json!({"source_directory_path": from, "destination_directory_path": to, "overwrite": switches.0})
        }
    }
}

/// Ida's part of the state as the model writes it.
fn shown(session: &Session<FileSystem>) -> Model {
    let own = session
        .app
        .tree
        .walk()
        .into_values()
        .filter(|(owner, path, _)| owner.as_str() == IDA && path.starts_with("~/"));
    own.map(|(_, path, entry)| match &entry.content {
        Content::Directory(_) => (path, None),
        Content::File(content) => (path, Some(content.to_string())),
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_tree_is_that_of_the_model_after_any_deeds(
        deeds in prop::collection::vec(any::<Deed>(), 0..60),
    ) {
        let mut world = seed();
        world["records"] = json!({"directories": [{"owner": IDA, "path": "~/a/a"}, {"owner": IDA, "path": "~/b"}]});
        let mut session = Session::<FileSystem>::open(&world);
        session.log_in(IDA, "pw");
        let mut model: Model = ["~/a", "~/a/a", "~/b"].map(|path| (path.to_owned(), None)).into();
        for (tool, from, to, first, second) in deeds {
            let tools: Vec<&str> = TOOLS.iter().copied().filter(|tool| *tool != "login").collect();
            let (tool, from, to) = (tools[tool % 6], PLACES[from % PLACES.len()], PLACES[to % PLACES.len()]);
            let answer = session.call(tool, arguments(tool, from, to, (first, second)));
            let next = expected(&model, tool, from, to, (first, second));
            prop_assert_eq!(answer.is_ok(), next.is_some(), "{} {} {} {:?}: {:?}", tool, from, to, model, answer);
            model = next.unwrap_or(model);
            prop_assert_eq!(shown(&session), model.clone());
            check_sound(&session);
        }
    }
}
