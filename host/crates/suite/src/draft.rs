//! The beginnings of suites, personas and sessions, for authors: sound as they are, to be rewritten. It reads the pack that
//! they go into and writes nothing.

use camino::{Utf8Path, Utf8PathBuf};
use jiff::civil::DateTime;
use serde::Deserialize;
use toml::Spanned;
use toml_parser::lexer::TokenKind;

use crate::load::{PERSONA, SESSION, SUITE, TEXT_LIMIT, is_id, suite_file};
use crate::manifest::StagedFile;
use crate::pack::{Pack, ReadError};
use crate::problem::{Problem, Report, Source};
use crate::toml_file::Document;

const SUITE_TEXT: &str = include_str!("../templates/suite.toml");
const PERSONA_TEXT: &str = include_str!("../templates/persona.toml");
const HOUSE_TEXT: &str = include_str!("../templates/house.md");
const SESSION_TEXT: &str = include_str!("../templates/session.toml");

/// The workspace's file that a new session's reference workflow reads, and what it needs of it.
const HOUSE: &str = "house.md";
const HOUSE_QUOTE: &str = "hours on it are on the 24-hour clock";

/// The same where the persona has no such file: staged by the session itself, beside what the persona may call so.
const YARD: &str = "yard.md";

/// The persona and the session that a new suite has.
const FIRST: &str = "first";

/// Letters of an id that names the file of its session too.
const LONGEST_FILE: usize = 30;

/// The session that a new persona has, after the persona's id.
const FIRST_SESSION: &str = "plan";

/// When the first session of a persona opens; the next ones open a day after the last that there is.
const FIRST_CLOCK: DateTime = DateTime::constant(2026, 3, 2, 9, 0, 0, 0);

/// Files to write, by path; those that are there already are to be replaced.
#[derive(Debug, Default)]
pub struct Draft {
    pub new: Vec<(Utf8PathBuf, String)>,
    pub changed: Vec<(Utf8PathBuf, String)>,
}

/// Why nothing can be drafted. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error(
        "name it `{0}`: an id has 1 to 64 lower case letters, digits, `-` and `_`, and starts with a letter or digit"
    )]
    Id(String),
    #[error("open {path}: {source}")]
    Open {
        path: Utf8PathBuf,
        source: std::io::Error,
    },
    #[error("{source} in {dir}")]
    Read { dir: Utf8PathBuf, source: ReadError },
    #[error("read {path}: {reason}")]
    Text { path: Utf8PathBuf, reason: String },
    #[error("read {0}")]
    Toml(String),
    #[error("add a session in {dir}: want the folder of a persona, with its persona.toml; {there}")]
    NoPersona { dir: Utf8PathBuf, there: String },
    #[error(
        "open a session after the last one of {path}: its `clock` is {last}, and the last day is 9999-12-31; give that one an earlier `clock`"
    )]
    Clock { path: Utf8PathBuf, last: DateTime },
    #[error("add to `{list}` of {path}: nothing was written; write `{item}` there by hand, last")]
    Add {
        path: Utf8PathBuf,
        list: &'static str,
        item: String,
    },
}

/// A new suite in a folder, which gives it its id.
pub fn suite(dir: &Utf8Path) -> Result<Draft, DraftError> {
    let id = checked(dir.file_name().unwrap_or_default())?;
    let text = SUITE_TEXT.replace("@id@", id);
    let mut draft = new_persona(&dir.join("personas"), FIRST, FIRST);
    draft.new.insert(0, (dir.join(SUITE), text));
    Ok(draft)
}

