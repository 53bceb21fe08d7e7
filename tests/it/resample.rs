//! `resample` leaves items out at random so that classes come in other shares.

use gristmill::{Length, Stream};
use proptest::prelude::*;

use crate::common::*;

/// Every fourth number is of class 1, the others of class 0; as many of both are wanted.
fn balanced(numbers: Stream<u64>) -> Stream<u64> {
    numbers.resample(7, [(0.75, 0.5), (0.25, 0.5)], class)
}

fn class(n: &u64) -> usize {
    usize::from(n % 4 == 3)
}

#[test]
fn classes_come_in_the_shares_that_are_wanted() {
    let items = values(&balanced(numbers(40_000)));
    let ones = items.iter().filter(|n| class(n) == 1).count();
    assert_eq!(ones, 10_000);
    assert!((9_700..10_300).contains(&(items.len() - ones)), "{}", items.len());
    assert!(items.is_sorted());
    assert_eq!(balanced(numbers(9)).length().unwrap(), Length::Unknown);
    assert_ne!(epoch(&balanced(numbers(99)), 0), epoch(&balanced(numbers(99)), 1));
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&balanced(numbers(0))), []);
    assert_eq!(everywhere(&numbers(9).resample(1, [(1.0, 0.0), (0.0, 0.0), (1.0, 1.0)], |_| 0)), []);
}

#[test]
fn all_of_one_class_or_none() {
    for n in [1, 2, 256, 257] {
        let all: Vec<u64> = (0..n).collect();
        assert_eq!(values(&numbers(n).resample(1, [(3.0, 0.1)], |_| 0)), all);
        let ones: Vec<u64> = all.iter().copied().filter(|n| class(n) == 1).collect();
        assert_eq!(values(&numbers(n).resample(1, [(1.0, 0.0), (1.0, 2.0)], class)), ones);
        assert_eq!(values(&numbers(n).resample(1, [(3.0, 3.0), (1.0, 1.0)], class)), all);
    }
}

#[test]
fn impossible_shares_are_refused() {
    let lists = [
        vec![],
        vec![(1.0, 0.0)],
        vec![(0.0, 1.0)],
        vec![(-1.0, 1.0)],
        vec![(1.0, f64::NAN)],
        vec![(f64::INFINITY, 1.0)],
    ];
    for shares in lists {
        let refused = numbers(3).resample(1, shares, class).plan().unwrap_err().to_string();
        assert!(refused.starts_with("resample: expected shares"), "{refused}");
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    let kept = |stream: Stream<u64>| stream.resample(1, [(1.0, 0.0), (1.0, 1.0)], class);
    assert_eq!(everywhere(&kept(with_error(9, 5))), [Ok(3), Err(bad(5)), Ok(7)]);
    assert_eq!(everywhere(&kept(with_panic(5))), [Ok(3), Err(panicked(5))]);
}

#[test]
fn an_item_of_no_class_is_an_error_at_its_place_and_a_panic_is_told() {
    let seen = everywhere(&numbers(3).resample(1, [(1.0, 1.0)], |n| (*n == 1) as usize));
    let error = Err("resample, item 1: expected one of 1 classes, counted from 0, found 1".into());
    assert_eq!(seen, [Ok(0), error, Ok(2)]);
    let seen =
        everywhere(&numbers(3).resample(1, [(1.0, 1.0)], |n| if *n == 1 { panic!("no class") } else { 0 }));
    assert_eq!(seen, [Ok(0), Err("resample panicked at item 1: no class".into())]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| s.resample(1, [(1.0, 1.0)], |_| 0)));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&balanced(numbers(30)));
    reopens(&balanced(with_error(30, 8)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_stays_does_not_depend_on_what_comes_after(n in 0u64..60, more in 0u64..60) {
        let short = values(&balanced(numbers(n)));
        prop_assert_eq!(&values(&balanced(numbers(n + more)))[..short.len()], &short[..]);
    }
}
