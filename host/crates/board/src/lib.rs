//! Shared evaluation without a server: runs as one archive that can be sent (`submission`), what a board asks of a run that
//! stands beside others (`rules`), and a site of all that passed (`site`). Whether scores follow from a record is for the engine
//! to say, and who signed for the signatures; both are told to this crate as data.

pub mod rules;
pub mod site;
pub mod submission;
