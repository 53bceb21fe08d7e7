//! `par_interleave_unordered` reads streams made from items at once; what comes out is compared as a multiset.

use gristmill::plumbing::{Outline, Pull, Run, Running, Stage};
use gristmill::{Dataset, Length, Result, Stream, Threads};
use proptest::prelude::*;

use crate::common::*;

/// `n` becomes `n` items: 10n, 10n + 1, …
fn sequence(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| 10 * n..11 * n)
}

/// The outcomes of an epoch, sorted, the same for every choice of threads.
fn seen(stream: &Stream<u64>) -> Vec<Result<u64, String>> {
    let [none, auto, each] = THREADS.map(|threads| {
        let mut seen = outcomes(&stream.clone().threads(threads));
        seen.sort();
        seen
    });
    assert_eq!(none, auto, "{stream:?} without threads and with them");
    assert_eq!(none, each, "{stream:?} without threads and with one for each stage");
    none
}

#[test]
fn every_item_of_every_stream_comes_once() {
    for workers in [1, 2, 7] {
        let stream = numbers(5).par_interleave_unordered(workers, sequence);
        assert_eq!(seen(&stream), [10, 20, 21, 30, 31, 32, 40, 41, 42, 43].map(Ok));
        assert_eq!(stream.length().unwrap(), Length::Unknown);
        assert_eq!(stream.plan().unwrap().threads(), workers + 1);
    }
}

#[test]
fn the_items_of_one_stream_keep_their_order() {
    let of = |n| Dataset::from_generator(move |_| (0..50).map(move |i| 50 * n + i));
    let all = values(&numbers(40).par_interleave_unordered(3, of));
    for n in 0..40 {
        let of_one: Vec<u64> = all.iter().copied().filter(|i| i / 50 == n).collect();
        assert!(of_one.len() == 50 && of_one.is_sorted(), "{n}: {of_one:?}");
    }
}

#[test]
fn of_nothing_comes_nothing() {
    for items in [numbers(0), numbers(100).map(|_| 0)] {
        assert_eq!(seen(&items.par_interleave_unordered(3, sequence)), []);
    }
}

#[test]
fn no_workers_are_refused_and_too_many_are_cut() {
    let refused = numbers(2).par_interleave_unordered(0, sequence).plan().unwrap_err().to_string();
    assert!(refused.contains("at least one worker"), "{refused}");
    let many = numbers(3).par_interleave_unordered(usize::MAX, sequence);
    assert_eq!(many.plan().unwrap().threads(), 1 + 1024);
    assert_eq!(seen(&numbers(3).par_interleave_unordered(64, sequence)), [10, 20, 21].map(Ok));
}

#[test]
fn an_upstream_error_or_one_within_a_stream_is_one_item() {
    let stream = with_error(5, 2).par_interleave_unordered(2, sequence);
    assert_eq!(
        seen(&stream),
        [10, 30, 31, 32, 40, 41, 42, 43].map(Ok).into_iter().chain([Err(bad(2))]).collect::<Vec<_>>()
    );
    let within = numbers(4).map(|n| n.max(2)).par_interleave_unordered(2, |n| with_error(n, 1));
    let errors = seen(&within).into_iter().filter(|item| *item == Err(bad(1))).count();
    assert_eq!((errors, seen(&within).len()), (4, 9));
}

#[test]
fn a_panic_is_the_last_thing_and_comes_once() {
    watchdog(|| {
        let make: fn(u64) -> Stream<u64> = |n| if n < 30 { numbers(2) } else { panic!("not {n}") };
        for workers in [1, 2, 5] {
            let upstream = with_panic(30).par_interleave_unordered(workers, numbers);
            let within = numbers(9)
                .par_interleave_unordered(workers, |n| if n < 5 { numbers(3) } else { with_panic(1) });
            let function = numbers(99).par_interleave_unordered(workers, make);
            for stream in [upstream, within, function] {
                for threads in THREADS {
                    let all = outcomes(&stream.clone().threads(threads));
                    let (last, before) = all.split_last().unwrap();
                    assert!(last.as_ref().unwrap_err().contains("panicked"), "{all:?}");
                    assert!(before.iter().all(Result::is_ok), "{all:?}");
                }
            }
        }
    });
}

#[test]
fn a_run_cannot_be_continued_and_says_so() {
    let stream = numbers(9).par_interleave_unordered(3, sequence).map(|n| n);
    let mut iter = stream.iter().unwrap();
    assert!(stream.resume(&iter.state()).is_ok(), "from the start there is nothing to continue");
    iter.next();
    let refused = stream.resume(&iter.state()).unwrap_err().to_string();
    assert!(refused.contains("a stream whose order is fixed"), "{refused}");
    assert!(numbers(5).zip(stream).seek(gristmill::Position { epoch: 0, item: 1 }).is_err());
}

/// A stage of a user's that never looks at the flag: some ones, and then zeros, so many items together.
struct Heedless(u64, u64);

struct HeedlessPull(u64, u64);

impl Stage for Heedless {
    type Item = u64;

    fn outline(&self, _run: &Run) -> Result<Outline> {
        Ok(Outline::source("heedless()", Length::Unknown))
    }

    fn open(&self, _run: &Run) -> Result<Running<u64>> {
        Ok(Box::new(HeedlessPull(self.0, self.1)))
    }

    fn label(&self) -> &'static str {
        "heedless"
    }
}

impl Pull for HeedlessPull {
    type Item = u64;

    fn pull(&mut self) -> Result<Option<u64>> {
        if self.1 == 0 {
            return Ok(None);
        }
        let one = u64::from(self.0 > 0);
        (self.0, self.1) = (self.0 - one, self.1 - 1);
        Ok(Some(one))
    }
}

#[test]
fn an_endless_search_is_let_go_of_when_all_streams_are_empty() {
    alone(|| {
        let ones = |n| Stream::new(Heedless(n, n));
        let mut iter = Stream::new(Heedless(1, u64::MAX)).par_interleave_unordered(3, ones).iter().unwrap();
        iter.next().unwrap().unwrap();
        drop(iter);
        no_thread_is_left();
    });
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        drops(|s| s.par_interleave_unordered(2, |n| numbers(1 + n % 2).prefetch(2)));
        lets_go(&endless().par_interleave_unordered(3, |_| endless()), 9);
    });
}

#[test]
fn reopened_and_skipped_it_gives_the_other_items() {
    let stream = with_error(9, 4).par_interleave_unordered(3, sequence).threads(Threads::EachStage);
    assert_eq!(seen(&stream), seen(&stream));
    let whole = seen(&stream).len();
    for n in 0..=whole {
        assert_eq!(stream.iter().unwrap().skip(n).count(), whole - n);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_the_multiset_of_all_items(counts in proptest::collection::vec(0u64..6, 0..8), workers in 1usize..5) {
        let expected: Vec<u64> = counts.iter().flat_map(|n| 10 * n..11 * n).collect();
        let items = Dataset::from_generator(move |_| counts.clone());
        let mut seen = values(&items.par_interleave_unordered(workers, sequence));
        let mut expected = expected;
        seen.sort();
        expected.sort();
        prop_assert_eq!(seen, expected);
    }
}
