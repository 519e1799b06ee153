//! `pibench-host plugin`: what authors of plugins need, one file per subcommand.

mod add;
mod build;
mod call;
mod inspect;
mod lock;
mod new;
mod test;

use std::path::PathBuf;
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

/// The component of a file, under the file's name, granted what it asks for: it is looked at, and plays in no run. The name alone
/// is enough for one of the program's own.
fn load(path: &Utf8Path) -> Result<Arc<Plugin>, Failure> {
    let machine = machine()?;
    let file = find_own(path, &machine.own);
    let file = file.unwrap_or_else(|| path.as_std_path().to_owned());
    // It is looked at and tried by itself, so it gets what it asks for; it is compiled as a stranger's.
    let terms = Terms {
        compiler: Some(machine.compiler),
        ..Terms::default()
    };
    let plugins = Plugins::on_terms([].into(), Vec::new(), &machine.cache, terms);
    let name = path.file_stem().unwrap_or("plugin");
    let plugin = plugins.load_file(name, &file);
    plugin.map(Arc::new).or_exit(Exit::InvalidInput)
}

/// The file of the program's own plugin of this name; None for a file or a path to one.
fn find_own(path: &Utf8Path, own: &[PathBuf]) -> Option<PathBuf> {
    if path.is_file() || path.file_name() != Some(path.as_str()) {
        return None;
    }
    let mut files = own.iter().map(|dir| dir.join(format!("{path}.wasm")));
    files.find(|file| file.is_file())
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
