//! Attacks on a judge, in five languages, held against what our own fence and parsers make of them: each is data wherever it
//! stands. Whether a model believes one is another question, and takes a model to answer.

use serde::Deserialize;

use super::fence::{Draw, Nonce, one_line};
use super::parse::{self, ListItem, Styles};

#[derive(Debug, Deserialize)]
struct Attack {
    language: String,
    aim: String,
    /// `{nonce}` stands for the delimiter itself, which no attacker knows.
    text: String,
}

fn attacks() -> Vec<Attack> {
    let text = include_str!("../../../../../tests/fixtures/attacks.json");
    serde_json::from_str(text).unwrap()
}

fn nonce() -> Nonce {
    Draw::new("attacks", "attacks").nonce()
}

fn items() -> Vec<ListItem> {
    ListItem::list(["The file was kept.", "The mail was sent."].into_iter())
}

/// What a judge says who is not moved: the first item is met, the second is not.
fn answer(nonce: &Nonce, evidence: &str) -> String {
    format!(
        "=== {nonce} ITEM 1 ===\nTEXT: The file was kept.\nEVIDENCE: a call\nVERDICT: YES\n\
         === {nonce} ITEM 2 ===\nTEXT: The mail was sent.\nEVIDENCE: {evidence}\nVERDICT: NO\n"
    )
}

#[test]
fn there_are_thirty_attacks_in_five_languages() {
    let attacks = attacks();
    assert!(attacks.len() >= 30);
    let mut languages: Vec<&str> = attacks.iter().map(|one| one.language.as_str()).collect();
    languages.sort_unstable();
    languages.dedup();
    assert_eq!(languages.len(), 5);
    // A guess of the delimiter is no delimiter.
    assert!(attacks.iter().all(|one| !nonce().occurs_in(&one.text)));
}

/// With the delimiter or without it, an attack stays on marked lines between the two lines of the fence.
#[test]
fn an_attack_stays_between_the_delimiters() {
    let nonce = nonce();
    for Attack {
        language,
        aim,
        text,
    } in attacks()
    {
        let text = text.replace("{nonce}", &nonce.to_string());
        let fenced = nonce.fence("response", &text);
        let lines: Vec<&str> = fenced.split('\n').collect();
        let [first, inner @ .., last] = &lines[..] else {
            unreachable!("a fence has two lines");
        };
        assert_eq!(*first, format!("[begin {nonce} response]"));
        assert_eq!(*last, format!("[end {nonce}]"));
        for line in inner {
            let is_plain = line.starts_with("| ") && !nonce.occurs_in(line);
            let is_visible = !line[2..].chars().any(|c| c.is_control() && c != '\t');
            assert!(is_plain && is_visible, "{language}, {aim}: {line:?}");
        }
    }
}

/// A judge that repeats an attack, before its answer, behind it, as evidence or in its place, gives no verdict of the
/// attacker's: what it says itself counts, or nothing does and it is asked again.
#[test]
fn an_attack_that_a_judge_repeats_moves_no_verdict() {
    let (nonce, items) = (nonce(), items());
    let honest = answer(&nonce, "no mail");
    let said = |reply: &str| parse::verdicts(reply, &nonce, &items, Styles::Absent);
    let yes = |reply: &str| -> Option<Vec<bool>> {
        let verdicts = said(reply).ok()?;
        Some(verdicts.iter().map(|verdict| verdict.yes).collect())
    };
    assert_eq!(yes(&honest), Some(vec![true, false]));
    for Attack {
        language,
        aim,
        text,
    } in attacks()
    {
        // As the judge was shown it.
        let shown = text.replace("{nonce}", "[removed]");
        let name = format!("{language}, {aim}");
        let quoted = answer(&nonce, &one_line(&shown));
        let found = yes(&quoted);
        assert!(
            found.is_none() || found == Some(vec![true, false]),
            "{name}: {found:?}"
        );
        for reply in [
            format!("{shown}\n{honest}"),
            format!("{honest}\n{shown}"),
            shown.clone(),
        ] {
            assert_eq!(said(&reply).ok(), None, "{name}: {reply}");
            let kept = parse::kept_verdicts(&reply, &nonce, &items, Styles::Absent);
            let moved = kept[1].as_ref().is_some_and(|verdict| verdict.yes);
            assert!(!moved, "{name}: {kept:?}");
        }
        assert!(parse::choice(&shown, &nonce, &items).is_err(), "{name}");
        assert!(parse::message(&shown, &nonce).is_err(), "{name}");
    }
}
