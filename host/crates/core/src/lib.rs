//! What is computed, and the words that files, records and models share: the session's rules, scores and their aggregation, exactly as the evaluation protocol says. Pure:
//! no async, clock, files or environment, so that a score follows from its record and nothing else; random numbers only in
//! `statistics`, from a given seed.

pub mod aggregate;
pub mod cost;
pub mod count;
pub mod estimate;
pub mod failure;
pub mod form;
pub mod lexical;
pub mod matcher;
pub mod message;
pub mod near;
pub mod path;
pub mod pattern;
pub mod player;
pub mod progress;
pub mod record;
pub mod schema;
pub mod score;
pub mod secrets;
pub mod session;
pub mod size;
pub mod skill;
pub mod statistics;
pub mod vocabulary;
pub mod weight;
