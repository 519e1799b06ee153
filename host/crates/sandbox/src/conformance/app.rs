//! The checks of a tool app: its tools and schemas, its refusals, a random life with a snapshot in the middle, and the
//! same life once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::DateTime;
use serde_json::{Map, Value, json};

use super::draw::{Draw, LIKELY_TEXTS};
use super::{Finding, finding, is_limit, limits, shown};
use crate::app::{Answer, OpenError, Refusal};
use crate::{App, ArgumentCheck, GuestFault, Plugin};
use pibench_core::message::ToolSpec;

/// The life's moment of birth.
const START: DateTime = DateTime::constant(2026, 3, 2, 9, 0, 0, 0);

/// Calls of the random life: 8 for each tool, and not fewer than this.
const LEAST_CALLS: usize = 200;

/// Values that a plugin gave and gets back as arguments.
const MOST_KNOWN: usize = 400;

const KEY: [u8; 32] = [7; 32];

type Checked = Result<String, String>;

/// One call of a life, to be done again.
struct Step {
    tool: String,
    arguments: Value,
    now: DateTime,
}

/// What a call came to: the answer's text or the refusal, and what it used.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    answer: Result<String, Refusal>,
    /// In units.
    fuel: u64,
    /// At most at one time, in bytes.
    memory: u64,
}

/// One app under examination.
struct Subject<'a> {
    plugin: &'a Arc<Plugin>,
    tools: Vec<ToolSpec>,
    seed: Value,
}

pub(super) async fn examine(plugin: &Arc<Plugin>, configs: &[Value]) -> Vec<Finding> {
    let tools = match list_tools(plugin).await {
        Ok(tools) => tools,
        Err(reason) => return vec![finding("tools", Err(reason))],
    };
    let mut findings = vec![
        finding("tools", Ok(format!("{} tools", tools.len()))),
        finding("schemas", schemas(&plugin.name, &tools)),
    ];
    let default = [default_seed()];
    for seed in if configs.is_empty() {
        &default
    } else {
        configs
    } {
        let subject = Subject {
            plugin,
            tools: tools.clone(),
            seed: seed.clone(),
        };
        findings.extend(subject.examine().await);
    }
    findings
}

/// Two people who can log in, and no records.
fn default_seed() -> Value {
    let person = |first: &str, last: &str, phone: &str| {
        let email = format!("{}@{}.example", first.to_lowercase(), last.to_lowercase());
        json!({ "first_name": first, "last_name": last, "email": email, "phone_number": phone, "password": "tide-17-lamp" })
    };
    let people = [
        person("Ida", "Vale", "5550100"),
        person("Tom", "Reed", "5550101"),
    ];
    json!({ "people": people, "records": {} })
}

/// The tools, the same from two fresh instances, each name once.
async fn list_tools(plugin: &Arc<Plugin>) -> Result<Vec<ToolSpec>, String> {
    let list = async || {
        App::list_tools(plugin, limits(plugin))
            .await
            .map_err(|error| error.to_string())
    };
    let tools = list().await?;
    if list().await? != tools {
        return Err("list-tools gives another list the second time".into());
    }
    let names: BTreeSet<&String> = tools.iter().map(|tool| &tool.name).collect();
    if names.len() < tools.len() {
        return Err("a tool's name stands twice".into());
    }
    Ok(tools)
}

/// Keys of which one says what an argument is. A description is not asked for: a name that says all is enough.
const KINDS: [&str; 7] = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];

/// Valid JSON Schemas that say of each argument what it is, and take nothing beside them.
fn schemas(app: &str, tools: &[ToolSpec]) -> Checked {
    let mut arguments = 0;
    for tool in tools {
        let name = own_name(app, tool);
        let schema = &tool.parameters;
        if tool.description.trim().len() < 10 {
            return Err(format!("`{name}` is not described"));
        }
        ArgumentCheck::new(schema)
            .map_err(|error| format!("the schema of `{name}` is not valid: {error}"))?;
        if schema["additionalProperties"] != false {
            return Err(format!(
                "the schema of `{name}` takes unknown arguments: say \"additionalProperties\": false"
            ));
        }
        for (argument, schema) in schema["properties"].as_object().into_iter().flatten() {
            if !KINDS.iter().any(|key| schema.get(key).is_some()) {
                return Err(format!(
                    "`{name}`: the argument `{argument}` does not say its type"
                ));
            }
            arguments += 1;
        }
    }
    Ok(format!("{arguments} arguments, each with a type"))
}

