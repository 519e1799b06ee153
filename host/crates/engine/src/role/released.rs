//! Answers as the released code's prompts ask for them: a block `<c1>...</c1>` for each item with its text and YES or NO. Read
//! where a folder of prompts asks for them, by the rules of that code: as many blocks as items, in any order, each echoing its
//! item but for blanks. And what counts of several attempts at rubrics. Our own format is `parse`'s.

use super::parse::{ListItem, ParseError, Styles, Verdict};
use pibench_core::session::Style;

/// The elements of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tags {
    text: &'static str,
    verdict: &'static str,
    /// Whether an echo is of escaped text, and one that differs leaves its item open instead of failing the attempt.
    escaped: bool,
}

/// Of both stages of the user agent.
pub(crate) const INTENTS: Tags = Tags {
    text: "content",
    verdict: "decision",
    escaped: false,
};

/// Of the judge of rubrics.
pub(crate) const RUBRICS: Tags = Tags {
    text: "criterion",
    verdict: "score",
    escaped: true,
};

/// What was read of an item in one attempt or another.
#[derive(Debug)]
pub(crate) struct Kept {
    found: Vec<Option<Verdict>>,
    /// Attempts that are left.
    left: usize,
}

impl Kept {
    pub(crate) fn new(items: usize, attempts: usize) -> Self {
        Self {
            found: vec![None; items],
            left: attempts,
        }
    }

    /// Adds what one attempt gave, the first of each item standing. After the last attempt, where it could be read, what is
    /// still open is NO.
    pub(crate) fn add(
        &mut self,
        attempt: Result<Vec<Option<Verdict>>, ParseError>,
    ) -> Result<Vec<Verdict>, ParseError> {
        self.left = self.left.saturating_sub(1);
        for (kept, fresh) in self.found.iter_mut().zip(attempt?) {
            *kept = kept.take().or(fresh);
        }
        if self.left == 0 {
            let no = || Verdict::no("no answer to it could be read");
            return Ok(self
                .found
                .iter()
                .map(|one| one.clone().unwrap_or_else(no))
                .collect());
        }
        let (found, wanted) = (self.found.iter().flatten().count(), self.found.len());
        if found < wanted {
            return Err(ParseError::Count { found, wanted });
        }
        Ok(self.found.iter().flatten().cloned().collect())
    }
}

/// Reads one verdict per item.
pub(crate) fn verdicts(
    reply: &str,
    tags: Tags,
    items: &[ListItem],
    styles: Styles,
) -> Result<Vec<Verdict>, ParseError> {
    let each = each_verdict(reply, tags, items, styles)?;
    let echo = each.iter().position(Option::is_none);
    match echo {
        Some(place) => Err(ParseError::Echo { item: place + 1 }),
        None => Ok(each.into_iter().flatten().collect()),
    }
}

/// The same; None of an item whose block echoes another text.
pub(crate) fn each_verdict(
    reply: &str,
    tags: Tags,
    items: &[ListItem],
    styles: Styles,
) -> Result<Vec<Option<Verdict>>, ParseError> {
    let blocks = blocks(reply, tags);
    let (found, wanted) = (blocks.len(), items.len());
    if found != wanted {
        return Err(ParseError::Count { found, wanted });
    }
    let mut all = vec![None; wanted];
    let mut seen = vec![false; wanted];
    for block in blocks {
        let place = block.number.checked_sub(1).filter(|place| *place < wanted);
        let place = place.ok_or(ParseError::NoSuchItem)?;
        if std::mem::replace(&mut seen[place], true) {
            return Err(ParseError::NoSuchItem);
        }
        let style = block.style(place + 1, styles)?;
        if same(block.text, &items[place].text, tags.escaped) {
            all[place] = Some(Verdict {
                yes: block.yes,
                evidence: String::new(),
                style,
            });
        }
    }
    Ok(all)
}

