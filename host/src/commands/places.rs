//! Places on command lines: which of them a command reads or writes, and which it can. A place `SCHEME:/...` that a command cannot
//! write would become a folder of that name here.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::board::{BoardCommand, SubmitCommand};
use crate::cli::{Command, ImportFormat, PluginCommand, PromptsCommand, SuiteCommand, TapeArgs};
use crate::exit::{Exit, Failure, OrExit};
use pibench_store::is_stored;

/// The store's own words, of several for the same the first.
const STORES: &str = "s3://, gs:// or az://";

/// A place on a command line that can lie in a store.
pub(super) struct Place<'a> {
    pub(super) path: &'a mut Utf8PathBuf,
    /// Whether the command writes there.
    pub(super) is_written: bool,
}

/// Refuses what names another scheme than the command can read or write.
pub(super) fn refuse_foreign(command: &mut Command) -> Result<(), Failure> {
    for Place { path, is_written } in places(command) {
        check_stored(path, is_written)?;
    }
    if let Command::Script(args) = &*command {
        check_stored(&args.out, true)?;
    }
    for path in local(command) {
        if has_scheme(path) {
            return refused("use", path, "a file or folder of this machine");
        }
    }
    Ok(())
}

fn check_stored(path: &Utf8Path, is_written: bool) -> Result<(), Failure> {
    let verb = if is_written { "write to" } else { "read" };
    if is_stored(path.as_str()) {
        return check_parts(path, verb);
    }
    if !has_scheme(path) {
        return Ok(());
    }
    let wanted =
        format!("a folder of this machine, or a place in a store: BUCKET/PATH behind {STORES}");
    refused(verb, path, &wanted)
}

/// A store has objects of any name, and no folder above one: what a path of this machine would mean by such a part is nowhere.
fn check_parts(path: &Utf8Path, verb: &str) -> Result<(), Failure> {
    let below = path.as_str().split_once("://").map_or("", |(_, rest)| rest);
    let mut parts = below.trim_end_matches('/').split('/');
    // An address may write a point otherwise.
    let plain = |part: &str| part.to_ascii_lowercase().replace("%2e", ".");
    if parts.all(|part| !["", ".", ".."].contains(&plain(part).as_str())) {
        return Ok(());
    }
    Err(anyhow!(
        "{verb} {path}: want no part of a place in a store that is empty, `.` or `..`; name BUCKET/PATH as it lies there"
    ))
    .or_exit(Exit::Usage)
}

fn refused(verb: &str, path: &Utf8Path, wanted: &str) -> Result<(), Failure> {
    Err(anyhow!(
        "{verb} {path}: want {wanted}; ./{path} is one that is called so"
    ))
    .or_exit(Exit::Usage)
}

/// Whether a path begins as an address does: `s3:/x`, `S3://x`, `http://x`.
fn has_scheme(path: &Utf8Path) -> bool {
    let Some((scheme, rest)) = path.as_str().split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && rest.starts_with('/')
}

/// What a command reads or writes that can lie in a store.
pub(super) fn places(command: &mut Command) -> Vec<Place<'_>> {
    let read = |path| Place {
        path,
        is_written: false,
    };
    let written = |path| Place {
        path,
        is_written: true,
    };
    match command {
        Command::Run(args) => [&mut args.out, &mut args.resume]
            .into_iter()
            .flatten()
            .map(written)
            .collect(),
        Command::Merge(args) => match &mut args.out {
            Some(out) => args
                .parts
                .iter_mut()
                .map(read)
                .chain([written(out)])
                .collect(),
            None => args.parts.iter_mut().map(written).collect(),
        },
        Command::Show(args) => args.runs.iter_mut().map(read).collect(),
        Command::View(args) => args.runs.iter_mut().map(read).collect(),
        Command::Report(args) => args.runs.iter_mut().map(read).collect(),
        Command::Export(args) => args.runs.iter_mut().map(read).collect(),
        Command::Audit(args) => args.runs.iter_mut().map(read).collect(),
        Command::Verify(args) => args.run.iter_mut().map(read).collect(),
        Command::Compare(args) => vec![read(&mut args.a), read(&mut args.b)],
        Command::Trajectory(args) => vec![read(&mut args.dir)],
        Command::Review(args) => vec![read(&mut args.run)],
        Command::Grade(args) => vec![read(&mut args.run), written(&mut args.out)],
        _ => Vec::new(),
    }
}

