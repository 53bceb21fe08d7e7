//! `batch`, `batch_exact` and `batch_masked` on a dataset: rows gathered from their source.

use std::fmt;
use std::sync::Arc;

use gristmill::plumbing::Source;
use gristmill::{
    Batch, ColumnSpec, DType, Dataset, Error, Length, Position, Result, Shuffle, Slot, Spec, Stream,
};

use crate::common::*;

type Verb = fn(&Dataset, usize) -> Stream<Batch>;

const VERBS: [(&str, Verb); 3] = [
    ("batch", Dataset::batch),
    ("batch_exact", Dataset::batch_exact),
    ("batch_masked", Dataset::batch_masked),
];

fn range(rows: u64) -> Dataset {
    Dataset::range(rows).unwrap()
}

/// Ten rows, of which row 5 cannot be had.
struct Flaky {
    spec: Arc<Spec>,
    refuse: fn() -> Result<()>,
}

fn flaky(refuse: fn() -> Result<()>) -> Dataset {
    let spec = Spec::new(vec![ColumnSpec::new("0", DType::U64, &[])]).unwrap();
    Dataset::from_source(Flaky { spec, refuse })
}

impl Source for Flaky {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        10
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        into[0].elements::<u64>()?.copy_from_slice(rows);
        if rows.contains(&5) { (self.refuse)() } else { Ok(()) }
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("flaky()")
    }
}

#[test]
fn the_rows_of_each_batch_are_the_next_ones() {
    let expected: [&[&[u64]]; 3] = [
        &[&[0, 1, 2], &[3, 4, 5], &[6, 7]],
        &[&[0, 1, 2], &[3, 4, 5]],
        &[&[0, 1, 2], &[3, 4, 5], &[6, 7, 0]],
    ];
    for ((verb, batch), expected) in VERBS.into_iter().zip(expected) {
        assert_eq!(column::<u64>(&batch(&range(8), 3), "0"), expected, "{verb}");
    }
    let masks = column::<bool>(&range(8).batch_masked(3), "mask");
    assert_eq!(masks, [[true, true, true], [true, true, true], [true, true, false]]);
}

#[test]
fn of_no_rows_come_no_batches() {
    for (verb, batch) in VERBS {
        assert_eq!(everywhere(&batch(&range(0), 3)), [], "{verb}");
        assert_eq!(batch(&range(0), 3).length().unwrap(), Length::Exact(0), "{verb}");
    }
}

#[test]
fn the_last_batch_is_short_left_out_or_filled_up() {
    // Rows, rows of a batch, and how many come from each verb; with the size of the last one from `batch`.
    for (rows, size, counts, last) in [
        (1, 3, [1, 0, 1], 1),
        (3, 3, [1, 1, 1], 3),
        (6, 3, [2, 2, 2], 3),
        (7, 3, [3, 2, 3], 1),
        (5, 1, [5, 5, 5], 1),
        (5, 1000, [1, 0, 1], 5),
    ] {
        for ((verb, batch), count) in VERBS.into_iter().zip(counts) {
            let (stream, case) = (batch(&range(rows), size), format!("{rows} rows, {verb}({size})"));
            let sizes: Vec<usize> = values(&stream).iter().map(Batch::rows).collect();
            let expected = if verb == "batch" { last } else { size };
            assert_eq!(
                (sizes.len() as u64, stream.length().unwrap()),
                (count, Length::Exact(count)),
                "{case}"
            );
            assert!(sizes.last().is_none_or(|rows| *rows == expected), "{case}: {sizes:?}");
        }
    }
    assert_eq!(column::<u64>(&range(3).batch(usize::MAX), "0"), [[0, 1, 2]]);
    assert_eq!(VERBS.map(|(_, batch)| batch(&range(3), 0).iter().is_err()), [true; 3]);
}

#[test]
fn an_error_of_the_source_keeps_its_place() {
    let user = || Err(Error::User { stage: "flaky", position: 5, source: "row 5".into() });
    let (refusing, panicking) = (flaky(user), flaky(|| panic!("row 5")));
    let [pair, tail] = [[0, 1], [8, 9]].map(|rows| rows.to_vec());
    for (verb, batch) in VERBS {
        for workers in [1, 2, 4] {
            let pairs =
                |rows| batch(rows, 2).workers(workers).map(|b| b.column::<u64>("0").unwrap().to_vec());
            let refused = everywhere(&pairs(&refusing));
            assert_eq!(refused.len(), 5, "{verb}");
            assert_eq!((&refused[0], &refused[4]), (&Ok(pair.clone()), &Ok(tail.clone())), "{verb}");
            assert_eq!(refused[2], Err("flaky, item 5: row 5".into()), "{verb}");

            let panicked = Err(format!("{verb} panicked at item 2: row 5"));
            let from_second = Position { epoch: 0, item: 1 };
            let rest = drain(&mut pairs(&panicking).seek(from_second).unwrap());
            assert_eq!(rest, [Ok(vec![2, 3]), panicked.clone()], "{verb}");
            assert_eq!(everywhere(&pairs(&panicking)), [Ok(pair.clone()), Ok(vec![2, 3]), panicked]);
        }
    }
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        for (_, batch) in VERBS {
            for workers in [1, 2, 5] {
                lets_go(&batch(&range(1 << 40), 16).workers(workers), 3);
                lets_go(&batch(&range(1 << 40), 16).workers(workers).prefetch(2), 1);
            }
        }
    });
}

#[test]
fn reopened_they_give_the_same() {
    for (_, batch) in VERBS {
        for workers in [1, 3] {
            reopens(&batch(&range(10).shuffle(Shuffle::full(7)), 3).workers(workers));
            reopens(&batch(&range(10).shuffle(Shuffle::buffer(4, 7)).repeat(2), 3).workers(workers));
        }
    }
}

#[test]
fn a_batch_so_large_that_workers_share_it_holds_the_same_rows() {
    let rows = (1 << 20) + 5;
    let stream = range(rows).reverse().batch(1 << 20).workers(3);
    let seen: Vec<u64> = column(&stream, "0").concat();
    assert!(seen.iter().rev().copied().eq(0..rows));
}
