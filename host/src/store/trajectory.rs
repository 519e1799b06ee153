//! One session in one file, for readers: what its journal lines say, together. Made from them, and never read back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{SessionFinished, SessionStarted, Turn};
use crate::task::manifest::Category;

/// `trajectories/<persona>.r<run>/<session>.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trajectory {
    /// 1.
    pub version: u32,
    pub suite: String,
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    pub title: String,
    pub category: Option<Category>,
    pub started: SessionStarted,
    pub turns: Vec<Turn>,
    pub finished: SessionFinished,
}
