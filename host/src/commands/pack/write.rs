//! A folder's archive, signed or not, by whoever makes one.

use anyhow::anyhow;
use camino::Utf8Path;

use crate::commands::signing::Thing;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_pack::{Contents, NAMESPACE, archive};
use pibench_signature::SigningKey;

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
                anyhow!("pack {folder}: {error}; sign it again by `pibench-host sign {folder}`, or what is packed by --key")
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
        "{out}: {} {}, {}, {signed}; its list has SHA-256 {}",
        contents.name,
        contents.release,
        count(contents.files.len(), "file"),
        contents.digest()
    ))
}
