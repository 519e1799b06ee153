//! The people of the world, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::datetime;

use super::{Account, Email};

include!(concat!(env!("OUT_DIR"), "/world.rs"));
