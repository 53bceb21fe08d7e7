//! What users of tf.data rely on, number by number. Where the rule here is another one, its test says why.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use gristmill::{Batch, Dataset, Length, Position, RandomStream, Result, Shuffle, Stream, Threads};

use crate::common::*;

mod batches;
mod caches;
mod flows;
mod groups;
mod items;
mod lengths;
mod mixes;
mod positions;
mod shuffles;

fn range(rows: u64) -> Dataset {
    Dataset::range(rows).unwrap()
}

/// The rows of epoch `epoch`, in order.
fn order(dataset: &Dataset, epoch: u64) -> Vec<u64> {
    dataset.order(epoch, 0, 1000).unwrap()
}

fn ids(batches: &Stream<Batch>) -> Vec<Vec<u64>> {
    column(batches, "0")
}

/// The numbers of an n-row range as a stream of known length.
fn known(n: u64) -> Stream<u64> {
    range(n).rows().map(|row| row.value("0").unwrap())
}

fn lengths<const N: usize>(streams: [Stream<u64>; N]) -> [Length; N] {
    streams.map(|stream| stream.length().unwrap())
}

fn sorted(mut items: Vec<u64>) -> Vec<u64> {
    items.sort();
    items
}

/// 1 2 3 NaN 5, and a check that refuses NaN.
fn checked(map: impl Fn(Stream<f64>, fn(f64) -> Result<f64, String>) -> Stream<f64>) -> Stream<f64> {
    let check = |x: f64| if x.is_nan() { Err("not a number".to_string()) } else { Ok(x) };
    map(Dataset::from_generator(|_| [1.0, 2.0, 3.0, f64::NAN, 5.0]), check)
}
