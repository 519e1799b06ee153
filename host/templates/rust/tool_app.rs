//! A counter for each account: `add` counts up, `show` tells. Records: `counters = [{ email, count }]`.

use std::collections::BTreeMap;

use pibench_sdk::account::{Accounts, Email};
use pibench_sdk::app::ToolApp;
use pibench_sdk::export_tool_app;
use pibench_sdk::records::Records;
use pibench_sdk::tool::{NoArguments, ToolError, Tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

export_tool_app!(Plugin);

/// The app's state. Serde makes its snapshots.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plugin {
    accounts: Accounts,
    counts: BTreeMap<Email, u32>,
}

/// A record of a task file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counter {
    email: Email,
    count: u32,
}

/// The comments of the fields are what a model reads about the arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// How much to add, at least 1.
    amount: u32,
}

impl Plugin {
    fn count_up(&mut self, me: &Email, arguments: Add) -> Result<Value, ToolError> {
        let Add { amount } = arguments;
        if amount == 0 {
            return Err(ToolError::invalid("The amount must be at least 1."));
        }
        let count = self.counts.entry(me.clone()).or_default();
        *count = count
            .checked_add(amount)
            .ok_or_else(|| ToolError::invalid("The counter cannot count that far."))?;
        Ok(json!({ "count": *count }))
    }

    fn show(&mut self, me: &Email, _: NoArguments) -> Result<Value, ToolError> {
        Ok(json!({ "count": self.counts.get(me).copied().unwrap_or(0) }))
    }
}

impl ToolApp for Plugin {
    fn tools() -> Tools<Self> {
        Tools::new()
            .login()
            .logout()
            .private(
                "add",
                "Adds to your counter. The answer holds the new count.",
                Self::count_up,
            )
            .private("show", "Shows the count that you have reached.", Self::show)
    }

    fn open(accounts: Accounts) -> Self {
        Self {
            accounts,
            counts: BTreeMap::new(),
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, records: &mut Records) -> Result<(), String> {
        for Counter { email, count } in records.take_list("counters")? {
            self.counts.insert(email, count);
        }
        Ok(())
    }

    fn state(&self) -> impl Serialize {
        let record = |(email, count): (&Email, &u32)| json!({ "id": email, "count": count });
        json!({ "counters": self.counts.iter().map(record).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use pibench_sdk::testkit::{Session, check_declarations};

    use super::*;

    fn ida() -> Session<Plugin> {
        let ida = json!({"first_name": "Ida", "last_name": "Vale", "email": "ida@vale.example", "password": "pw"});
        let records = json!({"counters": [{"email": "ida@vale.example", "count": 2}]});
        let mut session = Session::open(&json!({"people": [ida], "records": records}));
        session.log_in("ida@vale.example", "pw");
        session
    }

    #[test]
    fn every_tool_is_described() {
        check_declarations::<Plugin>(&["add", "login", "logout", "show"]);
    }

    #[test]
    fn amounts_add_up_from_the_record_on() {
        let mut session = ida();
        session.ok("add", json!({"amount": 3}));
        assert_eq!(session.ok("show", json!({})), json!({"count": 5}));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(ida().refused("add", json!({"amount": 0})).status, 422);
        assert_eq!(ida().refused("add", json!({"amount": u32::MAX})).status, 422);
    }
}
