//! A tool app that misbehaves: one tool for each misdeed, and a counter to see whether its state survives.

use pibench_sdk::account::Accounts;
use pibench_sdk::app::ToolApp;
use pibench_sdk::records::Records;
use pibench_sdk::tool::{NoArguments, ToolError, Tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Serialize, Deserialize)]
struct Hostile {
    accounts: Accounts,
    count: u64,
    drawn: Vec<u64>,
    #[serde(default)]
    spoilt: bool,
}

impl ToolApp for Hostile {
    fn tools() -> Tools<Self> {
        Tools::new()
            .public(
                "count",
                "Counts, honestly.",
                |app: &mut Self, _: NoArguments| {
                    app.count += 1;
                    Ok(json!({ "count": app.count }))
                },
            )
            .public(
                "draw",
                "Draws a number.",
                |app: &mut Self, _: NoArguments| {
                    app.drawn.push(pibench_sdk::random::next());
                    Ok(json!({ "drawn": app.drawn.last().map(u64::to_string) }))
                },
            )
            .public("loop", "Never ends.", |app: &mut Self, _: NoArguments| {
                app.count += 1000;
                loop {
                    app.count = std::hint::black_box(app.count);
                    if app.count == 0 {
                        return Ok(json!({}));
                    }
                }
            })
            .public(
                "panic",
                "Panics.",
                |app: &mut Self, _: NoArguments| -> Result<Value, ToolError> {
                    app.count += 1000;
                    panic!("a guest's panic")
                },
            )
            .public(
                "eat_memory",
                "Eats memory.",
                |_: &mut Self, _: NoArguments| -> Result<Value, ToolError> {
                    let mut eaten: Vec<Vec<u8>> = Vec::new();
                    loop {
                        eaten.push(std::hint::black_box(vec![1; 1 << 20]));
                    }
                },
            )
            .public(
                "deep",
                "Answers JSON that is nested deep.",
                |_: &mut Self, _: NoArguments| {
                    Ok((0..100).fold(json!(1), |inner, _| json!([inner])))
                },
            )
            .public(
                "spoil",
                "Cannot say its state any more.",
                |app: &mut Self, _: NoArguments| {
                    app.spoilt = true;
                    Ok(json!({}))
                },
            )
            .public(
                "wide",
                "Answers very many values.",
                |_: &mut Self, _: NoArguments| Ok(json!(vec![1; 100_000])),
            )
    }

    fn open(accounts: Accounts) -> Self {
        Self {
            accounts,
            count: 0,
            drawn: Vec::new(),
            spoilt: false,
        }
    }

    fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    fn add(&mut self, _records: &mut Records) -> Result<(), String> {
        Ok(())
    }

    fn state(&self) -> impl Serialize {
        assert!(!self.spoilt, "a state that cannot be said");
        json!({ "counters": [{ "id": 1, "count": self.count }] })
    }
}

pibench_sdk::export_tool_app!(Hostile);
