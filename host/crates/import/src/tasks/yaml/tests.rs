//! What `PyYAML` makes of a text, as JSON: every expectation here was seen there.

use serde::Deserialize;
use serde_json::json;

use super::*;

#[track_caller]
fn reads(text: &str, expected: &Value) {
    let node = read(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
    assert_eq!(node.to_json(), *expected, "{text:?}");
}

#[track_caller]
fn refuses(text: &str, at: usize, message: &str) {
    let error = read(text).expect_err(text);
    assert!(error.message.contains(message), "{error:?}");
    assert_eq!(error.at, at, "{error:?}");
}

#[test]
fn a_quoted_text_goes_on_at_any_column() {
    reads(
        "a:\n  b: \"one\ntwo\n\nthree \\\nfour\"\n  c: 'it''s\n\n\nlong'\n",
        &json!({"a": {"b": "one two\nthree four", "c": "it's\n\nlong"}}),
    );
    reads("- [\"x\ny\"]\n", &json!([["x y"]]));
    reads("title: \"x\n\ty\"\n", &json!({"title": "x y"}));
    reads(
        "a:\n  b: 'one\n \t two\n\n\tthree'\n",
        &json!({"a": {"b": "one two\nthree"}}),
    );
}

#[test]
fn a_line_may_end_in_nel() {
    for (text, value) in [
        ("a: \"x\u{85}y\"\n", json!({"a": "x y"})),
        ("a: x\u{85}  y\nb: 2\n", json!({"a": "x y", "b": 2})),
        ("a: 1\u{85}b: 2\n", json!({"a": 1, "b": 2})),
        ("a: |\n  x\u{85}  y\n", json!({"a": "x\ny\n"})),
        ("# c\u{85}a: 1\n", json!({"a": 1})),
        ("a: \"x\\\u{85}  y\"\n", json!({"a": "xy"})),
        ("a: 'x \u{85}\u{85} y'\n", json!({"a": "x\ny"})),
        (
            "a: >\n  x\u{85}  y\u{85}\u{85}  z\n",
            json!({"a": "x y\nz\n"}),
        ),
        ("a: \"x\\Ny\"\n", json!({"a": "x\u{85}y"})),
    ] {
        reads(text, &value);
    }
    refuses("a: 1\u{85}b: [\n", 9, "");
}

#[test]
fn separators_of_lines_and_paragraphs_stay_in_a_text() {
    for (text, value) in [
        ("a: \"x\u{2028}y\"\n", json!({"a": "x\u{2028}y"})),
        ("- 'x\u{2029}y'\n", json!(["x\u{2029}y"])),
        ("a: \"x\\L y\"\n", json!({"a": "x\u{2028} y"})),
    ] {
        reads(text, &value);
    }
    // Here `PyYAML` begins another line.
    refuses("a: 1\u{2028}b: 2\n", 8, "");
}

#[test]
fn scalars_mean_what_version_1_1_says() {
    for (text, value) in [
        ("yes", json!(true)),
        ("Off", json!(false)),
        ("y", json!("y")),
        ("~", Value::Null),
        ("010", json!(8)),
        ("08", json!("08")),
        ("0o10", json!("0o10")),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("1_000", json!(1000)),
        ("+12", json!(12)),
        ("190:20:30", json!(685_230)),
        ("1:60", json!("1:60")),
        ("190:20:30.15", json!(685_230.15)),
        ("1e3", json!("1e3")),
        ("1.0e3", json!("1.0e3")),
        ("1.0e+3", json!(1000.0)),
        ("-.5", json!("-.5")),
        (".5", json!(0.5)),
        ("1.", json!(1.0)),
        (".inf", json!(".inf")),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!("18446744073709551616")),
        ("2024-01-02", json!("2024-01-02")),
        ("'12'", json!("12")),
        ("!!str 12", json!("12")),
        ("!!int '12'", json!(12)),
        ("!!float 3", json!(3.0)),
    ] {
        reads(&format!("v: {text}\n"), &json!({ "v": value }));
    }
}

#[test]
fn keys_merge_repeat_and_become_text() {
    reads(
        "base: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\nboth: {<<: [*b, {x: 9, z: 4}]}\n",
        &json!({"base": {"x": 1, "y": 2}, "own": {"y": 3, "x": 1}, "both": {"x": 1, "y": 2, "z": 4}}),
    );
    reads("a: 1\nb: 2\na: 3\n", &json!({"a": 3, "b": 2}));
    reads(
        "1: a\nyes: b\n~: c\n",
        &json!({"1": "a", "true": "b", "null": "c"}),
    );
    reads("", &Value::Null);
    reads("# only words\n", &Value::Null);
}

#[test]
fn what_pyyaml_refuses_is_refused_with_its_place() {
    refuses("a: [1, 2\nb: 3\n", 10, "illegal placement of ':'");
    refuses("a: b: c\n", 4, "mapping values are not allowed");
    refuses("é: 'x\n", 4, "unclosed quote");
    refuses("a: 1\n--- \nb: 2\n", 5, "a second document");
    refuses("a: *b\n", 3, "unknown anchor");
    refuses("a: &x [*x]\n", 7, "stands in what it is of");
    refuses(
        "a: !!python/object:os.system {}\n",
        29,
        "the tag `tag:yaml.org,2002:python",
    );
    refuses("? [a]\n: b\n", 2, "is no key");
    refuses("<<: 3\n", 4, "takes maps");
    refuses("a: =\n", 3, "is no value");
    refuses("a:\t- b\n\t- c\n", 3, "not allowed");
}

/// As often as a file of the usual size can, and not without end.
#[test]
fn lines_that_are_not_indented_have_a_limit() {
    let long = |lines: usize| format!("a:\n  b: \"{}\"\nc: [\n", "x\n".repeat(lines));
    refuses(&long(1000), 2014, "unclosed bracket");
    let error = read(&long(200_000)).unwrap_err();
    assert!(error.message.contains("quoted"), "{error:?}");
    refuses("a:\n  b: \"x\n---\ny\"\n", 11, "");
}

#[test]
fn depth_and_aliases_are_bounded() {
    let deep = "[".repeat(100_000);
    refuses(&deep, DEPTH_LIMIT, "recursion limit");
    let levels = ('b'..='j').zip('a'..='i').map(|(name, of)| {
        let list = vec![format!("*{of}"); 9].join(", ");
        format!("{name}: &{name} [{list}]\n")
    });
    let bomb = format!("a: &a [x]\n{}", levels.collect::<String>());
    let error = read(&bomb).unwrap_err();
    assert!(error.message.contains("16 MiB"), "{error:?}");
}

#[test]
fn a_wrong_type_is_told_at_the_innermost_value() {
    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "read only")]
        list: Vec<Inner>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "read only")]
        text: String,
        #[expect(dead_code, reason = "read only")]
        #[serde(default)]
        number: Option<f64>,
    }
    let error = |text: &str| read(text).unwrap().read::<Outer>().unwrap_err();
    let wrong = error("list:\n- text: 1\n- text: b\n  number: x\n");
    assert_eq!(wrong.at, 36, "{wrong:?}");
    let unknown = error("list:\n- text: 2024-01-02\n  other: 1\n");
    assert_eq!(unknown.at, 27, "{unknown:?}");
    assert!(unknown.message.contains("unknown field `other`"));
    let null = error("list:\n- text:\n");
    assert!(null.message.contains("invalid type: null"), "{null:?}");
}
