//! The order of an answer's pieces. A message keeps its text, its thinking and its calls apart, and servers that seal
//! thinking want it back where it stood between them: so the message's blocks hold, beside what is sealed, a mark for each
//! text and each call that came before the last of it.

use serde_json::{Value, json};

use pibench_core::message::{Reasoning, ToolCall};

/// A mark's key for a text: how many bytes of the message's.
const TEXT: &str = "text";

/// A mark's key for a call: its id.
const CALL: &str = "call";

/// The field of a mark that says whether a text goes before calls or ends the turn, in the format that has it.
const PHASE: &str = "phase";

/// The blocks of a message that is being read.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Value>,
    /// How many are of use: marks behind the last thinking say nothing new.
    needed: usize,
}

impl Blocks {
    /// What goes back as it came.
    pub(super) fn seal(&mut self, block: Value) {
        self.blocks.push(block);
        self.needed = self.blocks.len();
    }

    pub(super) fn text(&mut self, text: &str, phase: Option<&Value>) {
        let length = text.len();
        match phase {
            Some(phase) => self.seal(json!({ TEXT: length, PHASE: phase })),
            None => self.blocks.push(json!({ TEXT: length })),
        }
    }

    pub(super) fn call(&mut self, call: &ToolCall) {
        self.blocks.push(json!({ CALL: call.id }));
    }

    pub(super) fn into_values(mut self) -> Vec<Value> {
        self.blocks.truncate(self.needed);
        self.blocks
    }
}

/// A piece of a message that is being written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Piece<'a> {
    Sealed(&'a Value),
    /// A text that is not empty.
    Text {
        text: &'a str,
        phase: Option<&'a Value>,
    },
    Call(&'a ToolCall),
}

/// A message's pieces in the order in which they came; those without a mark stand at the end, the text first.
pub(super) fn pieces<'a>(
    text: &'a str,
    reasoning: Option<&'a Reasoning>,
    calls: &'a [ToolCall],
) -> Vec<Piece<'a>> {
    let blocks = reasoning.map_or(&[][..], |reasoning| &reasoning.blocks);
    let (mut rest, mut unplaced) = (text, calls.iter().collect::<Vec<_>>());
    let mut pieces = Vec::new();
    for block in blocks {
        if let Some(length) = block.get(TEXT).and_then(Value::as_u64) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            // What was said may have been changed since: then it goes back in one piece.
            let (text, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
            rest = left;
            pieces.extend(said(text, block.get(PHASE)));
        } else if let Some(id) = block.get(CALL).and_then(Value::as_str) {
            let place = unplaced.iter().position(|call| call.id == id);
            pieces.extend(place.map(|place| Piece::Call(unplaced.remove(place))));
        } else {
            pieces.push(Piece::Sealed(block));
        }
    }
    pieces.extend(said(rest, None));
    pieces.extend(unplaced.into_iter().map(Piece::Call));
    pieces
}

fn said<'a>(text: &'a str, phase: Option<&'a Value>) -> Option<Piece<'a>> {
    (!text.is_empty()).then_some(Piece::Text { text, phase })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "list".into(),
            arguments: "{}".into(),
        }
    }

    fn thought(number: u32) -> Value {
        json!({"type": "thinking", "signature": number})
    }

    #[test]
    fn thinking_comes_back_between_what_it_stood_between() {
        let (first, second) = (call("1"), call("2"));
        let mut blocks = Blocks::default();
        blocks.seal(thought(1));
        blocks.text("I look.", None);
        blocks.call(&first);
        blocks.seal(thought(2));
        blocks.call(&second);
        blocks.text("Then more.", None);
        let reasoning = Reasoning::new(String::new(), blocks.into_values()).unwrap();
        assert_eq!(reasoning.blocks.len(), 4, "{reasoning:?}");
        let calls = [first, second];
        let text = |text| Piece::Text { text, phase: None };
        let (one, two) = (thought(1), thought(2));
        assert_eq!(
            pieces("I look.Then more.", Some(&reasoning), &calls),
            [
                Piece::Sealed(&one),
                text("I look."),
                Piece::Call(&calls[0]),
                Piece::Sealed(&two),
                text("Then more."),
                Piece::Call(&calls[1]),
            ]
        );
        // A call that is gone, and a text that was cut within a character.
        assert_eq!(
            pieces("I look\u{e9}", Some(&reasoning), &calls[1..]),
            [
                Piece::Sealed(&one),
                text("I look\u{e9}"),
                Piece::Sealed(&two),
                Piece::Call(&calls[1]),
            ]
        );
    }

    #[test]
    fn without_thinking_in_between_there_are_no_marks() {
        let mut blocks = Blocks::default();
        blocks.seal(thought(1));
        blocks.text("I look.", None);
        blocks.call(&call("1"));
        assert_eq!(blocks.into_values(), [thought(1)]);
        let mut blocks = Blocks::default();
        blocks.text("Done.", Some(&json!("final_answer")));
        assert_eq!(
            blocks.into_values(),
            [json!({"text": 5, "phase": "final_answer"})]
        );
    }
}
