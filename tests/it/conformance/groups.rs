//! Padding, buckets, groups, and errors that are passed over.

use gristmill::{Buckets, Failures, OnError, Pad, Row};

use super::*;

/// Number `n` becomes `n` times itself.
fn fills(numbers: impl IntoIterator<Item = u64> + Clone + Send + Sync + 'static) -> Stream<Vec<u64>> {
    let numbers: Vec<u64> = numbers.into_iter().collect();
    Dataset::from_generator(move |_| numbers.clone()).map(|n| vec![n; n as usize])
}

/// The rows of every batch.
fn padded(batches: Stream<Batch>) -> Vec<Vec<Vec<u64>>> {
    let rows = |batch: Batch| {
        let rows = (0..batch.rows()).filter_map(|i| batch.row(i));
        rows.map(|row: Row| row.column("0").unwrap().to_vec()).collect()
    };
    values(&batches.map(rows))
}

#[test]
fn c11_rows_are_padded_to_their_batch_or_to_a_width() {
    let batches = |pad| padded(fills(1..5).padded_batch(2, pad));
    let longest = |p: u64| vec![vec![vec![1, p], vec![2, 2]], vec![vec![3, 3, 3, p], vec![4, 4, 4, 4]]];
    assert_eq!(batches(Pad::longest()), longest(0));
    assert_eq!(batches(Pad::longest().value("0", u64::MAX)), longest(u64::MAX));
    let five = batches(Pad::longest().axis("0", 0, 5));
    assert!(five.iter().flatten().all(|row| row.len() == 5), "{five:?}");
    // The error is that of the item, not of its batch: the others still come.
    let mut six = fills(5..7).padded_batch(2, Pad::longest().axis("0", 0, 5)).iter().unwrap();
    assert!(six.next().is_some_and(|item| item.is_err()));
    assert_eq!(six.next().unwrap().unwrap().arrays()[0].shape(), [1, 5]);
    let empty = fills([0; 4]).padded_batch(4, Pad::longest());
    assert_eq!(values(&empty)[0].arrays()[0].shape(), [4, 0]);
}

#[test]
fn c12_ragged_batches_keep_lengths() {
    let ranges = numbers(6).map(|n| (0..n).collect::<Vec<_>>()).ragged_batch(2);
    let rows = ranges.map(|batch| [0, 1].map(|row| batch.row::<u64>("0", row).unwrap().to_vec()));
    let expected = [[vec![], vec![0]], [vec![0, 1], vec![0, 1, 2]], [vec![0, 1, 2, 3], vec![0, 1, 2, 3, 4]]];
    assert_eq!(values(&rows), expected);
}

#[test]
fn c13_buckets_are_half_open_and_come_as_they_fill() {
    let stream = fills([1, 4, 3, 5, 6, 2]).bucket_by_length(Buckets::new([3, 5], [2, 2, 2]), |row| row.len());
    let seen = padded(stream);
    let lengths =
        |batch: &Vec<Vec<u64>>| (batch[0].len(), batch.iter().map(|row| row[0]).collect::<Vec<_>>());
    let seen: Vec<_> = seen.iter().map(lengths).collect();
    assert_eq!(seen, [(4, vec![4, 3]), (6, vec![5, 6]), (2, vec![1, 2])]);
}

#[test]
fn c14_padding_to_a_count_adds_zeros_under_a_mask() {
    let rows = range(3).skip(1).rows();
    let seen =
        values(&rows.clone().pad_to(3).map(|row| (row.value("0").unwrap(), row.value("mask").unwrap())));
    assert_eq!(seen, [(1u64, true), (2, true), (0, false)]);
    assert!(rows.clone().pad_to(1).iter().is_err());
    assert!(rows.filter(|_| true).pad_to(3).iter().is_err());
}

#[test]
fn c26_groups_come_when_full_and_the_rest_by_key() {
    let parity = numbers(10).group_by_window(5, |n| n % 2);
    assert_eq!(values(&parity), [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]);
    let keys = Dataset::from_generator(|_| [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]).group_by_window(4, |n| *n);
    assert_eq!(values(&keys), [vec![0; 4], vec![1; 4], vec![0; 3], vec![1]]);
    watchdog(|| assert_eq!(values(&endless().group_by_window(2, |n| n % 2).take(2)), [[0, 2], [1, 3]]));
    assert!(numbers(3).group_by_window(0, |n| *n).iter().is_err());
}

#[test]
fn c32_failed_items_are_passed_over_and_counted() {
    let failures = Failures::new();
    let stream = checked(|s, check| s.try_map(check)).on_error(OnError::skip(1).listed(&failures));
    assert_eq!(values(&stream), [1.0, 2.0, 3.0, 5.0]);
    assert_eq!(failures.list().iter().map(|f| f.place.item).collect::<Vec<_>>(), [3]);
    assert_eq!(stream.length().unwrap(), Length::Unknown);
    // Above zip, where a pair whose one side failed is gone as a whole.
    let inverse = Dataset::from_generator(|_| [1.0, 2.0, 0.0, 4.0])
        .try_map(|x: f64| if x == 0.0 { Err("division by zero") } else { Ok(1.0 / x) });
    let pairs = inverse.zip(Dataset::from_generator(|_| [1, 2, 3, 4])).on_error(OnError::skip(9));
    assert_eq!(values(&pairs), [(1.0, 1), (0.5, 2), (0.25, 4)]);
}

#[test]
fn c67_lengths_of_groups() {
    let known = || range(5).rows();
    let grouped = |stream: Stream<Row>| stream.group_by_window(2, |_| 0).length().unwrap();
    assert_eq!([grouped(known()), grouped(known().repeat_forever())], [Length::Unknown, Length::Infinite]);
    let skipping = |stream: Stream<Row>| stream.on_error(OnError::skip(1)).length().unwrap();
    assert_eq!([skipping(known()), skipping(known().repeat_forever())], [Length::Unknown; 2]);
    let padded = |stream: Stream<Row>| stream.padded_batch(2, Pad::longest()).length().unwrap();
    assert_eq!([padded(known()), padded(known().repeat_forever())], [Length::Exact(3), Length::Infinite]);
}