/// A tool's name in its app.
fn own_name<'t>(app: &str, tool: &'t ToolSpec) -> &'t str {
    let prefix = app.len() + "__".len();
    tool.name.get(prefix..).unwrap_or(&tool.name)
}

impl Subject<'_> {
    async fn examine(&self) -> Vec<Finding> {
        let mut app = match self.open().await {
            Ok(app) => app,
            Err(error) => return vec![finding("seed", Err(error.to_string()))],
        };
        let mut findings = vec![
            finding("seed", self.seeds(&mut app).await),
            finding("bad arguments", self.bad_arguments(&mut app).await),
        ];
        drop(app);
        findings.extend(self.life().await);
        findings
    }

    async fn open(&self) -> Result<App, OpenError> {
        self.open_on(&self.seed).await
    }

    async fn open_on(&self, seed: &Value) -> Result<App, OpenError> {
        let plugin = Arc::clone(self.plugin);
        App::open(plugin, limits(self.plugin), KEY, seed, START).await
    }

    /// Unknown records are refused with words, when the app opens and later; a refusal adds nothing.
    async fn seeds(&self, app: &mut App) -> Checked {
        let unknown = json!({ "no_such_list_of_records": [{ "id": 1 }] });
        let mut seed = self.seed.clone();
        seed["records"] = unknown.clone();
        check_refusal(
            "open with unknown records",
            self.open_on(&seed).await.map(drop),
        )?;
        seed = self.seed.clone();
        seed["people"] = json!("nobody");
        check_refusal(
            "open with a text for people",
            self.open_on(&seed).await.map(drop),
        )?;
        let before = state(app).await?;
        check_refusal("add unknown records", app.add(&unknown, START).await)?;
        app.add(&json!({}), START)
            .await
            .map_err(|error| format!("adding no records: {error}"))?;
        if state(app).await? != before {
            return Err("records that were refused changed the state".into());
        }
        Ok("opens; unknown records are refused".into())
    }

    /// Unknown, missing and ill-typed arguments are refused with words, and change nothing.
    async fn bad_arguments(&self, app: &mut App) -> Checked {
        let token = self.log_in(app).await?;
        let mut count = 0;
        for tool in &self.tools {
            let name = own_name(&self.plugin.name, tool);
            let before = state(app).await?;
            for bad in bad_calls(&tool.parameters, token.as_deref()) {
                count += bad.arguments.len();
                bad.check(app, name).await?;
            }
            if state(app).await? != before {
                return Err(format!("{name}: a refused call changed the state"));
            }
        }
        let unknown = refusal(app, "no_such_tool", &json!({}))
            .await
            .map_err(|reason| format!("an unknown tool {reason}"))?;
        if unknown.status != 404 {
            return Err(format!(
                "an unknown tool is refused by {}, not 404",
                unknown.status
            ));
        }
        Ok(format!("{count} calls refused with words"))
    }

    /// The token of the seed's first person, where the app has a login and the person a password. The user name is the
    /// mail address or the phone number.
    async fn log_in(&self, app: &mut App) -> Result<Option<String>, String> {
        let person = &self.seed["people"][0];
        let has_login = self
            .tools
            .iter()
            .any(|tool| own_name(&self.plugin.name, tool) == "login");
        if !has_login || !person["password"].is_string() {
            return Ok(None);
        }
        let mut refused = String::new();
        for username in [&person["email"], &person["phone_number"]] {
            let arguments = json!({ "username": username, "password": person["password"] });
            let answer = app.call("login", &arguments, START).await;
            match answer.map_err(|fault| format!("login: it {fault}"))? {
                Ok(answer) => return Ok(answer["access_token"].as_str().map(str::to_owned)),
                Err(refusal) => refused = refusal.message,
            }
        }
        Err(format!("login is refused: {refused}"))
    }

    /// A random life, its second half lived again from a snapshot, and all of it once more.
    async fn life(&self) -> Vec<Finding> {
        let (mut life, fault) = match Life::live(self).await {
            Ok(lived) => lived,
            Err(reason) => return vec![finding("fuzzed arguments", Err(reason))],
        };
        if let Some((step, fault)) = fault {
            let check = if is_limit(&fault) {
                "limits"
            } else {
                "fuzzed arguments"
            };
            let arguments = shown(&step.arguments);
            return vec![finding(
                check,
                Err(format!("{}({arguments}): it {fault}", step.tool)),
            )];
        }
        vec![
            finding("fuzzed arguments", life.answers()),
            finding("limits", life.costs(self.plugin)),
            finding("state", life.state(&self.seed).await),
            finding("snapshot and restore", life.check_restored(self).await),
            finding("determinism", life.again(self).await),
        ]
    }
}

