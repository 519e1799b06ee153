//! What plugin authors use: a trait for tool apps and one for graders, one export macro each, and the services that
//! the host offers to both.
//!
//! A tool app implements [`app::ToolApp`] and ends with [`export_tool_app!`]; a grader implements [`grader::Grader`]
//! and ends with [`export_grader!`]. The crate compiles natively too: there the host's services are stood in for, the
//! export macros only check types, and [`testkit`] drives an app through the same door as the host.
//!
//! The bindings of `wit/` live in one hidden module. What each interface promises is written there, in `wit/`.

extern crate self as pibench_sdk;

pub mod account;
pub mod app;
pub mod attachment;
pub mod clock;
#[doc(hidden)]
pub mod exported;
pub mod grader;
#[cfg(target_family = "wasm")]
mod heap;
pub mod layer;
pub mod list;
pub mod listing;
pub mod log;
pub mod random;
pub mod records;
mod refusal;
#[cfg(not(target_family = "wasm"))]
mod stand_in;
pub mod table;
#[cfg(not(target_family = "wasm"))]
pub mod testkit;
pub mod text;
pub mod time;
pub mod tool;

pub use pibench_search as search;

/// A component is one thread, with a memory that it alone grows.
#[cfg(target_family = "wasm")]
#[global_allocator]
static HEAP: heap::Heap = heap::heap();

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
