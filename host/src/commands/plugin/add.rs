//! `pibench-host plugin add`: a component from elsewhere, pinned beside the others of a folder. It is not compiled here.

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::pack::PluginAddArgs;
use crate::commands::pack::check_digest;
use crate::commands::signing::{Thing, read_signers, signer_line};
use crate::commands::{machine, runtime};
use crate::exit::{Exit, Failure, OrExit};
use pibench_engine::plan::open;
use pibench_pack::source::{self, PLUGIN_TYPE, Reference, Wanted};
use pibench_report::escape::line;
use pibench_sandbox::plugin::Papers;
use pibench_sandbox::{GuestLimits, LoadLimits, lock};
use pibench_suite::manifest::PolicyFile;

/// Letters of a plugin's name, as `plugin new` takes it.
const NAME_LIMIT: usize = 64;

/// Fetches a component, looks at it as a stranger's, and pins it.
pub(super) fn add(args: &PluginAddArgs) -> Result<Exit, Failure> {
    let PluginAddArgs {
        reference,
        plugins,
        name,
        sha256,
        signers,
    } = args;
    let reference: Reference = reference.parse()?;
    let signers = read_signers(signers)?;
    let name = match name {
        Some(name) => name.clone(),
        None => reference.stem().unwrap_or_default(),
    };
    check_name(&name)?;
    check_digest(&reference, sha256.as_deref())?;
    let failed = |doing: &str| format!("{doing} {plugins}");
    std::fs::create_dir_all(plugins)
        .with_context(|| failed("make"))
        .or_exit(Exit::Io)?;
    // Beside its place, so that it comes there whole; under its name, which a signature is made of.
    let dir = tempfile::Builder::new()
        .prefix(".new-plugin-")
        .tempdir_in(plugins);
    let dir = dir
        .with_context(|| failed("write into"))
        .or_exit(Exit::Io)?;
    let fetched =
        Utf8PathBuf::try_from(dir.path().join(format!("{name}.wasm"))).or_exit(Exit::Io)?;
    let wanted = Wanted {
        media_type: PLUGIN_TYPE,
        limit: LoadLimits::HOST.component_bytes as u64,
        sha256: sha256.as_deref(),
        signature: true,
    };
    let came = runtime()?.block_on(source::fetch(&reference, wanted, fetched.as_std_path()))?;
    // Whether this host would load it, before anybody relies on it.
    let alone = [(name.clone(), fetched.clone())].into();
    let limits = GuestLimits::default();
    let looked = open(
        &machine()?,
        alone,
        Vec::new(),
        &limits,
        PolicyFile::default(),
        None,
    )?;
    // Nobody knows it by where it lies for now.
    let named = |said: &str| anyhow!(said.replace(fetched.as_str(), &reference.to_string()));
    let papers = looked.papers(&name);
    let papers = papers.map_err(|error| named(&error.to_string()));
    let papers = papers.or_exit(Exit::InvalidInput)?;
    let thing = Thing::Plugin(fetched.clone());
    if let Some(signature) = &came.signature {
        thing.put_signature(signature)?;
    }
    let signed = match (&signers, &came.signature) {
        (Some(signers), _) => {
            let signer = thing.signer(signers).map_err(|failure| Failure {
                exit: failure.exit,
                error: named(&failure.reason()),
            });
            signer_line(&signer?)
        }
        (None, Some(_)) => "signed; by whom is told where --signers says who may sign".into(),
        (None, None) => "unsigned".into(),
    };
    let kept = keep(&fetched, plugins, &name)?;
    println!("{kept}: {}; {signed}", described(&name, &papers));
    Ok(Exit::Complete)
}

/// A plugin's name, version and wishes in one line.
fn described(name: &str, papers: &Papers) -> String {
    let asks = match papers.declared.names().as_slice() {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    let version = match papers.facts.version.as_str() {
        "" => "-",
        version => version,
    };
    format!("{} {version}, asks for {asks}", line(name))
}

/// Puts a component into its folder and pins it. Another one under its name is left as it is.
fn keep(fetched: &Utf8Path, plugins: &Utf8Path, name: &str) -> Result<Utf8PathBuf, Failure> {
    let place = plugins.join(format!("{name}.wasm"));
    let bytes = |path: &Utf8Path| std::fs::read(path).with_context(|| format!("read {path}"));
    if place.exists() && bytes(&place).or_exit(Exit::Io)? != bytes(fetched).or_exit(Exit::Io)? {
        return Err(anyhow!(
            "write {place}: another component is there already; remove it, or give this one a name by --name"
        ))
        .or_exit(Exit::InvalidInput);
    }
    // A component that the lock does not name is not loaded, so that one that is cut off here is none.
    for end in [".sig", ""] {
        let (from, to) = (format!("{fetched}{end}"), format!("{place}{end}"));
        if Utf8Path::new(&from).exists() {
            std::fs::rename(&from, &to)
                .with_context(|| format!("write {to}"))
                .or_exit(Exit::Io)?;
        }
    }
    lock::add(place.as_std_path()).or_exit(Exit::InvalidInput)?;
    Ok(place)
}

/// The name is that of a file, of an app's tools, and of what a policy speaks of.
fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= NAME_LIMIT
        && name.chars().all(plain);
    if good {
        return Ok(());
    }
    Err(anyhow!(
        "name a plugin `{}`: lower case letters, digits and `_`; say another name by --name",
        name.escape_debug()
    ))
    .or_exit(Exit::Usage)
}
