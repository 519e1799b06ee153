//! `pibench-host plugin build`: a project to a component, by cargo or by componentize-py. Starting those is its purpose;
//! a project is its author's own code, and a stranger's is nothing to build. No other command starts them.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::PluginBuildArgs;
use crate::exit::{Exit, Failure, OrExit};

const TARGET: &str = "wasm32-wasip2";

/// Builds the project of a folder to `<name>.wasm` in it.
pub(super) fn build(args: &PluginBuildArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    let file = if dir.join("Cargo.toml").is_file() {
        with_cargo(dir)
    } else if dir.join("pyproject.toml").is_file() {
        with_componentize_py(dir, args.venv.as_deref())
    } else {
        Err(anyhow!(
            "build {dir}: neither Cargo.toml nor pyproject.toml is there; `pibench-host plugin new` makes a project"
        ))
    };
    let file = file.or_exit(Exit::InvalidInput)?;
    let size = file.metadata().or_exit(Exit::Io)?.len();
    println!("{file}: {size} bytes");
    Ok(Exit::Complete)
}

/// The component that cargo says it made, copied beside the manifest.
fn with_cargo(dir: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    let mut cargo = command("cargo");
    cargo
        .current_dir(dir)
        .args(["build", "--release", "--target", TARGET])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit());
    let output = cargo.output().context("start cargo")?;
    if !output.status.success() {
        return Err(anyhow!("build {dir}: cargo said what is wrong"));
    }
    let manifest = dir.join("Cargo.toml").canonicalize_utf8()?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let made = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["manifest_path"] == manifest.as_str())
        .find_map(|message| component(&message))
        .ok_or_else(|| anyhow!("build {dir}: it is no library of crate-type cdylib"))?;
    let name = made.file_name().unwrap_or("plugin.wasm");
    let file = dir.join(name);
    std::fs::copy(&made, &file).with_context(|| format!("write {file}"))?;
    Ok(file)
}

/// The component among the files of one of cargo's messages.
fn component(message: &Value) -> Option<Utf8PathBuf> {
    let files = message["filenames"].as_array()?;
    let mut paths = files
        .iter()
        .filter_map(Value::as_str)
        .map(Utf8PathBuf::from);
    paths.find(|path| path.extension() == Some("wasm"))
}

/// What a Python project says of itself. Other tools have keys of their own in it.
#[derive(Deserialize)]
struct PyProject {
    project: Project,
    tool: Tool,
}

#[derive(Deserialize)]
struct Project {
    name: String,
}

#[derive(Deserialize)]
struct Tool {
    pibench: PibenchTool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PibenchTool {
    world: PythonWorld,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PythonWorld {
    ToolApp,
    Grader,
}

/// The component of `src/plugin.py` and what it imports.
fn with_componentize_py(dir: &Utf8Path, venv: Option<&Utf8Path>) -> anyhow::Result<Utf8PathBuf> {
    let manifest = dir.join("pyproject.toml");
    let text = std::fs::read_to_string(&manifest).with_context(|| format!("read {manifest}"))?;
    let PyProject { project, tool } =
        toml::from_str(&text).with_context(|| format!("read {manifest}"))?;
    let world = match tool.pibench.world {
        PythonWorld::ToolApp => "tool-app",
        PythonWorld::Grader => "grader",
    };
    let venv = match venv {
        // The tool is started in the project's folder.
        Some(venv) => venv
            .canonicalize_utf8()
            .with_context(|| format!("find {venv}"))?,
        None => make_venv(dir)?,
    };
    let name = format!("{}.wasm", project.name);
    let unfinished = format!("{name}.new");
    let mut tool = command(venv.join("bin/componentize-py"));
    tool.current_dir(dir)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["--quiet", "-d", "wit", "-w", world, "componentize"])
        .args(["-p", "src", "plugin", "-o", &unfinished])
        // Its own trace says nothing of the plugin.
        .env("RUST_BACKTRACE", "0");
    let output = tool.output().context("start componentize-py")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let (trace, cause) = of_python(&said);
        pibench_report::tell!("{trace}\n");
        return Err(anyhow!("build {dir}: {cause}"));
    }
    pibench_report::tell::lines(format_args!("{said}"));
    let file = dir.join(name);
    std::fs::rename(dir.join(unfinished), &file).with_context(|| format!("write {file}"))?;
    Ok(file)
}

/// What a failed componentize-py says of the plugin's Python: its trace, and the last line, which is the cause. It wraps
/// them into a trace of its own, and says the cause again.
fn of_python(said: &str) -> (String, &str) {
    let said = said
        .split_once("\nStack backtrace:")
        .map_or(said, |(before, _)| before);
    let said = said
        .split_once("\n\nCaused by:")
        .map_or(said, |(before, _)| before);
    let said = said
        .split_once("AssertionError: ")
        .map_or(said, |(_, after)| after)
        .trim_end();
    let cause = said.lines().last().unwrap_or("componentize-py failed");
    // Where it sees the folder `src`.
    (said.replace("\"/0/", "\"src/"), cause.trim())
}

/// The project's virtual environment with what `requirements.txt` pins; made when it is missing.
fn make_venv(dir: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    let dir = dir.canonicalize_utf8()?;
    let venv = dir.join(".venv");
    if !venv.join("bin/componentize-py").is_file() {
        run(command("python3").args(["-m", "venv"]).arg(&venv))?;
        let requirements = dir.join("requirements.txt");
        run(command(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(requirements))?;
    }
    Ok(venv)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the author's own build tools, at the author's request; nothing of a task pack or a plugin is run"
)]
fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Runs a tool that says by itself what is wrong.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("start {program}"))?;
    if !status.success() {
        return Err(anyhow!("run {program}: {status}"));
    }
    Ok(())
}
