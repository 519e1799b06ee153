//! One bound of cost for all parts of a run, with few looks at what the others spent. Each makes known what it spent before each
//! turn, and may spend its share of half of what is left before it looks at the others again. Who finds that no more than a
//! half, a quarter, an eighth, ... of the bound is left makes a mark; who sees one looks anew. So at any moment the shares that
//! nobody looked at are less than what is left, and no part holds money that another could spend.

use std::sync::{Mutex, PoisonError};

use pibench_core::cost::MicroUsd;
use pibench_record::folder::FolderError;
use pibench_record::parts::Books;

/// Where the parts of a run tell each other what they spent.
pub(super) trait Told {
    /// Makes known what this part has spent.
    fn publish(&self, own: MicroUsd) -> Result<(), FolderError>;
    /// What all others have spent: a read for each.
    fn others(&self) -> Result<MicroUsd, FolderError>;
    fn mark(&self, name: &str) -> Result<(), FolderError>;
    /// One read.
    fn is_marked(&self, name: &str) -> Result<bool, FolderError>;
}

impl Told for Books {
    fn publish(&self, own: MicroUsd) -> Result<(), FolderError> {
        self.publish(own)
    }

    fn others(&self) -> Result<MicroUsd, FolderError> {
        self.others()
    }

    fn mark(&self, name: &str) -> Result<(), FolderError> {
        self.mark(name)
    }

    fn is_marked(&self, name: &str) -> Result<bool, FolderError> {
        self.is_marked(name)
    }
}

/// What a part knows from its last look at the others. The greater of two was had later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    /// How often the bound is halved until it is no more than was left.
    halvings: u32,
    /// Before it has spent this, the part need not look again. None before the first look: until its share of the first half.
    until: Option<MicroUsd>,
}

/// How a part keeps the bound of all.
#[derive(Debug)]
pub(super) struct Share {
    parts: u64,
    last: Mutex<Look>,
}

impl Share {
    /// That of one of so many.
    pub(super) fn of(parts: u32) -> Self {
        Self {
            parts: u64::from(parts),
            last: Mutex::default(),
        }
    }

    /// What all parts have spent, where that is the bound; None when another turn may begin. Episodes of a part may ask at once.
    pub(super) fn used_up(
        &self,
        told: &impl Told,
        limit: MicroUsd,
        own: MicroUsd,
    ) -> Result<Option<MicroUsd>, FolderError> {
        // First of all: whoever marks later has counted it.
        told.publish(own)?;
        let mut look = *self.last();
        // Below nothing there is no other mark.
        while half(limit, look.halvings) > 0 && told.is_marked(&mark(limit, look.halvings + 1))? {
            look.halvings += 1;
            look.until = Some(MicroUsd(0));
        }
        let share = |halvings| half(limit, halvings + 1) / self.parts;
        if own < look.until.unwrap_or(MicroUsd(share(0))) {
            return Ok(None);
        }
        loop {
            let mut spent = told.others()?;
            spent += own;
            let left = limit.0.saturating_sub(spent.0);
            let Some(halvings) = (limit.0.checked_div(left)).and_then(u64::checked_ilog2) else {
                // Each of the others has seen the marks before this one, and looks for it next.
                told.mark(&mark(limit, look.halvings + 1))?;
                return Ok(Some(spent));
            };
            if halvings <= look.halvings {
                break;
            }
            for number in look.halvings + 1..=halvings {
                told.mark(&mark(limit, number))?;
            }
            // And again: who begins a turn without having seen the mark made known before what it spent.
            look.halvings = halvings;
        }
        look.until = Some(MicroUsd(own.0 + share(look.halvings)));
        let mut last = self.last();
        *last = look.max(*last);
        Ok(None)
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Look> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bound, so many times halved; nothing at last.
fn half(limit: MicroUsd, times: u32) -> u64 {
    limit.0.checked_shr(times).unwrap_or_default()
}

/// Says that no more is left, of a bound: another bound of the same run has its own.
fn mark(limit: MicroUsd, halvings: u32) -> String {
    format!("{}-left-of-{}", half(limit, halvings), limit.0)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::sync::Condvar;

    use super::*;

    /// The next of some numbers that look like chance.
    fn draw(random: &mut u64, below: u64) -> u64 {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) % below
    }

    /// What parts see of each other. Between any two accesses the others may have made any number.
    #[derive(Debug, Default)]
    struct Place {
        state: Mutex<State>,
        moved: Condvar,
    }

    #[derive(Debug, Default)]
    struct State {
        sums: Vec<u64>,
        marks: BTreeSet<String>,
        reads: u64,
        random: u64,
        /// Whose the next access is; all may where nobody is.
        next: Option<usize>,
        live: Vec<usize>,
        /// Who has no access for so many of the others'.
        late: (usize, u64),
    }

    impl State {
        /// Says whose the next access is: mostly the same part's; and now and then one is late for long.
        fn pass_on(&mut self, part: usize) {
            self.late.1 = self.late.1.saturating_sub(1);
            if draw(&mut self.random, 100) == 0 {
                self.late = (part, draw(&mut self.random, 2000));
            } else if draw(&mut self.random, 8) > 0 && self.next == Some(part) {
                return;
            }
            let in_time = |live: &&usize| self.late.1 == 0 || **live != self.late.0;
            let mut able: Vec<usize> = self.live.iter().filter(in_time).copied().collect();
            if able.is_empty() {
                able.clone_from(&self.live);
            }
            let at = draw(&mut self.random, able.len().max(1) as u64);
            self.next = able.get(usize::try_from(at).unwrap()).copied();
        }
    }

    impl Place {
        fn of(parts: usize, random: u64) -> Self {
            let state = State {
                sums: vec![0; parts],
                random,
                ..State::default()
            };
            Self {
                state: Mutex::new(state),
                moved: Condvar::new(),
            }
        }

        fn access<T>(&self, part: usize, access: impl FnOnce(&mut State) -> T) -> T {
            let mut state = self.state.lock().unwrap();
            while state.next.is_some_and(|next| next != part) {
                state = self.moved.wait(state).unwrap();
            }
            let found = access(&mut state);
            if state.next.is_some() {
                state.pass_on(part);
                self.moved.notify_all();
            }
            found
        }

        fn leave(&self, part: usize) {
            self.access(part, |state| {
                state.live.retain(|live| *live != part);
                state.next = state.live.first().copied();
            });
        }
    }

    struct Part<'a> {
        place: &'a Place,
        index: usize,
    }

