//! Tool apps that Rust cannot express: core modules in the text format, function by function, made into real components of
//! the world `tool-app`. Each test states the function that misbehaves; the others behave.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::{DateTime, date};
use pibench_sandbox::{App, GuestFault, Limits, LoadError, Plugin, Plugins};
use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::scene::{cache, root};

/// The interface that the guest exports.
const TOOLS: &str = "pibench:plugin/tools@0.1.0";

/// What of WASI a guest may import here: enough to hold handles, and to ask the host without end.
const IO: &str = "package wasi:io@0.2.6;
interface error { resource error; }
interface poll {
    resource pollable { ready: func() -> bool; }
    poll: func(in: list<borrow<pollable>>) -> list<u32>;
}
interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream {
        blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
    }
}";
const CLOCKS: &str = "package wasi:clocks@0.2.6;
interface monotonic-clock {
    use wasi:io/poll@0.2.6.{pollable};
    now: func() -> u64;
    subscribe-instant: func(when: u64) -> pollable;
}";
const RANDOM: &str = "package wasi:random@0.2.6;
interface random { get-random-bytes: func(len: u64) -> list<u8>; }";
const CLI: &str = "package wasi:cli@0.2.6;
interface environment { get-environment: func() -> list<tuple<string, string>>; }
interface stdout {
    use wasi:io/streams@0.2.6.{output-stream};
    get-stdout: func() -> output-stream;
}";
const WASI: [(&str, &str); 4] = [
    ("io.wit", IO),
    ("clocks.wit", CLOCKS),
    ("random.wit", RANDOM),
    ("cli.wit", CLI),
];
const WORLD: &str = "package hostile:guest;
world guest {
    import wasi:clocks/monotonic-clock@0.2.6;
    import wasi:io/poll@0.2.6;
    import wasi:io/streams@0.2.6;
    import wasi:random/random@0.2.6;
    import wasi:cli/environment@0.2.6;
    import wasi:cli/stdout@0.2.6;
    include pibench:plugin/tool-app@0.1.0;
}";

/// A tool app with one tool, `t`.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    memory: String,
    items: String,
    /// By the function's name in the interface, or `cabi_realloc`, `post-return`.
    bodies: Vec<(&'static str, String)>,
    answer: Vec<u8>,
    /// Of its tool's arguments, behind its first memory.
    schema: String,
}

/// Where the schema lies: behind four pages.
const SCHEMA: usize = 4 << 16;

/// Where the answer of `call` lies.
const ANSWER: usize = 1024;

/// Never ends.
pub(crate) const LOOP: &str = "(loop $l (br $l)) unreachable";

impl Guest {
    /// One that behaves, and answers `{}` whatever is asked.
    pub(crate) fn honest() -> Self {
        Self {
            memory: "4".into(),
            items: String::new(),
            bodies: Vec::new(),
            answer: b"{}".to_vec(),
            schema: String::new(),
        }
    }

    /// The size of its memory in pages, and its most.
    pub(crate) fn memory(mut self, memory: &str) -> Self {
        self.memory = memory.into();
        self
    }

    /// More of the module: imports, tables, data, a start function.
    pub(crate) fn with(mut self, items: &str) -> Self {
        self.items += items;
        self
    }

    /// The body of a function.
    pub(crate) fn doing(mut self, function: &'static str, body: &str) -> Self {
        self.bodies.push((function, body.into()));
        self
    }

    /// What `call` answers.
    pub(crate) fn answering(mut self, answer: impl Into<Vec<u8>>) -> Self {
        self.answer = answer.into();
        self
    }

    /// The JSON Schema that it gives its tool.
    pub(crate) fn taking(mut self, schema: &Value) -> Self {
        self.schema = schema.to_string();
        let pages = 4 + self.schema.len().div_ceil(1 << 16);
        self.memory(&pages.to_string())
    }

    fn body(&self, function: &str, honest: &str) -> String {
        let found = self.bodies.iter().find(|(name, _)| *name == function);
        found.map_or_else(|| honest.to_owned(), |(_, body)| body.clone())
    }

