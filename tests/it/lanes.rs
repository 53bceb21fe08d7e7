//! Workers on one stage: the order is kept, what is in flight is bounded, and no failure looks like the end.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gristmill::plumbing::{Outline, Pull, Run, Running, Stage};
use gristmill::{Dataset, Length, Result, Stream, Threads};

use crate::common::*;

const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Takes a while that differs from item to item.
fn uneven(n: u64) -> u64 {
    (0..n.wrapping_mul(0x9e37_79b9) % 5000).fold(n, |n, _| black_box(n))
}

/// Uneven work that panics at item `bad`.
fn failing(workers: usize, bad: u64) -> Stream<u64> {
    numbers(40).par_map(workers, move |n| {
        assert!(n != bad, "boom");
        uneven(n)
    })
}

#[test]
fn the_order_is_kept_however_uneven_the_work() {
    for workers in WORKERS {
        assert_eq!(values(&numbers(500).par_map(workers, uneven)), (0..500).collect::<Vec<_>>());
        let batches = Dataset::range(500).unwrap().batch(3).workers(workers);
        assert_eq!(column::<u64>(&batches, "0").concat(), (0..500).collect::<Vec<_>>());
        let twice = numbers(500).par_map(workers, uneven).prefetch(2).par_map(3, uneven);
        assert_eq!(values(&twice), (0..500).collect::<Vec<_>>());
    }
}

/// Items that are being worked on or lie ready, at most: what the verbs' docs say.
fn in_flight(workers: usize) -> u64 {
    2 * workers as u64 + 4
}

#[test]
fn a_slow_item_stops_the_others_after_a_full_ring() {
    watchdog(|| {
        for workers in [2, 4, 8] {
            let ring = in_flight(workers);
            let started = Arc::new(AtomicU64::new(0));
            let count = started.clone();
            let stream = numbers(1000).par_map(workers, move |n| {
                count.fetch_add(1, Ordering::SeqCst);
                if n == 0 {
                    // The others go as far as they can, and are given time to go further.
                    until(|| count.load(Ordering::SeqCst) >= ring);
                    (0..1000).for_each(|_| std::thread::yield_now());
                    return count.load(Ordering::SeqCst);
                }
                n
            });
            let mut iter = stream.threads(Threads::Auto).iter().unwrap();
            assert_eq!(iter.next().unwrap().unwrap(), ring, "{workers} workers");
            for taken in 1..100 {
                assert_eq!(iter.next().unwrap().unwrap(), taken);
                assert!(started.load(Ordering::SeqCst) <= taken + 1 + ring, "{workers} workers");
            }
        }
    });
}

/// An item that is counted while it lives.
struct Live(u64, Arc<AtomicU64>);

