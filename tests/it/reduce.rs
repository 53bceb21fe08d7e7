//! `reduce` and `reduce_epoch` make one value of all items of an epoch.

use gristmill::{Dataset, Stream};
use proptest::prelude::*;

use crate::common::*;

/// The digits of the items one after the other: not the same in another order.
fn digits(stream: &Stream<u64>) -> Result<u64, String> {
    let values = THREADS.map(|threads| {
        stream.clone().threads(threads).reduce(0, |digits, n| digits * 10 + n).map_err(|e| e.to_string())
    });
    assert_eq!(values[0], values[1]);
    assert_eq!(values[0], values[2]);
    values[0].clone()
}

#[test]
fn it_takes_in_every_item_in_order() {
    assert_eq!(digits(&numbers(7).skip(1)), Ok(123456));
    let mut seen = 0;
    let list = numbers(3).reduce(Vec::new(), |mut list, n| {
        seen += 1;
        list.push(n);
        list
    });
    assert_eq!((list.unwrap(), seen), (vec![0, 1, 2], 3));
}

#[test]
fn of_nothing_comes_the_start() {
    assert_eq!(numbers(0).reduce("start", |_, _| "end").unwrap(), "start");
}

#[test]
fn one_and_many_items() {
    for n in [1, 2, 256, 257] {
        assert_eq!(numbers(n).reduce(0, |sum, i| sum + i).unwrap(), n * (n - 1) / 2);
    }
}

#[test]
fn the_first_error_is_the_answer() {
    assert_eq!(digits(&with_error(5, 3)), Err(bad(3)));
    assert_eq!(digits(&with_panic(3)), Err(panicked(3)));
    let refused = digits(&numbers(3).shuffle_buffer(0, 1)).unwrap_err();
    assert!(refused.contains("shuffle_buffer: expected"), "{refused}");
}

#[test]
fn a_panic_is_told_with_its_item() {
    let value = numbers(5).reduce(0, |sum, n| if n == 3 { panic!("not three") } else { sum + n });
    assert_eq!(value.unwrap_err().to_string(), "reduce panicked at item 3: not three");
}

#[test]
fn left_at_an_error_it_leaves_no_thread() {
    alone(|| {
        for threads in THREADS {
            let stream = with_error(1 << 40, 3).prefetch(8).threads(threads);
            assert!(stream.reduce(0, |sum, n| sum + n).is_err());
            no_thread_is_left();
        }
    });
}

#[test]
fn run_again_it_gives_the_same_and_each_epoch_its_own() {
    let items = Dataset::from_generator(|epoch| [epoch, 5]);
    for k in [0, 3, 3, 0] {
        assert_eq!(items.reduce_epoch(k, 100, |sum, n| sum + n).unwrap(), 105 + k);
    }
    assert_eq!(items.reduce(0, |sum, n| sum + n).unwrap(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_the_fold_of_iterators(items in proptest::collection::vec(0u64..100, 0..20)) {
        let add = |sum: u64, n: u64| sum * 3 + n;
        let model = items.iter().copied().fold(7, add);
        prop_assert_eq!(Dataset::from_generator(move |_| items.clone()).reduce(7, add).unwrap(), model);
    }
}
