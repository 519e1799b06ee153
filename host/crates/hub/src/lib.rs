//! A host for others' agents. Submitters hold tokens, open runs of the owner's suite, and play their episodes over the protocol
//! of `serve`; they see what an agent sees and nothing of the suite beside. What is used is counted by submitter, what waits
//! stands in a queue, and what is finished is signed. It plays nothing itself: that is the engine's.

mod config;
mod disk;
mod finish;
mod hall;
mod ledger;
mod pace;
mod preflight;
mod room;
mod seat;
mod token;
mod web;

pub use config::{ConfigError, HubFile, Limits, Quotas};
pub use finish::NAMESPACE;
pub use hall::{Hub, HubError};
pub use ledger::{Known, Ledger, LedgerError};
pub use preflight::PreflightError;
pub use web::{Heard, hear, open_door, serve};
