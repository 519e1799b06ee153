//! The grader `rules`: conditions that a task file declares, judged on the evidence of a session.
//!
//! A rule item's `[checklist.rule.config]` is one *condition*, and the grader has then one check, `met`. A condition is
//! a table with exactly one key. Unknown keys are errors that name their place. All that stands in one table must hold
//! together.
//!
//! # Combining
//!
//! ```toml
//! [[checklist]]
//! id = "draft-sent"
//! criterion = "The draft was sent, and nothing was deleted"
//!
//! [checklist.rule]
//! grader = "rules"
//!
//! [checklist.rule.config]
//! all = [
//!   { called = { tool = "gmail__send_email_from_draft" } },
//!   { not = { called = { tool = "gmail__delete_*" } } },
//!   { any = [{ said = { text = { contains = "sent" } } }, { said = { text = { contains = "on its way" } } }] },
//! ]
//! ```
//!
//! A negative condition by itself holds for an agent that does nothing: it belongs beside a positive one.
//!
//! # Matchers
//!
//! A MATCHER asks something of one value. A bare string, number, boolean or list is equal to it (1 and 1.0 are equal).
//! A table of operators: all must hold.
//!
//! | operator | holds for |
//! | --- | --- |
//! | `equals = V`, `one_of = [V, ..]` | a value that is equal to it, to one of them |
//! | `contains = T` or `[T, ..]` | a text with every part, case included; a list with every element |
//! | `none_of = T` or `[T, ..]` | a text or list that contains none; another value that is equal to none |
//! | `matches = RE` or `[RE, ..]` | a text in which each is found (crate regex; `(?i)` ignores case) |
//! | `part = { pattern = RE, is = MATCHER }` or `[.., ..]` | a text in which each is found; the matcher looks at the first place, or at what the first group took of it |
//! | `min = N`, `max = N`, `exactly = N` | a number, inclusive |
//! | `length = MATCHER` | characters of a text, elements of a list |
//! | `unordered = [V, ..]` | a list with the same elements in any order |
//! | `some = MATCHER`, `every = MATCHER` | a list with such an element; a list of such, not empty |
//! | `exists = true` or `false` | there and not null; absent or null |
//! | `any_of = [MATCHER, ..]`, `not = MATCHER` | |
//! | `schema = TABLE` or a JSON text | JSON Schema 2020-12, without other documents |
//! | `captured = "name"` | what an earlier step of an `order` captured |
//!
//! Any other table is FIELDS: keys are field names or dotted paths (`"to.0.email"`), values are matchers; fields that
//! are not named are free. A field that is called like an operator is reached by a dotted path. A text, as a file's `content`
//! and what was `said`, and a number, as a `length` and a `code`, have no fields: any other key is an error there. A value of
//! another type than the operator needs does not match; an absent one matches `exists = false` and `not`.
//!
//! Texts, names of fields and paths are compared in one Unicode form, composed (NFC), whatever form the configuration and the
//! evidence have: `é` is one character.
//!
//! RANGE is a whole number, `{ min = N, max = N }` with either left out, or `{ exactly = N }`. Where a `count` is left
//! out it is at least 1.
//!
//! # `called`
//!
//! ```toml
//! [called]
//! tool = "gmail__send_email"            # or a list; `*` stands for any characters
//! arguments = { subject = { contains = "Deadline" }, email_addresses = { unordered = ["a@x.example", "b@x.example"] } }
//! result = { sent_email_id = { min = 1 } }  # an app's JSON; of a built-in tool the text, or FIELDS of the JSON in it
//! status = "ok"                         # the default; "tool_error", "failed", "any"
//! count = { min = 1, max = 2 }
//! turn = { max = 3 }
//! ```
//!
//! `code = 409` asks for a refusal's code, with `status = "tool_error"`.
//!
//! # `order`
//!
//! Calls that were made in this order, others between them or not.
//!
//! ```toml
//! [[order]]
//! tool = "gmail__create_draft"
//! capture = { draft = "result.draft_id" }   # or "arguments.PATH"
//!
//! [[order]]
//! tool = "gmail__send_email_from_draft"
//! arguments = { draft_id = { captured = "draft" } }
//! ```
//!
//! # `file`
//!
//! ```toml
//! [file]
//! path = "notes/*.md"                   # or one path; `*` stays in a folder, `**` does not
//! content = { contains = ["Deadline", "Court"], none_of = "draft" }
//! lines = { max = 40 }
//! bytes = { min = 10 }
//! changed = true                        # created or modified in this session
//! count = 1
//! ```
//!
//! `json = MATCHER` looks at the file's JSON. `exists = false` asks that there is none, with `changed = true` that it was
//! deleted in this session. A byte order mark, as Excel writes it, is no part of the text; `bytes` counts it.
//!
//! # `app`
//!
//! ```toml
//! [app]
//! name = "simple_note"
//! records = "notes"                     # a list of the app's state, or several; all if left out
//! change = "changed"                    # since the session began; also "added", "removed", "unchanged", "touched"
//! where = { title = "Deadlines", tags = { contains = "court" } }  # the record now (removed: as it was)
//! was = { pinned = false }              # the record at the start
//! only = ["content", "updated_at"]      # no other fields changed; dotted paths, or what is above them
//! ```
//!
//! Records are the same one by their `id`. Without `change` the records that are there now count. `touched` is added,
//! removed or changed, and `except = FIELDS` leaves records out. Of the world's records those count that the app's state
//! tells of, because they differ; one that was first changed in the session counts as changed.
//!
//! # `unchanged`
//!
//! Nothing became of any record but what is named. The exceptions are like `app`, without `count`.
//!
//! ```toml
//! [unchanged]
//! apps = ["todoist", "gmail"]           # all apps of the session if left out
//! except = [
//!   { name = "todoist", records = "tasks", change = "changed", where = { title = "Outline" }, only = "is_completed" },
//!   { name = "todoist", records = "notifications", change = "added" },
//! ]
//! ```
//!
//! # `said`
//!
//! ```toml
//! [said]
//! text = { matches = '(?i)\b14 March\b' }  # a turn's response: all of the agent's messages, joined by line feeds
//! turn = 1
//! ```

