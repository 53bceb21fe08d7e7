//! `pad_to` adds batches, or rows, of zeros until there are as many as asked for.

use gristmill::{Array, Batch, Dataset, Length, Row, Stream};

use crate::common::*;

fn rows(n: u64) -> Stream<Row> {
    Dataset::range(n).unwrap().rows()
}

fn batches(n: u64) -> Stream<Batch> {
    Dataset::range(n).unwrap().batch(2)
}

fn marked(stream: Stream<Row>) -> Stream<(u64, bool)> {
    stream.map(|row| (row.value("0").unwrap(), row.value("mask").unwrap()))
}

fn contents(stream: Stream<Batch>) -> Stream<(Vec<u64>, Vec<bool>)> {
    stream.map(|b| (b.column("0").unwrap().to_vec(), b.column("mask").unwrap().to_vec()))
}

#[test]
fn missing_rows_and_batches_are_zeros_under_a_mask() {
    let seen = everywhere(&marked(rows(2).skip(1).pad_to(3)));
    assert_eq!(seen, [Ok((1, true)), Ok((0, false)), Ok((0, false))]);
    let seen = values(&contents(batches(3).pad_to(4)));
    let none = (vec![0, 0], vec![false, false]);
    assert_eq!(seen, [(vec![0, 1], vec![true, true]), (vec![2], vec![true]), none.clone(), none]);
    let seen = values(&rows(2).pad_to(4).batch(2));
    assert_eq!(seen[1].spec().to_string(), "(0: u64, mask: bool)");
}

#[test]
fn a_mask_that_is_there_stays() {
    let masked = Dataset::range(3).unwrap().batch_masked(2).pad_to(3);
    assert_eq!(masked.spec().unwrap().unwrap().to_string(), "(0: u64, mask: bool)");
    let seen = values(&contents(masked));
    let expected =
        [(vec![0, 1], vec![true, true]), (vec![2, 0], vec![true, false]), (vec![0, 0], vec![false, false])];
    assert_eq!(seen, expected);
    // A column of that name that is no mask is in the way.
    let other = Dataset::from_slices((("mask", vec![1u8]),)).unwrap().batch(1).pad_to(2);
    let refused = other.iter().unwrap_err().to_string();
    assert!(refused.contains("\"mask\" twice"), "{refused}");
}

#[test]
fn of_nothing_come_rows_of_zeros_but_no_batches() {
    assert_eq!(values(&marked(rows(0).pad_to(2))), [(0, false), (0, false)]);
    assert_eq!(values(&rows(0).pad_to(0)), []);
    assert_eq!(values(&batches(0).pad_to(0)), []);
    let refused = batches(0).pad_to(1).iter().unwrap_err().to_string();
    assert!(refused.contains("to take the form of the others from"), "{refused}");
}

#[test]
fn the_count_is_exact_or_refused() {
    for n in 0..4 {
        assert_eq!(rows(n).pad_to(3).length().unwrap(), Length::Exact(3));
        assert_eq!(values(&rows(n).pad_to(3)).len(), 3);
    }
    let refused = rows(4).pad_to(3).iter().unwrap_err().to_string();
    assert!(refused.contains("a stream of known length, at most 3, found 4"), "{refused}");
    let unknown = numbers(2).batch(1).pad_to(3).iter().unwrap_err().to_string();
    assert!(unknown.contains("found unknown"), "{unknown}");
    assert!(rows(2).repeat_forever().pad_to(3).length().is_err());
    let plan = batches(3).pad_to(9).plan().unwrap();
    assert_eq!(plan.steps.last().unwrap().item_bytes, Some(2 * 9));
}

/// Batches of known length whose columns are known by the first good one; those of `bad` fail.
fn failing(bad: &'static [u64]) -> Stream<Batch> {
    rows(3).try_map(|row| {
        let n = row.value::<u64>("0").unwrap();
        let batch = || Batch::new([("0", Array::from_elements(&[n; 2], &[2]).unwrap())]).unwrap();
        if bad.contains(&n) { Err(format!("bad {n}")) } else { Ok(batch()) }
    })
}

#[test]
fn an_upstream_error_keeps_its_place() {
    let error = |n: u64| Err(format!("try_map, item {n}: bad {n}"));
    let good = |n| Ok((vec![n; 2], vec![true; 2]));
    let none = || Ok((vec![0; 2], vec![false; 2]));
    let seen = |bad| everywhere(&contents(failing(bad).pad_to(5)));
    assert_eq!(seen(&[0]), [error(0), good(1), good(2), none(), none()]);
    assert_eq!(seen(&[2]), [good(0), good(1), error(2), none(), none()]);
    let formless =
        |n| Err(format!("pad_to, item {n}: expected a form known from an item before, found none"));
    assert_eq!(seen(&[0, 1, 2]), [error(0), error(1), error(2), formless(3), formless(4)]);
    let panics = rows(3).inspect(|row| assert!(row.value::<u64>("0").unwrap() < 1, "no")).pad_to(4);
    let seen = everywhere(&marked(panics));
    assert_eq!(seen, [Ok((0, true)), Err("inspect panicked at item 1: no".into())]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        lets_go(&rows(1000).pad_to(2000), 3);
        lets_go(&batches(4).pad_to(9).prefetch(4), 5);
    });
}

#[test]
fn reopened_it_gives_the_same() {
    for n in 0..4 {
        reopens(&rows(n).pad_to(3));
        reopens(&batches(n + 1).pad_to(3));
    }
    reopens(&failing(&[0, 1]).pad_to(5));
    reopens(&failing(&[0, 1, 2]).pad_to(5));
    reopens(&batches(3).pad_to(3).repeat(2));
}
