//! Makes of other programs' data what this one reads: tasks of the released benchmark with the databases of its apps, and what
//! its code put out. Plays nothing and judges nothing.

pub mod results;
pub mod tasks;
