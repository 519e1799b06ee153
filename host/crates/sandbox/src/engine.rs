//! The wasm engines: one per profile, never mixed, each with a ticker that lets calls give way and be bounded in time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm,
};

use super::limits::{GuestLimits, Kind, Limits};
use super::profile::Profile;

/// How often a running guest gives way to others, and its time is looked at.
const TICK: Duration = Duration::from_millis(5);

/// Limits that are settings of an engine: no suite and no policy can change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// Entries of one table.
    pub table_elements: usize,
    /// Tables of one instance of a component.
    pub tables: u32,
    /// Linear memories of one instance of a component.
    pub memories: u32,
    /// Core instances that one instance of a component is made of.
    pub core_instances: u32,
    /// Bytes of one linear memory; what a call may use of it is `Limits::memory`.
    pub memory: usize,
    /// Stack of wasm frames.
    pub wasm_stack: usize,
    /// Stack of wasm frames and of the host functions that they call.
    pub async_stack: usize,
}

const KIB: usize = 1 << 10;

/// What a rule script's limit of memory may grow to with the evidence; a place in the pool is address space, no memory.
pub(super) const MOST_OF_PYTHON: usize = 2 << 30;

impl EngineLimits {
    const APP: Self = Self {
        table_elements: 20_000,
        tables: 16,
        memories: 2,
        core_instances: 16,
        memory: Limits::GRADER.memory,
        wasm_stack: 512 * KIB,
        async_stack: 2048 * KIB,
    };

    /// Python's own recursion limit (1,000 frames) must come before the end of the wasm stack.
    const PYTHON: Self = Self {
        memory: MOST_OF_PYTHON,
        wasm_stack: 8 << 20,
        async_stack: (8 << 20) + 1536 * KIB,
        ..Self::APP
    };

    /// The shell's own bounds on nesting must come before the end of the wasm stack.
    const SHELL: Self = Self {
        memory: Limits::SHELL.memory,
        wasm_stack: 2048 * KIB,
        async_stack: 3584 * KIB,
        ..Self::APP
    };
}

impl Profile {
    /// Its limits.
    pub fn limits(self) -> EngineLimits {
        match self {
            Self::App => EngineLimits::APP,
            Self::Python => EngineLimits::PYTHON,
            Self::Shell => EngineLimits::SHELL,
        }
    }
}

/// Bytes of address space that an episode may need where that is bounded. A linear memory reserves 4 GiB and 64 MiB of guards; an
/// episode may have one for each of its apps and graders, one for its shell and one for Python; the rest is the program's own.
pub const SPACE_OF_AN_EPISODE: u64 = 80 << 30;

/// Bytes of address space that this process may have; None where nothing bounds it.
pub fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Instances that a pool can hold beyond those that have a seat: one that is dropped gives back its seat first.
const SLACK: usize = 5;

/// How many instances of each profile there may be at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Allocation {
    /// As many as there are, made one by one.
    OnDemand,
    /// In pools of so many places. A place costs address space and, when the engine is made, a call of the system.
    Pooled { app: u32, python: u32, shell: u32 },
}

impl Allocation {
    /// Pools for all that the seats of each profile's guests allow, and some.
    pub(super) fn pooled(limits: &GuestLimits) -> Self {
        let places = |profile| {
            let kinds = Kind::ALL
                .into_iter()
                .filter(|kind| kind.profile() == profile);
            let seats = kinds.map(|kind| limits.of(kind).live_stores).sum::<usize>();
            u32::try_from(seats + SLACK).unwrap_or(u32::MAX)
        };
        Self::Pooled {
            app: places(Profile::App),
            python: places(Profile::Python),
            shell: places(Profile::Shell),
        }
    }

    fn places(self, profile: Profile) -> Option<u32> {
        match (self, profile) {
            (Self::OnDemand, _) => None,
            (Self::Pooled { app, .. }, Profile::App) => Some(app),
            (Self::Pooled { python, .. }, Profile::Python) => Some(python),
            (Self::Pooled { shell, .. }, Profile::Shell) => Some(shell),
        }
    }
}

/// How much work goes into compiled code. The same engine runs both, with the same fuel; stack frames differ in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// A third to a half of the work, for code that is larger and slower.
    Quick,
    Full,
}

