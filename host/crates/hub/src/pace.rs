//! How fast a submitter asks and an address guesses, in memory alone. A submitter has its own pace, an address its own count of
//! wrong tokens, so none has to wait for another's. The right token is never kept waiting by wrong ones.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many seconds' requests may come at once.
const BURST: f64 = 4.0;

/// Addresses whose guesses are counted at a time. With more, those whose minute is over go, and then all: an army of
/// addresses is not kept out by counting, and must not fill the memory.
const ADDRESSES: usize = 10_000;

const MINUTE: Duration = Duration::from_mins(1);

/// How long the answer to the first wrong token takes, and to any.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// Requests by submitter.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<HashMap<String, Pot>>);

#[derive(Debug)]
struct Pot {
    left: f64,
    at: Instant,
    /// Requests that are being answered.
    open: u32,
}

impl Pace {
    /// Lets a request of the submitter's begin; else how long it has to wait. To be ended by [`Pace::leave`].
    pub(crate) fn enter(
        &self,
        name: &str,
        a_second: u32,
        at_once: u32,
        now: Instant,
    ) -> Result<(), Duration> {
        let rate = f64::from(a_second);
        let mut pots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !pots.contains_key(name) {
            let pot = Pot {
                left: rate * BURST,
                at: now,
                open: 0,
            };
            pots.insert(name.to_owned(), pot);
        }
        let Some(pot) = pots.get_mut(name) else {
            return Ok(());
        };
        let since = now.saturating_duration_since(pot.at).as_secs_f64();
        pot.left = (pot.left + since * rate).min(rate * BURST);
        pot.at = now;
        if pot.open >= at_once {
            return Err(Duration::from_secs(1));
        }
        if pot.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - pot.left) / rate));
        }
        pot.left -= 1.0;
        pot.open += 1;
        Ok(())
    }

    pub(crate) fn leave(&self, name: &str) {
        let mut pots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pot) = pots.get_mut(name) {
            pot.open = pot.open.saturating_sub(1);
        }
    }
}

/// Wrong tokens by address.
#[derive(Debug, Default)]
pub(crate) struct Guesses(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Guesses {
    /// Counts a wrong token; how long its answer takes, and None for an address that has shown more than `most` in a minute.
    pub(crate) fn count_wrong(&self, address: IpAddr, most: u32, now: Instant) -> Option<Duration> {
        let address = network(address);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ADDRESSES && !all.contains_key(&address) {
            all.retain(|_, (begun, _)| now.saturating_duration_since(*begun) < MINUTE);
            if all.len() >= ADDRESSES {
                all.clear();
            }
        }
        let count = match all.entry(address) {
            Entry::Occupied(mut entry) => {
                let (begun, count) = entry.get_mut();
                if now.saturating_duration_since(*begun) >= MINUTE {
                    (*begun, *count) = (now, 0);
                }
                *count = count.saturating_add(1);
                *count
            }
            Entry::Vacant(entry) => entry.insert((now, 1)).1,
        };
        (count <= most).then(|| (FIRST * 2_u32.saturating_pow(count - 1)).min(LONGEST))
    }
}

/// Who has one address of IPv6 has all that share its first 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_waits_and_another_submitter_does_not() {
        let (pace, now) = (Pace::default(), Instant::now());
        let ask = |name, now| {
            let answer = pace.enter(name, 10, 100, now);
            pace.leave(name);
            answer
        };
        for _ in 0..40 {
            assert_eq!(ask("ana", now), Ok(()));
        }
        assert_eq!(ask("ana", now), Err(Duration::from_millis(100)));
        assert_eq!(ask("bo", now), Ok(()));
        assert_eq!(ask("ana", now + Duration::from_millis(101)), Ok(()));
    }

    #[test]
    fn requests_that_hang_keep_out_those_of_the_same_submitter() {
        let (pace, now) = (Pace::default(), Instant::now());
        let enter = |name| pace.enter(name, 10, 2, now).is_ok();
        assert_eq!(
            [enter("ana"), enter("ana"), enter("ana"), enter("bo")],
            [true, true, false, true]
        );
        pace.leave("ana");
        assert!(enter("ana"));
    }

    #[test]
    fn each_guess_takes_longer_than_the_one_before_until_none_is_looked_at() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let [one, other] = [[1, 2, 3, 4], [1, 2, 3, 5]].map(IpAddr::from);
        let wrong = |address, now| guesses.count_wrong(address, 6, now);
        let waits: Vec<_> = (0..7).map(|_| wrong(one, now)).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(
            waits,
            [
                ms(200),
                ms(400),
                ms(800),
                ms(1600),
                ms(3200),
                ms(5000),
                None
            ]
        );
        assert_eq!(wrong(other, now), ms(200));
        assert_eq!(wrong(one, now + MINUTE), ms(200));
    }

    #[test]
    fn the_addresses_of_one_network_guess_together_and_no_army_fills_the_memory() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let of = |d, h| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, d, 0, 0, 0, h));
        for h in 0..10 {
            assert_eq!(guesses.count_wrong(of(1, h), 3, now).is_some(), h < 3);
        }
        for number in 0..30_000_u32 {
            guesses.count_wrong(IpAddr::from(number.to_be_bytes()), 3, now);
        }
        assert!(guesses.0.lock().unwrap().len() <= ADDRESSES);
    }
}
