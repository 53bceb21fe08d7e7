//! `rebatch` and `rebatch_exact` give the same rows in batches of other sizes.

use gristmill::{Array, Batch, Dataset, Length, Stream};
use proptest::prelude::*;

use crate::common::*;

fn range(rows: u64) -> Dataset {
    Dataset::range(rows).unwrap()
}

fn ids(batch: Batch) -> Vec<u64> {
    batch.column("0").unwrap().to_vec()
}

fn contents(stream: &Stream<Batch>) -> Vec<Vec<u64>> {
    column(stream, "0")
}

/// Batches of one column of as many rows as the items say, numbered through.
fn batches(sizes: Vec<usize>) -> Stream<Batch> {
    Dataset::from_generator(move |_| {
        sizes.clone().into_iter().scan(0, |at, size| {
            let rows: Vec<u64> = (*at..*at + size as u64).collect();
            *at += size as u64;
            Some(Batch::new([("0", Array::from_elements(&rows, &[size]).unwrap())]).unwrap())
        })
    })
}

/// One row a batch, errors and panics where the numbers have them.
fn single(numbers: Stream<u64>) -> Stream<Batch> {
    numbers.batch(1)
}

#[test]
fn rows_come_in_other_sizes() {
    assert_eq!(
        contents(&range(10).batch(4).rebatch(3)),
        [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8], vec![9]]
    );
    assert_eq!(contents(&range(10).batch(4).rebatch_exact(3)), [[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
    assert_eq!(contents(&range(7).batch(4).rebatch([1, 3])), [vec![0], vec![1, 2, 3], vec![4], vec![5, 6]]);
    assert_eq!(contents(&range(7).batch(4).rebatch_exact(vec![1, 3])), [vec![0], vec![1, 2, 3], vec![4]]);
    assert_eq!(contents(&range(3).batch(2).rebatch(&[9, 1][..])), [[0, 1, 2]]);
}

#[test]
fn every_column_is_cut_on_its_own() {
    let rows =
        Dataset::from_slices((("x", vec![1f32, 2., 3., 4., 5.]), ("y", vec![1u8, 2, 3, 4, 5]))).unwrap();
    let batches = values(&rows.batch(2).rebatch(3));
    assert_eq!(
        (batches[0].column::<f32>("x").unwrap(), batches[0].column::<u8>("y").unwrap()),
        (&[1f32, 2., 3.][..], &[1u8, 2, 3][..])
    );
    assert_eq!(
        (batches[1].column::<f32>("x").unwrap(), batches[1].column::<u8>("y").unwrap()),
        (&[4f32, 5.][..], &[4u8, 5][..])
    );
    assert_eq!(rows.batch(2).rebatch(3).spec().unwrap().unwrap(), *rows.spec());
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&range(0).batch(4).rebatch(3)), []);
    assert_eq!(everywhere(&batches(vec![0, 0]).rebatch(3)), []);
    assert_eq!(everywhere(&range(2).batch(1).rebatch_exact(3)), []);
}

#[test]
fn sizes_of_one_of_all_and_of_more() {
    for rows in [1, 2, 256, 257] {
        let all: Vec<u64> = (0..rows).collect();
        for size in [rows as usize, rows as usize + 1, usize::MAX] {
            assert_eq!(contents(&range(rows).batch(7).rebatch(size)), std::slice::from_ref(&all));
        }
        assert_eq!(
            contents(&range(rows).batch(7).rebatch_exact(1)),
            all.iter().map(|n| vec![*n]).collect::<Vec<_>>()
        );
    }
    assert_eq!(contents(&batches(vec![0, 3, 0, 0, 2, 0]).rebatch(2)), [vec![0, 1], vec![2, 3], vec![4]]);
}

#[test]
fn no_sizes_and_a_size_of_zero_are_refused() {
    for stream in
        [range(3).batch(1).rebatch(0), range(3).batch(1).rebatch_exact([2, 0]), range(3).batch(1).rebatch([])]
    {
        let refused = stream.plan().unwrap_err().to_string();
        assert!(refused.contains("expected batches of at least one row"), "{refused}");
    }
}

