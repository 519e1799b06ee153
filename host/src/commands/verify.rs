//! `pibench-host verify`: whether a run's scores follow from its record, and who signed a run, a plugin or a pack.

use std::sync::Arc;

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use super::listed::runs_of;
use super::newest::or_newest;
use super::output::print_json;
use super::signing::{Thing, read_signers, signer_line};
use super::verified::{Found, part_of};
use super::{machine, publish, runtime, stored};
use crate::cli::VerifyArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::plan::{Places, Purpose, reopen_by, reopen_foreign};
use pibench_engine::{Extent, Plan, Verified};
use pibench_report::escape::line;
use pibench_report::grid::paragraph;

use pibench_record::RunFolder;
use pibench_record::folder::{read_manifest, read_outline};
use pibench_record::journal;
use pibench_record::parts::not_begun;
use pibench_signature::AllowedSigners;
use pibench_vault::{VaultError, keyring};

/// Verifies a run folder, or each of those that it holds, and says everything that does not follow; of a plugin or a pack, the
/// signature.
pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let VerifyArgs { run, signers, .. } = args;
    let signers = read_signers(signers)?;
    if let Some(path) = run {
        match Thing::at(path) {
            Ok(thing) if !thing.is_run() => return verify_signature(&thing, signers.as_ref()),
            Err(unknown) if path.is_file() => return Err(unknown),
            // A folder may hold runs.
            _ => {}
        }
    }
    let named = or_newest(run.as_slice())?;
    for dir in &named {
        if let Some(lacking) = not_begun(dir.as_std_path()).or_exit(Exit::InvalidInput)? {
            return Err(anyhow!(
                "verify {dir}: {lacking}; name a part to verify it by itself, or merge them when all are played"
            ))
            .or_exit(Exit::InvalidInput);
        }
    }
    let mut exit = Exit::Complete;
    let mut all = Vec::new();
    for run in runs_of(&named) {
        let run = Utf8PathBuf::try_from(run).or_exit(Exit::InvalidInput)?;
        let mut found = verify_run(&run, args)?;
        found.part = part_of(&run)?;
        if !args.json {
            found.print();
        }
        let (signature, signed) = verify_signed(run, signers.as_ref())?;
        if let (false, Some(signature)) = (args.json, &signature) {
            println!("{}", paragraph(&format!("{}: {signature}", found.run)));
        }
        found.signature = signature;
        for one in [found.exit(), signed] {
            if exit == Exit::Complete {
                exit = one;
            }
        }
        all.push(found);
    }
    if args.json {
        match all.as_slice() {
            [one] => print_json(one)?,
            all => print_json(&all)?,
        }
    }
    Ok(exit)
}

/// Says who signed a plugin or a pack, of those who may.
fn verify_signature(thing: &Thing, signers: Option<&AllowedSigners>) -> Result<Exit, Failure> {
    let Some(signers) = signers else {
        return Err(anyhow!(
            "verify {}: name who may sign it by --signers FILE",
            thing.shown()
        ))
        .or_exit(Exit::Usage);
    };
    let signer = thing.signer(signers)?;
    let told = format!("{}: {}", thing.shown(), signer_line(&signer));
    println!("{}", paragraph(&told));
    Ok(Exit::Complete)
}

/// Who signed a run's seal. One that nobody signed is wrong only where signers are named.
fn verify_signed(
    run: Utf8PathBuf,
    signers: Option<&AllowedSigners>,
) -> Result<(Option<String>, Exit), Failure> {
    let thing = Thing::Run(run);
    let Some(signers) = signers else {
        let unknown = "signed; by whom is told where --signers says who may sign";
        let signed = thing.signature()?.map(|_| unknown.to_owned());
        return Ok((signed, Exit::Complete));
    };
    Ok(match thing.signer(signers) {
        Ok(signer) => (Some(signer_line(&signer)), Exit::Complete),
        Err(failure) => {
            let said = format!("failed to {}", line(&failure.reason()));
            (Some(said), failure.exit)
        }
    })
}

