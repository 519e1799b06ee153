//! What a guest may use. The structs are destructured where they are enforced, so that a new limit breaks the build until
//! something enforces it. `tests/limits.rs` trips each field by a test that is named after it.

use std::time::Duration;

use serde::Serialize;

use super::profile::Profile;
use pibench_suite::manifest::{LimitOverride, LimitOverrides, LoadOverride};

/// Bounds of one call, of the instance that it runs in, and of how many of those there are. The figures are those of the
/// sandbox's design: far above what honest plugins use, far below what hurts the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Units of work, about one per wasm instruction. Deterministic: running out is the guest's fault.
    pub fuel: u64,
    /// Time that a processor works for the call, the host's part too; what sleeps may take of the guest's own clocks. Fuel is
    /// to run out first wherever it can: this is three times and more of what it allows on a slow machine. Running out is the
    /// guest's fault. A call that lasts a hundred times as long found hardly a processor: infrastructure.
    pub wall: Duration,
    /// Linear memories and tables of the instance together, in bytes.
    pub memory: usize,
    /// A text or byte string that the guest returns.
    pub result_bytes: usize,
    /// Nesting of JSON that the guest returns.
    pub json_depth: usize,
    /// Values in JSON that the guest returns.
    pub json_nodes: usize,
    /// Log lines and standard output of the instance.
    pub log_bytes: usize,
    /// What one host call may copy out of the guest, in bytes.
    pub hostcall_bytes: usize,
    /// Handles of the component model that the instance may hold at once, its own resources' among them.
    pub handles: usize,
    /// Things of the host that stand behind the instance's handles, at once.
    pub resources: usize,
    /// A snapshot of an app's state.
    pub snapshot_bytes: usize,
    /// Instances of this kind at once; apps between two calls give their place to whoever needs it. No record has it, nor the
    /// queue: they follow from the machine and the number of jobs, and change when a call runs and not what it gives.
    #[serde(skip_serializing)]
    pub live_stores: usize,
    /// How long a call waits for a place. Running out is infrastructure.
    #[serde(skip_serializing)]
    pub queue: Duration,
}

const MIB: usize = 1 << 20;

/// The part of a growth that a limit gets which was lowered from `full` to `now`; all of it where it was not.
fn share(growth: u64, now: u128, full: u128) -> u64 {
    let part = u128::from(growth).saturating_mul(now.min(full)) / full.max(1);
    u64::try_from(part).unwrap_or(growth)
}

impl Limits {
    /// One call of a tool app.
    pub const APP: Self = Self {
        fuel: 500_000_000,
        wall: Duration::from_secs(2),
        memory: 64 * MIB,
        result_bytes: MIB,
        json_depth: 32,
        json_nodes: 50_000,
        log_bytes: 64 << 10,
        hostcall_bytes: 8 * MIB,
        handles: 1000,
        resources: 1000,
        snapshot_bytes: 8 * MIB,
        live_stores: 1000,
        queue: Duration::from_mins(1),
    };

    /// One call of a grader.
    pub const GRADER: Self = Self {
        fuel: 2_000_000_000,
        wall: Duration::from_secs(10),
        memory: 128 * MIB,
        hostcall_bytes: 16 * MIB,
        live_stores: 99,
        ..Self::APP
    };

    /// One call of the Python grader: its interpreter alone takes some 40 MiB.
    pub const PYTHON: Self = Self {
        memory: 256 * MIB,
        live_stores: 15,
        ..Self::GRADER
    };

    /// One command line of the agent's shell, for a timeout of a minute; fuel and time scale with another.
    pub const SHELL: Self = Self {
        fuel: 20_000_000_000,
        wall: Duration::from_mins(1),
        memory: 256 * MIB,
        // Of each stream both ends of 64 KiB, as lossy text, and the line between.
        result_bytes: 256 << 10,
        hostcall_bytes: 16 * MIB,
        live_stores: 15,
        ..Self::APP
    };

    /// The text of one document: to inflate and lay out twenty pages is more work than to grade.
    pub const DOCUMENT: Self = Self {
        fuel: 10_000_000_000,
        wall: Duration::from_secs(30),
        live_stores: 15,
        ..Self::GRADER
    };

