//! `pibench-host plugin`: what authors of plugins need, one file per subcommand.

mod add;
mod build;
mod call;
mod inspect;
mod lock;
mod new;
mod test;

use std::sync::Arc;

use camino::Utf8Path;
use serde_json::Value;

use super::machine;
use crate::cli::{PluginArgs, PluginCommand};
use crate::exit::{Exit, Failure, OrExit};
use pibench_sandbox::{Plugin, Plugins, Terms};

/// Runs the subcommand.
pub(super) fn plugin(args: &PluginArgs) -> Result<Exit, Failure> {
    match &args.command {
        PluginCommand::New(args) => new::new(args),
        PluginCommand::Build(args) => build::build(args),
        PluginCommand::Test(args) => test::test(args),
        PluginCommand::Call(args) => call::call(args),
        PluginCommand::Lock(args) => lock::lock(args),
        PluginCommand::Add(args) => add::add(args),
        PluginCommand::Inspect(args) => inspect::inspect(args),
    }
}

/// The component of a file, under the file's name, granted what it asks for: it is looked at, and plays in no run.
fn load(path: &Utf8Path) -> Result<Arc<Plugin>, Failure> {
    let machine = machine()?;
    // It is looked at and tried by itself, so it gets what it asks for; it is compiled as a stranger's.
    let terms = Terms {
        compiler: Some(machine.compiler),
        ..Terms::default()
    };
    let plugins = Plugins::on_terms([].into(), Vec::new(), &machine.cache, terms);
    let name = path.file_stem().unwrap_or("plugin");
    let plugin = plugins.load_file(name, path.as_std_path());
    plugin.map(Arc::new).or_exit(Exit::InvalidInput)
}

/// A `--config` of the command line.
fn config(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| {
            let shown: String = text.chars().take(60).collect();
            let cut = if shown.len() < text.len() { " ..." } else { "" };
            anyhow::anyhow!("read --config `{shown}{cut}`: no JSON: {error}")
        })
        .or_exit(Exit::Usage)
}
