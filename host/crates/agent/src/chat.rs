//! What the model sees of a session. The record keeps everything; here it is kept within the model's window: results
//! that are too long show their beginning, and when the window is full older bulky ones are shortened and the oldest
//! messages go. Until then each chat that is sent is the one before with more at its end, and then much goes at once:
//! providers cache what begins alike. What is done depends on the record alone, so that a session that is gone on with
//! sees the same chat. A scripted model has no window, and nothing is taken from it.

use super::context::{self, Channel};
use super::files::LONG_RESULT;
use super::tokens;
use super::tools::{ASK_USER, Builtin};
use pibench_core::message::{Image, Message, Reasoning};
use pibench_core::record::{CallRecord, CallStatus};
use pibench_core::vocabulary::Protocol;
use pibench_record::event::Step;

/// The share of the room, in percent, above which the chat is nearly full.
const NEARLY_FULL: usize = 80;

/// Characters that are shown of a result that was put into a file.
const PREVIEW: usize = 4_000;

/// When room is needed, results of tools that can be called again stay in full for the last so many of them.
const BULKY_KEPT: usize = 10;

/// Characters above which such a result is bulky, and those that stay of one.
const BULKY: usize = 1_000;
const BULKY_REST: usize = 200;

/// Pictures that are sent, and the bytes of their base64: beyond either only half of it stays. A request may have 20 MB
/// at the strictest provider, and above 20 pictures there is one that wants smaller ones.
const PICTURES: usize = 20;
const PICTURE_BYTES: usize = 16 << 20;

/// Tokens of the window that are left for the answer.
const ANSWER: usize = 8_192;

/// Stands for thinking that was left out. Some servers refuse an answer with calls and no word of its thinking.
const NO_THOUGHT: &str = "(left out to save room)";

/// What a shortened result ends with.
const SHORTENED: &str = "[shortened to save room: call the tool again if you need the rest]";

/// What a model with a window can take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// In tokens.
    pub(super) window: usize,
    /// Tokens of it that the tools take.
    pub(super) tools: usize,
    /// Whether the text of earlier thinking is sent again.
    pub(super) thoughts: bool,
}

/// Stands behind the path of a picture that was left out.
const PICTURE_GONE: &str = "[shown before and left out to save room: read it again if you need it]";

/// The messages of a session, as they are sent.
#[derive(Debug)]
pub(super) struct Chat {
    protocol: Protocol,
    /// Tokens that all messages together may have; None for a scripted model.
    room: Option<usize>,
    /// Whether the text of earlier thinking is sent again.
    thoughts: bool,
    messages: Vec<Message>,
    /// Tokens of each message.
    tokens: Vec<usize>,
    total: usize,
    /// The places of bulky results that stand in full, the oldest first.
    bulky: Vec<usize>,
    /// The id of an `ask_user` call that the next user message answers.
    asked: Option<String>,
    /// What came in while a question was open: it must not stand between the question and its answer.
    waiting: Vec<Message>,
}

