//! The shape of the sources, read as tokens and not as text: how long a function is, and which modules know each other.

use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::sources;

/// Lines from `fn` to its closing bracket: what one takes in at once.
const LONGEST_FUNCTION: usize = 80;

/// A command reads its options, asks the floors below, and prints.
const LONGEST_COMMAND: usize = 250;

/// The name and the number of lines of each function with a body, those within others and within macros too.
fn functions(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            functions(group.stream(), found);
        }
        let named = match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => name,
            _ => continue,
        };
        // A declaration ends before any body.
        let end = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(Some(group.span_close().end().line))
            }
            _ => None,
        });
        if let Some(Some(end)) = end {
            let begin = token.span().start().line;
            found.push((named.to_string(), end + 1 - begin));
        }
    }
}

#[test]
fn no_function_is_longer_than_one_takes_in() {
    let mut count = 0;
    for (path, text) in sources("") {
        let mut found = Vec::new();
        functions(TokenStream::from_str(&text).expect(&path), &mut found);
        count += found.len();
        for (name, lines) in found {
            assert!(
                lines <= LONGEST_FUNCTION,
                "{path}: `{name}` has {lines} lines, at most {LONGEST_FUNCTION} fit: cut it where a part has a name"
            );
        }
    }
    assert!(count > 5000, "{count} functions were found");
}

#[test]
fn lines_of_a_function_are_counted_from_its_name_to_its_end() {
    let text = "/// Words.\nfn one(\n  a: [u8; 3],\n) {\n  m! { fn two() {} }\n}\ntrait T { fn no(); }\ntype P = fn(u8);";
    let mut found = Vec::new();
    functions(TokenStream::from_str(text).unwrap(), &mut found);
    let expected = [("one".to_owned(), 5), ("two".to_owned(), 1)];
    assert_eq!(found, expected);
}

#[test]
fn no_file_of_a_command_is_longer_than_one_reads() {
    for (path, text) in sources("host/src/commands/") {
        let lines = text.lines().count();
        assert!(
            lines < LONGEST_COMMAND,
            "{path} has {lines} lines, under {LONGEST_COMMAND} fit: its rules belong on a floor below"
        );
    }
}