    /// A grader's limits on evidence of this size: what it reads it has to take in first. Where a suite or a policy lowered a
    /// limit, it grows as much less. `most`: bytes of memory that its engine has.
    #[must_use]
    pub(super) fn grown(self, calls: usize, bytes: usize, most: usize) -> Self {
        let sum = |each: u64, per_byte: u64| {
            (calls as u64)
                .saturating_mul(each)
                .saturating_add((bytes as u64).saturating_mul(per_byte))
        };
        // Read from JSON, a call takes 150,000 units, and a byte of small values 540; a script looks at it twice or so.
        let fuel = sum(400_000, 1200);
        // At 6 units a nanosecond, a sixth of what was seen.
        let wall = share(fuel, self.wall.as_nanos(), Self::GRADER.wall.as_nanos());
        let fuel = share(fuel, self.fuel.into(), Self::GRADER.fuel.into());
        // A dictionary of each call; objects of nine times their text.
        let memory = share(
            sum(4096, 12),
            self.memory as u128,
            Self::GRADER.memory as u128,
        );
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Self {
            fuel: self.fuel.saturating_add(fuel),
            wall: self.wall.saturating_add(Duration::from_nanos(wall)),
            memory: self
                .memory
                .max(most.min(self.memory.saturating_add(memory))),
            ..self
        }
    }
}

/// Bounds of loading a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// The component file.
    pub component_bytes: usize,
    /// Of two processors, for compiling it. While others have them it may last longer.
    pub compile_wall: Duration,
    /// Address space of the process that compiles it.
    pub compile_memory: usize,
}

impl LoadLimits {
    /// The Python component, the largest of ours, has 30 MiB and takes some 20 s and 1 GiB on a slow machine.
    pub const HOST: Self = Self {
        component_bytes: 32 * MIB,
        compile_wall: Duration::from_mins(1),
        compile_memory: 2048 * MIB,
    };
}

/// A limit as a number: what files write.
trait Bound: Copy + Ord {
    /// Lowered to what a file says, if it says anything.
    fn lowered(self, to: Option<u64>) -> Self;
    fn number(self) -> u64;
}

impl Bound for u64 {
    fn lowered(self, to: Option<u64>) -> Self {
        to.unwrap_or(self)
    }

    fn number(self) -> u64 {
        self
    }
}

/// Bytes, or how many.
impl Bound for usize {
    fn lowered(self, to: Option<u64>) -> Self {
        to.map_or(self, |to| Self::try_from(to).unwrap_or(Self::MAX))
    }

    fn number(self) -> u64 {
        self as u64
    }
}

/// Milliseconds.
impl Bound for Duration {
    fn lowered(self, to: Option<u64>) -> Self {
        to.map_or(self, Self::from_millis)
    }

    fn number(self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The one table of a kind of limits, with the names that files have for them: all that goes over every limit follows. A
/// limit that is not in it does not compile.
macro_rules! table {
    ($limits:ident, $override:ident: $($limit:ident = $name:ident),* $(,)?) => {
        impl $limits {
            /// These limits with lower values of a suite or a policy. An error names the limit that was to be raised.
            pub fn lowered(self, by: $override) -> Result<Self, String> {
                let $override { $($name),* } = by;
                none_raised(&$override::from(self).named(), &by.named())?;
                Ok(Self { $($limit: self.$limit.lowered($name)),* })
            }

            /// The lower of each.
            #[must_use]
            pub fn within(self, other: Self) -> Self {
                let Self { $($limit),* } = other;
                Self { $($limit: self.$limit.min($limit)),* }
            }
        }

        /// The limits under the names that files have for them.
        impl From<$limits> for $override {
            fn from(limits: $limits) -> Self {
                let $limits { $($limit),* } = limits;
                Self { $($name: Some($limit.number())),* }
            }
        }
    };
}

table! {
    Limits, LimitOverride:
    fuel = fuel,
    wall = wall_ms,
    memory = memory_bytes,
    result_bytes = result_bytes,
    json_depth = json_depth,
    json_nodes = json_nodes,
    log_bytes = log_bytes,
    hostcall_bytes = hostcall_bytes,
    handles = handles,
    resources = resources,
    snapshot_bytes = snapshot_bytes,
    live_stores = live_stores,
    queue = queue_ms,
}

table! {
    LoadLimits, LoadOverride:
    component_bytes = component_bytes,
    compile_wall = compile_wall_ms,
    compile_memory = compile_memory_bytes,
}

/// Whose limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    App,
    Grader,
    Python,
    Shell,
    Document,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::App,
        Self::Grader,
        Self::Python,
        Self::Shell,
        Self::Document,
    ];

    /// The engine that its guests run in.
    pub fn profile(self) -> Profile {
        match self {
            Self::App | Self::Grader | Self::Document => Profile::App,
            Self::Python => Profile::Python,
            Self::Shell => Profile::Shell,
        }
    }
}

/// Apps, graders and readers of documents that one episode has at once, generously: whoever has more takes the place of an
/// app between two calls.
pub(super) const OF_AN_EPISODE: usize = 16;

/// The limits of all guests of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GuestLimits {
    pub app: Limits,
    pub grader: Limits,
    pub python: Limits,
    pub shell: Limits,
    pub document: Limits,
    /// In no record: what is loaded is the same under all.
    #[serde(skip_serializing)]
    pub load: LoadLimits,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            app: Limits::APP,
            grader: Limits::GRADER,
            python: Limits::PYTHON,
            shell: Limits::SHELL,
            document: Limits::DOCUMENT,
            load: LoadLimits::HOST,
        }
    }
}

