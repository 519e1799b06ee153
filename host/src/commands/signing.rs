//! What can be signed: which bytes stand for it, under which namespace, and where its signature lies.

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use crate::cli::signing::SignersArgs;
use crate::commands::make_temporary_folder;
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::archive::{self, Unpacked};
use pibench_pack::{Contents, contents};
use pibench_record::RunFolder;
use pibench_record::folder::SEAL_NAMESPACE;
use pibench_report::escape::line;
use pibench_sandbox::signed;
use pibench_signature::{AllowedSigners, SIGNATURE_LIMIT, Signer, SigningKey};
use tempfile::TempDir;

/// Something that can be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    /// A component's file.
    Plugin(Utf8PathBuf),
    /// A pack's folder.
    Pack(Utf8PathBuf),
    /// A pack's archive, whose signature lies in it.
    Archive(Utf8PathBuf),
    /// A run's folder.
    Run(Utf8PathBuf),
}

impl Thing {
    /// What lies at a path.
    pub(super) fn at(path: &Utf8Path) -> Result<Self, Failure> {
        let path = path.to_owned();
        if path.is_file() && path.extension() == Some("wasm") {
            Ok(Self::Plugin(path))
        } else if path.is_file() && path.extension() == Some(archive::EXTENSION) {
            Ok(Self::Archive(path))
        } else if path.join("manifest.json").is_file() {
            Ok(Self::Run(path))
        } else if path.join(pibench_pack::manifest::FILE).is_file() {
            Ok(Self::Pack(path))
        } else {
            Err(anyhow!(
                "find what {path} is: a plugin is a file NAME.wasm, a pack a folder with a pack.toml or a file NAME.pibench, a run \
                 a folder with a manifest.json"
            ))
            .or_exit(Exit::InvalidInput)
        }
    }

    /// Whether it is one of those that `verify` looks at by their signature alone.
    pub(super) fn is_run(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// What keeps a signature over one kind of thing from being one over another.
    pub(super) fn namespace(&self) -> &'static str {
        match self {
            Self::Plugin(_) => signed::NAMESPACE,
            Self::Pack(_) | Self::Archive(_) => pibench_pack::NAMESPACE,
            Self::Run(_) => SEAL_NAMESPACE,
        }
    }

    /// The bytes that stand for it. Those of a run are its seal, which is held against the run's files by who asks.
    pub(super) fn statement(&self) -> Result<Vec<u8>, Failure> {
        let statement = match self {
            Self::Plugin(path) => {
                let statement = signed::statement_of(path.as_std_path());
                statement.or_exit(Exit::InvalidInput)?.into_bytes()
            }
            Self::Pack(path) => {
                let (contents, _) = Contents::of(path).or_exit(Exit::InvalidInput)?;
                contents.text().into_bytes()
            }
            Self::Archive(path) => unpack(path)?.1.contents.text().into_bytes(),
            Self::Run(path) => {
                let folder = RunFolder::read(path.as_std_path()).or_exit(Exit::Io)?.0;
                folder.seal_text().or_exit(Exit::InvalidInput)?
            }
        };
        Ok(statement)
    }

    /// Where its signature lies.
    pub(super) fn place(&self) -> Utf8PathBuf {
        match self {
            Self::Plugin(path) => Utf8PathBuf::from(format!("{path}{}", signed::SIGNATURE)),
            Self::Pack(path) => path.join(contents::SIGNATURE),
            Self::Archive(path) => path.clone(),
            Self::Run(path) => path.join(pibench_record::folder::SEAL_SIGNATURE),
        }
    }

    /// Its armored signature; None where nobody signed.
    pub(super) fn signature(&self) -> Result<Option<String>, Failure> {
        use std::io::Read;
        if let Self::Archive(path) = self {
            return Ok(unpack(path)?.1.signature);
        }
        let place = self.place();
        // A link or a pipe is no signature, and may have no end.
        match std::fs::symlink_metadata(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Ok(data) if !data.is_file() => {
                return Err(anyhow!("read {place}: it is no file")).or_exit(Exit::InvalidInput);
            }
            _ => {}
        }
        let mut text = String::new();
        let file = std::fs::File::open(&place);
        let most = SIGNATURE_LIMIT as u64 + 1;
        let read = file.and_then(|file| file.take(most).read_to_string(&mut text));
        read.with_context(|| format!("read {place}"))
            .or_exit(Exit::InvalidInput)?;
        Ok(Some(text))
    }

