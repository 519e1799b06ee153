//! Which of an agent's words are its own. The scripted judges give no credit for text that the agent copied from what
//! it was shown: a request, a staged file, a tool's result. It compares texts and never says what they mean.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use serde_json::Value;
use unicode_normalization::char::is_combining_mark;

use crate::form::composed;

/// A shared span of this many characters counts as copied (after white space is collapsed and case is folded). Names,
/// dates and set phrases that any answer needs stay below it.
pub const SPAN: usize = 40;

/// The longest argument that can be a name, in characters: a postal address on one line.
const NAME: usize = 2 * SPAN;

/// Letters without case that a name may have between two marks, blanks aside: a district, a street, a firm.
const ROW: usize = SPAN / 2;

/// Marks that end a question as `?` does, of other scripts. Greek's is the semicolon, which ends no question elsewhere.
pub(crate) const QUESTION: &str = "？؟﹖⁇⁉፧᥅꘏꛷";

/// Armenian's stands within the word that is asked about.
pub(crate) const ARMENIAN: char = '՞';

/// Marks of other scripts that end what is no question. No number holds one, so that no blank need stand behind it.
pub(crate) const STOP: &str = "。｡！।॥۔։።။។";

/// A span with fewer letters and digits says nothing: the rule below a table's head, a line of dashes.
const WORDS: usize = SPAN / 4;

/// Stands where a copied span was taken out: no white space, so that it survives [`collapse`].
pub const SEPARATOR: char = '\u{1e}';

/// White space counts as one blank, or as one line end where it holds any; none at the ends. Letters are composed.
pub fn collapse(text: &str) -> String {
    let text = composed(text);
    let mut collapsed = String::with_capacity(text.len());
    let mut gap = None;
    for character in text.chars() {
        if character.is_whitespace() {
            let ends_line = character == '\n' || gap == Some('\n');
            gap = Some(if ends_line { '\n' } else { ' ' });
            continue;
        }
        if let Some(gap) = gap.take().filter(|_| !collapsed.is_empty()) {
            collapsed.push(gap);
        }
        collapsed.push(character);
    }
    collapsed
}

/// A call's arguments as text: `key: value` lines down to the leaves, without JSON's quotes and escapes, so that
/// patterns and copied spans meet the words as they were meant.
pub fn arguments_text(arguments: &Value) -> String {
    leaves_text(arguments, &mut |leaf| leaf)
}

/// The same, with each leaf as `change` leaves it.
fn leaves_text(arguments: &Value, change: &mut dyn FnMut(String) -> String) -> String {
    let mut lines = Vec::new();
    write_leaves("", arguments, change, &mut lines);
    lines.join("\n")
}

fn write_leaves(
    key: &str,
    value: &Value,
    change: &mut dyn FnMut(String) -> String,
    lines: &mut Vec<String>,
) {
    let leaf = match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                write_leaves(key, field, change, lines);
            }
            return;
        }
        Value::Array(entries) => {
            for entry in entries {
                write_leaves(key, entry, change, lines);
            }
            return;
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let leaf = change(leaf);
    lines.push(if key.is_empty() {
        leaf
    } else {
        format!("{key}: {leaf}")
    });
}

/// Whether an argument is a name and no sentence: an address, an id, a date, a path. A call needs such as it was shown, so
/// a copy of one is no echo. A name is on one line and short, no mark ends it, and most of its words are not in lower case.
/// Letters without case tell nothing, and all of a sentence may be one word of them: there the marks within part a name into
/// short rows.
fn is_name(argument: &str) -> bool {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let plain = words.iter().filter(|word| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        word.starts_with(char::is_lowercase) && word.chars().all(char::is_alphabetic)
    });
    let short = argument.chars().count() <= NAME && !argument.contains('\n');
    let ends = argument.trim_end().ends_with(ends_sentence);
    let has_case = !argument.contains(is_without_case);
    let in_case = words.len() < 2 || (!ends && plain.count() * 2 <= words.len());
    short && in_case && (has_case || (!ends && has_short_rows(argument)))
}

