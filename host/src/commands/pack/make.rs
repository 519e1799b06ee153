//! `pibench-host pack FOLDER`: a folder as one archive.

use anyhow::anyhow;
use camino::Utf8Path;

use super::private::Private;
use super::stranger;
use super::write::write;
use crate::cli::pack::MakePackArgs;
use crate::commands::check_new;
use crate::commands::signing::{Thing, read_key};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::contents::LeftOut;
use pibench_pack::named::Named;
use pibench_pack::{Contents, archive, secret};
use pibench_report::escape::line;
use pibench_report::tell;
use pibench_vault::Recipient;

/// Lines of each kind about files; what is more is counted.
const LINES: usize = 8;

/// Checks a folder as whoever installs it does, and writes its archive.
pub(super) fn make(args: &MakePackArgs) -> Result<Exit, Failure> {
    let MakePackArgs {
        folder: Some(folder),
        out: Some(out),
        key,
        recipient,
        each,
    } = args
    else {
        return Err(anyhow!("make a pack: name its folder, and --out")).or_exit(Exit::Usage);
    };
    if !each && out.extension() != Some(archive::EXTENSION) {
        return Err(anyhow!(
            "write {out}: a pack's name ends in .{}",
            archive::EXTENSION
        ))
        .or_exit(Exit::Usage);
    }
    check_new(out)?;
    check_apart(folder, out)?;
    // Asked for before the work is done.
    let key = key.as_deref().map(read_key).transpose()?;
    let recipients = recipients(recipient)?;
    let (contents, manifest, left_out) = Contents::of_draft(folder)?;
    tell_odd(folder, &contents, &left_out)?;
    secret::check(folder, &contents)?;
    stranger::check(folder, folder, &contents, &manifest)?;
    if recipients.is_empty() {
        println!("{}", write(folder, &contents, key.as_ref(), out)?);
        return Ok(Exit::Complete);
    }
    if key.is_none() && Thing::Pack(folder.clone()).signature()?.is_some() {
        return Err(anyhow!(
            "pack {folder}: its signature is of its open files; sign the private pack by --key"
        ))
        .or_exit(Exit::Usage);
    }
    let private = Private {
        folder,
        contents: &contents,
        key: key.as_ref(),
        recipients: &recipients,
    };
    if *each {
        private.copies(out)
    } else {
        private.pack(out)
    }
}

/// Tells what is left out of a pack, and what is in it though nothing names it. What is named and would be left out is refused.
fn tell_odd(folder: &Utf8Path, contents: &Contents, left_out: &[LeftOut]) -> Result<(), Failure> {
    let named = Named::of(folder);
    named.check(folder, left_out)?;
    let left_out = left_out.iter();
    tell_some(left_out.map(|LeftOut { path, why }| format!("left out: {}: {why}", line(path))));
    let files = contents.files.iter().filter(|file| !named.has(&file.path));
    tell_some(files.map(|file| {
        let path = line(&file.path);
        format!("packed, though nothing names it: {path}")
    }));
    Ok(())
}

fn tell_some(mut lines: impl Iterator<Item = String>) {
    for line in lines.by_ref().take(LINES) {
        tell!("{line}");
    }
    let more = lines.count();
    if more > 0 {
        tell!("and {more} more");
    }
}

/// The public keys that were named, each once.
fn recipients(named: &[String]) -> Result<Vec<Recipient>, Failure> {
    let mut found: Vec<Recipient> = Vec::new();
    for named in named {
        for one in Recipient::read(named).or_exit(Exit::InvalidInput)? {
            if found.iter().all(|other| other.text != one.text) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// What is written into the folder would be packed by the next one.
fn check_apart(folder: &Utf8Path, out: &Utf8Path) -> Result<(), Failure> {
    let beside = out.parent().filter(|place| !place.as_str().is_empty());
    let place = beside.unwrap_or(Utf8Path::new(".")).canonicalize_utf8();
    let within = folder.canonicalize_utf8();
    match (place, within) {
        (Ok(place), Ok(folder)) if place.starts_with(&folder) => Err(anyhow!(
            "write {out}: it lies in the folder that is packed; name a place beside it"
        ))
        .or_exit(Exit::Usage),
        // What is not there is told where it is read or written.
        _ => Ok(()),
    }
}
