//! `declare` promises the form of items: one that differs becomes an error at its place.

use std::sync::Arc;

use gristmill::{ColumnSpec, DType, Dataset, Spec, Stream};

use crate::common::*;

fn spec(dtype: DType, shape: &[usize]) -> Arc<Spec> {
    Spec::new(vec![ColumnSpec::new("0", dtype, shape)]).unwrap()
}

fn declared(upstream: Stream<u64>) -> Stream<u64> {
    upstream.declare(spec(DType::U64, &[]))
}

fn refused(position: u64, expected: &str, found: &str) -> String {
    format!("declare, item {position}: expected {expected}, found {found}")
}

#[test]
fn what_is_as_declared_passes_and_its_columns_are_known() {
    assert_eq!(values(&declared(numbers(3))), [0, 1, 2]);
    let batches = declared(numbers(3)).batch(2);
    assert_eq!(batches.spec().unwrap().unwrap().to_string(), "(0: u64)");
    assert_eq!(batches.typed::<f32>().unwrap_err().to_string().matches("add .cast").count(), 1);
    let whole = numbers(3).batch(2).declare(spec(DType::U64, &[]));
    assert_eq!(column::<u64>(&whole, "0"), [vec![0, 1], vec![2]]);
}

#[test]
fn what_differs_is_an_error_that_names_the_difference() {
    let lists = Dataset::from_generator(|_| [vec![1f32, 2.0], vec![3.0], vec![4.0, 5.0]]);
    let expected = [Ok(vec![1.0, 2.0]), Err(refused(1, "0 f32[2]", "0 f32[1]")), Ok(vec![4.0, 5.0])];
    assert_eq!(everywhere(&lists.declare(spec(DType::F32, &[2]))), expected);

    let types = numbers(1).declare(spec(DType::I64, &[]));
    assert_eq!(everywhere(&types), [Err(refused(0, "0 i64[]", "0 u64[]"))]);
    let pairs = numbers(1).map(|n| (n, n)).declare(spec(DType::U64, &[]));
    assert_eq!(everywhere(&pairs), [Err(refused(0, "1 columns", "1 u64[]"))]);
    let none = numbers(1).declare(Spec::new(vec![]).unwrap());
    assert_eq!(everywhere(&none), [Err(refused(0, "0 columns", "0 u64[]"))]);
    let batches = numbers(2).batch(1).declare(spec(DType::F32, &[]));
    assert_eq!(everywhere(&batches)[1], Err(refused(1, "(0: f32)", "(0: u64)")));
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&declared(numbers(0))), []);
}

#[test]
fn the_first_and_the_last_item_are_checked_too() {
    for n in [1, 256, 257] {
        for odd in [0, n - 1] {
            let lists = numbers(n).map(move |i| vec![i; if i == odd { 2 } else { 1 }]);
            let seen = outcomes(&lists.declare(spec(DType::U64, &[1])));
            assert_eq!(seen.len() as u64, n);
            assert_eq!(seen[odd as usize], Err(refused(odd, "0 u64[1]", "0 u64[2]")));
            assert_eq!(seen.iter().filter(|o| o.is_err()).count(), 1);
        }
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    assert_eq!(everywhere(&declared(with_error(3, 1))), [Ok(0), Err(bad(1)), Ok(2)]);
    assert_eq!(everywhere(&declared(with_panic(1))), [Ok(0), Err(panicked(1))]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(declared));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&declared(with_error(5, 2)));
    reopens(&numbers(3).declare(spec(DType::F32, &[])));
}
