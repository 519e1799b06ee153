//! Whether a pack is as it was installed, so that what is played is what was checked and signed.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};

use crate::commands::signing::Thing;
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::store::Installed;
use pibench_pack::{NAMESPACE, PackError};
use pibench_record::folder::read_manifest;
use pibench_report::escape::line;
use pibench_suite::load::suite_file;
use pibench_vault::keyring;

/// What of a pack is not as it was installed, its signature too; None where all is.
pub(super) fn changed(pack: &Installed) -> Option<String> {
    pack.changed().or_else(|| {
        let place = Utf8PathBuf::try_from(pack.folder.clone()).ok()?;
        let signature = match Thing::Pack(place).signature() {
            Ok(signature) => signature?,
            Err(failure) => return Some(failure.reason()),
        };
        let list = pack.contents.text();
        let maker = pibench_signature::maker(NAMESPACE, list.as_bytes(), &signature);
        maker.err().map(|error| error.to_string())
    })
}

/// What is wrong with the installed pack in a folder, and what to do; None where nothing is, or none was installed there.
pub(super) fn wrong(folder: &Utf8Path) -> Result<Option<String>, PackError> {
    let pack = Installed::at(folder)?;
    let changed = pack.and_then(|pack| changed(&pack));
    Ok(changed.map(|changed| {
        format!(
            "its pack was changed since it was installed ({}); move what came to it elsewhere, your runs too, or else remove the \
             folder and install it again; to change a suite, copy it elsewhere, without pack.json and pack.sig",
            line(&changed)
        )
    }))
}

/// Refuses a suite in a pack that was changed since it was installed.
pub(in crate::commands) fn check_unchanged(suite: &Utf8Path) -> Result<(), Failure> {
    let suite = suite_file(suite);
    let folder = suite.parent().unwrap_or(Utf8Path::new(""));
    match wrong(folder)? {
        Some(wrong) => Err(anyhow!("open {suite}: {wrong}")).or_exit(Exit::InvalidInput),
        None => Ok(()),
    }
}

/// The same of the suite that a run goes on with; where it is private, the run is for those alone who read the pack.
/// `named`: in place of the record's.
pub(in crate::commands) fn check_suite_of(
    run: &Utf8Path,
    named: Option<&Utf8Path>,
) -> Result<(), Failure> {
    let suite = match (named, read_manifest(run.as_std_path())) {
        (Some(named), _) => suite_file(named),
        (None, Ok(manifest)) => manifest.suite_path.into(),
        // What is no run is told where it is opened.
        (None, Err(_)) => return Ok(()),
    };
    check_unchanged(&suite)?;
    let pack = suite.parent().unwrap_or(Utf8Path::new(""));
    keyring::check_key(run.as_std_path(), pack.as_std_path()).or_exit(Exit::InvalidInput)
}
