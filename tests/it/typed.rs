//! `typed` takes batches apart into tensors, their types checked once.

use gristmill::{Batch, Dataset, Error, Length, Stream, Tensor};

use crate::common::*;

fn pairs() -> Stream<Batch> {
    let x = ndarray::arr2(&[[0.0f32, 0.5], [1.0, 1.5], [2.0, 2.5]]);
    Dataset::from_slices((("x", x), ("y", vec![7i64, 8, 9]))).unwrap().batch(2)
}

/// The numbers of `upstream` in tensors of two.
fn twos(upstream: Stream<u64>) -> Stream<Vec<u64>> {
    upstream.batch(2).typed::<u64>().unwrap().map(|tensor| tensor.as_slice().to_vec())
}

#[test]
fn a_batch_becomes_a_tuple_of_tensors() {
    let stream = pairs().typed::<(f32, i64)>().unwrap();
    let seen: Vec<(Tensor<f32>, Tensor<i64>)> = values(&stream);
    let (x, y) = &seen[0];
    assert_eq!((x.shape(), x.row(1), y.as_slice()), (&[2, 2][..], &[1.0, 1.5][..], &[7, 8][..]));
    assert_eq!(seen[1].0.view()[[0, 1]], 2.5);
    assert_eq!(stream.length().unwrap(), Length::Exact(2));
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&twos(numbers(0))), []);
    assert_eq!(everywhere(&Dataset::range(0).unwrap().batch(2).typed::<u64>().unwrap()), []);
}

#[test]
fn one_row_a_whole_batch_and_one_over_come_apart() {
    assert_eq!(values(&twos(numbers(1))), [[0]]);
    assert_eq!(values(&twos(numbers(2))), [[0, 1]]);
    assert_eq!(values(&twos(numbers(3))), [vec![0, 1], vec![2]]);
}

#[test]
fn a_wrong_type_or_number_of_columns_is_refused_before_reading() {
    let refused = [
        (
            pairs().typed::<(f32, i32)>().unwrap_err(),
            r#"column "y": expected i32, found i64; add .cast::<i32>("y")"#,
        ),
        (pairs().typed::<f32>().unwrap_err(), "typed: expected 1 columns, found (x: f32[2], y: i64)"),
        (
            pairs().typed::<(f32, i64, u8)>().unwrap_err(),
            "typed: expected 3 columns, found (x: f32[2], y: i64)",
        ),
    ];
    for (error, text) in refused {
        assert!(matches!(error, Error::Spec { .. }));
        assert_eq!(error.to_string(), text);
    }
    assert!(pairs().cast::<i32>("y").typed::<(f32, i32)>().is_ok());
}

#[test]
fn columns_that_are_not_known_before_are_checked_when_they_come() {
    let stream = numbers(3).batch(2).typed::<f32>().unwrap();
    let wrong = Err(r#"column "0": expected f32, found u64; add .cast::<f32>("0")"#.into());
    assert_eq!(everywhere(&stream), [wrong]);
}

#[test]
fn an_upstream_error_keeps_its_place() {
    let expected = [Ok(vec![0, 1]), Err(bad(2)), Ok(vec![3, 4])];
    assert_eq!(everywhere(&twos(with_error(5, 2))), expected);
    assert_eq!(everywhere(&twos(with_panic(2))), [Ok(vec![0, 1]), Err(panicked(2))]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(twos));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&pairs().typed::<(f32, i64)>().unwrap());
    reopens(&twos(with_error(5, 2)));
}
