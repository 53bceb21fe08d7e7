//! `concat` gives all items of one stream and then all of another.

use gristmill::{Dataset, Length};

use crate::common::*;

#[test]
fn one_stream_follows_the_other() {
    assert_eq!(values(&numbers(3).concat(numbers(2))), [0, 1, 2, 0, 1]);
    let epochs = || Dataset::from_generator(|epoch| [epoch]);
    assert_eq!(epoch(&epochs().concat(epochs()).concat(epochs()), 7), [7, 7, 7]);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&numbers(0).concat(numbers(0))), []);
}

#[test]
fn either_part_may_be_empty_short_or_endless() {
    for (first, second) in [(0, 1), (1, 0), (1, 1), (255, 1), (256, 2), (257, 256)] {
        let expected: Vec<_> = (0..first).chain(0..second).collect();
        assert_eq!(values(&numbers(first).concat(numbers(second))), expected);
    }
    assert_eq!(values(&numbers(2).concat(endless()).take(4)), [0, 1, 0, 1]);
    let known = |n| Dataset::range(n).unwrap().rows();
    assert_eq!(known(2).concat(known(3)).length().unwrap(), Length::Exact(5));
}

#[test]
fn an_upstream_error_keeps_its_place_in_either_part() {
    let both = with_error(2, 1).concat(with_error(3, 0));
    assert_eq!(everywhere(&both), [Ok(0), Err(bad(1)), Err(bad(0)), Ok(1), Ok(2)]);
    // What breaks the first part ends the whole: its rest is unknown, so the second must not stand in its place.
    assert_eq!(everywhere(&with_panic(1).concat(numbers(3))), [Ok(0), Err(panicked(1))]);
    assert_eq!(everywhere(&numbers(1).concat(with_panic(1))), [Ok(0), Ok(0), Err(panicked(1))]);
}

#[test]
fn other_columns_are_refused_when_opened() {
    let known = |name| Dataset::range(2).unwrap().batch(2).rename("0", name);
    let error = known("a").concat(known("b")).iter().unwrap_err().to_string();
    assert_eq!(error, "concat: expected (a: u64), found (b: u64)");
    assert_eq!(known("a").concat(known("a")).iter().unwrap().count(), 2);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        drops(|s| s.concat(endless()));
        drops(|s| numbers(2).concat(s));
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&numbers(3).concat(numbers(4)));
    reopens(&with_error(3, 2).concat(with_error(3, 0)));
    reopens(&numbers(0).concat(numbers(2)).concat(numbers(0)));
}
