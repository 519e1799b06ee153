//! Every bound of the shell's own, in one place: bashkit's defaults are for a smaller room. They lie below those of the
//! host, so that a shell that runs into one can still say so. What fuel bounds anyway has none.

use std::time::Duration;

use bashkit::{ExecutionLimits, FsLimits, MemoryLimits, SessionLimits};

const MIB: usize = 1 << 20;

/// What is kept of each stream, in bytes.
pub(crate) const KEPT: usize = 64 << 10;

/// Files outside of the workspace, together, in bytes: they live in this instance's memory.
const MEMORY_FILES: u64 = 64 << 20;

/// What a decompressed file may have, in bytes. On its way it is there up to four times.
pub(crate) const DECOMPRESSED: usize = 48 * MIB;

/// What bashkit gives of a device that has no end, in bytes; no setting changes it.
pub(crate) const DEVICES: [(&str, u64); 3] = [
    ("/dev/zero", 1 << 20),
    ("/dev/urandom", 8192),
    ("/dev/random", 8192),
];

/// Of one command line. `timeout` is in seconds.
pub(crate) fn execution(timeout: u32) -> ExecutionLimits {
    const COMMANDS: usize = 200_000;
    const LOOPS: usize = 2_000_000;
    ExecutionLimits::new()
        // Fuel bounds these.
        .max_work_units(u64::MAX)
        .max_aggregate_input_bytes(u64::MAX)
        .max_parser_operations(usize::MAX)
        .parser_timeout(Duration::MAX)
        // Pieces of pipelines at once: of the 256 MiB of the store, half.
        .max_live_intermediate_bytes(128 << 20)
        // A stream is cut to its ends afterwards; what a redirection writes to a file is bounded by this too.
        .max_stdout_bytes(64 * MIB)
        .max_stderr_bytes(MIB)
        .max_word_split_fields(1_000_000)
        .max_word_split_bytes(32 * MIB)
        .max_commands(COMMANDS)
        // Those of awk too; those of the shell are commands.
        .max_loop_iterations(LOOPS)
        .max_total_loop_iterations(LOOPS)
        // Those of the stack, which end before it does.
        .max_function_depth(16)
        .max_ast_depth(100)
        .max_subst_depth(32)
        .max_subshell_depth(32)
        .max_background_jobs(64)
        .timeout(Duration::from_secs(timeout.into()))
}

/// Of all command lines of a shell: there is one.
pub(crate) fn session() -> SessionLimits {
    SessionLimits::unlimited()
}

/// Of variables, arrays and functions.
pub(crate) fn variables() -> MemoryLimits {
    MemoryLimits::new()
        .max_variable_count(100_000)
        .max_total_variable_bytes(32 * MIB)
        .max_array_entries(500_000)
        .max_function_count(10_000)
        .max_function_body_bytes(8 * MIB)
}

/// Of files outside of the workspace.
pub(crate) fn memory_files() -> FsLimits {
    FsLimits::new()
        .max_total_bytes(MEMORY_FILES)
        .max_file_size(MEMORY_FILES)
        .max_file_count(10_000)
        .max_dir_count(10_000)
}
