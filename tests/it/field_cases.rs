//! What people who do this job ran into elsewhere, each with the smallest input that shows it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Batch, DType, Dataset, Raw, Shuffle, Stream};

use crate::common::*;

fn range(rows: u64) -> Dataset {
    Dataset::range(rows).unwrap()
}

#[test]
fn a01_a_dead_worker_does_not_look_like_the_end_of_the_epoch() {
    watchdog(|| {
        let batches = range(40).batch(1).map(|batch| batch.column::<u64>("0").unwrap()[0]);
        let stream = batches.par_map(4, |row| {
            assert!(row != 20, "row 20");
            row
        });
        let panicked = Err("par_map panicked at item 20: row 20".to_string());
        assert_eq!(everywhere(&stream), (0..20).map(Ok).chain([panicked]).collect::<Vec<_>>());
    });
}

#[test]
fn a02_an_error_neither_overtakes_good_data_nor_is_lost() {
    watchdog(|| {
        let expected = [Ok(0), Ok(1), Ok(2), Err(panicked(3))];
        assert_eq!(everywhere(&with_panic(3).prefetch(8)), expected);
        assert_eq!(everywhere(&with_error(4, 3).prefetch(8)), [Ok(0), Ok(1), Ok(2), Err(bad(3))]);
    });
}

#[test]
fn a04_a_consumer_that_leaves_leaves_nothing_behind() {
    alone(|| {
        let cycle = || {
            let mut iter = range(1000).batch(1).prefetch(1).prefetch(1).iter().unwrap();
            iter.next().unwrap().unwrap();
        };
        // The first cycles fill the allocator's and the thread library's stores.
        (0..100).for_each(|_| cycle());
        no_thread_is_left();
        let (descriptors, mapped) = (entries("/proc/self/fd"), maps());
        (0..1000).for_each(|_| cycle());
        no_thread_is_left();
        assert_eq!(entries("/proc/self/fd"), descriptors);
        assert!(maps() <= mapped + 16, "{} maps, once {mapped}", maps());
    });
}

#[test]
fn a12_a_random_map_is_the_same_in_every_run() {
    let stream = || numbers(10).par_map_seeded(2, 0, |n, random| n as f64 + random.uniform());
    assert_eq!(values(&stream()), values(&stream()));
}

#[test]
fn a13_workers_and_epochs_have_random_numbers_of_their_own() {
    let draws = |workers| {
        let stream = range(20).rows().par_map_seeded(workers, 3, |_, random| random.next_u64());
        [epoch(&stream, 0), epoch(&stream, 1)].concat()
    };
    assert_eq!(draws(4).iter().collect::<HashSet<_>>().len(), 40);
    assert_eq!(draws(1), draws(4));
}

#[test]
fn a15_repeating_nothing_ends() {
    watchdog(|| {
        let nothing: [Stream<Batch>; 4] = [
            range(0).batch(2).repeat_forever().take(1),
            range(0).repeat(u64::MAX).batch(2),
            range(5).shard(9, 7).unwrap().batch(2).repeat_forever(),
            numbers(0).batch(2).repeat_forever().prefetch(2),
        ];
        nothing.iter().for_each(|stream| assert_eq!(everywhere(stream), []));
        assert_eq!(everywhere(&range(5).rows().filter(|_| false).repeat_forever()), []);
    });
}

#[test]
fn a16_rows_are_batched_before_workers_share_them_out() {
    let rows = range(27).shuffle(Shuffle::full(1));
    let expected = values(&rows.batch(5).workers(1));
    assert_eq!(expected.iter().map(Batch::rows).collect::<Vec<_>>(), [5, 5, 5, 5, 5, 2]);
    let seen: HashSet<u64> = column(&rows.batch(5), "0").concat().into_iter().collect();
    assert_eq!(seen.len(), 27);
    for workers in [2, 4, 8] {
        assert_eq!(values(&rows.batch(5).workers(workers)), expected, "{workers} workers");
    }
}

#[test]
fn a17_a_generator_is_not_run_by_every_worker() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = Dataset::from_generator(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        0..10u64
    });
    let batches = stream.batch(2).par_map(4, |batch| batch).workers(4);
    assert_eq!(column::<u64>(&batches, "0"), [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// A file of the numbers `0..rows`, in a folder of its own.
fn file(rows: u64) -> (tempfile::TempDir, Raw) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.bin");
    std::fs::write(&path, (0..rows).flat_map(u64::to_ne_bytes).collect::<Vec<u8>>()).unwrap();
    (folder, Raw::new(&path, DType::U64, &[]))
}

#[test]
fn a26_a_batch_that_is_kept_is_not_written_over() {
    let (_folder, raw) = file(100);
    let rows = Dataset::from_slices(raw).unwrap();
    for stream in
        [rows.batch(10), rows.batch(10).workers(3), rows.batch(10).prefetch(4), rows.rows().batch(10)]
    {
        for _ in 0..2 {
            let kept: Vec<Batch> = values(&stream);
            values(&stream);
            let numbers: Vec<u64> =
                kept.iter().flat_map(|b| b.column::<u64>("0").unwrap()).copied().collect();
            assert_eq!(numbers, (0..100).collect::<Vec<_>>(), "{stream:?}");
        }
    }
}

#[test]
fn b27_leaving_a_loop_leaves_no_file_open() {
    alone(|| {
        let (_folder, raw) = file(100);
        let stream = Dataset::from_slices(raw).unwrap().shuffle(Shuffle::full(1)).batch(4).prefetch(1);
        let descriptors = entries("/proc/self/fd");
        for k in 0..2000 {
            stream.epoch(k).unwrap().take(1).for_each(|batch| assert!(batch.is_ok()));
        }
        assert_eq!(entries("/proc/self/fd"), descriptors);
        let stream = stream.take(1);
        (0..2000).for_each(|k| assert_eq!(epoch(&stream, k).len(), 1));
        assert_eq!(entries("/proc/self/fd"), descriptors);
    });
}
