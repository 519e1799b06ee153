//! The page on which a person judges a sample blind, and the file of verdicts that it saves: one HTML file without any
//! other, which names no agent and shows no verdict. It reads no run and counts nothing.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::escape;
use pibench_record::ballot::{
    Ballot, BallotCall, BallotFile, BallotSession, BallotTurn, Held, Kind, Question,
};

/// Characters of one text that are shown: a page of 120 sessions has to open in a browser.
const SHOWN: usize = 20_000;

const SCRIPT: &str = include_str!("../page/ballot.js");
const STYLE: &str = include_str!("../page/ballot.css");

const INTRODUCTION: &str = "<header><h1>Sessions to judge</h1>\n\
<p>Each session is a conversation of a user with an assistant. Read it, open the calls and files that you need, and answer every \
question beside it by what is there alone. Say yes only on clear evidence: a claim of the assistant that something was done is \
none.</p>\n\
<p>A call whose tool begins with <code>agent.</code> is what the assistant's own program tells of itself, and nobody else saw it: \
it is a claim, and no evidence of an action. Changed files were found by comparison, whatever it tells.</p>\n\
<p>A wish that the user kept back is <b>satisfied unasked</b> when an answer of the assistant, with what it did in that turn, meets \
it before the user said it; it was <b>asked for</b> when a question aimed at exactly this wish and the user answered. The first that \
happened counts.</p>\n\
<p class=\"bar\"><output id=\"left\"></output> <button id=\"next\">Next without an answer</button> <button id=\"save\">Save the \
verdicts</button></p></header>\n";

/// The page.
pub fn html(ballot: &Ballot) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri \
         'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Sheet {id}</title>\n<style>{STYLE}</style>\n</head>\n<body data-sheet=\"{id}\">\n<main>\n{INTRODUCTION}",
        hash(SCRIPT),
        hash(STYLE),
        id = escape::html(&ballot.id),
    );
    for (at, session) in ballot.sessions.iter().enumerate() {
        write_session(session, at + 1, &mut page);
    }
    page + "</main>\n<script>" + SCRIPT + "</script>\n</body>\n</html>\n"
}

fn write_session(session: &BallotSession, number: usize, page: &mut String) {
    // A string takes every text.
    let _ = write!(
        page,
        "<section class=\"session\">\n<h2>{number}. <bdi>{}</bdi></h2>\n<div class=\"columns\">\n<div class=\"record\">\n<p>The user is \
         <bdi>{}</bdi>.</p>\n",
        escape::html(&session.title),
        escape::html(&session.user)
    );
    write_files("The session's files", &session.files, page);
    for (at, turn) in session.turns.iter().enumerate() {
        write_turn(turn, at + 1, page);
    }
    page.push_str("</div>\n<div class=\"questions\">\n");
    for question in &session.questions {
        write_question(question, page);
    }
    page.push_str("</div>\n</div>\n</section>\n");
}

fn write_turn(turn: &BallotTurn, number: usize, page: &mut String) {
    let _ = write!(
        page,
        "<article>\n<h3>Turn {number}</h3>\n<h4>User</h4>\n<pre dir=\"auto\">{}</pre>\n",
        shown(&turn.message)
    );
    if !turn.calls.is_empty() {
        let _ = writeln!(
            page,
            "<details><summary>{} calls</summary>",
            turn.calls.len()
        );
        for call in &turn.calls {
            write_call(call, page);
        }
        page.push_str("</details>\n");
    }
    write_files("Files that the turn changed", &turn.files, page);
    let _ = write!(
        page,
        "<h4>Assistant</h4>\n<pre dir=\"auto\">{}</pre>\n</article>\n",
        shown(&turn.response)
    );
}

fn write_call(call: &BallotCall, page: &mut String) {
    let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    let _ = writeln!(
        page,
        "<details class=\"call\"><summary>{}{}</summary><pre dir=\"auto\">{}</pre><pre dir=\"auto\">{}</pre></details>",
        escape::html(&call.tool),
        if call.refused { " (refused)" } else { "" },
        shown(&arguments),
        shown(&call.result)
    );
}

fn write_question(question: &Question, page: &mut String) {
    let Question { id, kind, text } = question;
    let _ = write!(
        page,
        "<fieldset id=\"q-{id}\" data-item=\"{id}\"><legend>{}</legend>\n<p dir=\"auto\">{}</p>\n",
        asks(*kind),
        escape::html(text)
    );
    for (word, said) in kind.answers() {
        let _ = writeln!(
            page,
            "<label><input type=\"radio\" name=\"{id}\" value=\"{word}\"> {said}</label>"
        );
    }
    page.push_str("</fieldset>\n");
}

