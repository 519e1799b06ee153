//! What a new project holds: templates, and the interface itself where a language reads it. It writes nothing.

use camino::Utf8Path;
use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::json;

use crate::cli::{LangArg, PluginNewArgs, WorldArg};

/// Path in the project and template.
type Template = (&'static str, &'static str);

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../../templates/", $path))
    };
}

const EVERY: [Template; 5] = [
    ("README.md", template!("README.md")),
    (".gitignore", template!("gitignore")),
    ("policy.toml", template!("policy.toml")),
    ("example/suite.toml", template!("example/suite.toml")),
    (
        "example/ida/persona.toml",
        template!("example/persona.toml"),
    ),
];

const RUST: [Template; 2] = [
    ("Cargo.toml", template!("rust/Cargo.toml")),
    ("rust-toolchain.toml", template!("rust/rust-toolchain.toml")),
];

const PYTHON: [Template; 2] = [
    ("pyproject.toml", template!("python/pyproject.toml")),
    ("requirements.txt", template!("python/requirements.txt")),
];

/// The interface itself, which componentize-py reads.
const WIT: [Template; 8] = [
    (
        "wit/types.wit",
        include_str!("../../../../../wit/types.wit"),
    ),
    ("wit/host.wit", include_str!("../../../../../wit/host.wit")),
    (
        "wit/tools.wit",
        include_str!("../../../../../wit/tools.wit"),
    ),
    (
        "wit/grader.wit",
        include_str!("../../../../../wit/grader.wit"),
    ),
    (
        "wit/files.wit",
        include_str!("../../../../../wit/files.wit"),
    ),
    (
        "wit/shell.wit",
        include_str!("../../../../../wit/shell.wit"),
    ),
    (
        "wit/document.wit",
        include_str!("../../../../../wit/document.wit"),
    ),
    (
        "wit/world.wit",
        include_str!("../../../../../wit/world.wit"),
    ),
];

const SESSION: &str = "example/ida/sessions/move/session.toml";

/// What differs from world to world and language to language.
fn own(world: WorldArg, lang: LangArg) -> Vec<Template> {
    match (lang, world) {
        (LangArg::Rust, WorldArg::Grader) => vec![
            ("src/lib.rs", template!("rust/grader.rs")),
            (SESSION, template!("example/grader.toml")),
        ],
        (LangArg::Rust, WorldArg::ToolApp) => vec![
            ("src/lib.rs", template!("rust/tool_app.rs")),
            (SESSION, template!("example/tool_app.toml")),
        ],
        (LangArg::Python, WorldArg::Grader) => vec![
            ("src/plugin.py", template!("python/grader/plugin.py")),
            ("src/grader.py", template!("python/grader/grader.py")),
            (
                "tests/test_grader.py",
                template!("python/grader/test_grader.py"),
            ),
            (SESSION, template!("example/grader.toml")),
        ],
        (LangArg::Python, WorldArg::ToolApp) => vec![
            ("src/plugin.py", template!("python/tool_app/plugin.py")),
            ("src/app.py", template!("python/tool_app/app.py")),
            (
                "tests/test_app.py",
                template!("python/tool_app/test_app.py"),
            ),
            (SESSION, template!("example/tool_app.toml")),
        ],
    }
}

/// The files of a project, by their paths in it.
pub(super) fn render(
    args: &PluginNewArgs,
    sdk: Option<&Utf8Path>,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = minijinja::syntax::SyntaxConfig::builder();
    syntax.keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    let (code, test) = match (args.lang, args.world) {
        (LangArg::Rust, _) => ("src/lib.rs", "cargo test --release"),
        (LangArg::Python, WorldArg::Grader) => (
            "src/grader.py",
            "python3 -B -m unittest tests/test_grader.py",
        ),
        (LangArg::Python, WorldArg::ToolApp) => {
            ("src/app.py", "python3 -B -m unittest tests/test_app.py")
        }
    };
    let (world, title, grants, config) = match args.world {
        WorldArg::ToolApp => ("tool-app", "tool app", r#"["clock", "random", "log"]"#, ""),
        WorldArg::Grader => {
            let config = " --config '{\"path\": \"notes/plan.md\"}'";
            ("grader", "grader", r#"["workspace", "log"]"#, config)
        }
    };
    let lang = match args.lang {
        LangArg::Rust => "rust",
        LangArg::Python => "python",
    };
    let context = context! {
        name => &args.name,
        world, title, lang, code, test, config, grants,
        // A JSON text is a TOML text too.
        sdk => json!(sdk.map_or("", Utf8Path::as_str)).to_string(),
    };
    let mut templates = EVERY.to_vec();
    match args.lang {
        LangArg::Rust => templates.extend(RUST),
        LangArg::Python => templates.extend(PYTHON),
    }
    templates.extend(own(args.world, args.lang));
    let rendered = templates
        .into_iter()
        .map(|(path, template)| Ok((path, environment.render_str(template, &context)?)));
    let verbatim = match args.lang {
        LangArg::Rust => &[][..],
        LangArg::Python => &WIT,
    };
    let verbatim = verbatim
        .iter()
        .map(|(path, text)| Ok((*path, (*text).to_owned())));
    rendered.chain(verbatim).collect()
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;

    /// What a template imports, as a plugin could be named: `ToolError` as `tool_error`.
    fn imported(code: &str) -> Vec<String> {
        let lines = code.lines().filter(|line| line.trim().starts_with("use "));
        let words = lines.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()));
        let types = words.filter(|word| word.starts_with(char::is_uppercase));
        let snake = |word: &str| {
            let mut name = String::new();
            for letter in word.chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
            }
            name
        };
        types.map(snake).collect()
    }

    #[test]
    fn no_name_of_a_plugin_stands_in_the_way_of_what_its_code_imports() {
        let code = |world, name: &str| {
            let args = PluginNewArgs {
                world,
                name: name.into(),
                lang: LangArg::Rust,
                out: None,
                sdk: None,
            };
            let files = render(&args, None).unwrap();
            let mut files = files.into_iter();
            files.find(|(path, _)| *path == "src/lib.rs").unwrap().1
        };
        for (world, one) in [
            (WorldArg::ToolApp, "tool_error"),
            (WorldArg::Grader, "workspace_error"),
        ] {
            let tally = code(world, "tally");
            let names = imported(&tally);
            assert!(names.iter().any(|name| name == one), "{names:?}");
            assert!(names.iter().all(|name| name != "plugin"), "{names:?}");
            assert!(tally.contains("pub struct Plugin"));
            for name in names {
                assert_eq!(code(world, &name), tally, "{name}");
            }
        }
    }

    #[test]
    fn a_python_project_gets_the_whole_interface() {
        let wit = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit"));
        let mut files: Vec<String> = wit
            .read_dir_utf8()
            .unwrap()
            .map(|entry| format!("wit/{}", entry.unwrap().file_name()))
            .filter(|path| path.ends_with("wit"))
            .collect();
        files.sort();
        let mut given: Vec<&str> = WIT.iter().map(|(path, _)| *path).collect();
        given.sort_unstable();
        assert_eq!(given, files);
    }

    #[test]
    fn the_template_builds_with_the_toolchain_of_the_sdk() {
        let channel = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            table["toolchain"]["channel"].clone()
        };
        assert_eq!(
            channel(template!("rust/rust-toolchain.toml")),
            channel(include_str!("../../../../../rust-toolchain.toml"))
        );
    }
}
