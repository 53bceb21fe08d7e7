//! `filter` keeps the items that a function approves, in their order.

use gristmill::{Length, Stream};

use crate::common::*;

fn even(numbers: Stream<u64>) -> Stream<u64> {
    numbers.filter(|n| n % 2 == 0)
}

#[test]
fn it_keeps_what_is_approved() {
    assert_eq!(values(&even(numbers(7))), [0, 2, 4, 6]);
    assert_eq!(even(numbers(7)).length().unwrap(), Length::Unknown);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&even(numbers(0))), []);
    assert_eq!(everywhere(&numbers(100).filter(|_| false)), []);
}

#[test]
fn it_lets_one_the_last_or_all_pass() {
    for n in [1, 2, 256, 257] {
        assert_eq!(values(&numbers(n).filter(|i| *i == 0)), [0]);
        assert_eq!(values(&numbers(n).filter(move |i| *i == n - 1)), [n - 1]);
        assert_eq!(values(&numbers(n).filter(|_| true)), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&even(with_error(6, 3))), [Ok(0), Ok(2), Err(bad(3)), Ok(4)]);
    assert_eq!(everywhere(&even(with_panic(3))), [Ok(0), Ok(2), Err(panicked(3))]);
}

#[test]
fn a_panic_is_told_with_the_item_it_was_asked_about() {
    let stream = with_error(9, 1).filter(|n| {
        assert!(*n != 5, "not five");
        n % 2 == 0
    });
    let panicked = Err("filter panicked at item 5: not five".into());
    assert_eq!(everywhere(&stream), [Ok(0), Err(bad(1)), Ok(2), Ok(4), panicked]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(even));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&even(numbers(9)));
    reopens(&even(with_error(9, 4)));
}

#[test]
fn where_the_function_fails_its_error_takes_the_items_place() {
    let stream = numbers(6).try_filter(|n| if *n == 3 { Err("not three") } else { Ok(n % 2 == 0) });
    let failed = Err("try_filter, item 3: not three".into());
    assert_eq!(everywhere(&stream), [Ok(0), Ok(2), failed, Ok(4)]);
    assert_eq!(format!("{:?}", stream.plan().unwrap().steps.last().unwrap().call), "\"try_filter(..)\"");
}
