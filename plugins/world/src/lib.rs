//! The world: a generator that makes, from a seed, the fictional people of all apps and what their accounts hold.
//!
//! Build scripts write parts of it into the components as constant tables ([`rust`]). It runs on the developer's
//! machine only; nothing of it is in a component but its output. It knows no app: what a part looks like there is the
//! app's build script's business. The same seed gives the same bytes.
//!
//! Everything ends with [`END`], so that it lies before the clock of every session.

mod chat;
mod draw;
mod files;
mod mail;
mod money;
mod music;
mod notes;
mod people;
mod projects;
pub mod rust;
mod shop;
mod words;

use jiff::civil::{Date, date};

pub use chat::{Alarm, Contact, TextMessage};
pub use files::{Entry, Home};
pub use mail::{Conversation, Email, Flags};
pub use money::{Expense, Group};
pub use music::{Album, Artist, Music, Playlist, Song, SongReview};
pub use notes::Note;
pub use people::{Circle, Kind, Person, Place};
pub use projects::{Comment, Label, Project, Section, Task};
pub use shop::{Answer, Product, Question, Review, Seller, Shop};

/// What the components are built with.
pub const SEED: u64 = 1;

/// The last day on which anything happened. The embedded sessions begin in 2026.
pub const END: Date = date(2025, 12, 31);

/// Who lives in the world. People are named by their place in this list everywhere else.
#[derive(Debug)]
pub struct World {
    seed: u64,
    /// By address.
    pub people: Vec<Person>,
    pub circles: Vec<Circle>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let (people, circles) = people::generate(seed);
        Self {
            seed,
            people,
            circles,
        }
    }

    /// What the shop sells, and what people say about it.
    pub fn shop(&self) -> Shop {
        shop::generate(self)
    }

    /// A catalogue of music, and what people made of it.
    pub fn music(&self) -> Music {
        music::generate(self)
    }

    /// Conversations by mail, by the moment of their first email.
    pub fn mail(&self) -> Vec<Conversation> {
        mail::generate(self)
    }

    /// Everybody's address book.
    pub fn contacts(&self) -> Vec<Contact> {
        chat::contacts(self)
    }

    /// By moment.
    pub fn text_messages(&self) -> Vec<TextMessage> {
        chat::text_messages(self)
    }

    pub fn alarms(&self) -> Vec<Alarm> {
        chat::alarms(self)
    }

    /// By moment.
    pub fn notes(&self) -> Vec<Note> {
        notes::generate(self)
    }

    /// Groups with their expenses, by the moment of their foundation.
    pub fn groups(&self) -> Vec<Group> {
        money::generate(self)
    }

    pub fn labels(&self) -> Vec<Label> {
        projects::labels(self)
    }

    /// By the moment of their creation.
    pub fn projects(&self) -> Vec<Project> {
        projects::generate(self)
    }

    /// Everybody's files, by owner.
    pub fn homes(&self) -> Vec<Home> {
        files::generate(self)
    }
}

#[cfg(test)]
mod tests;
