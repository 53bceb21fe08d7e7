//! What people who do this job ran into elsewhere, each with the smallest input that shows it.

use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Batch, DType, Dataset, Length, Position, Raw, Shuffle, Stream, Threads};

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
fn a05_a_file_cut_while_it_is_mapped_is_an_error_with_both_lengths() {
    alone(|| {
        let dir = Dir::new();
        let path = dir.put("rows", &[0xff; 32 << 10]);
        let rows = Dataset::from_slices(Raw::new(&path, DType::U8, &[4096])).unwrap();
        let mut iter = rows.batch(1).threads(Threads::None).iter().unwrap();
        let mut seen = vec![iter.next().unwrap()];
        std::fs::File::options().write(true).open(&path).unwrap().set_len(4196).unwrap();
        seen.extend(iter);
        // Bytes 4,196 to 8,191 read as zeros without a signal.
        let (last, good) = seen.split_last().unwrap();
        assert!(good.iter().all(|b| !b.as_ref().unwrap().column::<u8>("0").unwrap().contains(&0)));
        let text = last.as_ref().unwrap_err().to_string();
        assert!(text.contains("expected 32768 bytes") && text.contains("found 4196 bytes"), "{text}");
    });
}

#[test]
fn a06_a_file_rewritten_in_place_is_an_error_and_one_that_was_replaced_is_not() {
    let dir = Dir::new();
    for renamed in [false, true] {
        let path = dir.put("rows", &[b'A'; 800]);
        let rows = Dataset::from_slices(Raw::new(&path, DType::U8, &[8])).unwrap();
        let stream = rows.batch(1).threads(Threads::None);
        let mut iter = stream.iter().unwrap();
        let mut seen: Vec<_> = iter.by_ref().take(10).collect();
        let new = if renamed { dir.path("new") } else { path.clone() };
        let file = std::fs::File::options().write(true).create(true).truncate(false).open(&new).unwrap();
        file.write_all_at(&[b'B'; 800], 0).unwrap();
        // A time that no clock's resolution can hide.
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        if renamed {
            std::fs::rename(&new, &path).unwrap();
        }
        seen.extend(iter);
        let good = seen.iter().take_while(|b| b.is_ok()).count();
        assert!(seen[..good].iter().flatten().all(|b| b.column::<u8>("0").unwrap() == [b'A'; 8]));
        assert_eq!((good == 100, stream.epoch(1).unwrap().next().unwrap().is_ok()), (renamed, renamed));
    }
}

#[test]
fn a10_a_state_of_the_end_of_an_epoch_loses_and_repeats_none() {
    let stream = range(512).shuffle(Shuffle::full(3)).batch(1).prefetch(2).map(|b| ids(&b)[0]);
    let expected: Vec<u64> = (0..3).flat_map(|k| epoch(&stream, k)).collect();
    // Saved after the last item, before and after the end was seen.
    for end_seen in [false, true] {
        let mut seen = Vec::new();
        let mut state = stream.iter().unwrap().state();
        for k in 0..3 {
            let mut iter = stream.resume(&state).unwrap();
            assert_eq!(iter.position(), Position { epoch: k, item: 0 });
            seen.extend(iter.by_ref().take(512).map(|n| n.unwrap()));
            assert!(!end_seen || iter.next().is_none());
            let mut ended = stream.resume(&iter.state()).unwrap();
            assert!(ended.next().is_none(), "what is saved at the end has nothing left");
            state = stream.epoch(ended.position().epoch + 1).unwrap().state();
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn a11_a_state_soon_after_a_resume_is_as_good_as_any() {
    let stream = range(100)
        .shuffle(Shuffle::buffer(16, 1))
        .batch(3)
        .par_map_seeded(4, 2, |b, r| (ids(&b), r.next_u64()));
    let expected = epoch(&stream, 2);
    let mut state = stream.epoch(2).unwrap().state();
    for at in (0..expected.len()).step_by(2) {
        let text = serde_json::to_string(&state).unwrap();
        let mut iter = stream.resume(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(iter.state(), state, "a state that was not moved is what it was");
        let some: Vec<_> = iter.by_ref().take(2).map(|item| item.unwrap()).collect();
        assert_eq!(some, expected[at..expected.len().min(at + 2)]);
        state = iter.state();
    }
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

#[test]
fn a28_a_share_of_a_core_is_enough_for_any_number_of_workers() {
    let Some(group) = Group::new("cpu", &[("cpu.cfs_period_us", 20_000), ("cpu.cfs_quota_us", 10_000)])
    else {
        return;
    };
    alone_after(&group.enter(), 30, || {
        assert_eq!(std::thread::available_parallelism().unwrap().get(), 1);
        let make = |workers| {
            range(2000)
                .shuffle(Shuffle::full(1))
                .batch(4)
                .workers(workers)
                .prefetch(2)
                .par_map(workers, |b| ids(&b))
        };
        let automatic = range(2000).shuffle(Shuffle::full(1)).batch(4).par_map(0, |b| ids(&b));
        assert_eq!(automatic.plan().unwrap().threads(), 2, "one that gathers, one that maps");
        let expected = values(&automatic);
        for workers in [1, 2, 16, 64] {
            assert_eq!(values(&make(workers)), expected, "{workers} workers");
        }
    });
}

#[test]
fn b35_threads_that_read_one_file_at_once_get_their_own_rows() {
    watchdog(|| {
        let (_folder, raw) = file(40_000);
        let rows = Dataset::from_slices(raw).unwrap();
        std::thread::scope(|scope| {
            for part in 0..8 {
                let mine = rows.shard(8, part).unwrap().shuffle(Shuffle::full(part));
                scope.spawn(move || {
                    let order = mine.order(0, 0, usize::MAX).unwrap();
                    assert_eq!(column::<u64>(&mine.batch(16).threads(Threads::None), "0").concat(), order);
                    assert_eq!(column::<u64>(&mine.batch(16).workers(2), "0").concat(), order);
                });
            }
        });
    });
}

#[test]
fn c04_a_position_of_packed_rows_counts_what_was_delivered() {
    let stream = numbers(60)
        .map(|n| vec![n; n as usize % 5])
        .pack(8, 2)
        .prefetch(4)
        .map(|row| row.column::<u64>("0").unwrap().to_vec());
    let whole = values(&stream);
    for left in 0..=whole.len() {
        let mut iter = stream.iter().unwrap();
        iter.by_ref().take(left).for_each(drop);
        assert_eq!(iter.position().item as usize, left);
        assert!(
            stream.resume(&iter.state()).unwrap().map(|row| row.unwrap()).eq(whole[left..].iter().cloned())
        );
    }
}

#[test]
fn c09_each_part_has_the_length_that_is_counted() {
    for (shards, n) in [(2, 3), (3, 7), (4, 2)] {
        for part in 0..shards {
            let stream = range(n).shard(shards, part).unwrap().batch(2);
            assert_eq!(stream.length().unwrap(), Length::Exact(values(&stream).len() as u64), "{stream:?}");
        }
    }
}
