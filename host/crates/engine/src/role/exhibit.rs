//! Evidence as a model is shown it: every text fenced, and whole where there is room for all. Where there is not, texts are
//! cut and then left out, the least relevant first. Which of it counts under which protocol is decided here; what it means is not.
//!
//! The judge of rubrics is shown whatever a matcher may look at: the conversation, every call with its arguments, and
//! every file that the agent changed. What the session's author names is shown in full and goes last.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use super::evidence::{Content, TurnEvidence};
use super::fence::{NOT_SHOWN, Nonce, bounded, indented, one_line};
use pibench_core::matcher::{Matcher, Place};
use pibench_core::message::Image;
use pibench_core::record::{CallRecord, CallStatus, ChangeKind, FileChange, Speaker, Utterance};
use pibench_core::vocabulary::{Protocol, ToolEvidence, WHOLE};

/// Characters of all evidence of one question. About 100,000 tokens of Latin script, and up to four times as many of others:
/// where a server says that they are too many, half of it is asked with, and half of that.
pub(crate) const ROOM: usize = 360_000;

/// The least that is asked with. A model whose window has no room for it judges no session of that length.
pub(crate) const LEAST_ROOM: usize = ROOM / 8;

/// Characters of single texts.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// One message of the conversation, and what a turn added to a file.
    text: usize,
    file: usize,
    /// One call's arguments, and its result.
    call: usize,
}

impl Limits {
    /// Where there is room for all.
    const WIDE: Self = Self {
        text: ROOM,
        file: ROOM,
        call: ROOM,
    };

    /// Where there is not: each leaves room for others.
    fn narrow(room: usize) -> Self {
        Self {
            text: room / 18,
            file: room / 6,
            call: room / 45,
        }
    }
}

/// Characters of the arguments of a call that is shown in short.
const SHORT_LIMIT: usize = 600;

/// Characters of a tool's name, of an argument's name or of a path: a model may call whatever it likes.
const NAME_LIMIT: usize = 300;

/// What stands for the result of a call that is not known to have done anything.
const LOOKED_UP: &str = "not shown, as of every call that only looked something up: it is no evidence, neither for nor against";

/// What the names of calls begin with that an agent's program tells of itself.
const TOLD: &str = "agent.";

/// What stands beside the status of such a call.
const NO_PROOF: &str = ", as the assistant's own program tells it: no proof that anything was done";

/// Letters and digits from which a file's name is one: no "e.g".
const SHORTEST_NAME: usize = 3;

/// Pictures of one question.
const MOST_PICTURES: usize = 4;

/// Evidence as it goes into a prompt: every text fenced, an empty one where there is nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) response: String,
    pub(crate) conversation: String,
    /// What the agent did in earlier turns.
    pub(crate) earlier: String,
    pub(crate) calls: String,
    pub(crate) changes: String,
    pub(crate) files: String,
    pub(crate) tools: String,
    /// After the text, in this order.
    pub(crate) pictures: Vec<Picture>,
}

/// The evidence as it is shown in so many characters.
pub(crate) type Show<'a> = dyn Fn(usize) -> Shown + Send + Sync + 'a;

/// A picture with the line that stands above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) head: String,
    pub(crate) image: Image,
}

/// Where in a prompt something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Conversation,
    Earlier,
    Response,
    Calls,
    Changes,
    Tools,
    Files,
}

/// What goes first when there is no room for all; within one rank, the older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A call that only looked something up.
    Lookup,
    /// A call that an agent's program tells of itself.
    Told,
    /// A call whose work stands among the files.
    Repeated,
    /// What was said between the request and the response.
    Talk,
    File,
    Act,
    /// What an item or the session's author names.
    NamedCall,
    NamedFile,
    /// The request and the response: never left out.
    Core,
}

/// One fenced text.
struct Exhibit {
    section: Section,
    rank: Rank,
    text: String,
    /// The same in short, where there is such a thing.
    short: Option<String>,
}

