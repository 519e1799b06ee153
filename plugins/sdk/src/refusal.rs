//! How an app refuses a call, and in native tests where it did so last.

#[cfg(not(target_family = "wasm"))]
use std::cell::Cell;
#[cfg(not(target_family = "wasm"))]
use std::panic::Location;

#[cfg(not(target_family = "wasm"))]
thread_local! {
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Where this thread's last refusal was made.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn last_place() -> Option<&'static Location<'static>> {
    PLACE.get()
}

/// A call that the app refuses: an ordinary answer, which the agent sees.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {message}")]
pub struct ToolError {
    /// 401 not authorised, 404 unknown tool, 409 unknown id or what may exist once and does, 422 invalid value or rule
    /// of the service.
    pub status: u16,
    /// What is wrong and what would be right; at most 4 KiB, longer ones are cut.
    pub message: String,
}

impl ToolError {
    /// 401: the access token is missing or wrong.
    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(401, message)
    }

    /// 404: there is no such tool.
    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    pub fn unknown_tool(name: &str) -> Self {
        Self::new(404, format!("There is no tool {name}."))
    }

    /// 409: no such thing. `conflict("note", 7)` says that there is no note 7.
    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    pub fn conflict(kind: &str, id: impl std::fmt::Display) -> Self {
        Self::new(409, format!("There is no {kind} {id}."))
    }

    /// 409: what may exist only once exists already.
    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    pub fn taken(message: impl Into<String>) -> Self {
        Self::new(409, message)
    }

    /// 422: a value that is not allowed, or a rule of the service.
    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(422, message)
    }

    #[cfg_attr(not(target_family = "wasm"), track_caller)]
    fn new(status: u16, message: impl Into<String>) -> Self {
        const MAX_MESSAGE: usize = 4096;
        #[cfg(not(target_family = "wasm"))]
        PLACE.set(Some(Location::caller()));
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        Self { status, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let error = ToolError::invalid("ü".repeat(4000));
        assert_eq!(error.message.len(), 4096);
    }
}
