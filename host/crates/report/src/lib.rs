//! What people look at: events or results in, text out. Nothing here plays, scores or writes into a run.

pub mod audit;
pub mod ballot;
pub mod bundle;
pub mod category;
pub mod check;
pub mod comparison;
pub mod cost;
pub mod escape;
pub mod estimate;
pub mod export;
pub mod failure;
pub mod figure;
pub mod follow;
pub mod format;
pub mod grid;
pub mod measures;
pub mod page;
pub mod parts_table;
pub mod progress;
pub mod published;
pub mod report;
pub mod run_record;
pub mod sheet;
pub mod table;
pub mod tables;
pub mod viewer;
