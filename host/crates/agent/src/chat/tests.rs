use proptest::prelude::*;
use serde_json::json;

use super::*;
use pibench_core::message::{Reasoning, ToolCall};

const WINDOW: usize = 64 << 10;

fn chat() -> Chat {
    chat_with(false)
}

fn chat_with(thoughts: bool) -> Chat {
    let bounds = Bounds {
        window: WINDOW,
        tools: 4_000,
        thoughts,
    };
    Chat::new(
        Protocol::Paper,
        Some(bounds),
        "You are an assistant.".into(),
    )
}

fn reply(text: &str, ids: &[String]) -> Step {
    let call = |id: &String| ToolCall {
        id: id.clone(),
        name: "read_file".into(),
        arguments: "{}".into(),
    };
    Step::Reply {
        text: text.into(),
        reasoning: None,
        calls: ids.iter().map(call).collect(),
    }
}

fn result(id: &str, tool: &str, text: &str, file: Option<&str>) -> Step {
    Step::Call {
        id: id.into(),
        record: CallRecord {
            exact: None,
            number: 1,
            turn: 1,
            tool: tool.into(),
            arguments: json!({"path": "a.md"}),
            status: CallStatus::Ok,
            code: 0,
            result: text.into(),
        },
        file: file.map(str::to_owned),
    }
}

/// A turn with one call of each of some sizes.
fn play(chat: &mut Chat, turn: usize, sizes: &[usize]) {
    chat.hear(
        &format!("Message {turn}"),
        "2026-03-02T09:00:00",
        Channel::Chat,
    );
    let ids: Vec<String> = (0..sizes.len())
        .map(|place| format!("{turn}-{place}"))
        .collect();
    chat.fit();
    chat.see(&reply("", &ids));
    for (id, size) in ids.iter().zip(sizes) {
        chat.see(&result(id, "read_file", &"x".repeat(*size), None));
    }
    chat.fit();
    chat.see(&reply(&format!("Answer {turn}"), &[]));
}

fn texts(chat: &Chat) -> Vec<&str> {
    let mut texts = Vec::new();
    for message in chat.messages() {
        if let Message::Tool { text, .. } = message {
            texts.push(text.as_str());
        }
    }
    texts
}

fn assert_legal(messages: &[Message]) {
    assert_eq!(
        repaired(messages),
        messages,
        "a call without a result, or the other way round"
    );
    assert!(matches!(messages[0], Message::System { .. }));
    assert!(
        matches!(messages[1], Message::User { .. }),
        "{:?}",
        messages[1]
    );
}

#[test]
fn two_hundred_turns_with_five_megabytes_stay_within_the_window() {
    let mut chat = chat();
    let mut given = 0;
    for turn in 0..200 {
        play(&mut chat, turn, &[15_000, 10_500]);
        given += 25_500;
        assert!(
            chat.total() + 4_000 + ANSWER <= WINDOW,
            "turn {turn}: {}",
            chat.total()
        );
        assert_legal(chat.messages());
    }
    assert!(given > 5_000_000);
    let last = chat
        .messages()
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::User { text } => Some(text),
            _ => None,
        });
    assert!(last.unwrap().starts_with("Message 199"));
}

#[test]
fn bulky_results_stand_in_full_until_room_is_needed_and_then_the_last_ten() {
    let mut chat = chat();
    for turn in 0..12 {
        play(&mut chat, turn, &[2_000]);
    }
    assert!(texts(&chat).iter().all(|text| text.len() == 2_000));
    chat.shorten_old_results();
    let lengths: Vec<usize> = texts(&chat).iter().map(|text| text.len()).collect();
    let short = BULKY_REST + 1 + SHORTENED.len();
    assert_eq!(lengths, [vec![short; 2], vec![2_000; 10]].concat());
}

#[test]
fn results_that_are_short_or_cannot_be_had_again_stay() {
    let mut chat = chat();
    play(&mut chat, 0, &[BULKY]);
    chat.see(&reply("", &["app".into()]));
    chat.see(&result(
        "app",
        "gmail__show_thread",
        &"y".repeat(5_000),
        None,
    ));
    for turn in 1..12 {
        play(&mut chat, turn, &[2_000]);
    }
    chat.shorten_old_results();
    assert_eq!(texts(&chat)[0].len(), BULKY);
    assert_eq!(texts(&chat)[1].len(), 5_000);
    assert!(texts(&chat)[2].len() < BULKY);
}

#[test]
fn a_long_result_shows_its_beginning_and_where_the_rest_is() {
    let mut chat = chat();
    let long = "z".repeat(40_000);
    chat.see(&reply("", &["a".into(), "b".into()]));
    chat.see(&result("a", "grep", &long, Some("tool-results/x.txt")));
    chat.see(&result("b", "read_file", &long, Some("a.md")));
    let shown = texts(&chat);
    assert!(shown[0].starts_with(&"z".repeat(PREVIEW)) && shown[0].len() < PREVIEW + 200);
    assert!(shown[0].ends_with(
        "the whole result is in the file tool-results/x.txt: search or read it in parts]"
    ));
    assert!(shown[1].starts_with(&"z".repeat(LONG_RESULT)) && shown[1].len() < LONG_RESULT + 200);
}

