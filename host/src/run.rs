//! Playing a suite: episodes side by side, each in order, every turn journaled. The only module that spawns tasks.

mod audit;
mod dispatcher;
mod episode;
mod estimate;
mod grade;
mod grading;
pub mod imported;
mod log;
mod outline;
mod plan;
mod preflight;
mod record;
mod replay;
mod results;
mod review;
mod session;
mod spending;
mod tools;
mod verify;
mod wake;
mod words;

pub use audit::{Audited, Sample, audit, audit_by_people, ballot};
pub use dispatcher::{Finished, RunError, play, play_all};
pub use episode::{EpisodeError, app_seed};
pub use estimate::estimate;
pub use grade::grade;
pub use log::Log;
pub use outline::outline;
pub use plan::{AgentRole, Plan, Roles};
pub use preflight::{Probe, preflight};
pub use results::{collect, is_whole};
pub use review::{Doubt, Doubtful, review};
pub use spending::Spending;
pub use tools::{Toolboxes, list_tools};
pub use verify::{Verified, verify};
