//! `ragged_batch` and `ragged_batch_exact` put rows of different lengths end to end.

use gristmill::{Array, Dataset, Length, RaggedBatch, Stream};
use proptest::prelude::*;

use crate::common::*;

type Verb = fn(Stream<u64>) -> Stream<RaggedBatch>;

/// The numbers below `n`, for each `n`.
fn ranges(numbers: Stream<u64>) -> Stream<Vec<u64>> {
    numbers.map(|n| (0..n).collect())
}

fn rows(batch: RaggedBatch) -> Vec<Vec<u64>> {
    (0..batch.rows()).map(|row| batch.row("0", row).unwrap().to_vec()).collect()
}

fn verbs() -> [(&'static str, Verb); 2] {
    [
        ("ragged_batch", |s| ranges(s).ragged_batch(2)),
        ("ragged_batch_exact", |s| ranges(s).ragged_batch_exact(2)),
    ]
}

#[test]
fn rows_keep_their_lengths() {
    for (verb, batch) in verbs() {
        let seen = values(&batch(numbers(6)).map(rows));
        let expected =
            [[vec![], vec![0]], [vec![0, 1], vec![0, 1, 2]], [vec![0, 1, 2, 3], vec![0, 1, 2, 3, 4]]];
        assert_eq!(seen, expected, "{verb}");
    }
    let batch = values(&ranges(numbers(4)).ragged_batch(9)).remove(0);
    assert_eq!(batch.values("0").unwrap().elements::<u64>().unwrap(), [0, 0, 1, 0, 1, 2]);
    assert_eq!(
        (batch.values("0").unwrap().shape(), batch.offsets("0").unwrap()),
        (&[6][..], &[0, 0, 1, 3, 6][..])
    );
}

#[test]
fn columns_and_inner_axes_stay() {
    let items = numbers(3).map(|n| {
        let n = n as usize;
        (Array::from_elements(&vec![n as i32; 2 * n], &[n, 2]).unwrap(), n as u8)
    });
    let batch = values(&items.ragged_batch(3)).remove(0);
    assert_eq!(batch.names().collect::<Vec<_>>(), ["0", "1"]);
    assert_eq!(
        (batch.values("0").unwrap().shape(), batch.offsets("0").unwrap()),
        (&[3, 2][..], &[0, 0, 1, 3][..])
    );
    assert_eq!(batch.row::<i32>("0", 2).unwrap(), [2, 2, 2, 2]);
    assert_eq!(
        (batch.row::<u8>("1", 2).unwrap(), batch.offsets("1").unwrap()),
        (&[2][..], &[0, 1, 2, 3][..])
    );
    let refused = |text: String, expected: &str| assert!(text.contains(expected), "{text}");
    refused(batch.row::<u8>("1", 3).unwrap_err().to_string(), "row 3");
    refused(batch.row::<u8>("1", usize::MAX).unwrap_err().to_string(), "there are 3 rows");
    refused(batch.row::<i8>("1", 0).unwrap_err().to_string(), "i8");
    refused(batch.values("x").unwrap_err().to_string(), "one called \"x\"");
    assert_eq!(format!("{batch:?}"), "{\"0\": i32[3, 2], \"1\": u8[3]}");
}

#[test]
fn of_nothing_comes_nothing() {
    for (verb, batch) in verbs() {
        assert_eq!(everywhere(&batch(numbers(0))), [], "{verb}");
    }
    let empty = values(&numbers(2).map(|_| Vec::<u8>::new()).ragged_batch(2)).remove(0);
    assert_eq!((empty.rows(), empty.offsets("0").unwrap()), (2, &[0, 0, 0][..]));
}

#[test]
fn the_last_batch_is_short_or_left_out() {
    for (n, counts) in [(1, [1, 0]), (2, [1, 1]), (3, [2, 1]), (4, [2, 2])] {
        for ((verb, batch), count) in verbs().into_iter().zip(counts) {
            assert_eq!(values(&batch(numbers(n))).len(), count, "{verb} of {n}");
        }
    }
    let known = || Dataset::range(5).unwrap().rows();
    assert_eq!(known().ragged_batch(2).length().unwrap(), Length::Exact(3));
    assert_eq!(known().ragged_batch_exact(2).length().unwrap(), Length::Exact(2));
    assert!(numbers(3).ragged_batch(0).iter().is_err());
}

#[test]
fn an_item_that_does_not_fit_is_an_error_at_its_place() {
    let items = numbers(4).map(|n| {
        let shape = if n == 1 { [1, 2] } else { [2, 1] };
        Array::from_elements(&[n; 2], &shape).unwrap()
    });
    let odd = "ragged_batch, item 1: expected 0 u64 of rows [1], found [2]".to_string();
    let expected = [Err(odd), Ok(vec![vec![0, 0], vec![2, 2]]), Ok(vec![vec![3, 3]])];
    assert_eq!(everywhere(&items.ragged_batch(2).map(rows)), expected);
}

#[test]
fn an_upstream_error_passes_at_once_and_the_batch_fills_on() {
    let (one, two) = (vec![0], vec![0, 1]);
    for (verb, batch) in verbs() {
        let seen = everywhere(&batch(with_error(3, 0)).map(rows));
        assert_eq!(seen, [Err(bad(0)), Ok(vec![one.clone(), two.clone()])], "{verb}");
    }
    let lasts = [Some(vec![two]), None];
    for ((verb, batch), last) in verbs().into_iter().zip(lasts) {
        let mut expected = vec![Ok(vec![vec![], one.clone()])];
        expected.extend(last.map(Ok));
        expected.push(Err(panicked(3)));
        assert_eq!(everywhere(&batch(with_panic(3)).map(rows)), expected, "{verb}");
    }
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| verbs().into_iter().for_each(|(_, batch)| drops(move |s| batch(s.map(|n| n % 5)))));
}

#[test]
fn reopened_they_give_the_same() {
    for (_, batch) in verbs() {
        for n in [0, 1, 4, 5] {
            reopens(&batch(numbers(n)));
        }
        reopens(&batch(with_error(5, 1)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_are_chunks(lists in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..5), 0..12), n in 1..5usize) {
        let items = lists.clone();
        let stream = Dataset::from_generator(move |_| items.clone()).ragged_batch(n).map(rows);
        let seen = values(&stream.threads(gristmill::Threads::None));
        prop_assert_eq!(seen, lists.chunks(n).map(<[_]>::to_vec).collect::<Vec<_>>());
    }
}