fn verify_run(run: &Utf8Path, args: &VerifyArgs) -> Result<Found, Failure> {
    let manifest = read_manifest(run.as_std_path()).or_exit(Exit::InvalidInput)?;
    if manifest.imported.is_some() {
        return verify_imported(run);
    }
    if manifest.published.is_some() {
        return publish::verify(run);
    }
    let is_private = keyring::is_private(run.as_std_path());
    if is_private && let Err(closed) = keyring::key_of(run.as_std_path()) {
        return verify_closed(run, &closed);
    }
    let plan = Arc::new(reopen_named(run, args)?);
    // The agent's files are not left lying open.
    let extent = if is_private {
        Extent::Sent
    } else {
        Extent::Whole
    };
    let verified = runtime()?
        .block_on(pibench_engine::verify(&plan, extent))
        .or_exit(Exit::Io)?;
    let rules = format!("{} made again", count(verified.rules, "rule verdict"));
    let sound = "every score follows from the record";
    Ok(of_verified(run, verified, &rules, sound))
}

/// The plan of a run: by the places of the command line, and by those that its record names unless it is a stranger's.
fn reopen_named(run: &Utf8Path, args: &VerifyArgs) -> Result<Plan, Failure> {
    let machine = machine()?;
    let places = Places {
        suite: args.suite.as_deref(),
        plugins: args.plugins.as_deref(),
        policy: args.policy.as_deref(),
        prompts: args.prompts.as_deref(),
    };
    let look = Purpose::Look;
    Ok(if args.foreign {
        reopen_foreign(&machine, run, look, places)?
    } else {
        reopen_by(&machine, run, look, places)?
    })
}

/// A private run without its key: the chains of its journals and its seal.
fn verify_closed(run: &Utf8Path, closed: &VaultError) -> Result<Found, Failure> {
    let (folder, _) = RunFolder::read(run.as_std_path()).or_exit(Exit::Io)?;
    let broken = folder.broken_seals().or_exit(Exit::Io)?.into_iter();
    let mut problems: Vec<_> = broken
        .map(|(name, what)| format!("{name}: {what}"))
        .collect();
    let (mut journals, mut lines) = (0, 0);
    for path in folder.journals().or_exit(Exit::Io)? {
        match journal::chain(&path) {
            Ok((found, _)) => lines += found,
            Err(error) => problems.push(format!("failed to {error}")),
        }
        journals += 1;
    }
    let found = if problems.is_empty() {
        "its seal and their chains hold".to_owned()
    } else {
        count(problems.len(), "problem")
    };
    let found = format!(
        "private, {} of {}; {found}. Nothing else was looked at: failed to {closed}",
        count(journals, "journal"),
        count(lines, "line")
    );
    Ok(Found {
        run: stored::name(run.as_str()),
        problems,
        said: found,
        ..Found::default()
    })
}

/// A run that another program played: its record is held to be what that program wrote.
fn verify_imported(dir: &Utf8Path) -> Result<Found, Failure> {
    let verified = follow_imported(dir)?;
    let rules = "imported, not played here, so that no rule was graded again and nothing says that it was played so";
    let sound = "every score follows from the statuses and verdicts that were taken over";
    Ok(of_verified(dir, verified, rules, sound))
}

/// What does not follow from the record of an imported run.
pub(super) fn follow_imported(dir: &Utf8Path) -> Result<Verified, Failure> {
    let (folder, manifest) = RunFolder::read(dir.as_std_path()).or_exit(Exit::Io)?;
    let outline = read_outline(dir.as_std_path()).or_exit(Exit::InvalidInput)?;
    let outline = outline
        .ok_or_else(|| anyhow!("verify {dir}: it has no outline.json"))
        .or_exit(Exit::InvalidInput)?;
    pibench_engine::imported::verify(&folder, &manifest, &outline).or_exit(Exit::Io)
}

fn of_verified(dir: &Utf8Path, verified: Verified, rules: &str, sound: &str) -> Found {
    let Verified {
        sessions,
        turns,
        rules: again,
        problems,
        unfinished,
        times,
    } = verified;
    let run = stored::name(dir.as_str());
    let mut found = if problems.is_empty() {
        sound.to_owned()
    } else {
        count(problems.len(), "problem")
    };
    if unfinished > 0 {
        let episodes = count(unfinished, "episode");
        found = format!(
            "{found}, as far as it goes: the run is not played to its end ({episodes} left). Go on with it by `pibench-host run --resume \
             {run}`, and verify it then"
        );
    }
    Found {
        sessions: Some(sessions),
        turns: Some(turns),
        rules: Some(again),
        unfinished: Some(unfinished),
        said: format!(
            "{}, {}, {rules}; {found}",
            count(sessions, "session"),
            count(turns, "turn")
        ),
        problems,
        notes: times.notes(),
        run,
        ..Found::default()
    }
}
