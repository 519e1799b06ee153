//! Models that follow a script: they test suites and the host, with neither key nor network. A
//! reply is a function of the chat alone, so a resumed session goes on where it was; nothing is
//! remembered between calls.
//!
//! A chat holds one session's messages, all of its turns and no other session's.

mod cheat;
mod placeholder;

use serde_json::{Value, json};

use pibench_core::message::{ChatRequest, Message, Reply, ToolCall, Usage};
use pibench_suite::suite::Step;

/// The tool of the memory step, which ends a session.
const SAVE_MEMORY: &str = "save_memory";

/// The tool that every agent has and no subagent.
const MESSAGE: &str = "message";

/// What is said when there is nothing left to say.
const DONE: &str = "Done.";

/// An agent that follows a script (protocol, "Scripted models").
#[derive(Debug, Clone)]
pub enum Scripted {
    /// Plays the session's reference workflow in the first turn.
    Reference { steps: Vec<Step> },
    /// Plays it only when the session's last intent was revealed, each in a user message of its
    /// own.
    Reactive { steps: Vec<Step>, intents: usize },
    /// Does nothing.
    Nop,
    /// Does everything but the work, from what any agent can see.
    Cheat,
}

impl Scripted {
    /// The reply to a chat.
    pub fn chat(&self, request: ChatRequest<'_>) -> Reply {
        let ChatRequest {
            messages,
            tools,
            may_call: _,
            temperature: _,
            max_output: _,
        } = request;
        // A subagent speaks to nobody: it has no `message`. The script is its agent's.
        if !tools.is_empty() && !tools.iter().any(|tool| tool.name == MESSAGE) {
            return say(DONE.into());
        }
        match self {
            Self::Reference { steps } => play(steps, messages),
            Self::Reactive { steps, intents } => react(steps, *intents, messages),
            Self::Nop => say("OK.".into()),
            Self::Cheat => cheat::chat(messages, tools),
        }
    }
}

/// The memory step's answer: the memory stays as it is.
pub(super) fn remember() -> Reply {
    let arguments = json!({"history_entry": "Session finished.", "memory_update": ""});
    call(vec![ToolCall {
        id: "call_memory".into(),
        name: SAVE_MEMORY.into(),
        arguments: arguments.to_string(),
    }])
}

/// Waits until the request and all intents were said, and plays then.
fn react(steps: &[Step], intents: usize, messages: &[Message]) -> Reply {
    let revealed = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| matches!(message, Message::User { .. }))
        .nth(intents)
        .map(|(place, _)| place);
    match revealed {
        Some(place) => play(steps, &messages[place..]),
        // Old messages may have been dropped to fit a window, but not the work that is under way.
        None if played(messages) > 0 => play(steps, messages),
        None => say("Noted.".into()),
    }
}

/// The next call of the workflow, then its text, once; `messages` begin where the workflow may
/// begin.
fn play(steps: &[Step], messages: &[Message]) -> Reply {
    let done = played(messages);
    let calls = steps
        .iter()
        .filter(|step| matches!(step, Step::Call { .. }));
    if let Some(Step::Call {
        tool,
        arguments,
        save: _,
    }) = calls.clone().nth(done)
    {
        let arguments = match arguments {
            Value::Null => json!({}),
            arguments => {
                let named = saved(steps, messages, done, &arguments.to_string());
                placeholder::fill(arguments, &named)
            }
        };
        let id = call_id(done + 1);
        return call(vec![ToolCall {
            id,
            name: tool.clone(),
            arguments: arguments.to_string(),
        }]);
    }
    let response = response(steps);
    if response.is_empty() || has_answered(messages) {
        return say(DONE.into());
    }
    say(response)
}

/// How many calls of the workflow were made: the highest number among the ids, which tells it even
/// where the first messages were dropped.
fn played(messages: &[Message]) -> usize {
    let number = |call: &ToolCall| call.id.strip_prefix("call_")?.parse::<usize>().ok();
    messages
        .iter()
        .flat_map(calls_of)
        .filter_map(number)
        .max()
        .unwrap_or(0)
}

