//! `take_while` gives the items before the first that a function refuses.

use gristmill::{Length, Stream};

use crate::common::*;

fn below_five(numbers: Stream<u64>) -> Stream<u64> {
    numbers.take_while(|n| *n < 5)
}

#[test]
fn it_ends_before_the_first_that_is_refused() {
    assert_eq!(values(&below_five(numbers(10))), [0, 1, 2, 3, 4]);
    assert_eq!(values(&numbers(10).take_while(|n| n % 4 < 3)), [0, 1, 2]);
    assert_eq!(below_five(numbers(10)).length().unwrap(), Length::Unknown);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&below_five(numbers(0))), []);
    assert_eq!(everywhere(&endless().take_while(|_| false)), []);
}

#[test]
fn it_lets_none_one_or_all_pass() {
    for n in [1, 4, 5, 6, 256, 257] {
        assert_eq!(values(&below_five(numbers(n))), (0..n.min(5)).collect::<Vec<_>>());
        assert_eq!(values(&numbers(n).take_while(|i| *i < 1)), [0]);
        assert_eq!(values(&numbers(n).take_while(|_| true)), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&below_five(with_error(9, 3))), [Ok(0), Ok(1), Ok(2), Err(bad(3)), Ok(4)]);
    assert_eq!(everywhere(&below_five(with_panic(2))), [Ok(0), Ok(1), Err(panicked(2))]);
    // What comes after the end is not asked for.
    assert_eq!(everywhere(&below_five(with_error(9, 6))), (0..5).map(Ok).collect::<Vec<_>>());
    assert_eq!(everywhere(&below_five(with_panic(6))), (0..5).map(Ok).collect::<Vec<_>>());
}

#[test]
fn a_panic_is_told_with_the_item_it_was_asked_about() {
    let stream = with_error(9, 1).take_while(|n| {
        assert!(*n != 3, "not three");
        true
    });
    let panicked = Err("take_while panicked at item 3: not three".into());
    assert_eq!(everywhere(&stream), [Ok(0), Err(bad(1)), Ok(2), panicked]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        drops(|s| s.take_while(|_| true));
        // At its end too, the iterator being there.
        let mut iter = below_five(endless()).prefetch(2).iter().unwrap();
        assert_eq!(iter.by_ref().count(), 5);
        no_thread_is_left();
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&below_five(numbers(9)));
    reopens(&below_five(with_error(9, 4)));
    reopens(&below_five(numbers(3)));
}