/// A new persona with one session, in the folder `personas` beside a suite's file. The suite may be named by its folder.
pub fn persona(suite: &Utf8Path, id: &str) -> Result<Draft, DraftError> {
    #[derive(Deserialize)]
    struct Head {
        personas: Spanned<Vec<String>>,
    }

    let id = checked(id)?;
    let suite = suite_file(suite);
    let dir = suite.parent().unwrap_or(Utf8Path::new(""));
    let text = read(dir, suite.file_name().unwrap_or(SUITE))?;
    let head: Head = parsed(&suite, &text)?;
    let item = format!("\"personas/{id}\"");
    let session = format!("{id}-{FIRST_SESSION}");
    let mut draft = new_persona(&dir.join("personas"), id, &session);
    let count = head.personas.get_ref().len();
    let changed = with_item(&text, head.personas.span().end, &item);
    let is_grown = |head: &Head| head.personas.get_ref().len() == count + 1;
    let changed = grown(&suite, changed, is_grown).ok_or_else(|| DraftError::Add {
        path: suite.clone(),
        list: "personas",
        item,
    })?;
    draft.changed = vec![(suite, changed)];
    Ok(draft)
}

/// A new session of a persona, last in the episode.
pub fn session(persona: &Utf8Path, id: &str) -> Result<Draft, DraftError> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        episode: Option<Spanned<Vec<Entry>>>,
        #[serde(default)]
        files: Vec<StagedFile>,
    }
    #[derive(Deserialize)]
    struct Entry {
        session: String,
    }

    let id = checked(id)?;
    check_persona(persona)?;
    let path = persona.join(PERSONA);
    let written = read(persona, PERSONA)?;
    let head: Head = parsed(&path, &written)?;
    let entries = head.episode.iter().flat_map(Spanned::get_ref);
    let clock = next_clock(persona, entries.map(|entry| entry.session.as_str()))?;
    let count = head.episode.as_ref().map_or(0, |list| list.get_ref().len());
    let item = format!("{{ session = \"{id}\" }}");
    let in_list = head
        .episode
        .filter(|list| written[list.span()].starts_with('['));
    let in_list = in_list.filter(|list| !written[list.span()].starts_with("[["));
    let changed = match in_list {
        Some(episode) => with_item(&written, episode.span().end, &item),
        // Tables of a list may stand at the end of the file.
        None => format!(
            "{}\n\n[[episode]]\nsession = \"{id}\"\n",
            written.trim_end()
        ),
    };
    let is_grown = |head: &Head| {
        let list = head.episode.as_ref();
        list.is_some_and(|list| list.get_ref().len() == count + 1)
    };
    let changed = grown(&path, changed, is_grown).ok_or_else(|| DraftError::Add {
        path: path.clone(),
        list: "episode",
        item,
    })?;
    let dir = persona.join("sessions").join(id);
    let text = session_text(id, clock);
    let new = if head.files.iter().any(|file| is_house(persona, file)) {
        vec![(dir.join(SESSION), text)]
    } else {
        vec![
            (dir.join(SESSION), with_yard(&text)),
            (dir.join(YARD), HOUSE_TEXT.to_owned()),
        ]
    };
    Ok(Draft {
        new,
        changed: vec![(path, changed)],
    })
}

/// Refuses a folder that is no persona's; of a suite's the personas are named.
fn check_persona(dir: &Utf8Path) -> Result<(), DraftError> {
    #[derive(Deserialize)]
    struct Head {
        personas: Vec<String>,
    }

    if dir.join(PERSONA).exists() {
        return Ok(());
    }
    let suite = suite_file(dir);
    let (folder, name) = (suite.parent().unwrap_or(dir), suite.file_name());
    let head = read(folder, name.unwrap_or(SUITE)).and_then(|text| parsed::<Head>(&suite, &text));
    let there = match head {
        Ok(Head { personas }) if !personas.is_empty() => {
            let folders = personas.iter().map(|persona| folder.join(persona));
            let folders: Vec<String> = folders.map(Utf8PathBuf::into_string).collect();
            format!("{suite} names {}", folders.join(", "))
        }
        _ => "`pibench-host persona new` makes one".to_owned(),
    };
    Err(DraftError::NoPersona {
        dir: dir.to_owned(),
        there,
    })
}

