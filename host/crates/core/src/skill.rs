//! What the block at the top of a `SKILL.md` may hold, for whoever reads it and whoever checks it. It opens no file.

use serde::Deserialize;

/// Bytes of a `SKILL.md` that the agent reads; a longer one is no skill to it.
pub const SIZE: usize = 64 << 10;

/// Names in a list, or in a text with commas or spaces between them.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`tools` must be a list of names")]
pub enum Names {
    List(Vec<String>),
    Text(String),
}

impl Names {
    /// The names in their order, of a text none that is empty.
    pub fn into_list(self) -> Vec<String> {
        match self {
            Self::List(names) => names,
            Self::Text(text) => {
                let names = text.split(|c: char| c == ',' || c.is_whitespace());
                let names = names.filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
        }
    }
}
