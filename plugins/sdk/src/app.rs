//! The door through which the host and the tests drive an app.
//!
//! An app is one serializable value. Here are the steps that all apps share: parsing, the clock's tick, size limits,
//! all-or-nothing records. What a tool does is the app's.

use serde_json::Value;

use crate::account::{Accounts, Person};
use crate::listing;
use crate::records::Records;
use crate::refusal::ToolError;

pub use crate::tool::ToolApp;

/// The largest answer that the host takes, in bytes (`wit/README.md`).
const MAX_ANSWER: usize = 1024 * 1024;
/// The most values in one, each object, list, text, number counted.
const MAX_VALUES: usize = 50_000;

/// Opens an app from a seed (`wit/tools.wit`).
pub fn open<A: ToolApp>(seed: &str) -> Result<A, String> {
    let mut seed = Records::parse(seed)?;
    let people = seed.take_list::<Person>("people")?;
    let mut records = seed.take_records("records")?;
    let world = seed.take_flag("world", true)?;
    let all_rows = seed.take_flag("all_rows", false)?;
    seed.finish()?;
    let mut accounts = Accounts::from_people(people, world)?;
    accounts.all_rows = all_rows;
    let mut app = A::open(accounts);
    app.add(&mut records)?;
    records.finish()?;
    Ok(app)
}

/// Adds records to an open app: all of them or none.
pub fn add<A: ToolApp>(app: &mut A, records: &str) -> Result<(), String> {
    let mut records = Records::parse(records)?;
    let mut next = app.clone();
    next.tick();
    next.add(&mut records)?;
    records.finish()?;
    *app = next;
    Ok(())
}

/// Runs one tool on an open app; json in, json out.
pub fn call<A: ToolApp>(app: &mut A, name: &str, arguments: &str) -> Result<String, ToolError> {
    let arguments = serde_json::from_str(arguments)
        .map_err(|error| ToolError::invalid(format!("the arguments are no JSON: {error}")))?;
    app.tick();
    listing::keep_all_rows(app.accounts().all_rows);
    let answer = app.call(name, arguments)?;
    // It fails for keys that are no texts, which a value has not. `to_string` would write each piece through a formatter.
    let text = serde_json::to_string(&answer).unwrap_or_default();
    if text.len() > MAX_ANSWER || count(&answer) > MAX_VALUES {
        return Err(ToolError::invalid(
            "The answer is larger than 1 MiB or 50,000 values. Ask for less at a time.",
        ));
    }
    Ok(text)
}

/// How many values a value holds, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The state of an open app as graders see it; json.
pub fn state<A: ToolApp>(app: &mut A) -> String {
    app.tick();
    // As with a snapshot: it fails only for maps whose keys are no strings.
    serde_json::to_string(&app.state()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::tool::{NoArguments, Tools};

    /// Answers as many zeros as it holds.
    #[derive(Clone, Serialize, Deserialize)]
    struct Zeros(usize, Accounts);

    impl ToolApp for Zeros {
        fn tools() -> Tools<Self> {
            Tools::new().public("zeros", "Gives zeros.", |app: &mut Self, _: NoArguments| {
                Ok(vec![0; app.0])
            })
        }

        fn open(accounts: Accounts) -> Self {
            Self(0, accounts)
        }

        fn accounts(&mut self) -> &mut Accounts {
            &mut self.1
        }

        fn add(&mut self, _: &mut Records) -> Result<(), String> {
            Ok(())
        }

        fn state(&self) -> impl Serialize {
            json!({})
        }
    }

    #[test]
    fn an_answer_that_the_host_would_not_take_is_refused() {
        let call = |size| {
            let accounts = Accounts::from_people(Vec::new(), false).unwrap();
            call(&mut Zeros(size, accounts), "zeros", "{}")
        };
        // The list itself is a value too.
        assert!(call(MAX_VALUES - 1).is_ok());
        assert_eq!(call(MAX_VALUES).unwrap_err().status, 422);
        assert_eq!(call(MAX_ANSWER).unwrap_err().status, 422);
    }
}
