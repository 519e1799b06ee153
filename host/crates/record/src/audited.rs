//! What an audit is made of: the sessions that were judged again, and what both judges said of each. It computes nothing.

use serde::Serialize;

use super::publish::hidden;
use pibench_core::record::Status;
use pibench_vault::Key;

/// Characters of a judge's reason.
const REASON: usize = 500;

/// A session that was judged again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedAgain {
    /// The run's, as the audit names it.
    pub folder: String,
    pub persona: String,
    pub run: u32,
    pub session: String,
    /// Rubric items: met or not.
    pub checklist: Vec<Both<bool>>,
    pub intents: Vec<Both<Status>>,
}

/// What both said of one item or intent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Both<T> {
    pub id: String,
    /// In the run.
    pub first: T,
    /// In the audit; None where people have no majority.
    pub second: Option<T>,
    /// The audit's, in the judge's words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl<T> Both<T> {
    /// A reason that is too long is cut.
    pub fn new(id: &str, first: T, second: Option<T>, reason: &str) -> Self {
        Self {
            id: id.to_owned(),
            first,
            second,
            reason: reason.chars().take(REASON).collect(),
        }
    }

    fn withhold(&mut self, name: impl FnOnce(&str) -> String) {
        self.id = name(&self.id);
        self.reason.clear();
    }
}

impl JudgedAgain {
    /// Of a private run: ids give way to the names that `publish` has for them, and nothing is told in words.
    pub fn withhold(&mut self, key: &Key) {
        let place = format!("{}/{}", self.persona, self.session);
        let name = |id: &str| hidden(Some(key), &place, id);
        self.checklist.iter_mut().for_each(|one| one.withhold(name));
        self.intents.iter_mut().for_each(|one| one.withhold(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_and_nothing_of_a_private_run_is_told_in_words() {
        let mut one = JudgedAgain {
            folder: "run".into(),
            persona: "ana".into(),
            run: 1,
            session: "desk".into(),
            checklist: vec![Both::new("copy-kept", true, Some(false), &"ä".repeat(501))],
            intents: vec![Both::new("by-post", Status::Open, None, "not asked")],
        };
        assert_eq!(one.checklist[0].reason, "ä".repeat(500));
        let open = serde_json::to_string(&one).unwrap();
        assert!(open.contains("copy-kept") && open.contains("not asked"));
        let key = Key::draw().unwrap();
        one.withhold(&key);
        let told = serde_json::to_string(&one).unwrap();
        for secret in ["copy-kept", "by-post", "not asked", "ä", "reason"] {
            assert!(!told.contains(secret), "{secret}: {told}");
        }
        assert_eq!(one.intents[0].id, hidden(Some(&key), "ana/desk", "by-post"));
        assert!(one.checklist[0].first, "verdicts stay");
    }
}
