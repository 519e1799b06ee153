//! `hub.toml`: what a hub's operator decides.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Deserializer, de};

use pibench_core::cost::MicroUsd;

/// Bytes of the file.
const LONGEST: u64 = 1 << 20;

/// The largest of numbers that need no other bound: sums of a few of them have room where they are counted.
const LARGEST: u32 = 1_000_000_000;

/// Of each episode, as with `run --runs`.
const MOST_RUNS: u32 = 1000;

/// Hours of a year.
const YEAR: u32 = 365 * 24;

/// The file as it is written. Paths are read from its folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// 1.
    pub version: u32,
    /// The suite's file; the one that the program carries unless it says so.
    pub suite: Option<Utf8PathBuf>,
    /// The folder of tokens, runs and results. Nobody else may read it.
    pub data: Utf8PathBuf,
    /// The private key that signs results, as `ssh-keygen` makes it.
    pub key: Utf8PathBuf,
    /// Who signs, by the name that files of signers have for the key.
    pub principal: String,
    /// Where it listens. TLS is a proxy's.
    #[serde(default = "here")]
    pub listen: SocketAddr,
    /// Names under which requests come, such as that of the proxy, beside those of this machine.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Proxies: of requests that come from these addresses, `X-Forwarded-For` says who asks.
    #[serde(default)]
    pub proxies: Vec<IpAddr>,
    /// A folder of plugins, before those of the program.
    pub plugins: Option<Utf8PathBuf>,
    /// What plugins of others may use.
    pub policy: Option<Utf8PathBuf>,
    /// Who plays the user and judges; the suite's unless it says so.
    pub user: Option<String>,
    #[serde(default)]
    pub judge: Vec<String>,
    /// Independent runs of each episode; the suite's number unless it says so.
    pub runs: Option<u32>,
    /// Settings of the suite file, `KEY=VALUE`.
    #[serde(default)]
    pub set: Vec<String>,
    #[serde(default)]
    pub limits: Limits,
    /// Of each submitter.
    #[serde(default)]
    pub quotas: Quotas,
    /// Of single submitters, by name: all that is not said is as above.
    #[serde(default)]
    pub quotas_of: BTreeMap<String, SomeQuotas>,
}

/// What the machine gives.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Episodes that are played at once; the others wait in a queue.
    pub episodes: u32,
    /// Connections, and those of one address that is no proxy.
    pub connections: usize,
    pub connections_of_address: usize,
    /// KiB of one request.
    pub request_kib: u32,
    /// MiB of all requests that are being read. A submitter has a share of it.
    pub requests_mib: u32,
    /// Wrong tokens that an address may show in a minute before it is sent away at once.
    pub guesses_a_minute: u32,
    /// What the models of user and judge may cost in a day, for all submitters and the hub's own questions together; no bound
    /// unless it says so.
    #[serde(deserialize_with = "dollars")]
    pub dollars_a_day: Option<MicroUsd>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            episodes: 64,
            connections: 512,
            connections_of_address: 64,
            request_kib: 4096,
            requests_mib: 256,
            guesses_a_minute: 10,
            dollars_a_day: None,
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), String> {
        let Self {
            episodes,
            connections,
            connections_of_address,
            request_kib,
            requests_mib,
            guesses_a_minute,
            dollars_a_day: _,
        } = *self;
        let most = LARGEST as usize;
        within("limits.episodes", episodes, [1, LARGEST])?;
        within("limits.connections", connections, [1, most])?;
        within(
            "limits.connections_of_address",
            connections_of_address,
            [1, most],
        )?;
        within("limits.request_kib", request_kib, [1, 1 << 20])?;
        within("limits.requests_mib", requests_mib, [1, 1 << 20])?;
        within("limits.guesses_a_minute", guesses_a_minute, [0, LARGEST])?;
        if u64::from(request_kib) > u64::from(requests_mib) * 1024 {
            return Err(format!(
                "limits.request_kib = {request_kib} is more than limits.requests_mib = {requests_mib} has room for"
            ));
        }
        Ok(())
    }
}

