//! Playing a suite: episodes side by side, each in order, every turn journaled; and what is made of a
//! record by judging, grading or following it again. It spawns the tasks of episodes, and prints nothing.

pub mod acp;
mod audit;
pub mod check;
mod contents;
mod course;
mod dispatcher;
mod dossier;
mod episode;
mod error;
mod estimate;
mod grade;
mod grading;
pub mod imported;
pub mod judge;
mod log;
mod merge;
mod outline;
pub mod plan;
mod preflight;
mod recorded;
mod records;
mod replay;
mod results;
mod review;
pub mod role;
pub mod serve;
mod session;
mod spending;
mod stages;
pub mod stop;
mod temporary;
mod times;
mod tools;
mod turn;
pub mod user;
mod verify;
mod wake;
mod words;

pub use audit::{
    Against, AgainstError, Audited, Disagreement, Sample, audit, audit_by_people, ballot,
    hold_against,
};
pub use dispatcher::{Finished, play, play_all};
pub use episode::app_seed;
pub use error::{EpisodeError, RunError};
pub use estimate::estimate;
pub use grade::grade;
pub use log::Log;
pub use merge::{MergeError, Merged};
pub use outline::outline;
pub use pibench_model::ModelError;
pub use plan::{AgentRole, Plan, Roles};
pub use preflight::{Probe, preflight, probe_all};
pub use results::{collect, is_whole};
pub use review::{Doubt, Doubtful, review};
pub use spending::Spending;
pub use stop::INTERRUPTED;
pub use temporary::make_temporary_folder;
pub use times::Times;
pub use tools::{Toolboxes, list_tools};
pub use verify::{Extent, Verified, verify};
