//! Providers' wire formats: one file each, bytes out and bytes in. Pure; connections and retries are the client's.

pub(super) mod openai;

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// No JSON: a proxy's page, or an answer that was cut off on its way. Says nothing about the model.
    NotJson { reason: String },
    /// JSON of another shape than the format's.
    WrongShape { reason: String },
    /// An error in the place of an answer, as some gateways send it with status 200.
    Error { status: u16, message: String },
}
