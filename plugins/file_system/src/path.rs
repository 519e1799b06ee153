//! Paths: names from the root down, checked once. Whether something lies there is the tree's business.

use std::fmt;

use pibench_sdk::account::Account;
use pibench_sdk::tool::ToolError;

/// The longest path, in bytes: with it and the tree's own limits the whole state stays within what the host takes.
pub(crate) const MAX_PATH: usize = 512;
/// The longest name, in bytes, as on most disks.
const MAX_NAME: usize = 255;

/// A place in somebody's tree. What is in the home directory is shown from there: `~/notes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// On the way from the root: none for the root itself.
    names: Vec<String>,
    /// Whether the first of them are those of the home directory.
    in_home: bool,
}

/// A home directory lies in a directory of this name, which lies in the root.
const HOMES: &str = "home";
/// The names that lead to a home directory.
const HOME_DEPTH: usize = 2;

impl Path {
    /// The home directory of an account; its name is the first word of the first name in lower case.
    pub(crate) fn home(account: &Account) -> Self {
        let plain = |text: &str| -> String {
            let kept = text.chars().filter(|c| c.is_alphanumeric());
            kept.flat_map(char::to_lowercase).collect()
        };
        let word = account.first_name.split_whitespace().next();
        let mut name = plain(word.unwrap_or_default());
        if name.is_empty() {
            "user".clone_into(&mut name);
        }
        name.truncate(name.floor_char_boundary(MAX_NAME));
        Self {
            names: vec![HOMES.to_owned(), name],
            in_home: true,
        }
    }

