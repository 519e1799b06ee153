//! `pack.toml`: what a pack is called, whose it is, and what it needs.

use std::ops::Range;

use pibench_core::path::is_hidden;
use serde::{Deserialize, Serialize};

/// The file's name, in the pack's own folder.
pub const FILE: &str = pibench_vault::PACK_FILE;

/// Bytes of the file.
pub const LIMIT: u64 = 64 << 10;

/// The version of the format.
const VERSION: u32 = 1;

/// Letters of a name or a release, and of what a person is shown in one line.
const NAME_LIMIT: usize = 64;
const LINE_LIMIT: usize = 200;
const AUTHORS_LIMIT: usize = 100;

/// What the file may say.
const KEYS: [&str; 7] = [
    "version", "name", "release", "title", "authors", "license", "host",
];

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format's version: 1.
    pub version: u32,
    /// Lower case letters, digits and single `-`: names are told apart by eye.
    pub name: String,
    /// Three numbers with points between them, as in `1.0.0`.
    pub release: String,
    #[serde(default)]
    pub title: String,
    /// Such as `Ana Ruiz <ana@lab.example>`.
    #[serde(default)]
    pub authors: Vec<String>,
    /// An SPDX expression, such as `CC-BY-4.0`.
    pub license: String,
    /// The oldest release of the host that plays it. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Manifest {
    /// Reads the file's text. The error reads after a colon.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Tables in it would be unknown keys: three levels are more than any file has.
        if let Some(at) = pibench_suite::depth::too_deep(text) {
            return Err(format!("nested too deep at byte {}", at.start));
        }
        let manifest: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        match manifest.wrong().into_iter().next() {
            Some((_, reason)) => Err(reason),
            None => Ok(manifest),
        }
    }

    /// Everything that is wrong with the file's text, each with its place in bytes where it has one.
    pub fn problems(text: &str) -> Vec<(Option<Range<usize>>, String)> {
        if let Some(at) = pibench_suite::depth::too_deep(text) {
            return vec![(Some(at), "nested too deep".into())];
        }
        let mut table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return vec![(error.span(), error.message().to_owned())],
        };
        let unknown = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
        let told = |key: &String| (line_of(text, key), format!("unknown key `{}`", shown(key)));
        let mut found: Vec<_> = unknown.map(told).collect();
        table.retain(|key, _| KEYS.contains(&key));
        match table.try_into::<Self>() {
            Ok(manifest) => {
                let wrong = manifest.wrong().into_iter();
                found.extend(wrong.map(|(key, reason)| (line_of(text, key), reason)));
            }
            Err(error) => found.push((None, error.message().to_owned())),
        }
        found
    }

    /// What of its values cannot be.
    fn wrong(&self) -> Vec<(&'static str, String)> {
        let Self {
            version,
            name,
            release,
            title,
            authors,
            license,
            host,
        } = self;
        if *version != VERSION {
            let reason = format!(
                "version {version} of the format is not known; this host reads version {VERSION}"
            );
            return vec![("version", reason)];
        }
        let mut wrong = Vec::new();
        let mut hold = |key, held: Result<(), String>| {
            wrong.extend(held.err().map(|reason| (key, reason)));
        };
        hold("name", check_name(name));
        hold("release", check_release("release", release));
        if let Some(host) = host {
            hold("host", check_release("host", host));
        }
        if authors.len() > AUTHORS_LIMIT {
            hold("authors", Err(format!("more than {AUTHORS_LIMIT} authors")));
        }
        for author in authors {
            hold("authors", check_line(author));
        }
        hold("title", check_line(title));
        let is_license = check_line(license).and_then(|()| check_license(license));
        hold("license", is_license);
        wrong
    }

    /// Whether a host of that release plays it, as far as it says.
    pub fn plays_on(&self, host: &str) -> bool {
        let needed = self.host.as_deref().and_then(numbers);
        needed.is_none_or(|needed| numbers(host).is_some_and(|host| host >= needed))
    }
}

