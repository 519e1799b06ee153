//! The schemas that the program prints, for what it writes; and that those of task files refuse what is out of bounds.

use boon::{Compiler, SchemaIndex, Schemas};
use camino::Utf8Path;
use serde_json::Value;

use crate::scaffold::suite;
use crate::scene::{Scene, expect};
use pibench_suite::load::{load, policy};

pub(crate) struct JsonSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl JsonSchema {
    /// Fails the test when it is none.
    pub(crate) fn new(schema: Value) -> Self {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("test:/schema", schema).unwrap();
        let root = compiler.compile("test:/schema", &mut schemas).unwrap();
        Self { schemas, root }
    }

    /// What is wrong with a value; None when nothing is.
    pub(crate) fn objection(&self, value: &Value) -> Option<String> {
        let error = self.schemas.validate(value, self.root).err()?;
        Some(format!("{error:#}"))
    }
}

fn printed(scene: &Scene, format: &str) -> Value {
    let output = scene.run(&["schema", format]);
    expect(&output, 0, &[]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A format, and a file of it that says no more than it has to.
struct Form<'a> {
    scene: &'a Scene,
    schema: JsonSchema,
    file: &'a str,
    least: &'a str,
}

impl<'a> Form<'a> {
    fn new(scene: &'a Scene, format: &str, file: &'a str, least: &'a str) -> Self {
        let schema = JsonSchema::new(printed(scene, format));
        Self {
            scene,
            schema,
            file,
            least,
        }
    }

    /// Schema and loader take each of the first values in the place of `?`, and none of the others.
    fn check(&self, lines: &str, granted: &[&str], refused: &[&str]) {
        for (values, is_sound) in [(granted, true), (refused, false)] {
            for value in values {
                let lines = lines.replace('?', value);
                let text = format!("{}{lines}\n", self.least);
                self.scene.write(self.file, &text);
                // JSON has no dates.
                let text = text.replace("2026-03-02T09:00:00", "\"2026-03-02T09:00:00\"");
                let objection = self.schema.objection(&toml::from_str(&text).unwrap());
                assert_eq!(objection.is_none(), is_sound, "{lines}: {objection:?}");
                let problems = self.problems();
                assert_eq!(problems.is_none(), is_sound, "{lines}: {problems:?}");
            }
        }
    }

    fn problems(&self) -> Option<String> {
        let is_policy = self.file == "policy.toml";
        let whole = "tasks/suite.toml";
        let path = self.scene.path(if is_policy { self.file } else { whole });
        let path = Utf8Path::from_path(&path).unwrap();
        let problems = if is_policy {
            policy(path).err()
        } else {
            load(path).err()
        };
        problems.map(|problems| problems.to_string())
    }
}

#[test]
fn the_schema_of_suites_refuses_what_is_out_of_bounds() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let least = "version = 1\nid = \"t\"\npersonas = [\"p\"]\n";
    let form = Form::new(&scene, "suite", "tasks/suite.toml", least);
    for key in ["runs", "jobs"] {
        form.check(&format!("{key} = ?"), &["1", "1000"], &["0", "1001", "-1"]);
    }
    let amounts = ["\"4G\"", "\"512m\""];
    form.check("memory = ?", &amounts, &["\"lots\"", "\"4\"", "\"G\""]);
    for key in [
        "max_turns",
        "max_iterations",
        "turn_timeout_s",
        "heartbeat_minutes",
    ] {
        form.check(&format!("[session]\n{key} = ?"), &["1"], &["0", "-1"]);
    }
    let window = "[session]\nwindow_tokens = ?";
    form.check(window, &["32768"], &["32767", "20000"]);
    form.check("[agents.a]\ncommand = ?", &["[\"x\"]"], &["[]"]);
    let web = "[web]\nprovider = \"searxng\"\nurl = ?";
    form.check(web, &["\"https://x\""], &["\"ftp://x\""]);

    let addresses = ["\"http://127.0.0.1:1/v1\"", "\"https://x\""];
    let none = ["\"ftp://x\"", "\"http://\"", "\"http:///v1\""];
    form.check("[providers.y]\nbase_url = ?", &addresses, &none);
    let provider = "[providers.y]\nbase_url = \"http://x\"";
    for key in [
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "max_tools",
    ] {
        form.check(&format!("{provider}\n{key} = ?"), &["1"], &["0"]);
    }
    let model = "[models.z]\nprovider = \"y\"\nmodel = \"z\"";
    for key in ["max_output_tokens", "max_tools"] {
        form.check(&format!("{model}\n{key} = ?"), &["1"], &["0"]);
    }
    for price in [
        "input = ?, output = 1",
        "input = 1, output = ?",
        "input = 1, output = 1, cached = ?",
        "input = 1, output = 1, cache_write = ?",
    ] {
        let lines = format!("{model}\nprice = {{ {price} }}");
        form.check(&lines, &["0", "0.5"], &["-0.5", "-1"]);
    }

    let without = "version = 1\nid = \"t\"\n";
    let form = Form::new(&scene, "suite", "tasks/suite.toml", without);
    form.check("personas = ?", &["[\"p\"]"], &["[]"]);
}