fn ends_sentence(mark: char) -> bool {
    ['.', '!', '?', '．'].contains(&mark) || STOP.contains(mark) || QUESTION.contains(mark)
}

/// A letter of a script that has no capitals, as Chinese, Arabic and Hindi.
fn is_without_case(letter: char) -> bool {
    letter.is_alphabetic() && !letter.is_lowercase() && !letter.is_uppercase()
}

/// Whether marks part the letters without case into rows as short as those of names.
fn has_short_rows(argument: &str) -> bool {
    // What stands within words parts nothing: vowel signs and tones, abbreviating quotes, joiners.
    let is_within = |c: char| is_combining_mark(c) || "\"'’״׳\u{200c}\u{200d}".contains(c);
    let is_mark = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !is_within(c);
    let mut rows = argument.split(is_mark);
    rows.all(|row| row.chars().filter(|&c| is_without_case(c)).count() <= ROW)
}

/// All that an agent was shown so far.
///
/// Order matters: ask for the agent's own words when it writes them, before a tool's result echoes them.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Hashes of every span of [`SPAN`] characters. A false hit has a chance of about 2^-61 per pair of spans.
    windows: HashSet<u64, BuildHasherDefault<Spread>>,
}

impl Seen {
    /// Forgets it all, and keeps the room.
    pub fn clear(&mut self) {
        self.windows.clear();
    }

    /// The agent is shown `text`. Text inside JSON is seen also without its escapes.
    pub fn add(&mut self, text: &str) {
        self.add_windows(text);
        if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
            self.add_windows(&arguments_text(&json));
        }
    }

    /// [`arguments_text`], with what of each argument occurs in nothing that was shown. Names stay as they are, wherever
    /// they come from.
    pub fn own_arguments(&self, arguments: &Value) -> String {
        leaves_text(arguments, &mut |leaf| {
            if is_name(&leaf) {
                return leaf.replace(SEPARATOR, " ");
            }
            self.own_words(&leaf)
        })
    }

    /// What of `written` occurs in nothing that was shown: each copied span of [`SPAN`] or more characters gives way
    /// to one [`SEPARATOR`]. White space is collapsed, case is kept. Takes time linear in the text.
    pub fn own_words(&self, written: &str) -> String {
        // A separator of the agent's own making would cut a pattern that should match.
        let text = Folded::new(&written.replace(SEPARATOR, " "));
        let copied = self.copied(&text);
        let mut own: Vec<String> = vec![String::new()];
        for (at, &character) in text.plain.iter().enumerate() {
            if !copied[at] {
                own.last_mut()
                    .into_iter()
                    .for_each(|span| span.push(character));
            } else if at > 0 && !copied[at - 1] {
                own.push(String::new());
            }
        }
        let own: Vec<&str> = own
            .iter()
            .map(|span| span.trim())
            .filter(|span| !span.is_empty())
            .collect();
        own.join(&String::from(SEPARATOR))
    }

    /// Whether [`Seen::own_words`] would leave anything of the text out.
    pub fn has_of(&self, spans: &Spans) -> bool {
        spans.0.iter().any(|window| self.windows.contains(window))
    }

    fn add_windows(&mut self, text: &str) {
        let text = composed(text);
        let mut rolling = Rolling::default();
        self.windows.reserve(text.len().saturating_sub(SPAN));
        let (mut begun, mut apart) = (false, false);
        let mut add = |folded: char| {
            if let Some(window) = rolling.push(folded) {
                self.windows.insert(window);
            }
        };
        // A loop of its own, and not `collapse`: all that an agent is ever shown goes through here.
        for character in text.chars() {
            if character.is_whitespace() {
                apart = begun;
                continue;
            }
            if apart {
                add(' ');
            }
            (begun, apart) = (true, false);
            if character.is_ascii() {
                add(character.to_ascii_lowercase());
            } else {
                character.to_lowercase().for_each(&mut add);
            }
        }
    }

    /// Per plain character: whether a copied span covers it.
    fn copied(&self, text: &Folded) -> Vec<bool> {
        let mut copied = vec![false; text.plain.len()];
        // Folded characters up to here are marked, so that each is marked once.
        let mut marked = 0;
        for (start, window) in text.windows().enumerate() {
            if !self.windows.contains(&window) {
                continue;
            }
            let end = start + SPAN;
            if !text.is_wordy(start) {
                continue;
            }
            for &(_, plain) in &text.folded[start.max(marked)..end] {
                copied[plain] = true;
            }
            marked = end;
        }
        copied
    }
}