/// What is asked about, as far as it names evidence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject<'a> {
    /// Of the intents or items: what offline stands in for the judge.
    pub(crate) matchers: Vec<&'a Matcher>,
    /// Their texts.
    pub(crate) texts: Vec<&'a str>,
    /// The calls that the session's author wants shown.
    pub(crate) selection: &'a [ToolEvidence],
}

impl Subject<'_> {
    fn names_tool(&self, tool: &str) -> bool {
        let place = Place::Arguments { tool: tool.into() };
        self.matchers.iter().any(|matcher| matcher.names(&place))
            || self.selection.iter().any(|wanted| wanted.tool == tool)
    }

    /// By its path; where no other file has its name (`is_only`), by that.
    fn names_file(&self, path: &str, is_only: impl Fn() -> bool) -> bool {
        let place = Place::File { path: path.into() };
        let name = file_name(path);
        let said = |text: &&str| holds_name(text, path) || (holds_name(text, name) && is_only());
        self.matchers.iter().any(|matcher| matcher.names(&place))
            || (is_name(name) && self.texts.iter().any(said))
    }

    fn result_fields(&self, tool: &str) -> impl Iterator<Item = &String> {
        let of_tool = self.selection.iter().filter(move |one| one.tool == tool);
        of_tool.flat_map(|wanted| &wanted.result)
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether texts name files by such a name: it has an ending. An agent calls its files what it likes, and `e` or `or` stand in
/// any text.
fn is_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let has_ending = ending.is_some_and(|ending| ending.starts_with(char::is_alphabetic));
    has_ending && name.chars().filter(|one| one.is_alphanumeric()).count() >= SHORTEST_NAME
}

/// Whether a name stands in a text as a word of its own, and is not a part of a longer path. Scripts without blanks have letters
/// around it.
fn holds_name(text: &str, name: &str) -> bool {
    let joins = |one: char| one.is_ascii_alphanumeric() || "_-/".contains(one);
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut behind = text[at + name.len()..].chars();
        let after = match behind.next() {
            // The end of a sentence, or one more ending.
            Some('.') => behind.next(),
            after => after,
        };
        let joined = before.is_some_and(|one| joins(one) || one == '.') || after.is_some_and(joins);
        !joined
    })
}

