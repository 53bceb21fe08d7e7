//! `bucket_by_length` makes batches of items of like length.

use std::collections::BTreeMap;

use gristmill::{Batch, Buckets, Dataset, Length, Pad, Stream};
use proptest::prelude::*;

use crate::common::*;

/// Item `n` is `n` times itself.
fn fills(numbers: Stream<u64>) -> Stream<Vec<u64>> {
    numbers.map(|n| vec![n; n as usize])
}

fn bucketed(numbers: Stream<u64>, buckets: Buckets) -> Stream<Batch> {
    fills(numbers).bucket_by_length(buckets, |row| row.len())
}

/// The width of each batch and the first number of each of its rows.
fn lengths(batches: Stream<Batch>) -> Stream<(usize, Vec<u64>)> {
    batches.map(|batch| {
        let width = batch.arrays()[0].shape()[1];
        let rows = batch.arrays()[0].elements::<u64>().unwrap().chunks(width.max(1));
        (width, rows.map(|row| row.first().copied().unwrap_or(0)).collect())
    })
}

fn list<const N: usize>(numbers: [u64; N]) -> Stream<u64> {
    Dataset::from_generator(move |_| numbers)
}

fn two_each() -> Buckets {
    Buckets::new([3, 5], [2, 2, 2])
}

#[test]
fn items_of_like_length_come_together() {
    let seen = values(&lengths(bucketed(list([1, 4, 3, 5, 6, 2]), two_each())));
    assert_eq!(seen, [(4, vec![4, 3]), (6, vec![5, 6]), (2, vec![1, 2])]);
    // What is left at the end comes bucket by bucket.
    let seen = values(&lengths(bucketed(list([9, 4, 1]), two_each())));
    assert_eq!(seen, [(1, vec![1]), (4, vec![4]), (9, vec![9])]);
    let seen = values(&lengths(bucketed(list([9, 4, 1, 2]), two_each().exact())));
    assert_eq!(seen, [(2, vec![1, 2])]);
    let sizes = Buckets::new([2], [3, 1]);
    let seen = values(&lengths(bucketed(list([1, 5, 1, 6, 1, 1]), sizes)));
    assert_eq!(seen, [(5, vec![5]), (6, vec![6]), (1, vec![1, 1, 1]), (1, vec![1])]);
}

#[test]
fn batches_are_padded_to_their_boundary_if_asked() {
    let buckets = two_each().to_boundary("0").pad(Pad::longest().value("0", 9u64).lengths("0"));
    let batches = bucketed(list([1, 3, 4, 0]), buckets.clone());
    let seen = values(&batches);
    assert_eq!(seen[0].arrays()[0].elements::<u64>().unwrap(), [3, 3, 3, 9, 4, 4, 4, 4]);
    assert_eq!(seen[1].arrays()[0].elements::<u64>().unwrap(), [1, 9, 9, 9]);
    assert_eq!(seen[1].column::<u64>("0_length").unwrap(), [1, 0]);
    let seen = everywhere(&lengths(bucketed(list([1, 5, 2]), buckets)));
    let long = "bucket_by_length, item 1: expected a length below the last boundary, 5, found 5";
    assert_eq!(seen, [Err(long.into()), Ok((2, vec![1, 2]))]);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&bucketed(numbers(0), two_each())), []);
    let known = || Dataset::range(5).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    assert_eq!(bucketed(known(), two_each()).length().unwrap(), Length::Unknown);
    assert_eq!(bucketed(known().take(0), two_each()).length().unwrap(), Length::Exact(0));
}

#[test]
fn boundaries_are_half_open_and_wrong_ones_are_refused() {
    let seen = values(&lengths(bucketed(list([2, 3, 4, 5]), Buckets::new([3, 5], [9, 9, 9]))));
    assert_eq!(seen, [(2, vec![2]), (4, vec![3, 4]), (5, vec![5])]);
    assert_eq!(values(&lengths(bucketed(list([0, 7]), Buckets::new([], [9])))), [(7, vec![0, 7])]);
    let cases = [
        (Buckets::new([3], [2]), "one batch size more than boundaries, found 1 for 1 boundaries"),
        (Buckets::new([3, 3], [2, 2, 2]), "ascending boundaries above 0, found [3, 3]"),
        (Buckets::new([0], [2, 2]), "ascending boundaries above 0, found [0]"),
        (Buckets::new([3], [2, 0]), "batches of at least one row, found [2, 0]"),
    ];
    for (buckets, text) in cases {
        let refused = bucketed(numbers(3), buckets).iter().unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let wrong = two_each().pad(Pad::longest().value("0", 1u8));
    let seen = everywhere(&lengths(bucketed(numbers(3), wrong)));
    assert!(seen.len() == 1 && seen[0].as_ref().is_err_and(|e| e.contains("a padding value")), "{seen:?}");
}

#[test]
fn an_upstream_error_passes_at_once_and_what_ends_the_stream_comes_last() {
    let seen = everywhere(&lengths(bucketed(with_error(4, 1), two_each())));
    assert_eq!(seen, [Err(bad(1)), Ok((2, vec![0, 2])), Ok((3, vec![3]))]);
    let seen = everywhere(&lengths(bucketed(with_panic(4), two_each())));
    assert_eq!(seen, [Ok((1, vec![0, 1])), Ok((2, vec![2])), Ok((3, vec![3])), Err(panicked(4))]);
    let touchy = fills(numbers(4)).bucket_by_length(two_each(), |row| {
        assert!(row.len() < 3, "too long");
        row.len()
    });
    let panicked = Err("bucket_by_length panicked at item 3: too long".into());
    assert_eq!(everywhere(&lengths(touchy)), [Ok((1, vec![0, 1])), Ok((2, vec![2])), panicked]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| bucketed(s.map(|n| n % 7), two_each())));
}

#[test]
fn reopened_it_gives_the_same() {
    for n in [0, 1, 6, 9] {
        reopens(&bucketed(numbers(n), two_each()));
        reopens(&bucketed(numbers(n), two_each().exact()));
    }
    reopens(&bucketed(with_error(7, 3), two_each()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_are_their_model(items in prop::collection::vec(0..12u64, 0..40), rows in prop::collection::vec(1..4usize, 3)) {
        let boundaries = [4usize, 8];
        let mut open: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut expected = Vec::new();
        for item in &items {
            let at = boundaries.iter().filter(|b| **b <= *item as usize).count();
            let bucket = open.entry(at).or_default();
            bucket.push(*item);
            if bucket.len() == rows[at] {
                expected.extend(open.remove(&at));
            }
        }
        expected.extend(open.into_values());
        let list = items.clone();
        let stream = Dataset::from_generator(move |_| list.clone());
        let stream = lengths(bucketed(stream, Buckets::new(boundaries, rows)));
        let seen: Vec<Vec<u64>> = values(&stream.threads(gristmill::Threads::None)).into_iter().map(|b| b.1).collect();
        // A batch of empty rows alone shows none of them.
        let shown = |batch: Vec<u64>| if batch.iter().all(|n| *n == 0) { vec![] } else { batch };
        prop_assert_eq!(seen, expected.into_iter().map(shown).collect::<Vec<_>>());
    }
}
