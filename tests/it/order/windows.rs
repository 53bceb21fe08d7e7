use std::fmt;
use std::sync::Arc;

use gristmill::plumbing::Source;
use gristmill::{DType, Error, Raw, Result, Shuffle, Slot, Spec, Stream};
use proptest::prelude::*;

use super::*;
use crate::common;

/// All rows of the only column, in the order of epoch `k`.
fn contents(dataset: &Dataset, k: u64) -> Vec<Vec<u64>> {
    let windows = common::epoch(&dataset.rows(), k);
    windows.iter().map(|row| row.column::<u64>("0").unwrap().to_vec()).collect()
}

/// The same rows from a source that copies row by row.
struct Plain(Dataset, Arc<Spec>);

impl Plain {
    fn of(n: u64) -> Dataset {
        let rows = rows(n);
        Dataset::from_source(Plain(rows.clone(), rows.spec().clone()))
    }
}

impl Source for Plain {
    fn spec(&self) -> &Arc<Spec> {
        &self.1
    }

    fn rows(&self) -> u64 {
        self.0.len()
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        into[0].elements::<u64>()?.copy_from_slice(rows);
        match rows.contains(&13) {
            true => Err(Error::User { stage: "plain", position: 13, source: "thirteen".into() }),
            false => Ok(()),
        }
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("plain")
    }
}

/// The numbers below `n` in one block of memory, and computed.
fn both(n: u64) -> [Dataset; 2] {
    [Dataset::from_slices((0..n).collect::<Vec<_>>()).unwrap(), rows(n)]
}

#[test]
fn windows_overlap_and_leave_out_what_fills_none() {
    for numbers in both(8) {
        let windows = numbers.windows(3, 2).unwrap();
        assert_eq!((windows.len(), windows.spec().to_string().as_str()), (3, "(0: u64[3])"));
        assert_eq!(contents(&windows, 0), [[0, 1, 2], [2, 3, 4], [4, 5, 6]]);
        assert_eq!(format!("{windows:?}"), format!("{numbers:?}.windows(3, 2)"));
        assert_eq!(contents(&numbers.windows(2, 5).unwrap(), 1), [[0, 1], [5, 6]]);
        // Windows of windows.
        assert_eq!(contents(&windows.windows(2, 1).unwrap(), 0), [[0, 1, 2, 2, 3, 4], [2, 3, 4, 4, 5, 6]]);
    }
}

#[test]
fn of_too_few_rows_comes_nothing() {
    for n in [0, 1, 2] {
        for numbers in both(n) {
            assert!(numbers.windows(3, 1).unwrap().is_empty());
            assert_eq!(contents(&numbers.windows(3, 1).unwrap(), 0), [[0u64; 0]; 0]);
            assert!(numbers.windows(usize::MAX >> 4, 1).unwrap().is_empty());
        }
    }
    for numbers in both(3) {
        assert_eq!(contents(&numbers.windows(3, 1).unwrap(), 0), [[0, 1, 2]]);
        assert_eq!(contents(&numbers.windows(1, u64::MAX).unwrap(), 0), [[0]]);
        assert_eq!(contents(&numbers.windows(1, 1).unwrap(), 0), [[0], [1], [2]]);
    }
}