/// Shows the evidence of one turn to one model.
pub(crate) struct View<'a> {
    evidence: &'a TurnEvidence,
    nonce: &'a Nonce,
    subject: Subject<'a>,
    /// The numbers of the pictures that are shown, by path.
    pictures: BTreeMap<&'a str, usize>,
    /// Whether the model can be shown pictures.
    vision: bool,
    limits: Limits,
    /// Characters.
    room: usize,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        evidence: &'a TurnEvidence,
        nonce: &'a Nonce,
        subject: Subject<'a>,
        vision: bool,
    ) -> Self {
        Self {
            evidence,
            nonce,
            subject,
            pictures: BTreeMap::new(),
            vision,
            limits: Limits::WIDE,
            room: ROOM,
        }
    }

    /// The same in so many characters.
    pub(crate) fn within(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// What was said before, and this turn's response.
    pub(crate) fn dialogue(self) -> Shown {
        self.fitted(|view| {
            let mut exhibits = view.conversation(view.evidence.before());
            exhibits.push(view.response());
            exhibits
        })
    }

    /// What the agent did: in this turn, and before it in the session.
    pub(crate) fn turn(mut self) -> Shown {
        self.choose_pictures();
        self.fitted(Self::of_turn)
    }

    /// The latest response alone: what the released code looks at in stage 2.
    pub(crate) fn released_question(self) -> Shown {
        self.fitted(|view| vec![view.response()])
    }

    /// The session up to now, for the judge of rubrics.
    pub(crate) fn session(mut self) -> Shown {
        self.choose_pictures();
        self.fitted(Self::of_session)
    }

    /// The final response and the session's files: what the released code looks at in stage 1.
    pub(crate) fn released_turn(self) -> Shown {
        self.fitted(|view| {
            let mut exhibits = view.files_read();
            exhibits.push(view.response());
            exhibits
        })
    }

    /// The conversation, the fields that the author selected of each tool's last call of the turn, and the session's files: what
    /// the released code looks at for rubrics.
    pub(crate) fn released_session(self) -> Shown {
        self.fitted(|view| {
            let mut exhibits = view.conversation(&view.evidence.messages);
            for wanted in view.subject.selection {
                let mut calls = view.evidence.all_calls.iter().rev();
                let is_last = |call: &&CallRecord| {
                    call.turn == view.evidence.turn && call.tool == wanted.tool
                };
                exhibits.push(view.selected(wanted, calls.find(is_last)));
            }
            exhibits.extend(view.files_read());
            exhibits
        })
    }

    /// Every text is whole where there is room for all.
    fn fitted(mut self, exhibits: impl Fn(&Self) -> Vec<Exhibit>) -> Shown {
        let mut shown = exhibits(&self);
        if length(&shown) > self.room {
            self.limits = Limits::narrow(self.room);
            narrow(&mut shown, exhibits(&self), self.room);
        }
        Shown {
            pictures: self.shown_pictures(),
            ..fit(shown, self.room)
        }
    }

    fn of_turn(&self) -> Vec<Exhibit> {
        let turn = self.evidence.turn;
        let mut exhibits = self.conversation(self.evidence.before());
        exhibits.push(self.response());
        for call in self.evidence.all_calls.iter() {
            exhibits.push(self.call_of_turn(call, call.turn < turn));
        }
        for change in self.last_changes() {
            exhibits.push(if change.turn < turn {
                self.file(&change.path, Some(change), Section::Earlier, "earlier file")
            } else {
                self.change(change)
            });
        }
        exhibits
    }

    fn of_session(&self) -> Vec<Exhibit> {
        let mut exhibits = self.conversation(&self.evidence.messages);
        let calls = self.evidence.all_calls.iter();
        exhibits.extend(calls.map(|call| self.call_of_session(call)));
        exhibits.extend(self.files_read());
        for change in self.last_changes() {
            if !self.evidence.files_read.contains(&change.path) {
                exhibits.push(self.file(&change.path, Some(change), Section::Files, "file"));
            }
        }
        exhibits
    }

    fn response(&self) -> Exhibit {
        let text = bounded(self.evidence.said(), self.limits.text);
        Exhibit::new(
            Section::Response,
            Rank::Core,
            self.nonce.fence("response", &text),
        )
    }

    /// The first message is the request.
    fn conversation(&self, messages: &[Utterance]) -> Vec<Exhibit> {
        let shown = |(at, utterance): (usize, &Utterance)| {
            let speaker = match utterance.speaker {
                Speaker::User => "user",
                Speaker::Agent => "assistant",
            };
            let label = format!("turn {}, {speaker}", utterance.turn);
            let rank = if at == 0 { Rank::Core } else { Rank::Talk };
            let text = self
                .nonce
                .fence(&label, &bounded(&utterance.text, self.limits.text));
            Exhibit::new(Section::Conversation, rank, text)
        };
        messages.iter().enumerate().map(shown).collect()
    }

    fn call_of_turn(&self, call: &CallRecord, earlier: bool) -> Exhibit {
        let named = self.subject.names_tool(&call.tool);
        let rank = rank(call, named);
        let label = format!("call {}", call.number);
        if !earlier {
            return self.call(call, &label, Section::Calls, rank, Form::Whole);
        }
        let label = format!("earlier {label}, turn {}", call.turn);
        let form = if rank == Rank::Lookup {
            Form::Short
        } else {
            Form::Whole
        };
        self.call(call, &label, Section::Earlier, rank, form)
    }

    fn call_of_session(&self, call: &CallRecord) -> Exhibit {
        let rank = rank(call, self.subject.names_tool(&call.tool));
        let form = if rank == Rank::Lookup {
            Form::Short
        } else {
            Form::Whole
        };
        let label = format!("call {}, turn {}", call.number, call.turn);
        self.call(call, &label, Section::Tools, rank, form)
    }

    fn call(
        &self,
        call: &CallRecord,
        label: &str,
        section: Section,
        rank: Rank,
        form: Form,
    ) -> Exhibit {
        // What the host says stands before what a model may have written.
        let head = format!(
            "status: {}{}\ntool: {}",
            status(call.status),
            if is_told(call) { NO_PROOF } else { "" },
            name(&call.tool)
        );
        let arguments = arguments(&call.arguments);
        let short = |why: &str| {
            let arguments = bounded(&arguments, SHORT_LIMIT);
            self.nonce
                .fence(label, &format!("{head}\n{arguments}\nresult: {why}"))
        };
        if form == Form::Short {
            let text = short(LOOKED_UP);
            return Exhibit::new(section, rank, text);
        }
        let result = self.result(call);
        let arguments = bounded(&arguments, self.limits.call);
        let text = format!("{head}\n{arguments}\nresult:\n{result}");
        Exhibit {
            short: Some(short(&format!("left out for want of room; {NOT_SHOWN}"))),
            ..Exhibit::new(section, rank, self.nonce.fence(label, &text))
        }
    }

    /// Of a result that is too long, the fields that the author selected.
    fn result(&self, call: &CallRecord) -> String {
        let whole = bounded(&call.result, self.limits.call);
        if whole.len() == call.result.len() {
            return whole;
        }
        let Ok(result) = serde_json::from_str(&call.result) else {
            return whole;
        };
        let fields = self.subject.result_fields(&call.tool);
        let found = fields.filter_map(|path| Some((path, at(path, &result)?)));
        let found: Vec<String> = found.map(|(path, value)| self.field(path, value)).collect();
        if found.is_empty() {
            return whole;
        }
        found.join("\n")
    }

    /// A line for each field, also for one that is not there, or whose tool was not called.
    fn selected(&self, wanted: &ToolEvidence, call: Option<&CallRecord>) -> Exhibit {
        let mut text = format!("tool: {}", name(&wanted.tool));
        let result = call.and_then(|call| match serde_json::from_str(&call.result) {
            Ok(value) => Some(value),
            // What no tool answered is a text for the released code, which has no fields.
            Err(_) if call.status != CallStatus::Ok && !wanted.result.is_empty() => None,
            Err(_) => Some(Value::from(&*call.result)),
        });
        let all = wanted.call.is_empty() && wanted.result.is_empty();
        let sides = [
            ("call", &wanted.call, call.map(|call| &call.arguments)),
            ("result", &wanted.result, result.as_ref()),
        ];
        for (side, paths, value) in sides {
            let found = paths
                .iter()
                .map(|path| (path.as_str(), value.and_then(|value| at(path, value))));
            for (path, value) in found.chain(all.then_some(("all", value))) {
                let field = value.map_or_else(
                    || format!("{path}: missing"),
                    |value| self.field(path, value),
                );
                text.push_str(&["\n", side, " ", &field].concat());
            }
        }
        let label = format!("tool record of turn {}", self.evidence.turn);
        let text = self.nonce.fence(&label, &text);
        Exhibit::new(Section::Tools, Rank::NamedCall, text)
    }

    /// A field that an author selected, on one line.
    fn field(&self, path: &str, value: &Value) -> String {
        let value = bounded(&value.to_string(), self.limits.call);
        format!("{path}: {}", one_line(&value))
    }

    /// The last change of each file, the oldest first.
    fn last_changes(&self) -> Vec<&'a FileChange> {
        let changes = self.evidence.all_changes.iter();
        let mut last: BTreeMap<&str, (usize, &FileChange)> = BTreeMap::new();
        for (at, change) in changes.enumerate() {
            last.insert(&change.path, (at, change));
        }
        let mut last: Vec<(usize, &FileChange)> = last.into_values().collect();
        last.sort_by_key(|(at, _)| *at);
        last.into_iter().map(|(_, change)| change).collect()
    }

    fn files_read(&self) -> Vec<Exhibit> {
        let last = self.last_changes();
        let shown = |path: &String| {
            let change = last.iter().copied().find(|change| change.path == *path);
            Exhibit {
                rank: Rank::NamedFile,
                ..self.file(path, change, Section::Files, "file")
            }
        };
        self.evidence.files_read.iter().map(shown).collect()
    }

    /// A file as it is now.
    fn file(
        &self,
        path: &str,
        change: Option<&FileChange>,
        section: Section,
        label: &str,
    ) -> Exhibit {
        let what = match change {
            // The released code shows contents alone.
            _ if self.evidence.protocol == Protocol::PiBench => String::new(),
            None => "\nchange: not changed by the assistant in this session".to_owned(),
            Some(change) => format!("\nchange: {} in turn {}", kind(change.kind), change.turn),
        };
        let text = format!("path: {}{what}\n{}", name(path), self.content(path));
        Exhibit::new(
            section,
            self.rank_of_file(path),
            self.nonce.fence(label, &text),
        )
    }

    /// A file that this turn changed: also what the turn added to it.
    fn change(&self, change: &FileChange) -> Exhibit {
        let mut text = format!(
            "path: {}\nchange: {}",
            name(&change.path),
            kind(change.kind)
        );
        if change.kind == ChangeKind::Modified && !change.added.is_empty() {
            let added = indented(&bounded(&change.added, self.limits.text));
            text.push_str(&["\nadded lines:\n", &added].concat());
        }
        text.push_str(&["\n", &self.content(&change.path)].concat());
        let rank = self.rank_of_file(&change.path);
        Exhibit::new(Section::Changes, rank, self.nonce.fence("file", &text))
    }

    /// Whether something that is asked about names a file.
    fn is_named(&self, path: &str) -> bool {
        let same = |other: &String| other != path && file_name(other) == file_name(path);
        let is_only = || !self.evidence.files.keys().any(same);
        self.subject.names_file(path, is_only)
    }

    fn rank_of_file(&self, path: &str) -> Rank {
        if self.is_named(path) {
            Rank::NamedFile
        } else {
            Rank::File
        }
    }

    fn content(&self, path: &str) -> String {
        match self.evidence.files.get(path).unwrap_or(&Content::Missing) {
            Content::Text(text) => format!("content:\n{}", bounded(text, self.limits.file)),
            Content::Bytes(size) => format!("content: no text, {size} bytes"),
            Content::Unread(why) => format!("content: could not be read: {}", name(why)),
            Content::Missing => "content: none, the file is not there".into(),
            Content::Picture(image) => {
                let what = format!("content: a picture, {}", image.media_type);
                match self.pictures.get(path) {
                    Some(number) => format!("{what}; it is picture {number} after this text"),
                    None if self.vision => format!("{what}; left out, {NOT_SHOWN}"),
                    None => format!("{what}; it cannot be shown to you, {NOT_SHOWN}"),
                }
            }
        }
    }

    /// Those that are named come first, then the newest.
    fn choose_pictures(&mut self) {
        if !self.vision {
            return;
        }
        let read = self.evidence.files_read.iter().map(String::as_str);
        let changed = self.last_changes().into_iter().rev();
        let changed: Vec<&str> = changed.map(|change| change.path.as_str()).collect();
        let named = changed.iter().filter(|path| self.is_named(path));
        let all: Vec<&str> = read
            .chain(named.copied())
            .chain(changed.iter().copied())
            .collect();
        for path in all {
            let is_picture = matches!(self.evidence.files.get(path), Some(Content::Picture(_)));
            if is_picture && self.pictures.len() < MOST_PICTURES {
                let next = self.pictures.len() + 1;
                self.pictures.entry(path).or_insert(next);
            }
        }
    }

    fn shown_pictures(&self) -> Vec<Picture> {
        let mut numbered: Vec<(usize, &str)> = self
            .pictures
            .iter()
            .map(|(path, number)| (*number, *path))
            .collect();
        numbered.sort_unstable();
        let picture = |(number, path): (usize, &str)| match self.evidence.files.get(path) {
            Some(Content::Picture(image)) => Some(Picture {
                head: format!("[picture {number} of {}]", self.nonce),
                image: Image::clone(image),
            }),
            _ => None,
        };
        numbered.into_iter().filter_map(picture).collect()
    }
}

