//! The task files: suites, personas and sessions as data. This module reads them, says everything that is wrong with
//! them, and hands the rest of the host a suite whose every reference is resolved. It runs nothing and asks no model.
//!
//! Packs come from strangers: every file is read through one door (`pack`) that follows no link and leaves no folder.

mod assignment;
pub mod catalog;
pub mod check;
pub mod identity;
pub mod load;
pub mod manifest;
pub mod problem;
pub mod schema;
pub mod statistics;
pub mod suite;
pub mod validate;

pub mod depth;
pub mod draft;
pub mod pack;
mod shape;
pub mod toml_file;
