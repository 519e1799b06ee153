//! The shape of the sources, read as tokens and not as text: how long a function is, and which modules know each other.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::sources;

/// Lines from `fn` to its closing bracket: what one takes in at once.
const LONGEST_FUNCTION: usize = 80;

/// A command reads its options, asks the floors below, and prints.
const LONGEST_COMMAND: usize = 250;

/// The name and the number of lines of each function with a body, those within others and within macros too.
fn functions(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            functions(group.stream(), found);
        }
        let named = match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => name,
            _ => continue,
        };
        // A declaration ends before any body.
        let end = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(Some(group.span_close().end().line))
            }
            _ => None,
        });
        if let Some(Some(end)) = end {
            let begin = token.span().start().line;
            found.push((named.to_string(), end + 1 - begin));
        }
    }
}

#[test]
fn no_function_is_longer_than_one_takes_in() {
    let mut count = 0;
    for (path, text) in sources("") {
        let mut found = Vec::new();
        functions(TokenStream::from_str(&text).expect(&path), &mut found);
        count += found.len();
        for (name, lines) in found {
            assert!(
                lines <= LONGEST_FUNCTION,
                "{path}: `{name}` has {lines} lines, at most {LONGEST_FUNCTION} fit: cut it where a part has a name"
            );
        }
    }
    assert!(count > 5000, "{count} functions were found");
}

#[test]
fn lines_of_a_function_are_counted_from_its_name_to_its_end() {
    let text = "/// Words.\nfn one(\n  a: [u8; 3],\n) {\n  m! { fn two() {} }\n}\ntrait T { fn no(); }\ntype P = fn(u8);";
    let mut found = Vec::new();
    functions(TokenStream::from_str(text).unwrap(), &mut found);
    let expected = [("one".to_owned(), 5), ("two".to_owned(), 1)];
    assert_eq!(found, expected);
}

#[test]
fn no_file_of_a_command_is_longer_than_one_reads() {
    for (path, text) in sources("host/src/commands/") {
        let lines = text.lines().count();
        assert!(
            lines < LONGEST_COMMAND,
            "{path} has {lines} lines, under {LONGEST_COMMAND} fit: its rules belong on a floor below"
        );
    }
}

/// The modules of one folder that each of them knows, with a file that says so.
type Knows = BTreeMap<String, BTreeMap<String, String>>;

/// What a name is to the modules of a folder: the module of that name, or the one that their root, the crate's or the file beside
/// the folder, has the name from.
struct Root {
    modules: BTreeSet<String>,
    names: BTreeMap<String, String>,
}

impl Root {
    fn of(src: &str, files: &[(String, String)]) -> Self {
        let below = |path: &String| path.strip_prefix(src).map(str::to_owned);
        let modules = files.iter().filter_map(|(path, _)| below(path));
        let modules = modules.filter_map(|path| Some(path.strip_suffix(".rs")?.to_owned()));
        let modules = modules.filter(|name| !name.contains('/') && name != "lib" && name != "main");
        let modules: BTreeSet<String> = modules.collect();
        let mut names = BTreeMap::new();
        let root = files.iter().find(|(path, _)| {
            *path == format!("{src}lib.rs") || src.strip_suffix('/') == path.strip_suffix(".rs")
        });
        let text = root.map_or("", |(_, text)| text.as_str());
        let uses =
            regex::Regex::new(r"(?m)^pub(?:\(\w+\))? use (?:self::|crate::)?(\w+)::([^;]*);")
                .unwrap();
        for found in uses.captures_iter(text) {
            let (_, [module, rest]) = found.extract();
            if !modules.contains(module) {
                continue;
            }
            let each = rest.split(|c: char| !c.is_alphanumeric() && c != '_');
            names.extend(each.map(|name| (name.to_owned(), module.to_owned())));
        }
        Self { modules, names }
    }

    fn module(&self, name: &str) -> Option<&str> {
        let found = self.modules.get(name).or_else(|| self.names.get(name));
        found.map(String::as_str)
    }
}

/// The first names of what a path leads to, whose prefix ends before `tokens`: several behind a bracket.
fn first_names(tokens: &[TokenTree]) -> Vec<String> {
    match tokens.first() {
        Some(TokenTree::Ident(name)) => vec![name.to_string()],
        Some(TokenTree::Group(group)) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
            inner.split(comma).flat_map(first_names).collect()
        }
        _ => Vec::new(),
    }
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    tokens.len() >= 2 && tokens[..2].iter().all(is_colon)
}

/// Names right below the module `root` that paths lead to, from the module `at` below it. What is compiled for tests alone may know
/// all.
fn references(tokens: TokenStream, root: &[&str], at: &[String], found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut place = 0;
    while place < tokens.len() {
        let rest = &tokens[place..];
        place += 1;
        match &rest[0] {
            TokenTree::Group(group)
                if group.stream().to_string().replace(' ', "") == "cfg(test)" =>
            {
                let is_end = |token: &TokenTree| match token {
                    TokenTree::Punct(mark) => mark.as_char() == ';' || mark.as_char() == ',',
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    _ => false,
                };
                place += rest[1..]
                    .iter()
                    .position(is_end)
                    .map_or(rest.len(), |end| end + 1);
            }
            TokenTree::Group(group) => references(group.stream(), root, at, found),
            TokenTree::Ident(word) if word == "mod" => {
                if let [_, TokenTree::Ident(name), TokenTree::Group(body), ..] = rest {
                    let inner = [at, &[name.to_string()]].concat();
                    references(body.stream(), root, &inner, found);
                    place += 2;
                }
            }
            TokenTree::Ident(word) if word == "crate" && is_colons(&rest[1..]) => {
                let mut path = &rest[3..];
                let leads = root.iter().all(|name| {
                    let is_next = is_word(path.first(), name) && is_colons(&path[1..]);
                    path = if is_next { &path[3..] } else { path };
                    is_next
                });
                if leads {
                    found.extend(first_names(path));
                }
            }
            TokenTree::Ident(word) if word == "super" && is_colons(&rest[1..]) => {
                let mut up = 1;
                while is_word(rest.get(3 * up), "super") && is_colons(&rest[3 * up + 1..]) {
                    up += 1;
                }
                place += 3 * up - 1;
                if up == at.len() {
                    found.extend(first_names(&rest[3 * up..]));
                }
            }
            _ => {}
        }
    }
}

