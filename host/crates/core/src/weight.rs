//! How much a stranger's JSON holds, counted before anything is made of it: what is a byte or two as text takes up to 256 bytes
//! when it is taken apart.

use serde_json::Value;

/// Values that are read of a text from outside; 50 MiB at most when they are taken apart.
pub const MOST_VALUES: usize = 200_000;

/// What a JSON text holds. Names of fields count as values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    pub values: usize,
    /// Levels of nesting.
    pub depth: usize,
}

impl Weight {
    /// Counts in one pass, without making anything of it. Of a text that is no JSON it is some number.
    pub fn of(json: &[u8]) -> Self {
        let (mut values, mut depth, mut deepest) = (1_usize, 0_usize, 0_usize);
        let (mut in_string, mut escaped) = (false, false);
        for &byte in json {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => {
                    values += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' | b':' => values += 1,
                _ => {}
            }
        }
        Self {
            values,
            depth: deepest,
        }
    }

    /// Whether it holds more values than are read.
    pub fn is_too_much(self) -> bool {
        self.values > MOST_VALUES
    }
}

/// The value of a text from outside; None where it is no JSON or holds more than [`MOST_VALUES`].
pub fn read(json: &str) -> Option<Value> {
    if Weight::of(json.as_bytes()).is_too_much() {
        return None;
    }
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_levels_are_counted_and_what_stands_in_a_text_is_not() {
        let weight = |json: &str| {
            let Weight { values, depth } = Weight::of(json.as_bytes());
            (values, depth)
        };
        assert_eq!(weight("1"), (1, 0));
        assert_eq!(weight("[1,[2]]"), (4, 2));
        assert_eq!(weight(r#"{"a":"[,:\"{","b":[]}"#), (6, 2));
    }

    #[test]
    fn a_text_of_more_values_than_the_bound_is_not_taken_apart() {
        let lists = |many: usize| format!("[{}1]", "1,".repeat(many));
        // The first value, and the list.
        let most = MOST_VALUES - 2;
        assert!(read(&lists(most)).is_some_and(|value| value.is_array()));
        assert_eq!(read(&lists(most + 1)), None);
        assert_eq!(read("{"), None);
        assert_eq!(read(r#"{"a":1}"#), Some(json!({ "a": 1 })));
    }
}