fn calls_of(message: &Message) -> &[ToolCall] {
    match message {
        Message::Assistant { calls, .. } => calls,
        _ => &[],
    }
}

/// Whether a response was given after the last call.
fn has_answered(messages: &[Message]) -> bool {
    messages
        .iter()
        .rev()
        .take_while(|message| calls_of(message).is_empty())
        .any(|message| matches!(message, Message::Assistant { .. }))
}

/// The results that the first `done` calls saved under names that this text may name: the latest first.
fn saved<'a>(
    steps: &'a [Step],
    messages: &[Message],
    done: usize,
    text: &str,
) -> Vec<(&'a str, Value)> {
    let is_named = |name: &&str| text.contains("{{") && text.contains(*name);
    let names = steps.iter().filter_map(|step| match step {
        Step::Call { tool, save, .. } => Some((tool, save.as_deref())),
        Step::Say { .. } => None,
    });
    let mut results: Vec<(&str, Value)> = names
        .take(done)
        .enumerate()
        .filter_map(|(place, (tool, name))| {
            let name = name.filter(is_named)?;
            let result = result(messages, &call_id(place + 1))?;
            Some((name, bare(tool, result)))
        })
        .collect();
    results.reverse();
    results
}

/// What a call gave: JSON, or a text where it is none.
fn result(messages: &[Message], id: &str) -> Option<Value> {
    messages.iter().find_map(|message| match message {
        Message::Tool { call_id, text } if call_id == id => {
            Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())))
        }
        _ => None,
    })
}

/// An app's result as a workflow names its parts: the released code shows it as `{"response": ..}`.
fn bare(tool: &str, result: Value) -> Value {
    match result {
        Value::Object(mut fields) if tool.contains("__") && fields.len() == 1 => {
            match fields.remove("response") {
                Some(response) => response,
                None => Value::Object(fields),
            }
        }
        result => result,
    }
}

