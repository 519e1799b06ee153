//! Agents of the operator's own, each a child process that speaks the Agent Client Protocol on its standard input and
//! output: where its program lies (`installation`), what keeps it from the rest of the machine (`confine`), its life and the
//! lines that it writes (`process`), what it holds of files that are in no folder any more (`held`), what outlives it (`keep`),
//! what it starts as its MCP server (`bridge`), and what these lines say (`wire`).
//! Nothing that it writes is believed: a line, its nesting, its values and all lines of a turn are bounded before anything is
//! made of them. It plays nothing itself, and knows neither a suite nor a model.

mod bridge;
mod confine;
mod held;
mod installation;
mod keep;
mod process;
mod wire;

pub use bridge::{bridge, set_bridge};
pub use confine::{BWRAP, Confinement, Launch, NotConfined, WORKSPACE, confine_command, probe};
pub use installation::{Hidden, Installation, NotFound};
pub use keep::{Keep, KeptSession, Room, overfull};
pub use process::{Broken, Event, Process};
pub use wire::{Incoming, NoMessage, Outgoing, read};