/// How much of a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    /// Without its result.
    Short,
}

impl Exhibit {
    fn new(section: Section, rank: Rank, text: String) -> Self {
        Self {
            section,
            rank,
            text,
            short: None,
        }
    }

    /// In characters.
    fn length(&self) -> usize {
        self.text.chars().count()
    }
}

/// What a call matters. A tool that is not known to look things up only may have done something.
fn rank(call: &CallRecord, named: bool) -> Rank {
    let written = ["write_file", "edit_file", "notebook_edit"].contains(&call.tool.as_str());
    if is_told(call) {
        Rank::Told
    } else if named {
        Rank::NamedCall
    } else if looks_up(&call.tool) {
        Rank::Lookup
    } else if written && call.status == CallStatus::Ok {
        Rank::Repeated
    } else {
        Rank::Act
    }
}

/// Whether nobody but the agent's own program saw a call.
fn is_told(call: &CallRecord) -> bool {
    call.tool.starts_with(TOLD)
}

/// Whether a tool by its name changes nothing: the scaffold's own that do not, and those of apps that show, search, list,
/// get, find, read or count, or log in and out.
fn looks_up(tool: &str) -> bool {
    const OWN: [&str; 6] = [
        "read_file",
        "list_dir",
        "glob",
        "grep",
        "web_search",
        "web_fetch",
    ];
    const OF_APPS: [&str; 9] = [
        "show", "search", "list", "get", "find", "read", "count", "login", "logout",
    ];
    match tool.split_once("__") {
        None => OWN.contains(&tool),
        Some((_, function)) => {
            let verb = function.split('_').next().unwrap_or(function);
            OF_APPS.contains(&verb)
        }
    }
}

