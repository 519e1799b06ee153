//! The world's mail, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::datetime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::mail::{Attachment, Copy, Message, Thread};

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<u32> for Message {
    fn base() -> &'static [(u32, Self)] {
        MESSAGES
    }
}

impl Base<u32> for Copy {
    fn base() -> &'static [(u32, Self)] {
        COPIES
    }
}

impl Base<u32> for Thread {
    fn base() -> &'static [(u32, Self)] {
        THREADS
    }
}
