//! `prefetch`, `prefetch_bytes` and `prefetch_auto` make items ready ahead of the consumer and change nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Batch, Dataset, Length, Stream};

use crate::common::*;

const DEPTHS: [usize; 8] = [0, 1, 2, 7, 8, 16, 17, 1000];

#[test]
fn a_prefetch_of_a_prefetch_keeps_both_links() {
    let plan = numbers(100).prefetch(8).prefetch(1).plan().unwrap();
    assert_eq!(plan.steps.iter().map(|step| step.link).collect::<Vec<_>>(), [0, 8, 1]);
}

#[test]
fn the_same_items_come_at_every_depth() {
    for depth in DEPTHS {
        assert_eq!(values(&numbers(50).prefetch(depth)), (0..50).collect::<Vec<_>>(), "prefetch({depth})");
        let known = Dataset::range(50).unwrap().batch(4).prefetch(depth);
        assert_eq!(known.length().unwrap(), Length::Exact(13));
    }
    let batches = || Dataset::range(10).unwrap().batch(4);
    let ahead: [Stream<Batch>; 4] = [
        batches().prefetch_bytes(1),
        batches().prefetch_bytes(1 << 20),
        batches().prefetch_auto(),
        batches().prefetch(2).prefetch(3),
    ];
    for stream in ahead {
        assert_eq!(values(&stream), values(&batches()), "{stream:?}");
    }
    assert_eq!(values(&numbers(3).prefetch_auto()), [0, 1, 2]);
}

#[test]
fn of_nothing_comes_nothing() {
    DEPTHS.into_iter().for_each(|depth| assert_eq!(everywhere(&numbers(0).prefetch(depth)), []));
}

#[test]
fn one_item_a_full_link_and_one_over_come_through() {
    for depth in DEPTHS {
        for n in [1, depth as u64, depth as u64 + 1] {
            assert_eq!(
                values(&numbers(n).prefetch(depth)),
                (0..n).collect::<Vec<_>>(),
                "{n}, prefetch({depth})"
            );
        }
    }
}

#[test]
fn a_depth_beyond_all_measure_does_no_harm() {
    alone(|| {
        for depth in [1 << 24, 1 << 44, usize::MAX] {
            assert_eq!(outcomes(&numbers(3).prefetch(depth)), [Ok(0), Ok(1), Ok(2)], "prefetch({depth})");
        }
    });
}

#[test]
fn no_more_is_made_ready_than_was_asked_for() {
    watchdog(|| {
        for depth in DEPTHS {
            let made = Arc::new(AtomicU64::new(0));
            let count = made.clone();
            let stream = numbers(10_000).inspect(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            });
            let mut iter = stream.prefetch(depth).iter().unwrap();
            for taken in 1..=500 {
                iter.next().unwrap().unwrap();
                let made = made.load(Ordering::SeqCst);
                assert!(made <= taken + depth as u64, "prefetch({depth}): {made} made, {taken} taken");
            }
            // Most of it is made ready without being waited for.
            until(|| made.load(Ordering::SeqCst) >= 500 + depth.div_ceil(2) as u64);
        }
    });
}

#[test]
fn an_upstream_error_keeps_its_place() {
    for depth in DEPTHS {
        let seen = everywhere(&with_error(4, 2).prefetch(depth));
        assert_eq!(seen, [Ok(0), Ok(1), Err(bad(2)), Ok(3)], "prefetch({depth})");
        let seen = everywhere(&with_panic(2).prefetch(depth));
        assert_eq!(seen, [Ok(0), Ok(1), Err(panicked(2))], "prefetch({depth})");
    }
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        DEPTHS.into_iter().for_each(|depth| drops(move |s| s.prefetch(depth)));
        drops(|s| s.prefetch(1).map(|n| n).prefetch(1).prefetch(1));
    });
}

#[test]
fn reopened_it_gives_the_same() {
    for depth in [0, 1, 8, 100] {
        reopens(&numbers(9).prefetch(depth));
        reopens(&with_error(9, 4).prefetch(depth));
    }
}
