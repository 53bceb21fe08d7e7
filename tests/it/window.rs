//! `window` and `window_exact` give runs of neighbouring items by size, shift and stride.

use gristmill::{Dataset, Length, Position, Stream};
use proptest::prelude::*;

use crate::common::*;

fn both(items: &Stream<u64>, [size, shift, stride]: [usize; 3]) -> [Stream<Vec<u64>>; 2] {
    [items.clone().window(size, shift, stride), items.clone().window_exact(size, shift, stride)]
}

/// What the rule says of the items `0..n`.
fn model(n: u64, [size, shift, stride]: [usize; 3], exact: bool) -> Vec<Vec<u64>> {
    let window = |start: u64| -> Vec<u64> { (start..n).step_by(stride).take(size).collect() };
    let windows = (0..n).step_by(shift).map(window);
    windows.filter(|window| !exact || window.len() == size).collect()
}

fn known(n: u64) -> Stream<u64> {
    Dataset::range(n).unwrap().rows().map(|row| row.value("0").unwrap())
}

#[test]
fn windows_start_at_multiples_of_the_shift() {
    let [kept, exact] = both(&numbers(7), [3, 1, 1]);
    let full = vec![vec![0, 1, 2], vec![1, 2, 3], vec![2, 3, 4], vec![3, 4, 5], vec![4, 5, 6]];
    assert_eq!(values(&exact), full);
    assert_eq!(values(&kept), [full, vec![vec![5, 6], vec![6]]].concat());
    let [kept, exact] = both(&numbers(10), [2, 3, 2]);
    assert_eq!(values(&kept), [vec![0, 2], vec![3, 5], vec![6, 8], vec![9]]);
    assert_eq!(values(&exact), [[0, 2], [3, 5], [6, 8]]);
}

#[test]
fn of_nothing_comes_nothing() {
    for stream in both(&numbers(0), [3, 2, 1]) {
        assert_eq!(everywhere(&stream), []);
    }
    assert_eq!(everywhere(&numbers(2).window_exact(3, 1, 1)), []);
}

#[test]
fn sizes_of_one_of_all_and_of_more() {
    for form in [[1, 1, 1], [8, 8, 1], [9, 1, 1], [3, 20, 1], [1, 1, 7], [2, 1, 7], [2, 1, 8]] {
        let [kept, exact] = both(&numbers(8), form);
        assert_eq!(
            (values(&kept), values(&exact)),
            (model(8, form, false), model(8, form, true)),
            "{form:?}"
        );
    }
    let most = usize::MAX;
    assert_eq!(values(&numbers(3).window(most, most, most)), [[0]]);
    assert_eq!(values(&numbers(3).window(most, 1, 1)), [vec![0, 1, 2], vec![1, 2], vec![2]]);
    assert_eq!(everywhere(&numbers(3).window_exact(most, 1, most)), []);
}

#[test]
fn zeros_are_refused() {
    for form in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
        for stream in both(&numbers(3), form) {
            let refused = stream.plan().unwrap_err().to_string();
            assert!(refused.contains("expected a size, a shift and a stride of at least 1"), "{refused}");
        }
    }
}

#[test]
fn the_length_is_known_where_the_items_are_counted() {
    assert_eq!(numbers(5).window(2, 1, 1).length().unwrap(), Length::Unknown);
    assert_eq!(known(5).repeat_forever().window_exact(2, 1, 1).length().unwrap(), Length::Infinite);
    let plan = known(100).window(4, 1, 3).plan().unwrap();
    assert_eq!((plan.length, plan.steps.last().unwrap().holds), (Length::Exact(100), 3));
}

