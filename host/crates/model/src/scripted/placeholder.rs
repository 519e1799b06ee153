//! `{{name.path}}` in the arguments of a reference workflow: a value of an earlier result. Nothing
//! is computed, and a placeholder that names nothing stays as it is written, to be seen in the
//! record.

use serde_json::Value;

/// `arguments` with every placeholder filled. A string that is one placeholder becomes the value
/// with its type; within a longer string a text stands as it is and any other value as JSON. Of
/// equal names the first in `results` counts.
pub(super) fn fill(arguments: &Value, results: &[(&str, Value)]) -> Value {
    match arguments {
        Value::String(text) => fill_text(text, results),
        Value::Array(items) => items.iter().map(|item| fill(item, results)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), fill(value, results)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => arguments.clone(),
    }
}

fn fill_text(text: &str, results: &[(&str, Value)]) -> Value {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = split(rest) {
        let value = find(name.trim(), results);
        if let (Some(value), true) = (
            value,
            before.is_empty() && after.is_empty() && filled.is_empty(),
        ) {
            return value.clone();
        }
        filled.push_str(before);
        match value {
            Some(Value::String(text)) => filled.push_str(text),
            Some(value) => filled.push_str(&value.to_string()),
            None => filled.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    filled.push_str(rest);
    Value::String(filled)
}

/// What stands before the first placeholder, in it, and after it.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name, after))
}

/// `name`, then keys of objects and places in lists (from 0), each after a dot.
fn find<'a>(path: &str, results: &'a [(&str, Value)]) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let name = parts.next()?;
    let (_, result) = results.iter().find(|(saved, _)| *saved == name)?;
    parts.try_fold(result, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: &Value, expected: &Value) {
        let results = [
            (
                "note",
                json!({"id": 7, "tags": ["a", "b"], "title": "Ideas", "open": null}),
            ),
            ("text", json!("plain")),
        ];
        assert_eq!(fill(arguments, &results), *expected);
    }

    #[test]
    fn a_whole_string_takes_the_value_with_its_type() {
        check(&json!("{{note.id}}"), &json!(7));
        check(&json!("{{ note.tags }}"), &json!(["a", "b"]));
        check(&json!("{{note.tags.1}}"), &json!("b"));
        check(&json!("{{note.open}}"), &json!(null));
        check(&json!("{{text}}"), &json!("plain"));
    }

    #[test]
    fn within_a_string_a_value_is_written_out() {
        check(
            &json!("{{note.title}} no. {{note.id}}: {{note.tags}}"),
            &json!("Ideas no. 7: [\"a\",\"b\"]"),
        );
        check(&json!("{{text}}{{text}}"), &json!("plainplain"));
        check(&json!("{{text}} "), &json!("plain "));
    }

    #[test]
    fn placeholders_are_filled_at_any_depth() {
        check(
            &json!({"a": [{"b": "{{note.id}}"}], "c": 1}),
            &json!({"a": [{"b": 7}], "c": 1}),
        );
    }

    #[test]
    fn what_names_nothing_stays_as_it_is() {
        for text in [
            "{{other}}",
            "{{note.x}}",
            "{{note.tags.2}}",
            "{{text.x}}",
            "a {{other}} b",
            "{{",
            "}} {{note",
            "{}",
        ] {
            check(&json!(text), &json!(text));
        }
        check(&json!("{{other}}{{text}}"), &json!("{{other}}plain"));
    }

    #[test]
    fn a_filled_value_is_not_filled_again() {
        let results = [("a", json!("{{b}}")), ("b", json!("x"))];
        assert_eq!(fill(&json!("{{a}} {{b}}"), &results), json!("{{b}} x"));
    }
}