/// The spans of a text that a copy of it is known by, to be looked for in much that was shown.
#[derive(Debug)]
pub struct Spans(Vec<u64>);

impl Spans {
    pub fn of(text: &str) -> Self {
        let text = Folded::new(&text.replace(SEPARATOR, " "));
        let windows = text.windows().enumerate();
        let wordy = windows.filter(|(start, _)| text.is_wordy(*start));
        Self(wordy.map(|(_, window)| window).collect())
    }
}

/// A text with its case folded, and the way back to the text as written.
struct Folded {
    /// White space collapsed, case as written.
    plain: Vec<char>,
    /// Folded characters, each with the index of the plain one that it stems from: one may fold into several.
    folded: Vec<(char, usize)>,
}

impl Folded {
    fn new(text: &str) -> Self {
        let plain: Vec<char> = collapse(text).chars().collect();
        // One character may fold into several. Lines may be broken anew in a copy.
        let fold = |(at, &character): (usize, &char)| {
            let character = if character == '\n' { ' ' } else { character };
            character.to_lowercase().map(move |it| (it, at))
        };
        let folded = plain.iter().enumerate().flat_map(fold).collect();
        Self { plain, folded }
    }

    /// The hash of the span that starts at each folded character, as far as whole spans go.
    fn windows(&self) -> impl Iterator<Item = u64> {
        let mut rolling = Rolling::default();
        let characters = self.folded.iter().map(|&(character, _)| character);
        characters.filter_map(move |character| rolling.push(character))
    }

    /// Whether the span that starts there says anything.
    fn is_wordy(&self, start: usize) -> bool {
        let span = self.folded[start..start + SPAN].iter();
        span.filter(|(it, _)| it.is_alphanumeric()).count() >= WORDS
    }
}

/// The hash of the last [`SPAN`] characters.
struct Rolling {
    last: [u64; SPAN],
    length: usize,
    hash: u64,
}

impl Default for Rolling {
    fn default() -> Self {
        Self {
            last: [0; SPAN],
            length: 0,
            hash: 0,
        }
    }
}

impl Rolling {
    /// The weight of the character that leaves.
    const LEAVING: u64 = {
        let (mut power, mut times_left) = (1, SPAN - 1);
        while times_left > 0 {
            power = times(power, BASE);
            times_left -= 1;
        }
        power
    };

    /// The hash with this character, once there are as many as a span has.
    fn push(&mut self, character: char) -> Option<u64> {
        let code = u64::from(u32::from(character)) + 1;
        let slot = &mut self.last[self.length % SPAN];
        let left = std::mem::replace(slot, code);
        self.hash = plus(self.hash, MODULUS - times(left, Self::LEAVING));
        self.hash = plus(times(self.hash, BASE), code);
        self.length += 1;
        (self.length >= SPAN).then_some(self.hash)
    }
}

/// The hash of a hash: it is as good as random already, and only its bits have to reach both ends of the word, of which a
/// table uses the top and the bottom.
#[derive(Debug, Clone, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// For whatever is no window.
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Rolling polynomial hash (Rabin and Karp) modulo the Mersenne prime 2^61 - 1.
const MODULUS: u64 = (1 << 61) - 1;

/// Any large number below the modulus does.
const BASE: u64 = 0x0bad_5eed_1234_5677;

/// Both below the modulus.
#[expect(
    clippy::cast_possible_truncation,
    reason = "61 bits of the product, then the rest of its 122"
)]
const fn times(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    // 2^61 is 1 modulo 2^61 - 1, so the high part is added to the low one instead of a slow division.
    plus(product as u64 & MODULUS, (product >> 61) as u64)
}

