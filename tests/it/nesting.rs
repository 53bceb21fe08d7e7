//! Streams inside streams, beside each other and zipped with themselves, on a single core: nobody waits for ever.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex};

use gristmill::{Dataset, Shuffle, Stream, Threads};

use crate::common::*;

/// Leaves this process one core.
fn one_core() {
    // SAFETY: a set of cores is plain bits, for which all zeros is a value; the calls read or fill it, and know its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &set)).unwrap();
        set = std::mem::zeroed();
        libc::CPU_SET(first, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
    assert_eq!(std::thread::available_parallelism().unwrap().get(), 1);
}

/// A stream with threads of every sort.
fn busy(n: u64) -> Stream<u64> {
    let rows = Dataset::range(n).unwrap().shuffle(Shuffle::full(3));
    let items = rows.batch(4).workers(3).prefetch(1).par_map(4, |b| b).unbatch();
    items
        .map(|row| row.value::<u64>("0").unwrap())
        .par_interleave(2, 1, |n| numbers(1).map(move |_| n))
        .prefetch(2)
}

#[test]
fn two_iterators_at_once_and_a_stream_zipped_with_itself() {
    alone(|| {
        one_core();
        for threads in THREADS {
            let stream = busy(300).threads(threads);
            let expected = values(&stream);
            let (mut a, mut b) = (stream.iter().unwrap(), stream.iter().unwrap());
            // One far ahead of the other, and then by turns.
            assert!(a.by_ref().take(150).map(|n| n.unwrap()).eq(expected[..150].iter().copied()));
            for at in 0..150 {
                assert_eq!(
                    (a.next().unwrap().unwrap(), b.next().unwrap().unwrap()),
                    (expected[150 + at], expected[at])
                );
            }
            let zipped = values(&stream.clone().zip(stream.clone()).zip(stream.clone()));
            assert!(zipped.into_iter().zip(&expected).all(|(((a, b), c), n)| [a, b, c] == [*n; 3]));
            let both = values(&Stream::mix([(stream.clone(), 1), (stream.clone(), 1)]));
            assert!(both.chunks(2).zip(&expected).all(|(pair, n)| pair == [*n; 2]));
        }
    });
}

#[test]
fn iterating_inside_iterating_inside_iterating() {
    alone(|| {
        one_core();
        for threads in [Threads::Auto, Threads::EachStage] {
            let stream = busy(12).threads(threads);
            let mut seen = 0u64;
            for a in stream.iter().unwrap() {
                for b in stream.epoch(1).unwrap() {
                    for c in stream.epoch(2).unwrap() {
                        seen += a.as_ref().unwrap() * b.as_ref().unwrap() * c.unwrap();
                    }
                }
            }
            assert_eq!(seen, 66 * 66 * 66);
        }
    });
}

#[test]
fn streams_made_and_run_inside_functions_three_deep() {
    alone(|| {
        one_core();
        let inner = |n: u64| busy(n).reduce(0, |sum, n| sum + n).unwrap();
        let middle =
            move |n: u64| numbers(n).par_map(3, inner).prefetch(1).reduce(0, |sum, n| sum + n).unwrap();
        let outer = numbers(12).par_map(2, middle);
        let expected: Vec<u64> =
            (0..12).map(|n| (0..n).map(|n: u64| n * n.saturating_sub(1) / 2).sum()).collect();
        for threads in THREADS {
            assert_eq!(values(&outer.clone().threads(threads)), expected);
            let streams =
                numbers(12).flat_map_stream(move |n| numbers(n).par_interleave(2, 1, busy)).threads(threads);
            assert_eq!(values(&streams).len() as u64, (0..12).map(|n| n * (n - n.min(1)) / 2).sum::<u64>());
        }
    });
}

/// Functions that share a stream's running iterator take turns at it; nobody holds what another needs.
#[test]
fn functions_of_one_stream_pull_another_that_they_share() {
    alone(|| {
        one_core();
        for threads in THREADS {
            let shared = Arc::new(Mutex::new(busy(200).threads(threads).iter().unwrap()));
            let stream = numbers(200).par_map(4, move |_| shared.lock().unwrap().next().unwrap().unwrap());
            let mut seen = values(&stream.threads(threads));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..200));
        }
    });
}