/// The parts of the response, with a blank line between them.
fn response(steps: &[Step]) -> String {
    let parts = steps.iter().filter_map(|step| match step {
        Step::Say { text } => Some(text.trim()),
        Step::Call { .. } => None,
    });
    parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn call_id(number: usize) -> String {
    format!("call_{number}")
}

fn say(text: String) -> Reply {
    Reply {
        text,
        usage: one_call(),
        ..Reply::default()
    }
}

fn call(calls: Vec<ToolCall>) -> Reply {
    Reply {
        calls,
        usage: one_call(),
        ..Reply::default()
    }
}

/// A script has no tokens.
fn one_call() -> Usage {
    Usage {
        calls: 1,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::message::ToolSpec;

    /// A chat under way: each reply is appended as the loop would.
    struct Chat {
        model: Scripted,
        messages: Vec<Message>,
        tools: Vec<ToolSpec>,
    }

    impl Chat {
        fn new(model: Scripted) -> Self {
            let system = Message::System {
                text: "You are an assistant.".into(),
            };
            Self {
                model,
                messages: vec![system],
                tools: Vec::new(),
            }
        }

        fn user(&mut self, text: &str) -> &mut Self {
            self.messages.push(Message::User { text: text.into() });
            self
        }

        fn ask(&self) -> Reply {
            let request = ChatRequest {
                messages: &self.messages,
                tools: &self.tools,
                may_call: true,
                temperature: None,
                max_output: None,
            };
            self.model.chat(request)
        }

        /// Expects one call and answers it.
        fn expect_call(
            &mut self,
            id: &str,
            name: &str,
            arguments: &Value,
            result: &str,
        ) -> &mut Self {
            let reply = self.push();
            assert_eq!(reply.text, "");
            let [call] = reply.calls.as_slice() else {
                panic!("not one call: {reply:?}")
            };
            assert_eq!((call.id.as_str(), call.name.as_str()), (id, name));
            assert_eq!(
                serde_json::from_str::<Value>(&call.arguments).unwrap(),
                *arguments
            );
            self.messages.push(Message::Tool {
                call_id: id.into(),
                text: result.into(),
            });
            self
        }

        fn expect_text(&mut self, text: &str) -> &mut Self {
            let reply = self.push();
            assert_eq!(reply, say(text.into()));
            self
        }

        fn push(&mut self) -> Reply {
            let reply = self.ask();
            assert_eq!(reply, self.ask(), "the same chat gives the same reply");
            let Reply { text, calls, .. } = reply.clone();
            self.messages.push(Message::Assistant {
                text,
                reasoning: None,
                calls,
            });
            reply
        }
    }

    fn step(tool: &str, arguments: Value, save: Option<&str>) -> Step {
        Step::Call {
            tool: tool.into(),
            arguments,
            save: save.map(Into::into),
        }
    }

    fn text(text: &str) -> Step {
        Step::Say { text: text.into() }
    }

    /// The arguments of the second call as the workflow writes them.
    fn unfilled() -> Value {
        let title = "Note {{ notes.0.id }}: {{notes.0.title}}";
        json!({"id": "{{notes.0.id}}", "title": title})
    }

    fn workflow() -> Vec<Step> {
        vec![
            step("list_notes", json!({}), Some("notes")),
            text("I read your notes.\n"),
            step("update_note", unfilled(), None),
            text("I renamed the first."),
        ]
    }

    #[test]
    fn reference_plays_its_calls_one_at_a_time_and_answers_once() {
        let mut chat = Chat::new(Scripted::Reference { steps: workflow() });
        chat.user("Sort my notes.")
            .expect_call(
                "call_1",
                "list_notes",
                &json!({}),
                r#"[{"id": 7, "title": "Ideas"}]"#,
            )
            .expect_call(
                "call_2",
                "update_note",
                &json!({"id": 7, "title": "Note 7: Ideas"}),
                "{}",
            )
            .expect_text("I read your notes.\n\nI renamed the first.");
        chat.user("And in blue.")
            .expect_text("Done.")
            .user("Thanks.")
            .expect_text("Done.");
    }

    #[test]
    fn reference_goes_on_after_a_refused_call() {
        let mut chat = Chat::new(Scripted::Reference { steps: workflow() });
        chat.user("Sort my notes.")
            .expect_call("call_1", "list_notes", &json!({}), "Error: not signed in")
            .expect_call("call_2", "update_note", &unfilled(), "Error: no such note")
            .expect_text("I read your notes.\n\nI renamed the first.");
    }

    #[test]
    fn a_name_saved_twice_stands_for_the_latest_result() {
        let steps = vec![
            step("a", json!({}), Some("it")),
            step("b", json!({"it": "{{it}}"}), Some("it")),
            step("c", json!({"it": "{{it}}"}), None),
        ];
        let mut chat = Chat::new(Scripted::Reference { steps });
        chat.user("Go.")
            .expect_call("call_1", "a", &json!({}), "first, a text")
            .expect_call("call_2", "b", &json!({"it": "first, a text"}), "[2]")
            .expect_call("call_3", "c", &json!({"it": [2]}), "{}")
            .expect_text("Done.");
    }

    #[test]
    fn a_part_of_an_apps_result_is_found_where_the_released_code_wraps_it() {
        let wrapped = r#"{"response": {"access_token": "t"}}"#;
        let check = |tool: &str, expected: &str| {
            let token = || json!({"access_token": "{{mail.access_token}}"});
            let steps = vec![
                step(tool, json!({}), Some("mail")),
                step("gmail__logout", token(), None),
            ];
            let mut chat = Chat::new(Scripted::Reference { steps });
            let filled = json!({"access_token": expected});
            chat.user("Go.")
                .expect_call("call_1", tool, &json!({}), wrapped)
                .expect_call("call_2", "gmail__logout", &filled, "{}");
        };
        check("gmail__login", "t");
        check("read_file", "{{mail.access_token}}");
    }

    #[test]
    fn reference_without_calls_answers_once() {
        let mut chat = Chat::new(Scripted::Reference {
            steps: vec![text("Here you are.")],
        });
        chat.user("Go.")
            .expect_text("Here you are.")
            .user("More.")
            .expect_text("Done.");
    }

    #[test]
    fn a_call_without_arguments_has_an_empty_object() {
        let mut chat = Chat::new(Scripted::Reference {
            steps: vec![step("a", Value::Null, None)],
        });
        chat.user("Go.")
            .expect_call("call_1", "a", &json!({}), "{}");
    }

    #[test]
    fn a_resumed_session_goes_on_where_it_was() {
        let mut chat = Chat::new(Scripted::Reference { steps: workflow() });
        chat.user("Sort my notes.").expect_call(
            "call_1",
            "list_notes",
            &json!({}),
            r#"[{"id": 7, "title": "I"}]"#,
        );
        let mut resumed = Chat::new(Scripted::Reference { steps: workflow() });
        resumed.messages.clone_from(&chat.messages);
        assert_eq!(resumed.ask(), chat.ask());
        assert_eq!(resumed.ask().calls[0].id, "call_2");
    }

    #[test]
    fn dropped_messages_do_not_make_it_start_again() {
        let mut chat = Chat::new(Scripted::Reference { steps: workflow() });
        chat.user("Sort my notes.")
            .expect_call("call_1", "list_notes", &json!({}), "[]")
            .expect_call("call_2", "update_note", &unfilled(), "{}");
        chat.messages.drain(1..4);
        chat.expect_text("I read your notes.\n\nI renamed the first.");
    }

    #[test]
    fn reactive_waits_for_the_last_intent() {
        let mut chat = Chat::new(Scripted::Reactive {
            steps: workflow(),
            intents: 2,
        });
        chat.user("Sort my notes.").expect_text("Noted.");
        chat.user("By date.").expect_text("Noted.");
        chat.user("And in blue.")
            .expect_call(
                "call_1",
                "list_notes",
                &json!({}),
                r#"[{"id": 7, "title": "Ideas"}]"#,
            )
            .expect_call(
                "call_2",
                "update_note",
                &json!({"id": 7, "title": "Note 7: Ideas"}),
                "{}",
            )
            .expect_text("I read your notes.\n\nI renamed the first.");
        chat.user("Thanks.").expect_text("Done.");
    }

    #[test]
    fn reactive_without_calls_answers_after_the_last_intent() {
        let mut chat = Chat::new(Scripted::Reactive {
            steps: vec![text("Here you are.")],
            intents: 1,
        });
        chat.user("Go.").expect_text("Noted.");
        chat.user("In blue.")
            .expect_text("Here you are.")
            .user("More.")
            .expect_text("Done.");
    }

    #[test]
    fn reactive_goes_on_when_old_messages_were_dropped() {
        let mut chat = Chat::new(Scripted::Reactive {
            steps: workflow(),
            intents: 1,
        });
        chat.user("Sort my notes.").expect_text("Noted.");
        chat.user("By date.").expect_call(
            "call_1",
            "list_notes",
            &json!({}),
            r#"[{"id": 7, "title": "I"}]"#,
        );
        chat.messages.drain(1..3);
        chat.expect_call(
            "call_2",
            "update_note",
            &json!({"id": 7, "title": "Note 7: I"}),
            "{}",
        );
    }

    #[test]
    fn nop_does_nothing() {
        let mut chat = Chat::new(Scripted::Nop);
        chat.user("Go.")
            .expect_text("OK.")
            .user("Now.")
            .expect_text("OK.");
    }

    #[test]
    fn a_reply_counts_one_call_and_no_tokens() {
        let mut chat = Chat::new(Scripted::Reference { steps: workflow() });
        chat.user("Go.");
        let expected = Usage {
            calls: 1,
            ..Usage::default()
        };
        assert_eq!(chat.ask().usage, expected);
        assert_eq!(Chat::new(Scripted::Nop).ask().usage, expected);
        assert_eq!(Chat::new(Scripted::Cheat).ask().usage, expected);
    }
}