/// A day after the last of these sessions.
fn next_clock<'e>(
    persona: &Utf8Path,
    episode: impl Iterator<Item = &'e str>,
) -> Result<DateTime, DraftError> {
    #[derive(Deserialize)]
    struct Opens {
        clock: toml::value::Datetime,
    }

    let mut last: Option<DateTime> = None;
    for session in episode {
        let path = format!("sessions/{session}/{SESSION}");
        let opens: Opens = parsed(&persona.join(&path), &read(persona, &path)?)?;
        last = last.max(opens.clock.to_string().parse().ok());
    }
    let Some(last) = last else {
        return Ok(FIRST_CLOCK);
    };
    last.tomorrow().map_err(|_| DraftError::Clock {
        path: persona.join(PERSONA),
        last,
    })
}

/// Whether a file of the persona's is the one that a new session's reference workflow reads.
fn is_house(persona: &Utf8Path, StagedFile { source, path }: &StagedFile) -> bool {
    let name = path.as_deref().or(Utf8Path::new(source).file_name());
    name == Some(HOUSE) && read(persona, source).is_ok_and(|text| text.contains(HOUSE_QUOTE))
}

/// The session's text with the file that it needs staged by itself.
fn with_yard(text: &str) -> String {
    let staged = format!("# What it stages.\n[[files]]\nsource = \"{YARD}\"\n\n");
    let reference = "# A workflow that leaves nothing open.\n";
    text.replace(HOUSE, YARD)
        .replace(reference, &format!("{staged}{reference}"))
}

fn checked(id: &str) -> Result<&str, DraftError> {
    is_id(id)
        .then_some(id)
        .ok_or_else(|| DraftError::Id(id.to_owned()))
}

fn new_persona(personas: &Utf8Path, id: &str, session: &str) -> Draft {
    let dir = personas.join(id);
    let text = PERSONA_TEXT
        .replace("@id@", id)
        .replace("@session@", session);
    let file = dir.join("sessions").join(session).join(SESSION);
    Draft {
        new: vec![
            (dir.join(PERSONA), text),
            (dir.join(HOUSE), HOUSE_TEXT.to_owned()),
            (file, session_text(session, FIRST_CLOCK)),
        ],
        changed: Vec::new(),
    }
}

fn session_text(id: &str, clock: DateTime) -> String {
    // Request and checklist both name the file: as many words in common as a leak has, where the name is long.
    let file = match id.len() {
        0..=LONGEST_FILE => format!("{id}.md"),
        _ => format!("plan-{}.md", clock.date()),
    };
    let text = SESSION_TEXT.replace("@id@", id).replace("@file@", &file);
    text.replace("@clock@", &clock.to_string())
        .replace("@category@", "A")
}

fn read(dir: &Utf8Path, path: &str) -> Result<String, DraftError> {
    let open = |source| DraftError::Open {
        path: dir.to_owned(),
        source,
    };
    let read = |source| DraftError::Read {
        dir: dir.to_owned(),
        source,
    };
    let mut pack = Pack::open(dir).map_err(open)?;
    let content = pack.read(path, TEXT_LIMIT).map_err(read)?;
    String::from_utf8(content).map_err(|_| DraftError::Text {
        path: dir.join(path),
        reason: "it is no UTF-8".into(),
    })
}

fn parsed<T: for<'de> Deserialize<'de>>(path: &Utf8Path, text: &str) -> Result<T, DraftError> {
    let source = Source {
        path: path.to_owned(),
        text: text.into(),
    };
    let failed = |problem: &Problem| DraftError::Toml(problem.to_line());
    let mut report = Report::new(&source);
    if Document::parse(text, &mut report).is_none() {
        let problems = report.finish();
        let first = problems.first().map(failed);
        return Err(first.unwrap_or_else(|| DraftError::Toml(path.to_string())));
    }
    toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        failed(&Problem::at(&source, span, error.message()))
    })
}

