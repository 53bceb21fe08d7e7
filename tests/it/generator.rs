//! `from_generator` and `try_from_generator`: items that code makes, on a thread of their own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use gristmill::{Array, Batch, Dataset, Length, Stream, Threads};

use crate::common::*;

/// Three items an epoch, and the epochs the factory was asked for.
fn counted() -> (Stream<u64>, Arc<Mutex<Vec<u64>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let epochs = asked.clone();
    let stream = Dataset::from_generator(move |epoch| {
        epochs.lock().unwrap().push(epoch);
        0..3
    });
    (stream, asked)
}

/// An endless iterator that says when it is dropped.
struct Endless(u64, Arc<AtomicBool>);

impl Iterator for Endless {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 += 1;
        Some(self.0)
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
    }
}

fn guarded() -> (Stream<u64>, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = dropped.clone();
    (Dataset::from_generator(move |_| Endless(0, flag.clone())), dropped)
}

#[test]
fn its_items_come_in_order_and_each_epoch_has_its_number() {
    assert_eq!(values(&numbers(5)), [0, 1, 2, 3, 4]);
    let stream = Dataset::from_generator(|epoch| vec![epoch, epoch * 10]);
    assert_eq!((epoch(&stream, 0), epoch(&stream, 7)), (vec![0, 0], vec![7, 70]));
    assert_eq!(stream.length().unwrap(), Length::Unknown);
}

#[test]
fn the_factory_is_called_once_a_run_and_once_a_repetition() {
    for threads in THREADS {
        let (stream, asked) = counted();
        let stream = stream.threads(threads);
        let unused = stream.iter().unwrap();
        assert!(asked.lock().unwrap().is_empty(), "before the first item is wanted");
        drop(unused);
        values(&stream);
        epoch(&stream, 5);
        epoch(&stream.repeat(3), 2);
        assert_eq!(*asked.lock().unwrap(), [0, 5, 6, 7, 8]);
    }
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&Dataset::from_generator(|_| Vec::<u8>::new())), []);
}

