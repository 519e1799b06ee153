//! `pibench-host plugin new`: a project from templates, with tests and a suite of one session that uses the plugin. It
//! starts nothing and fetches nothing.

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::json;

use crate::cli::{LangArg, PluginNewArgs, WorldArg};
use crate::exit::{Exit, Failure, OrExit};

/// The longest name: a tool's name, `<app>__<tool>`, has to fit what providers take.
const NAME_LIMIT: usize = 32;

/// Names that the languages or the host have taken.
const TAKEN: [&str; 32] = [
    "alloc",
    "amazon",
    "as",
    "async",
    "await",
    "box",
    "core",
    "crate",
    "do",
    "dyn",
    "enum",
    "extern",
    "false",
    "file_system",
    "fn",
    "gmail",
    "impl",
    "let",
    "mod",
    "phone",
    "proc_macro",
    "python",
    "rules",
    "self",
    "simple_note",
    "splitwise",
    "spotify",
    "std",
    "super",
    "test",
    "todoist",
    "true",
];

/// Path in the project and template.
type Template = (&'static str, &'static str);

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../templates/", $path))
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
    ("wit/types.wit", include_str!("../../../../wit/types.wit")),
    ("wit/host.wit", include_str!("../../../../wit/host.wit")),
    ("wit/tools.wit", include_str!("../../../../wit/tools.wit")),
    ("wit/grader.wit", include_str!("../../../../wit/grader.wit")),
    ("wit/files.wit", include_str!("../../../../wit/files.wit")),
    ("wit/shell.wit", include_str!("../../../../wit/shell.wit")),
    (
        "wit/document.wit",
        include_str!("../../../../wit/document.wit"),
    ),
    ("wit/world.wit", include_str!("../../../../wit/world.wit")),
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

/// Writes the project.
pub(super) fn new(args: &PluginNewArgs) -> Result<Exit, Failure> {
    check_name(&args.name).or_exit(Exit::Usage)?;
    let out = args.out.clone().unwrap_or_else(|| args.name.clone().into());
    if out.symlink_metadata().is_ok() {
        return Err(anyhow!("write {out}: it is there already")).or_exit(Exit::Io);
    }
    let sdk = match args.lang {
        LangArg::Rust => Some(sdk(args.sdk.as_deref()).or_exit(Exit::InvalidInput)?),
        LangArg::Python => None,
    };
    let files = render(args, sdk.as_deref()).or_exit(Exit::Bug)?;
    for (path, text) in &files {
        write(&out.join(path), text).or_exit(Exit::Io)?;
    }
    if let Some(sdk) = &sdk {
        lock(sdk, &out).or_exit(Exit::Io)?;
    }
    println!(
        "{out}: {} files; {out}/README.md says what comes next",
        files.len()
    );
    Ok(Exit::Complete)
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(allowed)
        && !name.contains("__")
        && !name.ends_with('_');
    if !plain || name.len() > NAME_LIMIT {
        return Err(anyhow!(
            "name a plugin `{name}`: a name has 1 to {NAME_LIMIT} lower case letters, digits and single underscores \
             between them, and starts with a letter"
        ));
    }
    if TAKEN.contains(&name) {
        return Err(anyhow!("name a plugin `{name}`: the name is taken"));
    }
    Ok(())
}

/// The SDK's folder: the named one, or that of the checkout whose target folder this program stands in.
fn sdk(named: Option<&Utf8Path>) -> anyhow::Result<Utf8PathBuf> {
    let candidate = if let Some(dir) = named {
        dir.to_owned()
    } else {
        let program = Utf8PathBuf::try_from(std::env::current_exe()?)?;
        let root = program.ancestors().nth(3).unwrap_or(Utf8Path::new(""));
        root.join("plugins/sdk")
    };
    if !candidate.join("Cargo.toml").is_file() {
        return Err(anyhow!(
            "find the crate pibench-sdk in {candidate}: say where it is by --sdk DIR"
        ));
    }
    candidate
        .canonicalize_utf8()
        .with_context(|| format!("find {candidate}"))
}

/// The versions that the SDK is tested with, where its checkout has them: cargo leaves out what is not needed.
fn lock(sdk: &Utf8Path, out: &Utf8Path) -> anyhow::Result<()> {
    let lock = sdk.join("../../Cargo.lock");
    if lock.is_file() {
        let to = out.join("Cargo.lock");
        std::fs::copy(&lock, &to).with_context(|| format!("write {to}"))?;
    }
    Ok(())
}

fn render(
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
        type => type_name(&args.name),
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

/// `tax_forms` to `TaxForms`.
fn type_name(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters)
        })
        .collect()
}

fn write(path: &Utf8Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Utf8Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("make {folder}"))?;
    std::fs::write(path, text).with_context(|| format!("write {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_crates_and_of_prefixes_of_tools() {
        for good in ["wrote", "tax_forms", "a1", "x"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Wrote",
            "tax-forms",
            "tax__forms",
            "_x",
            "x_",
            "1a",
            "é",
            "../x",
            "match me",
            "python",
            "gmail",
            "std",
            &"x".repeat(33),
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_type_is_the_name_in_camel_case() {
        assert_eq!(type_name("tax_forms_2"), "TaxForms2");
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
            channel(include_str!("../../../../rust-toolchain.toml"))
        );
    }
}
