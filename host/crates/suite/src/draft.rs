//! The beginnings of suites, personas and sessions, for authors: sound as they are, to be rewritten. It reads the pack that
//! they go into and writes nothing.

use camino::{Utf8Path, Utf8PathBuf};
use jiff::civil::DateTime;
use serde::Deserialize;
use toml::Spanned;

use crate::load::{PERSONA, SESSION, SUITE, TEXT_LIMIT, is_id};
use crate::pack::{Pack, ReadError};

const SUITE_TEXT: &str = include_str!("../templates/suite.toml");
const PERSONA_TEXT: &str = include_str!("../templates/persona.toml");
const HOUSE_TEXT: &str = include_str!("../templates/house.md");
const SESSION_TEXT: &str = include_str!("../templates/session.toml");

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
}

/// A new suite in a folder, which gives it its id.
pub fn suite(dir: &Utf8Path) -> Result<Draft, DraftError> {
    let id = checked(dir.file_name().unwrap_or_default())?;
    let text = SUITE_TEXT.replace("@id@", id);
    let mut draft = new_persona(&dir.join("personas"), FIRST, FIRST);
    draft.new.insert(0, (dir.join(SUITE), text));
    Ok(draft)
}

/// A new persona with one session, in the folder `personas` beside a suite's file.
pub fn persona(suite: &Utf8Path, id: &str) -> Result<Draft, DraftError> {
    #[derive(Deserialize)]
    struct Head {
        personas: Spanned<Vec<String>>,
    }

    let id = checked(id)?;
    let dir = suite.parent().unwrap_or(Utf8Path::new(""));
    let text = read(dir, suite.file_name().unwrap_or(SUITE))?;
    let head: Head = parsed(suite, &text)?;
    let item = format!("\"personas/{id}\"");
    let session = format!("{id}-{FIRST_SESSION}");
    let mut draft = new_persona(&dir.join("personas"), id, &session);
    draft.changed = vec![(
        suite.to_owned(),
        with_item(&text, head.personas.span().end, &item),
    )];
    Ok(draft)
}

/// A new session of a persona, last in the episode.
pub fn session(persona: &Utf8Path, id: &str) -> Result<Draft, DraftError> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        episode: Option<Spanned<Vec<Entry>>>,
    }
    #[derive(Deserialize)]
    struct Entry {
        session: String,
    }
    #[derive(Deserialize)]
    struct Opens {
        clock: toml::value::Datetime,
    }

    let id = checked(id)?;
    let written = read(persona, PERSONA)?;
    let head: Head = parsed(&persona.join(PERSONA), &written)?;
    let mut last: Option<DateTime> = None;
    for Entry { session } in head.episode.iter().flat_map(Spanned::get_ref) {
        let path = format!("sessions/{session}/{SESSION}");
        let opens: Opens = parsed(&persona.join(&path), &read(persona, &path)?)?;
        last = last.max(opens.clock.to_string().parse().ok());
    }
    let clock = last.and_then(|last| last.tomorrow().ok());
    let file = persona.join("sessions").join(id).join(SESSION);
    let entry = format!("{{ session = \"{id}\" }}");
    let in_list = head
        .episode
        .filter(|list| written[list.span()].starts_with('['));
    let in_list = in_list.filter(|list| !written[list.span()].starts_with("[["));
    let changed = match in_list {
        Some(episode) => with_item(&written, episode.span().end, &entry),
        // Tables of a list may stand at the end of the file.
        None => format!(
            "{}\n\n[[episode]]\nsession = \"{id}\"\n",
            written.trim_end()
        ),
    };
    Ok(Draft {
        new: vec![(file, session_text(id, clock.unwrap_or(FIRST_CLOCK)))],
        changed: vec![(persona.join(PERSONA), changed)],
    })
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
            (dir.join("house.md"), HOUSE_TEXT.to_owned()),
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
    let failed = |reason: String| DraftError::Text {
        path: path.to_owned(),
        reason,
    };
    if crate::depth::too_deep(text).is_some() {
        return Err(failed("it is nested too deep".into()));
    }
    toml::from_str(text).map_err(|error| failed(error.message().to_owned()))
}

/// The text with one more item in the list that ends at `end`, on a line of its own where the list has several.
fn with_item(text: &str, end: usize, item: &str) -> String {
    let (before, after) = text.split_at(end - 1);
    let items = before.trim_end();
    let comma = if items.ends_with([',', '[']) { "" } else { "," };
    let is_long = before.len() > items.len() && before[items.len()..].contains('\n');
    if is_long {
        format!("{items}{comma}\n    {item},\n{after}")
    } else {
        let blank = if items.ends_with('[') { "" } else { " " };
        format!("{items}{comma}{blank}{item}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_goes_to_the_end_of_a_list_in_its_own_style() {
        let check = |text: &str, expected: &str| {
            let end = text.find(']').unwrap() + 1;
            assert_eq!(with_item(text, end, "z"), expected);
        };
        check("a = [x] # y", "a = [x, z] # y");
        check("a = []", "a = [z]");
        check(
            "a = [\n    x,\n    y,\n]\n",
            "a = [\n    x,\n    y,\n    z,\n]\n",
        );
        check("a = [\n    x\n]", "a = [\n    x,\n    z,\n]");
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