/// The sections, with the least relevant left out until all fits.
fn fit(mut exhibits: Vec<Exhibit>, room: usize) -> Shown {
    let left_out = leave_out(&mut exhibits, room);
    let section = |section: Section| {
        let of_section = exhibits.iter().zip(&left_out);
        let of_section = of_section.filter(|(exhibit, _)| exhibit.section == section);
        let kept = of_section.clone().filter(|(_, out)| !**out);
        let kept: Vec<&str> = kept.map(|(exhibit, _)| exhibit.text.as_str()).collect();
        match of_section.filter(|(_, out)| **out).count() {
            0 => kept.join("\n"),
            out => format!(
                "({out} left out here for want of room; {NOT_SHOWN})\n{}",
                kept.join("\n")
            ),
        }
    };
    Shown {
        response: section(Section::Response),
        conversation: section(Section::Conversation),
        earlier: section(Section::Earlier),
        calls: section(Section::Calls),
        changes: section(Section::Changes),
        files: section(Section::Files),
        tools: section(Section::Tools),
        pictures: Vec::new(),
    }
}

/// Puts the narrow form of each in its place until all fits, rank by rank and the oldest first. What is never left out is
/// cut, too: a long response would take the room of all calls.
fn narrow(exhibits: &mut [Exhibit], narrow: Vec<Exhibit>, room: usize) {
    let mut total = length(exhibits);
    let mut cuts: Vec<(&mut Exhibit, Exhibit)> = exhibits.iter_mut().zip(narrow).collect();
    cuts.sort_by_key(|(exhibit, _)| exhibit.rank);
    for (exhibit, narrow) in cuts {
        if total <= room {
            return;
        }
        total = total - exhibit.length() + narrow.length();
        *exhibit = narrow;
    }
}