mod app;
mod call;
mod condition;
mod diff;
mod file;
mod finding;
mod form;
mod matcher;
mod pattern;
mod range;
mod said;
mod scene;
mod schema;
mod shown;
mod table;
mod unchanged;

use std::rc::Rc;

use pibench_sdk::export_grader;
use pibench_sdk::grader::{Check, Evidence, Grader, Verdict, Workspace};

use crate::condition::Condition;
use crate::form::read_json;
use crate::scene::Scene;
use crate::shown::clip_to;
use crate::table::{Node, Reading};

/// The one check of a configuration.
const CHECK: &str = "met";

/// The longest reason, in characters: 4 KiB whatever they are.
const MAX_REASON: usize = 1000;

export_grader!(Rules);

/// The grader.
#[derive(Debug)]
pub struct Rules;

impl Grader for Rules {
    fn list_checks(config: &str) -> Result<Vec<Check>, String> {
        let reading = Reading {
            compiles_all: true,
            ..Reading::default()
        };
        condition(config, &Rc::new(reading))?;
        Ok(vec![Check {
            id: CHECK.to_owned(),
            description: String::new(),
        }])
    }

    fn grade(
        config: &str,
        evidence: &Evidence,
        workspace: &dyn Workspace,
    ) -> Result<Vec<Verdict>, String> {
        let scene = Scene::new(evidence, workspace);
        let reading = Rc::default();
        let finding = condition(config, &reading)?
            .judge(&scene)
            .map_err(|undecided| undecided.to_string())?;
        // What was tried without one that cannot be compiled is no finding.
        if let Some(refused) = reading.refused.get() {
            return Err(refused.to_string());
        }
        let reason = clip_to(&finding.reason, MAX_REASON);
        Ok(vec![Verdict {
            check: CHECK.to_owned(),
            pass: finding.pass,
            reason,
        }])
    }
}

fn condition(config: &str, reading: &Rc<Reading>) -> Result<Condition, String> {
    let value = read_json(config).map_err(|error| format!("config: {error}"))?;
    Condition::parse(Node::root(value, Rc::clone(reading))).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
