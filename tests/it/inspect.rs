//! `inspect` shows every item to a function and passes it on.

use std::sync::{Arc, Mutex};

use gristmill::{Dataset, Length, Stream};

use crate::common::*;

/// `stream`, and the items that were shown so far.
fn watched(stream: Stream<u64>) -> (Stream<u64>, Arc<Mutex<Vec<u64>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let look = shown.clone();
    (stream.inspect(move |n| look.lock().unwrap().push(*n)), shown)
}

#[test]
fn each_item_is_shown_once_and_passed_on() {
    let (stream, shown) = watched(numbers(5));
    assert_eq!(values(&stream), [0, 1, 2, 3, 4]);
    assert_eq!(*shown.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn what_is_known_of_the_items_stays_known() {
    let stream = Dataset::range(5).unwrap().batch(2).inspect(|_| {});
    assert_eq!(stream.length().unwrap(), Length::Exact(3));
    assert_eq!(stream.spec().unwrap().map(|spec| spec.to_string()), Some("(0: u64)".into()));
    assert!(stream.prefetch_bytes(100).iter().is_ok());
}

#[test]
fn of_nothing_comes_nothing() {
    let (stream, shown) = watched(numbers(0));
    assert_eq!(everywhere(&stream), []);
    assert!(shown.lock().unwrap().is_empty());
}

#[test]
fn it_sees_as_many_items_as_are_taken() {
    for n in [0, 1, 4, 5] {
        let (stream, shown) = watched(numbers(5));
        stream.iter().unwrap().take(n).for_each(|item| assert!(item.is_ok()));
        assert_eq!(shown.lock().unwrap().len(), n);
    }
}

#[test]
fn an_upstream_error_keeps_its_place_and_is_not_shown() {
    let (stream, shown) = watched(with_error(3, 1));
    assert_eq!(outcomes(&stream), [Ok(0), Err(bad(1)), Ok(2)]);
    assert_eq!(*shown.lock().unwrap(), [0, 2]);
    assert_eq!(everywhere(&watched(with_panic(1)).0), [Ok(0), Err(panicked(1))]);
}

#[test]
fn a_panic_is_told_with_the_item_it_was_shown() {
    let stream = numbers(5).inspect(|n| assert!(*n != 2, "two"));
    assert_eq!(everywhere(&stream), [Ok(0), Ok(1), Err("inspect panicked at item 2: two".into())]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| s.inspect(|_| {})));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&watched(numbers(4)).0);
    reopens(&watched(with_error(4, 2)).0);
}