/// Shortens, then takes out, rank by rank and the oldest first. Which are out.
fn leave_out(exhibits: &mut [Exhibit], room: usize) -> Vec<bool> {
    let mut out = vec![false; exhibits.len()];
    let mut total = length(exhibits);
    let mut order: Vec<usize> = (0..exhibits.len()).collect();
    order.sort_by_key(|&at| exhibits[at].rank);
    order.retain(|&at| exhibits[at].rank != Rank::Core);
    let ranks: Vec<Rank> = exhibits.iter().map(|exhibit| exhibit.rank).collect();
    for same in order.chunk_by(|&one, &other| ranks[one] == ranks[other]) {
        for &at in same {
            if total <= room {
                return out;
            }
            if let Some(short) = exhibits[at].short.take() {
                total -= exhibits[at].length();
                exhibits[at].text = short;
                total += exhibits[at].length();
            }
        }
        for &at in same {
            if total <= room {
                return out;
            }
            total -= exhibits[at].length();
            out[at] = true;
        }
    }
    out
}

/// Characters of all.
fn length(exhibits: &[Exhibit]) -> usize {
    exhibits.iter().map(Exhibit::length).sum()
}

/// A call's arguments, a line for each down to the leaves, texts of several lines as blocks with their line breaks: an
/// indented block cannot pass for the lines around it.
fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::Object(fields) if fields.is_empty() => "arguments: none".into(),
        Value::Object(_) => {
            let mut lines = Vec::new();
            write_leaves("", arguments, &mut lines);
            format!("arguments:\n{}", lines.join("\n"))
        }
        Value::String(text) => format!("arguments, no JSON object:\n{}", indented(text)),
        other => format!("arguments: {}", one_line(&other.to_string())),
    }
}

