//! Paths inside a workspace. A [`WorkspacePath`] cannot name anything outside of it: what could is
//! refused when the text is parsed, not when the file is opened. Nothing here touches a file.

use std::fmt;
use std::str::FromStr;

/// The absolute name of the workspace's root, as the agent and its shell may write it.
pub const ROOT: &str = "/workspace";

/// The longest component that the usual file systems take, in bytes.
const MAX_COMPONENT: usize = 255;

/// The longest path, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// A path relative to the workspace's root: plain components joined by `/`, in the exact case of
/// the file system. The root itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

/// Why a text is no path of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("it is absolute and not under {ROOT}")]
    Absolute,
    #[error("it leads out of its folder with `..`")]
    Traversal,
    #[error("`.` stands only at its start")]
    Dot,
    #[error("it has an empty component (two slashes)")]
    EmptyComponent,
    #[error("it ends in a slash, which names a folder")]
    TrailingSlash,
    #[error("it contains the character U+{:04X}", u32::from(*.0))]
    Character(char),
    #[error("a component has {0} bytes, {MAX_COMPONENT} are allowed")]
    LongComponent(usize),
    #[error("it has {0} bytes, {MAX_PATH} are allowed")]
    Long(usize),
}

impl WorkspacePath {
    /// The workspace itself.
    pub const ROOT: Self = Self(String::new());

    /// Reads the path of a file. A leading `./` and a leading `/workspace/` both stand for the
    /// root; any other absolute path is refused, and so is a trailing slash.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let relative = strip_root(text)?;
        if relative.is_empty() {
            return Ok(Self::ROOT);
        }
        if relative.len() > MAX_PATH {
            return Err(PathError::Long(relative.len()));
        }
        if let Some(stem) = relative.strip_suffix('/')
            && !stem.ends_with('/')
        {
            return Err(PathError::TrailingSlash);
        }
        for component in relative.split('/') {
            check_component(component)?;
        }
        Ok(Self(relative.to_owned()))
    }

    /// Reads the path of a folder: as [`Self::parse`], but the empty text is the root, and one
    /// trailing slash is dropped.
    pub fn parse_directory(text: &str) -> Result<Self, PathError> {
        match text.strip_suffix('/') {
            None if text.is_empty() => Ok(Self::ROOT),
            None => Self::parse(text),
            Some("") => Err(PathError::Absolute),
            Some(stem) if stem.ends_with('/') => Err(PathError::EmptyComponent),
            Some(stem) => Self::parse(stem),
        }
    }

    /// The path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the root down; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// The number of components: 0 for the root.
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// The folder that holds this, and the name in it; None for the root.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((parent, name)) => (Self(parent.to_owned()), name),
            None => (Self::ROOT, self.0.as_str()),
        })
    }

    /// The folder that holds this; None for the root.
    pub fn parent(&self) -> Option<Self> {
        self.split_last().map(|(parent, _)| parent)
    }

    /// The path of `name` inside this folder.
    pub fn join(&self, name: &str) -> Result<Self, PathError> {
        if name.contains('/') {
            return Err(PathError::Character('/'));
        }
        check_component(name)?;
        let separator = if self.is_root() { "" } else { "/" };
        let joined = format!("{}{separator}{name}", self.0);
        if joined.len() > MAX_PATH {
            return Err(PathError::Long(joined.len()));
        }
        Ok(Self(joined))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl FromStr for WorkspacePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// The text without what stands for the root.
fn strip_root(text: &str) -> Result<&str, PathError> {
    if text == "." || text == ROOT {
        return Ok("");
    }
    let relative = match text
        .strip_prefix(ROOT)
        .and_then(|rest| rest.strip_prefix('/'))
    {
        Some(rest) => rest,
        None => text.strip_prefix("./").unwrap_or(text),
    };
    if relative.is_empty() {
        return Err(PathError::TrailingSlash);
    }
    // A second slash (`.//etc`, `/workspace//etc`) is caught as an empty component.
    if text.starts_with('/') && relative.len() == text.len() {
        return Err(PathError::Absolute);
    }
    Ok(relative)
}

fn check_component(component: &str) -> Result<(), PathError> {
    if component.is_empty() {
        return Err(PathError::EmptyComponent);
    }
    if component == "." {
        return Err(PathError::Dot);
    }
    if component.len() > MAX_COMPONENT {
        return Err(PathError::LongComponent(component.len()));
    }
    if let Some(refused) = component.chars().find(|&c| is_refused(c)) {
        return Err(PathError::Character(refused));
    }
    match folded(component).as_str() {
        "." | ".." => Err(PathError::Traversal),
        _ => Ok(()),
    }
}

/// Characters that no component has: separators of other systems, everything that Unicode's
/// compatibility normalisation (NFKC) turns into text with `/` or `\`, and what would forge or hide
/// text in a listing.
fn is_refused(c: char) -> bool {
    let separator = matches!(
        c,
        '\\' | '\u{FF0F}'
            | '\u{FF3C}'
            | '\u{FE68}'
            | '\u{2100}'
            | '\u{2101}'
            | '\u{2105}'
            | '\u{2106}'
    );
    c.is_control() || separator || reorders(c)
}

/// Line breaks, and what turns the direction of text around.
fn reorders(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is not seen where it stands: what Unicode calls a default ignorable code point, but for what [`reorders`].
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{061C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206A}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Whether a character is not seen, or makes others be seen where they do not stand.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || is_invisible(c) || reorders(c)
}

/// Whether a character acts on a terminal or on the text around it: hidden, and none that words and emoji are written with.
pub fn is_acting(c: char) -> bool {
    let joins = matches!(
        c,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200C}'..='\u{200D}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
            | '\u{E0020}'..='\u{E007F}'
            | '\u{E0100}'..='\u{E01EF}'
    );
    is_hidden(c) && !joins
}

