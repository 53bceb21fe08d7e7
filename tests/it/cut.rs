//! `take` and `skip` on a stream count items; an error counts as the item whose place it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gristmill::{Dataset, Stream};

use crate::common::*;

#[test]
fn they_part_a_stream_in_two() {
    assert_eq!(values(&numbers(10).take(3)), [0, 1, 2]);
    assert_eq!(values(&numbers(10).skip(7)), [7, 8, 9]);
    assert_eq!(values(&endless().skip(1000).take(2)), [1000, 1001]);
}

#[test]
fn of_nothing_comes_nothing() {
    for n in [0, 1, u64::MAX] {
        assert_eq!(everywhere(&numbers(0).take(n)), []);
        assert_eq!(everywhere(&numbers(0).skip(n)), []);
    }
}

#[test]
fn none_one_all_and_more_than_there_are_can_be_cut_off() {
    for n in [0, 1, 4, 5, 6, u64::MAX] {
        let (head, tail) = (numbers(5).take(n), numbers(5).skip(n));
        assert_eq!(values(&head), (0..n.min(5)).collect::<Vec<_>>(), "take({n})");
        assert_eq!(values(&tail), (n.min(5)..5).collect::<Vec<_>>(), "skip({n})");
        let known = || Dataset::range(5).unwrap().rows();
        assert_eq!(known().take(n).length().unwrap().exact(), Some(n.min(5)));
        assert_eq!(known().skip(n).length().unwrap().exact(), Some(5 - n.min(5)));
    }
}

#[test]
fn an_upstream_error_keeps_its_place_and_counts() {
    assert_eq!(everywhere(&with_error(5, 1).take(3)), [Ok(0), Err(bad(1)), Ok(2)]);
    assert_eq!(everywhere(&with_error(5, 2).take(3)), [Ok(0), Ok(1), Err(bad(2))]);
    assert_eq!(everywhere(&with_error(5, 2).skip(2)), [Err(bad(2)), Ok(3), Ok(4)]);
    assert_eq!(everywhere(&with_error(5, 2).skip(3)), [Ok(3), Ok(4)]);
    assert_eq!(everywhere(&with_panic(3).take(5)), [Ok(0), Ok(1), Ok(2), Err(panicked(3))]);
    assert_eq!(everywhere(&with_panic(3).skip(2)), [Ok(2), Err(panicked(3))]);
    assert_eq!(everywhere(&with_panic(3).skip(9)), [Err(panicked(3))]);
}

#[test]
fn nothing_beyond_the_last_item_is_asked_for() {
    assert_eq!(everywhere(&with_panic(3).take(3)), [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(everywhere(&with_panic(0).take(0)), []);
}

#[test]
fn with_its_last_item_take_lets_go_of_what_stands_above() {
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let flag = gone.clone();
    let guarded = Dataset::from_generator(move |_| {
        let guard = Guard(flag.clone());
        (0..).inspect(move |_: &u64| assert!(!guard.0.load(Ordering::SeqCst)))
    });
    let mut iter = guarded.take(2).iter().unwrap();
    assert_eq!(iter.next().unwrap().unwrap(), 0);
    assert!(!gone.load(Ordering::SeqCst));
    assert_eq!(iter.next().unwrap().unwrap(), 1);
    assert!(gone.load(Ordering::SeqCst), "while the iterator still lives");
}

#[test]
fn with_its_last_item_take_ends_a_thread_that_is_lost_in_a_search() {
    watchdog(|| {
        let lost = Arc::new(AtomicBool::new(false));
        let seen = lost.clone();
        let search = endless().filter(move |n| {
            seen.fetch_or(*n > 1000, Ordering::SeqCst);
            *n < 2
        });
        let mut iter = search.prefetch(8).take(2).concat(numbers(1)).iter().unwrap();
        assert_eq!(iter.next().unwrap().unwrap(), 0);
        until(|| lost.load(Ordering::SeqCst));
        assert_eq!(drain(&mut iter), [Ok(1), Ok(0)]);
    });
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.take(10));
        drops(|s| s.skip(2));
    });
}

#[test]
fn reopened_they_give_the_same() {
    let cuts: [fn(Stream<u64>) -> Stream<u64>; 3] = [|s| s.take(4), |s| s.skip(3), |s| s.skip(1).take(3)];
    for cut in cuts {
        reopens(&cut(numbers(7)));
        reopens(&cut(with_error(7, 2)));
    }
}