fn write_leaves(key: &str, value: &Value, lines: &mut Vec<String>) {
    let below = |part: &str| match key {
        "" => name(part),
        key => format!("{key}.{}", name(part)),
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (part, field) in fields {
                write_leaves(&below(part), field, lines);
            }
        }
        Value::Array(entries) if entries.iter().any(has_lines) => {
            for (part, entry) in entries.iter().enumerate() {
                write_leaves(&below(&part.to_string()), entry, lines);
            }
        }
        Value::String(text) if has_lines(value) => {
            lines.push(format!("  {key}:\n{}", indented(text)));
        }
        Value::String(text) => lines.push(format!("  {key}: {text}")),
        other => lines.push(format!("  {key}: {other}")),
    }
}

/// Whether a value holds a text of several lines, or one that would not be seen as it is on one.
fn has_lines(value: &Value) -> bool {
    match value {
        Value::String(text) => text
            .chars()
            .any(|one| one.is_control() || (one.is_whitespace() && one != ' ')),
        Value::Array(entries) => entries.iter().any(has_lines),
        Value::Object(fields) => fields.values().any(has_lines),
        _ => false,
    }
}

/// The value at a dotted path of object keys and list indexes, or all of it.
fn at<'a>(path: &str, value: &'a Value) -> Option<&'a Value> {
    if path == WHOLE {
        return Some(value);
    }
    path.split('.').try_fold(value, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(entries) => entries.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Foreign words that belong on one line.
fn name(text: &str) -> String {
    one_line(&bounded(text, NAME_LIMIT))
}

fn status(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::ToolError => "refused",
        CallStatus::Failed => "failed",
    }
}

fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
    }
}
