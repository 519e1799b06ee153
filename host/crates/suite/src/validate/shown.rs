//! What an agent can see up to a session, if it looks everywhere: its instructions, requests, files, app records, tools.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ToolText;
use super::owned::People;
use crate::manifest::Trigger;
use crate::suite::{Persona, Session, Staged, Suite};
use pibench_core::form::{composed, differs_in_form_alone};
use pibench_core::lexical::{Seen, arguments_text};

/// One text, and where it stands.
pub(super) struct Text {
    pub(super) place: String,
    pub(super) words: String,
    /// For looking up long spans at once.
    pub(super) seen: Seen,
}

impl Text {
    fn new(place: String, words: String) -> Self {
        let mut seen = Seen::default();
        seen.add(&words);
        Self { place, words, seen }
    }
}

/// Grows from session to session.
pub(super) struct Shown {
    pub(super) texts: Vec<Text>,
    /// What the user tells whoever asks: it costs no intent, so it may be none.
    pub(super) facts: Vec<Text>,
    user_md: String,
    /// By workspace path, the latest content.
    files: BTreeMap<String, String>,
    people: People,
    /// By app.
    records: BTreeMap<String, Records>,
}

/// An app's records as text.
#[derive(Default)]
pub(super) struct Records {
    /// What the user's account shows.
    pub(super) seen: String,
    /// What is between others.
    pub(super) unseen: String,
}

impl Shown {
    pub(super) fn of_persona(suite: &Suite, persona: &Persona, tools: &[ToolText]) -> Self {
        let facts = persona.facts.iter().map(|(kind, value)| {
            let place = format!("the fact `{kind}` of the persona");
            Text::new(place, format!("{kind}\n{value}"))
        });
        let mut shown = Self {
            facts: facts.collect(),
            texts: vec![Text::new("`USER.md`".into(), persona.user_md.clone())],
            user_md: persona.user_md.clone(),
            files: BTreeMap::new(),
            people: People::of(persona),
            records: BTreeMap::new(),
        };
        let tools = tools.iter().map(|tool| {
            let place = format!("the description of the tool `{}`", tool.name);
            Text::new(place, tool.text.clone())
        });
        let pages = suite.corpus.iter().map(|page| {
            let place = format!("the page {}", page.url);
            Text::new(place, format!("{}\n{}", page.title, page.text))
        });
        let skills = persona.skills.iter().filter_map(|file| {
            let text = String::from_utf8(file.content.to_vec()).ok()?;
            Some(Text::new(format!("the skill's file `{}`", file.path), text))
        });
        shown.texts.extend(tools.chain(pages).chain(skills));
        for file in &persona.files {
            shown.add_file(file, "the persona");
        }
        shown.add_records(&persona.apps);
        shown
    }

    /// What the session at this place of the episode brings, and what the reference workflow of the one before left.
    pub(super) fn add_session(&mut self, persona: &Persona, index: usize) {
        if let Some(before) = index.checked_sub(1) {
            for (path, content) in workflow_files(&persona.sessions[before]) {
                self.files.insert(path.to_owned(), content.to_owned());
            }
        }
        let session = &persona.sessions[index];
        let place = format!("the request of `{}`", session.id);
        self.texts.push(Text::new(place, opening(session)));
        for file in &session.files {
            self.add_file(file, &format!("`{}`", session.id));
        }
        self.add_records(&session.apps);
    }

    fn add_file(&mut self, file: &Staged, of: &str) {
        let place = format!("the file `{}` of {of}", file.path);
        // A file that is no text holds no words that could be compared, but it has a name.
        let text = String::from_utf8(file.content.to_vec()).unwrap_or_default();
        self.texts
            .push(Text::new(place, format!("{}\n{text}", file.path)));
        self.files.insert(file.path.clone(), text);
    }

    fn add_records(&mut self, apps: &BTreeMap<String, Value>) {
        for (app, records) in apps {
            let text = arguments_text(records);
            self.texts
                .push(Text::new(format!("the records of `{app}`"), text));
            let (seen, unseen) = self.people.split(records);
            let all = self.records.entry(app.clone()).or_default();
            for (all, more) in [(&mut all.seen, seen), (&mut all.unseen, unseen)] {
                all.push('\n');
                all.push_str(&arguments_text(&more));
            }
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The file whose path looks like this one and is another.
    pub(super) fn looks_like(&self, path: &str) -> Option<&str> {
        let mut paths = self.files.keys().map(String::as_str);
        paths.find(|there| differs_in_form_alone(path, there))
    }

    pub(super) fn records(&self, app: &str) -> Option<&Records> {
        self.records.get(app)
    }

    pub(super) fn user_md(&self) -> &str {
        &self.user_md
    }
}

/// What opens a session, as its agent reads it.
pub(super) fn opening(session: &Session) -> String {
    match &session.trigger {
        Trigger::Environment { payload, .. } => {
            format!("{}\n{}", session.request, arguments_text(payload))
        }
        Trigger::User | Trigger::Heartbeat => session.request.clone(),
    }
}

/// The files that a session's reference workflow writes as a whole.
fn workflow_files(session: &Session) -> impl Iterator<Item = (&str, &str)> {
    session.reference.iter().filter_map(|step| match step {
        crate::suite::Step::Call {
            tool, arguments, ..
        } if tool == "write_file" => Some((
            arguments.get("path")?.as_str()?,
            arguments.get("content")?.as_str()?,
        )),
        _ => None,
    })
}

/// Whether some words stand in a text, white space, case and Unicode form aside.
pub(super) fn stands_in(quote: &str, text: &str) -> bool {
    let fold = |text: &str| {
        let text = composed(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").to_lowercase()
    };
    !quote.trim().is_empty() && fold(text).contains(&fold(quote))
}

/// Bytes of some records as text.
pub(super) fn length(records: &Value) -> usize {
    arguments_text(records).len()
}