#[test]
fn the_number_of_batches_is_not_known_but_of_none_and_of_endless_ones() {
    let length = |stream: Stream<Batch>| stream.rebatch(2).length().unwrap();
    assert_eq!(length(range(0).batch(4)), Length::Exact(0));
    assert_eq!(length(range(8).batch(4)), Length::Unknown);
    assert_eq!(length(range(8).batch(4).repeat_forever()), Length::Infinite);
}

#[test]
fn within_one_batch_nothing_is_copied() {
    let whole = values(&range(6).batch(6)).remove(0);
    let start = whole.column::<u64>("0").unwrap().as_ptr();
    let shared = Dataset::from_generator(move |_| [whole.clone()]).rebatch(3);
    let parts = values(&shared);
    assert_eq!(parts[0].column::<u64>("0").unwrap().as_ptr(), start);
    assert_eq!(parts[1].column::<u64>("0").unwrap().as_ptr(), start.wrapping_add(3));
}

#[test]
fn an_upstream_error_keeps_its_place_and_the_batch_goes_on_filling() {
    let seen = everywhere(&single(with_error(6, 2)).rebatch(2).map(ids));
    assert_eq!(seen, [Ok(vec![0, 1]), Err(bad(2)), Ok(vec![3, 4]), Ok(vec![5])]);
    let seen = everywhere(&single(with_error(6, 3)).rebatch_exact(2).map(ids));
    assert_eq!(seen, [Ok(vec![0, 1]), Err(bad(3)), Ok(vec![2, 4])]);
    let seen = everywhere(&single(with_panic(3)).rebatch(2).map(ids));
    assert_eq!(seen, [Ok(vec![0, 1]), Ok(vec![2]), Err(panicked(3))]);
    let seen = everywhere(&single(with_panic(3)).rebatch_exact(2).map(ids));
    assert_eq!(seen, [Ok(vec![0, 1]), Err(panicked(3))]);
}

#[test]
fn a_batch_of_other_columns_is_an_error_at_its_place() {
    let batch = |n: u64, name: &str| Batch::new([(name, Array::from_elements(&[n], &[1]).unwrap())]).unwrap();
    let stream = numbers(4).map(move |n| batch(n, if n == 1 { "x" } else { "0" })).rebatch(2).map(ids);
    let differs = Err("rebatch, item 1: expected (0: u64), found (x: u64)".into());
    assert_eq!(everywhere(&stream), [differs, Ok(vec![0, 2]), Ok(vec![3])]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| single(s).rebatch(2));
        drops(|s| s.batch(3).rebatch_exact([1, 2]));
    });
}

#[test]
fn reopened_they_give_the_same() {
    reopens(&range(11).batch(4).rebatch(3));
    reopens(&range(11).batch(4).rebatch_exact([1, 2, 3]));
    reopens(&single(with_error(9, 4)).rebatch([2, 1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn they_are_chunks_of_all_rows(
        given in proptest::collection::vec(0usize..6, 0..8),
        sizes in proptest::collection::vec(1usize..6, 1..4),
        from in 0usize..10,
    ) {
        let mut left: Vec<u64> = (0..given.iter().sum::<usize>() as u64).collect();
        let mut model = Vec::new();
        for size in sizes.iter().cycle() {
            if left.is_empty() {
                break;
            }
            let rest = left.split_off((*size).min(left.len()));
            model.push((std::mem::replace(&mut left, rest), *size));
        }
        let full = |(rows, size): &(Vec<u64>, usize)| rows.len() == *size;
        let exact: Vec<_> = model.iter().filter(|m| full(m)).map(|m| m.0.clone()).collect();
        let kept: Vec<_> = model.into_iter().map(|m| m.0).collect();
        let stream = batches(given);
        for (stream, model) in [(stream.clone().rebatch(sizes.clone()), kept), (stream.rebatch_exact(sizes), exact)] {
            prop_assert_eq!(&contents(&stream), &model);
            let rest: Vec<_> = stream.iter().unwrap().skip(from).map(|b| ids(b.unwrap())).collect();
            prop_assert_eq!(&rest[..], &model[from.min(model.len())..]);
        }
    }
}
