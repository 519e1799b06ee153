//! `pibench-host schema`: the JSON Schemas of what people write and of what a run leaves.

use anyhow::anyhow;
use schemars::schema_for;

use crate::cli::SchemaArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::near::did_you_mean;
use pibench_record::event::Event;
use pibench_record::folder::{Manifest, Seal, Timing};
use pibench_record::outline::Outline;
use pibench_record::results::RunResults;
use pibench_record::trajectory::Trajectory;
use pibench_report::format::TablesFile;
use pibench_report::page::Index;
use pibench_suite::schema::{FORMATS, Format, schema as find};

/// The formats of the run folder and of reports.
const RECORDS: [Format; 9] = [
    ("journal", || schema_for!(Event).to_value()),
    ("manifest", || schema_for!(Manifest).to_value()),
    ("outline", || schema_for!(Outline).to_value()),
    ("page", || schema_for!(Index<'_>).to_value()),
    ("results", || schema_for!(RunResults).to_value()),
    ("seal", || schema_for!(Seal).to_value()),
    ("tables", || schema_for!(TablesFile<'_>).to_value()),
    ("timing", || schema_for!(Timing).to_value()),
    ("trajectory", || schema_for!(Trajectory).to_value()),
];

/// Prints one schema, or the names.
pub(super) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let formats = [FORMATS.as_slice(), RECORDS.as_slice()].concat();
    let names: Vec<&str> = formats.iter().map(|(name, _)| *name).collect();
    let Some(name) = &args.name else {
        println!("{}", names.join("\n"));
        return Ok(Exit::Complete);
    };
    let schema = find(&formats, name)
        .ok_or_else(|| {
            let near = did_you_mean(name, names.iter().copied());
            anyhow!("find schema `{name}`{near}: there are {}", names.join(", "))
        })
        .or_exit(Exit::Usage)?;
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).or_exit(Exit::Bug)?
    );
    Ok(Exit::Complete)
}
