//! `padded_batch` and `padded_batch_exact` make batches of items that differ in shape.

use gristmill::{Batch, CellRef, Collate, Dataset, Length, Pad, Result, Stream};
use ndarray::Array2;
use proptest::prelude::*;

use crate::common::*;

type Verb = fn(Stream<u64>) -> Stream<Batch>;

/// Number `n` becomes `n` times itself.
fn fills(numbers: Stream<u64>) -> Stream<Vec<u64>> {
    numbers.map(|n| vec![n; n as usize])
}

/// Shape and elements of the first column.
fn contents(batch: Batch) -> (Vec<usize>, Vec<u64>) {
    (batch.arrays()[0].shape().to_vec(), batch.arrays()[0].elements().unwrap().to_vec())
}

fn verbs() -> [(&'static str, Verb); 2] {
    [
        ("padded_batch", |s| fills(s).padded_batch(2, Pad::longest())),
        ("padded_batch_exact", |s| fills(s).padded_batch_exact(2, Pad::longest())),
    ]
}

#[test]
fn rows_are_padded_to_the_longest_of_their_batch_or_to_a_size() {
    let stream = |pad| fills(numbers(5).skip(1)).padded_batch(2, pad).map(contents);
    let expected = [(vec![2, 2], vec![1, 0, 2, 2]), (vec![2, 4], vec![3, 3, 3, 0, 4, 4, 4, 4])];
    assert_eq!(values(&stream(Pad::longest())), expected);
    let seen = values(&stream(Pad::longest().axis("0", 0, 5).value("0", 9u64)));
    assert_eq!(seen[0], (vec![2, 5], vec![1, 9, 9, 9, 9, 2, 2, 9, 9, 9]));
    assert_eq!(seen[1].0, [2, 5]);
}

#[test]
fn axes_are_padded_one_by_one_and_columns_apart() {
    let shapes = [(2, 1), (1, 3), (0, 2)];
    let items = Dataset::from_generator(move |_| {
        shapes.map(|(a, b)| (vec![1u8; a], 7i64, Array2::from_elem((a, b), 1.5f32)))
    });
    let items = items.map(|(a, b, c)| {
        let shape = [c.nrows(), c.ncols()];
        (a, b, gristmill::Array::from_elements(c.as_slice().unwrap(), &shape).unwrap())
    });
    let pad = Pad::longest().value("2", -1f32).lengths("2").lengths("0");
    let batch = values(&items.padded_batch(3, pad)).remove(0);
    assert_eq!(batch.spec().to_string(), "(0: u8[2], 1: i64, 2: f32[2, 3], 0_length: u64, 2_length: u64[2])");
    assert_eq!(batch.column::<u8>("0").unwrap(), [1, 1, 1, 0, 0, 0]);
    assert_eq!(batch.column::<i64>("1").unwrap(), [7, 7, 7]);
    let (x, o) = (1.5, -1.0);
    let expected = [[x, o, o, x, o, o], [x, x, x, o, o, o], [o, o, o, o, o, o]].concat();
    assert_eq!(batch.column::<f32>("2").unwrap(), expected);
    assert_eq!(batch.column::<u64>("0_length").unwrap(), [2, 1, 0]);
    assert_eq!(batch.column::<u64>("2_length").unwrap(), [2, 1, 1, 3, 0, 2]);
}

#[test]
fn of_nothing_comes_nothing_and_of_empty_rows_batches_without_width() {
    for (verb, batch) in verbs() {
        assert_eq!(everywhere(&batch(numbers(0))), [], "{verb}");
    }
    let empty = numbers(4).map(|_| Vec::<u64>::new()).padded_batch(4, Pad::longest().lengths("0"));
    let batch = values(&empty).remove(0);
    assert_eq!((batch.rows(), batch.arrays()[0].shape()), (4, &[4, 0][..]));
    assert_eq!(batch.column::<u64>("0_length").unwrap(), [0, 0, 0, 0]);
}

#[test]
fn the_last_batch_is_short_or_left_out() {
    for (n, counts) in [(1, [1, 0]), (2, [1, 1]), (3, [2, 1]), (4, [2, 2])] {
        for ((verb, batch), count) in verbs().into_iter().zip(counts) {
            let rows: Vec<_> = values(&batch(numbers(n))).iter().map(Batch::rows).collect();
            assert_eq!(rows.len(), count, "{verb} of {n}");
            assert!(verb == "padded_batch" || rows.iter().all(|rows| *rows == 2));
        }
    }
    let known = || Dataset::range(5).unwrap().rows();
    let length = |stream: Stream<Batch>| stream.length().unwrap();
    assert_eq!(length(known().padded_batch(2, Pad::longest())), Length::Exact(3));
    assert_eq!(length(known().padded_batch_exact(2, Pad::longest())), Length::Exact(2));
    assert!(numbers(3).padded_batch(0, Pad::longest()).iter().is_err());
    assert_eq!(values(&numbers(3).padded_batch(usize::MAX, Pad::longest())).len(), 1);
}

#[test]
fn columns_that_are_known_are_told_and_compared_before_the_run() {
    let rows = || Dataset::from_slices((("x", ndarray::arr2(&[[1u8, 2], [3, 4]])),)).unwrap().rows();
    let stream = |pad| rows().padded_batch(2, pad);
    let pad = Pad::longest().axis("x", 0, 3).lengths("x").value("x", 9u8);
    assert_eq!(stream(pad.clone()).spec().unwrap().unwrap().to_string(), "(x: u8[3], x_length: u64)");
    assert_eq!(values(&stream(pad)).remove(0).column::<u8>("x").unwrap(), [1, 2, 9, 3, 4, 9]);
    let cases = [
        (Pad::longest().lengths("y"), "one of the columns [\"x\"], found \"y\""),
        (Pad::longest().axis("x", 1, 3), "an axis of column \"x\", which has 1, found 1"),
        (Pad::longest().value("x", 1i8), "a padding value of type u8 for column \"x\", found i8"),
    ];
    for (pad, text) in cases {
        let refused = stream(pad.clone()).iter().unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
        // Columns that are known only by the first item: the same error, once.
        let unknown = Dataset::from_generator(|_| [("x", vec![1u8])]).map(|(_, x)| Named(x));
        let seen = everywhere(&unknown.padded_batch(2, pad));
        assert!(seen.len() == 1 && seen[0].as_ref().is_err_and(|e| e.contains(text)), "{seen:?}");
    }
    let scalars = numbers(2).padded_batch(2, Pad::longest().lengths("0"));
    assert!(everywhere(&scalars)[0].as_ref().is_err_and(|e| e.contains("a column with axes")));
}

struct Named(Vec<u8>);

impl Collate for Named {
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        visit(CellRef { name: "x", dtype: gristmill::DType::U8, shape: &[self.0.len()], bytes: &self.0 })
    }
}

