//! The world's music, made by the generator when this crate is built (`build.rs`).

#![allow(clippy::unreadable_literal, reason = "the tables are generated")]

use jiff::civil::{date, datetime};
use pibench_sdk::account::Email;
use pibench_sdk::layer::Base;
use pibench_sdk::list::List;
use pibench_sdk::text::Text;

use crate::catalogue::{Album, Artist, Song};
use crate::made::{Playlist, Review};

include!(concat!(env!("OUT_DIR"), "/world.rs"));

impl Base<u32> for Artist {
    fn base() -> &'static [(u32, Self)] {
        ARTISTS
    }
}

impl Base<u32> for Album {
    fn base() -> &'static [(u32, Self)] {
        ALBUMS
    }
}

impl Base<u32> for Song {
    fn base() -> &'static [(u32, Self)] {
        SONGS
    }
}

impl Base<u32> for Playlist {
    fn base() -> &'static [(u32, Self)] {
        PLAYLISTS
    }
}

impl Base<(u32, Email)> for Review {
    fn base() -> &'static [((u32, Email), Self)] {
        REVIEWS
    }
}
