//! `pibench-host pack install`: a stranger's archive, checked before it is kept.

use anyhow::anyhow;
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use super::{store, stranger};
use crate::cli::pack::InstallArgs;
use crate::commands::signing::{read_signers, signer_line};
use crate::commands::{make_temporary_folder, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::archive::{ARCHIVE_LIMIT, Unpacked, unpack};
use pibench_pack::source::{self, PACK_TYPE, Reference, SourceError, Wanted};
use pibench_pack::{Contents, NAMESPACE, PackError};
use pibench_signature::AllowedSigners;

/// A reference's word is the user's, what comes a stranger's, and the way between both nobody's.
impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let exit = match &error {
            SourceError::Reference { .. } => Exit::Usage,
            SourceError::Digest { .. } => Exit::InvalidInput,
            SourceError::Fetch { .. } | SourceError::Write { .. } => Exit::Io,
        };
        Self {
            exit,
            error: error.into(),
        }
    }
}

/// Fetches, unpacks and checks a pack, and then keeps it.
pub(super) fn install(args: &InstallArgs) -> Result<Exit, Failure> {
    let InstallArgs {
        reference,
        sha256,
        store: place,
        signers,
    } = args;
    let reference: Reference = reference.parse()?;
    check_digest(&reference, sha256.as_deref())?;
    let signers = read_signers(signers)?;
    let store = store(place)?;
    let draft = store.draft()?;
    let unpacked = take(
        &reference,
        sha256.as_deref(),
        draft.path(),
        signers.as_ref(),
    )?;
    let Unpacked {
        contents,
        signature,
    } = &unpacked;
    let folder = Utf8Path::from_path(draft.path());
    let folder = folder.ok_or_else(|| {
        anyhow!(
            "install into {}: the name is no UTF-8",
            draft.path().display()
        )
    });
    let folder = folder.or_exit(Exit::Usage)?;
    // What is said of the draft is said of what was named.
    let shown = Utf8PathBuf::from(reference.to_string());
    let named = |failure: Failure| Failure {
        exit: failure.exit,
        error: anyhow!(
            "{}",
            failure.reason().replace(folder.as_str(), shown.as_str())
        ),
    };
    let (there, manifest) = Contents::of(folder)?;
    if there != *contents {
        return Err(PackError::refused(&contents.name, "its list is not that of its files").into());
    }
    let suite = stranger::check(folder, &shown, contents, &manifest).map_err(named)?;
    let missing = stranger::missing(&suite)?;
    let signed = match (&signers, signature) {
        (Some(signers), _) => signer_line(&verified(signers, &unpacked, &reference)?),
        (None, Some(_)) => "signed; by whom is told where --signers says who may sign".into(),
        (None, None) => "unsigned".into(),
    };
    let list = contents.text();
    let maker = |signature: &str| {
        let maker = pibench_signature::maker(NAMESPACE, list.as_bytes(), signature);
        maker.ok()
    };
    let kept = store.publish(draft, &unpacked, maker)?;
    println!(
        "{} {}: {signed}; play it by `pibench-host run {}/suite.toml`",
        contents.name,
        contents.release,
        kept.display()
    );
    if !missing.is_empty() {
        println!("It needs plugins that are not here: {}", missing.join(", "));
    }
    Ok(Exit::Complete)
}

/// Whether what comes can be told from something else: by TLS, by the reference, or by the digest that is asked for.
pub(in crate::commands) fn check_digest(
    reference: &Reference,
    sha256: Option<&str>,
) -> Result<(), Failure> {
    if let Some(sha256) = sha256
        && !source::is_sha256(sha256)
    {
        return Err(anyhow!(
            "read --sha256: it is no 64 digits of lower case hex"
        ))
        .or_exit(Exit::Usage);
    }
    match reference {
        Reference::Address(url) if url.scheme() == "http" && sha256.is_none() => Err(anyhow!(
            "fetch {reference}: nothing says that it is what you mean; name its --sha256, or an address with TLS"
        ))
        .or_exit(Exit::Usage),
        _ => Ok(()),
    }
}

/// Fetches the archive beside the draft and unpacks it there.
fn take(
    reference: &Reference,
    sha256: Option<&str>,
    draft: &std::path::Path,
    signers: Option<&AllowedSigners>,
) -> Result<Unpacked, Failure> {
    let dir = make_temporary_folder()?;
    let file = match reference {
        // It is read where it lies.
        Reference::File(path) if sha256.is_none() => path.clone(),
        _ => {
            let file = dir.path().join("pack");
            let wanted = Wanted {
                media_type: PACK_TYPE,
                limit: ARCHIVE_LIMIT,
                sha256,
                signature: false,
            };
            runtime()?.block_on(source::fetch(reference, wanted, &file))?;
            file
        }
    };
    let unpacked = unpack(&file, draft).map_err(|error| {
        let shown = file.display().to_string();
        let said = error.to_string().replace(&shown, &reference.to_string());
        Failure {
            exit: Failure::from(error).exit,
            error: anyhow!(said),
        }
    })?;
    // Before anything of it is read further.
    if let Some(signers) = signers {
        verified(signers, &unpacked, reference)?;
    } else if let Some(signature) = &unpacked.signature {
        let list = unpacked.contents.text();
        pibench_signature::maker(NAMESPACE, list.as_bytes(), signature)
            .map_err(|error| anyhow!("install {reference}: failed to {error}"))
            .or_exit(Exit::InvalidInput)?;
    }
    Ok(unpacked)
}

fn verified(
    signers: &AllowedSigners,
    unpacked: &Unpacked,
    reference: &Reference,
) -> Result<pibench_signature::Signer, Failure> {
    let Some(signature) = &unpacked.signature else {
        return Err(anyhow!("install {reference}: nobody signed it")).or_exit(Exit::InvalidInput);
    };
    let text = unpacked.contents.text();
    let now = Timestamp::now();
    let found = pibench_signature::verify(signers, NAMESPACE, text.as_bytes(), signature, now);
    found
        .map_err(|error| anyhow!("install {reference}: failed to {error}"))
        .or_exit(Exit::InvalidInput)
}

/// A pack that lies somewhere, in a folder to look at: an archive is unpacked into `dir`.
pub(super) fn look_at(
    path: &Utf8Path,
    dir: &std::path::Path,
) -> Result<(Utf8PathBuf, Contents), Failure> {
    if path.is_dir() {
        let (contents, _) = Contents::of(path)?;
        return Ok((path.to_owned(), contents));
    }
    let unpacked = unpack(path.as_std_path(), dir)?;
    let folder = Utf8PathBuf::try_from(dir.to_owned()).or_exit(Exit::Io)?;
    Ok((folder, unpacked.contents))
}