#[test]
fn one_item_a_full_link_and_one_over_come_through() {
    for n in [1, 255, 256, 257, 1000] {
        assert_eq!(values(&numbers(n)), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_takes_its_item_s_place_and_more_is_asked_for() {
    let stream = Dataset::try_from_generator(|_| ["1", "x", "", "4"].map(str::parse::<u8>));
    let expected = [
        Ok(1),
        Err("generator, item 1: invalid digit found in string".into()),
        Err("generator, item 2: cannot parse integer from empty string".into()),
        Ok(4),
    ];
    assert_eq!(everywhere(&stream), expected);
}

#[test]
fn a_panic_in_the_factory_or_in_next_is_told_after_the_items_before_it() {
    let factory = Dataset::from_generator(|epoch| {
        assert!(epoch != 0, "no factory");
        0..3
    });
    assert_eq!(everywhere(&factory), [Err("generator panicked at item 0: no factory".into())]);
    assert_eq!(epoch(&factory, 1), [0, 1, 2]);
    for n in [0, 1, 255, 256, 257] {
        let expected: Vec<_> = (0..n).map(Ok).chain([Err(panicked(n))]).collect();
        assert_eq!(everywhere(&with_panic(n)), expected);
    }
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        lets_go(&endless(), 1);
        lets_go(&endless(), 1000);
        lets_go(&endless().prefetch(3), 1);
        lets_go(&with_error(1000, 0).skip(1), 1);
    });
}

#[test]
fn its_iterator_is_dropped_with_the_run_or_when_no_more_is_wanted() {
    watchdog(|| {
        for threads in THREADS {
            let (stream, dropped) = guarded();
            let mut iter = stream.threads(threads).iter().unwrap();
            assert_eq!(iter.next().unwrap().unwrap(), 1);
            assert!(!dropped.load(Ordering::SeqCst));
            drop(iter);
            assert!(dropped.load(Ordering::SeqCst), "with the run, {threads:?}");

            let (stream, dropped) = guarded();
            let mut iter = stream.take(2).threads(threads).iter().unwrap();
            assert_eq!(drain(&mut iter), [Ok(1), Ok(2)]);
            assert!(dropped.load(Ordering::SeqCst), "at the end of take, {threads:?}");
        }
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&Dataset::from_generator(|epoch| epoch..epoch + 5));
    reopens(&with_error(5, 2));
}

#[test]
fn two_iterators_do_not_share_a_position() {
    for threads in THREADS {
        let (stream, asked) = counted();
        let stream = stream.threads(threads);
        let (mut a, mut b) = (stream.iter().unwrap(), stream.iter().unwrap());
        let next = |iter: &mut gristmill::Iter<u64>| iter.next().map(|item| item.unwrap());
        assert_eq!([next(&mut a), next(&mut a), next(&mut b)], [Some(0), Some(1), Some(0)]);
        assert_eq!([next(&mut b), next(&mut a), next(&mut a)], [Some(1), Some(2), None]);
        assert_eq!([next(&mut b), next(&mut b)], [Some(2), None]);
        assert_eq!(asked.lock().unwrap().len(), 2);
    }
}

#[test]
fn it_has_one_thread_whatever_the_number_of_workers() {
    let seen: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let ids = seen.clone();
    let stream = Dataset::from_generator(move |_| {
        let ids = ids.clone();
        (0..500u64).inspect(move |_| ids.lock().unwrap().push(std::thread::current().id()))
    });
    let stream = stream.par_map(4, |n| n).threads(Threads::Auto);
    assert_eq!(values(&stream).len(), 500);
    let ids = seen.lock().unwrap();
    assert!(ids.len() == 500 && ids.iter().all(|id| *id == ids[0] && *id != std::thread::current().id()));
}

#[test]
fn its_items_may_be_whole_batches() {
    let batches = Dataset::from_generator(|_| {
        (0..3u64).map(|i| Batch::new([("n", Array::from_elements(&[i, i + 10], &[2]).unwrap())]).unwrap())
    });
    assert_eq!(column::<u64>(&batches, "n"), [[0, 10], [1, 11], [2, 12]]);
    let rows = batches.clone().unbatch().map(|row| row.value::<u64>("n").unwrap());
    assert_eq!(values(&rows), [0, 10, 1, 11, 2, 12]);
    let floats = batches.cast::<f32>("n").typed::<f32>().unwrap();
    assert_eq!(values(&floats)[2].as_slice(), [2.0, 12.0]);
}

#[test]
fn it_is_not_run_far_ahead_of_its_consumer() {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let stream = Dataset::from_generator(move |_| {
        let count = count.clone();
        (0..).inspect(move |_: &u64| {
            count.fetch_add(1, Ordering::SeqCst);
        })
    });
    let mut iter = stream.iter().unwrap();
    for taken in 1..=2000 {
        iter.next().unwrap().unwrap();
        assert!(made.load(Ordering::SeqCst) <= taken + 256);
    }
}

/// Ten numbers an epoch that can start anywhere, and the places it was started at.
fn anywhere() -> (Stream<u64>, Arc<Mutex<Vec<u64>>>) {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let seen = starts.clone();
    let stream = Dataset::from_generator_at(10, move |epoch, from| {
        seen.lock().unwrap().push(from);
        (from..10).map(move |i| epoch * 100 + i)
    });
    (stream, starts)
}

#[test]
fn one_that_can_start_anywhere_is_started_where_it_is_needed() {
    for threads in THREADS {
        for k in 0..=10 {
            let (stream, starts) = anywhere();
            let stream = stream.threads(threads).map(|n| n);
            let mut iter = stream.epoch(3).unwrap();
            iter.by_ref().take(k).for_each(|item| assert!(item.is_ok()));
            let mut rest = stream.resume(&iter.state()).unwrap();
            let expected: Vec<_> = (k as u64..10).map(|i| Ok(300 + i)).collect();
            assert_eq!((drain(&mut rest), drain(&mut iter)), (expected.clone(), expected));
            let started: Vec<u64> = [0, k as u64].into_iter().skip(usize::from(k == 0)).collect();
            let mut starts = starts.lock().unwrap().clone();
            starts.dedup();
            assert_eq!(starts, started, "{threads:?}");
        }
    }
}

#[test]
fn one_that_can_start_anywhere_has_a_length_and_repeats() {
    let (stream, starts) = anywhere();
    assert_eq!(stream.length().unwrap(), Length::Exact(10));
    let stream = stream.repeat(3).skip(14);
    assert_eq!(stream.length().unwrap(), Length::Exact(16));
    let expected: Vec<u64> = (104..110).chain(200..210).collect();
    assert_eq!(values(&stream), expected);
    assert_eq!(*starts.lock().unwrap(), [4, 0]);
    let empty = Dataset::from_generator_at(0, |_, from| from..0);
    assert_eq!((everywhere(&empty), empty.length().unwrap()), (vec![], Length::Exact(0)));
}

#[test]
fn one_that_does_not_keep_its_length_is_refused_at_the_place_where_it_shows() {
    for made in [0u64, 3, 9, 11, 300] {
        let stream = Dataset::from_generator_at(10, move |_, from| from..made.max(from));
        let good = (0..made.min(10)).map(Ok);
        let found = if made < 10 { made.to_string() } else { "more".into() };
        let told = Err(format!("generator: expected 10 items an epoch, found {found}"));
        assert_eq!(everywhere(&stream), good.chain([told]).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_counts_as_an_item_of_one_that_can_start_anywhere() {
    let items = || ["1", "x", "3"].into_iter();
    let stream =
        Dataset::try_from_generator_at(3, move |_, from| items().skip(from as usize).map(str::parse::<u8>));
    let told = Err("generator, item 1: invalid digit found in string".to_string());
    assert_eq!(everywhere(&stream), [Ok(1), told.clone(), Ok(3)]);
    assert_eq!(everywhere(&stream.clone().skip(1)), [told, Ok(3)]);
    let panics = Dataset::from_generator_at(3, |_, from| (from..3).inspect(|i| assert!(*i != 2, "broken")));
    assert_eq!(everywhere(&panics), [Ok(0), Ok(1), Err("generator panicked at item 2: broken".into())]);
}
