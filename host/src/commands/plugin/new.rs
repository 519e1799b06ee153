//! `pibench-host plugin new`: a project from templates, with tests and a suite of one session that uses the plugin. It
//! starts nothing and fetches nothing.

mod project;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use self::project::render;
use crate::cli::{LangArg, PluginNewArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::OF_TOOLS;

/// The longest name: a tool's name, `<app>__<tool>`, has to fit what providers take.
const NAME_LIMIT: usize = 32;

/// The host's plugins beside those of the agent's own tools.
const OF_HOST: [&str; 9] = [
    "amazon",
    "file_system",
    "gmail",
    "phone",
    "rules",
    "simple_note",
    "splitwise",
    "spotify",
    "todoist",
];

/// Words and crates of Rust, by which no crate is named.
const OF_RUST: [&str; 22] = [
    "alloc",
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
    "fn",
    "impl",
    "let",
    "mod",
    "proc_macro",
    "self",
    "std",
    "super",
    "test",
    "true",
];

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
    let whose = if OF_HOST.contains(&name) || OF_TOOLS.contains(&name) {
        "the host has a plugin of this name"
    } else if OF_RUST.contains(&name) {
        "Rust has this word for itself"
    } else {
        return Ok(());
    };
    Err(anyhow!(
        "name a plugin `{name}`: the name is taken: {whose}; choose another"
    ))
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
        // Where the program stands alone, its own place says nothing.
        let place = named.map_or_else(String::new, |dir| format!(" in {dir}"));
        return Err(anyhow!(
            "find the crate pibench-sdk{place}: it is plugins/sdk of a checkout of the project; say where it is by --sdk DIR, \
             or take `--lang python`, which needs none"
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
    fn a_name_that_is_taken_is_refused_and_said_whose_it_is() {
        let makefile = include_str!("../../../../Makefile").lines();
        let mut guests = makefile.filter_map(|line| line.strip_prefix("GUESTS := "));
        let guests = guests.next().unwrap().split(' ').chain(["python"]);
        let of_host = guests.map(|name| (name, "the host has a plugin"));
        let of_rust = OF_RUST.map(|name| (name, "Rust has this word"));
        for (name, whose) in of_host.chain(of_rust) {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains(whose), "{error}");
        }
        check_name("shells").unwrap();
        check_name("documents").unwrap();
    }
}