impl Drop for Live {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Items without end, how many of them live, and how many were made.
fn live() -> (Stream<Live>, Arc<AtomicU64>, Arc<AtomicU64>) {
    let (alive, made) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (living, making) = (alive.clone(), made.clone());
    let stream = endless().map(move |n| {
        making.fetch_add(1, Ordering::SeqCst);
        living.fetch_add(1, Ordering::SeqCst);
        Live(n, living.clone())
    });
    (stream, alive, made)
}

#[test]
fn behind_a_slow_first_item_no_more_live_than_the_plan_says() {
    type Verbs = fn(Stream<Live>, Arc<AtomicBool>) -> Stream<Live>;
    /// Holds the first item back until the gate opens.
    fn slow(item: Live, gate: &AtomicBool) -> Live {
        until(|| item.0 > 0 || gate.load(Ordering::SeqCst));
        item
    }
    // What may live: what each verb holds, and the item in the hand of each that pulls.
    let chains: [(Verbs, u64); 5] = [
        (|s, gate| s.par_map(4, move |item| slow(item, &gate)), in_flight(4) + 1),
        (
            |s, gate| s.prefetch(5).par_map(2, move |item| slow(item, &gate)).prefetch(3),
            5 + in_flight(2) + 3 + 3,
        ),
        (
            |s, gate| s.par_map(8, |item| item).par_map(2, move |item| slow(item, &gate)),
            in_flight(8) + in_flight(2) + 2,
        ),
        (|s, gate| s.prefetch(20).map(move |item| slow(item, &gate)).prefetch(1), 20 + 1 + 2),
        (
            |s, gate| {
                let one = move |item: Live| {
                    let held = std::sync::Mutex::new(Some(item));
                    Dataset::from_generator(move |_| held.lock().unwrap().take())
                };
                s.par_map(3, move |item| slow(item, &gate)).par_interleave(4, 1, one)
            },
            in_flight(3) + 4 * 3 + 2,
        ),
    ];
    watchdog(move || {
        for (at, (verbs, most)) in chains.into_iter().enumerate() {
            let (items, alive, made) = live();
            let gate = Arc::new(AtomicBool::new(false));
            let mut iter = verbs(items, gate.clone()).threads(Threads::Auto).iter().unwrap();
            std::thread::scope(|scope| {
                let first = scope.spawn(|| iter.next().unwrap().unwrap());
                // The others go as far as they can, and are given time to go further.
                let mut still = (0, 0);
                while still.1 < 2000 {
                    std::thread::yield_now();
                    let now = made.load(Ordering::SeqCst);
                    still = if now > 1 && now == still.0 { (now, still.1 + 1) } else { (now, 0) };
                    assert!(alive.load(Ordering::SeqCst) <= most, "chain {at}: more than {most} live");
                }
                gate.store(true, Ordering::SeqCst);
                assert_eq!(first.join().unwrap().0, 0);
            });
            for n in 1..500 {
                assert_eq!(iter.next().unwrap().unwrap().0, n, "chain {at}");
                assert!(alive.load(Ordering::SeqCst) <= most, "chain {at}: more than {most} live");
            }
            drop(iter);
            assert_eq!(alive.load(Ordering::SeqCst), 0, "chain {at}");
        }
    });
}

#[test]
fn a_panic_comes_after_all_good_items_and_is_never_a_clean_end() {
    watchdog(|| {
        for workers in [1, 2, 8] {
            for bad in [0, 20, 39] {
                let panicked = Err(format!("par_map panicked at item {bad}: boom"));
                let expected: Vec<_> = (0..bad).map(Ok).chain([panicked]).collect();
                assert_eq!(everywhere(&failing(workers, bad)), expected, "{workers} workers");
            }
        }
    });
}

#[test]
fn a_panic_is_told_even_if_all_others_wait_for_its_item() {
    watchdog(|| {
        for workers in [2, 4, 8] {
            for _ in 0..20 {
                let started = Arc::new(AtomicU64::new(0));
                let stream = numbers(1000).par_map(workers, move |n| {
                    started.fetch_add(1, Ordering::SeqCst);
                    if n == 0 {
                        until(|| started.load(Ordering::SeqCst) >= 2 * workers as u64);
                        (0..100).for_each(|_| std::thread::yield_now());
                        panic!("late");
                    }
                });
                let seen = outcomes(&stream.threads(Threads::Auto));
                assert_eq!(seen, [Err("par_map panicked at item 0: late".into())]);
            }
        }
    });
}

#[test]
fn an_item_s_error_keeps_its_place() {
    for workers in WORKERS {
        let stream = with_error(40, 11).par_try_map(workers, |n| match n % 10 {
            3 => Err(format!("{n} ends in three")),
            _ => Ok(uneven(n)),
        });
        let expected = (0..40).map(|n| match n {
            11 => Err(bad(11)),
            n if n % 10 == 3 => Err(format!("par_try_map, item {n}: {n} ends in three")),
            n => Ok(n),
        });
        assert_eq!(everywhere(&stream), expected.collect::<Vec<_>>(), "{workers} workers");
    }
}

#[test]
fn what_breaks_the_upstream_comes_after_all_good_items() {
    for workers in WORKERS {
        for bad in [0, 1, 17] {
            let expected: Vec<_> = (0..bad).map(Ok).chain([Err(panicked(bad))]).collect();
            assert_eq!(everywhere(&with_panic(bad).par_map(workers, uneven)), expected, "{workers} workers");
        }
    }
}

#[test]
fn dropped_while_workers_are_busy_they_finish_their_items_and_leave() {
    alone(|| {
        for workers in [2, 4, 8] {
            let calls = Arc::new(AtomicU64::new(0));
            let release = Arc::new(AtomicBool::new(false));
            let (count, open) = (calls.clone(), release.clone());
            let stream = endless().par_map(workers, move |n| {
                count.fetch_add(1, Ordering::SeqCst);
                until(|| n == 0 || open.load(Ordering::SeqCst));
            });
            let mut iter = stream.threads(Threads::Auto).iter().unwrap();
            iter.next().unwrap().unwrap();
            until(|| calls.load(Ordering::SeqCst) > workers as u64);
            std::thread::scope(|scope| {
                let dropping = scope.spawn(move || drop(iter));
                release.store(true, Ordering::SeqCst);
                dropping.join().unwrap();
            });
            no_thread_is_left();
            assert!(calls.load(Ordering::SeqCst) <= 1 + in_flight(workers), "{workers} workers");
        }
    });
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        for workers in WORKERS {
            drops(move |s| s.par_map(workers, uneven));
            drops(move |s| s.par_map(workers, uneven).prefetch(1).par_map(workers, uneven));
        }
    });
}