/// An engine of a profile.
///
/// Allocates on demand where the address space is bounded, as the pool of one profile would leave nothing to the others, and where
/// it is too small for the pool.
fn build(profile: Profile, allocation: Allocation) -> wasmtime::Result<Engine> {
    let places = allocation.places(profile);
    let engine = match places.filter(|_| address_space().is_none()) {
        None => compiler(profile, Effort::Full)?,
        Some(places) => Engine::new(&config(profile, Some(places))).or_else(|error| {
            tracing::warn!(%error, "no pooling allocator; guests are instantiated on demand");
            compiler(profile, Effort::Full)
        })?,
    };
    start_ticker(&engine);
    Ok(engine)
}

/// An engine of a profile that allocates on demand, and runs nothing: it has no ticker. What it compiles fits a pooled
/// one.
pub(super) fn compiler(profile: Profile, effort: Effort) -> wasmtime::Result<Engine> {
    let mut config = config(profile, None);
    if effort == Effort::Quick {
        config
            .cranelift_opt_level(OptLevel::None)
            .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    Engine::new(&config)
}

pub(super) fn config(profile: Profile, places: Option<u32>) -> Config {
    let limits = profile.limits();
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_relaxed_simd(false)
        // A trap is told without frames: where in the component its code was, and how a debugger goes up its stack, are a part
        // of what is compiled and kept, and nobody reads them.
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(false)
        .memory_init_cow(true)
        .max_wasm_stack(limits.wasm_stack)
        .async_stack_size(limits.async_stack);
    if let Some(places) = places {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits, places)));
    }
    config
}

fn pool(limits: EngineLimits, count: u32) -> PoolingAllocationConfig {
    let EngineLimits {
        table_elements,
        tables,
        memories,
        core_instances,
        memory,
        // Settings of the engine as a whole.
        wasm_stack: _,
        async_stack: _,
    } = limits;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(count)
        .total_core_instances(count * core_instances)
        .max_core_instances_per_component(core_instances)
        .total_memories(count * memories)
        .max_memories_per_component(memories)
        .total_tables(count * tables)
        .max_tables_per_component(tables)
        .max_tables_per_module(tables)
        .table_elements(table_elements)
        .total_stacks(count)
        .max_memory_size(memory)
        // Pages that a slot keeps between sessions are zeroed by the allocator, and cost less than new ones.
        .linear_memory_keep_resident(256 * KIB)
        .table_keep_resident(64 * KIB)
        // Of those, only the ones that were written to, where the kernel can tell (Linux 6.7).
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The ticker holds the engine weakly, so it ends with it.
fn start_ticker(engine: &Engine) {
    let weak = engine.weak();
    let ticker = move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    };
    let spawned = std::thread::Builder::new()
        .name("epoch".into())
        .spawn(ticker);
    if let Err(error) = spawned {
        // Fuel still bounds every guest; only time does not.
        tracing::error!(%error, "no epoch ticker");
    }
}

/// Engines by profile, each built when it is first needed.
pub(super) struct Engines {
    allocation: Allocation,
    app: Mutex<Option<Engine>>,
    python: Mutex<Option<Engine>>,
    shell: Mutex<Option<Engine>>,
}

impl Engines {
    pub(super) fn new(allocation: Allocation) -> Self {
        Self {
            allocation,
            app: Mutex::default(),
            python: Mutex::default(),
            shell: Mutex::default(),
        }
    }

    pub(super) fn get(&self, profile: Profile) -> wasmtime::Result<Engine> {
        let cell = match profile {
            Profile::App => &self.app,
            Profile::Python => &self.python,
            Profile::Shell => &self.shell,
        };
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*cell {
            return Ok(engine.clone());
        }
        let engine = build(profile, self.allocation)?;
        *cell = Some(engine.clone());
        Ok(engine)
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::OF_AN_EPISODE;
    use super::*;

    #[test]
    fn a_bounded_address_space_has_room_for_every_memory_of_an_episode() {
        const MEMORY: u64 = (4 << 30) + (64 << 20);
        let memories = OF_AN_EPISODE as u64 + 2;
        assert!(memories * MEMORY + (4 << 30) < SPACE_OF_AN_EPISODE);
    }

    #[test]
    fn a_pool_is_larger_than_all_live_stores_of_its_guests() {
        let mut limits = GuestLimits::default();
        limits.app.live_stores = 3;
        let pools = Allocation::pooled(&limits);
        let places = |profile| pools.places(profile).unwrap() as usize;
        let app = 3 + limits.grader.live_stores + limits.document.live_stores;
        assert!(app < places(Profile::App) && places(Profile::App) < app + 10);
        assert!(limits.python.live_stores < places(Profile::Python));
        assert!(limits.shell.live_stores < places(Profile::Shell));
    }
}
