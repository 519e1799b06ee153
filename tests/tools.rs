//! The inventory of app tools against the paper's (Table 3): 173 in eight apps.

use std::collections::BTreeMap;

use pibench_sandbox::{App, Limits, Plugins};
use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::scene::{cache, root};

/// Tools by app.
const COUNTS: [(&str, usize); 8] = [
    ("amazon", 33),
    ("gmail", 25),
    ("phone", 12),
    ("simple_note", 10),
    ("splitwise", 13),
    ("spotify", 37),
    ("todoist", 36),
    ("file_system", 7),
];

/// One name a line, checked in.
const INVENTORY: &str = include_str!("fixtures/tools.txt");

#[tokio::test]
async fn every_app_has_the_tools_of_the_inventory_and_no_other() {
    let plugins = Plugins::new(
        BTreeMap::new(),
        vec![root().join("target/plugins")],
        cache(),
    );
    let mut found = Vec::new();
    for (app, count) in COUNTS {
        let plugin = plugins.get(app).unwrap();
        let tools = App::list_tools(&plugin, Limits::APP).await.unwrap();
        assert_eq!(tools.len(), count, "{app}");
        for tool in &tools {
            assert!(tool.description.len() > 10, "{} says too little", tool.name);
            JsonSchema::new(Value::clone(&tool.parameters));
        }
        found.extend(tools.into_iter().map(|tool| tool.name));
    }
    found.sort();
    let mut inventory: Vec<&str> = INVENTORY.lines().collect();
    inventory.sort_unstable();
    assert_eq!(found, inventory);
    assert_eq!(found.len(), 173);
}