#[test]
fn without_threads_and_with_them_all_outcomes_are_the_same() {
    for workers in WORKERS {
        let stream = with_error(60, 5)
            .par_map_seeded(workers, 7, |n, random| (n, random.below(1000)))
            .par_try_map(workers, |(n, r)| if r % 7 == 0 { Err("unlucky") } else { Ok((n, r)) })
            .filter(|(n, _)| n % 3 > 0)
            .par_map(workers, |(n, r)| {
                assert!(n < 50, "fifty");
                (n, r)
            });
        let seen = everywhere(&stream);
        let last = seen.last().unwrap().as_ref().unwrap_err();
        assert!(last.starts_with("par_map panicked at item ") && last.ends_with(": fifty"), "{last}");
        assert!(seen.contains(&Err(bad(5))) && seen.len() > 20);
    }
}

#[test]
fn reopened_they_give_the_same() {
    for workers in WORKERS {
        reopens(&with_error(10, 3).par_map(workers, uneven));
        reopens(&numbers(10).par_map_seeded(workers, 1, |_, random| random.next_u64()).repeat(2));
    }
}

/// A stage of a user's own, whose third item panics outside of all that the library's stages guard.
struct Own;

struct OwnPull(u64);

impl Stage for Own {
    type Item = u64;

    fn outline(&self, _run: &Run) -> Result<Outline> {
        Ok(Outline::source("own()", Length::Unknown))
    }

    fn open(&self, _run: &Run) -> Result<Running<u64>> {
        Ok(Box::new(OwnPull(0)))
    }

    fn label(&self) -> &'static str {
        "own"
    }
}

impl Pull for OwnPull {
    type Item = u64;

    fn pull(&mut self) -> Result<Option<u64>> {
        assert!(self.0 != 2, "two");
        self.0 += 1;
        Ok(Some(self.0 - 1))
    }
}

#[test]
fn a_panic_of_a_stage_of_one_s_own_is_told_the_same_with_threads_and_without() {
    let panicked = || Err("own panicked at item 2: two".to_string());
    assert_eq!(everywhere(&Stream::new(Own)), [Ok(0), Ok(1), panicked()]);
    assert_eq!(everywhere(&Stream::new(Own).prefetch(1).filter(|n| *n > 0)), [Ok(1), panicked()]);
    assert_eq!(everywhere(&Stream::new(Own).skip(1)), [Ok(1), panicked()]);
    assert_eq!(everywhere(&Stream::new(Own).par_map(2, |n| n)), [Ok(0), Ok(1), panicked()]);
}