impl GuestLimits {
    pub fn of(&self, kind: Kind) -> Limits {
        match kind {
            Kind::App => self.app,
            Kind::Grader => self.grader,
            Kind::Python => self.python,
            Kind::Shell => self.shell,
            Kind::Document => self.document,
        }
    }

    /// These limits with no more places than so many episodes at once can use.
    #[must_use]
    pub fn for_episodes(mut self, episodes: usize) -> Self {
        let places = episodes.saturating_mul(OF_AN_EPISODE);
        for limits in [&mut self.app, &mut self.grader, &mut self.document] {
            limits.live_stores = limits.live_stores.min(places);
        }
        self
    }

    /// These limits with lower values. An error names the table and the limit that was to be raised.
    pub fn lowered(self, by: LimitOverrides) -> Result<Self, String> {
        let LimitOverrides {
            app,
            grader,
            shell,
            document,
            load,
        } = by;
        let of = |table: &'static str| move |reason: String| format!("[limits.{table}]: {reason}");
        Ok(Self {
            app: self.app.lowered(app).map_err(of("app"))?,
            grader: self.grader.lowered(grader).map_err(of("grader"))?,
            // Python has fewer places than the other graders: a number between lowers theirs only.
            python: self
                .python
                .lowered(LimitOverride {
                    live_stores: grader
                        .live_stores
                        .map(|places| places.min(self.python.live_stores as u64)),
                    ..grader
                })
                .map_err(of("grader"))?,
            shell: self.shell.lowered(shell).map_err(of("shell"))?,
            document: self.document.lowered(document).map_err(of("document"))?,
            load: self.load.lowered(load).map_err(of("load"))?,
        })
    }

    /// The lower of each.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let Self {
            app,
            grader,
            python,
            shell,
            document,
            load,
        } = other;
        Self {
            app: self.app.within(app),
            grader: self.grader.within(grader),
            python: self.python.within(python),
            shell: self.shell.within(shell),
            document: self.document.within(document),
            load: self.load.within(load),
        }
    }

    /// The limits by the names that files have for them.
    pub fn named(&self) -> Vec<(String, u64)> {
        let Self {
            app,
            grader,
            python,
            shell,
            document,
            load,
        } = self;
        let kinds = [
            ("app", app),
            ("grader", grader),
            ("python", python),
            ("shell", shell),
            ("document", document),
        ];
        let mut named = Vec::new();
        let mut add = |kind: &str, limits: Vec<(String, u64)>| {
            let limits = limits.into_iter();
            named.extend(limits.map(|(name, value)| (format!("limits.{kind}.{name}"), value)));
        };
        for (kind, limits) in kinds {
            add(kind, LimitOverride::from(*limits).named());
        }
        add("load", LoadOverride::from(*load).named());
        named
    }
}

fn none_raised(host: &[(String, u64)], by: &[(String, u64)]) -> Result<(), String> {
    for (name, to) in by {
        let known = host.iter().find(|(known, _)| known == name);
        if let Some((_, limit)) = known.filter(|(_, limit)| to > limit) {
            return Err(format!(
                "{name} = {to} is above the host's limit of {limit}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_lowers_a_limit_and_leaves_the_others() {
        let by = LimitOverride {
            fuel: Some(7),
            ..LimitOverride::default()
        };
        assert_eq!(
            Limits::APP.lowered(by),
            Ok(Limits {
                fuel: 7,
                ..Limits::APP
            })
        );
        let by = LoadOverride {
            component_bytes: Some(7),
            ..LoadOverride::default()
        };
        assert_eq!(
            LoadLimits::HOST.lowered(by),
            Ok(LoadLimits {
                component_bytes: 7,
                ..LoadLimits::HOST
            })
        );
    }

    #[test]
    fn a_suite_cannot_raise_a_limit() {
        let by = LimitOverride {
            memory_bytes: Some(1 << 40),
            ..LimitOverride::default()
        };
        let error = Limits::APP.lowered(by).unwrap_err();
        assert!(
            error.starts_with("memory_bytes = 1099511627776 is above"),
            "{error}"
        );
        let by = LoadOverride {
            compile_wall_ms: Some(1 << 40),
            ..LoadOverride::default()
        };
        assert!(LoadLimits::HOST.lowered(by).is_err());
    }

    #[test]
    fn of_two_limits_the_lower_one_holds() {
        let one = Limits {
            fuel: 7,
            ..Limits::APP
        };
        let two = Limits {
            queue: Duration::from_secs(1),
            ..Limits::APP
        };
        let both = Limits { fuel: 7, ..two };
        assert_eq!(one.within(two), both);
        assert_eq!(two.within(one), both);
    }
}
