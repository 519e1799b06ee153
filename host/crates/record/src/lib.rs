//! What a run leaves on disk. The journals are the truth; everything else can be made from them again.

pub mod audited;
pub mod ballot;
pub mod blank;
pub mod clock;
pub mod disk;
mod draft;
mod error;
pub mod event;
pub mod folder;
pub mod folder_lock;
pub mod foreign;
pub mod identity;
pub mod journal;
mod line;
pub mod mirror;
mod names;
pub mod outline;
pub mod parts;
pub mod private;
pub mod publish;
pub mod pulse;
pub mod results;
pub mod rows;
mod same;
mod seal;
pub mod shards;
pub mod standing;
pub mod state;
pub mod trajectory;

pub use clock::SessionClock;
pub use event::Event;
pub use folder::{Manifest, RunFolder};
pub use journal::{Journal, JournalError};
pub use line::{Name, Used};
pub use state::EpisodeState;
