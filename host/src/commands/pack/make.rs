//! `pibench-host pack FOLDER`: a folder as one archive.

use anyhow::anyhow;
use camino::Utf8Path;

use super::private::Private;
use super::stranger;
use crate::cli::pack::MakePackArgs;
use crate::commands::signing::{Thing, read_key};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::{Contents, NAMESPACE, archive};
use pibench_signature::SigningKey;
use pibench_vault::Recipient;

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
    if out.exists() {
        return Err(anyhow!(
            "write {out}: it is there already; choose another --out"
        ))
        .or_exit(Exit::Io);
    }
    // Asked for before the work is done.
    let key = key.as_deref().map(read_key).transpose()?;
    let recipients = recipients(recipient)?;
    let (contents, manifest) = Contents::of(folder)?;
    stranger::check(folder, &contents, &manifest)?;
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

/// Signs a folder's list and writes its archive; what to say of it.
pub(super) fn write(
    folder: &Utf8Path,
    contents: &Contents,
    key: Option<&SigningKey>,
    out: &Utf8Path,
) -> Result<String, Failure> {
    let text = contents.text();
    let signature = match key {
        Some(key) => {
            let signature = pibench_signature::sign(key, NAMESPACE, text.as_bytes());
            Some(signature.or_exit(Exit::InvalidInput)?)
        }
        None => Thing::Pack(folder.to_owned()).signature()?,
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
    archive::write(out.as_std_path(), folder, contents, signature.as_deref())?;
    let signed = if signature.is_some() {
        "signed"
    } else {
        "unsigned"
    };
    Ok(format!(
        "{out}: {} {}, {} files, {signed}; its list has SHA-256 {}",
        contents.name,
        contents.release,
        contents.files.len(),
        contents.digest()
    ))
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
