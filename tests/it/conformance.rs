//! What users of tf.data rely on, number by number. Where the rule here is another one, its test says why.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use gristmill::{Batch, Dataset, Length, Position, Result, Shuffle, Stream};

use crate::common::*;

fn range(rows: u64) -> Dataset {
    Dataset::range(rows).unwrap()
}

/// The rows of epoch `epoch`, in order.
fn order(dataset: &Dataset, epoch: u64) -> Vec<u64> {
    dataset.order(epoch, 0, 1000).unwrap()
}

fn ids(batches: &Stream<Batch>) -> Vec<Vec<u64>> {
    column(batches, "0")
}

/// The numbers of an n-row range as a stream of known length.
fn known(n: u64) -> Stream<u64> {
    range(n).rows().map(|row| row.value("0").unwrap())
}

fn lengths<const N: usize>(streams: [Stream<u64>; N]) -> [Length; N] {
    streams.map(|stream| stream.length().unwrap())
}

fn sorted(mut items: Vec<u64>) -> Vec<u64> {
    items.sort();
    items
}

/// 1 2 3 NaN 5, and a check that refuses NaN.
fn checked(map: impl Fn(Stream<f64>, fn(f64) -> Result<f64, String>) -> Stream<f64>) -> Stream<f64> {
    let check = |x: f64| if x.is_nan() { Err("not a number".to_string()) } else { Ok(x) };
    map(Dataset::from_generator(|_| [1.0, 2.0, 3.0, f64::NAN, 5.0]), check)
}