#[test]
fn a_part_of_the_file_has_windows_of_its_own() {
    for numbers in both(10) {
        let (head, tail) = (numbers.take(6), numbers.skip(6));
        assert_eq!(contents(&head.windows(3, 3).unwrap(), 0), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(contents(&tail.windows(2, 1).unwrap(), 0), [[6, 7], [7, 8], [8, 9]]);
        assert_eq!(contents(&tail.skip(1).take(2).windows(2, 1).unwrap(), 0), [[7, 8]]);
    }
}

#[test]
fn wrong_arguments_and_other_orders_are_refused() {
    let shuffled = rows(9).shuffle(Shuffle::full(1));
    let cases = [
        (rows(9).windows(0, 1), "found (0, 1)"),
        (rows(9).windows(1, 0), "found (1, 0)"),
        (shuffled.windows(2, 1), "rows in the order of their source (shuffle the windows)"),
        (rows(9).reverse().windows(2, 1), "found range(9).reverse()"),
        (rows(9).repeat(2).windows(2, 1), "found range(9).repeat(2)"),
        (rows(9).shard(2, 1).unwrap().windows(2, 1), "found range(9).shard(2, 1)"),
        (rows(9).windows(usize::MAX, 1), "usize::MAX bytes"),
    ];
    for (refused, text) in cases {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
}

#[test]
fn what_stands_above_works_as_on_rows() {
    for numbers in both(50) {
        let windows = numbers.windows(4, 3).unwrap();
        reads_the_same_in_any_way(&windows);
        let shuffled = windows.shuffle(Shuffle::full(3));
        for k in 0..2 {
            let expected: Vec<Vec<u64>> =
                epoch(&shuffled, k).iter().map(|window| (window * 3..window * 3 + 4).collect()).collect();
            assert_eq!(contents(&shuffled, k), expected);
        }
        let (train, valid) = windows.split(0.8, 1).unwrap();
        let mut all = [contents(&train, 0), contents(&valid, 0)].concat();
        all.sort();
        assert_eq!(all, contents(&windows, 0));
        common::reopens(&shuffled.shard(2, 1).unwrap().batch(3).workers(2));
    }
}

#[test]
fn columns_stay_side_by_side_and_are_cast_on_the_way() {
    let x = ndarray::Array2::from_shape_fn((5, 2), |(i, j)| (10 * i + j) as u16);
    let turned = ndarray::Array2::from_shape_fn((2, 5), |(j, i)| (10 * i + j) as u16);
    for x in [x, turned.reversed_axes()] {
        let rows = Dataset::from_slices((("x", x), ("id", (0..5u8).collect::<Vec<_>>()))).unwrap();
        let windows = rows.windows(2, 2).unwrap();
        assert_eq!(windows.spec().to_string(), "(x: u16[2, 2], id: u8[2])");
        let stream = windows.batch(9).cast::<f32>("x").rename("id", "row").select(["row", "x"]);
        assert!(!format!("{stream:?}").is_empty());
        let batch = common::values(&stream).remove(0);
        assert_eq!(batch.column::<f32>("x").unwrap(), [0., 1., 10., 11., 20., 21., 30., 31.]);
        assert_eq!(batch.column::<u8>("row").unwrap(), [0, 1, 2, 3]);
    }
}

#[test]
fn tokens_come_out_of_one_file_or_across_many() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for (path, tokens) in paths.iter().zip([0..7u16, 7..12]) {
        std::fs::write(path, tokens.flat_map(|token| token.to_be_bytes()).collect::<Vec<_>>()).unwrap();
    }
    let tokens = |raw: Raw| Dataset::from_slices(raw.big_endian()).unwrap();
    let cast = |dataset: Dataset| -> Stream<Vec<u64>> {
        dataset.windows(4, 3).unwrap().batch(1).cast::<u64>("0").map(|b| b.column("0").unwrap().to_vec())
    };
    let one = cast(tokens(Raw::new(&paths[0], DType::U16, &[])));
    assert_eq!(common::everywhere(&one), [Ok(vec![0, 1, 2, 3]), Ok(vec![3, 4, 5, 6])]);
    let many = cast(tokens(Raw::many(&paths, DType::U16, &[])));
    let expected = [0u64, 3, 6].map(|first| Ok((first..first + 4).collect::<Vec<u64>>()));
    assert_eq!(common::everywhere(&many), expected);
    // Windows are read when a batch is made: a file that changed since is noticed.
    let stream = cast(tokens(Raw::new(&paths[0], DType::U16, &[])));
    let mut iter = stream.iter().unwrap();
    std::fs::write(&paths[0], [1u8; 20]).unwrap();
    assert!(matches!(iter.next(), Some(Err(Error::Changed { .. }))));
}

#[test]
fn an_error_of_the_source_keeps_its_place() {
    let windows = Plain::of(16).windows(4, 4).unwrap();
    let rows = windows.batch(1).map(|batch| batch.column::<u64>("0").unwrap()[0]);
    let failed = Err("plain, item 13: thirteen".into());
    assert_eq!(common::everywhere(&rows), [Ok(0), Ok(4), Ok(8), failed]);
    let cut = Plain::of(13).windows(4, 4).unwrap();
    assert_eq!(contents(&cut, 0), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    common::alone(|| common::lets_go(&rows(5000).windows(4, 1).unwrap().batch(3).workers(2).prefetch(2), 3));
}

#[test]
fn wide_batches_are_gathered_piece_by_piece() {
    // More rows than are written out at a time.
    let windows = rows(10_000).windows(1500, 700).unwrap();
    let seen = contents(&windows, 0);
    assert_eq!(seen.len(), 13);
    for (window, i) in seen.iter().zip(0..) {
        assert!(window.iter().copied().eq(i * 700..i * 700 + 1500));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_are_those_of_a_slice(n in 0..40u64, skip in 0..9u64, context in 1..9usize, stride in 1..9u64) {
        let plain: Vec<u64> = (0..n).skip(skip as usize).collect();
        let expected: Vec<Vec<u64>> = plain.windows(context).step_by(stride as usize).map(<[u64]>::to_vec).collect();
        for numbers in both(n) {
            let windows = numbers.skip(skip).windows(context, stride).unwrap();
            prop_assert_eq!(windows.len(), expected.len() as u64);
            prop_assert_eq!(&contents(&windows, 0), &expected);
        }
    }
}
