//! The world's projects and what is in them, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use std::collections::BTreeSet;

use jiff::civil::{date, datetime};
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::arguments::Color;
use crate::comments::Comment;
use crate::labels::Label;
use crate::notifications::Notification;
use crate::projects::{Inbox, Project};
use crate::sections::Section;
use crate::sub_tasks::SubTask;
use crate::tasks::{Assignment, Task};
use crate::work::{Duration, Priority, Work};

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<Email> for Inbox {
    fn base() -> &'static [(Email, Self)] {
        INBOXES
    }
}

impl Base<u32> for Project {
    fn base() -> &'static [(u32, Self)] {
        PROJECTS
    }
}

impl Base<u32> for Section {
    fn base() -> &'static [(u32, Self)] {
        SECTIONS
    }
}

impl Base<u32> for Task {
    fn base() -> &'static [(u32, Self)] {
        TASKS
    }
}

impl Base<u32> for SubTask {
    fn base() -> &'static [(u32, Self)] {
        SUB_TASKS
    }
}

impl Base<u32> for Comment {
    fn base() -> &'static [(u32, Self)] {
        COMMENTS
    }
}

impl Base<u32> for Label {
    fn base() -> &'static [(u32, Self)] {
        LABELS
    }
}

/// Everybody has read theirs and thrown them away.
impl Base<u32> for Notification {
    fn base() -> &'static [(u32, Self)] {
        &[]
    }
}
