//! How a run is stopped from outside. Ctrl-C ends the turns in flight at once. SIGTERM and SIGUSR1, by which schedulers announce
//! that they will kill, let them be played to their end as far as the scheduler's grace allows. Nothing that is written is
//! lost either way.

use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use signal_hook::consts::{SIGTERM, SIGUSR1};
use signal_hook::flag::register_conditional_shutdown;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// The exit code of a process that its user or its scheduler interrupted: 128 and the number of SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// What of the grace is left to those that are ended before their time: to close what they have open.
const RESERVE: Duration = Duration::from_secs(5);

/// What of the reserve is left when the process ends whether all is closed or not.
const LAST: Duration = Duration::from_secs(1);

/// Whether the signals end the process themselves: until somebody listens.
static AT_ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on until something is played, the signals end the process, with the exit code of one that is interrupted. Without
/// it the kernel would keep them from pid 1, as a container's program is.
pub fn end_at_once() -> io::Result<()> {
    let at_once = AT_ONCE.get_or_init(|| Arc::new(AtomicBool::new(true)));
    for signal in [SIGTERM, SIGUSR1] {
        register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(at_once))?;
    }
    Ok(())
}

/// The signals of a scheduler, heard from its making on.
#[derive(Debug)]
pub struct Scheduler {
    term: Signal,
    usr1: Signal,
}

impl Scheduler {
    pub fn heard() -> io::Result<Self> {
        let heard = Self {
            term: signal(SignalKind::terminate())?,
            usr1: signal(SignalKind::user_defined1())?,
        };
        if let Some(at_once) = AT_ONCE.get() {
            at_once.store(false, Ordering::SeqCst);
        }
        Ok(heard)
    }

    /// Comes back at the first one.
    pub async fn says_stop(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.usr1.recv() => {}
        }
    }
}

/// Whether turns may begin, and how long those that have begun may take.
#[derive(Debug, Default)]
pub struct Stop {
    asked: AtomicBool,
    grace: Duration,
}

/// The scheduler wants the process to end. Nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("start another turn: a signal asked to stop")]
pub struct Stopped;

impl Stop {
    /// `grace`: from the signal to the kill.
    pub fn within(grace: Duration) -> Self {
        Self {
            asked: AtomicBool::new(false),
            grace,
        }
    }

    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether another turn may begin.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        if self.asked.load(Ordering::SeqCst) {
            return Err(Stopped);
        }
        Ok(())
    }

    /// Passes while the turns in flight may be played on.
    pub(super) async fn turns_may_end(&self) {
        sleep(self.grace.saturating_sub(RESERVE)).await;
    }

    /// Ends the process when the grace is all but over. To be awaited after [`Stop::turns_may_end`].
    pub(super) async fn end(&self) {
        sleep(self.grace.min(RESERVE).saturating_sub(LAST)).await;
        exit(INTERRUPTED.into());
    }
}
