//! What a fuzz target checks of one input: a function for each, which panics where the library breaks a promise.
//!
//! `tests/it` includes this folder, and checks the inputs under `fuzz/corpus` and random ones.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod models;
pub mod npy;
pub mod orders;
pub mod pipeline;
pub mod raw;
pub mod state;

use gristmill::{Batch, DType, Dataset, Error, Result};

/// What came of it, if anything; a panic that the library caught is still a panic.
pub fn clean<T>(outcome: Result<T>) -> Option<T> {
    if let Err(error @ (Error::Panicked { .. } | Error::Lost { .. } | Error::Cancelled)) = outcome {
        panic!("{error}");
    }
    outcome.ok()
}

/// The first column's bytes, in batches of `size` rows.
fn bytes(rows: &Dataset, size: usize) -> Vec<u8> {
    let batches = clean(rows.batch(size).iter()).expect("batches of rows that were opened");
    let bytes =
        |batch: Result<Batch>| clean(batch).expect("rows that were opened").arrays()[0].bytes().to_vec();
    batches.flat_map(bytes).collect()
}

/// The rows of a file, each of `size` bytes, last first.
fn backwards(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes.chunks(size.max(1)).rev().flatten().copied().collect()
}

/// Elements in the other byte order.
fn swapped(bytes: &[u8], dtype: DType) -> Vec<u8> {
    let unit = match dtype {
        DType::C64 | DType::Utf32(_) => 4,
        DType::C128 => 8,
        DType::Void(_) | DType::Ascii(_) => 1,
        number => number.bytes(),
    };
    bytes.chunks(unit).flat_map(|unit| unit.iter().rev().copied()).collect()
}

/// Bytes other than zero are true.
fn truths(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| u8::from(*byte != 0)).collect()
}