#[test]
fn c01_batch_of_range() {
    for batches in [range(8).batch(3), numbers(8).batch(3)] {
        assert_eq!(ids(&batches), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
    }
    for batches in [range(8).batch_exact(3), numbers(8).batch_exact(3)] {
        assert_eq!(ids(&batches), [[0, 1, 2], [3, 4, 5]]);
    }
}

#[test]
fn c02_batch_counts() {
    assert_eq!((ids(&range(5).batch(2)).len(), ids(&range(5).batch_exact(2)).len()), (3, 2));
    for empty in [range(0).batch(2), range(0).batch_exact(2), numbers(0).batch(2), numbers(0).batch_exact(2)]
    {
        assert_eq!(everywhere(&empty), []);
    }
    assert!(range(5).batch(0).plan().is_err() && numbers(5).batch(0).plan().is_err());
}

#[test]
fn c03_batches_go_across_repetitions() {
    for (size, last) in [(14, 14), (15, 1)] {
        for batches in [range(7).repeat(28).batch(size), numbers(7).repeat(28).batch(size)] {
            let seen = ids(&batches);
            assert_eq!(seen.iter().filter(|rows| rows.len() == size).count(), 196 / size);
            assert_eq!(seen.last().unwrap().len(), last);
            assert!(seen.concat().iter().copied().eq((0..196).map(|n| n % 7)));
        }
    }
}

#[test]
fn c05_components_keep_their_types_through_batch_and_unbatch() {
    let columns =
        (vec![255u8, 0], vec![65535u16, 1], vec![65536u32, 2], vec![4294967296u64, 3], vec![-1i8, 4]);
    let rows = Dataset::from_slices(columns).unwrap();
    let items =
        Dataset::from_generator(|_| [(255u8, 65535u16, 65536u32, 4294967296u64, -1i8), (0, 1, 2, 3, 4)]);
    for batches in [rows.batch(2), items.batch(2), rows.batch(1).unbatch().batch(2)] {
        let row = values(&batches.unbatch()).remove(0);
        assert_eq!(row.spec().to_string(), "(0: u8, 1: u16, 2: u32, 3: u64, 4: i8)");
        assert_eq!((row.value("0").unwrap(), row.value("1").unwrap()), (255u8, 65535u16));
        assert_eq!((row.value("2").unwrap(), row.value("3").unwrap()), (65536u32, 4294967296u64));
        assert_eq!(row.value::<i8>("4").unwrap(), -1);
    }
}

#[test]
fn c14_batch_masked_fills_up_and_marks() {
    // Larger data and data of unknown size is no error: it comes as more than one batch.
    for batches in [range(2).batch_masked(3), numbers(2).batch_masked(3)] {
        assert_eq!(ids(&batches), [[0, 1, 0]]);
        assert_eq!(column::<bool>(&batches, "mask"), [[true, true, false]]);
    }
}

#[test]
fn c15_repeat() {
    let thrice = [0, 1, 2, 0, 1, 2, 0, 1, 2];
    assert_eq!(
        (order(&range(3).repeat(3), 0), values(&numbers(3).repeat(3))),
        (thrice.to_vec(), thrice.to_vec())
    );
    assert_eq!((order(&range(3).repeat(0), 0), values(&numbers(3).repeat(0))), (vec![], vec![]));
    assert_eq!(order(&range(3).repeat(2).repeat(3), 1), order(&range(3).repeat(6), 1));
    assert_eq!(values(&numbers(3).repeat(2).repeat(3)), values(&numbers(3).repeat(6)));
    watchdog(|| assert_eq!(everywhere(&numbers(0).repeat_forever()), []));
}

#[test]
fn c16_take_and_skip() {
    // Counts are u64: "all" is u64::MAX, where tf.data has -1.
    for (n, head, tail) in
        [(3, 0..3, 3..10), (7, 0..7, 7..10), (100, 0..10, 10..10), (u64::MAX, 0..10, 10..10)]
    {
        let (head, tail): (Vec<u64>, Vec<u64>) = (head.collect(), tail.collect());
        assert_eq!(
            (order(&range(10).take(n), 0), order(&range(10).skip(n), 0)),
            (head.clone(), tail.clone())
        );
        assert_eq!((values(&numbers(10).take(n)), values(&numbers(10).skip(n))), (head, tail));
    }
}

#[test]
fn c17_zip() {
    let stream = Dataset::from_generator(|_| 1..4).zip(Dataset::from_generator(|_| 13..15));
    assert_eq!(values(&stream), [(1, 13), (2, 14)]);
}

#[test]
fn c18_concatenate() {
    let stream = Dataset::from_generator(|_| 1..4).concat(Dataset::from_generator(|_| 4..8));
    assert_eq!(values(&stream), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ids(&range(2).concat(&range(3)).unwrap().batch(9)), [[0, 1, 0, 1, 2]]);
    let slices = |named: bool| match named {
        true => Dataset::from_slices((("x", vec![1u64]), ("y", vec![1u64]))).unwrap(),
        false => Dataset::from_slices(vec![1u32]).unwrap(),
    };
    for other in [slices(true), slices(false)] {
        assert!(range(2).concat(&other).is_err());
        assert!(range(2).batch(1).concat(other.batch(1)).plan().is_err());
    }
}

#[test]
fn c19_shard() {
    let shard = |rows, count, index| order(&range(rows).shard(count, index).unwrap(), 0);
    assert_eq!([shard(10, 3, 0), shard(10, 3, 1)], [vec![0, 3, 6, 9], vec![1, 4, 7]]);
    assert_eq!([shard(10, 5, 2), shard(10, 20, 5), shard(1, 5, 2)], [vec![2, 7], vec![5], vec![]]);
    assert_eq!([(0, 0), (3, 3), (3, 4)].map(|(n, i)| range(10).shard(n, i).is_err()), [true; 3]);
}

#[test]
fn c21_range_by() {
    let range = |start, stop, step| {
        let batches = Dataset::range_by(start, stop, step).unwrap().batch(9);
        column::<i64>(&batches, "0").concat()
    };
    assert_eq!([range(5, 1, 1), range(5, 1, -2), range(1, 5, 2)], [vec![], vec![5, 3], vec![1, 3]]);
}

#[test]
fn c22_enumerate_from() {
    let stream = Dataset::from_generator(|_| 1..4).enumerate_from(5);
    assert_eq!(values(&stream), [(5, 1), (6, 2), (7, 3)]);
}

#[test]
fn c30_a_parallel_map_keeps_the_order() {
    for workers in [1, 2, 8] {
        for depth in 1..=16 {
            let stream = numbers(60).par_map(workers, |n| n * n).prefetch(depth);
            assert!(values(&stream).into_iter().eq((0..60).map(|n| n * n)), "{stream:?}");
        }
    }
}

#[test]
fn c31_an_error_in_a_map_takes_its_item_s_place() {
    let streams = [
        ("try_map", checked(|s, check| s.try_map(check))),
        ("par_try_map", checked(|s, check| s.par_try_map(2, check))),
        ("try_map", checked(|s, check| s.try_map(check).prefetch(2))),
    ];
    for (verb, stream) in streams {
        let error = Err(format!("{verb}, item 3: not a number"));
        assert_eq!(everywhere(&stream), [Ok(1.0), Ok(2.0), Ok(3.0), error, Ok(5.0)]);
    }
}

#[test]
fn c32_errors_can_be_passed_over() {
    // A loop that does not stop at an item's error ignores errors: no verb is needed.
    let good = |stream: &Stream<f64>| stream.iter().unwrap().filter_map(Result::ok).collect::<Vec<_>>();
    assert_eq!(good(&checked(|s, check| s.try_map(check))), [1.0, 2.0, 3.0, 5.0]);
    assert_eq!(good(&checked(|s, check| s.par_try_map(2, check).prefetch(2))), [1.0, 2.0, 3.0, 5.0]);
    let x = Dataset::from_generator(|_| [1.0, 2.0, 0.0, 4.0]);
    let inverse = x.try_map(|x| if x == 0.0 { Err("division by zero") } else { Ok(1.0 / x) });
    let pairs: Vec<_> = inverse
        .zip(Dataset::from_generator(|_| [1, 2, 3, 4]))
        .iter()
        .unwrap()
        .filter_map(Result::ok)
        .collect();
    assert_eq!(pairs, [(1.0, 1), (0.5, 2), (0.25, 4)]);
}

#[test]
fn c33_the_end_is_final_for_every_stage() {
    fn end<T: Send + 'static>(stream: Stream<T>) {
        let mut iter = stream.iter().unwrap();
        while iter.next().is_some() {}
        assert!(iter.next().is_none() && iter.next().is_none() && iter.nth(3).is_none(), "{stream:?}");
    }
    let batches = || range(5).batch(2);
    end(numbers(3));
    end(with_error(3, 2));
    end(with_panic(3));
    end(batches().workers(2));
    end(range(5).batch_exact(2));
    end(range(5).batch_masked(2));
    end(range(5).rows());
    end(batches().unbatch());
    end(numbers(5).batch(2));
    end(numbers(5).batch_exact(2));
    end(numbers(5).batch_masked(2));
    end(numbers(5).map(|n| n));
    end(numbers(5).par_map(2, |n| n));
    end(numbers(5).filter(|n| n % 2 == 0));
    end(numbers(5).inspect(|_| {}));
    end(numbers(5).enumerate());
    end(numbers(5).take(3));
    end(numbers(5).skip(3));
    end(numbers(5).repeat(2));
    end(numbers(5).zip(numbers(3)));
    end(numbers(3).zip(numbers(5)));
    end(numbers(3).concat(numbers(5)));
    end(numbers(5).shuffle_buffer(3, 1));
    end(numbers(5).prefetch(2));
    end(numbers(5).batch(2).cast::<f32>("0").typed::<f32>().unwrap());
}

