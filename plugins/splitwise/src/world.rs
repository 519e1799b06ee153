//! The world's groups and expenses, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::datetime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::ledger::{Expense, Group, Share};
use crate::money::Money;

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<u32> for Group {
    fn base() -> &'static [(u32, Self)] {
        GROUPS
    }
}

impl Base<u32> for Expense {
    fn base() -> &'static [(u32, Self)] {
        EXPENSES
    }
}
