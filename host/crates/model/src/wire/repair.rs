//! Answers that no JSON reader takes although a model's words are all that is wrong with them: bytes that are no UTF-8, halves
//! of a surrogate pair, nesting without end. What cannot be read becomes U+FFFD and the rest stays, so that the answer is the
//! model's and not a broken connection. One pass over the text, whatever it holds.

/// Nesting that is kept: `serde_json` reads 128 levels, and an answer is put into others.
const DEPTH: usize = 100;

/// What stands for what cannot be read.
const REPLACED: &str = "\\ufffd";

/// The text of an answer with its unreadable parts replaced. It may still be no JSON.
pub(super) fn repaired(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    let mut depth = 0_usize;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => {
                let end = string_end(rest);
                if depth <= DEPTH {
                    whole_surrogates(&rest[..end], &mut out);
                }
                end
            }
            '[' | '{' => {
                depth += 1;
                match depth {
                    ..=DEPTH => out.push(character),
                    deep if deep == DEPTH + 1 => out.push_str("\"\\ufffd\""),
                    _ => {}
                }
                1
            }
            ']' | '}' => {
                if depth <= DEPTH {
                    out.push(character);
                }
                depth = depth.saturating_sub(1);
                1
            }
            other => {
                if depth <= DEPTH {
                    out.push(other);
                }
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// The length of the string that the text begins with, its quotes with it.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// Writes a string, each escape of half a surrogate pair replaced.
fn whole_surrogates(string: &str, out: &mut String) {
    let mut rest = string;
    while let Some(place) = rest.find('\\') {
        out.push_str(&rest[..place]);
        rest = &rest[place..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str(REPLACED);
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // Another escape: the backslash and what it escapes.
            (None, _) => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// The number of an escape such as `\ud83d` that the text begins with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(body: &[u8], expected: &Value) {
        let text = repaired(body);
        assert_eq!(
            &serde_json::from_str::<Value>(&text).unwrap(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn what_is_no_unicode_is_replaced_and_the_rest_stays() {
        check(br#"{"a": "x\ud800y"}"#, &json!({ "a": "x\u{fffd}y" }));
        check(
            br#"["\udc00\ud83d\ude00\ud83d", "\\ud800"]"#,
            &json!(["\u{fffd}\u{1f600}\u{fffd}", "\\ud800"]),
        );
        check(b"[\"a\xffb\"]", &json!(["a\u{fffd}b"]));
    }

    #[test]
    fn nesting_without_end_is_cut() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let fine = nested(100);
        assert_eq!(repaired(fine.as_bytes()), fine);
        for levels in [101, 129, 100_000] {
            let text = repaired(nested(levels).as_bytes());
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{levels}");
        }
        check(
            br#"{"a": "[[[", "b": [1, {"c": "}"}]}"#,
            &json!({ "a": "[[[", "b": [1, { "c": "}" }] }),
        );
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is(text in r#"[\[{"a\\u8d0-9,:}\]]{0,60}"#) {
            let repaired = repaired(text.as_bytes());
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(serde_json::from_str::<Value>(&repaired).unwrap(), value);
            }
        }
    }
}