/// The component with look-alikes of dots as the dots that NFKC makes of them, and without
/// invisible characters.
fn folded(component: &str) -> String {
    let mut folded = String::with_capacity(component.len());
    for c in component.chars() {
        match c {
            '\u{2024}' | '\u{FE52}' | '\u{FF0E}' => folded.push('.'),
            '\u{2025}' | '\u{FE30}' => folded.push_str(".."),
            '\u{2026}' | '\u{FE19}' => folded.push_str("..."),
            _ if is_invisible(c) => {}
            _ => folded.push(c),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "expectations read better without &"
    )]
    fn check(text: &str, expected: Result<&str, PathError>) {
        let parsed = WorkspacePath::parse(text);
        let parsed = parsed.as_ref().map(WorkspacePath::as_str);
        assert_eq!(parsed, expected.as_ref().copied(), "{text:?}");
    }

    #[test]
    fn plain_relative_paths_are_taken_as_they_are() {
        for text in [
            "a",
            "a/b.txt",
            "Notes/März 2026/план.md",
            ".hidden",
            "...",
            "a..b/c",
            "…",
            "a b",
        ] {
            check(text, Ok(text));
        }
    }

    #[test]
    fn the_root_has_three_names() {
        check("./a/b", Ok("a/b"));
        check("/workspace/a/b", Ok("a/b"));
        check("workspace/a", Ok("workspace/a"));
        check("/workspace", Ok(""));
        check(".", Ok(""));
    }

    #[test]
    fn paths_that_leave_the_workspace_are_refused() {
        check("..", Err(PathError::Traversal));
        check("../a", Err(PathError::Traversal));
        check("a/../../b", Err(PathError::Traversal));
        check("a/..", Err(PathError::Traversal));
        check("./../a", Err(PathError::Traversal));
        check("/workspace/../etc/passwd", Err(PathError::Traversal));
        check("/etc/passwd", Err(PathError::Absolute));
        check("/workspaces/a", Err(PathError::Absolute));
        check("/proc/self/environ", Err(PathError::Absolute));
        check("/", Err(PathError::Absolute));
    }

    #[test]
    fn paths_with_two_spellings_are_refused() {
        check("", Err(PathError::Empty));
        check("a//b", Err(PathError::EmptyComponent));
        check(".//etc", Err(PathError::EmptyComponent));
        check("/workspace//etc", Err(PathError::EmptyComponent));
        check("//workspace/a", Err(PathError::Absolute));
        check("a/./b", Err(PathError::Dot));
        check("././a", Err(PathError::Dot));
        check("a/", Err(PathError::TrailingSlash));
        check("./", Err(PathError::TrailingSlash));
        check("/workspace/", Err(PathError::TrailingSlash));
    }

    #[test]
    fn control_characters_and_foreign_separators_are_refused() {
        for c in [
            '\0', '\n', '\u{1b}', '\u{7f}', '\u{85}', '\\', '\u{FF0F}', '\u{FF3C}', '\u{2105}',
            '\u{202E}',
        ] {
            check(&format!("a{c}b"), Err(PathError::Character(c)));
        }
        check("C:\\a", Err(PathError::Character('\\')));
    }

    #[test]
    fn look_alikes_of_two_dots_are_refused_and_other_look_alikes_are_not() {
        for text in [
            "\u{2025}",
            "\u{FF0E}\u{FF0E}",
            "\u{2024}.",
            "\u{FE30}/a",
            ".\u{200B}.",
            "a/\u{2024}",
            "\u{FEFF}..",
        ] {
            check(text, Err(PathError::Traversal));
        }
        for text in [
            "a\u{2025}b",
            "1\u{2044}2",
            "a\u{2215}b",
            "\u{FF0E}config",
            "pause\u{2026}.md",
            "👩\u{200D}🔬.md",
        ] {
            check(text, Ok(text));
        }
    }

    #[test]
    fn a_component_has_at_most_255_bytes() {
        check(&"a".repeat(255), Ok(&"a".repeat(255)));
        check(&"a".repeat(256), Err(PathError::LongComponent(256)));
        check(&"ä".repeat(128), Err(PathError::LongComponent(256)));
    }

    #[test]
    fn a_path_has_at_most_4096_bytes() {
        let longest = vec!["a"; 2048].join("/");
        check(&longest, Ok(&longest));
        check(&format!("{longest}/a"), Err(PathError::Long(4097)));
    }

    #[test]
    fn a_folder_may_end_in_one_slash() {
        let parse = |text| WorkspacePath::parse_directory(text).map(|path| path.0);
        assert_eq!(parse("a/b/"), Ok("a/b".into()));
        assert_eq!(parse("a/b"), Ok("a/b".into()));
        assert_eq!(parse(""), Ok(String::new()));
        assert_eq!(parse("./"), Ok(String::new()));
        assert_eq!(parse("/workspace/"), Ok(String::new()));
        assert_eq!(parse("a//"), Err(PathError::EmptyComponent));
        assert_eq!(parse("/"), Err(PathError::Absolute));
        assert_eq!(parse("../"), Err(PathError::Traversal));
    }

    #[test]
    fn a_path_splits_into_folder_and_name() {
        let path = WorkspacePath::parse("a/b/c").unwrap();
        assert_eq!(
            path.split_last(),
            Some((WorkspacePath::parse("a/b").unwrap(), "c"))
        );
        assert_eq!(path.depth(), 3);
        assert_eq!(
            WorkspacePath::parse("a").unwrap().parent(),
            Some(WorkspacePath::ROOT)
        );
        assert_eq!(WorkspacePath::ROOT.split_last(), None);
        assert_eq!(WorkspacePath::ROOT.depth(), 0);
        assert_eq!(
            WorkspacePath::ROOT.join("../x"),
            Err(PathError::Character('/'))
        );
        assert_eq!(WorkspacePath::ROOT.join(".."), Err(PathError::Traversal));
    }

    proptest! {
        #[test]
        fn whatever_parses_stays_inside_and_parses_to_itself(text in
            "(/workspace/|\\./)?[a./\\\\\u{2024}\u{FF0F}\0]{0,12}"
        ) {
            if let Ok(path) = WorkspacePath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                for component in path.components() {
                    prop_assert!(component != "." && component != "..");
                    prop_assert!(!component.contains(['\\', '\0']));
                }
                if !path.is_root() {
                    prop_assert_eq!(WorkspacePath::parse(path.as_str()), Ok(path.clone()));
                    prop_assert_eq!(path.components().collect::<Vec<_>>().join("/"), path.as_str());
                }
            }
        }
    }
}
