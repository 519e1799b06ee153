//! An app, and the table of its tools: list, JSON Schema and dispatch in one place.
//!
//! A tool is a method that takes one struct of arguments. The struct's derives are its schema; field comments are what
//! the model reads about an argument. The host checks arguments against the schema first; here they are only parsed.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::account::{Account, Accounts, Email};
use crate::listing::{Field, Search};
use crate::records::Records;
use crate::time::{Since, Until};

pub use crate::refusal::ToolError;

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
        kept_tools::<Self>().call(self, name, arguments)
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

/// A tool as the agent sees it.
#[derive(Debug, Clone)]
pub struct Declaration {
    pub name: &'static str,
    pub description: &'static str,
    /// A JSON Schema (2020-12) of type `object`.
    pub schema: Value,
}

/// Takes the app and the arguments, gives the answer.
type Run<A> = Box<dyn Fn(&mut A, Value) -> Result<Value, ToolError>>;

struct Tool<A> {
    name: &'static str,
    description: &'static str,
    /// Made on demand: calls do not need it.
    schema: fn() -> Value,
    /// What `sort_by` may name; nothing where it says so itself.
    sort_fields: Vec<&'static str>,
    /// Whether the agent is told of it.
    listed: bool,
    run: Run<A>,
}

impl<A> Tool<A> {
    fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        if !self.sort_fields.is_empty() {
            let words = format!("+ or -: {}.", self.sort_fields.join(", "));
            schema["properties"]["sort_by"]["description"] = words.into();
        }
        schema
    }
}

thread_local! {
    /// The tools of the app that was called last. A generic type cannot own a static, hence `Any`; there is one app type in a
    /// component.
    static TOOLS: RefCell<Option<Rc<dyn Any>>> = const { RefCell::new(None) };
}

/// The app's tools, made once: a call would take longer to make them than to find one.
pub(crate) fn kept_tools<A: ToolApp>() -> Rc<Tools<A>> {
    TOOLS.with_borrow_mut(|kept| {
        let known = kept.as_ref().map(Rc::clone);
        if let Some(Ok(tools)) = known.map(Rc::downcast) {
            return tools;
        }
        let tools = Rc::new(A::tools());
        *kept = Some(Rc::clone(&tools) as Rc<dyn Any>);
        tools
    })
}

/// The tools of an app, in order.
pub struct Tools<A> {
    tools: Vec<Tool<A>>,
}

impl<A> Default for Tools<A> {
    fn default() -> Self {
        Self { tools: Vec::new() }
    }
}

impl<A: ToolApp> Tools<A> {
    pub fn new() -> Self {
        Self::default()
    }

    /// A tool that anybody may call. An `access_token` is taken and not looked at.
    #[must_use]
    pub fn public<T, R, F>(mut self, name: &'static str, description: &'static str, tool: F) -> Self
    where
        T: DeserializeOwned + JsonSchema,
        R: Serialize,
        F: Fn(&mut A, T) -> Result<R, ToolError> + 'static,
    {
        let run = move |app: &mut A, mut arguments| {
            take_text_token(&mut arguments)?;
            answer(tool(app, parse(arguments)?)?)
        };
        self.tools.push(Tool {
            name,
            description,
            schema: public_schema::<T>,
            sort_fields: Vec::new(),
            listed: true,
            run: Box::new(run),
        });
        self
    }

    /// A tool that anybody may call, and that shows more to whoever is logged in: it gets the account if there is an
    /// `access_token`, which must then be a right one.
    #[must_use]
    pub fn open<T, R, F>(mut self, name: &'static str, description: &'static str, tool: F) -> Self
    where
        T: DeserializeOwned + JsonSchema,
        R: Serialize,
        F: Fn(&mut A, Option<&Email>, T) -> Result<R, ToolError> + 'static,
    {
        let run = move |app: &mut A, mut arguments| {
            let token = take_text_token(&mut arguments)?;
            let me = token.map(|token| app.accounts().authorize(Some(&token)));
            answer(tool(app, me.transpose()?.as_ref(), parse(arguments)?)?)
        };
        self.tools.push(Tool {
            name,
            description,
            schema: private_schema::<T>,
            sort_fields: Vec::new(),
            listed: true,
            run: Box::new(run),
        });
        self
    }