#[test]
fn a_turn_that_alone_fills_the_window_keeps_its_message_and_its_last_answer() {
    let mut chat = chat();
    chat.hear("Do it.", "2026-03-02T09:00:00", Channel::Chat);
    for call in 0..40 {
        let id = format!("c{call}");
        chat.fit();
        chat.see(&reply("", std::slice::from_ref(&id)));
        // An app's result: it is not shortened for being old.
        chat.see(&result(
            &id,
            "gmail__show_thread",
            &"x".repeat(15_000),
            None,
        ));
    }
    chat.fit();
    assert!(chat.total() <= WINDOW);
    assert_legal(chat.messages());
    assert!(matches!(&chat.messages()[1], Message::User { text } if text.starts_with("Do it.")));
    assert_eq!(texts(&chat).last().unwrap().len(), 15_000);
}

#[test]
fn many_results_of_one_answer_are_cut_until_they_fit() {
    let mut chat = chat();
    chat.hear("Do it.", "2026-03-02T09:00:00", Channel::Chat);
    let ids: Vec<String> = (0..40).map(|place| format!("c{place}")).collect();
    chat.see(&reply("", &ids));
    for id in &ids {
        chat.see(&result(id, "gmail__show_thread", &"x".repeat(15_000), None));
    }
    chat.fit();
    assert!(chat.total() + 4_000 + ANSWER <= WINDOW);
    assert_legal(chat.messages());
}

/// A chat in which pictures of some size are looked at, one after the other.
fn pictures(count: usize, size: usize) -> Chat {
    let mut chat = chat();
    chat.hear("Look.", "2026-03-02T09:00:00", Channel::Chat);
    for number in 0..count {
        let id = format!("c{number}");
        chat.see(&reply("", std::slice::from_ref(&id)));
        chat.see(&result(&id, "read_file", "shown next", None));
        chat.see(&Step::Picture {
            path: format!("{number}.png"),
            media_type: "image/png".into(),
            data: "A".repeat(size),
        });
    }
    chat
}

#[test]
fn pictures_that_are_too_many_or_too_large_leave_half_of_what_may_be_sent() {
    for (count, size, kept) in [(20, 4, 20), (21, 4, 10), (4, 4 << 20, 4), (5, 4 << 20, 2)] {
        let chat = pictures(count, size);
        check_pictures(&chat, count, kept);
    }
}

fn check_pictures(chat: &Chat, count: usize, kept: usize) {
    let pictures = chat.messages().iter().filter_map(|message| match message {
        Message::Picture { text, image } => Some((text.clone(), image.is_some())),
        _ => None,
    });
    let expected = (0..count).map(|number| {
        if count - number <= kept {
            (format!("{number}.png"), true)
        } else {
            (format!("{number}.png {PICTURE_GONE}"), false)
        }
    });
    assert_eq!(
        pictures.collect::<Vec<_>>(),
        expected.collect::<Vec<_>>(),
        "{count}"
    );
    let counted: usize = chat
        .messages()
        .iter()
        .map(|message| tokens::of_message(message, false))
        .sum();
    assert_eq!(chat.total(), counted);
}

/// An answer with one call, thought about at length; as a text and as a signed block.
fn thoughtful(id: &str, length: usize) -> Step {
    let thought = "t".repeat(length);
    let block = json!({"type": "thinking", "thinking": thought, "signature": "s"});
    let Step::Reply { text, calls, .. } = reply("", &[id.to_owned()]) else {
        unreachable!()
    };
    Step::Reply {
        text,
        reasoning: Reasoning::new(thought, vec![block]),
        calls,
    }
}

/// Bytes of what can be sent of a chat.
fn sent(chat: &Chat) -> usize {
    serde_json::to_string(chat.messages()).unwrap().len()
}

#[test]
fn thinking_that_goes_back_stays_within_the_window() {
    for thoughts in [false, true] {
        let mut chat = chat_with(thoughts);
        chat.hear("Do it.", "2026-03-02T09:00:00", Channel::Chat);
        for call in 0..80 {
            let id = format!("c{call}");
            chat.fit();
            assert!(chat.total() + 4_000 + ANSWER <= WINDOW, "{}", chat.total());
            // Text and block of each thought: three bytes of either are a token.
            assert!(sent(&chat) < 2 * 3 * WINDOW, "{}", sent(&chat));
            chat.see(&thoughtful(&id, 18_000));
            chat.see(&result(&id, "gmail__show_thread", "short", None));
        }
        assert_legal(chat.messages());
    }
}