/// What a submitter may use. Days are those of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quotas {
    pub episodes_a_day: u32,
    /// Episodes that are open at once: playing, waiting or paused.
    pub episodes_at_once: u32,
    /// Runs that are not finished.
    pub open_runs: u32,
    /// Runs that are begun, whatever becomes of them.
    pub runs_a_day: u32,
    /// Messages of the user that are answered.
    pub turns_a_day: u32,
    /// Of requests and answers together; of requests as they come, those that are refused too.
    pub megabytes_a_day: u32,
    /// Of all that is kept of the submitter's runs.
    pub disk_megabytes: u32,
    /// Requests, on an average of some seconds.
    pub requests_a_second: u32,
    /// Connections that are open at once. For one more, that which has rested longest is closed.
    pub connections: u32,
    /// How long an episode may be played.
    pub hours: u32,
    /// After so long without a request an episode is paused. It goes on with the next one; a turn that had begun is begun anew.
    pub idle_minutes: u32,
    /// How many turns of an episode may be broken off so. With one more its run is over, without a result.
    pub broken_turns: u32,
    /// What the models of user and judge may cost for its episodes; no bound unless it says so.
    #[serde(deserialize_with = "dollars")]
    pub dollars_a_day: Option<MicroUsd>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            episodes_a_day: 50,
            episodes_at_once: 8,
            open_runs: 4,
            runs_a_day: 200,
            turns_a_day: 5000,
            megabytes_a_day: 1000,
            disk_megabytes: 5000,
            requests_a_second: 50,
            connections: 32,
            hours: 24,
            idle_minutes: 15,
            broken_turns: 3,
            dollars_a_day: None,
        }
    }
}

impl Quotas {
    /// `table`: where they stand in the file.
    fn check(&self, table: &str) -> Result<(), String> {
        let Self {
            episodes_a_day,
            episodes_at_once,
            open_runs,
            runs_a_day,
            turns_a_day,
            megabytes_a_day,
            disk_megabytes,
            requests_a_second,
            connections,
            hours,
            idle_minutes,
            broken_turns,
            dollars_a_day: _,
        } = *self;
        let some = [1, LARGEST];
        for (key, value, want) in [
            ("episodes_a_day", episodes_a_day, some),
            ("episodes_at_once", episodes_at_once, some),
            ("open_runs", open_runs, some),
            ("runs_a_day", runs_a_day, some),
            ("turns_a_day", turns_a_day, some),
            ("megabytes_a_day", megabytes_a_day, some),
            ("disk_megabytes", disk_megabytes, some),
            ("requests_a_second", requests_a_second, some),
            ("connections", connections, some),
            ("hours", hours, [1, YEAR]),
            // With 0 an episode is paused as soon as nothing is asked for a moment.
            ("idle_minutes", idle_minutes, [0, YEAR * 60]),
            ("broken_turns", broken_turns, [0, LARGEST]),
        ] {
            within(&format!("{table}.{key}"), value, want).map_err(|reason| {
                if value == 0 {
                    format!("{reason}; `hub token revoke` keeps a submitter out")
                } else {
                    reason
                }
            })?;
        }
        Ok(())
    }
}

/// Quotas of one submitter.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SomeQuotas {
    episodes_a_day: Option<u32>,
    episodes_at_once: Option<u32>,
    open_runs: Option<u32>,
    runs_a_day: Option<u32>,
    turns_a_day: Option<u32>,
    megabytes_a_day: Option<u32>,
    disk_megabytes: Option<u32>,
    requests_a_second: Option<u32>,
    connections: Option<u32>,
    hours: Option<u32>,
    idle_minutes: Option<u32>,
    broken_turns: Option<u32>,
    #[serde(default, deserialize_with = "dollars")]
    dollars_a_day: Option<MicroUsd>,
}