    /// A tool for those who are logged in. `access_token` comes on top of the struct's arguments: it is checked here,
    /// and the tool gets the account instead. It is not `required` in the schema, so that a call without it is answered
    /// 401 like one with a wrong token.
    #[must_use]
    pub fn private<T, R, F>(
        mut self,
        name: &'static str,
        description: &'static str,
        tool: F,
    ) -> Self
    where
        T: DeserializeOwned + JsonSchema,
        R: Serialize,
        F: Fn(&mut A, &Email, T) -> Result<R, ToolError> + 'static,
    {
        let run = move |app: &mut A, mut arguments| {
            let me = app
                .accounts()
                .authorize(take_token(&mut arguments).as_deref())?;
            answer(tool(app, &me, parse(arguments)?)?)
        };
        self.tools.push(Tool {
            name,
            description,
            schema: private_schema::<T>,
            sort_fields: Vec::new(),
            listed: true,
            run: Box::new(run),
        });
        self
    }

    /// Tells a model what the `sort_by` of the tool before may name.
    ///
    /// # Panics
    ///
    /// If no tool stands before.
    #[must_use]
    pub fn sorted_by<R>(mut self, fields: &[Field<R>]) -> Self {
        let tool = self.tools.last_mut().expect("a tool stands before");
        tool.sort_fields = fields.iter().map(|(name, _)| *name).collect();
        self
    }

    /// The tool before is none of the agent's: only the host calls it.
    ///
    /// # Panics
    ///
    /// If no tool stands before.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        self.tools.last_mut().expect("a tool stands before").listed = false;
        self
    }

    /// `login(username, password) -> {access_token, token_type}`, the user name being the email address.
    #[must_use]
    pub fn login(self) -> Self {
        self.public("login", LOGIN, |app: &mut A, arguments: Login| {
            let token = app
                .accounts()
                .log_in(&arguments.username, &arguments.password)?;
            Ok(json!({"access_token": token, "token_type": "Bearer"}))
        })
    }

    /// `logout() -> {message}`.
    #[must_use]
    pub fn logout(self) -> Self {
        self.private(
            "logout",
            "Ends the access_token.",
            |app: &mut A, me: &Email, _: NoArguments| {
                app.accounts().log_out(me);
                Ok(json!({"message": "You are logged out."}))
            },
        )
    }

    /// `search_users(query) -> [{first_name, last_name, email, registered_at}]`, with `more` fields that are the same for
    /// all.
    #[must_use]
    pub fn search_users(self, more: &'static [(&'static str, &'static str)]) -> Self {
        let view = move |user: &Account| {
            let mut view = json!({
                "first_name": user.first_name,
                "last_name": user.last_name,
                "email": user.email,
                "registered_at": user.registered_at,
            });
            for (name, value) in more {
                view[name] = json!(value);
            }
            view
        };
        self.public(
            "search_users",
            "By name or email.",
            move |app: &mut A, SearchUsers { search }: SearchUsers| {
                let users = app.accounts().search(search.query.as_deref());
                let users = search.page().of(users).into_iter();
                Ok(users.map(view).collect::<Vec<Value>>())
            },
        )
    }

    /// The tools as the agent sees them.
    pub fn declarations(&self) -> Vec<Declaration> {
        let declare = |tool: &Tool<A>| Declaration {
            name: tool.name,
            description: tool.description,
            schema: tool.schema(),
        };
        let listed = self.tools.iter().filter(|tool| tool.listed);
        listed.map(declare).collect()
    }

    /// Runs a tool.
    pub fn call(&self, app: &mut A, name: &str, arguments: Value) -> Result<Value, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| ToolError::unknown_tool(name))?;
        (tool.run)(app, arguments)
    }
}

/// What every login says.
pub const LOGIN: &str = "Gives the access_token.";

/// What arguments of lists mean that say nothing of their own. The same words about the same name are shown to a model
/// once, however many lists have it.
const OF_LISTS: [(&str, &str); 3] = [
    ("query", "Any word matches; the best come first."),
    ("sort_by", "+ or - (descending) and a field."),
    ("page_index", "From 0."),
];

/// For tools without arguments of their own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchUsers {
    #[serde(flatten)]
    search: Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// Email.
    username: String,
    password: String,
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    // Serde would take a list for a struct, field by field.
    if !arguments.is_object() {
        return Err(ToolError::invalid(
            "Wrong arguments: an object is expected.",
        ));
    }
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::invalid(format!("Wrong arguments: {error}.")))
}

fn answer(answer: impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(answer)
        .map_err(|error| ToolError::invalid(format!("The answer has no JSON form: {error}.")))
}

/// The token where there may be none; 422 for what is no text.
fn take_text_token(arguments: &mut Value) -> Result<Option<String>, ToolError> {
    let arguments = arguments.as_object_mut();
    match arguments.and_then(|arguments| arguments.remove("access_token")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) => Ok(Some(token)),
        Some(_) => Err(ToolError::invalid(
            "Wrong arguments: access_token is no text.",
        )),
    }
}