/// A generator's iterator that counts those alive.
struct Alive(Arc<AtomicU64>);

impl Alive {
    fn stream() -> (Stream<u64>, Arc<AtomicU64>) {
        let alive = Arc::new(AtomicU64::new(0));
        let count = alive.clone();
        let factory = move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Alive(count.clone())
        };
        (Dataset::from_generator(factory), alive)
    }
}

impl Iterator for Alive {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        Some(7)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn c35_a_generator_stopped_short_is_released() {
    let (stream, alive) = Alive::stream();
    let mut iter = stream.iter().unwrap();
    iter.next().unwrap().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 1);
    drop(iter);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let mut iter = stream.take(2).prefetch(3).iter().unwrap();
    assert_eq!(iter.by_ref().count(), 2);
    assert_eq!(alive.load(Ordering::SeqCst), 0, "while the iterator is there");
}

#[test]
fn c36_a_factory_is_called_once_an_iterator_and_once_a_repetition() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = Dataset::from_generator(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        0..3
    });
    let (mut a, mut b) = (stream.iter().unwrap(), stream.iter().unwrap());
    let mixed = [a.next(), b.next(), a.next(), b.next()].map(|item| item.unwrap().unwrap());
    assert_eq!((mixed, calls.load(Ordering::SeqCst)), ([0, 0, 1, 1], 2));
    values(&stream.repeat(3));
    assert_eq!(calls.load(Ordering::SeqCst), 5);
}

#[test]
fn c37_a_full_pipeline_is_dropped_at_once() {
    alone(|| {
        let made = Arc::new(AtomicU64::new(0));
        let count = made.clone();
        let stream = endless().par_map(4, move |n| (n, count.fetch_add(1, Ordering::SeqCst))).prefetch(100);
        let mut iter = stream.iter().unwrap();
        iter.next().unwrap().unwrap();
        until(|| made.load(Ordering::SeqCst) > 64);
        drop(iter);
        no_thread_is_left();
    });
}