    /// A directory's path: from `home` when it begins with `~/`, else from the root. 422 if it breaks a rule.
    pub(crate) fn directory(text: &str, home: &Self) -> Result<Self, ToolError> {
        let (mut names, rest) = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (home.names.clone(), rest),
            _ => (Vec::new(), text),
        };
        if rest.contains("//") {
            return Err(bad(text, "two slashes stand side by side"));
        }
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            check_name(name).map_err(|reason| bad(text, &reason))?;
            names.push(name.to_owned());
        }
        let in_home = names.starts_with(&home.names);
        let path = Self { names, in_home };
        if path.length() > MAX_PATH {
            return Err(bad(text, &too_long(path.length())));
        }
        Ok(path)
    }

    /// A file's path: a directory's that does not end with a slash and is not `~`.
    pub(crate) fn file(text: &str, home: &Self) -> Result<Self, ToolError> {
        let path = Self::directory(text, home)?;
        if text.ends_with('/') || text == "~" {
            return Err(bad(text, "it names a directory; give the path of a file"));
        }
        Ok(path)
    }

    /// 422 for a path that says neither root nor home. Tools take it from the root; in a seed it is a slip.
    pub(crate) fn check_begin(text: &str) -> Result<(), ToolError> {
        if text == "~" || text.starts_with('/') || text.starts_with("~/") {
            return Ok(());
        }
        Err(bad(text, "it must begin with / or ~/"))
    }

    /// The directory around it and its name there; None for the root.
    pub(crate) fn split(&self) -> Option<(Self, &str)> {
        let (name, around) = self.names.split_last()?;
        let around = Self {
            names: around.to_vec(),
            in_home: self.in_home && around.len() >= HOME_DEPTH,
        };
        Some((around, name))
    }

    /// Whether it is this directory or lies in it.
    pub(crate) fn is_within(&self, directory: &Self) -> bool {
        self.names.starts_with(&directory.names)
    }

    /// On the way from the root.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// From the root, as answers give a file's.
    pub(crate) fn absolute(&self) -> String {
        format!("/{}", self.names.join("/"))
    }

    /// In bytes, from the root.
    pub(crate) fn length(&self) -> usize {
        let names = self.names.iter().map(|name| name.len() + 1);
        names.sum::<usize>().max(1)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if self.in_home {
            f.write_str("~")?;
            &self.names[HOME_DEPTH..]
        } else {
            &self.names
        };
        if self.names.is_empty() {
            return f.write_str("/");
        }
        shown.iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

pub(crate) fn too_long(length: usize) -> String {
    format!("it has {length} bytes; at most {MAX_PATH} fit")
}

fn bad(path: &str, reason: &str) -> ToolError {
    ToolError::invalid(format!("{path:?} is no good path: {reason}."))
}

fn check_name(name: &str) -> Result<(), String> {
    if matches!(name, "." | "..") {
        return Err(format!("write it without {name}"));
    }
    if name.trim() != name {
        return Err(format!("{name:?} begins or ends with a blank"));
    }
    if name.chars().any(|c| c.is_control() || c == '\\') {
        return Err(format!("{name:?} holds a control character or a backslash"));
    }
    if name.len() > MAX_NAME {
        return Err(format!(
            "a name in it has {} bytes; at most {MAX_NAME} fit",
            name.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn home() -> Path {
        Path {
            names: vec![HOMES.to_owned(), "ida".to_owned()],
            in_home: true,
        }
    }

    fn check(text: &str, expected: Result<&str, &str>) {
        let read = Path::directory(text, &home());
        let read = read
            .map(|path| path.to_string())
            .map_err(|error| error.message);
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_path_is_read_from_the_root_or_from_home() {
        check("/", Ok("/"));
        check("/a/b c.txt", Ok("/a/b c.txt"));
        check("/a/b/", Ok("/a/b"));
        check("~", Ok("~"));
        check("~/notes/", Ok("~/notes"));
        check("notes/x", Ok("/notes/x"));
        check("~bo/x", Ok("/~bo/x"));
    }

    #[test]
    fn the_root_is_left_out_in_tools_alone() {
        for text in ["/", "~", "~/x", "/x"] {
            assert_eq!(Path::check_begin(text), Ok(()));
        }
        for text in ["", "notes", "~bo/x", "./x"] {
            let message = Path::check_begin(text).unwrap_err().message;
            let expected = format!("{text:?} is no good path: it must begin with / or ~/.");
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn what_is_in_the_home_directory_has_one_path() {
        check(&format!("/{HOMES}/ida/notes"), Ok("~/notes"));
        check(&format!("/{HOMES}/ida/"), Ok("~"));
        check(&format!("/{HOMES}"), Ok(&format!("/{HOMES}")));
        let other = format!("/{HOMES}/idas/notes");
        check(&other, Ok(&other));
        let (around, name) = home()
            .split()
            .map(|(around, name)| (around.to_string(), name.to_owned()))
            .unwrap();
        assert_eq!((around, name.as_str()), (format!("/{HOMES}"), "ida"));
    }

    #[test]
    fn a_path_that_breaks_a_rule_is_refused_with_the_reason() {
        check("./x", Err("\"./x\" is no good path: write it without .."));
        check(
            "/a/../b",
            Err("\"/a/../b\" is no good path: write it without ..."),
        );
        check("/./b", Err("\"/./b\" is no good path: write it without .."));
        check(
            "/a//b",
            Err("\"/a//b\" is no good path: two slashes stand side by side."),
        );
        check(
            "/a /b",
            Err("\"/a /b\" is no good path: \"a \" begins or ends with a blank."),
        );
        check(
            "/a\n",
            Err("\"/a\\n\" is no good path: \"a\\n\" begins or ends with a blank."),
        );
        check(
            "/a\u{0}b",
            Err("\"/a\\0b\" is no good path: \"a\\0b\" holds a control character or a backslash."),
        );
        let long = format!("/{}", "n".repeat(256));
        let reason =
            format!("{long:?} is no good path: a name in it has 256 bytes; at most 255 fit.");
        check(&long, Err(&reason));
        let deep = "/d".repeat(257);
        check(
            &deep,
            Err(&format!(
                "{deep:?} is no good path: it has 514 bytes; at most 512 fit."
            )),
        );
    }

    #[test]
    fn a_file_is_no_directory() {
        for text in ["/", "~", "~/", "/a/"] {
            let message = Path::file(text, &home()).unwrap_err().message;
            assert!(message.contains("it names a directory"), "{message}");
        }
        assert_eq!(Path::file("~/a", &home()).unwrap().to_string(), "~/a");
    }

    proptest! {
        #[test]
        fn a_path_as_shown_is_the_same_path(text in "[/~a-c. \\PC]{0,20}") {
            if let Ok(path) = Path::directory(&text, &home()) {
                prop_assert_eq!(Path::directory(&path.to_string(), &home()).unwrap(), path);
            }
        }
    }
}
