//! Links and lanes under thousands of orders of steps: items come in order, none is lost, the end comes once, no thread waits for ever,
//! and none is left.

pub(super) mod channel;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, PoisonError};

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};

use super::{lanes, link};
use crate::error::{Error, Result};
use crate::plumbing::{Pull, Running, Stop};

/// Schedules that are tried, half of them random, half by priorities that change at a few places.
const SCHEDULES: usize = 100_000;

/// What a stream has after its last item.
#[derive(Clone, Copy)]
enum Last {
    End,
    Fatal,
    Panic,
}

/// What the test sees of a stream.
#[derive(Default)]
struct Seen {
    pulled: AtomicU64,
    /// Items that the consumer has.
    consumed: Mutex<u64>,
    progress: Condvar,
    let_go: AtomicBool,
}

impl Seen {
    fn consume(&self, items: u64) {
        *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) += items;
        self.progress.notify_all();
    }
}

/// A stream of `items` numbers of which every third is an error.
struct Script {
    at: u64,
    items: u64,
    last: Last,
    /// The most items between this stream and its consumer.
    room: u64,
    /// Whether it makes every second item only when the consumer has all others.
    in_step: bool,
    seen: Arc<Seen>,
}

impl Pull for Script {
    type Item = u64;

    fn pull(&mut self) -> Result<Option<u64>> {
        let seen = &*self.seen;
        let mut consumed = seen.consumed.lock().unwrap_or_else(PoisonError::into_inner);
        while self.in_step && self.at % 2 == 0 && *consumed < self.at {
            consumed = seen.progress.wait(consumed).unwrap_or_else(PoisonError::into_inner);
        }
        assert!(self.at <= *consumed + self.room, "{} items of {}", self.at - *consumed, self.room);
        drop(consumed);
        if self.at < self.items {
            self.at += 1;
            seen.pulled.store(self.at, SeqCst);
            return number(self.at - 1);
        }
        match self.last {
            Last::End => Ok(None),
            Last::Fatal => Err(Error::argument("script", "more", "an error")),
            Last::Panic => std::panic::resume_unwind(Box::new("the script says so")),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.seen.let_go.store(true, SeqCst);
    }
}

/// Every third is an error.
fn number(n: u64) -> Result<Option<u64>> {
    match n % 3 {
        2 => Err(Error::User { stage: "script", position: n, source: "a third".into() }),
        _ => Ok(Some(n)),
    }
}

/// A stream by chance, put behind what is to be checked by `make`, given its depth; consumed to its end or dropped before.
fn scenario(
    depths: &[usize],
    room: fn(usize) -> u64,
    make: fn(usize, Running<u64>) -> Running<u64>,
    in_step: bool,
) {
    let mut random = thread_rng();
    let depth = depths[random.gen_range(0..depths.len())];
    let items = random.gen_range(0..7);
    let last = [Last::End, Last::Fatal, Last::Panic][random.gen_range(0..3)];
    let wanted = random.gen_range(1..=items + 2);
    let seen = Arc::new(Seen::default());
    let script = Script { at: 0, items, last, room: room(depth), in_step, seen: seen.clone() };
    let mut running = make(depth, Box::new(script));
    let mut next = 0;
    for _ in 0..wanted {
        match running.pull() {
            Ok(Some(n)) => assert!(n == next && n % 3 < 2, "{n} in place of {next}"),
            Err(Error::User { position, .. }) => {
                assert!(position == next && next % 3 == 2, "{position}: {next}")
            }
            Ok(None) => {
                assert!(next == items && matches!(last, Last::End), "the end in place of {next} of {items}");
                break;
            }
            Err(error) => {
                let told = match last {
                    Last::End => false,
                    Last::Fatal => matches!(error, Error::Argument { .. }),
                    Last::Panic => matches!(error, Error::Panicked { .. }),
                };
                assert!(next == items && told, "{error} in place of {next} of {items}");
                assert!(matches!(running.pull(), Ok(None)), "after the last error comes the end");
                break;
            }
        }
        next += 1;
        seen.consume(1);
    }
    if wanted > items {
        assert!(matches!(running.pull(), Ok(None)) && matches!(running.pull(), Ok(None)), "the end is final");
        assert!(seen.let_go.load(SeqCst), "what the stages held is let go at the end");
    }
    // A source in step waits no more.
    seen.consume(u64::MAX / 2);
    drop(running);
    assert!(seen.let_go.load(SeqCst), "no thread is left");
}

fn check(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(scenario, SCHEDULES / 2);
    shuttle::check_pct(scenario, SCHEDULES / 2, 3);
}

fn linked(depth: usize, upstream: Running<u64>) -> Running<u64> {
    link("link", depth, upstream, Stop::default())
}

/// Work during which others may run.
fn busy(n: u64, _: u64) -> Result<u64> {
    drop(Mutex::new(()).lock());
    Ok(n)
}

/// Those in the link, and the one that was handed over last.
fn of_link(depth: usize) -> u64 {
    depth as u64 + 1
}

/// Bursts of one item, and of two.
const DEPTHS: [usize; 5] = [1, 2, 3, 4, 16];

#[test]
fn a_link_hands_on_all_items_in_order_and_ends_once() {
    check(|| scenario(&DEPTHS, of_link, linked, false));
}

#[test]
fn a_link_keeps_no_item_from_its_consumer() {
    check(|| scenario(&DEPTHS, of_link, linked, true));
}

#[test]
fn a_link_over_a_link_does_so() {
    let twice = |depth, upstream| linked(depth, linked(2, upstream));
    check(move || scenario(&[1, 2], |depth| of_link(depth) + of_link(2), twice, false));
}

#[test]
fn lanes_hand_on_all_items_in_order_and_end_once() {
    let several = |workers, upstream| lanes("lanes", workers, upstream, Stop::default(), busy);
    check(move || scenario(&[1, 2, 3], |workers| super::in_flight(workers) as u64 + 1, several, false));
}
