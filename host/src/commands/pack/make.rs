//! `pibench-host pack FOLDER`: a folder as one archive.

use anyhow::anyhow;

use super::stranger;
use crate::cli::pack::MakePackArgs;
use crate::commands::signing::{Thing, read_key};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::{Contents, NAMESPACE, archive};

/// Checks a folder as whoever installs it does, and writes its archive.
pub(super) fn make(args: &MakePackArgs) -> Result<Exit, Failure> {
    let MakePackArgs {
        folder: Some(folder),
        out: Some(out),
        key,
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
    let (contents, manifest) = Contents::of(folder)?;
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
    stranger::check(folder, &contents, &manifest)?;
    archive::write(out.as_std_path(), folder, &contents, signature.as_deref())?;
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
    Ok(Exit::Complete)
}
