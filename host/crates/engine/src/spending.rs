//! What a run may cost: the sum of its record and of this process, and the operator's bound on it. It stops nothing by
//! itself; an episode asks before each turn.

mod share;

use std::path::Path;
use std::sync::Arc;

use super::error::{EpisodeError, LimitReached, Uncounted};
use pibench_core::cost::MicroUsd;
use pibench_core::message::Usage;
use pibench_model::meter::Meter;
use pibench_record::event::Event;
use pibench_record::folder::{FolderError, Shard};
use pibench_record::parts::{Books, place_of};
use pibench_record::standing::EpisodeTally;

use share::Share;

/// Money of a run.
#[derive(Debug, Default)]
pub struct Spending {
    /// Everything that was paid, for turns that were lost, too.
    pub meter: Arc<Meter>,
    /// None: no bound.
    pub limit: Option<MicroUsd>,
    /// Whether the run folder has another bound, or none: whoever goes on has to name this one again.
    pub is_other: bool,
    /// The other parts of the run, which have the same bound; None for a run that has none.
    pub others: Option<Others>,
}

/// The other parts of a run.
#[derive(Debug)]
pub struct Others {
    books: Books,
    share: Share,
}

impl Others {
    /// Those of the part in a run folder; None for one that is none or lies by itself.
    pub(super) fn of(run: &Path, shard: Option<Shard>) -> Option<Self> {
        let shard = shard?;
        let all = place_of(run, shard)?;
        Some(Self {
            books: Books::of(&all, shard.index),
            share: Share::of(shard.of),
        })
    }
}

impl Spending {
    /// Whether another turn may begin. One that has begun is played to its end, so a run spends somewhat more: a turn for each
    /// that is played at the time, in all parts.
    pub(super) fn check(&self) -> Result<(), EpisodeError> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        self.counted()?;
        let own = self.meter.spent();
        let used_up = match &self.others {
            Some(Others { books, share }) => share.used_up(books, limit, own)?,
            None => (own >= limit).then_some(own),
        };
        match used_up {
            Some(spent) => Err(LimitReached { spent, limit }.into()),
            None => Ok(()),
        }
    }

    /// Whether everything that this process paid for has a sum, where there is a bound.
    pub(super) fn counted(&self) -> Result<(), Uncounted> {
        match (self.limit, self.meter.unknown()) {
            (Some(_), Some(server)) => Err(Uncounted {
                server: server.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Makes known what this part has spent where its bound is that of others too.
    pub(super) fn publish(&self) -> Result<(), FolderError> {
        match (&self.limit, &self.others) {
            (Some(_), Some(Others { books, .. })) => books.publish(self.meter.spent()),
            _ => Ok(()),
        }
    }

    /// Takes into account what an earlier process had spent, and its record does not have: for turns that it lost. `told`: as far as
    /// it told it beside its record; a part made it known to the others, too.
    pub(super) fn recall(&self, told: MicroUsd) -> Result<(), FolderError> {
        let known = match &self.others {
            Some(Others { books, .. }) => told.max(books.own()?),
            None => told,
        };
        let lost = known.0.saturating_sub(self.meter.spent().0);
        self.meter.add(&Usage {
            cost: MicroUsd(lost),
            ..Usage::default()
        });
        Ok(())
    }

    /// Takes what the record of an earlier process has spent into account.
    pub(super) fn enter(&self, events: &[Event]) {
        self.meter.add(&EpisodeTally::of(events).usage().total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(spending.check().is_ok());
        spending.meter.add(&usage(1));
        let Err(EpisodeError::Spent(LimitReached { spent, limit })) = spending.check() else {
            panic!("another turn may begin");
        };
        assert_eq!((spent, limit), (MicroUsd(100), MicroUsd(100)));
        assert!(Spending::default().check().is_ok());
    }
}
