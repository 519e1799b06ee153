//! The kinds of engines: what was compiled for one cannot run in another.

/// A set of engine settings. A component compiled for one cannot run in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Tool apps and compiled graders.
    App,
    /// The Python interpreter: more memory, more stack.
    Python,
    /// The agent's shell: more memory, more stack.
    Shell,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::App, Self::Python, Self::Shell];

    /// The name in cache keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Python => "python",
            Self::Shell => "shell",
        }
    }

    /// The profile of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}
