//! The manifests of an indexed Job for Kubernetes, and of the one that merges its parts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use minijinja::context;
use serde_json::json;

use super::render;
use crate::cli::ScriptArgs;
use crate::commands::run::folder_of;
use crate::exit::{Exit, Failure, OrExit};
use pibench_record::parts::MERGED;
use pibench_report::draft::Draft;
use pibench_store::is_stored;

const KUBERNETES: &str = include_str!("../../../templates/cluster/kubernetes.yaml");
const OVERLAY: &str = include_str!("../../../templates/cluster/overlay.yaml");
const BASE: &str =
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [run.yaml]\n";

/// Bytes of a Job's name, which its pods' names begin with and which is a label of theirs.
const LONGEST_NAME: usize = 50;

/// An index for each part, then the merge.
pub(super) fn manifests(
    args: &ScriptArgs,
    parts: u32,
    agents: &[String],
) -> Result<String, Failure> {
    let out = &args.out;
    let stored = is_stored(out.as_str());
    let place = out.parent().filter(|_| out.is_absolute() || stored);
    let (Some(volume), Some(name)) = (place, out.file_name()) else {
        return Err(anyhow!(
            "print manifests for {out}: want an absolute path in the containers, as in --out /runs/NAME, or a store's, as in \
             s3://BUCKET/NAME"
        ))
        .or_exit(Exit::Usage);
    };
    for (what, label) in [("the last name of --out", name)]
        .into_iter()
        .chain(args.queue.as_deref().map(|queue| ("--queue", queue)))
    {
        is_label(label)
            .map_err(|reason| anyhow!("print manifests with {what} `{label}`: {reason}"))
            .or_exit(Exit::Usage)?;
    }
    if volume == Utf8Path::new("/") {
        return Err(anyhow!("print manifests for {out}: the volume would be mounted over everything; want /runs/NAME or the like"))
            .or_exit(Exit::Usage);
    }
    let worker = [
        "run",
        "--shard",
        "auto",
        "--exit-zero",
        "--grace",
        "110",
        "--out",
        out.as_str(),
    ];
    let worker = worker.into_iter().map(str::to_owned);
    let play: Vec<String> = worker.chain(args.options.iter().cloned()).collect();
    let merged = out.join(MERGED);
    let merged: Vec<Utf8PathBuf> = match agents {
        [_] => vec![merged],
        several => several
            .iter()
            .map(|agent| merged.join(folder_of(agent)))
            .collect(),
    };
    let verify: Vec<String> = merged
        .iter()
        .map(|run| json!(["verify", run]).to_string())
        .collect();
    render(
        KUBERNETES,
        context! {
            parts, at_once => args.at_once, name, queue => args.queue.as_deref(), verify,
            // A text of JSON is one of YAML.
            image => json!(image(args)).to_string(), volume => (!stored).then(|| json!(volume).to_string()),
            play => json!(play).to_string(), merge => json!(["merge", "--exit-zero", out]).to_string(),
        },
    )
}

/// The same as a folder for Kustomize, which appears whole; what to do with it.
pub(super) fn kustomize(
    args: &ScriptArgs,
    parts: u32,
    agents: &[String],
    dir: &Utf8Path,
) -> Result<String, Failure> {
    let run = manifests(args, parts, agents)?;
    if dir.exists() {
        return Err(anyhow!(
            "write {dir}: it is there already; choose another --kustomize"
        ))
        .or_exit(Exit::Io);
    }
    let image = image(args);
    // A name may have a port before its last `/`.
    let name = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image.as_str(),
    };
    let overlay = render(
        OVERLAY,
        context! {
            name => args.out.file_name(), image => json!(name).to_string(), volume => !is_stored(args.out.as_str()),
        },
    )?;
    let written = || -> std::io::Result<()> {
        let draft = Draft::of(dir.as_std_path())?;
        for (path, text) in [
            ("base/run.yaml", run.as_str()),
            ("base/kustomization.yaml", BASE),
            ("overlays/mine/kustomization.yaml", &overlay),
        ] {
            let path = draft.path().join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o755))?;
        draft.publish()
    };
    written()
        .with_context(|| format!("write {dir}"))
        .or_exit(Exit::Io)?;
    Ok(format!(
        "{dir}: say in overlays/mine what your cluster has of its own, then `kubectl apply -k {dir}/overlays/mine`; what comes \
         before and after stands in base/run.yaml\n"
    ))
}

/// Of the containers.
fn image(args: &ScriptArgs) -> String {
    let own = || concat!("pibench-host:", env!("CARGO_PKG_VERSION")).to_owned();
    args.image.clone().unwrap_or_else(own)
}

/// Whether Kubernetes takes a name (RFC 1123), with room for what it adds.
fn is_label(name: &str) -> Result<(), String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "it has {} characters, and may have {LONGEST_NAME}",
            name.len()
        ));
    }
    if name.is_empty() || !name.chars().all(inner) || name.starts_with('-') || name.ends_with('-') {
        return Err("want small letters, digits and hyphens, none of these at its ends".into());
    }
    Ok(())
}
