//! What a run may cost: the sum of its record and of this process, and the operator's bound on it. It stops nothing by
//! itself; an episode asks before each turn.

use std::sync::Arc;

use pibench_core::cost::MicroUsd;
use pibench_model::meter::Meter;
use pibench_record::event::Event;
use pibench_record::standing::EpisodeTally;

/// Money of a run.
#[derive(Debug, Default)]
pub struct Spending {
    /// Everything that was paid, for turns that were lost, too.
    pub meter: Arc<Meter>,
    /// None: no bound.
    pub limit: Option<MicroUsd>,
}

/// The bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("start another turn: {spent} are spent, and --max-cost is {limit}")]
pub struct LimitReached {
    pub spent: MicroUsd,
    pub limit: MicroUsd,
}

impl Spending {
    /// Whether another turn may begin. One that has begun is played to its end, so a run spends somewhat more.
    pub(super) fn check(&self) -> Result<(), LimitReached> {
        let spent = self.meter.spent();
        match self.limit {
            Some(limit) if spent >= limit => Err(LimitReached { spent, limit }),
            _ => Ok(()),
        }
    }

    /// Takes what the record of an earlier process has spent into account.
    pub(super) fn enter(&self, events: &[Event]) {
        self.meter.add(&EpisodeTally::of(events).usage().total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::message::Usage;
    use pibench_record::event::{RoleUsage, Turn};

    fn usage(micro: u64) -> Usage {
        Usage {
            calls: 1,
            cost: MicroUsd(micro),
            ..Usage::default()
        }
    }

    fn turn(micro: u64) -> Event {
        Event::Turn(Box::new(Turn {
            usage: RoleUsage {
                judge: usage(micro),
                ..RoleUsage::default()
            },
            ..Turn::default()
        }))
    }

    #[test]
    fn a_turn_begins_until_the_bound_is_reached() {
        let spending = Spending {
            limit: Some(MicroUsd(100)),
            ..Spending::default()
        };
        spending.enter(&[turn(60), turn(39)]);
        assert_eq!(spending.check(), Ok(()));
        spending.meter.add(&usage(1));
        let reached = spending.check().unwrap_err();
        assert_eq!(
            (reached.spent, reached.limit),
            (MicroUsd(100), MicroUsd(100))
        );
        assert_eq!(Spending::default().check(), Ok(()));
    }
}
