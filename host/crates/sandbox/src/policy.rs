//! What a plugin may use: what it asks for by its imports, as far as the operator grants it. Plugins of the host's own are
//! granted what they ask for; those of others nothing without a word in the policy, of them or of who signed them.

use super::limits::{GuestLimits, Kind, Limits};
use pibench_core::vocabulary::Grant;
use pibench_signature::Signer;
use pibench_suite::manifest::{PluginPolicy, PolicyFile};

/// A set of interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grants([bool; Grant::ALL.len()]);

impl Grants {
    pub fn has(self, grant: Grant) -> bool {
        self.0[grant as usize]
    }

    /// What is in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Grant::ALL
            .into_iter()
            .filter(|&grant| self.has(grant) && other.has(grant))
            .collect()
    }

    /// What is in this and not in the other.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Grant::ALL
            .into_iter()
            .filter(|&grant| self.has(grant) && !other.has(grant))
            .collect()
    }

    /// As policies write them.
    pub fn names(self) -> Vec<&'static str> {
        Grant::ALL
            .into_iter()
            .filter(|&grant| self.has(grant))
            .map(Grant::name)
            .collect()
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        let mut set = Self::default();
        for grant in grants {
            set.0[grant as usize] = true;
        }
        set
    }
}

/// What a plugin asks for, by the names of its imports. WASI's clocks, random numbers and output are the session's, the
/// seeded ones and the log, so they are asked for by the same words.
pub(super) fn declared<'a>(imports: impl IntoIterator<Item = &'a str>) -> Grants {
    imports.into_iter().filter_map(grant_of).collect()
}

fn grant_of(import: &str) -> Option<Grant> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| import.starts_with(prefix));
    if starts(&["pibench:plugin/clock@", "wasi:clocks/"]) {
        Some(Grant::Clock)
    } else if starts(&["pibench:plugin/random@", "wasi:random/"]) {
        Some(Grant::Random)
    } else if starts(&[
        "pibench:plugin/log@",
        "wasi:cli/stdout@",
        "wasi:cli/stderr@",
    ]) {
        Some(Grant::Log)
    } else if starts(&["pibench:plugin/workspace@", "pibench:plugin/files@"]) {
        Some(Grant::Workspace)
    } else {
        None
    }
}

/// Whose plugin it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From a folder beside the program, or used by who has no policy to ask (tests, benches).
    Own,
    /// From anywhere else.
    Others,
}

/// Who signed a plugin, and what the policy lets them grant it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub by: Signer,
    pub grants: Grants,
}

/// What a plugin gets of what it asks for.
pub(super) fn granted(
    policy: &PolicyFile,
    name: &str,
    origin: Origin,
    signed: Option<&Signed>,
    declared: Grants,
) -> Grants {
    let listed = policy
        .plugins
        .get(name)
        .and_then(|plugin| plugin.grants.as_ref());
    match (listed, origin) {
        (Some(grants), _) => declared.and(grants.iter().copied().collect()),
        (None, Origin::Own) => declared,
        (None, Origin::Others) => {
            signed.map_or_else(Grants::default, |signed| declared.and(signed.grants))
        }
    }
}

/// What a plugin of others asks for while the policy says nothing of it: neither grants nor an empty list.
pub(super) fn undecided(
    policy: &PolicyFile,
    name: &str,
    origin: Origin,
    declared: Grants,
) -> Grants {
    let listed = policy.plugins.get(name).map(|plugin| &plugin.grants);
    match (listed, origin) {
        (Some(Some(_)), _) | (_, Origin::Own) => Grants::default(),
        (Some(None) | None, Origin::Others) => declared,
    }
}

