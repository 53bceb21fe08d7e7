//! `unbatch` gives the rows of batches one by one; `rows` those of a dataset.

use gristmill::{Array, Batch, Dataset, Length, Position, Row, Shuffle, Stream};

use crate::common::*;

fn value(row: Row) -> u64 {
    row.value("0").unwrap()
}

/// The numbers of `stream`, through batches of two.
fn there_and_back(stream: Stream<u64>) -> Stream<u64> {
    stream.batch(2).unbatch().map(value)
}

/// The rows of `0..n`, through both verbs.
fn both(n: u64) -> [Stream<Row>; 2] {
    let dataset = Dataset::range(n).unwrap();
    [dataset.rows(), dataset.batch(3).unbatch()]
}

#[test]
fn they_give_row_after_row() {
    for stream in both(7) {
        assert_eq!(values(&stream.map(value)), [0, 1, 2, 3, 4, 5, 6]);
    }
    assert_eq!(both(7).map(|stream| stream.length().unwrap()), [Length::Exact(7), Length::Unknown]);
    let wide = Dataset::from_slices((vec![1u8, 2], ndarray::arr2(&[[0.5f32, 1.0], [1.5, 2.0]]))).unwrap();
    let row = values(&wide.rows()).remove(1);
    assert_eq!((row.value("0").unwrap(), row.column("1").unwrap()), (2u8, &[1.5f32, 2.0][..]));
    assert!(row.value::<f32>("1").is_err() && row.value::<u16>("0").is_err());
}

#[test]
fn of_nothing_comes_nothing() {
    for stream in both(0) {
        assert_eq!(everywhere(&stream), []);
    }
    let empty = || Batch::new([("0", Array::from_elements::<u64>(&[], &[0]).unwrap())]).unwrap();
    let batches = Dataset::from_generator(move |_| [empty(), empty()]);
    assert_eq!(everywhere(&batches.unbatch()), []);
}

#[test]
fn they_cross_the_seams_of_batches() {
    for n in [1, 3, 4, 255, 256, 257, 513] {
        for stream in both(n) {
            assert_eq!(values(&stream.map(value)), (0..n).collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&there_and_back(with_error(4, 2))), [Ok(0), Ok(1), Err(bad(2)), Ok(3)]);
    assert_eq!(everywhere(&there_and_back(with_panic(3))), [Ok(0), Ok(1), Ok(2), Err(panicked(3))]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(there_and_back);
        lets_go(&Dataset::range(1 << 40).unwrap().rows(), 300);
    });
}

#[test]
fn reopened_they_give_the_same() {
    reopens(&there_and_back(numbers(5)));
    reopens(&there_and_back(with_error(5, 2)));
    reopens(&Dataset::range(9).unwrap().shuffle(Shuffle::full(3)).batch(4).unbatch());
    reopens(&Dataset::range(9).unwrap().shuffle(Shuffle::full(3)).rows());
}

#[test]
fn what_follows_the_rows_is_found_by_seeking_past_them() {
    // 300 rows are a whole batch that is gathered at a time, and a part of one.
    let rows = || Dataset::range(300).unwrap().rows();
    let twice = rows().concat(rows());
    for item in [255, 256, 257, 299, 300, 301, 512, 550, 599] {
        let mut iter = twice.seek(Position { epoch: 0, item }).unwrap();
        assert_eq!(value(iter.next().unwrap().unwrap()), item % 300, "from {item}");
    }
    let mut iter = rows().iter().unwrap();
    assert!(iter.nth(900).is_none());
    assert_eq!(iter.position().item, 300);
}

#[test]
fn a_row_outlives_its_batch() {
    let rows: Vec<Row> = values(&Dataset::range(1000).unwrap().batch(7).unbatch());
    assert!(rows.into_iter().map(value).eq(0..1000));
}

#[test]
fn a_row_is_a_batch_of_one() {
    let rows: Vec<Row> = values(&Dataset::range(3).unwrap().rows());
    let batch = Batch::from(rows[2].clone());
    assert_eq!((batch.rows(), batch.column::<u64>("0").unwrap()), (1, &[2][..]));
}