/// A random sequence of calls and what they came to.
struct Life {
    app: App,
    steps: Vec<Step>,
    outcomes: Vec<Outcome>,
    /// The state after the first half, and the calls until then.
    middle: (Vec<u8>, u64),
    token: Option<String>,
}

impl Life {
    /// Lives until the end, or until a call breaks the app.
    async fn live(subject: &Subject<'_>) -> Result<(Self, Option<(Step, GuestFault)>), String> {
        let mut app = subject.open().await.map_err(|error| error.to_string())?;
        let token = subject.log_in(&mut app).await?;
        let mut life = Self {
            app,
            steps: Vec::new(),
            outcomes: Vec::new(),
            middle: (Vec::new(), 0),
            token,
        };
        let mut draw = Draw::new(2);
        let mut known = Vec::new();
        learn(&subject.seed["records"], &mut known);
        let calls = LEAST_CALLS.max(8 * subject.tools.len());
        for number in 0..calls {
            if number == calls / 2 {
                life.middle = snapshot(&mut life.app).await?;
            }
            let step = life.step(subject, &mut draw, &known, number);
            match perform(&mut life.app, &step).await {
                Ok(outcome) => {
                    if let Ok(answer) = &outcome.answer {
                        learn(
                            &serde_json::from_str(answer).unwrap_or_default(),
                            &mut known,
                        );
                    }
                    life.outcomes.push(outcome);
                    life.steps.push(step);
                }
                Err(fault) => return Ok((life, Some((step, fault)))),
            }
        }
        Ok((life, None))
    }

    /// Every tool in turn for the first of them, then any; a logout would make the rest of the life dull.
    fn step(&self, subject: &Subject<'_>, draw: &mut Draw, known: &[Value], number: usize) -> Step {
        let tools = &subject.tools;
        let tool = match tools.get(number) {
            Some(tool) => tool,
            None => &tools[draw.below(tools.len())],
        };
        let name = own_name(&subject.plugin.name, tool);
        let mut arguments = draw.arguments(&tool.parameters, known);
        if name == "logout" {
            arguments.clear();
        } else if let Some(token) = &self.token
            && tool.parameters["properties"].get("access_token").is_some()
            && !draw.one_in(20)
        {
            arguments.insert("access_token".into(), json!(token));
        }
        let seconds = i64::try_from(number).unwrap_or_default() * 97;
        let now = START
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap_or(START);
        Step {
            tool: name.to_owned(),
            arguments: Value::Object(arguments),
            now,
        }
    }

    /// Refusals have a status of `wit/tools.wit` and words.
    fn answers(&self) -> Checked {
        let mut refused = 0;
        for (step, outcome) in self.steps.iter().zip(&self.outcomes) {
            if let Err(refusal) = &outcome.answer {
                let what = || format!("{}({})", step.tool, shown(&step.arguments));
                sound(refusal).map_err(|reason| format!("{} {reason}", what()))?;
                refused += 1;
            }
        }
        let answered = self.outcomes.len() - refused;
        Ok(format!(
            "{answered} calls answered, {refused} refused, no trap"
        ))
    }

    fn costs(&self, plugin: &Plugin) -> Checked {
        let costs = self.steps.iter().zip(&self.outcomes);
        let Some((step, outcome)) = costs.max_by_key(|(_, outcome)| outcome.fuel) else {
            return Err("there was no call".into());
        };
        let memory = self.outcomes.iter().map(|outcome| outcome.memory).max();
        let limits = limits(plugin);
        Ok(format!(
            "at most {} of {} units of fuel ({}), {} of {} bytes of memory, {} of {} of snapshot",
            outcome.fuel,
            limits.fuel,
            step.tool,
            memory.unwrap_or(0),
            limits.memory,
            self.middle.0.len(),
            limits.snapshot_bytes
        ))
    }