/// What a reply repeats of the item of this number.
pub(super) fn echo(reply: &str, tags: Tags, number: usize) -> Option<&str> {
    let mut blocks = blocks(reply, tags).into_iter();
    blocks
        .find(|block| block.number == number)
        .map(|block| block.text)
}

struct Block<'a> {
    number: usize,
    text: &'a str,
    yes: bool,
    style: Option<&'a str>,
}

impl Block<'_> {
    fn style(&self, item: usize, styles: Styles) -> Result<Option<Style>, ParseError> {
        let given = self.style.map(str::trim).unwrap_or_default();
        match (styles, self.yes, given.to_ascii_lowercase().as_str()) {
            (Styles::Absent, _, _) | (Styles::Wanted, false, "") => Ok(None),
            (Styles::Wanted, true, "clarify") => Ok(Some(Style::Clarify)),
            (Styles::Wanted, true, "options") => Ok(Some(Style::Options)),
            _ => Err(ParseError::Style { item }),
        }
    }
}

/// Every whole block of a reply; what stands around them is passed over.
fn blocks(reply: &str, tags: Tags) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = reply;
    while let Some(start) = rest.find(['<']) {
        let here = &rest[start..];
        match block(here, tags) {
            Some((block, after)) => {
                found.push(block);
                rest = after;
            }
            None => rest = &here[1..],
        }
    }
    found
}

fn block(text: &str, tags: Tags) -> Option<(Block<'_>, &str)> {
    let rest = opened(text, "c")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = rest.split_at(digits);
    let (echo, rest) = element(rest.strip_prefix('>')?, tags.text)?;
    let (verdict, rest) = element(rest, tags.verdict)?;
    let yes = match verdict.trim().to_ascii_lowercase().as_str() {
        "yes" => true,
        "no" => false,
        _ => return None,
    };
    let (style, rest) = match element(rest, "style") {
        Some((style, rest)) => (Some(style), rest),
        None => (None, rest),
    };
    let rest = opened(rest.trim_start(), "/c")?;
    let rest = rest.strip_prefix(number)?.strip_prefix('>')?;
    let block = Block {
        number: number.parse().ok()?,
        text: echo,
        yes,
        style,
    };
    Some((block, rest))
}

/// The content of an element at the start of a text, and what follows it.
fn element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let content = opened(text.trim_start(), name)?.strip_prefix('>')?;
    let mut from = 0;
    loop {
        let end = from + content[from..].find("</")?;
        let after = opened(&content[end..], &format!("/{name}"));
        match after.and_then(|rest| rest.strip_prefix('>')) {
            Some(rest) => return Some((&content[..end], rest)),
            None => from = end + 2,
        }
    }
}

/// What follows `<name`, whatever the letters' case.
fn opened<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix('<')?;
    let head = rest.get(..name.len())?;
    head.eq_ignore_ascii_case(name).then(|| &rest[name.len()..])
}

/// The same words, whatever stands between them.
fn same(echo: &str, text: &str, escaped: bool) -> bool {
    let words = |text: &str| -> Vec<String> {
        let text = if escaped {
            unescaped(text)
        } else {
            text.to_owned()
        };
        text.split_whitespace().map(str::to_owned).collect()
    };
    words(echo) == words(text)
}

