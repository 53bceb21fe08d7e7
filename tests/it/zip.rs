//! `zip` pairs the items of two streams until the shorter one ends.

use gristmill::{Dataset, Length, Position, Stream};

use crate::common::*;

fn hundreds(n: u64) -> Stream<u64> {
    numbers(n).map(|i| i * 100)
}

#[test]
fn items_come_in_pairs() {
    assert_eq!(values(&numbers(3).zip(hundreds(3))), [(0, 0), (1, 100), (2, 200)]);
    let named = numbers(2).zip(numbers(9).map(|n| format!("row {n}")));
    assert_eq!(values(&named), [(0, "row 0".to_string()), (1, "row 1".to_string())]);
}

#[test]
fn of_nothing_comes_nothing() {
    for (left, right) in [(0, 0), (0, 3), (3, 0)] {
        assert_eq!(everywhere(&numbers(left).zip(numbers(right))), []);
    }
}

#[test]
fn the_shorter_side_ends_it() {
    for (left, right) in [(1, 1), (1, 2), (4, 3), (3, 4), (256, 257), (300, 256)] {
        let pairs: Vec<_> = (0..left.min(right)).map(|i| (i, i * 100)).collect();
        assert_eq!(values(&numbers(left).zip(hundreds(right))), pairs);
    }
    assert_eq!(values(&endless().zip(numbers(2))), [(0, 0), (1, 1)]);
    let known = |n| Dataset::range(n).unwrap().rows();
    let lengths = [
        known(4).zip(known(3)).length().unwrap(),
        known(4).repeat_forever().zip(known(3)).length().unwrap(),
        known(4).repeat_forever().zip(known(3).repeat_forever()).length().unwrap(),
    ];
    assert_eq!(lengths, [Length::Exact(3), Length::Exact(3), Length::Infinite]);
    assert_eq!(known(4).zip(numbers(3)).length().unwrap(), Length::Unknown);
}

#[test]
fn an_upstream_error_keeps_its_place_on_either_side() {
    let expected = [Ok((0, 0)), Err(bad(1)), Ok((2, 2))];
    assert_eq!(everywhere(&with_error(3, 1).zip(numbers(3))), expected);
    assert_eq!(everywhere(&numbers(3).zip(with_error(3, 1))), expected);
    assert_eq!(everywhere(&with_error(3, 1).zip(with_error(3, 1))), expected);
    let expected = [Ok((0, 0)), Ok((1, 1)), Err(panicked(2))];
    assert_eq!(everywhere(&with_panic(2).zip(numbers(9))), expected);
    assert_eq!(everywhere(&numbers(9).zip(with_panic(2))), expected);
}

#[test]
fn what_breaks_one_side_is_told_rather_than_an_item_error_beside_it() {
    let expected = [Ok((0, 0)), Ok((1, 1)), Err(panicked(2))];
    assert_eq!(everywhere(&with_panic(2).zip(with_error(9, 2))), expected);
    assert_eq!(everywhere(&with_error(9, 2).zip(with_panic(2))), expected);
}

#[test]
fn an_item_without_a_partner_is_not_a_pair_even_if_it_is_an_error() {
    let expected = [Ok((0, 0)), Ok((1, 1))];
    assert_eq!(everywhere(&with_error(5, 2).zip(numbers(2))), expected);
    assert_eq!(everywhere(&numbers(2).zip(with_error(5, 2))), expected);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        drops(|s| s.zip(endless()));
        drops(|s| endless().zip(s));
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&numbers(4).zip(hundreds(6)));
    reopens(&with_error(5, 1).zip(with_error(4, 2)));
}

#[test]
fn a_seek_moves_both_sides() {
    let rows = |n| Dataset::range(n).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    let mut iter = rows(1 << 40).zip(endless()).seek(Position { epoch: 0, item: 700 }).unwrap();
    assert_eq!(iter.next().unwrap().unwrap(), (700, 700));
}
