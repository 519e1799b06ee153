//! Tool apps: the trait that a plugin implements, and the door through which the host and the tests drive it.
//!
//! An app is one serializable value. Here are the steps that all apps share: parsing, the clock's tick, size limits,
//! all-or-nothing records. What a tool does is the app's.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::account::{Accounts, Person};
use crate::listing;
use crate::records::Records;
use crate::tool::{ToolError, Tools};

/// The largest answer that the host takes, in bytes (`wit/README.md`).
const MAX_ANSWER: usize = 1024 * 1024;
/// The most values in one, each object, list, text, number counted.
const MAX_VALUES: usize = 50_000;

/// A simulated service: a state and tools on it. Serde makes the snapshot, [`Tools`] the list, the schemas and the
/// dispatch; what remains to write is the records, the tools and the view for graders. Finish with
/// [`export_tool_app!`](crate::export_tool_app).
pub trait ToolApp: Sized + Clone + Serialize + DeserializeOwned + 'static {
    /// The tools in a fixed order.
    fn tools() -> Tools<Self>;

    /// An app with these accounts and no records but the world's, if the accounts say that there is one.
    fn open(accounts: Accounts) -> Self;

    /// Who can log in. [`Tools::login`] and the private tools work on them.
    fn accounts(&mut self) -> &mut Accounts;

    /// Adds the records of a seed or a session. An error names the record. It works on a copy, so it may stop half-way;
    /// lists that it does not take are reported as unknown.
    fn add(&mut self, records: &mut Records) -> Result<(), String>;

    /// The state as graders see it: an object of record lists, each record with an `id`, without tokens or passwords,
    /// in an order that depends on the state alone. Of the world only what differs: [`Layer::state`].
    ///
    /// What is written straight from the records, as a struct of references, costs a tenth of a tree of [`Value`]s.
    ///
    /// [`Layer::state`]: crate::layer::Layer::state
    fn state(&self) -> impl Serialize;

    /// Brings the state up to the clock. Called before every call and every [`state`](Self::state); for apps where
    /// something falls due by itself.
    fn tick(&mut self) {}

    /// Runs one tool.
    fn call(&mut self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        Self::tools().call(self, name, arguments)
    }

    /// The whole state, secrets too.
    fn snapshot(&self) -> Vec<u8> {
        // Serializing to memory fails only for maps whose keys are no strings: the kit's round trip shows that.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The state that a snapshot holds.
    fn restore(snapshot: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(snapshot).map_err(|error| format!("snapshot: {error}"))
    }
}

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
    let text = answer.to_string();
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

/// Makes a type that implements [`ToolApp`] the component's `tools` interface. Once per plugin; natively it only checks
/// that the type is an app.
#[macro_export]
macro_rules! export_tool_app {
    ($app:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the canonical ABI's entry points")]
        const _: () = {
            type Exported = $crate::bindings::ExportedApp<$app>;
            $crate::bindings::tool_app::export_world!(Exported with_types_in $crate::bindings::tool_app);
            // The custom section that tools read a component's version from.
            #[used]
            #[unsafe(link_section = "version")]
            static VERSION: [u8; env!("CARGO_PKG_VERSION").len()] = {
                let mut version = [0; env!("CARGO_PKG_VERSION").len()];
                version.copy_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
                version
            };
        };
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            const fn is_app<A: $crate::app::ToolApp>() {}
            is_app::<$app>();
        };
    };
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::tool::NoArguments;

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