/// The five entities that a program writes for a text.
fn unescaped(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (entity, character)| {
            text.replace(entity, character)
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn two() -> Vec<ListItem> {
        ListItem::list(["Name the court.", "Send <it> by Friday"].into_iter())
    }

    fn block(number: usize, text: &str, verdict: &str) -> String {
        format!(
            "<c{number}>\n<content>\n{text}\n</content>\n<decision>\n{verdict}\n</decision>\n</c{number}>\n"
        )
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "written out at each call")]
    fn check(reply: &str, expected: Result<[bool; 2], ParseError>) {
        let read = verdicts(reply, INTENTS, &two(), Styles::Absent);
        assert_eq!(
            read.map(|read| [read[0].yes, read[1].yes]),
            expected,
            "{reply}"
        );
    }

    #[test]
    fn blocks_are_read_in_any_order_and_among_other_words() {
        let (first, second) = (
            block(1, "Name  the\ncourt.", "YES"),
            block(2, "Send <it> by Friday", "no"),
        );
        check(&format!("{first}{second}"), Ok([true, false]));
        check(
            &format!(
                "Well:\n{second}```{}",
                first
                    .to_uppercase()
                    .replace("NAME  THE\nCOURT.", "Name the court.")
            ),
            Ok([true, false]),
        );
    }

    #[test]
    fn another_number_of_blocks_another_item_or_another_text_is_none() {
        let (first, second) = (
            block(1, "Name the court.", "YES"),
            block(2, "Send <it> by Friday", "NO"),
        );
        let count = |found| Err(ParseError::Count { found, wanted: 2 });
        check("", count(0));
        check(&first, count(1));
        check(&format!("{first}{second}{second}"), count(3));
        check(
            &format!("{first}{}", second.replace("NO", "MAYBE")),
            count(1),
        );
        check(&format!("{first}{first}"), Err(ParseError::NoSuchItem));
        check(
            &format!("{first}{}", second.replace("c2", "c3")),
            Err(ParseError::NoSuchItem),
        );
        check(
            &format!("{first}{}", second.replace("Friday", "Monday")),
            Err(ParseError::Echo { item: 2 }),
        );
    }

    #[test]
    fn a_style_goes_with_a_yes_alone() {
        let items = ListItem::list(["Ask."].into_iter());
        let read = |verdict: &str, style: &str| {
            let reply = block(1, "Ask.", verdict).replace("</c1>", &format!("{style}</c1>"));
            verdicts(&reply, INTENTS, &items, Styles::Wanted).map(|read| read[0].style)
        };
        assert_eq!(
            read("YES", "<style>Clarify</style>\n"),
            Ok(Some(Style::Clarify))
        );
        assert_eq!(
            read("YES", "<style> options </style>"),
            Ok(Some(Style::Options))
        );
        assert_eq!(read("NO", ""), Ok(None));
        for (verdict, style) in [
            ("YES", ""),
            ("YES", "<style>Both</style>"),
            ("NO", "<style>Clarify</style>"),
        ] {
            assert_eq!(read(verdict, style), Err(ParseError::Style { item: 1 }));
        }
    }

    #[test]
    fn rubrics_keep_what_echoes_and_what_stays_open_after_the_last_readable_attempt_is_no() {
        let items = two();
        let attempt = |reply: &str| {
            each_verdict(
                &reply
                    .replace("content", "criterion")
                    .replace("decision", "score"),
                RUBRICS,
                &items,
                Styles::Absent,
            )
        };
        let good = format!(
            "{}{}",
            block(1, "Name the court.", "YES"),
            block(2, "Send &lt;it&gt; by Friday", "YES")
        );
        let half = good.replace("Friday", "Monday");
        assert!(Kept::new(2, 5).add(attempt(&good)).is_ok());

        let mut kept = Kept::new(2, 3);
        assert_eq!(
            kept.add(attempt(&half)),
            Err(ParseError::Count {
                found: 1,
                wanted: 2
            })
        );
        assert!(kept.add(attempt("nothing")).is_err());
        let last = kept.add(attempt(&half)).unwrap();
        assert_eq!([last[0].yes, last[1].yes], [true, false]);
        // An answer that cannot be read at the end is none.
        let mut kept = Kept::new(2, 2);
        assert!(kept.add(attempt(&half)).is_err() && kept.add(attempt("nothing")).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(reply in any::<String>(), inner in "[<>/c1a-z ]{0,60}") {
            prop_assert!(verdicts(&reply, INTENTS, &two(), Styles::Wanted).is_err());
            let _ = verdicts(&format!("<c1><content>{inner}"), INTENTS, &two(), Styles::Wanted);
        }
    }
}