/// Of suites, policies and single plugins.
#[test]
fn no_schema_takes_a_limit_of_nothing() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let least = "version = 1\nid = \"t\"\npersonas = [\"p\"]\n";
    let of_suite = Form::new(&scene, "suite", "tasks/suite.toml", least);
    let of_policy = Form::new(&scene, "policy", "policy.toml", "version = 1\n");
    let schema = printed(&scene, "policy");
    let mut count = 0;
    for (kind, shape) in [
        ("app", "LimitOverride"),
        ("grader", "LimitOverride"),
        ("shell", "LimitOverride"),
        ("document", "LimitOverride"),
        ("load", "LoadOverride"),
    ] {
        let keys = schema["$defs"][shape]["properties"].as_object().unwrap();
        for key in keys.keys() {
            let lines = format!("[limits.{kind}]\n{key} = ?");
            of_suite.check(&lines, &["1"], &["0", "-1"]);
            of_policy.check(&lines, &["1"], &["0", "-1"]);
            count += 1;
        }
    }
    assert!(count >= 55, "{count} limits were found");
    let of_plugin = "[plugins.counter.limits]\nfuel = ?";
    of_policy.check(of_plugin, &["1"], &["0"]);
    let of_policy = Form::new(&scene, "policy", "policy.toml", "");
    of_policy.check("version = ?", &["1"], &["0", "2"]);
}

#[test]
fn the_schemas_of_sessions_and_personas_refuse_what_is_out_of_bounds() {
    let scene = Scene::new();
    suite(&scene, "", "");
    let least = "version = 1\nid = \"p\"\nname = \"P\"\nprofile = \"A person.\"\n";
    let form = Form::new(&scene, "persona", "tasks/p/persona.toml", least);
    let facts = |count: usize| {
        let facts: Vec<String> = (0..count).map(|fact| format!("f{fact} = \"x\"")).collect();
        format!("{{ {} }}", facts.join(", "))
    };
    let with_facts = "episode = [{ session = \"one\" }]\nfacts = ?";
    form.check(with_facts, &[&facts(1000)], &[&facts(1001)]);
    form.check("episode = ?", &["[{ session = \"one\" }]"], &["[]"]);
    // The last episode that was tried has none.
    form.check("episode = ?", &["[{ session = \"one\" }]"], &[]);

    let least = "version = 1\nid = \"one\"\ntitle = \"T\"\nclock = 2026-03-02T09:00:00\nrequest = \"Do it.\"\n";
    let file = "tasks/p/sessions/one/session.toml";
    let form = Form::new(&scene, "session", file, least);
    let intent = "[{ id = \"i\", content = \"In blue.\" }]";
    form.check("intents = ?", &[intent], &["[]"]);
    let says = |count: usize| format!("[{}]", vec!["{ say = \"x\" }"; count].join(", "));
    let workflow = format!("intents = {intent}\nreference = ?");
    form.check(&workflow, &[&says(1000)], &[&says(1001)]);
    let item = format!("intents = {intent}\n[[checklist]]\nid = \"c\"\ncriterion = \"C.\"");
    let weights = ["0.001", "1", "1000000"];
    let beyond = ["0", "-1", "1000001"];
    form.check(&format!("{item}\nweight = ?"), &weights, &beyond);
    for key in ["accepts", "rejects"] {
        let rule = format!("{item}\nrule = {{ grader = \"rules\", {key} = ? }}");
        form.check(&rule, &["[[{ say = \"x\" }]]", "[]"], &["[[]]"]);
    }
}
