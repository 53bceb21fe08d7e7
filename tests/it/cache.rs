//! `cache` keeps the items of an epoch in memory: a whole pass, without an error, or nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Dataset, Length, Position, Shuffle, Stream};
use proptest::prelude::*;

use crate::common::*;

/// The numbers `0..n`, cached, and how many of them were made so far.
fn counted(n: u64) -> (Stream<u64>, Arc<AtomicU64>) {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let stream = numbers(n).inspect(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    (stream.cache(), made)
}

fn count(made: &AtomicU64) -> u64 {
    made.load(Ordering::SeqCst)
}

#[test]
fn errors_beside_batches_that_are_passed_over_do_not_cut_it_short() {
    let known = Dataset::range(8).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    let batches = known.try_map(|n| if n == 0 { Err("bad") } else { Ok(n) }).batch(4);
    let cached = batches.skip(1).map(|batch| batch.rows()).cache();
    for pass in 0..3 {
        assert_eq!(values(&cached), [4, 3], "pass {pass}");
    }
}

#[test]
fn the_stages_above_run_once() {
    let (stream, made) = counted(10);
    for k in 0..3 {
        assert_eq!(epoch(&stream, k), (0..10).collect::<Vec<_>>());
    }
    assert_eq!(values(&stream.clone().filter(|n| n % 5 == 0)), [0, 5]);
    assert_eq!(count(&made), 10);
    assert_eq!(stream.length().unwrap(), Length::Unknown);
    assert_eq!(Dataset::range(9).unwrap().batch(2).cache().length().unwrap(), Length::Exact(5));
}

#[test]
fn nothing_is_cached_too() {
    let made = Arc::new(AtomicU64::new(0));
    let calls = made.clone();
    let stream = Dataset::from_generator(move |_| {
        calls.fetch_add(1, Ordering::SeqCst);
        0..0u64
    });
    let cached = stream.cache();
    for _ in 0..3 {
        assert!(values(&cached).is_empty());
    }
    assert_eq!(count(&made), 1);
}

#[test]
fn every_epoch_is_epoch_zero() {
    let rows = Dataset::range(50).unwrap().shuffle(Shuffle::full(7));
    let plain = rows.rows().map(|row| row.value::<u64>("0").unwrap());
    let expected = epoch(&plain, 0);
    // Even when another epoch is read first.
    for first in [0, 3] {
        let cached = plain.clone().cache();
        assert_eq!(epoch(&cached, first), expected);
        assert_eq!(epoch(&cached, 1), expected);
        assert_eq!(values(&cached.repeat(2)), [expected.clone(), expected.clone()].concat());
    }
    // What comes after the cache is new in each epoch.
    let after = plain.cache().shuffle_buffer(50, 1);
    assert_ne!(epoch(&after, 0), epoch(&after, 1));
}

#[test]
fn a_partial_pass_keeps_nothing_and_the_last_item_of_a_known_length_is_enough() {
    let (stream, made) = counted(10);
    let five = stream.clone().take(5).threads(gristmill::Threads::None);
    assert_eq!(values(&five.repeat(2)), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    assert_eq!(count(&made), 10);
    assert_eq!((values(&stream).len(), count(&made)), (10, 20));
    assert_eq!((values(&stream).len(), count(&made)), (10, 20));
    let made = Arc::new(AtomicU64::new(0));
    let counter = made.clone();
    let known = Dataset::range(10).unwrap().rows().inspect(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let known = known.cache();
    let mut iter = known.iter().unwrap();
    iter.by_ref().take(10).for_each(drop);
    assert_eq!((values(&known).len(), count(&made)), (10, 10));
    assert!(iter.next().is_none() && iter.next().is_none());
}

#[test]
fn an_upstream_error_keeps_its_place_in_every_pass() {
    let expected = vec![Ok(0), Ok(1), Err(bad(2)), Ok(3)];
    let stream = with_error(4, 2).cache();
    for _ in 0..2 {
        assert_eq!(everywhere(&stream), expected);
    }
    let broken = with_panic(2).cache();
    for _ in 0..2 {
        assert_eq!(everywhere(&broken), [Ok(0), Ok(1), Err(panicked(2))]);
    }
    // The failure of one pass is not the next one's.
    let tries = Arc::new(AtomicU64::new(0));
    let flaky = Dataset::try_from_generator(move |_| {
        let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
        (0..3u64).map(move |n| if first && n == 1 { Err("once".to_string()) } else { Ok(n) })
    });
    let flaky = flaky.cache();
    assert_eq!(outcomes(&flaky).iter().filter(|o| o.is_err()).count(), 1);
    assert_eq!((values(&flaky), values(&flaky)), (vec![0, 1, 2], vec![0, 1, 2]));
}

#[test]
fn a_panic_of_a_clone_is_an_error() {
    #[derive(Debug)]
    struct Once(u64);
    impl Clone for Once {
        fn clone(&self) -> Once {
            panic!("not twice")
        }
    }
    let told: Vec<_> = outcomes(&numbers(3).map(Once).cache()).into_iter().map(|o| o.map(|o| o.0)).collect();
    assert_eq!(told, [Err("cache panicked at item 0: not twice".to_string())]);
}

#[test]
fn two_first_passes_at_once_are_both_right() {
    let (stream, made) = counted(300);
    let pairs: Vec<(u64, u64)> = values(&stream.clone().zip(stream.clone()));
    assert_eq!(pairs, (0..300).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!(count(&made), 600);
    assert_eq!((values(&stream).len(), count(&made)), (300, 600));
    // One that was opened before the other filled the cache, and one that had only begun.
    let (stream, made) = counted(10);
    let (mut begun, mut opened) = (stream.iter().unwrap(), stream.iter().unwrap());
    assert_eq!(begun.next().unwrap().unwrap(), 0);
    begun.by_ref().for_each(drop);
    assert_eq!(opened.by_ref().map(|n| n.unwrap()).sum::<u64>(), 45);
    assert_eq!(count(&made), 10);
    // A pass that is dropped gives way to the next.
    let (stream, made) = counted(5);
    let mut left = stream.iter().unwrap();
    left.next();
    assert_eq!(values(&stream).len(), 5);
    drop(left);
    values(&stream);
    let before = count(&made);
    assert_eq!((values(&stream).len(), count(&made)), (5, before));
}

#[test]
fn many_threads_agree() {
    watchdog(|| {
        let (stream, _) = counted(500);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for k in 0..3 {
                        assert_eq!(epoch(&stream, k), (0..500).collect::<Vec<_>>());
                    }
                });
            }
        });
    });
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let known = Dataset::range(1000).unwrap().batch(10);
    let told = known.clone().cache_bytes(7999).plan().unwrap_err().to_string();
    assert!(told.contains("cache needs 8000 bytes, but its limit is 7.8 KiB"), "{told}");
    let peak = known.clone().cache().plan().unwrap().peak_bytes();
    assert!(peak >= 8000, "{peak}");
    assert!(known.clone().cache().budget(peak).iter().is_ok());
    let told = known.clone().cache().budget(peak - 1).iter().unwrap_err().to_string();
    assert!(told.contains(&format!("needs {peak} bytes")), "{told}");
    assert!(
        known.cache().repeat_forever().cache().plan().unwrap_err().to_string().contains("a stream that ends")
    );
    // Of unknown length: the items before come, then the refusal, once; and nothing is kept.
    let unknown = numbers(100).batch(10).cache_bytes(799);
    for _ in 0..2 {
        let seen = outcomes(&unknown);
        assert_eq!(seen.len(), 10);
        let told = seen[9].as_ref().unwrap_err();
        assert!(told.contains("cache needs 800 bytes, but its limit is 799 B"), "{told}");
    }
    assert_eq!(values(&numbers(100).batch(10).cache_bytes(800)).len(), 10);
    let told = outcomes(&numbers(100).batch(10).cache().budget(500))[6].clone().unwrap_err();
    assert!(told.contains("cache needs 560 bytes, but the budget of 500 B leaves it 500 B"), "{told}");
    let warned = numbers(9).cache().plan().unwrap().warnings;
    assert!(warned[0].contains("unknown length"), "{warned:?}");
}