/// What else a command writes, or reads beside runs: on this machine alone.
fn local(command: &Command) -> Vec<&Utf8Path> {
    fn tape(tape: &TapeArgs) -> [Option<&Utf8PathBuf>; 3] {
        [&tape.record, &tape.replay, &tape.judge_cache].map(Option::as_ref)
    }
    let found: Vec<Option<&Utf8PathBuf>> = match command {
        Command::Run(args) => tape(&args.tape).into(),
        Command::Serve(args) => {
            let run = &args.run;
            let own = [run.out.as_ref(), run.resume.as_ref()];
            own.into_iter().chain(tape(&run.tape)).collect()
        }
        Command::Grade(args) => tape(&args.tape).into(),
        Command::Audit(args) => {
            let own = [args.sheet.as_ref()];
            own.into_iter().chain(tape(&args.tape)).collect()
        }
        Command::Script(args) => vec![args.kustomize.as_ref()],
        Command::Report(args) => vec![args.out.as_ref()],
        Command::Export(args) => vec![Some(&args.out)],
        Command::Doctor(args) => vec![Some(&args.out)],
        Command::Man { out } => vec![out.as_ref()],
        Command::Publish(args) => vec![Some(&args.run), Some(&args.out)],
        Command::Pack(args) => vec![args.make.out.as_ref()],
        Command::Submit(args) => match &args.command {
            SubmitCommand::Prepare(args) => {
                let runs = args.runs.iter().map(Some);
                runs.chain([Some(&args.out)]).collect()
            }
            SubmitCommand::Check(_) | SubmitCommand::Workflow => Vec::new(),
        },
        Command::Board(args) => match &args.command {
            BoardCommand::Build(args) => vec![Some(&args.out)],
        },
        Command::Import(args) => match &args.format {
            ImportFormat::PiBench { out, .. } | ImportFormat::Results { out, .. } => {
                vec![Some(out)]
            }
        },
        Command::Plugin(args) => match &args.command {
            PluginCommand::New(args) => vec![args.out.as_ref()],
            PluginCommand::Add(args) => vec![Some(&args.plugins)],
            _ => Vec::new(),
        },
        Command::Suite(args) => match &args.command {
            SuiteCommand::Export { dir } | SuiteCommand::New { dir } => vec![Some(dir)],
        },
        Command::Prompts(args) => {
            let PromptsCommand::Export { dir } = &args.command;
            vec![Some(dir)]
        }
        _ => Vec::new(),
    };
    found
        .into_iter()
        .flatten()
        .map(Utf8PathBuf::as_path)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_store_has_no_part_that_leads_elsewhere() {
        for path in [
            "s3://buck/a b/ü/../x",
            "s3://buck/./x",
            "gs://buck//x",
            "az:///x",
            "s3://",
            "s3://buck/%2E./x",
        ] {
            let refused = check_stored(Utf8Path::new(path), true).unwrap_err();
            assert_eq!(refused.exit, Exit::Usage, "{path}");
            assert!(refused.reason().contains(path), "{}", refused.reason());
        }
        for path in [
            "s3://buck/a b/ü/x",
            "s3://buck/.a/..b/",
            "abfs://box@account/x",
        ] {
            check_stored(Utf8Path::new(path), true).unwrap();
        }
    }

    #[test]
    fn an_address_is_told_from_a_path() {
        for address in [
            "s3:/x",
            "S3://runs/a",
            "http://a/b",
            "file:/a",
            "git+ssh://a",
        ] {
            assert!(has_scheme(Utf8Path::new(address)), "{address}");
        }
        for path in ["./s3:/x", "a/b:/c", "12:/30", "run:1", "/runs/a", "", ":/"] {
            assert!(!has_scheme(Utf8Path::new(path)), "{path}");
        }
    }
}
