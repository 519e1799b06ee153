//! Agents of the operator's own, each a child process that speaks the Agent Client Protocol on its standard input and
//! output: where its program lies (`installation`), what it may not see (`hidden`), what keeps it from the rest of the machine
//! (`confine`), its life and the lines that it writes (`process`), what it holds of files that are in no folder any more (`held`),
//! what outlives it (`keep`), what it starts as its MCP server (`bridge`), what of the machine it reaches all the same
//! (`sockets`), and what these lines say (`wire`).
//! Nothing that it writes is believed: a line, its nesting, its values and all lines of a turn are bounded before anything is
//! made of them. It plays nothing itself, knows no model, and of a suite no more than the names of its files and
//! the beginning of `suite.toml`.

mod bridge;
mod confine;
mod held;
mod hidden;
mod installation;
mod keep;
mod process;
mod sockets;
mod wire;

pub use bridge::{bridge, set_bridge};
pub use confine::{BWRAP, Confinement, Launch, NotConfined, WORKSPACE, confine_command, probe};
pub use hidden::{Hidden, Shows};
pub use installation::{Installation, NotFound};
pub use keep::{Keep, KeptSession};
pub use process::{Broken, Event, Process};
pub use sockets::listening;
pub use wire::{Incoming, NoMessage, Outgoing, read};