#[test]
fn thinking_of_earlier_turns_goes_before_any_message_does() {
    let mut chat = chat();
    for turn in 0..4 {
        chat.hear(
            &format!("Message {turn}"),
            "2026-03-02T09:00:00",
            Channel::Chat,
        );
        let id = format!("c{turn}");
        chat.see(&thoughtful(&id, 40_000));
        chat.see(&result(&id, "gmail__show_thread", "short", None));
        // What a subagent found is no new turn.
        chat.see(&Step::Subagent {
            label: "s".into(),
            task: "t".into(),
            steps: Vec::new(),
            result: "found".into(),
        });
        if turn < 3 {
            chat.see(&reply("Done.", &[]));
        }
    }
    let before = chat.messages().len();
    chat.fit();
    assert_eq!(chat.messages().len(), before);
    let blocks: Vec<usize> = chat
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant {
                reasoning: Some(reasoning),
                ..
            } => Some(reasoning.blocks.len()),
            _ => None,
        })
        .collect();
    assert_eq!(blocks, [0, 0, 0, 1]);
}

#[test]
fn a_scripted_model_sees_everything() {
    let mut chat = Chat::new(Protocol::Paper, None, "s".into());
    for turn in 0..20 {
        play(&mut chat, turn, &[100_000]);
    }
    assert!(texts(&chat).iter().all(|text| text.len() == 100_000));
    assert_eq!(texts(&chat).len(), 20);
}

#[test]
fn an_answer_to_a_question_comes_before_what_came_meanwhile() {
    let mut chat = chat();
    chat.hear("Do it.", "2026-03-02T09:00:00", Channel::Chat);
    chat.see(&reply("", &["q".into()]));
    chat.see(&result("q", ASK_USER, "", None));
    chat.see(&Step::Subagent {
        label: "search".into(),
        task: "t".into(),
        steps: Vec::new(),
        result: "found".into(),
    });
    chat.hear("Blue.", "2026-03-02T09:01:00", Channel::Chat);
    let [
        ..,
        Message::Tool { call_id, text },
        Message::User { text: told },
    ] = chat.messages()
    else {
        panic!("{:?}", chat.messages())
    };
    assert_eq!(call_id, "q");
    assert!(
        text.starts_with("Blue.") && told.ends_with("found"),
        "{text} {told}"
    );
}

#[test]
fn an_empty_answer_is_not_sent_back() {
    let mut chat = chat();
    chat.see(&reply("", &[]));
    assert_eq!(chat.messages().len(), 1);
}

#[test]
fn what_is_consolidated_gives_way_to_its_summary() {
    let mut chat = chat();
    for turn in 0..12 {
        play(&mut chat, turn, &[10_000]);
    }
    assert!(chat.fills(50));
    let dropped = chat.oldest_turns().unwrap().len() - 1;
    let before = chat.messages().len();
    chat.see(&Step::Consolidated {
        steps: Vec::new(),
        summary: "Twelve files were read.".into(),
    });
    assert_eq!(chat.messages().len(), before - dropped + 1);
    assert!(!chat.fills(60));
    assert!(
        matches!(&chat.messages()[1], Message::User { text } if text.ends_with("Twelve files were read."))
    );
    assert_legal(chat.messages());
    // The places of bulky results have moved with the rest.
    for turn in 12..24 {
        play(&mut chat, turn, &[2_000]);
    }
    chat.shorten_old_results();
    assert_eq!(
        texts(&chat)
            .iter()
            .filter(|text| text.len() == 2_000)
            .count(),
        10
    );
}

fn any_message() -> impl Strategy<Value = Message> {
    let id = "[a-d]";
    prop_oneof![
        "[a-z]{0,5}".prop_map(|text| Message::User { text }),
        (id, "[a-z]{0,5}").prop_map(|(call_id, text)| Message::Tool { call_id, text }),
        proptest::collection::vec(id, 0..3).prop_map(|ids| Message::Assistant {
            text: "t".into(),
            reasoning: None,
            calls: ids
                .into_iter()
                .map(|id| ToolCall {
                    id,
                    name: "n".into(),
                    arguments: String::new(),
                })
                .collect(),
        }),
    ]
}

proptest! {
    #[test]
    fn a_repaired_chat_answers_every_call_once(messages in proptest::collection::vec(any_message(), 0..20)) {
        let repaired = repaired(&messages);
        let mut open: Vec<&str> = Vec::new();
        for message in &repaired {
            match message {
                Message::Tool { call_id, .. } => {
                    let place = open.iter().position(|id| id == call_id);
                    prop_assert!(place.is_some(), "{repaired:?}");
                    open.remove(place.unwrap());
                }
                other => {
                    prop_assert!(open.is_empty(), "{repaired:?}");
                    if let Message::Assistant { calls, .. } = other {
                        open = calls.iter().map(|call| call.id.as_str()).collect();
                    }
                }
            }
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(super::repaired(&repaired), repaired);
    }

    #[test]
    fn a_chat_always_fits_and_is_legal(turns in proptest::collection::vec(proptest::collection::vec(0..16_000_usize, 1..12), 1..15)) {
        let mut chat = chat();
        for (turn, sizes) in turns.iter().enumerate() {
            play(&mut chat, turn, sizes);
            prop_assert!(chat.total() + 4_000 <= WINDOW);
            assert_legal(chat.messages());
        }
    }
}