/// Who knows whom of the modules in the folder `src`.
fn knows(src: &str, files: &[(String, String)]) -> Knows {
    let root = Root::of(src, files);
    let (_, above) = src.split_once("src/").unwrap_or_default();
    let above: Vec<&str> = above.split_terminator('/').collect();
    let mut knows = Knows::new();
    for (path, text) in files {
        let Some(below) = path.strip_prefix(src) else {
            continue;
        };
        let at: Vec<String> = below
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        if !root.modules.contains(&at[0]) || at.iter().any(|name| name == "tests") {
            continue;
        }
        let mut found = BTreeSet::new();
        references(
            TokenStream::from_str(text).expect(path),
            &above,
            &at,
            &mut found,
        );
        let own = knows.entry(at[0].clone()).or_default();
        let modules = found.iter().filter_map(|name| root.module(name));
        let others = modules.filter(|module| **module != at[0]);
        own.extend(others.map(|module| (module.to_owned(), path.clone())));
    }
    knows
}

/// What is left when those are gone, again and again, that know none of the rest: circles, and who leads into one.
fn circles(mut knows: Knows) -> Knows {
    loop {
        let free = |(_, others): &(&String, &BTreeMap<String, String>)| others.is_empty();
        let Some(free) = knows.iter().find(free).map(|(name, _)| name.clone()) else {
            return knows;
        };
        knows.remove(&free);
        for others in knows.values_mut() {
            others.remove(&free);
        }
    }
}

/// The folders whose files are modules beside each other.
fn folders(files: &[(String, String)]) -> BTreeSet<String> {
    let modules: BTreeSet<&str> = files
        .iter()
        .filter_map(|(path, _)| path.strip_suffix(".rs"))
        .collect();
    let folder = |module: &&str| module.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let all: BTreeSet<String> = modules.iter().filter_map(folder).collect();
    let has_root = |folder: &String| {
        modules.contains(folder.as_str()) || modules.contains(format!("{folder}/lib").as_str())
    };
    let of_sources = all.into_iter().filter(has_root);
    of_sources.map(|folder| format!("{folder}/")).collect()
}

#[test]
fn no_modules_of_a_folder_know_each_other_in_a_circle() {
    let (mut edges, mut found) = (0, Vec::new());
    // With the least number of crates in each.
    for (folder, least) in [("host/", 11), ("plugins/", 13)] {
        let files = sources(folder);
        let folders = folders(&files);
        let crates = folders.iter().filter(|folder| folder.ends_with("src/"));
        assert!(crates.count() >= least, "{folders:?}");
        for src in &folders {
            let knows = knows(src, &files);
            edges += knows.values().map(BTreeMap::len).sum::<usize>();
            let circles = circles(knows);
            if !circles.is_empty() {
                found.push((src.clone(), circles));
            }
        }
    }
    assert!(
        found.is_empty(),
        "modules know each other in a circle: move what both need below them\n{found:#?}"
    );
    assert!(edges > 700, "{edges} edges were found");
}

#[test]
fn a_circle_of_modules_is_found_through_groups_names_of_the_root_and_macros() {
    let check = |lib: &str, one: &str, two: &str| {
        let file = |path: &str, text: &str| (format!("src/{path}"), text.to_owned());
        let files = [
            file("lib.rs", lib),
            file("one.rs", one),
            file("two/deep.rs", two),
            file("two.rs", ""),
        ];
        !circles(knows("src/", &files)).is_empty()
    };
    let lib = "mod one; mod two;\npub use one::One;";
    assert!(check(
        lib,
        "use super::two::deep;",
        "use crate::{a, one::One};"
    ));
    assert!(check(
        lib,
        "m!(crate::two::X);",
        "fn f() -> super::super::One {}"
    ));
    assert!(check(
        lib,
        "mod inner { use super::super::two; }",
        "use crate::One;"
    ));
    assert!(!check(
        lib,
        "use super::two;",
        "use super::one; use core::one;"
    ));
    assert!(!check(
        lib,
        "use super::two;",
        "#[cfg(test)] mod t { use crate::one; }"
    ));
}

#[test]
fn a_circle_is_found_in_a_folder_too() {
    let check = |one: &str, two: &str| {
        let file = |path: &str, text: &str| (format!("src/{path}"), text.to_owned());
        let files = [
            file("lib.rs", "mod room;"),
            file("room.rs", "mod one; mod two;\npub use two::Two;"),
            file("room/one.rs", one),
            file("room/two.rs", two),
        ];
        assert_eq!(
            folders(&files),
            ["src/", "src/room/"].map(str::to_owned).into()
        );
        !circles(knows("src/room/", &files)).is_empty()
    };
    assert!(check("use super::two::a;", "use super::one::b;"));
    assert!(check("use crate::room::two::a;", "use super::one::b;"));
    assert!(check("use super::Two;", "use super::one::b;"));
    assert!(!check("use super::two::a;", "use crate::one::b;"));
}
