//! `pibench-host plugin new`: a project from templates, with tests and a suite of one session that uses the plugin. It
//! starts nothing and fetches nothing.

mod project;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use self::project::render;
use crate::cli::{LangArg, PluginNewArgs};
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
}
