//! How long a call may take: what counts is the time that a processor works for it, and not how long it waits for one. So neither a
//! crowd of guests that spin nor other work of the machine makes a call late. It knows neither guests nor limits.

use std::task::Poll;
use std::time::Duration;

use futures::FutureExt as _;

/// Why a call was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Late {
    #[error("a processor worked for it as long as it may")]
    Busy,
    #[error("there was hardly a processor for it")]
    Starved,
}

/// A call may last this many times as long as a processor may work for it. Whoever is given less than a hundredth of one is on a
/// machine that cannot play.
const PATIENCE: u32 = 100;

/// What a call may last that a processor may work for so long.
pub(super) fn patience(most: Duration) -> Duration {
    most.saturating_mul(PATIENCE)
}

/// Waits for a call that gives way now and then, for which a processor works no longer than `most`. Costs two calls of the
/// system each time that it runs on.
pub(super) async fn serve<F: Future + Unpin>(
    mut call: F,
    most: Duration,
) -> Result<F::Output, Late> {
    let mut processor = Duration::ZERO;
    let served = std::future::poll_fn(|context| {
        let began = thread_time();
        let polled = call.poll_unpin(context);
        processor += thread_time().saturating_sub(began);
        match polled {
            Poll::Pending if processor >= most => Poll::Ready(Err(Late::Busy)),
            polled => polled.map(Ok),
        }
    });
    let served = tokio::time::timeout(patience(most), served).await;
    served.unwrap_or(Err(Late::Starved))
}

/// The processor time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works for so many milliseconds at a time, and gives way.
    async fn work(pieces: u32, milliseconds: u64) -> u32 {
        for _ in 0..pieces {
            let until = thread_time() + Duration::from_millis(milliseconds);
            while thread_time() < until {
                std::hint::spin_loop();
            }
            tokio::task::yield_now().await;
        }
        pieces
    }

    async fn served<F: Future>(call: F, most: u64) -> Result<F::Output, Late> {
        serve(Box::pin(call), Duration::from_millis(most)).await
    }

    #[tokio::test]
    async fn a_call_that_a_processor_works_for_too_long_is_busy_and_a_shorter_one_is_not() {
        assert_eq!(served(work(40, 2), 20).await, Err(Late::Busy));
        assert_eq!(served(work(4, 2), 20).await, Ok(4));
    }

    #[tokio::test]
    async fn waiting_for_others_is_not_counted() {
        let own = served(work(4, 2), 20);
        let others = futures::future::join_all((0..10).map(|_| work(4, 2)));
        assert_eq!(tokio::join!(own, others).0, Ok(4));
    }

    #[tokio::test]
    async fn a_call_that_hardly_has_a_processor_is_starved() {
        let never = std::future::pending::<()>();
        assert_eq!(served(never, 1).await, Err(Late::Starved));
    }
}
