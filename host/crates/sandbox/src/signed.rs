//! Who vouches for a plugin: a signature beside its file, over the plugin's digest and what it asks for, and what the policy
//! lets its signer grant. A signature says who, never that a plugin is good.

use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pibench_core::vocabulary::Grant;
use pibench_signature::{AllowedSigners, SIGNATURE_LIMIT, SignatureError, Signer};
use pibench_suite::manifest::PolicyFile;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::cache::hex;
use super::component::Facts;
use super::fault::bounded;
use super::limits::LoadLimits;
pub use super::policy::Signed;
use super::policy::{self, Grants};

/// The namespace of signatures over plugins.
pub const NAMESPACE: &str = "pibench-plugin";

/// What stands behind the name of a component's file in that of its signature.
pub const SIGNATURE: &str = ".sig";

/// Those whose signatures count, and when.
#[derive(Debug, Clone)]
pub struct Signers {
    pub allowed: AllowedSigners,
    /// The time at which a key has to be valid.
    pub at: Timestamp,
}

/// Why a plugin's signature is refused. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum SignedError {
    #[error("read the signature {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("sign or verify the plugin {}: {reason}", path.display())]
    Component { path: PathBuf, reason: String },
    #[error("use {}: {source}", path.display())]
    Refused {
        path: PathBuf,
        source: SignatureError,
    },
    #[error(
        "use plugin `{name}`: the policy wants plugins of others signed (require_signed), and there is no {}; ask its author for \
         it, or look at the plugin and sign it yourself by `pibench-host sign {}`", path.display(), component.display()
    )]
    Unsigned {
        name: String,
        path: PathBuf,
        component: PathBuf,
    },
    #[error(
        "use plugin `{name}`: {signer} signed it, and the policy wants plugins of others signed by who may sign them; write `{name}` \
         into plugins of [signers.\"{signer}\"] if you trust them with it"
    )]
    NotTheirs { name: String, signer: String },
}

/// What is signed of a plugin: its digest, and what it asks for, in words that a person can read.
#[derive(Serialize)]
struct Statement<'a> {
    version: u32,
    plugin: &'a str,
    /// As the component says; empty when it does not.
    release: &'a str,
    /// The version of the interface that it exports.
    interface: &'a str,
    sha256: &'a str,
    size: u64,
    asks_for: Vec<&'static str>,
    imports: Vec<&'a str>,
}

/// The bytes that a signature over a plugin is made of.
pub fn statement(name: &str, sha256: &str, size: u64, facts: &Facts, declared: Grants) -> String {
    let statement = Statement {
        version: 1,
        plugin: name,
        release: &facts.version,
        interface: facts.wit(),
        sha256,
        size,
        asks_for: declared.names(),
        imports: facts.imports.iter().map(|one| one.name.as_str()).collect(),
    };
    // Texts, numbers and lists of texts: nothing that JSON cannot hold.
    serde_json::to_string_pretty(&statement).unwrap_or_default() + "\n"
}

/// The statement over a component's file, under its name. It is read as a stranger's, and not compiled.
pub fn statement_of(component: &Path) -> Result<String, SignedError> {
    let failed = |reason: String| SignedError::Component {
        path: component.to_owned(),
        reason,
    };
    let most = LoadLimits::HOST.component_bytes as u64;
    let file = std::fs::File::open(component).map_err(|error| failed(error.to_string()))?;
    let mut wasm = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut wasm);
    read.map_err(|error| failed(error.to_string()))?;
    if wasm.len() as u64 > most {
        return Err(failed(format!("it has more than {most} bytes")));
    }
    let facts = Facts::of(&wasm).map_err(|said| failed(bounded(&said)))?;
    if facts.wit().is_empty() {
        return Err(failed("it exports no interface of pibench:plugin".into()));
    }
    let name = component.file_stem().and_then(std::ffi::OsStr::to_str);
    let name = name.ok_or_else(|| failed("its name is not UTF-8".into()))?;
    let sha256 = hex(&Sha256::digest(&wasm));
    let declared = policy::declared(facts.imports.iter().map(|import| import.name.as_str()));
    Ok(statement(
        name,
        &sha256,
        wasm.len() as u64,
        &facts,
        declared,
    ))
}

/// Where the signature of a component's file lies.
pub fn path_of(component: &Path) -> PathBuf {
    let mut name = component.file_name().unwrap_or_default().to_owned();
    name.push(SIGNATURE);
    component.with_file_name(name)
}

/// The armored signature beside a component; None where there is none.
pub fn beside(component: &Path) -> Result<Option<String>, SignedError> {
    let path = path_of(component);
    let failed = |reason: String| SignedError::Read {
        path: path.clone(),
        reason,
    };
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    let mut text = String::new();
    let read = file
        .take(SIGNATURE_LIMIT as u64 + 1)
        .read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    Ok(Some(text))
}

/// Who of those that the policy names signed a plugin of others. One whose signature does not hold is refused, whatever else
/// the policy says; one that nobody signed, or who may not, only where the policy wants it signed.
pub(super) fn check_signature(
    policy: &PolicyFile,
    signers: Option<&Signers>,
    name: &str,
    component: &Path,
    statement: impl FnOnce() -> String,
) -> Result<Option<Signed>, SignedError> {
    // A policy without signers asks for no signature.
    let Some(Signers { allowed, at }) = signers else {
        return Ok(None);
    };
    let Some(signature) = beside(component)? else {
        return if policy.require_signed {
            Err(SignedError::Unsigned {
                name: name.to_owned(),
                path: path_of(component),
                component: component.to_owned(),
            })
        } else {
            Ok(None)
        };
    };
    let statement = statement();
    let verified =
        pibench_signature::verify(allowed, NAMESPACE, statement.as_bytes(), &signature, *at);
    let by = verified.map_err(|source| SignedError::Refused {
        path: path_of(component),
        source,
    })?;
    match grants_of(policy, &by, name) {
        Some(grants) => Ok(Some(Signed { by, grants })),
        None if policy.require_signed => Err(SignedError::NotTheirs {
            name: name.to_owned(),
            signer: by.principal,
        }),
        None => Ok(None),
    }
}

/// What a signer may grant a plugin; None where they may not sign it. All entries of theirs count together.
fn grants_of(policy: &PolicyFile, by: &Signer, name: &str) -> Option<Grants> {
    let entries = by.names().filter_map(|name| policy.signers.get(name));
    let theirs: Vec<_> = entries
        .filter(|entry| entry.plugins.iter().any(|one| one == "*" || one == name))
        .collect();
    let grants = theirs.iter().flat_map(|entry| &entry.grants);
    let grants = grants.copied().collect::<Vec<Grant>>();
    (!theirs.is_empty()).then(|| grants.into_iter().collect())
}