impl SomeQuotas {
    fn over(self, all: Quotas) -> Quotas {
        let Self {
            episodes_a_day,
            episodes_at_once,
            open_runs,
            runs_a_day,
            turns_a_day,
            megabytes_a_day,
            disk_megabytes,
            requests_a_second,
            connections,
            hours,
            idle_minutes,
            broken_turns,
            dollars_a_day,
        } = self;
        Quotas {
            episodes_a_day: episodes_a_day.unwrap_or(all.episodes_a_day),
            episodes_at_once: episodes_at_once.unwrap_or(all.episodes_at_once),
            open_runs: open_runs.unwrap_or(all.open_runs),
            runs_a_day: runs_a_day.unwrap_or(all.runs_a_day),
            turns_a_day: turns_a_day.unwrap_or(all.turns_a_day),
            megabytes_a_day: megabytes_a_day.unwrap_or(all.megabytes_a_day),
            disk_megabytes: disk_megabytes.unwrap_or(all.disk_megabytes),
            requests_a_second: requests_a_second.unwrap_or(all.requests_a_second),
            connections: connections.unwrap_or(all.connections),
            hours: hours.unwrap_or(all.hours),
            idle_minutes: idle_minutes.unwrap_or(all.idle_minutes),
            broken_turns: broken_turns.unwrap_or(all.broken_turns),
            dollars_a_day: dollars_a_day.or(all.dollars_a_day),
        }
    }
}

/// Refuses a number that cannot be meant.
fn within<T: Copy + Display + PartialOrd>(
    key: &str,
    value: T,
    [least, most]: [T; 2],
) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{key} = {value}: want {least} to {most}"))
}

/// A sum of money above nothing.
fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MicroUsd>, D::Error> {
    let usd = f64::deserialize(deserializer)?;
    let sum = MicroUsd::from_usd(usd);
    if !usd.is_finite() || sum.is_zero() {
        return Err(de::Error::custom(format!(
            "{usd} is no bound: want US dollars above 0, as in 2.5; `hub token revoke` keeps a submitter out"
        )));
    }
    Ok(Some(sum))
}

/// What models may cost in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Purse {
    /// For a submitter's episodes.
    pub(crate) own: Option<MicroUsd>,
    /// For everybody's.
    pub(crate) all: Option<MicroUsd>,
}

fn here() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 8700).into()
}

/// Why the file cannot be used. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[error("read {path}: {reason}")]
pub struct ConfigError {
    path: Utf8PathBuf,
    reason: String,
}

