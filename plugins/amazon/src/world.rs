//! The world's shop, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::datetime;
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::catalogue::{Family, Product, Sale, Seller, Size};
use crate::feedback::{Answer, Question, Review, Written};
use crate::money::Cents;

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<u32> for Seller {
    fn base() -> &'static [(u32, Self)] {
        SELLERS
    }
}

impl Base<u32> for Product {
    fn base() -> &'static [(u32, Self)] {
        PRODUCTS
    }
}

impl Base<u32> for Family {
    fn base() -> &'static [(u32, Self)] {
        FAMILIES
    }
}

impl Base<u32> for Review {
    fn base() -> &'static [(u32, Self)] {
        REVIEWS
    }
}

impl Base<u32> for Question {
    fn base() -> &'static [(u32, Self)] {
        QUESTIONS
    }
}

impl Base<u32> for Answer {
    fn base() -> &'static [(u32, Self)] {
        ANSWERS
    }
}

impl Base<u32> for Written {
    fn base() -> &'static [(u32, Self)] {
        WRITTEN
    }
}
