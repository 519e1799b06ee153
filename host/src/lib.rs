//! pibench-host: plays the sessions of π-Bench with an agent, a user agent and graders, and scores them. Tool apps and
//! graders are WebAssembly components; see ARCHITECTURE.md for the map.

pub mod agent;
pub mod cli;
pub mod commands;
pub mod eval;
pub mod exit;
pub mod fuzz;
pub mod judge;
pub mod model;
pub mod open_files;
pub mod plugin;
pub mod report;
pub mod run;
pub mod serve;
pub mod store;
pub mod task;
pub mod user;
pub mod web;
pub mod workspace;