    /// Writes its signature, in the place of another one; where.
    pub(super) fn put_signature(&self, signature: &str) -> Result<Utf8PathBuf, Failure> {
        let place = self.place();
        if let Self::Run(path) = self {
            let (folder, _) = RunFolder::open(path.as_std_path()).or_exit(Exit::Io)?;
            folder.put_seal_signature(signature).or_exit(Exit::Io)?;
            return Ok(place);
        }
        let dir = place.parent().filter(|dir| !dir.as_str().is_empty());
        let dir = dir.unwrap_or(Utf8Path::new("."));
        if let Self::Archive(path) = self {
            let (folder, unpacked) = unpack(path)?;
            let root = Utf8Path::from_path(folder.path()).unwrap_or(Utf8Path::new(""));
            // The same files with this signature, whole or not at all.
            let new = tempfile::tempdir_in(dir).or_exit(Exit::Io)?;
            let file = new.path().join("pack");
            archive::write(&file, root, &unpacked.contents, Some(signature))?;
            std::fs::rename(&file, path)
                .with_context(|| format!("write {path}"))
                .or_exit(Exit::Io)?;
            return Ok(place);
        }
        let written = || {
            use std::io::Write;
            use std::os::unix::fs::PermissionsExt;
            let mut file = tempfile::Builder::new()
                .permissions(std::fs::Permissions::from_mode(0o666))
                .tempfile_in(dir)?;
            file.write_all(signature.as_bytes())?;
            file.persist(&place).map(drop).map_err(|error| error.error)
        };
        written()
            .with_context(|| format!("write {place}"))
            .or_exit(Exit::Io)?;
        Ok(place)
    }

    /// Who signed it, of those who may. The error is what is wrong with it.
    pub(super) fn signer(&self, signers: &AllowedSigners) -> Result<Signer, Failure> {
        let Some(signature) = self.signature()? else {
            let (shown, place) = (self.shown(), self.place());
            let missing = if matches!(self, Self::Archive(_)) {
                "no signature in it".to_owned()
            } else {
                format!("no {place}")
            };
            return Err(anyhow!(
                "verify {shown}: nobody signed it, for there is {missing}; `pibench-host sign` makes one"
            ))
            .or_exit(Exit::InvalidInput);
        };
        let statement = self.statement()?;
        let now = Timestamp::now();
        let found =
            pibench_signature::verify(signers, self.namespace(), &statement, &signature, now);
        found
            .with_context(|| format!("take {} as signed", self.shown()))
            .or_exit(Exit::InvalidInput)
    }

    pub(super) fn shown(&self) -> &Utf8Path {
        match self {
            Self::Plugin(path) | Self::Pack(path) | Self::Archive(path) | Self::Run(path) => path,
        }
    }
}

/// A pack's archive, taken apart as a stranger's.
fn unpack(path: &Utf8Path) -> Result<(TempDir, Unpacked), Failure> {
    let folder = make_temporary_folder()?;
    let unpacked = archive::unpack(path.as_std_path(), folder.path())?;
    Ok((folder, unpacked))
}

/// Those whose signatures count; None where the command line names none.
pub(super) fn read_signers(args: &SignersArgs) -> Result<Option<AllowedSigners>, Failure> {
    let SignersArgs { signers, revoked } = args;
    let Some(path) = signers else {
        return Ok(None);
    };
    let mut signers = AllowedSigners::read(path.as_std_path()).or_exit(Exit::InvalidInput)?;
    if let Some(revoked) = revoked {
        signers = signers
            .revoke(revoked.as_std_path())
            .or_exit(Exit::InvalidInput)?;
    }
    Ok(Some(signers))
}

/// A key to sign with; its passphrase comes from the environment.
pub(super) fn read_key(path: &Utf8Path) -> Result<SigningKey, Failure> {
    let passphrase = || std::env::var("PIBENCH_KEY_PASSPHRASE").ok();
    SigningKey::read(path.as_std_path(), passphrase).or_exit(Exit::InvalidInput)
}

/// A signer in one line.
pub(super) fn signer_line(signer: &Signer) -> String {
    format!(
        "signed by {} ({})",
        line(&signer.principal),
        signer.fingerprint
    )
}
