//! `pibench-host sign`: a signature as OpenSSH makes it, over a plugin, a pack or a run.

use std::io::Write;

use anyhow::anyhow;

use super::signing::{Thing, read_key};
use crate::cli::signing::SignArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::RunFolder;
use pibench_signature::SignatureError;

/// Signs, or prints what would be signed.
pub(super) fn sign(args: &SignArgs) -> Result<Exit, Failure> {
    let SignArgs {
        thing,
        key,
        statement,
    } = args;
    let thing = Thing::at(thing)?;
    if let Thing::Run(path) = &thing {
        // Who signs a run says that it is what was played: nothing is signed that is changed, a byte of a blob included.
        let changed = RunFolder::changed_to_the_byte(path.as_std_path());
        if let Some(changed) = changed.or_exit(Exit::InvalidInput)? {
            return Err(anyhow!("sign {path}: {changed}")).or_exit(Exit::InvalidInput);
        }
    }
    let bytes = thing.statement()?;
    if *statement {
        pibench_report::tell!(
            "sign this with `ssh-keygen -Y sign -n {} -f KEY`",
            thing.namespace()
        );
        std::io::stdout().write_all(&bytes).or_exit(Exit::Io)?;
        return Ok(Exit::Complete);
    }
    let key = key
        .as_ref()
        .ok_or_else(|| anyhow!("sign {}: name a key by --key", thing.shown()));
    let key = read_key(key.or_exit(Exit::Usage)?)?;
    check_free(&thing, &bytes, &key.fingerprint())?;
    let signature = pibench_signature::sign(&key, thing.namespace(), &bytes);
    let place = thing.put_signature(&signature.or_exit(Exit::InvalidInput)?)?;
    println!("{place}: {} under {}", key.fingerprint(), thing.namespace());
    Ok(Exit::Complete)
}

/// A thing has room for one signature: another's is not lost without a word, whether it still holds or not.
fn check_free(thing: &Thing, bytes: &[u8], own: &str) -> Result<(), Failure> {
    let Some(signature) = thing.signature()? else {
        return Ok(());
    };
    let made = pibench_signature::maker(thing.namespace(), bytes, &signature);
    let (Ok(other) | Err(SignatureError::OtherThing { fingerprint: other })) = made else {
        // It is nobody's.
        return Ok(());
    };
    if other == own {
        return Ok(());
    }
    let shown = thing.shown();
    let remedy = if matches!(thing, Thing::Archive(_)) {
        "pack its folder anew by `pibench-host pack FOLDER --key`".to_owned()
    } else {
        format!("remove {} first", thing.place())
    };
    Err(anyhow!(
        "sign {shown}: the key {other} signed it, and this would take that away; {remedy}, or keep both: sign what \
         `pibench-host sign {shown} --statement` prints, into a file of your own"
    ))
    .or_exit(Exit::InvalidInput)
}
