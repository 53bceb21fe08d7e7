//! `enumerate` and `enumerate_from` give items their numbers.

use gristmill::{Dataset, Length};

use crate::common::*;

#[test]
fn numbers_count_from_zero_or_from_a_start() {
    let letters = || Dataset::from_generator(|_| ["a", "b", "c"]);
    assert_eq!(values(&letters().enumerate()), [(0, "a"), (1, "b"), (2, "c")]);
    assert_eq!(values(&letters().enumerate_from(5)), [(5, "a"), (6, "b"), (7, "c")]);
    assert_eq!(epoch(&letters().enumerate(), 4), values(&letters().enumerate()), "anew in each epoch");
    assert_eq!(Dataset::range(3).unwrap().rows().enumerate().length().unwrap(), Length::Exact(3));
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&numbers(0).enumerate()), []);
}

#[test]
fn one_item_many_and_the_last_number_of_all_are_counted() {
    for n in [1, 256, 257] {
        assert_eq!(values(&numbers(n).enumerate()), (0..n).map(|i| (i, i)).collect::<Vec<_>>());
    }
    // Counting does not end with the numbers.
    let last = numbers(3).enumerate_from(u64::MAX - 1);
    assert_eq!(values(&last), [(u64::MAX - 1, 0), (u64::MAX, 1), (0, 2)]);
}

#[test]
fn an_upstream_error_keeps_its_place_and_takes_its_number() {
    assert_eq!(everywhere(&with_error(3, 1).enumerate()), [Ok((0, 0)), Err(bad(1)), Ok((2, 2))]);
    assert_eq!(everywhere(&with_panic(1).enumerate_from(9)), [Ok((9, 0)), Err(panicked(1))]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| s.enumerate()));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&numbers(4).enumerate());
    reopens(&with_error(4, 2).enumerate_from(7));
    reopens(&numbers(3).enumerate().repeat(2).enumerate());
}