/// The changed text of a file, where it still reads and its list is the longer one.
fn grown<T: for<'de> Deserialize<'de>>(
    path: &Utf8Path,
    changed: String,
    is_grown: impl FnOnce(&T) -> bool,
) -> Option<String> {
    let head: T = parsed(path, &changed).ok()?;
    is_grown(&head).then_some(changed)
}

/// The text with one more item in the list that ends at `end`, on a line of its own where the list has several. Comments behind
/// the last item stay there.
fn with_item(text: &str, end: usize, item: &str) -> String {
    let close = end - 1;
    let is_blank = |kind: TokenKind| {
        matches!(
            kind,
            TokenKind::Whitespace | TokenKind::Comment | TokenKind::Newline
        )
    };
    let tokens = toml_parser::Source::new(text).lex();
    let before = tokens.take_while(|token| token.span().start() < close);
    let Some(last) = before.filter(|token| !is_blank(token.kind())).last() else {
        return text.to_owned();
    };
    let (items, rest) = text[..close].split_at(last.span().end());
    let after = &text[close..];
    let comma = match last.kind() {
        TokenKind::Comma | TokenKind::LeftSquareBracket => "",
        _ => ",",
    };
    if rest.contains('\n') {
        let comments = rest.trim_end();
        format!("{items}{comma}{comments}\n    {item},\n{after}")
    } else {
        let blank = if last.kind() == TokenKind::LeftSquareBracket {
            ""
        } else {
            " "
        };
        format!("{items}{comma}{blank}{item}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_goes_to_the_end_of_a_list_in_its_own_style() {
        let check = |text: &str, expected: &str| {
            let end = text.rfind(']').unwrap() + 1;
            assert_eq!(with_item(text, end, "z"), expected);
        };
        check("a = [x] # y", "a = [x, z] # y");
        check("a = []", "a = [z]");
        check(
            "a = [\n    x,\n    y,\n]\n",
            "a = [\n    x,\n    y,\n    z,\n]\n",
        );
        check("a = [\n    x\n]", "a = [\n    x,\n    z,\n]");
        check(
            "a = [\n    x # the move, ] and }\n]",
            "a = [\n    x, # the move, ] and }\n    z,\n]",
        );
        check(
            "a = [\n    \"#\", # one\n    # none\n]",
            "a = [\n    \"#\", # one\n    # none\n    z,\n]",
        );
        check(
            "a = [\n    { s = \"# }\" } # }\n]",
            "a = [\n    { s = \"# }\" }, # }\n    z,\n]",
        );
        check("a = [ # none\n]", "a = [ # none\n    z,\n]");
    }

    #[test]
    fn a_changed_text_is_taken_where_it_reads_and_its_list_is_longer() {
        let taken = |text: &str| {
            let is_grown = |table: &toml::Table| table["a"].as_array().unwrap().len() == 2;
            grown(Utf8Path::new("a.toml"), text.to_owned(), is_grown).is_some()
        };
        assert!(taken("a = [1, 2]"));
        assert!(!taken("a = [1 # c, 2]"));
        assert!(!taken("a = [1] # 2"));
    }

    #[test]
    fn the_files_that_a_session_needs_say_what_it_quotes() {
        assert!(HOUSE_TEXT.contains(HOUSE_QUOTE) && SESSION_TEXT.contains(HOUSE_QUOTE));
        let text = with_yard(SESSION_TEXT);
        assert!(text.contains("source = \"yard.md\"") && !text.contains(HOUSE));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in ["", "A", "a b", "é"] {
            assert!(
                matches!(suite(Utf8Path::new(bad)), Err(DraftError::Id(_))),
                "{bad}"
            );
        }
        assert_eq!(suite(Utf8Path::new("deep/mine")).unwrap().new.len(), 4);
    }
}