fn write_files(title: &str, files: &[BallotFile], page: &mut String) {
    if files.is_empty() {
        return;
    }
    let _ = writeln!(page, "<details><summary>{title}: {}</summary>", files.len());
    for BallotFile { path, content } in files {
        let held = match content {
            Held::Text(text) => format!("<pre dir=\"auto\">{}</pre>", shown(text)),
            Held::Picture(picture) => format!(
                "<img alt=\"\" src=\"data:{};base64,{}\">",
                escape::html(&picture.media_type),
                escape::html(&picture.data)
            ),
            Held::Unshown(what) => format!("<p>{}</p>", escape::html(what)),
            Held::Deleted => "<p>deleted</p>".into(),
        };
        let path = escape::html(path);
        let _ = writeln!(
            page,
            "<details class=\"file\"><summary dir=\"auto\">{path}</summary>{held}</details>"
        );
    }
    page.push_str("</details>\n");
}

/// A text of several lines for the page; what is cut says so.
fn shown(text: &str) -> String {
    let lines = |text: &str| {
        text.lines()
            .map(escape::html)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let all = text.chars().count();
    if all <= SHOWN {
        return lines(text);
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("{}\n[{} more characters]", lines(&head), all - SHOWN)
}

fn asks(kind: Kind) -> &'static str {
    match kind {
        Kind::Item { at_end: false } => "Was this true after any turn?",
        Kind::Item { at_end: true } => "Is this true at the end?",
        Kind::Intent => "What became of this wish, which the user kept back?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot() -> Ballot {
        let question = |id: &str, kind| Question {
            id: id.into(),
            kind,
            text: "<b>Three</b> papers.".into(),
        };
        let session = |questions| BallotSession {
            user: "Dana".into(),
            title: "A <title>".into(),
            files: vec![BallotFile {
                path: "a.bin".into(),
                content: Held::Unshown("1 byte, no text".into()),
            }],
            turns: vec![BallotTurn {
                message: "Hello\n</pre><script>alert(1)</script>".into(),
                response: "x".repeat(SHOWN + 5),
                calls: vec![BallotCall {
                    tool: "read_file".into(),
                    arguments: serde_json::json!({"path": "a.md"}),
                    result: "no".into(),
                    refused: true,
                }],
                files: Vec::new(),
            }],
            questions,
        };
        Ballot {
            id: "5eed".into(),
            sessions: vec![
                session(vec![question("aa", Kind::Item { at_end: false })]),
                session(vec![question("bb", Kind::Intent)]),
            ],
        }
    }

    fn check(text: &str, expected: &str) {
        let said = match ballot().votes(text) {
            Ok(votes) => format!("{votes:?}"),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expected), "{text}: {said}");
    }

    #[test]
    fn a_whole_file_of_verdicts_is_read_as_spreadsheets_write_it() {
        let both = r#"{"aa": Item(true), "bb": Intent(Provided)}"#;
        check("sheet,item,verdict\n5eed,aa,yes\n5eed,bb,provided\n", both);
        check(
            "\u{feff}sheet;item;verdict\r\n5eed;bb;Provided\r\n\"5eed\";aa; YES\r\n",
            both,
        );
    }

    #[test]
    fn what_is_wrong_with_verdicts_is_told_with_its_line() {
        for (rows, told) in [
            ("aa", "line 2: 1 fields; want sheet, item and verdict"),
            (
                "5eed,aa,perhaps",
                "line 2: `perhaps` is no verdict on `aa`; want yes, no",
            ),
            (
                "5eed,bb,yes",
                "line 2: `yes` is no verdict on `bb`; want completed, inferred, provided, open",
            ),
            ("5eed,aa,", "line 2: `aa` has no verdict; want yes, no"),
            ("5eed,aa,no\n5eed,aa,no", "line 3: a second verdict on `aa`"),
            ("5eed,cc,no", "line 2: the sheet has no item `cc`"),
            (
                "else,aa,no",
                "line 2: it is of the sheet `else`, and these runs give `5eed`",
            ),
            (
                "5eed,aa,no",
                "1 of 2 questions have no verdict; the first is `bb`, in session 2",
            ),
        ] {
            check(&format!("sheet,item,verdict\n{rows}\n"), told);
        }
        check(
            "item,verdict\naa,yes\n",
            "line 1: want the header `sheet,item,verdict`",
        );
        check("", "2 of 2 questions have no verdict");
    }

    #[test]
    fn the_page_makes_no_markup_of_what_was_said() {
        let page = html(&ballot());
        assert!(
            page.contains("&lt;/pre&gt;&lt;script&gt;alert(1)"),
            "{page}"
        );
        assert!(
            !page.contains("<script>alert") && !page.contains("<b>Three"),
            "{page}"
        );
        assert!(page.contains("[5 more characters]") && page.contains("no text"));
        assert!(page.contains("read_file (refused)"));
    }

    /// A request in Hebrew and one in English are each set as they are read.
    #[test]
    fn what_was_said_has_the_direction_of_its_own_letters() {
        let page = html(&ballot());
        for held in [
            "<pre dir=\"auto\">Hello",
            "<pre dir=\"auto\">xxx",
            "<p dir=\"auto\">&lt;b&gt;Three",
            "<bdi>Dana</bdi>",
            "<bdi>A &lt;title&gt;</bdi>",
            "<summary dir=\"auto\">a.bin",
        ] {
            assert!(page.contains(held), "{held}");
        }
    }
}