impl Chat {
    /// `bounds`: None for a scripted model.
    pub(super) fn new(protocol: Protocol, bounds: Option<Bounds>, system: String) -> Self {
        let room = |bounds: Bounds| bounds.window.saturating_sub(bounds.tools + ANSWER);
        let mut chat = Self {
            protocol,
            room: bounds.map(room),
            thoughts: bounds.is_some_and(|bounds| bounds.thoughts),
            messages: Vec::new(),
            tokens: Vec::new(),
            total: 0,
            bulky: Vec::new(),
            asked: None,
            waiting: Vec::new(),
        };
        chat.push(Message::System { text: system });
        chat
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether long results go to a file.
    pub(super) fn is_bounded(&self) -> bool {
        self.room.is_some()
    }

    /// Tokens of all messages.
    #[cfg(test)]
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// A message from outside, with its runtime block.
    pub(super) fn hear(&mut self, text: &str, clock: &str, channel: Channel) {
        let text = context::user_message(text, clock, channel);
        let message = match self.asked.take() {
            Some(call_id) => Message::Tool { call_id, text },
            None => Message::User { text },
        };
        self.push(message);
        for message in std::mem::take(&mut self.waiting) {
            self.push(message);
        }
    }

    /// Takes one step of the record.
    pub(super) fn see(&mut self, step: &Step) {
        match step {
            Step::Reply {
                text,
                reasoning,
                calls,
            } => {
                // An empty answer is asked for again; servers refuse one that is sent back.
                if !text.is_empty() || !calls.is_empty() {
                    self.push(Message::Assistant {
                        text: text.clone(),
                        reasoning: reasoning.clone(),
                        calls: calls.clone(),
                    });
                }
            }
            // The next user message is this call's result.
            Step::Call { id, record, .. }
                if record.tool == ASK_USER && record.status == CallStatus::Ok =>
            {
                self.asked = Some(id.clone());
            }
            Step::Call { id, record, file } => self.result(id, record, file.as_deref()),
            Step::Notice { text } => self.push(Message::Assistant {
                text: text.clone(),
                reasoning: None,
                calls: Vec::new(),
            }),
            Step::Nudge { text } => self.push(Message::User { text: text.clone() }),
            Step::Picture {
                path,
                media_type,
                data,
            } => {
                self.push_behind_question(Message::Picture {
                    text: path.clone(),
                    image: Some(Image {
                        media_type: media_type.clone(),
                        data: data.clone(),
                    }),
                });
                self.leave_out_pictures();
            }
            Step::Subagent { label, result, .. } => {
                let text = context::subagent_result(label, result);
                self.push_behind_question(Message::User { text });
            }
            Step::Consolidated { summary, .. } => self.consolidate(summary),
        }
    }

    /// Nothing stands between a question and its answer.
    fn push_behind_question(&mut self, message: Message) {
        match self.asked {
            Some(_) => self.waiting.push(message),
            None => self.push(message),
        }
    }

    /// Leaves out the older ones of the pictures when there are too many.
    fn leave_out_pictures(&mut self) {
        let waiting: Vec<usize> = self.waiting.iter().filter_map(picture).collect();
        let shown = self.messages.iter().enumerate();
        let shown = shown.filter_map(|(place, message)| Some((place, picture(message)?)));
        let shown: Vec<(usize, usize)> = shown.collect();
        let (mut count, mut bytes) = (waiting.len(), waiting.iter().sum::<usize>());
        let all = bytes + shown.iter().map(|(_, bytes)| bytes).sum::<usize>();
        if count + shown.len() <= PICTURES && all <= PICTURE_BYTES {
            return;
        }
        for (place, size) in shown.into_iter().rev() {
            count += 1;
            bytes += size;
            if count <= PICTURES / 2 && bytes <= PICTURE_BYTES / 2 {
                continue;
            }
            if let Message::Picture { text, image } = &mut self.messages[place] {
                *image = None;
                *text = format!("{text} {PICTURE_GONE}");
            }
            self.count_again(place);
        }
    }

    fn result(&mut self, id: &str, record: &CallRecord, file: Option<&str>) {
        let mut text = context::tool_result(record, self.protocol);
        if let Some(file) = file {
            text = preview(&text, record, file);
        }
        let repeatable = Builtin::named(&record.tool).is_some_and(Builtin::is_repeatable);
        let bulky = self.is_bounded() && repeatable && text.chars().count() > BULKY;
        self.push(Message::Tool {
            call_id: id.to_owned(),
            text,
        });
        if bulky {
            self.bulky.push(self.messages.len() - 1);
        }
    }

    /// Shortens the bulky results that can be had again, but for the last ones.
    fn shorten_old_results(&mut self) {
        let old = self.bulky.len().saturating_sub(BULKY_KEPT);
        for place in self.bulky.drain(..old).collect::<Vec<_>>() {
            self.cut(place, BULKY_REST);
        }
    }

    /// Leaves the first characters of a result.
    fn cut(&mut self, place: usize, characters: usize) {
        if let Some(Message::Tool { text, .. }) = self.messages.get_mut(place) {
            let kept: String = text.chars().take(characters).collect();
            *text = format!("{kept}\n{SHORTENED}");
        }
        self.count_again(place);
    }

    fn count_again(&mut self, place: usize) {
        let tokens = tokens::of_message(&self.messages[place], self.thoughts);
        self.total = self.total - self.tokens[place] + tokens;
        self.tokens[place] = tokens;
    }

    fn push(&mut self, message: Message) {
        let tokens = tokens::of_message(&message, self.thoughts);
        self.total += tokens;
        self.tokens.push(tokens);
        self.messages.push(message);
    }

    /// Makes the chat fit before a question: older bulky results are shortened and the thinking of earlier turns is left
    /// out, then whole turns are dropped from the front, then whole answers with their results, then the results of the
    /// last answer are cut. A system prompt or a user message that is longer than the window stays as it is: the model
    /// has to refuse it.
    pub(super) fn fit(&mut self) {
        let Some(room) = self.room else { return };
        if self.total <= room {
            return;
        }
        // With some air, so that not every question drops something.
        let aim = room - room / 4;
        self.shorten_old_results();
        self.forget_thoughts();
        while self.total > aim && self.drop_oldest() {}
        for place in 0..self.messages.len() {
            let bulky =
                matches!(&self.messages[place], Message::Tool { text, .. } if text.len() > BULKY);
            if bulky && self.total > room {
                self.cut(place, BULKY_REST);
            }
        }
    }

    /// Leaves out the thinking of all turns but the last: servers want back that of the calls that they are in the middle
    /// of, and nothing older.
    fn forget_thoughts(&mut self) {
        let begins = |place: &usize| {
            matches!(self.messages[*place], Message::User { .. })
                && !matches!(
                    self.messages[*place - 1],
                    Message::Tool { .. } | Message::Picture { .. } | Message::User { .. }
                )
        };
        let last = (1..self.messages.len()).rev().find(begins).unwrap_or(1);
        for place in 1..last {
            if let Message::Assistant { reasoning, .. } = &mut self.messages[place]
                && reasoning.as_ref().is_some_and(Reasoning::is_thought)
            {
                *reasoning = Reasoning::new(NO_THOUGHT.into(), Vec::new());
                self.count_again(place);
            }
        }
    }

    /// Whether the chat is nearly full before a turn, also when older bulky results are shortened.
    pub(super) fn is_nearly_full(&mut self) -> bool {
        if self.fills(NEARLY_FULL) {
            self.shorten_old_results();
        }
        self.fills(NEARLY_FULL)
    }

    /// Whether the chat takes more than `share` percent of its room.
    fn fills(&self, share: usize) -> bool {
        self.room
            .is_some_and(|room| self.total > room / 100 * share)
    }

    /// The chat up to the last turns, which take half of the room at most: what a consolidation would drop, behind the
    /// system prompt. None if there is nothing.
    pub(super) fn oldest_turns(&self) -> Option<&[Message]> {
        let end = self.consolidated_end();
        (end > 1).then(|| &self.messages[..end])
    }

    /// Drops the oldest turns and puts what is left of them in their place.
    fn consolidate(&mut self, summary: &str) {
        let end = self.consolidated_end();
        self.remove(1, end);
        let message = Message::User {
            text: format!("[earlier in this session] {summary}"),
        };
        let tokens = tokens::of_message(&message, self.thoughts);
        self.messages.insert(1, message);
        self.tokens.insert(1, tokens);
        self.total += tokens;
        for place in &mut self.bulky {
            *place += 1;
        }
    }

    fn consolidated_end(&self) -> usize {
        let Some(room) = self.room else { return 1 };
        let mut left = self.total;
        let mut end = 1;
        for place in 1..self.messages.len() {
            if left <= room / 2 {
                break;
            }
            left -= self.tokens[place];
            if matches!(self.messages.get(place + 1), Some(Message::User { .. })) {
                end = place + 1;
            }
        }
        end
    }

    /// Drops what is oldest and can go without leaving a result without its call; whether anything could.
    fn drop_oldest(&mut self) -> bool {
        let is_user = |place: usize| matches!(self.messages[place], Message::User { .. });
        let is_answer = |place: usize| matches!(self.messages[place], Message::Assistant { .. });
        let count = self.messages.len();
        if let Some(next) = (2..count).find(|&place| is_user(place)) {
            self.remove(1, next);
            return true;
        }
        // One user message is left: the answers after it go, but for the last.
        let Some(first) = (1..count).find(|&place| is_answer(place)) else {
            return false;
        };
        let Some(next) = (first + 1..count).find(|&place| is_answer(place)) else {
            return false;
        };
        self.remove(first, next);
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.total -= self.tokens[from..to].iter().sum::<usize>();
        self.messages.drain(from..to);
        self.tokens.drain(from..to);
        self.bulky.retain(|place| !(from..to).contains(place));
        for place in self.bulky.iter_mut().filter(|place| **place >= to) {
            *place -= to - from;
        }
    }
}

/// The chat with every call answered and every result called for: servers refuse any other. A question to the user at
/// a session's end has no answer.
pub(super) fn repaired(messages: &[Message]) -> Vec<Message> {
    let mut repaired = Vec::with_capacity(messages.len());
    // The calls of the last answer that have no result yet.
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if let Message::Tool { call_id, .. } = message {
            let place = open.iter().position(|id| id == call_id);
            if let Some(place) = place {
                open.remove(place);
                repaired.push(message.clone());
            }
            continue;
        }
        repaired.extend(open.drain(..).map(unanswered));
        repaired.push(message.clone());
        if let Message::Assistant { calls, .. } = message {
            open.extend(calls.iter().map(|call| call.id.clone()));
        }
    }
    repaired.extend(open.into_iter().map(unanswered));
    repaired
}

fn unanswered(call_id: String) -> Message {
    Message::Tool {
        call_id,
        text: "(no answer came)".into(),
    }
}

/// Bytes of the picture that a message shows.
fn picture(message: &Message) -> Option<usize> {
    match message {
        Message::Picture {
            image: Some(image), ..
        } => Some(image.data.len()),
        _ => None,
    }
}

/// What is shown of a long result, and where the whole of it is.
fn preview(text: &str, record: &CallRecord, file: &str) -> String {
    let characters = text.chars().count();
    // A file that was read is its own copy: the most is shown, and the rest is a call away.
    let reread = record.tool == Builtin::ReadFile.name();
    let shown = if reread { LONG_RESULT } else { PREVIEW };
    let kept: String = text.chars().take(shown).collect();
    let rest = if reread {
        format!("read on in {file} with a larger offset, or ask for fewer lines")
    } else {
        format!("the whole result is in the file {file}: search or read it in parts")
    };
    format!("{kept}\n[the first {shown} of {characters} characters; {rest}]")
}

#[cfg(test)]
mod tests;