/// Both at most the modulus; the sum is below it.
const fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;
    use serde_json::json;

    use super::*;

    const SHOWN: &str =
        "The hearing was moved to Friday because the judge is ill; tell both parties.";

    fn seen(texts: &[&str]) -> Seen {
        let mut seen = Seen::default();
        for text in texts {
            seen.add(text);
        }
        seen
    }

    fn check(shown: &[&str], written: &str, expected: &str) {
        let seen = seen(shown);
        assert_eq!(seen.own_words(written), expected);
        let is_whole = expected == collapse(&written.replace(SEPARATOR, " "));
        assert_eq!(seen.has_of(&Spans::of(written)), !is_whole, "{written}");
    }

    #[test]
    fn a_copied_span_gives_way_to_a_separator() {
        let written = format!("You wrote: {SHOWN} I did.");
        // The blanks around belong to the agent's text, the span starts and ends with the copy.
        check(&[SHOWN], &written, &format!("You wrote:{SEPARATOR}I did."));
    }

    #[test]
    fn a_whole_copy_leaves_nothing() {
        check(&[SHOWN], SHOWN, "");
        check(&[SHOWN], &SHOWN.to_uppercase(), "");
        check(&[SHOWN], &SHOWN.replace(' ', "\n\t "), "");
        check(&[SHOWN], &format!("  {SHOWN}\n{SHOWN}"), "");
    }

    #[test]
    fn the_rule_below_a_tables_head_is_nobodys_words() {
        let rule = "| --- | --- | --- | --- | --- | --- | --- | --- |";
        let written = format!("{rule} | Ash Row | 84 |");
        check(&[rule], &written, &written);
    }

    #[test]
    fn thirty_nine_characters_stay_and_forty_go() {
        let (short, long) = (&SHOWN[10..49], &SHOWN[10..50]);
        assert_eq!((short.len(), long.len()), (39, 40));
        check(&[SHOWN], &format!("<{short}>"), &format!("<{short}>"));
        check(&[SHOWN], &format!("<{long}>"), &format!("<{SEPARATOR}>"));
    }

    #[test]
    fn two_shown_texts_do_not_join_into_a_span() {
        let (left, right) = SHOWN.split_at(38);
        check(&[left, right], SHOWN, SHOWN);
        assert_eq!(right.len(), 38, "neither half is long enough by itself");
    }

    #[test]
    fn a_copy_from_json_is_seen_without_escapes() {
        let result =
            json!({"notes": [{"content": "Fee: \"300\"\nDue: Monday\nPlace: room 4, 2nd floor"}]});
        let written = "Fee: \"300\"\nDue: Monday\nPlace: room 4, 2nd floor";
        check(&[&result.to_string()], written, "");
        check(&[&result.to_string()], &result.to_string(), "");
    }

    #[test]
    fn the_agent_cannot_place_separators_itself() {
        check(&[], &format!("not{SEPARATOR}done"), "not done");
    }

    #[test]
    fn letters_that_fold_into_two_are_taken_out_whole() {
        let shown = "İstanbul ".repeat(6);
        check(
            &[&shown],
            &format!("A {shown} Z"),
            &format!("A{SEPARATOR}Z"),
        );
    }

    #[test]
    fn arguments_are_read_down_to_their_leaves() {
        let arguments = json!({"title": "Plan", "tags": ["a", "b"], "to": {"name": "Jo\"e"}, "n": 3, "x": null});
        let expected = "title: Plan\ntags: a\ntags: b\nname: Jo\"e\nn: 3\nx: null";
        assert_eq!(arguments_text(&arguments), expected);
        assert_eq!(arguments_text(&json!("no JSON")), "no JSON");
    }

    #[test]
    fn line_ends_stay_and_hide_no_copy() {
        assert_eq!(collapse(" a \t b\r\n\n  c "), "a b\nc");
        check(&[], "one\n\ntwo  three", "one\ntwo three");
        let broken = SHOWN.replacen(' ', "\n", 3);
        check(&[SHOWN], &format!("Mine.\n{broken}"), "Mine.");
    }

    #[test]
    fn a_name_among_the_arguments_is_no_echo() {
        let address = "Flat 3, 27 Brunswick Terrace, Leith Walk, Edinburgh EH6 5DT";
        let mail = "wilhelmina.featherstonehaugh@northern-archive.example";
        let shown = json!({"address": address, "payer_email": mail, "amount": 12.5, "note": SHOWN});
        let seen = seen(&[&shown.to_string()]);
        let written = json!({"payer_email": mail, "amount": 12.5, "address": address});
        let own = seen.own_arguments(&written);
        assert_eq!(own, arguments_text(&written));
        // A sentence is one, however short the argument.
        let sentence = &SHOWN[..55];
        assert!(sentence.len() >= SPAN && !is_name(sentence));
        assert_eq!(seen.own_arguments(&json!({"title": sentence})), "title: ");
        assert_eq!(seen.own_words(address), "");
    }

    #[test]
    fn names_are_short_and_no_sentences() {
        for name in [
            "2026-05-30T10:00:00",
            "projects/saltmarsh/statement-of-the-first-witness.md",
            "Corrie v Dunstall Marquees Limited: defence",
            "Runa Castellane <runa.castellane@vellmar.example>, Pilar Oduya",
        ] {
            assert!(is_name(name), "{name}");
        }
        for text in [
            "D last day | W warn me, two working days earlier",
            "Pilar Oduya Pays Ines Calloway 46.80 In June.",
            "Institute Road 3\nRoom 2.14",
            &"Alder Court 9, ".repeat(6),
        ] {
            assert!(!is_name(text), "{text}");
        }
    }

    #[test]
    fn in_scripts_without_case_a_copied_line_goes_and_a_name_stays() {
        for (line, name) in [
            (
                "会議室の鍵は毎週金曜日の午後六時までに総務課の木村へ返却し台帳に氏名と時刻を記入することとする",
                "東京都千代田区丸の内一丁目九番一号、みどりビルディング十二階・北側、株式会社青空印刷御中",
            ),
            (
                "所有发票的金额必须写在数字之后并注明币种而且不得使用任何符号或缩写每月月底以前交给财务部门统一核对",
                "上海市浦东新区世纪大道一百号，环球大厦南楼二十五层，东风印刷有限公司（法务部），收件人：王小明",
            ),
            (
                "회의실 열쇠는 매주 금요일 오후 여섯 시까지 총무과에 돌려주고 대장에 이름과 시각을 적어야 한다",
                "서울특별시 종로구 세종대로 209, 푸른빌딩 본관 3층 301호, 하늘인쇄 주식회사 귀중",
            ),
            (
                "يعاد مفتاح قاعة الاجتماعات كل يوم خميس قبل السادسة مساء ويكتب الاسم والساعة",
                "شارع الملك فيصل 27، الطابق الثالث، حي الزهراء، القاهرة 11511",
            ),
            (
                "את מפתח חדר הישיבות מחזירים בכל יום חמישי לפני שש בערב ורושמים ביומן את השם",
                "רחוב הרצל 27, קומה 3, דירה 12, שכונת הדר, חיפה 3309519, ישראל",
            ),
            (
                "बैठक कक्ष की चाबी हर शुक्रवार शाम छह बजे तक कार्यालय में लौटाकर नाम लिखना",
                "12, महात्मा गांधी मार्ग, तीसरी मंज़िल, सिविल लाइन्स, इलाहाबाद 211001",
            ),
        ] {
            for text in [line, name] {
                let length = text.chars().count();
                assert!((SPAN..=NAME).contains(&length), "{length}: {text}");
            }
            let seen = seen(&[line, name]);
            assert_eq!(seen.own_arguments(&json!({"title": line})), "title: ");
            let own = seen.own_arguments(&json!({"address": name}));
            assert_eq!(own, format!("address: {name}"));
            // A mark at the end makes a sentence of anything.
            let ended = format!("{name}。");
            assert!(!is_name(&ended), "{ended}");
        }
    }

    #[test]
    fn marks_that_end_a_sentence_are_those_of_any_script() {
        for end in ["。", "｡", "．", "！", "？", "؟", "۔", "।", "."] {
            let text = format!("鍵は、木村へ{end}");
            assert!(!is_name(&text), "{text}");
        }
        for name in ["鍵は、木村へ", "資料/契約書.docx", "בע\"מ"] {
            assert!(is_name(name), "{name}");
        }
    }

    #[test]
    fn a_copy_in_another_unicode_form_is_a_copy() {
        let apart: String = "Müller trägt die Schlüssel am Freitag früh über den Hof zum Büro"
            .replace('ä', "a\u{308}")
            .replace('ü', "u\u{308}");
        let whole = apart.replace("a\u{308}", "ä").replace("u\u{308}", "ü");
        assert_ne!(apart, whole);
        check(&[&apart], &whole, "");
        check(&[&whole], &apart, "");
        check(&["Other."], &apart, &whole);
    }

    #[test]
    fn megabytes_take_no_time_to_speak_of() {
        // The worst for a scan that is not linear: everything overlaps with everything.
        let text = "a".repeat(1 << 20);
        check(&[&text], &text, "");
    }

    /// Words from two alphabets that share no letter, so that texts of different ones share no span but by plan.
    fn shown_text() -> impl Strategy<Value = String> {
        "[A-Ma-m]{1,9}([ \\n\\t]{1,3}[A-Ma-m]{1,9}){12,40}"
    }

    fn own_text() -> impl Strategy<Value = String> {
        "[N-Zn-z]{1,9}([ \\n\\t]{1,3}[N-Zn-z]{1,9}){0,20}"
    }

    proptest! {
        #[test]
        fn text_without_overlap_is_kept(shown in shown_text(), own in own_text()) {
            prop_assert_eq!(seen(&[&shown]).own_words(&own), collapse(&own));
        }

        #[test]
        fn long_copies_go_and_own_words_stay(
            shown in shown_text(), before in own_text(), after in own_text(), at in any::<Index>(), more in any::<Index>(),
        ) {
            let plain: Vec<char> = collapse(&shown).chars().collect();
            prop_assume!(plain.len() > SPAN + 2);
            let start = at.index(plain.len() - SPAN);
            let end = start + SPAN + more.index(plain.len() - SPAN - start);
            let copy: String = plain[start..end].iter().collect();
            // A blank at an end of the copy would be lost beside another blank.
            prop_assume!(copy.trim() == copy);
            let written = format!("{before}<{}>{after}", copy.to_uppercase());
            let expected = format!("{}<{SEPARATOR}>{}", collapse(&before), collapse(&after));
            prop_assert_eq!(seen(&[&shown]).own_words(&written), expected);
        }

        #[test]
        fn short_copies_stay(shown in shown_text(), own in own_text(), at in any::<Index>(), length in 1..SPAN) {
            let plain: Vec<char> = collapse(&shown).chars().collect();
            let start = at.index(plain.len() - length + 1);
            let copy: String = plain[start..start + length].iter().collect();
            let written = format!("{own}<{copy}>{own}");
            prop_assert_eq!(seen(&[&shown]).own_words(&written), collapse(&written));
        }

        #[test]
        fn what_is_left_agrees_with_a_plain_search(shown in "[ab]{40,90}", written in "[ab]{0,120}") {
            let characters: Vec<char> = written.chars().collect();
            let mut copied = vec![false; characters.len()];
            for start in 0..(characters.len() + 1).saturating_sub(SPAN) {
                if shown.contains(&written[start..start + SPAN]) {
                    copied[start..start + SPAN].fill(true);
                }
            }
            let left = characters.iter().zip(&copied).filter(|(_, copied)| !**copied).count();
            let own = seen(&[&shown]).own_words(&written);
            prop_assert_eq!(own.chars().filter(|&character| character != SEPARATOR).count(), left);
        }

        #[test]
        fn anything_can_be_shown_and_written(shown in any::<String>(), written in any::<String>()) {
            let own = seen(&[&shown, &written]).own_words(&written);
            let whole = Folded::new(&written.replace(SEPARATOR, " ")).folded.len();
            prop_assert_eq!(own.is_empty(), whole >= SPAN || whole == 0);
        }
    }
}
