//! Iterators that are left at any moment, or forgotten.

use std::sync::Arc;

use gristmill::{DType, Dataset, Raw, Shuffle, Stream};

use crate::common::*;
use crate::trials::drops::drops;

#[test]
fn left_at_any_moment_and_in_any_manner_they_leave_nothing() {
    alone(|| drops(300));
}

#[test]
fn a_forgotten_iterator_does_no_harm() {
    alone(|| {
        let dir = Dir::new();
        let path = dir.put("rows", &(0..9000u64).flat_map(u64::to_ne_bytes).collect::<Vec<u8>>());
        let open = || Dataset::from_slices(Raw::new(&path, DType::U64, &[])).unwrap();
        for threads in THREADS {
            for make in [
                |rows: &Dataset| rows.batch(2).workers(3).prefetch(2),
                |rows: &Dataset| rows.batch(1).par_map(2, |batch| batch),
                |rows: &Dataset| {
                    rows.batch(1).par_interleave(2, 1, |batch| {
                        Dataset::from_generator(move |_| vec![batch.clone(); 9])
                    })
                },
                |rows: &Dataset| {
                    rows.batch(1)
                        .par_interleave_unordered(2, |b| Dataset::from_generator(move |_| vec![b.clone(); 9]))
                },
            ] {
                let rows = open().shuffle(Shuffle::full(1));
                let stream = make(&rows).threads(threads);
                let mut iter = stream.iter().unwrap();
                iter.next().unwrap().unwrap();
                std::mem::forget(iter);
                drop((stream, rows));
            }
        }
        // Its threads hold what they read from; everything else goes on, the file being gone, too.
        let again = open();
        std::fs::remove_file(&path).unwrap();
        drop(dir);
        for _ in 0..3 {
            let all: Vec<u64> = values(&again.batch(100).workers(3)).iter().flat_map(ids).collect();
            assert!(all.into_iter().eq(0..9000));
        }
    });
}

/// What nobody reads any more is let go of, whoever else still holds the stream.
#[test]
fn items_that_lay_ready_are_dropped_with_the_iterator() {
    alone(|| {
        let made = Arc::new(());
        let item = made.clone();
        let stream = Dataset::from_generator(move |_| {
            let item = item.clone();
            std::iter::repeat_with(move || item.clone())
        });
        let held = |stream: Stream<Arc<()>>| {
            let before = Arc::strong_count(&made);
            let mut iter = stream.iter().unwrap();
            iter.next().unwrap().unwrap();
            drop(iter);
            no_thread_is_left();
            assert_eq!(Arc::strong_count(&made), before);
        };
        held(stream.clone().prefetch(20));
        held(stream.clone().par_map(4, |item| item));
        held(stream.clone().shuffle_buffer(30, 1).prefetch(2));
        held(stream.clone().window(5, 1, 2).map(|window| window[0].clone()));
    });
}