    /// An object of record lists, each record with an id, and no secret in it.
    async fn state(&mut self, seed: &Value) -> Checked {
        let text = state(&mut self.app).await?;
        let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let Some(lists) = value.as_object() else {
            return Err("the state is no object".into());
        };
        let mut records = 0;
        for (name, list) in lists {
            let list = list
                .as_array()
                .ok_or_else(|| format!("the state's `{name}` is no list of records"))?;
            if let Some(record) = list.iter().find(|record| record.get("id").is_none()) {
                return Err(format!("a record of `{name}` has no id: {}", shown(record)));
            }
            records += list.len();
        }
        let people = seed["people"].as_array().into_iter().flatten();
        let passwords = people.filter_map(|person| person["password"].as_str());
        let mut secrets = passwords.chain(self.token.as_deref());
        // Short words may stand there for other reasons.
        if secrets.any(|secret| secret.len() >= 8 && text.contains(secret)) {
            return Err("the state shows a password or an access token".into());
        }
        Ok(format!("{records} records with ids, no secret"))
    }

    /// A fresh instance on the middle's snapshot lives the second half as the first instance did.
    async fn check_restored(&mut self, subject: &Subject<'_>) -> Checked {
        let (bytes, calls) = self.middle.clone();
        let size = bytes.len();
        let plugin = Arc::clone(subject.plugin);
        let restored = App::resume(plugin, limits(subject.plugin), KEY, bytes, calls).await;
        let mut restored = restored.map_err(|error| error.to_string())?;
        let half = self.steps.len() / 2;
        for (step, outcome) in self.steps.iter().zip(&self.outcomes).skip(half) {
            let again = perform(&mut restored, step)
                .await
                .map_err(|fault| format!("{} after a restore: it {fault}", step.tool))?;
            if again.answer != outcome.answer {
                return Err(differs(step, "after a restore", outcome, &again));
            }
        }
        same_end(&mut self.app, &mut restored, "after a restore").await?;
        Ok(format!("{size} bytes; {half} calls answered alike"))
    }

    /// The same calls in a fresh instance: the same bytes and the same fuel.
    async fn again(&mut self, subject: &Subject<'_>) -> Checked {
        let mut twin = subject.open().await.map_err(|error| error.to_string())?;
        subject.log_in(&mut twin).await?;
        for (number, (step, outcome)) in self.steps.iter().zip(&self.outcomes).enumerate() {
            if number == self.steps.len() / 2 {
                snapshot(&mut twin).await?;
            }
            let again = perform(&mut twin, step)
                .await
                .map_err(|fault| format!("{} the second time: it {fault}", step.tool))?;
            if again.answer != outcome.answer {
                return Err(differs(step, "the second time", outcome, &again));
            }
            if again.fuel != outcome.fuel {
                return Err(format!(
                    "{} used {} units of fuel, and {} the second time",
                    step.tool, outcome.fuel, again.fuel
                ));
            }
        }
        same_end(&mut self.app, &mut twin, "the second time").await?;
        Ok(format!(
            "{} calls: the same bytes, the same fuel",
            self.steps.len()
        ))
    }
}

async fn perform(app: &mut App, step: &Step) -> Result<Outcome, GuestFault> {
    let answer: Answer = app.call(&step.tool, &step.arguments, step.now).await?;
    let measured = app.take_measured().pop();
    Ok(Outcome {
        answer: answer.map(|answer| answer.to_string()),
        fuel: measured.as_ref().map_or(0, |call| call.fuel),
        memory: measured.map_or(0, |call| call.peak_memory),
    })
}

fn differs(step: &Step, when: &str, first: &Outcome, second: &Outcome) -> String {
    let told = |outcome: &Outcome| match &outcome.answer {
        Ok(answer) => shown(&json!(answer)),
        Err(refusal) => shown(&json!(refusal.message)),
    };
    format!(
        "{}({}) answered {}, and {when} {}",
        step.tool,
        shown(&step.arguments),
        told(first),
        told(second)
    )
}

/// Both apps end with the same state and the same snapshot.
async fn same_end(one: &mut App, other: &mut App, when: &str) -> Result<(), String> {
    if state(one).await? != state(other).await? {
        return Err(format!("{when} the same calls end in another state"));
    }
    if snapshot(one).await?.0 != snapshot(other).await?.0 {
        return Err(format!("{when} the same calls end in another snapshot"));
    }
    Ok(())
}

async fn state(app: &mut App) -> Result<Arc<str>, String> {
    app.state()
        .await
        .map_err(|fault| format!("state: it {fault}"))
}

