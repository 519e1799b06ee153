//! The command line of pibench-host, which plays the sessions of π-Bench with an agent, a user agent and graders, and scores
//! them; see ARCHITECTURE.md for the crates below it.

pub mod address_space;
pub mod cli;
pub mod commands;
pub mod embedded;
pub mod exit;
pub mod fuzz;
pub mod open_files;
