//! `pibench-host plugin test`: the standard suite, a line for each check.

use serde_json::Value;

use super::{config, load};
use crate::cli::PluginTestArgs;
use crate::commands::runtime;
use crate::exit::{Exit, Failure};
use pibench_sandbox::conformance::{Finding, examine};

/// Runs the suite on one plugin; a check that fails makes its input a wrong one.
pub(super) fn test(args: &PluginTestArgs) -> Result<Exit, Failure> {
    let configs: Vec<Value> = args
        .config
        .iter()
        .map(|text| config(text))
        .collect::<Result<_, _>>()?;
    let plugin = load(&args.file)?;
    println!("ok    loads: {} bytes", plugin.size);
    let findings = runtime()?.block_on(examine(&plugin, &configs));
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
        "{}: {} checks, {failed} failed",
        args.file,
        findings.len() + 1
    );
    Ok(if failed == 0 {
        Exit::Complete
    } else {
        Exit::InvalidInput
    })
}
