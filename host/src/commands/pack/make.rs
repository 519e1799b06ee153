//! `pibench-host pack FOLDER`: a folder as one archive.

use anyhow::anyhow;
use camino::Utf8PathBuf;

use super::stranger;
use crate::cli::pack::MakePackArgs;
use crate::commands::signing::{Thing, read_key};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::{Contents, NAMESPACE, archive, private};
use pibench_vault::Recipient;

/// Checks a folder as whoever installs it does, and writes its archive.
pub(super) fn make(args: &MakePackArgs) -> Result<Exit, Failure> {
    let MakePackArgs {
        folder: Some(folder),
        out: Some(out),
        key,
        recipient,
    } = args
    else {
        return Err(anyhow!("make a pack: name its folder, and --out")).or_exit(Exit::Usage);
    };
    if out.extension() != Some(archive::EXTENSION) {
        return Err(anyhow!(
            "write {out}: a pack's name ends in .{}",
            archive::EXTENSION
        ))
        .or_exit(Exit::Usage);
    }
    if out.exists() {
        return Err(anyhow!(
            "write {out}: it is there already; choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    // Asked for before the work is done.
    let key = key.as_deref().map(read_key).transpose()?;
    let recipients = recipients(recipient)?;
    let (open, manifest) = Contents::of(folder)?;
    stranger::check(folder, &open, &manifest)?;
    let locked = tempfile::tempdir().or_exit(Exit::Io)?;
    let (folder, contents) = if recipients.is_empty() {
        (folder.clone(), open)
    } else {
        // Nothing that is private lies there in clear.
        let into = Utf8PathBuf::try_from(locked.path().to_owned()).or_exit(Exit::Io)?;
        if key.is_none() && Thing::Pack(folder.clone()).signature()?.is_some() {
            return Err(anyhow!(
                "pack {folder}: its signature is of its open files; sign the private pack by --key"
            ))
            .or_exit(Exit::Usage);
        }
        private::lock_folder(folder, &open, &recipients, &into)?;
        let (contents, _) = Contents::of(&into)?;
        (into, contents)
    };
    let text = contents.text();
    let signature = match &key {
        Some(key) => {
            let signature = pibench_signature::sign(key, NAMESPACE, text.as_bytes());
            Some(signature.or_exit(Exit::InvalidInput)?)
        }
        None => Thing::Pack(folder.clone()).signature()?,
    };
    if let Some(signature) = &signature {
        // One that was made before the last change would be refused by everybody.
        let maker = pibench_signature::maker(NAMESPACE, text.as_bytes(), signature);
        maker
            .map_err(|error| {
                anyhow!("pack {folder}: {error}; sign it again by `pibench-host sign {folder}`")
            })
            .or_exit(Exit::InvalidInput)?;
    }
    archive::write(out.as_std_path(), &folder, &contents, signature.as_deref())?;
    let signed = if signature.is_some() {
        "signed"
    } else {
        "unsigned"
    };
    println!(
        "{out}: {} {}, {} files, {signed}; its list has SHA-256 {}",
        contents.name,
        contents.release,
        contents.files.len(),
        contents.digest()
    );
    if !recipients.is_empty() {
        let text = match recipients.len() {
            1 => "1 recipient reads".to_owned(),
            more => format!("{more} recipients read"),
        };
        println!("It is private: {text} it, by `--identity KEY`.");
    }
    Ok(Exit::Complete)
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