/// The line of a key, in bytes.
fn line_of(text: &str, key: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.split('=').next().map(str::trim) == Some(key) {
            return Some(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    None
}

/// Refuses names that a reader could take for others. The error reads after a colon.
pub fn check_name(name: &str) -> Result<(), String> {
    let parts = name.split('-');
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if name.len() <= NAME_LIMIT && parts.into_iter().all(plain) {
        return Ok(());
    }
    Err(format!(
        "`{}` is no name of a pack: lower case letters and digits, with single `-` between them, at most {NAME_LIMIT}",
        shown(name)
    ))
}

/// Refuses what is no release. The error reads after a colon.
pub fn check_release(key: &str, release: &str) -> Result<(), String> {
    match numbers(release) {
        Some(_) => Ok(()),
        None => Err(format!(
            "`{key}` is `{}`, and a release is three numbers, as in 1.0.0",
            shown(release)
        )),
    }
}

/// The numbers of a release; None where it is written in another way than they are.
pub fn numbers(release: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = release.split('.').map(|one| one.parse().ok()).collect();
    let numbers: [u32; 3] = numbers?.try_into().ok()?;
    let [major, minor, patch] = numbers;
    (format!("{major}.{minor}.{patch}") == release).then_some(numbers)
}

fn check_license(license: &str) -> Result<(), String> {
    let parsed = spdx::Expression::parse(license).map(drop);
    parsed.map_err(|error| {
        format!(
            "`license`: `{}` is no SPDX expression ({}); write one, such as CC-BY-4.0, or LicenseRef-NAME for terms of your own",
            shown(license),
            error.reason
        )
    })
}

fn check_line(line: &str) -> Result<(), String> {
    if line.chars().count() > LINE_LIMIT {
        return Err(format!("a text of more than {LINE_LIMIT} letters"));
    }
    match line.chars().find(|&c| is_hidden(c)) {
        Some(c) => Err(format!(
            "`{}` holds the character U+{:04X}",
            shown(line),
            u32::from(c)
        )),
        None => Ok(()),
    }
}

/// A foreign word in a message.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, release: &str, more: &str) -> String {
        format!("version = 1\nname = {name:?}\nrelease = {release:?}\nlicense = \"MIT\"\n{more}")
    }

    fn check(text: &str, expected: &str) {
        match Manifest::parse(text) {
            Ok(_) => assert_eq!(expected, "", "{text}"),
            Err(said) => assert!(!expected.is_empty() && said.contains(expected), "{said}"),
        }
    }

    #[test]
    fn a_pack_has_a_plain_name_and_a_release() {
        check(&text("clinic-2", "1.0.0", "host = \"0.1.0\""), "");
        for name in [
            "",
            "-a",
            "a-",
            "a--b",
            "Clinic",
            "cl\u{456}nic",
            "../a",
            "a b",
            &"a".repeat(65),
        ] {
            check(&text(name, "1.0.0", ""), "is no name of a pack");
        }
        for release in [
            "", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "+1.0.0", "1.0.0-a",
        ] {
            check(&text("a", release, ""), "three numbers");
        }
        check(&text("a", "1.0.0", "host = \"new\""), "`host` is `new`");
        check(&text("a", "1.0.0", "colour = 1"), "unknown field `colour`");
        for license in ["", "Apache 2", "free"] {
            let text = text("a", "1.0.0", "").replace("MIT", license);
            check(&text, "is no SPDX expression");
        }
        check(&text("a", "1.0.0", "title = \"a\\u001b[31m\""), "U+001B");
        check(&text("a", "1.0.0", "title = \"a\\u202eb\""), "U+202E");
        check(
            "version = 2\nname = \"a\"\nrelease = \"1.0.0\"\nlicense = \"MIT\"",
            "version 2",
        );
        check(
            &format!("a = {}1{}", "[".repeat(200_000), "]".repeat(200_000)),
            "nested",
        );
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let sound = text("a", "1.0.0", "host = \"0.1.0\"");
        assert_eq!(Manifest::problems(&sound), []);
        let all = text("A b", "1.0", "colour = 1\ntitle = \"a\\u001b\"").replace("MIT", "CC BY");
        let found = Manifest::problems(&all);
        let lines = found.iter().map(|(place, _)| &all[place.clone().unwrap()]);
        let keys: Vec<&str> = lines.map(|line| line.split(' ').next().unwrap()).collect();
        let expected = ["colour", "name", "release", "title", "license"];
        assert_eq!(keys, expected, "{found:?}");
        assert_eq!(found[0].1, "unknown key `colour`");
        let newer = sound.replace("version = 1", "version = 2");
        for bad in ["name = 1", "= 1", "", &newer] {
            let (told, parsed) = (Manifest::problems(bad), Manifest::parse(bad));
            assert!(told.len() == 1 && parsed.is_err(), "{bad}: {told:?}");
        }
    }

    #[test]
    fn a_license_is_an_spdx_expression() {
        for license in ["Apache-2.0 OR MIT", "CC-BY-NC-4.0", "LicenseRef-Clinic"] {
            let text = text("a", "1.0.0", "").replace("MIT", license);
            assert_eq!(Manifest::parse(&text).unwrap().license, license);
        }
    }

    #[test]
    fn what_a_pack_needs_is_held_against_the_hosts_release() {
        let needs = |host: &str| Manifest::parse(&text("a", "1.0.0", host)).unwrap();
        assert!(needs("").plays_on("0.1.0"));
        assert!(needs("host = \"0.9.10\"").plays_on("0.10.0"));
        assert!(needs("host = \"0.1.0\"").plays_on("0.1.0"));
        assert!(!needs("host = \"0.2.0\"").plays_on("0.1.9"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader(text: String) {
            let _ = Manifest::parse(&text);
        }
    }
}
