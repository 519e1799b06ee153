//! The shell's time. It has two clocks that pass by sleeping only: tokio's, by which commands sleep and time out side by
//! side, and the host's, which `date` and Python read. This module moves the one that is behind.

use std::time::Duration;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use crate::interval::parse;

/// When both clocks began.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    shell: tokio::time::Instant,
    host: std::time::Instant,
}

impl Time {
    pub(crate) fn new() -> Self {
        Self {
            shell: tokio::time::Instant::now(),
            host: std::time::Instant::now(),
        }
    }

    /// Sleeps, beside whatever else does.
    async fn pass(&self, interval: Duration) {
        tokio::time::sleep(interval).await;
        // The host waits for nothing.
        std::thread::sleep(self.shell.elapsed().saturating_sub(self.host.elapsed()));
    }

    /// After a program that slept by the host's clock.
    pub(crate) async fn catch_up(&self) {
        let behind = self.host.elapsed().saturating_sub(self.shell.elapsed());
        tokio::time::sleep(behind).await;
    }
}

/// `sleep`: bashkit's own ends after a minute without a word, and moves one clock only.
pub(crate) struct Sleep(pub(crate) Time);

#[async_trait]
impl Builtin for Sleep {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        match parse(context.args) {
            Ok(interval) => self.0.pass(interval).await,
            Err(reason) => return Ok(ExecResult::err(format!("sleep: {reason}\n"), 1)),
        }
        Ok(ExecResult::default())
    }
}
