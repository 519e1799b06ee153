//! Reads the operator's policy. It knows the file's form only: which limits the host has and which plugins there are is for
//! those who load plugins.

use camino::Utf8Path;

use super::{Loader, check_limit, check_limits, folder_and_name};
use crate::manifest::PolicyFile;
use crate::problem::Report;
use crate::problem::{Problem, Problems};
use crate::toml_file::Place;

/// A policy and what it was read from.
#[derive(Debug, Clone)]
pub struct LoadedPolicy {
    pub policy: PolicyFile,
    /// BLAKE3 of the file, hex.
    pub digest: String,
}

/// Reads a policy file. On failure, every problem that was found.
pub fn policy(path: &Utf8Path) -> Result<LoadedPolicy, Problems> {
    let (folder, name) = folder_and_name(path);
    let mut loader = Loader::open(folder)?;
    let source = loader
        .source(name)
        .map_err(|message| Problems(vec![Problem::of_file(path, message)]))?;
    let policy = loader.file(&source, |_, document, report| {
        let file: PolicyFile = document.read(report)?;
        let root = document.root();
        check_limits(&file.limits, &root.key("limits"), report);
        let plugins = root.key("plugins");
        for (name, plugin) in &file.plugins {
            let place = plugins.key(name).key("limits");
            check_limit(&plugin.limits, &place, report);
            for (key, value) in [
                ("live_stores", plugin.limits.live_stores),
                ("queue_ms", plugin.limits.queue_ms),
            ] {
                if value.is_some() {
                    report.add_with_help(
                        place.key(key).span(),
                        format!("`{key}` is shared by all guests of a kind"),
                        "set it under [limits.app] or [limits.grader]",
                    );
                }
            }
        }
        check_signers(&file, &root, report);
        Some(file)
    });
    match policy {
        Some(policy) if !loader.problems.iter().any(Problem::is_error) => Ok(LoadedPolicy {
            policy: placed(policy, folder),
            digest: blake3::hash(source.text.as_bytes()).to_hex().to_string(),
        }),
        _ => Err(Problems(loader.problems)),
    }
}

/// Signatures count for something only where the policy says whose, and what for.
fn check_signers(file: &PolicyFile, root: &Place<'_>, report: &mut Report<'_>) {
    let mut missing = |key: &str, needs: &str, help: &str| {
        let message = format!("`{key}` says nothing without `{needs}`");
        report.add_with_help(root.key(key).span(), message, help);
    };
    let file_of_keys = "name the file of their keys: allowed_signers = \"FILE\"";
    if file.allowed_signers.is_none() {
        for (key, is_there) in [
            ("signers", !file.signers.is_empty()),
            ("require_signed", file.require_signed),
            ("revoked_keys", file.revoked_keys.is_some()),
        ] {
            if is_there {
                missing(key, "allowed_signers", file_of_keys);
            }
        }
    } else if file.signers.is_empty() {
        let whose = "say what they may sign: [signers.\"NAME@HOST\"] with plugins = [...] and grants = [...]";
        missing("allowed_signers", "signers", whose);
    }
}

/// The policy with its files where they lie.
fn placed(mut policy: PolicyFile, folder: &Utf8Path) -> PolicyFile {
    let files = [&mut policy.allowed_signers, &mut policy.revoked_keys];
    for name in files.into_iter().flatten() {
        *name = folder.join(&*name).into_string();
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let path = camino::Utf8PathBuf::from_path_buf(dir.path().join("policy.toml")).unwrap();
        std::fs::write(&path, text).unwrap();
        let found: Vec<String> = match policy(&path) {
            Ok(_) => Vec::new(),
            Err(Problems(problems)) => problems
                .iter()
                .map(|problem| problem.message().to_owned())
                .collect(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_policy_grants_and_lowers() {
        check(
            "version = 1\n[limits.app]\nfuel = 5\n[limits.load]\ncomponent_bytes = 9\n\
            [plugins.counter]\ngrants = [\"clock\", \"log\"]\nlimits.wall_ms = 7\n",
            &[],
        );
        check("version = 1\n", &[]);
    }

    #[test]
    fn what_a_policy_cannot_say_is_named() {
        check("version = 2\n", &["version 2 of the format is not known"]);
        check(
            "version = 1\n[limits.app]\nfeul = 5\n",
            &["unknown key `feul`"],
        );
        check(
            "version = 1\n[limits.app]\nfuel = 0\n",
            &["`fuel` must be above 0"],
        );
        check(
            "version = 1\n[plugins.counter.limits]\nlive_stores = 3\n",
            &["`live_stores` is shared by all guests of a kind"],
        );
        assert!(
            policy(Utf8Path::new("no/such/policy.toml")).is_err(),
            "a missing file"
        );
    }

    #[test]
    fn an_unknown_grant_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = camino::Utf8PathBuf::from_path_buf(dir.path().join("policy.toml")).unwrap();
        std::fs::write(&path, "version = 1\n[plugins.a]\ngrants = [\"network\"]\n").unwrap();
        let Err(Problems(problems)) = policy(&path) else {
            panic!("granted")
        };
        assert!(problems[0].message().contains("network"), "{problems:?}");
        assert_eq!(problems[0].line(), Some(3));
    }
}