impl HubFile {
    /// Reads `hub.toml`.
    pub fn read(path: &Utf8Path) -> Result<Self, ConfigError> {
        let failed = |reason: String| ConfigError {
            path: path.to_owned(),
            reason,
        };
        let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if size.len() > LONGEST {
            return Err(failed(format!("it has more than {LONGEST} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let file: Self = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        file.check().map_err(failed)?;
        let folder = path.parent().unwrap_or(Utf8Path::new(""));
        let from = |path: Utf8PathBuf| folder.join(path);
        Ok(Self {
            suite: file.suite.map(from),
            data: from(file.data),
            key: from(file.key),
            plugins: file.plugins.map(from),
            policy: file.policy.map(from),
            ..file
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.version != 1 {
            return Err(format!("its version is {}, and 1 is read", self.version));
        }
        if self.principal.is_empty() || self.principal.contains(|c: char| c.is_whitespace()) {
            return Err(
                "`principal` is no name of a file of signers: want one such as hub@board.example"
                    .into(),
            );
        }
        if let Some(runs) = self.runs {
            within("runs", runs, [1, MOST_RUNS])?;
        }
        self.limits.check()?;
        self.quotas.check("quotas")?;
        for (name, some) in &self.quotas_of {
            let table = format!("quotas_of.\"{name}\"");
            some.over(self.quotas).check(&table)?;
        }
        Ok(())
    }

    pub(crate) fn purse(&self, name: &str) -> Purse {
        Purse {
            own: self.quotas(name).dollars_a_day,
            all: self.limits.dollars_a_day,
        }
    }

    /// The name of a bound on what models cost, if there is one.
    pub(crate) fn bound_on_money(&self) -> Option<String> {
        let of_one = |(name, some): (&String, &SomeQuotas)| {
            let bound = some.dollars_a_day.is_some();
            bound.then(|| format!("quotas_of.\"{name}\".dollars_a_day"))
        };
        let of_all = self.limits.dollars_a_day.map(|_| "limits.dollars_a_day");
        let of_each = self.quotas.dollars_a_day.map(|_| "quotas.dollars_a_day");
        let named = of_all.or(of_each).map(str::to_owned);
        named.or_else(|| self.quotas_of.iter().find_map(of_one))
    }

    /// What a submitter may use.
    pub fn quotas(&self, name: &str) -> Quotas {
        let some = self.quotas_of.get(name).copied().unwrap_or_default();
        some.over(self.quotas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "version = 1\ndata = \"d\"\nkey = \"k\"\nprincipal = \"hub@b.example\"\n";

    fn check(text: &str, expected: &str) {
        let file: Result<HubFile, _> = toml::from_str(text);
        let found = match file {
            Ok(file) => file.check().err().unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn what_the_file_cannot_mean_is_refused() {
        check(LEAST, "");
        check(&LEAST.replace('1', "2"), "its version is 2");
        check(&format!("{LEAST}lisen = \"x\""), "unknown field `lisen`");
        check(
            &LEAST.replace("hub@", "hub @"),
            "no name of a file of signers",
        );
        check(
            &format!("{LEAST}limits.request_kib = 999999"),
            "has room for",
        );
        check(
            &format!("{LEAST}quotas_of.bo.turns = 1"),
            "unknown field `turns`",
        );
        for none in ["0", "-1.5", "nan"] {
            check(
                &format!("{LEAST}quotas.dollars_a_day = {none}"),
                "want US dollars above 0",
            );
        }
    }

    #[test]
    fn each_number_of_the_file_has_bounds_that_are_told() {
        let of_quotas = [
            "episodes_a_day",
            "episodes_at_once",
            "open_runs",
            "runs_a_day",
            "turns_a_day",
            "megabytes_a_day",
            "disk_megabytes",
            "requests_a_second",
            "connections",
        ];
        let of_limits = ["episodes", "connections", "connections_of_address"];
        let quotas = of_quotas.map(|key| (format!("quotas.{key}"), 1, 1_000_000_000));
        let limits = of_limits.map(|key| (format!("limits.{key}"), 1, 1_000_000_000));
        let others = [
            ("runs", 1, 1000),
            ("limits.request_kib", 1, 1_048_576),
            ("limits.requests_mib", 1, 1_048_576),
            ("limits.guesses_a_minute", 0, 1_000_000_000),
            ("quotas.hours", 1, 8760),
            ("quotas.idle_minutes", 0, 525_600),
            ("quotas.broken_turns", 0, 1_000_000_000),
        ];
        let others = others.map(|(key, least, most)| (key.to_owned(), least, most));
        for (key, least, most) in quotas.into_iter().chain(limits).chain(others) {
            let set = |value: u64| {
                // One request of the largest has room.
                let room = match key.as_str() {
                    "limits.request_kib" => "limits.requests_mib = 1048576\n",
                    "limits.requests_mib" => "limits.request_kib = 1\n",
                    _ => "",
                };
                format!("{LEAST}{room}{key} = {value}")
            };
            let refused = |value: u64| {
                let told = format!("{key} = {value}: want {least} to {most}");
                check(&set(value), &told);
            };
            for value in [least, most] {
                let file: HubFile = toml::from_str(&set(value)).unwrap();
                assert_eq!(file.check(), Ok(()), "{key} = {value}");
            }
            refused(most + 1);
            if least > 0 {
                refused(least - 1);
            }
        }
        check(
            &format!("{LEAST}quotas_of.bo.hours = 0"),
            "quotas_of.\"bo\".hours = 0: want 1 to 8760; `hub token revoke` keeps a submitter out",
        );
    }

    #[test]
    fn a_submitter_has_the_quotas_of_all_but_its_own() {
        let text = format!(
            "{LEAST}limits.dollars_a_day = 90\nquotas.turns_a_day = 7\nquotas.dollars_a_day = 2.5\n\
             quotas_of.bo.episodes_a_day = 2\nquotas_of.cy.dollars_a_day = 1"
        );
        let file: HubFile = toml::from_str(&text).unwrap();
        assert_eq!(file.listen.to_string(), "127.0.0.1:8700");
        let (ana, bo) = (file.quotas("ana"), file.quotas("bo"));
        assert_eq!((ana.turns_a_day, bo.turns_a_day), (7, 7));
        assert_eq!((ana.episodes_a_day, bo.episodes_a_day), (50, 2));
        let purse = |own| Purse {
            own: Some(MicroUsd(own)),
            all: Some(MicroUsd(90_000_000)),
        };
        assert_eq!(file.purse("bo"), purse(2_500_000));
        assert_eq!(file.purse("cy"), purse(1_000_000));
    }
}