#[test]
fn c38_a_blocked_map_is_left_when_its_call_returns() {
    // A user's function cannot be cut short: dropping waits for the call that is running, and for no other.
    alone(|| {
        let (open, gate) = mpsc::channel::<()>();
        let (gate, entered) = (Mutex::new(gate), Arc::new(AtomicBool::new(false)));
        let inside = entered.clone();
        let stream = endless().map(move |n| {
            if n == 1 {
                inside.store(true, Ordering::SeqCst);
                gate.lock().unwrap().recv().unwrap_err();
            }
            n
        });
        let mut iter = stream.prefetch(4).iter().unwrap();
        assert_eq!(iter.next().unwrap().unwrap(), 0);
        until(|| entered.load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            scope.spawn(move || drop(iter));
            drop(open);
        });
        no_thread_is_left();
    });
}

#[test]
fn c39_without_prefetch_a_map_is_called_for_the_items_that_are_taken() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = numbers(10).map(move |_| count.fetch_add(1, Ordering::SeqCst));
    for taken in [3, 4, 10] {
        let before = calls.load(Ordering::SeqCst);
        stream.iter().unwrap().take(taken).for_each(|item| assert!(item.is_ok()));
        assert_eq!(calls.load(Ordering::SeqCst) - before, taken as u64);
    }
}

#[test]
fn c41_consumers_on_several_threads_share_out_an_iterator() {
    let iter = Mutex::new(numbers(1000).par_map(2, |n| n).prefetch(8).iter().unwrap());
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(item) = { iter.lock().unwrap().next() } {
                    seen.lock().unwrap().push(item.unwrap());
                }
            });
        }
    });
    assert_eq!(sorted(seen.into_inner().unwrap()), (0..1000).collect::<Vec<_>>());
}

#[test]
fn c42_prefetch_changes_no_output() {
    // Depths are usize: none is wrong, and "as many as fit" has a verb of its own.
    let plain = range(100).shuffle(Shuffle::full(1)).batch(7);
    for depth in [0, 1, 42] {
        assert_eq!(values(&plain.clone().prefetch(depth)), values(&plain));
    }
    assert_eq!(values(&plain.clone().prefetch_auto()), values(&plain));
}

/// Every way to shuffle twenty rows or items, by seed.
fn shuffles(seed: u64) -> [Stream<u64>; 5] {
    let rows = |how| range(20).shuffle(how).rows().map(|row| row.value("0").unwrap());
    [
        rows(Shuffle::full(seed)),
        rows(Shuffle::blocks_of(2, 10, seed)),
        rows(Shuffle::buffer(100, seed)),
        rows(Shuffle::buffer(2, seed)),
        numbers(20).shuffle_buffer(100, seed),
    ]
}

#[test]
fn c43_a_shuffle_is_a_permutation_by_seed() {
    for ((a, again), b) in shuffles(1).iter().zip(&shuffles(1)).zip(&shuffles(2)) {
        assert_eq!(sorted(values(a)), (0..20).collect::<Vec<_>>(), "{a:?}");
        assert_eq!(values(a), values(again), "{a:?}");
        assert_ne!(values(a), values(b), "{a:?}");
        assert_eq!(sorted(values(a)), sorted(values(b)), "{a:?}");
    }
    assert_eq!(sorted(values(&numbers(20).shuffle_buffer(2, 1))), (0..20).collect::<Vec<_>>());
    for how in [Shuffle::full(1), Shuffle::blocks(1), Shuffle::buffer(5, 1)] {
        assert_eq!(everywhere(&range(0).shuffle(how).batch(3)), []);
    }
}

#[test]
fn c45_repeated_shuffles_differ_unless_fixed() {
    // Reshuffling is what epochs do; `fixed` is tf.data's reshuffle_each_iteration=False. There is no shuffle without a seed.
    for how in [Shuffle::full(3), Shuffle::blocks_of(1, 10, 3), Shuffle::buffer(10, 3)] {
        for (how, equal) in [(how, false), (how.fixed(), true)] {
            let both = order(&range(10).shuffle(how).repeat(2), 0);
            assert_eq!(sorted(both[..10].to_vec()), (0..10).collect::<Vec<_>>(), "{how}");
            assert_eq!(sorted(both[10..].to_vec()), (0..10).collect::<Vec<_>>(), "{how}");
            assert_eq!(both[..10] == both[10..], equal, "{how}");
        }
    }
    let both = values(&numbers(10).shuffle_buffer(10, 3).repeat(2));
    assert_eq!(sorted(both[10..].to_vec()), (0..10).collect::<Vec<_>>());
    assert_ne!(both[..10], both[10..]);
}

