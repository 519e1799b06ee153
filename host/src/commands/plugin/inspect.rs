//! `pibench-host plugin inspect`: what a component is, for people and for programs.

use serde::Serialize;
use serde_json::Value;

use super::{config, load};
use crate::cli::PluginInspectArgs;
use crate::commands::runtime;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::message::ToolSpec;
use pibench_report::escape;
use pibench_sandbox::{App, Grader, Limits, Plugin, World};

/// The format of `--json`.
const VERSION: u32 = 1;

/// What is told of a plugin.
#[derive(Serialize)]
struct Inspection {
    version: u32,
    name: String,
    /// `tool-app` or `grader`.
    world: &'static str,
    /// As the component says; empty when it does not.
    plugin_version: String,
    /// The version of `pibench:plugin`.
    wit: String,
    /// Hex.
    sha256: String,
    /// In bytes.
    size: usize,
    /// Whether a lock beside the file vouches for it.
    pinned: bool,
    /// What a policy may grant it.
    asks_for: Vec<&'static str>,
    imports: Vec<String>,
    exports: Vec<String>,
    /// Of a tool app, under the names that an agent uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ToolSpec>>,
    /// Of a grader, for the configuration of the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<String>>,
}

/// Prints it.
pub(super) fn inspect(args: &PluginInspectArgs) -> Result<Exit, Failure> {
    let config = args.config.as_deref().map(config).transpose()?;
    let plugin = load(&args.file)?;
    let (tools, checks) = runtime()?.block_on(offers(&plugin, config.as_ref()))?;
    let inspection = Inspection {
        version: VERSION,
        name: plugin.name.clone(),
        world: plugin.world().name(),
        plugin_version: plugin.facts.version.clone(),
        wit: plugin.facts.wit().to_owned(),
        sha256: plugin.sha256.clone(),
        size: plugin.size,
        pinned: plugin.pinned,
        asks_for: plugin.declared.names(),
        imports: plugin
            .facts
            .imports
            .iter()
            .map(|import| import.name.clone())
            .collect(),
        exports: plugin.facts.exports.clone(),
        tools,
        checks,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&inspection).or_exit(Exit::Bug)?;
        println!("{}", escape::json(&text));
    } else {
        print!("{}", render(&inspection));
    }
    Ok(Exit::Complete)
}

type Offers = (Option<Vec<ToolSpec>>, Option<Vec<String>>);

/// The tools of an app; the checks of a grader, for a configuration.
async fn offers(
    plugin: &std::sync::Arc<Plugin>,
    config: Option<&Value>,
) -> Result<Offers, Failure> {
    if plugin.world() == World::ToolApp {
        let tools = App::list_tools(plugin, Limits::APP).await;
        return Ok((Some(tools.or_exit(Exit::InvalidInput)?), None));
    }
    let Some(config) = config else {
        return Ok((None, None));
    };
    let grader = Grader::new(std::sync::Arc::clone(plugin), Limits::PYTHON);
    let checks = grader
        .or_exit(Exit::InvalidInput)?
        .list_checks(config)
        .await
        .map_err(|fault| anyhow::anyhow!("list the checks of {}: it {fault}", plugin.name))
        .or_exit(Exit::InvalidInput)?;
    Ok((
        None,
        Some(checks.into_iter().map(|check| check.id).collect()),
    ))
}

fn render(inspection: &Inspection) -> String {
    let Inspection {
        version: _,
        name,
        world,
        plugin_version,
        wit,
        sha256,
        size,
        pinned,
        asks_for,
        imports,
        exports,
        tools,
        checks,
    } = inspection;
    let version = if plugin_version.is_empty() {
        "not said"
    } else {
        plugin_version
    };
    let lock = if *pinned { "pinned" } else { "not pinned" };
    let mut text = format!(
        "{name}: {world}\nversion  {version}\nwit      pibench:plugin {wit}\nsha256   {sha256}\n\
         size     {size} bytes\nlock     {lock}\n"
    );
    text += &list("asks for", asks_for.iter().map(|&grant| grant.to_owned()));
    text += &list("imports", imports.iter().map(|name| plain(name)));
    text += &list("exports", exports.iter().map(|name| plain(name)));
    text += &list("tools", tools.iter().flatten().map(signature));
    text += &list("checks", checks.iter().flatten().map(|id| plain(id)));
    text
}

/// A heading before the first line, blanks before the others.
fn list(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let headings = std::iter::once(heading).chain(std::iter::repeat(""));
    headings
        .zip(lines)
        .fold(String::new(), |text, (heading, line)| {
            text + &format!("{heading:<9}{line}\n")
        })
}

/// `gmail__send_email(email_addresses, subject, body?)`: what is not required has a question mark, and what a model is not
/// shown is left out.
fn signature(tool: &ToolSpec) -> String {
    let schema = &tool.parameters;
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let argument = |name: &String| {
        let mark = if required.iter().any(|needed| needed == name) {
            ""
        } else {
            "?"
        };
        plain(name) + mark
    };
    let properties = schema["properties"].as_object();
    let arguments: Vec<String> = properties
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema["deprecated"] != true)
        .map(|(name, _)| argument(name))
        .collect();
    format!("{}({})", tool.name, arguments.join(", "))
}

/// A guest's word: its control characters must not reach the terminal.
fn plain(word: &str) -> String {
    word.escape_debug().to_string()
}
