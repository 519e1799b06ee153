//! Native tests of apps: a harness that drives an app through the same door as the host. Not part of any component.

use std::collections::BTreeSet;
use std::rc::Rc;

use jiff::civil::DateTime;
use serde_json::{Map, Value, json};

use crate::account::world;
use crate::app::{self, ToolApp};
use crate::refusal::ToolError;
use crate::stand_in::{self, Draw, now};
use crate::tool::Declaration;

mod cases;

pub use crate::stand_in::{set_clock, set_seed};
pub use cases::check_cases;

/// An open app and somebody who is logged in to it.
#[derive(Debug, Clone)]
pub struct Session<A> {
    pub app: A,
    /// Goes with every call that has no `access_token` of its own; [`Session::log_in`] sets it.
    pub token: Option<String>,
    /// Below which [`random_step`] draws numbers: ids, quantities, pages.
    pub numbers: usize,
    /// Made once: schemas take longer than calls.
    tools: Rc<[Declaration]>,
    /// How it came to where it is, where that is told.
    life: cases::Life,
}

/// Below which numbers are drawn without the world, and with it: there ids begin beyond its own.
const NUMBERS: usize = 12;
const NUMBERS_IN_THE_WORLD: usize = 3000;

impl<A: ToolApp> Session<A> {
    /// Opens the app from a seed, without the world unless the seed asks for it. Panics if it is refused.
    pub fn open(seed: &Value) -> Self {
        let mut seed = seed.clone();
        if let Some(seed) = seed.as_object_mut() {
            seed.entry("world").or_insert(json!(false));
        }
        let app = app::open(&seed.to_string())
            .unwrap_or_else(|error| panic!("the seed is refused: {error}"));
        Self {
            app,
            token: None,
            numbers: NUMBERS,
            tools: A::tools().declarations().into(),
            life: cases::Life::of(&seed),
        }
    }

    /// Opens the app over the world, as one of its people who has a password in this app, `pw`. With `by_number` they
    /// are logged in with their phone number.
    pub fn in_the_world(person: usize, by_number: bool) -> Self {
        let account = &world::PEOPLE[person].1;
        let mut session = Self::open(&json!({
            "world": true,
            "people": [{
                "first_name": account.first_name,
                "last_name": account.last_name,
                "email": account.email,
                "phone_number": account.phone_number,
                "password": "pw",
            }],
        }));
        session.numbers = NUMBERS_IN_THE_WORLD;
        let number = account.phone_number.as_deref().filter(|_| by_number);
        session.log_in(number.unwrap_or(account.email.as_str()), "pw");
        session
    }

    /// Logs in and keeps the token. Panics if it is refused.
    pub fn log_in(&mut self, username: &str, password: &str) {
        let answer = self.ok("login", json!({"username": username, "password": password}));
        self.token = answer["access_token"].as_str().map(str::to_owned);
        self.life.log_in();
    }

    /// Calls a tool. To private ones goes the token.
    pub fn call(&mut self, name: &str, mut arguments: Value) -> Result<Value, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let of_tool = tool.and_then(|tool| tool.schema["properties"].get("access_token"));
        let private = of_tool.is_some_and(|token| token["deprecated"] != true);
        if let (true, Some(token), Some(arguments)) =
            (private, &self.token, arguments.as_object_mut())
        {
            arguments
                .entry("access_token")
                .or_insert_with(|| json!(token));
        }
        let answer = app::call(&mut self.app, name, &arguments.to_string())
            .map(|answer| serde_json::from_str(&answer).expect("an answer is json"));
        self.life
            .record_call(name, arguments, self.token.as_deref(), &answer);
        answer
    }

    /// The answer of a call that must succeed.
    #[track_caller]
    pub fn ok(&mut self, name: &str, arguments: Value) -> Value {
        let told = shortened(&arguments);
        let answer = self.call(name, arguments);
        cases::show(name, answer.is_ok(), &self.life);
        answer.unwrap_or_else(|error| panic!("{name}({told}) is refused: {error}"))
    }

    /// The refusal of a call that must fail and leave the state as it was.
    #[track_caller]
    pub fn refused(&mut self, name: &str, arguments: Value) -> ToolError {
        let (told, before) = (shortened(&arguments), self.state());
        let Err(error) = self.call(name, arguments) else {
            panic!("{name}({told}) is not refused")
        };
        cases::show(name, false, &self.life);
        assert_eq!(
            self.state(),
            before,
            "{name}({told}) is refused and has an effect"
        );
        error
    }

    /// A call that must fail so and leave the state as it was.
    #[track_caller]
    pub fn check_refused(&mut self, name: &str, arguments: Value, status: u16, message: &str) {
        let error = self.refused(name, arguments);
        assert_eq!(
            (error.status, error.message.as_str()),
            (status, message),
            "{name}"
        );
    }

    /// The state as graders see it.
    pub fn state(&mut self) -> Value {
        serde_json::from_str(&app::state(&mut self.app)).expect("the state is json")
    }
}