/// A token of another type counts as missing.
fn take_token(arguments: &mut Value) -> Option<String> {
    match arguments.as_object_mut()?.remove("access_token")? {
        Value::String(token) => Some(token),
        _ => None,
    }
}

/// Everything in one place, without what a model has no use for: titles, formats such as `uint32`, and defaults that
/// bound nothing.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let generator = settings.with_transform(RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
        if schema.get("default").is_some_and(bounds_nothing) {
            schema.remove("default");
        }
    }));
    let mut schema = generator.into_generator().into_root_schema_for::<T>();
    for noise in ["title", "description"] {
        schema.remove(noise);
    }
    if schema.get("properties").is_none() {
        schema.insert("properties".to_owned(), json!({}));
    }
    let mut schema = schema.to_value();
    describe_lists(&mut schema);
    schema
}

fn describe_lists(schema: &mut Value) {
    let Some(arguments) = schema["properties"].as_object_mut() else {
        return;
    };
    let is_list = arguments.contains_key("page_limit") || arguments.contains_key("sort_by");
    for (name, meaning) in OF_LISTS.iter().filter(|_| is_list) {
        if let Some(Value::Object(argument)) = arguments.get_mut(*name) {
            argument.entry("description").or_insert((*meaning).into());
        }
    }
    if let Some(Value::Object(limit)) = arguments.get_mut("page_limit") {
        // In the words above.
        limit.remove("default");
    }
}

/// Whether it is the end of time or of numbers: what a bound is that was not given.
fn bounds_nothing(default: &Value) -> bool {
    let ends = [Since::default().into(), Until::default().into()];
    match default {
        Value::String(text) => ends.contains(text),
        number => number.as_f64() >= Some(i64::MAX as f64),
    }
}

/// Callers send the token everywhere; a model is not told that it may.
fn public_schema<T: JsonSchema>() -> Value {
    let mut schema = schema::<T>();
    schema["properties"]["access_token"] = json!({"type": ["string", "null"], "deprecated": true});
    schema
}

fn private_schema<T: JsonSchema>() -> Value {
    let mut schema = schema::<T>();
    schema["properties"]["access_token"] = json!({"type": "string", "description": "From login."});
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// How many.
        count: u32,
        /// Whether.
        #[serde(default)]
        flag: bool,
        note: Option<String>,
    }

    #[test]
    fn a_schema_is_the_struct_and_nothing_else() {
        let expected = json!({
            "type": "object",
            "properties": {
                "count": {"description": "How many.", "type": "integer", "minimum": 0},
                "flag": {"description": "Whether.", "type": "boolean", "default": false},
                "note": {"type": ["string", "null"]},
            },
            "additionalProperties": false,
            "required": ["count"],
        });
        assert_eq!(schema::<Sample>(), expected);
    }

    #[test]
    fn a_private_schema_has_the_token_on_top_and_does_not_require_it() {
        let schema = private_schema::<NoArguments>();
        assert_eq!(schema["properties"]["access_token"]["type"], "string");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema.get("required"), None);
    }

    #[test]
    fn a_public_schema_takes_the_token_and_a_model_does_not_hear_of_it() {
        let schema = public_schema::<Sample>();
        assert_eq!(schema["properties"]["access_token"]["deprecated"], true);
        assert_eq!(schema["required"], json!(["count"]));
    }

    #[test]
    fn arguments_are_an_object_and_no_list_of_values() {
        assert!(parse::<NoArguments>(json!({})).is_ok());
        for wrong in [json!([]), json!(null), json!("{}")] {
            assert_eq!(parse::<NoArguments>(wrong).unwrap_err().status, 422);
        }
        assert!(parse::<Login>(json!(["ida@vale.example", "pw"])).is_err());
    }

    #[test]
    fn a_token_that_is_no_string_is_taken_away_and_counts_as_missing() {
        let mut arguments = json!({"access_token": 5, "a": 1});
        assert_eq!(take_token(&mut arguments), None);
        assert_eq!(arguments, json!({"a": 1}));
    }

    #[test]
    fn a_public_tool_takes_a_token_away_and_refuses_what_is_none() {
        for token in [json!("guess"), json!(null)] {
            let mut arguments = json!({"access_token": token, "a": 1});
            take_text_token(&mut arguments).unwrap();
            assert_eq!(arguments, json!({"a": 1}));
        }
        let wrong = take_text_token(&mut json!({"access_token": {"x": []}}));
        assert_eq!(wrong.unwrap_err().status, 422);
    }
}