    fn text(&self) -> String {
        let result = |length: usize| format!("\\00\\00\\00\\00{}{}", bytes(ANSWER), bytes(length));
        let realloc = "(local $p i32)
            (local.set $p (global.get $next))
            (global.set $next (i32.add (local.get $p)
                (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8))))
            (local.get $p)";
        let (schema, data) = if self.schema.is_empty() {
            ([130, 17], String::new())
        } else {
            let text = self.schema.replace('\\', "\\5c").replace('"', "\\22");
            let data = format!("(data (i32.const {SCHEMA}) \"{text}\")");
            ([SCHEMA, self.schema.len()], data)
        };
        format!(
            r#"(module
            {items}
            (memory (export "memory") {memory})
            (global $next (mut i32) (i32.const 131072))
            (data (i32.const 32) "{tools}")
            (data (i32.const 64) "{tool}")
            (data (i32.const 128) "td{{\22type\22:\22object\22}}")
            (data (i32.const 160) "{answered}")
            (data (i32.const 176) "{empty}")
            (data (i32.const 192) "{{}}")
            (data (i32.const {ANSWER}) "{answer}")
            {data}
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
            (func (export "{TOOLS}#list-tools") (result i32) {list})
            (func (export "{TOOLS}#open") (param i32 i32) (result i32) {open})
            (func (export "{TOOLS}#add") (param i32 i32) (result i32) {add})
            (func (export "{TOOLS}#call") (param i32 i32 i32 i32) (result i32) {call})
            (func (export "cabi_post_{TOOLS}#call") (param i32) {post})
            (func (export "{TOOLS}#snapshot") (result i32) {snapshot})
            (func (export "{TOOLS}#restore") (param i32 i32) (result i32) {restore})
            (func (export "{TOOLS}#state") (result i32) {state})
            )"#,
            items = self.items,
            memory = self.memory,
            tools = [bytes(64), bytes(1)].concat(),
            tool = [128, 1, 129, 1, schema[0], schema[1]].map(bytes).concat(),
            answered = result(self.answer.len()),
            empty = [bytes(192), bytes(2)].concat(),
            answer = self
                .answer
                .iter()
                .fold(String::new(), |text, byte| text + &format!("\\{byte:02x}")),
            realloc = self.body("cabi_realloc", realloc),
            list = self.body("list-tools", "(i32.const 32)"),
            open = self.body("open", "(i32.const 48)"),
            add = self.body("add", "(i32.const 48)"),
            call = self.body("call", "(i32.const 160)"),
            post = self.body("post-return", ""),
            snapshot = self.body("snapshot", "(i32.const 176)"),
            restore = self.body("restore", "(i32.const 48)"),
            state = self.body("state", "(i32.const 176)"),
        )
    }

    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.text()).unwrap();
        let mut resolve = Resolve::default();
        for (name, text) in WASI {
            resolve.push_str(name, text).unwrap();
        }
        resolve.push_dir(root().join("wit")).unwrap();
        let package = resolve.push_str("world.wit", WORLD).unwrap();
        let world = resolve.select_world(&[package], Some("guest")).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        let mut encoder = ComponentEncoder::default();
        encoder.module(&module).unwrap().encode().unwrap()
    }

    /// Loaded, trusted.
    pub(crate) fn load(&self) -> Result<Arc<Plugin>, LoadError> {
        self.load_by(&Plugins::new([].into(), Vec::new(), cache()))
    }

    pub(crate) fn load_by(&self, plugins: &Plugins) -> Result<Arc<Plugin>, LoadError> {
        let (_dir, path) = file(&self.component());
        plugins.load_file("guest", &path).map(Arc::new)
    }

    /// Opened, with little fuel.
    pub(crate) async fn open(&self, limits: Limits) -> Result<App, GuestFault> {
        open(self.load().unwrap(), limits).await
    }

    /// Opened, and its tool called once.
    pub(crate) async fn call(&self, limits: Limits) -> Result<Value, GuestFault> {
        call(&mut self.open(limits).await?).await
    }
}

fn bytes(number: usize) -> String {
    u32::try_from(number)
        .unwrap()
        .to_le_bytes()
        .iter()
        .fold(String::new(), |text, byte| text + &format!("\\{byte:02x}"))
}

/// A component in a file of its own.
pub(crate) fn file(component: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("guest.wasm");
    std::fs::write(&path, component).unwrap();
    (dir, path)
}

pub(crate) fn now() -> DateTime {
    date(2026, 3, 2).at(9, 0, 0, 0)
}

pub(crate) async fn open(plugin: Arc<Plugin>, limits: Limits) -> Result<App, GuestFault> {
    use pibench_sandbox::app::OpenError;
    let seed = json!({ "people": [], "records": {} });
    match App::open(plugin, limits, [7; 32], &seed, now()).await {
        Ok(app) => Ok(app),
        Err(OpenError::Fault { fault, .. }) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

/// Calls the one tool.
pub(crate) async fn call(app: &mut App) -> Result<Value, GuestFault> {
    let answer = app.call("t", &json!({}), now()).await?;
    Ok(answer.expect("no refusal"))
}

/// Limits that a test reaches in no time.
pub(crate) fn tight() -> Limits {
    Limits {
        fuel: 1_000_000,
        ..Limits::APP
    }
}