async fn snapshot(app: &mut App) -> Result<(Vec<u8>, u64), String> {
    let bytes = app
        .snapshot()
        .await
        .map_err(|fault| format!("snapshot: it {fault}"))?;
    let bytes = bytes.to_vec();
    Ok((bytes, app.calls()))
}

/// Keeps numbers and short texts of an answer, to be given back as arguments; no token, which would then be looked for in
/// the state in vain.
fn learn(value: &Value, known: &mut Vec<Value>) {
    if known.len() >= MOST_KNOWN {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| learn(item, known)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "access_token")
            .for_each(|(_, field)| learn(field, known)),
        Value::String(text) if text.len() > 200 => {}
        Value::String(_) | Value::Number(_) if !known.contains(value) => known.push(value.clone()),
        _ => {}
    }
}

/// One mistake in a tool's arguments, made in several ways.
struct Bad<'s> {
    /// Each must be refused.
    arguments: Vec<Value>,
    /// What a refusal must name. One is enough: with the others, something else may be wrong before it.
    named: Option<&'s str>,
}

impl Bad<'_> {
    async fn check(&self, app: &mut App, tool: &str) -> Result<(), String> {
        let mut said = Vec::new();
        for arguments in &self.arguments {
            let refusal = refusal(app, tool, arguments)
                .await
                .map_err(|reason| format!("{tool}({}) {reason}", shown(arguments)))?;
            said.push(refusal.message);
        }
        match self.named {
            Some(named) if !said.iter().any(|message| message.contains(named)) => Err(format!(
                "{tool}: no refusal names the argument `{named}`: {}",
                said.first().map_or("", String::as_str)
            )),
            _ => Ok(()),
        }
    }
}

const UNKNOWN: &str = "no_such_argument";

fn bad_calls<'s>(schema: &'s Value, token: Option<&str>) -> Vec<Bad<'s>> {
    let check = ArgumentCheck::new(schema).ok();
    let fits = |arguments: &Value| check.as_ref().is_none_or(|check| check.is_valid(arguments));
    let good = good_calls(schema, token);
    let changed = |change: &dyn Fn(&mut Map<String, Value>)| -> Vec<Value> {
        let mut all = good.clone();
        all.iter_mut().for_each(change);
        all.into_iter().map(Value::Object).collect()
    };
    let mut bad = vec![Bad {
        arguments: changed(&|arguments| {
            arguments.insert(UNKNOWN.to_owned(), json!(1));
        }),
        named: Some(UNKNOWN),
    }];
    let required = schema["required"].as_array().into_iter().flatten();
    bad.extend(required.filter_map(Value::as_str).map(|name| Bad {
        arguments: changed(&|arguments| drop(arguments.shift_remove(name))),
        named: Some(name),
    }));
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, _) in properties {
        let wrong = [
            json!({ "x": [] }),
            json!([{ "x": [] }]),
            json!(true),
            json!(0.5),
        ];
        let unfit = wrong.into_iter().find_map(|value| {
            let arguments = changed(&|arguments| {
                arguments.insert(name.clone(), value.clone());
            });
            arguments.into_iter().find(|arguments| !fits(arguments))
        });
        bad.extend(unfit.map(|arguments| Bad {
            arguments: vec![arguments],
            named: None,
        }));
    }
    bad.push(Bad {
        arguments: vec![json!([]), json!("text"), Value::Null],
        named: None,
    });
    bad
}

/// Calls with the required arguments only, every text among them the same likely one.
fn good_calls(schema: &Value, token: Option<&str>) -> Vec<Map<String, Value>> {
    let mut needed = schema.clone();
    if let (Some(properties), Some(required)) = (
        needed["properties"].as_object_mut(),
        schema["required"].as_array(),
    ) {
        properties.retain(|name, _| required.iter().any(|needed| needed == name));
    } else {
        needed["properties"] = json!({});
    }
    let call = |text| {
        let mut arguments = Draw::tame(text).arguments(&needed, &[]);
        if let Some(token) = token
            && schema["properties"].get("access_token").is_some()
        {
            arguments.insert("access_token".to_owned(), json!(token));
        }
        arguments
    };
    LIKELY_TEXTS.into_iter().map(call).collect()
}