/// The limits of a plugin's calls: what the policy says of it, and nothing above `limits`, those of its kind.
pub(super) fn capped(
    policy: &PolicyFile,
    name: &str,
    kind: Kind,
    limits: Limits,
) -> Result<Limits, String> {
    match policy.plugins.get(name) {
        Some(PluginPolicy { limits: own, .. }) => {
            let host = GuestLimits::default().of(kind);
            Ok(host.lowered(*own)?.within(limits))
        }
        None => Ok(limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(grants: Option<&[Grant]>) -> PolicyFile {
        let plugin = PluginPolicy {
            grants: grants.map(<[Grant]>::to_vec),
            ..PluginPolicy::default()
        };
        PolicyFile {
            plugins: [("counter".to_owned(), plugin)].into(),
            ..PolicyFile::default()
        }
    }

    fn check(origin: Origin, grants: Option<&[Grant]>, expected: &[&str]) {
        let asked: Grants = [Grant::Clock, Grant::Log].into_iter().collect();
        let found = granted(&policy(grants), "counter", origin, None, asked);
        assert_eq!(found.names(), expected, "{origin:?} {grants:?}");
    }

    #[test]
    fn a_plugin_gets_what_it_asks_for_and_is_granted() {
        check(Origin::Others, None, &[]);
        check(Origin::Others, Some(&[Grant::Log]), &["log"]);
        check(Origin::Others, Some(&Grant::ALL), &["clock", "log"]);
        check(Origin::Others, Some(&[Grant::Workspace]), &[]);
        check(Origin::Own, None, &["clock", "log"]);
        check(Origin::Own, Some(&[]), &[]);
    }

    #[test]
    fn what_a_signer_may_grant_is_granted_unless_the_policy_speaks_of_the_plugin() {
        let by = pibench_signature::Signer {
            principal: "ana@lab.example".into(),
            aliases: Vec::new(),
            fingerprint: String::new(),
        };
        let signed = Signed {
            by,
            grants: [Grant::Log, Grant::Workspace].into_iter().collect(),
        };
        let asked: Grants = [Grant::Clock, Grant::Log].into_iter().collect();
        let check = |origin, grants: Option<&[Grant]>, expected: &[&str]| {
            let found = granted(&policy(grants), "counter", origin, Some(&signed), asked);
            assert_eq!(found.names(), expected, "{origin:?} {grants:?}");
        };
        check(Origin::Others, None, &["log"]);
        check(Origin::Others, Some(&[Grant::Clock]), &["clock"]);
        check(Origin::Others, Some(&[]), &[]);
        check(Origin::Own, None, &["clock", "log"]);
    }

    #[test]
    fn what_no_policy_speaks_of_is_undecided() {
        let asked: Grants = [Grant::Clock, Grant::Log].into_iter().collect();
        let check = |origin, grants: Option<&[Grant]>, expected: &[&str]| {
            let found = undecided(&policy(grants), "counter", origin, asked);
            assert_eq!(found.names(), expected, "{origin:?} {grants:?}");
        };
        check(Origin::Others, None, &["clock", "log"]);
        check(Origin::Others, Some(&[]), &[]);
        check(Origin::Others, Some(&[Grant::Log]), &[]);
        check(Origin::Own, None, &[]);
        let other = undecided(&policy(Some(&[])), "other", Origin::Others, asked);
        assert_eq!(other, asked);
    }

    #[test]
    fn a_plugins_own_limits_lie_below_those_of_its_kind() {
        let mut policy = policy(None);
        let own = policy.plugins.get_mut("counter").unwrap();
        own.limits.fuel = Some(100);
        own.limits.json_depth = Some(20);
        let kind = Limits {
            fuel: 7,
            ..Limits::APP
        };
        let found = capped(&policy, "counter", Kind::App, kind).unwrap();
        assert_eq!(
            found,
            Limits {
                json_depth: 20,
                ..kind
            }
        );
        assert_eq!(capped(&policy, "other", Kind::App, kind), Ok(kind));
        policy.plugins.get_mut("counter").unwrap().limits.fuel = Some(u64::MAX);
        assert!(capped(&policy, "counter", Kind::App, kind).is_err());
    }

    #[test]
    fn imports_say_what_a_plugin_asks_for() {
        let asked = declared([
            "pibench:plugin/types@0.1.0",
            "wasi:clocks/wall-clock@0.2.6",
            "wasi:random/random@0.2.6",
            "pibench:plugin/log@0.1.0",
            "wasi:filesystem/types@0.2.6",
        ]);
        assert_eq!(asked.names(), ["clock", "random", "log"]);
        assert_eq!(
            declared(["pibench:plugin/workspace@0.1.0"]).names(),
            ["workspace"]
        );
    }
}
