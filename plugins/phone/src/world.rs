//! What is in the world's phones, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::{date, datetime};
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::alarms::{Alarm, AlarmTime, Weekday};
use crate::contacts::Contact;
use crate::messages::TextMessage;
use crate::number::PhoneNumber;

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<PhoneNumber> for Email {
    fn base() -> &'static [(PhoneNumber, Self)] {
        NUMBERS
    }
}

impl Base<u32> for Contact {
    fn base() -> &'static [(u32, Self)] {
        CONTACTS
    }
}

impl Base<u32> for TextMessage {
    fn base() -> &'static [(u32, Self)] {
        MESSAGES
    }
}

impl Base<u32> for Alarm {
    fn base() -> &'static [(u32, Self)] {
        ALARMS
    }
}