    impl Told for Part<'_> {
        fn publish(&self, MicroUsd(own): MicroUsd) -> Result<(), FolderError> {
            let index = self.index;
            self.place.access(index, |state| {
                state.sums[index] = state.sums[index].max(own);
            });
            Ok(())
        }

        fn others(&self) -> Result<MicroUsd, FolderError> {
            let parts = self.place.access(self.index, |state| {
                // The list, and this part's own file.
                state.reads += 2;
                state.sums.len()
            });
            let others = (0..parts).filter(|other| *other != self.index);
            let sum = |other: usize| {
                self.place.access(self.index, |state| {
                    state.reads += 1;
                    state.sums[other]
                })
            };
            Ok(MicroUsd(others.map(sum).sum()))
        }

        fn mark(&self, name: &str) -> Result<(), FolderError> {
            self.place.access(self.index, |state| {
                state.marks.insert(name.to_owned());
            });
            Ok(())
        }

        fn is_marked(&self, name: &str) -> Result<bool, FolderError> {
            Ok(self.place.access(self.index, |state| {
                state.reads += 1;
                state.marks.contains(name)
            }))
        }
    }

    /// What became of a part.
    #[derive(Debug, Default)]
    struct Played {
        paid: u64,
        /// What turns had cost that its processes were killed in: nobody knows.
        lost: u64,
        is_stopped: bool,
    }

    const DEAREST: u64 = 100;

    /// Plays turns until they are done, the money is spent or it was killed for good; killed, it is gone on with mostly.
    fn play(part: &Part<'_>, parts: u32, limit: u64, turns: u64, mut random: u64) -> Played {
        let mut played = Played::default();
        let (mut recorded, mut done) = (0, 0);
        'process: loop {
            let share = Share::of(parts);
            let told = part
                .place
                .access(part.index, |state| state.sums[part.index]);
            let mut own = told.max(recorded);
            while done < turns {
                let used_up = share.used_up(part, MicroUsd(limit), MicroUsd(own));
                if used_up.unwrap().is_some() {
                    played.is_stopped = true;
                    return played;
                }
                let cost = 1 + draw(&mut random, DEAREST);
                played.paid += cost;
                for _ in 0..draw(&mut random, 8) {
                    // It takes its time.
                    part.place.access(part.index, |_| ());
                }
                if draw(&mut random, 20) == 0 {
                    played.lost += cost;
                    if draw(&mut random, 4) == 0 {
                        return played;
                    }
                    continue 'process;
                }
                own += cost;
                recorded += cost;
                done += 1;
            }
            part.publish(MicroUsd(own)).unwrap();
            return played;
        }
    }

    /// Parts that play at once, in an order by chance; what became of them.
    fn play_at_once(parts: u32, limit: u64, turns: u64, random: u64) -> Vec<Played> {
        let count = parts as usize;
        let place = Place::of(count, random);
        {
            let mut state = place.state.lock().unwrap();
            state.live = (0..count).collect();
            state.next = Some(0);
        }
        std::thread::scope(|scope| {
            let begun: Vec<_> = (0..count)
                .map(|index| {
                    let place = &place;
                    scope.spawn(move || {
                        let part = Part { place, index };
                        let own = random.wrapping_add(index as u64).wrapping_mul(0x9e37_79b9);
                        let played = play(&part, parts, limit, turns, own);
                        place.leave(index);
                        played
                    })
                })
                .collect();
            begun.into_iter().map(|part| part.join().unwrap()).collect()
        })
    }

    #[test]
    fn whatever_their_order_parts_exceed_their_bound_by_a_turn_each_and_spend_all_of_it() {
        let mut random = 7;
        let (mut stopped, mut most) = (0, 0);
        for round in 0..400 {
            let parts = 2 + u32::try_from(draw(&mut random, 6)).unwrap();
            let turns = 1 + draw(&mut random, 60);
            let limit = 1 + draw(&mut random, u64::from(parts) * turns * DEAREST);
            let played = play_at_once(parts, limit, turns, random);
            let paid: u64 = played.iter().map(|part| part.paid).sum();
            let lost: u64 = played.iter().map(|part| part.lost).sum();
            let said = format!("round {round}: {paid} of {limit}, {played:?}");
            assert!(paid - lost < limit + DEAREST * u64::from(parts), "{said}");
            if played.iter().any(|part| part.is_stopped) {
                assert!(paid >= limit, "{said}");
                stopped += 1;
                most = most.max((paid - lost).saturating_sub(limit) * 10 / DEAREST);
            }
        }
        // The trial is a hard one: more than a turn too much was paid.
        assert!(stopped > 100 && most > 10, "{stopped}, {most} tenths");
    }

    /// A part during whose looks something else happens.
    struct Slow<'a>(Part<'a>, &'a dyn Fn());

    impl Told for Slow<'_> {
        fn publish(&self, own: MicroUsd) -> Result<(), FolderError> {
            self.0.publish(own)
        }

        fn others(&self) -> Result<MicroUsd, FolderError> {
            let others = self.0.others();
            self.1();
            others
        }

        fn mark(&self, name: &str) -> Result<(), FolderError> {
            self.0.mark(name)
        }

        fn is_marked(&self, name: &str) -> Result<bool, FolderError> {
            self.0.is_marked(name)
        }
    }

    /// Turns that cost 1 each, up to a sum.
    fn go_on(told: &impl Told, share: &Share, own: &Cell<u64>, to: u64) {
        let may_begin = || share.used_up(told, MicroUsd(8000), MicroUsd(own.get()));
        while own.get() < to && may_begin().unwrap().is_none() {
            own.set(own.get() + 1);
        }
    }

    #[test]
    fn who_marks_after_a_long_look_looks_again() {
        let place = Place::of(8, 0);
        let part = |index| Part {
            place: &place,
            index,
        };
        let begin = |index| (part(index), Share::of(8), Cell::new(0));
        let others: Vec<_> = (1..8).map(begin).collect();
        // So much that it looks last when one more than half is left.
        let own = Cell::new(999);
        // While it finds that half is spent, each of the others spends its share of the first half.
        let meanwhile = || {
            for (part, share, sum) in others.iter().filter(|_| own.get() == 4499) {
                go_on(part, share, sum, 500);
            }
        };
        go_on(&Slow(part(0), &meanwhile), &Share::of(8), &own, 8000);
        for (part, share, sum) in &others {
            go_on(part, share, sum, 8000);
        }
        let all: u64 = others.iter().map(|(.., sum)| sum.get()).sum();
        let all = own.get() + all;
        assert!((8000..8008).contains(&all), "{all}");
    }

    /// Reads of all parts, of which so many play at once, a turn each in turn; and how often a turn was asked for.
    fn reads(parts: u32, at_once: usize, turns: u64, limit: u64) -> (u64, u64) {
        let place = Place::of(parts as usize, 0);
        let mut waiting = (0..parts as usize).map(|index| {
            let place = &place;
            (Part { place, index }, Share::of(parts), 0, 0)
        });
        let mut playing: Vec<_> = waiting.by_ref().take(at_once).collect();
        let mut asked = 0;
        while !playing.is_empty() {
            playing.retain_mut(|(part, share, own, done)| {
                asked += 1;
                let used_up = share.used_up(part, MicroUsd(limit), MicroUsd(*own));
                *own += DEAREST;
                *done += 1;
                used_up.unwrap().is_none() && *done < turns
            });
            let free = at_once - playing.len();
            playing.extend(waiting.by_ref().take(free));
        }
        let reads = place.state.lock().unwrap().reads;
        (reads, asked)
    }

    #[test]
    fn parts_read_far_less_than_each_others_sums_before_each_turn() {
        // Parts, those at once, turns of each, and how much of what they cost is allowed, in per cent; at most so much of the
        // reads is left, in per cent.
        for (parts, at_once, turns, allowed, most) in [
            (200, 200, 16, 200, 20),
            (200, 20, 16, 200, 25),
            (200, 200, 16, 100, 50),
            (200, 20, 16, 100, 50),
            (200, 200, 1000, 200, 2),
            (200, 20, 1000, 100, 5),
            (2000, 2000, 1550, 100, 1),
        ] {
            let all = u64::from(parts) * turns * DEAREST;
            let (reads, asked) = reads(parts, at_once, turns, all * allowed / 100);
            let before = asked * (u64::from(parts) + 1);
            println!(
                "{parts} parts, {at_once} at once, {turns} turns each, {allowed} % allowed: {:.1} reads a turn instead of {}",
                reads as f64 / asked as f64,
                parts + 1
            );
            assert!(reads * 100 <= before * most, "{reads} of {before}");
        }
    }
}