#[test]
fn an_upstream_error_keeps_its_place_in_every_window_it_lies_in() {
    let lies = |k: u64| Err(format!("window, item {k}: {}", bad(3)));
    let stream = with_error(7, 3).window(2, 1, 1);
    let expected =
        [Ok(vec![0, 1]), Ok(vec![1, 2]), lies(2), lies(3), Ok(vec![4, 5]), Ok(vec![5, 6]), Ok(vec![6])];
    assert_eq!(everywhere(&stream), expected);
    // Between windows and between strides nobody sees it.
    assert_eq!(everywhere(&with_error(7, 3).window(2, 4, 2)), [Ok(vec![0, 2]), Ok(vec![4, 6])]);
    assert_eq!(everywhere(&with_error(6, 3).window(2, 4, 1)), [Ok(vec![0, 1]), Ok(vec![4, 5])]);
}

#[test]
fn what_ends_the_stream_comes_after_the_windows_before_it() {
    let stream = with_panic(3).window(2, 1, 1);
    let expected = [Ok(vec![0, 1]), Ok(vec![1, 2]), Ok(vec![2]), Err(panicked(3))];
    assert_eq!(everywhere(&stream), expected);
    assert_eq!(
        everywhere(&with_panic(5).window_exact(2, 2, 1)),
        [Ok(vec![0, 1]), Ok(vec![2, 3]), Err(panicked(5))]
    );
    assert_eq!(everywhere(&with_panic(3).window(1, 4, 1)), [Ok(vec![0]), Err(panicked(3))]);
}

/// A number that counts how often it was cloned, and cannot be cloned if it is 13.
#[derive(Debug, PartialEq)]
struct Counted(u64, u64);

impl Clone for Counted {
    fn clone(&self) -> Counted {
        assert!(self.0 != 13, "unlucky");
        Counted(self.0, self.1 + 1)
    }
}

#[test]
fn items_are_cloned_only_for_later_windows() {
    let counted = |n| numbers(n).map(|n| Counted(n, 0));
    let windows = values(&counted(4).window(2, 2, 1));
    assert_eq!(
        windows.into_iter().flatten().collect::<Vec<_>>(),
        [Counted(0, 0), Counted(1, 0), Counted(2, 0), Counted(3, 0)]
    );
    let windows = values(&counted(3).window_exact(2, 1, 1));
    assert_eq!(
        windows.into_iter().flatten().collect::<Vec<_>>(),
        [Counted(0, 0), Counted(1, 1), Counted(1, 0), Counted(2, 1)]
    );
    let seen = everywhere(&counted(20).skip(11).window(2, 1, 1));
    assert_eq!(seen.last().unwrap(), &Err("window panicked at item 1: unlucky".to_string()));
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.window(2, 1, 1));
        drops(|s| s.window_exact(2, 3, 1));
    });
}

#[test]
fn reopened_they_give_the_same() {
    for form in [[2, 1, 1], [3, 2, 2], [2, 5, 1], [4, 3, 1]] {
        for items in [numbers(11), with_error(11, 4)] {
            for stream in both(&items, form) {
                reopens(&stream);
            }
        }
    }
}

#[test]
fn a_seek_passes_over_items_without_making_them() {
    let rows = Dataset::range(1 << 40).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    for stream in both(&rows, [2, 8, 3]) {
        let mut iter = stream.seek(Position { epoch: 0, item: 1 << 30 }).unwrap();
        assert_eq!(iter.next().unwrap().unwrap(), [1 << 33, (1 << 33) + 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn they_are_the_rule_on_lists(n in 0u64..25, form: [u8; 3], first in 0usize..8, from in 0usize..20) {
        let form = form.map(|n| 1 + n as usize % 7);
        for (exact, stream) in [false, true].into_iter().zip(both(&known(n), form)) {
            let model = model(n, form, exact);
            prop_assert_eq!(&values(&stream), &model);
            prop_assert_eq!(stream.length().unwrap(), Length::Exact(model.len() as u64));
            // Some windows are pulled, some passed over, the rest pulled.
            let mut iter = stream.iter().unwrap();
            let mut seen: Vec<_> = iter.by_ref().take(first).map(|w| w.unwrap()).collect();
            let at = seen.len() + from;
            seen.extend(iter.skip(from).map(|w| w.unwrap()));
            let expected = [&model[..first.min(model.len())], &model[at.min(model.len())..]].concat();
            prop_assert_eq!(seen, expected);
        }
    }
}
