//! `pibench-host plugin test`: the standard suite, a line for each check.

use anyhow::Context as _;
use serde_json::Value;

use super::{config, load};
use crate::cli::PluginTestArgs;
use crate::commands::runtime;
use crate::exit::{Exit, Failure, OrExit as _};
use pibench_core::count::count;
use pibench_sandbox::conformance::{Finding, examine, repeat};

/// Runs the suite on one plugin; a check that fails makes its input a wrong one.
pub(super) fn test(args: &PluginTestArgs) -> Result<Exit, Failure> {
    let configs: Vec<Value> = args
        .config
        .iter()
        .map(|text| config(text))
        .collect::<Result<_, _>>()?;
    let plugin = load(&args.file)?;
    println!("ok    loads: {} bytes", plugin.size);
    let findings = match &args.calls {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("read {file}"))
                .or_exit(Exit::InvalidInput)?;
            vec![runtime()?.block_on(repeat(&plugin, &text))]
        }
        None => runtime()?.block_on(examine(&plugin, &configs)),
    };
    let mut failed = 0;
    for Finding { check, found } in &findings {
        match found {
            Ok(seen) => println!("ok    {check}: {seen}"),
            Err(reason) => {
                failed += 1;
                println!("FAIL  {check}: {reason}");
            }
        }
    }
    println!(
        "{}: {}, {failed} failed",
        args.file,
        count(findings.len() + 1, "check")
    );
    Ok(if failed == 0 {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}