/// The numbers under a name in a list of answers: mostly ids. Panics with what is none.
#[track_caller]
pub fn ids(answer: &Value, field: &str) -> Vec<u64> {
    let rows = answer
        .as_array()
        .unwrap_or_else(|| panic!("no list: {answer}"));
    let id = |row: &Value| {
        let id = row[field].as_u64();
        id.unwrap_or_else(|| panic!("no {field}: {row}"))
    };
    rows.iter().map(id).collect()
}

/// For messages of failed tests.
fn shortened(arguments: &Value) -> String {
    arguments.to_string().chars().take(200).collect()
}

/// What `wit/tools.wit` asks of a list of tools, and what a model needs: every tool and every argument described, no
/// unknown arguments. Panics with what is wrong.
pub fn check_declarations<A: ToolApp>(expected_names: &[&str]) {
    let tools = A::tools().declarations();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name).collect();
    assert_eq!(names.len(), tools.len(), "a name stands twice");
    assert_eq!(
        names,
        expected_names.iter().copied().collect(),
        "the names are not those of the signatures"
    );
    tools.iter().for_each(check_declaration);
}

fn check_declaration(tool: &Declaration) {
    let Declaration {
        name,
        description,
        schema,
    } = tool;
    assert!(
        name.len() <= 64 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
        "{name}: no good name"
    );
    assert!(
        (10..4096).contains(&description.len()),
        "{name}: no good description"
    );
    assert_eq!(schema["type"], "object", "{name}");
    assert_eq!(
        schema["additionalProperties"], false,
        "{name}: takes unknown arguments"
    );
    for (argument, schema) in schema["properties"].as_object().expect("properties") {
        assert!(
            schema.get("type").is_some() || schema.get("enum").is_some(),
            "{name}: {argument} has no type"
        );
        assert!(
            argument != "sort_by"
                || schema["description"]
                    .as_str()
                    .is_some_and(|told| told.starts_with("+ or -: ")),
            "{name}: what {argument} may name is not told (`Tools::sorted_by`)"
        );
    }
}

/// Sees that these fields of records, each with its list before it, refuse a moment with an offset and take one without.
/// Panics with one that does not.
pub fn check_moments<A: ToolApp>(fields: &[(&str, &str)]) {
    for &(list, field) in fields {
        let add = |moment: &str| {
            let mut app = Session::<A>::open(&json!({})).app;
            let records = json!({list: [{field: moment}]}).to_string();
            app::add(&mut app, &records).err().unwrap_or_default()
        };
        let refused = add("2026-03-01T23:00:00-05:00");
        let told = format!("{list}[0]: \"2026-03-01T23:00:00-05:00\" has an offset: ");
        assert!(refused.starts_with(&told), "{list}: {field}: {refused}");
        // What else the record lacks is told then.
        let other = add("2026-03-01T23:00:00");
        assert!(
            !other.contains("2026-03-01") && !other.contains("unknown"),
            "{list}: {field}: {other}"
        );
    }
}

/// One step of a random life: any tool with arguments drawn from its schema, and now and then an hour that passes. The
/// same number gives the same step. `texts` are the values for strings: addresses, words that the app knows.
pub fn random_step<A: ToolApp>(
    session: &mut Session<A>,
    number: u64,
    texts: &[&str],
) -> Result<Value, ToolError> {
    random_call(session, number, texts).1
}