#[test]
fn an_item_that_does_not_fit_is_an_error_at_its_place() {
    let stream = fills(numbers(5)).padded_batch(2, Pad::longest().axis("0", 0, 2)).map(contents);
    let long = |n| {
        let expected = "expected at most 2 along axis 0 of column \"0\"";
        Err(format!("padded_batch, item {n}: {expected}, found {n}"))
    };
    let expected = [Ok((vec![2, 2], vec![0, 0, 1, 0])), long(3), long(4), Ok((vec![1, 2], vec![2, 2]))];
    assert_eq!(everywhere(&stream), expected);

    // The second cell is refused: nothing of the first stays.
    let pairs = numbers(4).map(|n| {
        let second = gristmill::Array::from_elements(&[n], if n == 1 { &[1, 1] } else { &[1] }).unwrap();
        (vec![n; 2], second)
    });
    let odd = "padded_batch, item 1: expected 1 u64 of 1 axes, found 1 u64 of 2 axes".to_string();
    let seen = everywhere(&pairs.padded_batch(3, Pad::longest()).map(contents));
    assert_eq!(seen, [Err(odd), Ok((vec![3, 2], vec![0, 0, 2, 2, 3, 3]))]);
}

#[test]
fn an_upstream_error_passes_at_once_and_the_batch_fills_on() {
    for (verb, batch) in verbs() {
        let seen = everywhere(&batch(with_error(5, 1)).map(contents));
        let expected = [
            Err(bad(1)),
            Ok((vec![2, 2], vec![0, 0, 2, 2])),
            Ok((vec![2, 4], [[3, 3, 3, 0], [4; 4]].concat())),
        ];
        assert_eq!(seen, expected, "{verb}");
    }
    let lasts = [Some((vec![1, 2], vec![2, 2])), None];
    for ((verb, batch), last) in verbs().into_iter().zip(lasts) {
        let mut expected = vec![Ok((vec![2, 1], vec![0, 1]))];
        expected.extend(last.map(Ok));
        expected.push(Err(panicked(3)));
        assert_eq!(everywhere(&batch(with_panic(3)).map(contents)), expected, "{verb}");
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
    fn batches_are_their_model(shapes in prop::collection::vec((0..4usize, 0..4usize), 0..12), rows in 1..5usize) {
        let items = shapes.clone();
        let array = |(a, b): (usize, usize), n: usize| {
            let elements: Vec<u64> = (0..(a * b) as u64).map(|i| i + 100 * n as u64).collect();
            gristmill::Array::from_elements(&elements, &[a, b]).unwrap()
        };
        let stream = Dataset::from_generator(move |_| items.clone().into_iter().zip(0..).map(move |(s, n)| array(s, n)));
        let pad = Pad::longest().value("0", 7u64);
        let batches = values(&stream.padded_batch(rows, pad).threads(gristmill::Threads::None));
        prop_assert_eq!(batches.len(), shapes.len().div_ceil(rows));
        for (at, batch) in batches.iter().enumerate() {
            let cells = &shapes[at * rows..(at * rows + rows).min(shapes.len())];
            let (a, b) = (cells.iter().map(|s| s.0).max().unwrap(), cells.iter().map(|s| s.1).max().unwrap());
            prop_assert_eq!(batch.arrays()[0].shape(), &[cells.len(), a, b]);
            let mut expected = Vec::new();
            for (n, (x, y)) in cells.iter().enumerate() {
                for (i, j) in (0..a).flat_map(|i| (0..b).map(move |j| (i, j))) {
                    let inside = i < *x && j < *y;
                    expected.push(if inside { (i * y + j + 100 * (at * rows + n)) as u64 } else { 7 });
                }
            }
            prop_assert_eq!(batch.arrays()[0].elements::<u64>().unwrap(), expected);
        }
    }
}
