//! `flat_map` and `flat_map_stream` make each item a sequence; the sequences come one after the other.

use gristmill::{Dataset, Length, Position, Shuffle, Stream, Threads};
use proptest::prelude::*;

use crate::common::*;

/// `n` becomes `n` items: 10n, 10n + 1, …
fn sequence(n: u64) -> std::ops::Range<u64> {
    10 * n..11 * n
}

fn flat(numbers: Stream<u64>) -> Stream<u64> {
    numbers.flat_map(sequence)
}

fn flat_streams(numbers: Stream<u64>) -> Stream<u64> {
    numbers.flat_map_stream(|n| Dataset::from_generator(move |_| sequence(n)))
}

#[test]
fn each_item_becomes_its_sequence() {
    for flat in [flat, flat_streams] {
        assert_eq!(values(&flat(numbers(4))), [10, 20, 21, 30, 31, 32]);
        assert_eq!(flat(numbers(4)).length().unwrap(), Length::Unknown);
    }
    let pairs = numbers(3).flat_map(|n| [(n, 'a'), (n, 'b')]);
    assert_eq!(values(&pairs)[3..], [(1, 'b'), (2, 'a'), (2, 'b')]);
}

#[test]
fn of_nothing_comes_nothing() {
    for flat in [flat, flat_streams] {
        assert_eq!(everywhere(&flat(numbers(0))), []);
        assert_eq!(everywhere(&flat(numbers(100).map(|_| 0))), []);
    }
}

#[test]
fn one_many_and_endless_sequences() {
    for n in [1, 2, 256, 257] {
        assert_eq!(values(&numbers(n).flat_map(Some)), (0..n).collect::<Vec<_>>());
        assert_eq!(values(&numbers(1).flat_map(move |_| 0..n)), (0..n).collect::<Vec<_>>());
        assert_eq!(
            values(&numbers(n).map(move |i| i / (n - 1).max(1)).flat_map_stream(numbers)).len() as u64,
            n / n.max(2)
        );
    }
    assert_eq!(values(&numbers(9).flat_map(|n| n..).take(3)), [0, 1, 2]);
    assert_eq!(values(&numbers(9).flat_map_stream(|_| endless()).take(3)), [0, 1, 2]);
}

#[test]
fn an_upstream_error_keeps_its_place() {
    for flat in [flat, flat_streams] {
        let expected = [Ok(10), Err(bad(2)), Ok(30), Ok(31), Ok(32)];
        assert_eq!(everywhere(&flat(with_error(4, 2))), expected);
        assert_eq!(everywhere(&flat(with_panic(3))), [Ok(10), Ok(20), Ok(21), Err(panicked(3))]);
    }
}

#[test]
fn an_error_within_a_sequence_keeps_its_place_and_one_that_ends_it_ends_all() {
    let errors = numbers(3).flat_map_stream(|n| with_error(n, 0));
    assert_eq!(everywhere(&errors), [Err(bad(0)), Err(bad(0)), Ok(1)]);
    assert_eq!(everywhere(&numbers(3).flat_map_stream(with_panic)), [Err(panicked(0))]);
}

#[test]
fn panics_are_told_with_the_item_whose_sequence_it_was() {
    let told = |text: &str| Err(text.to_owned());
    let making = numbers(9).flat_map(|n| {
        assert!(n != 2, "not two");
        [n]
    });
    assert_eq!(everywhere(&making), [Ok(0), Ok(1), told("flat_map panicked at item 2: not two")]);
    let within = numbers(9).flat_map(|n| (0..2).inspect(move |i| assert!((n, *i) != (1, 1), "one, one")));
    let panicked = told("flat_map panicked at item 1: one, one");
    assert_eq!(everywhere(&within), [Ok(0), Ok(1), Ok(0), panicked]);
    let making = numbers(9).flat_map_stream(|n| match n {
        0 => numbers(1),
        _ => panic!("not {n}"),
    });
    assert_eq!(everywhere(&making), [Ok(0), told("flat_map_stream panicked at item 1: not 1")]);
}

#[test]
fn a_stream_that_cannot_be_opened_is_refused_when_its_turn_comes() {
    let streams = numbers(3).flat_map_stream(|n| numbers(2).shuffle_buffer(1 - n as usize, 1));
    let seen = everywhere(&streams);
    assert_eq!(seen[..2], [Ok(0), Ok(1)]);
    assert!(
        seen.len() == 3 && seen[2].as_ref().unwrap_err().contains("shuffle_buffer: expected"),
        "{seen:?}"
    );
}

#[test]
fn the_streams_run_in_the_epoch_of_the_whole() {
    let shuffled = Dataset::range(5).unwrap().shuffle(Shuffle::full(1));
    let inner = shuffled.clone();
    let stream =
        numbers(2).flat_map_stream(move |_| inner.batch(5).map(|b| b.column::<u64>("0").unwrap().to_vec()));
    for k in 0..3 {
        assert_eq!(epoch(&stream, k), [shuffled.order(k, 0, 5).unwrap(), shuffled.order(k, 0, 5).unwrap()]);
    }
}

#[test]
fn a_seek_passes_over_rows_of_streams_without_reading_them() {
    let rows = |_| Dataset::range(1 << 40).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    let stream = numbers(3).flat_map_stream(rows);
    let mut iter = stream.seek(Position { epoch: 0, item: (1 << 41) + 7 }).unwrap();
    assert_eq!(iter.next().unwrap().unwrap(), 7);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.flat_map(|n| [n]));
        drops(|s| s.flat_map_stream(|n| numbers(1 + n % 2).prefetch(2)));
        lets_go(&numbers(3).flat_map_stream(|_| endless().par_map(2, |n| n)), 5);
    });
}

#[test]
fn a_search_through_an_endless_sequence_is_given_up_when_dropped() {
    alone(|| {
        for threads in [Threads::Auto, Threads::EachStage] {
            let search = numbers(3).flat_map(|_| 0u64..).filter(|n| *n < 2).prefetch(8).threads(threads);
            let mut iter = search.iter().unwrap();
            iter.next().unwrap().unwrap();
            drop(iter);
            no_thread_is_left();
        }
    });
}

#[test]
fn reopened_they_give_the_same() {
    for flat in [flat, flat_streams] {
        reopens(&flat(numbers(5)));
        reopens(&flat(with_error(5, 2)));
    }
    reopens(&numbers(4).flat_map_stream(|n| with_error(n, 1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_the_flat_map_of_iterators(counts in proptest::collection::vec(0u64..5, 0..8), from in 0usize..20) {
        let model: Vec<u64> = counts.iter().flat_map(|n| sequence(*n)).collect();
        let made = counts.clone();
        let items = Dataset::from_generator(move |_| made.clone());
        for stream in [flat(items.clone()), flat_streams(items)] {
            prop_assert_eq!(&values(&stream), &model);
            let rest: Vec<u64> = stream.iter().unwrap().skip(from).map(|item| item.unwrap()).collect();
            prop_assert_eq!(&rest[..], &model[from.min(model.len())..]);
        }
    }
}