#[test]
fn c46_an_epoch_s_order_depends_on_its_number_not_on_what_ran_before() {
    // Epochs are named, so iterating twice gives the same twice; tf.data counts iterations instead.
    for stream in shuffles(1) {
        assert_eq!(values(&stream), values(&stream), "{stream:?}");
        assert_ne!(epoch(&stream, 0), epoch(&stream, 1), "{stream:?}");
    }
    let fixed = range(20).shuffle(Shuffle::full(1).fixed());
    assert_eq!(order(&fixed, 0), order(&fixed, 5));
}

#[test]
fn c47_pipelines_built_twice_are_equal() {
    // A seed is always given.
    for (a, b) in shuffles(9).iter().zip(&shuffles(9)) {
        assert_eq!([epoch(a, 0), epoch(a, 3)], [epoch(b, 0), epoch(b, 3)], "{a:?}");
    }
}

#[test]
fn c48_seed_zero_is_like_any_seed() {
    for ((zero, again), one) in shuffles(0).iter().zip(&shuffles(0)).zip(&shuffles(1)) {
        assert_eq!(values(zero), values(again), "{zero:?}");
        assert_ne!(values(zero), values(one), "{zero:?}");
        assert_ne!(values(zero), (0..20).collect::<Vec<_>>(), "{zero:?}");
    }
}

#[test]
fn c49_two_runs_of_a_program_see_the_same_epochs() {
    let epochs = |how| [0, 1, 2].map(|k| order(&range(6).shuffle(how), k));
    let pinned = [[5, 0, 3, 1, 2, 4], [2, 0, 1, 4, 3, 5], [4, 5, 2, 3, 0, 1]];
    assert_eq!(epochs(Shuffle::buffer(6, 1)), pinned);
    let pinned = [[2, 5, 1, 3, 0, 4], [5, 4, 0, 3, 2, 1], [5, 2, 0, 1, 4, 3]];
    assert_eq!(epochs(Shuffle::full(1)), pinned);
}

#[test]
fn c52_a_shuffle_over_a_shard_has_its_rows_alone() {
    for how in [Shuffle::full(5), Shuffle::blocks_of(2, 2, 5), Shuffle::buffer(3, 5)] {
        let shard = range(20).shard(3, 1).unwrap().shuffle(how);
        for epoch in 0..3 {
            assert_eq!(sorted(order(&shard, epoch)), [1, 4, 7, 10, 13, 16, 19], "{how}");
        }
    }
}

#[test]
fn c60_cardinality_of_range() {
    let len = |start, stop, step| Dataset::range_by(start, stop, step).unwrap().len();
    assert_eq!([range(5).len(), len(5, 10, 2), len(10, 5, -2), len(0, 1, -3)], [5, 3, 3, 0]);
    assert_eq!(len(i64::MIN, i64::MAX, 1), u64::MAX);
}

#[test]
fn c61_cardinality_of_repeat() {
    assert_eq!(
        lengths([known(0).repeat_forever(), known(1).repeat_forever(), known(1).repeat(5)]),
        [Length::Exact(0), Length::Infinite, Length::Exact(5)]
    );
    assert_eq!(range(1).repeat(5).len(), 5);
}

#[test]
fn c62_cardinality_of_batch() {
    let keep = |s: Stream<u64>| s.batch(2).length().unwrap();
    let drop = |s: Stream<u64>| s.batch_exact(2).length().unwrap();
    assert_eq!((keep(known(5)), drop(known(5))), (Length::Exact(3), Length::Exact(2)));
    assert_eq!((keep(numbers(5)), drop(numbers(5))), (Length::Unknown, Length::Unknown));
    let endless = || known(5).repeat_forever();
    assert_eq!((keep(endless()), drop(endless())), (Length::Infinite, Length::Infinite));
    assert_eq!(endless().batch_masked(2).length().unwrap(), Length::Infinite);
}

#[test]
fn c63_cardinality_of_take_and_skip() {
    let endless = || known(5).repeat_forever();
    assert_eq!(
        lengths([endless().take(2), known(5).take(8), numbers(5).take(8)]),
        [Length::Exact(2), Length::Exact(5), Length::Unknown]
    );
    assert_eq!(
        lengths([known(5).skip(2), known(5).skip(8), endless().skip(8), numbers(5).skip(2)]),
        [Length::Exact(3), Length::Exact(0), Length::Infinite, Length::Unknown]
    );
}

