//! What a judge is asked about: the items in an order drawn from the place in the run, so that no item gains by where it
//! stands, and among them one whose answer is known. Whoever says yes to that one was told what to say, and nothing of
//! his answer counts.

use super::fence::Nonce;
use super::parse::{ListItem, ParseError, Verdict};
use pibench_core::vocabulary::Protocol;

/// A list of items as one judge sees it.
#[derive(Debug, Clone)]
pub(crate) struct Questions {
    items: Vec<ListItem>,
    /// For each item, its index in the caller's list; None for the one whose answer is known.
    places: Vec<Option<usize>>,
}

impl Questions {
    /// The released code asks in file order and about nothing else.
    pub(crate) fn new(
        protocol: Protocol,
        texts: &[&str],
        known: &str,
        judge: &str,
        nonce: &Nonce,
    ) -> Self {
        let mut asked: Vec<(Option<usize>, String)> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| (Some(index), (*text).to_owned()))
            .collect();
        if protocol == Protocol::Paper {
            asked.push((None, known.to_owned()));
            asked.sort_by_cached_key(|(place, text)| rank(nonce, judge, *place, text));
        }
        let (places, texts): (Vec<_>, Vec<String>) = asked.into_iter().unzip();
        Self {
            items: ListItem::list(texts.iter().map(String::as_str)),
            places,
        }
    }

    pub(crate) fn items(&self) -> &[ListItem] {
        &self.items
    }

    /// For the record: the caller's numbers (1, 2, ...) in the order in which they were asked; 0 is the known one.
    pub(crate) fn order(&self) -> Vec<usize> {
        self.places
            .iter()
            .map(|place| place.map_or(0, |index| index + 1))
            .collect()
    }

    /// The verdicts in the caller's order.
    pub(crate) fn answers(&self, verdicts: Vec<Verdict>) -> Result<Vec<Verdict>, ParseError> {
        let mut answers: Vec<(usize, Verdict)> = Vec::with_capacity(verdicts.len());
        for (place, verdict) in self.places.iter().zip(verdicts) {
            match place {
                Some(index) => answers.push((*index, verdict)),
                None if verdict.yes => return Err(ParseError::Turned),
                None => {}
            }
        }
        answers.sort_by_key(|(index, _)| *index);
        Ok(answers.into_iter().map(|(_, verdict)| verdict).collect())
    }
}

fn rank(nonce: &Nonce, judge: &str, place: Option<usize>, text: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host order of items, version 1");
    let place = place.map_or_else(String::new, |place| place.to_string());
    for part in [&nonce.to_string(), judge, &place, text] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(yes: bool, evidence: &str) -> Verdict {
        Verdict {
            yes,
            evidence: evidence.into(),
            style: None,
        }
    }

    /// Answers by the item's text; to the known one as told.
    fn answered(questions: &Questions, known: bool) -> Vec<Verdict> {
        let items = questions.items().iter().zip(&questions.places);
        items
            .map(|(item, place)| match place {
                Some(_) => verdict(true, &item.text),
                None => verdict(known, "-"),
            })
            .collect()
    }

    #[test]
    fn the_order_differs_by_place_and_judge_and_is_undone() {
        let texts = ["a", "b", "c", "d", "e", "f"];
        let asked = |number, judge| {
            Questions::new(Protocol::Paper, &texts, "known", judge, &Nonce::new(number))
        };
        let orders = [asked(1, "a/m"), asked(2, "a/m"), asked(1, "b/m")].map(|one| one.order());
        assert!(
            orders[0] != orders[1] && orders[0] != orders[2],
            "{orders:?}"
        );
        assert_eq!(orders[0], asked(1, "a/m").order());
        let one = asked(1, "a/m");
        let answers = one.answers(answered(&one, false)).unwrap();
        let evidence: Vec<&str> = answers
            .iter()
            .map(|answer| answer.evidence.as_str())
            .collect();
        assert_eq!(evidence, texts);
    }

    #[test]
    fn a_judge_who_says_yes_to_what_cannot_be_is_not_believed() {
        let asked = Questions::new(Protocol::Paper, &["a"], "known", "a/m", &Nonce::new(1));
        assert_eq!(asked.items().len(), 2);
        assert_eq!(
            asked.answers(answered(&asked, true)),
            Err(ParseError::Turned)
        );
        assert!(asked.answers(answered(&asked, false)).is_ok());
    }

    #[test]
    fn the_released_code_asks_in_file_order_and_nothing_more() {
        let asked = Questions::new(
            Protocol::PiBench,
            &["b", "a"],
            "known",
            "a/m",
            &Nonce::new(1),
        );
        let texts: Vec<&str> = asked
            .items()
            .iter()
            .map(|item| item.text.as_str())
            .collect();
        assert_eq!((texts, asked.order()), (vec!["b", "a"], vec![1, 2]));
    }

    proptest! {
        #[test]
        fn answers_always_come_back_in_the_callers_order(count in 0..20_usize, number in any::<u64>()) {
            let texts: Vec<String> = (0..count).map(|index| format!("item {index}")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let asked = Questions::new(Protocol::Paper, &texts, "known", "a/m", &Nonce::new(number));
            let answers = asked.answers(answered(&asked, false)).unwrap();
            let evidence: Vec<&str> = answers.iter().map(|answer| answer.evidence.as_str()).collect();
            prop_assert_eq!(evidence, texts);
        }
    }
}
