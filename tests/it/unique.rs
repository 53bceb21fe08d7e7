//! `unique` and `unique_by` give each value once, where it comes first.

use gristmill::{Dataset, Length, Stream};
use proptest::prelude::*;

use crate::common::*;

/// 0, 1, 2, 0, 1, 2, …
fn rounds(numbers: Stream<u64>) -> Stream<u64> {
    numbers.map(|n| n % 3)
}

#[test]
fn what_came_before_is_left_out() {
    assert_eq!(values(&rounds(numbers(9)).unique()), [0, 1, 2]);
    assert_eq!(values(&numbers(9).unique_by(|n| n / 4)), [0, 4, 8]);
    assert_eq!(rounds(numbers(9)).unique().length().unwrap(), Length::Unknown);
    let words = Dataset::from_generator(|_| ["b", "a", "b"].map(String::from));
    assert_eq!(values(&words.unique()), ["b", "a"]);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&numbers(0).unique()), []);
    assert_eq!(everywhere(&numbers(0).unique_by(|n| *n)), []);
}

#[test]
fn one_many_and_equal_items() {
    for n in [1, 2, 256, 257] {
        assert_eq!(values(&numbers(n).unique()), (0..n).collect::<Vec<_>>());
        assert_eq!(values(&numbers(n).map(|_| 7).unique()), [7]);
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&rounds(with_error(9, 4)).unique()), [Ok(0), Ok(1), Ok(2), Err(bad(4))]);
    assert_eq!(everywhere(&with_panic(3).unique_by(|n| n % 2)), [Ok(0), Ok(1), Err(panicked(3))]);
}

#[test]
fn a_panic_is_told_with_its_item() {
    let stream = numbers(9).unique_by(|n| assert!(*n != 2, "not two"));
    assert_eq!(everywhere(&stream), [Ok(0), Err("unique_by panicked at item 2: not two".into())]);
}

#[test]
fn each_epoch_and_round_starts_with_nothing_seen() {
    let stream = rounds(numbers(5)).unique();
    assert_eq!(epoch(&stream, 1), [0, 1, 2]);
    assert_eq!(values(&stream.repeat(2)), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn the_plan_counts_every_item_as_held() {
    let rows = Dataset::range(100).unwrap().rows();
    let plan = rows.clone().unique_by(|row| row.value::<u64>("0").unwrap() % 2).plan().unwrap();
    assert_eq!(plan.steps.last().unwrap().holds, 100);
    assert!(rows.unique_by(|_| 0).budget(300).iter().is_err());
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.unique());
        drops(|s| s.unique_by(|n| *n));
    });
}

#[test]
fn reopened_they_give_the_same() {
    reopens(&rounds(numbers(9)).unique());
    reopens(&with_error(9, 4).unique_by(|n| n / 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_a_list_without_doubles(items in proptest::collection::vec(0u64..10, 0..30), from in 0usize..12) {
        let mut model: Vec<u64> = Vec::new();
        for item in &items {
            if !model.contains(item) {
                model.push(*item);
            }
        }
        let stream = Dataset::from_generator(move |_| items.clone()).unique();
        prop_assert_eq!(&values(&stream), &model);
        let rest: Vec<u64> = stream.iter().unwrap().skip(from).map(|item| item.unwrap()).collect();
        prop_assert_eq!(&rest[..], &model[from.min(model.len())..]);
    }
}
