//! `select`, `rename` and `cast` on batches: done by the source while it gathers, or by a stage of their own.

use gristmill::{Batch, Dataset, Error, Length, Stream};

use crate::common::*;

/// Five rows of three columns in batches of two, once right from the dataset, once through a stage between.
fn both() -> [Stream<Batch>; 2] {
    let columns = (
        ("x", ndarray::arr2(&[[-1.5f32, 0.0], [300.0, 1.0], [f32::NAN, 2.0], [2.9, 3.0], [-0.1, 4.0]])),
        ("y", vec![0i64, 1, -1, 255, 256]),
        ("id", vec![10u8, 11, 12, 13, 14]),
    );
    let batches = Dataset::from_slices(columns).unwrap().batch(2);
    [batches.clone(), batches.skip(0)]
}

fn changed(batches: Stream<Batch>) -> Stream<Batch> {
    batches.cast::<u8>("x").rename("y", "label").select(["label", "x"])
}

/// The numbers of `upstream` as bytes, one to a batch.
fn bytes(upstream: Stream<u64>) -> Stream<Vec<u8>> {
    upstream.batch(1).cast::<u8>("0").rename("0", "n").select(["n"]).map(|b| b.column("n").unwrap().to_vec())
}

#[test]
fn columns_are_chosen_named_and_converted() {
    for stream in both().map(changed) {
        let batches = values(&stream);
        assert_eq!(batches[0].spec().to_string(), "(label: i64, x: u8[2])");
        assert_eq!(column::<u8>(&stream, "x"), [vec![0, 0, 255, 1], vec![0, 2, 2, 3], vec![0, 4]]);
        assert_eq!(column::<i64>(&stream, "label"), [vec![0, 1], vec![-1, 255], vec![256]]);
    }
}

#[test]
fn what_the_source_does_is_what_the_stage_does() {
    type Change = fn(Stream<Batch>) -> Stream<Batch>;
    let changes: [(&str, Change); 8] = [
        ("select", |s| s.select(["id", "x"])),
        ("select none", |s| s.select([""; 0])),
        ("rename", |s| s.rename("x", "features")),
        ("rename and back", |s| s.rename("x", "z").rename("y", "x").rename("z", "y")),
        ("wrapping cast", |s| s.cast::<u8>("y").cast::<i64>("y")),
        ("saturating cast", |s| s.cast::<i16>("x").cast::<f64>("x")),
        ("cast to bool", |s| s.cast::<bool>("y").cast::<bool>("x")),
        ("all", changed),
    ];
    for (name, change) in changes {
        let [pushed, staged] = both().map(change);
        assert_eq!(values(&pushed), values(&staged), "{name}");
        assert_eq!(
            (pushed.spec().unwrap(), pushed.length().unwrap()),
            (staged.spec().unwrap(), Length::Exact(3))
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused_when_opened_with_the_columns_there_are() {
    type Change = fn(Stream<Batch>) -> Stream<Batch>;
    let wrong: [Change; 5] = [
        |s| s.select(["x", "absent"]),
        |s| s.select(["x", "x"]),
        |s| s.rename("absent", "x"),
        |s| s.rename("x", "y"),
        |s| s.cast::<f32>("absent"),
    ];
    for change in wrong {
        for stream in both().map(change) {
            assert!(matches!(stream.iter(), Err(Error::Spec { .. })), "{stream:?}");
        }
    }
    let error = both()[0].clone().select(["absent"]).iter().unwrap_err().to_string();
    assert_eq!(error, r#"columns: expected one called "absent", found "x", "y", "id""#);
}

#[test]
fn the_mask_of_filled_up_batches_is_a_column_like_others() {
    let masked = || Dataset::range(3).unwrap().batch_masked(2);
    assert_eq!(column::<bool>(&masked().select(["mask"]), "mask"), [[true, true], [true, false]]);
    assert_eq!(column::<u8>(&masked().cast::<u8>("mask").rename("mask", "m"), "m"), [[1, 1], [1, 0]]);
    assert!(masked().rename("0", "mask").iter().is_err());
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&bytes(numbers(0))), []);
    assert_eq!(everywhere(&changed(both()[0].clone().take(0))), []);
}

#[test]
fn one_row_a_whole_batch_and_one_over_are_converted() {
    for rows in [1, 3, 4] {
        for batches in [Dataset::range(rows).unwrap().batch(3), numbers(rows).batch(3)] {
            let seen = column::<f64>(&batches.cast::<f64>("0"), "0").concat();
            assert_eq!(seen, (0..rows).map(|n| n as f64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&bytes(with_error(3, 1))), [Ok(vec![0]), Err(bad(1)), Ok(vec![2])]);
    assert_eq!(everywhere(&bytes(with_panic(1))), [Ok(vec![0]), Err(panicked(1))]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| drops(bytes));
}

#[test]
fn reopened_they_give_the_same() {
    both().map(changed).iter().for_each(reopens);
    reopens(&bytes(with_error(4, 2)));
}
