//! `scan` passes items through a function with a memory that every epoch starts anew.

use gristmill::{Dataset, Length, Stream};
use proptest::prelude::*;

use crate::common::*;

fn sums(numbers: Stream<u64>) -> Stream<u64> {
    numbers.scan(|_| 0, add)
}

fn add(sum: &mut u64, n: u64) -> u64 {
    *sum += n;
    *sum
}

#[test]
fn the_state_goes_from_item_to_item() {
    assert_eq!(values(&sums(numbers(6))), [0, 1, 3, 6, 10, 15]);
    let before = numbers(4).scan(|_| None, |last, n| last.replace(n));
    assert_eq!(values(&before), [None, Some(0), Some(1), Some(2)]);
    assert_eq!(sums(Dataset::range(6).unwrap().rows().map(|_| 1)).length().unwrap(), Length::Exact(6));
}

#[test]
fn each_epoch_and_round_starts_with_a_state_of_its_own() {
    let stream = numbers(3).scan(|epoch| epoch * 100, add);
    assert_eq!(epoch(&stream, 2), [200, 201, 203]);
    assert_eq!(epoch(&stream, 0), [0, 1, 3]);
    assert_eq!(values(&stream.repeat(2)), [0, 1, 3, 100, 101, 103]);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&sums(numbers(0))), []);
    let never = numbers(0).scan(|_| panic!("a state for nothing"), |_: &mut u64, n| n);
    assert_eq!(everywhere(&never), []);
}

#[test]
fn one_and_many_items() {
    for n in [1, 2, 256, 257] {
        assert_eq!(values(&sums(numbers(n))), (0..n).map(|i| i * (i + 1) / 2).collect::<Vec<_>>());
    }
}

#[test]
fn an_upstream_error_keeps_its_place_and_the_state() {
    assert_eq!(everywhere(&sums(with_error(4, 2))), [Ok(0), Ok(1), Err(bad(2)), Ok(4)]);
    assert_eq!(everywhere(&sums(with_panic(2))), [Ok(0), Ok(1), Err(panicked(2))]);
}

#[test]
fn a_panic_is_told_with_its_item() {
    let told = |n, text| Err(format!("scan panicked at item {n}: {text}"));
    let stream = with_error(9, 0).scan(|_| 0, |_, n| if n == 2 { panic!("not two") } else { n });
    assert_eq!(everywhere(&stream), [Err(bad(0)), Ok(1), told(2, "not two")]);
    let stream = numbers(9).scan(|_| panic!("no state"), |_: &mut u64, n| n);
    assert_eq!(everywhere(&stream), [told(0, "no state")]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(sums));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&sums(numbers(9)));
    reopens(&sums(with_error(9, 4)));
    reopens(&sums(numbers(3)).repeat(3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_the_scan_of_iterators(items in proptest::collection::vec(0u64..100, 0..20), from in 0usize..25) {
        let model: Vec<u64> = items.iter().scan(7, |sum, n| Some(add(sum, *n))).collect();
        let stream = Dataset::from_generator(move |_| items.clone()).scan(|_| 7, add);
        prop_assert_eq!(&values(&stream), &model);
        let rest: Vec<u64> = stream.iter().unwrap().skip(from).map(|item| item.unwrap()).collect();
        prop_assert_eq!(&rest[..], &model[from.min(model.len())..]);
    }
}