/// A random step, with the tool that was called.
fn random_call<A: ToolApp>(
    session: &mut Session<A>,
    number: u64,
    texts: &[&str],
) -> (&'static str, Result<Value, ToolError>) {
    let mut draw = Draw(number);
    if draw.below(8) == 0 {
        let later = now().checked_add(jiff::Span::new().hours(1));
        set_clock(later.unwrap_or(DateTime::MAX));
    }
    let tools = Rc::clone(&session.tools);
    let tool = &tools[draw.below(tools.len())];
    // Few logouts, or most steps would be refused.
    if tool.name == "logout" && draw.below(10) > 0 {
        return (tool.name, Ok(Value::Null));
    }
    let mut arguments = draw.arguments(&tool.schema, texts, session.numbers);
    if draw.below(20) > 0 {
        arguments.remove("access_token");
    }
    (tool.name, session.call(tool.name, Value::Object(arguments)))
}

/// What every app over the world must do: begin with a snapshot of next to nothing, answer to every call of a random
/// life, and go on from a snapshot as before. `texts` are as in [`random_step`]. Answers the session.
pub fn check_life_in_the_world<A: ToolApp>(
    mut session: Session<A>,
    lives: [&[u64]; 2],
    texts: &[&str],
) -> Session<A> {
    let size = session.app.snapshot().len();
    assert!(size < 2048, "the snapshot of nothing has {size} bytes");
    let [before, after] = lives;
    for number in before {
        let _ = random_step(&mut session, *number, texts);
    }
    check_restored(&mut session, |session| {
        let step = |number: &u64| random_step(session, *number, texts);
        after.iter().map(step).collect()
    });
    session
}

/// Restores a session from its own snapshot and lets both go on alike: their states and further answers must be equal.
pub fn check_restored<A: ToolApp>(
    session: &mut Session<A>,
    go_on: impl Fn(&mut Session<A>) -> Vec<Result<Value, ToolError>>,
) {
    let app = A::restore(&session.app.snapshot()).expect("a snapshot of the app's own is restored");
    let mut restored = Session {
        app,
        ..session.clone()
    };
    assert_eq!(
        restored.state(),
        session.state(),
        "the state after restoring"
    );
    let (clock, random) = (now(), stand_in::seed());
    let answers = go_on(session);
    set_clock(clock);
    set_seed(random);
    assert_eq!(go_on(&mut restored), answers, "the answers after restoring");
    assert_eq!(
        restored.state(),
        session.state(),
        "the state after going on"
    );
    assert_eq!(
        restored.app.snapshot(),
        session.app.snapshot(),
        "the snapshots after going on"
    );
}

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }

    fn arguments(&mut self, schema: &Value, texts: &[&str], numbers: usize) -> Map<String, Value> {
        let required = |name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|list| list.contains(&json!(name)))
        };
        let mut arguments = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if required(name) || self.below(3) == 0 {
                arguments.insert(name.clone(), self.value(schema, texts, numbers));
            }
        }
        arguments
    }

    /// Mostly a value that fits; one of twenty does not.
    fn value(&mut self, schema: &Value, texts: &[&str], numbers: usize) -> Value {
        if self.below(20) == 0 {
            return [
                json!(null),
                json!(-1),
                json!("\u{0}é"),
                json!([[]]),
                json!(1e300),
            ][self.below(5)]
            .clone();
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices[self.below(choices.len())].clone();
        }
        let kind = schema["type"]
            .as_str()
            .or_else(|| schema["type"][0].as_str());
        match kind {
            Some("integer") => json!(self.below(numbers)),
            Some("number") => json!(self.below(1000) as f64 / 8.0),
            Some("boolean") => json!(self.below(2) == 0),
            Some("array") => {
                let length = self.below(4);
                (0..length)
                    .map(|_| self.value(&schema["items"], texts, numbers))
                    .collect()
            }
            _ => json!(texts[self.below(texts.len())]),
        }
    }
}