#[test]
fn c64_cardinality_of_shard() {
    // Only datasets are sharded, and they are finite.
    let shard = |count, index| range(5).shard(count, index).unwrap().len();
    assert_eq!([shard(2, 0), shard(8, 7)], [3, 0]);
}

#[test]
fn c65_cardinality_of_concatenate() {
    let endless = || known(5).repeat_forever();
    assert_eq!(
        lengths([numbers(2).concat(endless()), endless().concat(known(2)), endless().concat(numbers(2))]),
        [Length::Infinite; 3]
    );
    assert_eq!(
        lengths([numbers(2).concat(known(2)), known(2).concat(numbers(2)), known(2).concat(known(3))]),
        [Length::Unknown, Length::Unknown, Length::Exact(5)]
    );
}

#[test]
fn c67_cardinality_is_not_known_of_filters_and_generators() {
    let none = |_: &u64| false;
    let streams =
        [known(5).filter(none), known(5).repeat_forever().filter(none), numbers(5), with_error(5, 1)];
    assert_eq!(lengths(streams), [Length::Unknown; 4]);
}

#[test]
fn c68_cardinality_is_kept_by_map_prefetch_and_shuffle() {
    for length in [known(5), numbers(5), known(5).repeat_forever()].map(|s| (s.length().unwrap(), s)) {
        let (length, stream) = length;
        let kept = lengths([
            stream.clone().map(|n| n),
            stream.clone().par_map(2, |n| n),
            stream.clone().try_map(Ok::<_, String>),
            stream.clone().prefetch(3),
            stream.clone().shuffle_buffer(3, 1),
            stream.inspect(|_| {}),
        ]);
        assert_eq!(kept, [length; 6]);
    }
    assert_eq!(range(5).shuffle(Shuffle::full(1)).len(), 5);
}

#[test]
fn c71_a_saved_position_continues_with_the_next_batch() {
    let squares = Dataset::from_generator(|_| (1..7).map(|n: u64| n * n)).batch(2);
    let mut iter = squares.iter().unwrap();
    let mut next = || iter.next().unwrap().unwrap().column::<u64>("0").unwrap().to_vec();
    assert_eq!(next(), [1, 4]);
    next();
    let saved = Position { epoch: 0, item: 1 };
    let rest: Vec<_> =
        squares.seek(saved).unwrap().map(|b| b.unwrap().column::<u64>("0").unwrap().to_vec()).collect();
    assert_eq!(rest, [[9, 16], [25, 36]]);
}

#[test]
fn c72_iterators_have_positions_of_their_own() {
    let stream = numbers(9);
    let mut iters = [0, 2, 9].map(|taken| {
        let mut iter = stream.iter().unwrap();
        iter.by_ref().take(taken).for_each(drop);
        iter
    });
    let saved = iters.each_ref().map(|iter| iter.position());
    assert_eq!(saved.map(|position| position.item), [0, 2, 9]);
    for (iter, position) in iters.iter_mut().zip(saved) {
        assert_eq!(drain(&mut stream.seek(position).unwrap()), drain(iter), "{position:?}");
    }
}

#[test]
fn c75_what_follows_a_saved_position_follows_it_again() {
    let once = range(8).shuffle(Shuffle::full(6));
    for stream in [once.batch(1), once.repeat(3).batch(1), once.batch(1).repeat(3), once.repeat(3).batch(5)] {
        for k in 0..2 {
            let mut iter = stream.epoch(k).unwrap();
            loop {
                let saved = iter.position();
                let (first, again) = (iter.next(), stream.seek(saved).unwrap().next());
                assert_eq!(first.is_none(), again.is_none(), "{stream:?} at {saved:?}");
                let (Some(first), Some(again)) = (first, again) else { break };
                assert_eq!(first.unwrap(), again.unwrap(), "{stream:?} at {saved:?}");
            }
        }
    }
}

#[test]
fn c82_any_place_of_an_epoch_can_be_asked_for() {
    let rows = range(10).shuffle(Shuffle::full(2)).repeat(3);
    let whole: Vec<u64> = ids(&rows.batch(7)).concat();
    for (place, row) in whole.iter().enumerate() {
        assert_eq!(rows.order(0, place as u64, 1).unwrap(), [*row]);
    }
    assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 10);
    // A place past the end has no row, which is an empty answer and no error; there are none below 0.
    assert!(rows.order(0, 30, 1).unwrap().is_empty());
    assert!(rows.order(0, u64::MAX, 1).unwrap().is_empty());
}