/// The refusal of a call, which must be one.
async fn refusal(app: &mut App, tool: &str, arguments: &Value) -> Result<Refusal, String> {
    match app.call(tool, arguments, START).await {
        Err(fault) => Err(format!("breaks it: it {fault}")),
        Ok(Ok(answer)) => Err(format!("is not refused: {}", shown(&answer))),
        Ok(Err(refusal)) => sound(&refusal).map(|()| refusal),
    }
}

fn sound(refusal: &Refusal) -> Result<(), String> {
    let Refusal { status, message } = refusal;
    if ![401, 404, 409, 422].contains(status) {
        return Err(format!(
            "is refused by {status}, not by one of 401, 404, 409, 422"
        ));
    }
    if message.trim().is_empty() {
        return Err("is refused without a word".into());
    }
    Ok(())
}

fn check_refusal(what: &str, result: Result<(), OpenError>) -> Result<(), String> {
    match result {
        Ok(()) => Err(format!("{what}: it is not refused")),
        Err(OpenError::Records { reason, .. }) if !reason.trim().is_empty() => Ok(()),
        Err(OpenError::Records { .. }) => Err(format!("{what}: it is refused without a word")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(description: &str, schema: Value) -> ToolSpec {
        ToolSpec {
            name: "notes__add".into(),
            description: description.into(),
            parameters: schema.into(),
        }
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "The title." },
                "day": { "type": "string", "description": "The day." },
                "access_token": { "type": "string", "description": "From login." },
            },
            "required": ["title"],
            "additionalProperties": false,
        })
    }

    /// What the check of schemas says of a tool.
    fn check(tool: ToolSpec, expected: Result<&str, &str>) {
        let found = schemas("notes", &[tool]);
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expected,
            "{found:?}"
        );
    }

    #[test]
    fn a_tool_says_what_it_takes_and_nothing_else() {
        check(
            tool("Adds a note.", schema()),
            Ok("3 arguments, each with a type"),
        );
        check(tool("Adds.", schema()), Err("`add` is not described"));
        let mut open = schema();
        open["additionalProperties"] = json!(true);
        check(
            tool("Adds a note.", open),
            Err("the schema of `add` takes unknown arguments: say \"additionalProperties\": false"),
        );
        let mut silent = schema();
        silent["properties"]["day"] = json!({ "description": "The day." });
        check(
            tool("Adds a note.", silent),
            Err("`add`: the argument `day` does not say its type"),
        );
    }

    #[test]
    fn a_schema_is_valid_and_stands_alone() {
        for wrong in [
            json!({ "type": "txt" }),
            json!({ "$ref": "https://schemas.example/x" }),
        ] {
            let mut schema = schema();
            schema["properties"]["day"] = wrong;
            let found = schemas("notes", &[tool("Adds a note.", schema)]);
            let reason = found.unwrap_err();
            assert!(
                reason.starts_with("the schema of `add` is not valid"),
                "{reason}"
            );
        }
    }

    #[test]
    fn each_mistake_is_made_once_and_the_rest_is_right() {
        let schema = schema();
        let validator = ArgumentCheck::new(&schema).unwrap();
        let bad = bad_calls(&schema, Some("token"));
        let named: Vec<_> = bad.iter().filter_map(|bad| bad.named).collect();
        assert_eq!(named, [UNKNOWN, "title"]);
        // Of the others, one for each argument and one without arguments.
        assert_eq!(bad.len(), named.len() + 4);
        for arguments in bad.iter().flat_map(|bad| &bad.arguments) {
            assert!(!validator.is_valid(arguments), "{arguments}");
        }
        for good in good_calls(&schema, Some("token")) {
            assert_eq!(good["access_token"], "token");
            assert!(validator.is_valid(&Value::Object(good)));
        }
    }

    #[test]
    fn a_refusal_has_a_status_of_the_interface_and_words() {
        let check = |status, message: &str| {
            sound(&Refusal {
                status,
                message: message.into(),
            })
        };
        assert_eq!(check(409, "There is no note 7."), Ok(()));
        assert!(check(500, "Sorry.").is_err());
        assert!(check(422, " ").is_err());
    }

    #[test]
    fn ids_and_short_texts_are_learned_once_and_tokens_never() {
        let mut known = Vec::new();
        let answer = json!({ "note_id": 7, "tags": ["a", "a"], "access_token": "secret", "text": "x".repeat(300) });
        learn(&answer, &mut known);
        assert_eq!(known, [json!(7), json!("a")]);
    }
}
