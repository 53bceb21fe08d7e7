//! `group_by_window` and `group_by_window_sized` put items of one key together.

use std::collections::BTreeMap;

use gristmill::{Dataset, Length, Stream};
use proptest::prelude::*;

use crate::common::*;

fn thirds(numbers: Stream<u64>) -> Stream<Vec<u64>> {
    numbers.group_by_window(2, |n| n % 3)
}

#[test]
fn groups_come_as_they_fill_and_the_rest_by_key() {
    assert_eq!(values(&thirds(numbers(9))), [vec![0, 3], vec![1, 4], vec![2, 5], vec![6], vec![7], vec![8]]);
    let backwards = numbers(5).map(|n| 10 - n).group_by_window(9, |n| *n);
    assert_eq!(values(&backwards), [[6], [7], [8], [9], [10]]);
    let sized = numbers(6).group_by_window_sized(|n| n % 2, |parity| 1 + *parity as usize);
    assert_eq!(values(&sized), [vec![0], vec![2], vec![1, 3], vec![4], vec![5]]);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&thirds(numbers(0))), []);
    let known = || Dataset::range(5).unwrap().rows();
    let grouped = |stream: Stream<_>| stream.group_by_window(2, |_| 0).length().unwrap();
    assert_eq!(grouped(known()), Length::Unknown);
    assert_eq!(grouped(known().take(0)), Length::Exact(0));
    assert_eq!(grouped(known().repeat_forever()), Length::Infinite);
}

#[test]
fn groups_of_one_of_all_and_of_none() {
    assert_eq!(values(&numbers(3).group_by_window(1, |_| 0)), [[0], [1], [2]]);
    assert_eq!(values(&numbers(3).group_by_window(3, |_| 0)), [[0, 1, 2]]);
    assert_eq!(values(&numbers(4).group_by_window(3, |_| 0)), [vec![0, 1, 2], vec![3]]);
    assert_eq!(values(&numbers(3).group_by_window(usize::MAX, |_| 0)), [[0, 1, 2]]);
    let refused = numbers(3).group_by_window(0, |n| *n).iter().unwrap_err().to_string();
    assert!(refused.contains("groups of at least one item, found 0"), "{refused}");
    let none = numbers(3).group_by_window_sized(|n| *n, |n| usize::from(*n != 1));
    let error = "group_by_window_sized, item 1: expected a group of at least one item, found 0";
    assert_eq!(everywhere(&none), [Ok(vec![0]), Err(error.into()), Ok(vec![2])]);
}

#[test]
fn groups_of_an_endless_stream_come_before_its_end() {
    watchdog(|| {
        let groups = thirds(endless()).take(2);
        assert_eq!(values(&groups), [[0, 3], [1, 4]]);
    });
}

#[test]
fn an_upstream_error_passes_at_once_and_what_ends_the_stream_comes_last() {
    assert_eq!(
        everywhere(&thirds(with_error(5, 1))),
        [Err(bad(1)), Ok(vec![0, 3]), Ok(vec![4]), Ok(vec![2])]
    );
    assert_eq!(
        everywhere(&thirds(with_panic(4))),
        [Ok(vec![0, 3]), Ok(vec![1]), Ok(vec![2]), Err(panicked(4))]
    );
    let touchy = numbers(4).group_by_window(2, |n| {
        assert!(*n != 2, "not two");
        0
    });
    let panicked = Err("group_by_window panicked at item 2: not two".into());
    assert_eq!(everywhere(&touchy), [Ok(vec![0, 1]), panicked]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| s.group_by_window(1, |n| n % 3)));
}

#[test]
fn reopened_it_gives_the_same() {
    for n in [0, 1, 6, 8] {
        reopens(&thirds(numbers(n)));
    }
    reopens(&thirds(with_error(7, 3)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_are_their_model(keys in prop::collection::vec(0..4u64, 0..40), size in 1..5usize) {
        let mut open: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
        let mut expected = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let group = open.entry(*key).or_default();
            group.push((*key, at));
            if group.len() == size {
                expected.extend(open.remove(key));
            }
        }
        expected.extend(open.into_values());
        let stream = Dataset::from_generator(move |_| keys.clone().into_iter().zip(0..));
        let stream = stream.group_by_window(size, |item| item.0);
        prop_assert_eq!(values(&stream.threads(gristmill::Threads::None)), expected);
    }
}