#[test]
fn a_cached_batch_stays_as_it_is() {
    let stream = Dataset::range(6).unwrap().batch(3).cache();
    for k in 0..2 {
        let changed = stream.epoch(k).unwrap().map(|batch| {
            let mut batch = batch.unwrap();
            batch.column_mut::<u64>("0").unwrap().fill(9);
        });
        assert_eq!(changed.count(), 2);
    }
    assert_eq!(column::<u64>(&stream, "0"), [[0, 1, 2], [3, 4, 5]]);
}

#[test]
fn a_position_within_a_fill_and_after_it_continues() {
    let position = Position { epoch: 1, item: 7 };
    let (fresh, made) = counted(10);
    // A pass that starts in the middle fills the cache all the same.
    assert_eq!(drain(&mut fresh.seek(position).unwrap()), [Ok(7), Ok(8), Ok(9)]);
    assert_eq!(drain(&mut fresh.seek(position).unwrap()), [Ok(7), Ok(8), Ok(9)]);
    assert_eq!(count(&made), 10);
    let past = Position { epoch: 0, item: 11 };
    assert_eq!(drain(&mut fresh.seek(past).unwrap()), []);
    // Left in the middle of the fill, which another run then completes.
    let (stream, _) = counted(10);
    let mut left = stream.iter().unwrap();
    left.by_ref().take(4).for_each(drop);
    let at = left.position();
    drop(left);
    values(&stream);
    assert_eq!(drain(&mut stream.seek(at).unwrap()), (4..10).map(Ok).collect::<Vec<_>>());
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        lets_go(&numbers(1000).cache(), 3);
        lets_go(&numbers(1000).cache().prefetch(2), 3);
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&numbers(9).cache());
    reopens(&with_error(9, 4).cache());
    reopens(&Dataset::range(9).unwrap().shuffle(Shuffle::full(1)).batch(2).cache());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any number of passes, each left anywhere: every item is the model's, and a filled cache is never made again.
    #[test]
    fn it_is_a_vec(n in 0u64..20, passes in prop::collection::vec((0u64..4, 0u64..25, 0usize..25), 1..8)) {
        let (stream, made) = counted(n);
        let mut whole = false;
        for (epoch, from, items) in passes {
            let before = count(&made);
            let seen: Vec<u64> = stream.seek(Position { epoch, item: from }).unwrap()
                .take(items).map(|i| i.unwrap()).collect();
            let expected: Vec<u64> = (from.min(n)..n).take(items).collect();
            prop_assert_eq!(&seen, &expected);
            prop_assert!(!whole || count(&made) == before);
            whole |= from > n || seen.len() < items;
        }
    }
}
