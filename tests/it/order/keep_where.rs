use gristmill::{Batch, BoxError, Row, Shuffle};
use proptest::prelude::*;

use super::*;
use crate::common::{alone, brittle, lets_go, no_thread_is_left, reopens};

fn value(row: &Row) -> Result<u64, BoxError> {
    Ok(row.value("0")?)
}

fn kept(rows: &Dataset, keep: impl Fn(u64) -> bool + Send + Sync + 'static) -> Dataset {
    rows.keep_where(["0"], move |row| Ok(keep(value(row)?)), |_, _| {}).unwrap()
}

/// A number that looks random.
fn mixed(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[test]
fn it_keeps_what_is_approved_in_its_order() {
    let even = kept(&rows(10), |n| n % 2 == 0);
    assert_eq!(epoch(&even, 0), [0, 2, 4, 6, 8]);
    assert_eq!(epoch(&even, 7), epoch(&even, 0));
    assert_eq!(epoch(&kept(&rows(10).reverse(), |n| n % 3 == 0), 0), [9, 6, 3, 0]);
    assert_eq!(format!("{even:?}"), "range(10).keep_where([5 of 10 rows #539d59de])");
}

#[test]
fn of_nothing_comes_nothing() {
    assert!(epoch(&kept(&rows(0), |_| true), 0).is_empty());
    assert!(epoch(&kept(&rows(100_000), |_| false), 3).is_empty());
}

#[test]
fn one_the_last_or_all_may_be_kept() {
    for n in [1, 63, 64, 65, 511, 512, 513, 16_384, 16_385, 40_000] {
        assert_eq!(epoch(&kept(&rows(n), |i| i == 0), 1), [0]);
        assert_eq!(epoch(&kept(&rows(n), move |i| i == n - 1), 1), [n - 1]);
        assert_eq!(epoch(&kept(&rows(n), |_| true), 1), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn it_reads_the_same_in_any_way() {
    let some = kept(&rows(50_000), |n| mixed(n).is_multiple_of(7));
    let expected: Vec<u64> = (0..50_000).filter(|n| mixed(*n).is_multiple_of(7)).collect();
    assert_eq!(epoch(&some, 2), expected);
    reads_the_same_in_any_way(&some);
    let shuffled = some.shuffle(Shuffle::full(3));
    let mut seen = epoch(&shuffled, 1);
    assert_ne!(seen, expected);
    seen.sort();
    assert_eq!(seen, expected);
}

#[test]
fn batches_are_judged_as_rows_are() {
    let judge =
        |batch: &Batch| Ok(batch.column::<u64>("0")?.iter().map(|n| mixed(*n).is_multiple_of(3)).collect());
    let batched = rows(40_000).keep_where_batched(["0"], judge, |_, _| {}).unwrap();
    assert_eq!(epoch(&batched, 0), epoch(&kept(&rows(40_000), |n| mixed(n).is_multiple_of(3)), 0));
    let few = rows(10).keep_where_batched(["0"], |_| Ok(vec![true; 9]), |_, _| {}).unwrap_err().to_string();
    assert_eq!(few, "keep_where_batched, item 0: expected 10 answers, one for each row, found 9");
}

#[test]
fn only_the_columns_named_are_seen() {
    let two = Dataset::from_slices((("x", vec![1f32, 2.0, 3.0]), ("y", vec![0u8, 1, 0]))).unwrap();
    let one = two.keep_where(
        ["y"],
        |row| Ok(row.spec().columns.len() == 1 && row.value::<u8>("y")? == 0),
        |_, _| {},
    );
    let one = one.unwrap();
    assert_eq!(epoch(&one, 0), [0, 2]);
    assert_eq!(one.spec(), two.spec());
    let none = two.keep_where(["z"], |_| Ok(true), |_, _| {}).unwrap_err().to_string();
    assert!(none.contains("\"z\"") && none.contains("\"x\", \"y\""), "{none}");
}

#[test]
fn progress_is_told_up_to_the_end() {
    let mut told = Vec::new();
    rows(40_000).keep_where(["0"], |_| Ok(true), |done, of| told.push((done, of))).unwrap();
    assert!(told.is_sorted() && told.len() > 1 && told.last() == Some(&(40_000, 40_000)), "{told:?}");
}

#[test]
fn an_upstream_error_comes_out() {
    for fatal in [false, true] {
        let refused = brittle(50_000, 33_333, fatal).keep_where(["0"], |_| Ok(true), |_, _| {}).unwrap_err();
        assert!(refused.to_string().contains("33333"), "{refused}");
    }
}

#[test]
fn a_failure_or_panic_names_its_row() {
    let failed = |row: &Row| if value(row)? > 20_000 { Err("too much".into()) } else { Ok(true) };
    let failed = rows(50_000).keep_where(["0"], failed, |_, _| {}).unwrap_err().to_string();
    assert_eq!(failed, "keep_where, item 20001: too much");
    let panics = |row: &Row| {
        assert_ne!(value(row)?, 17_000);
        Ok(true)
    };
    let panicked = rows(50_000).keep_where(["0"], panics, |_, _| {}).unwrap_err().to_string();
    assert!(panicked.starts_with("keep_where panicked at item 17000"), "{panicked}");
    let lost = rows(9).keep_where(["0"], |_| Ok(true), |_, _| panic!("no progress")).unwrap_err().to_string();
    assert_eq!(lost, "keep_where panicked at item 9: no progress");
}

#[test]
fn rows_that_move_are_refused() {
    let shuffled = rows(50).shuffle(Shuffle::full(1));
    let refused = shuffled.keep_where(["0"], |_| Ok(true), |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("keep_where first, shuffle after"), "{refused}");
    let fixed = rows(50).shuffle(Shuffle::full(1).fixed());
    let expected: Vec<u64> = epoch(&fixed, 0).into_iter().filter(|n| n % 2 == 0).collect();
    assert_eq!(epoch(&kept(&fixed, |n| n % 2 == 0), 4), expected);
    let many = rows(u64::MAX).keep_where(["0"], |_| Ok(true), |_, _| {}).unwrap_err().to_string();
    assert!(many.contains("the list of kept rows needs"), "{many}");
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        assert!(brittle(100_000, 20_000, true).keep_where(["0"], |_| Ok(true), |_, _| {}).is_err());
        no_thread_is_left();
        lets_go(&kept(&rows(10_000), |n| n % 2 == 0).batch(3).workers(2), 3);
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&kept(&rows(100), |n| mixed(n).is_multiple_of(2)).shuffle(Shuffle::full(1)).batch(7));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_a_filter(n in 0..3000u64, of in 1..900u64, fewer in 0..900u64, k in 0..3u64) {
        let keep = move |n: u64| mixed(n) % of <= fewer;
        let expected: Vec<u64> = (0..n).filter(|n| keep(*n)).collect();
        prop_assert_eq!(epoch(&kept(&rows(n), keep), k), expected);
    }
}
