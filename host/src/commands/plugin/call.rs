//! `pibench-host plugin call`: an app's answers to calls from stdin, one line each, for whoever tries an app by hand or holds it
//! against the service that it stands in for.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use jiff::civil::DateTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::load;
use crate::cli::PluginCallArgs;
use crate::commands::runtime;
use crate::exit::{Exit, Failure, OrExit};
use pibench_report::escape;
use pibench_sandbox::{App, Limits};

/// What a line of stdin asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The tool's name in the app.
    call: String,
    #[serde(default)]
    arguments: Value,
    /// The session clock; where it is left out, that of the call before.
    at: Option<DateTime>,
}

/// Opens the app on its seed and answers until stdin ends. A call that breaks the app leaves it as it was before.
pub(super) fn call(args: &PluginCallArgs) -> Result<Exit, Failure> {
    let seed = match &args.seed {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("read {file}"))
            .and_then(|text| serde_json::from_str(&text).with_context(|| format!("read {file}")))
            .or_exit(Exit::InvalidInput)?,
        None => json!({ "people": [], "records": {} }),
    };
    let plugin = load(&args.file)?;
    let runtime = runtime()?;
    let mut now = args.at;
    let opened = App::open(plugin, Limits::APP, [0; 32], &seed, now);
    let mut app = runtime.block_on(opened).or_exit(Exit::InvalidInput)?;
    let mut out = std::io::stdout().lock();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let asked = line.context("read stdin").and_then(|line| {
            serde_json::from_str::<Line>(&line)
                .with_context(|| format!("read line {} of stdin", number + 1))
        });
        let asked = asked.or_exit(Exit::InvalidInput)?;
        now = asked.at.unwrap_or(now);
        let answer = runtime.block_on(app.call(&asked.call, &asked.arguments, now));
        let answer = match answer {
            Ok(Ok(answer)) => json!({ "status": 200, "answer": answer }),
            Ok(Err(refusal)) => json!({ "status": refusal.status, "message": refusal.message }),
            Err(fault) => json!({ "fault": fault.to_string() }),
        };
        writeln!(out, "{}", escape::json(&answer.to_string()))
            .and_then(|()| out.flush())
            .context("write stdout")
            .or_exit(Exit::Bug)?;
    }
    Ok(Exit::Complete)
}
