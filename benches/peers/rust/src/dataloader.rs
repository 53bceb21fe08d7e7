//! dataloader-rs.
//!
//! - "rows": its documentation's way. An item owns its row; `DefaultCollator` stacks them.
//! - "numbers": goes further. Items are row numbers, and the collator copies each row once, into the batch.
//!
//! Its documentation advises against workers where samples are cheap, so that is measured too.

use dataloader_rs::collator::{Collator, DefaultCollator};
use dataloader_rs::error::Result;
use dataloader_rs::{DataLoader, Dataset, RandomSampler, Sampler, SequentialSampler};
use ndarray::{Array1, ArrayView1};

use crate::clock::{Case, measure, rate};
use crate::data::{Mapped, ROWS};

struct Rows(Mapped);

impl Dataset for Rows {
    type Item = (Array1<f32>, i32);

    fn get(&self, row: usize) -> Result<Self::Item> {
        Ok((ArrayView1::from(self.0.row(row)).to_owned(), self.0.y[row]))
    }

    fn len(&self) -> usize {
        ROWS
    }
}

struct Numbers;

impl Dataset for Numbers {
    type Item = usize;

    fn get(&self, row: usize) -> Result<usize> {
        Ok(row)
    }

    fn len(&self) -> usize {
        ROWS
    }
}

struct ByNumber(Mapped);

impl Collator<usize> for ByNumber {
    type Batch = (Vec<f32>, Vec<i32>);

    fn collate(&self, rows: Vec<usize>) -> Result<Self::Batch> {
        Ok(self.0.gather(&rows))
    }
}

fn ways<S: Sampler>(data: Mapped, case: &Case, workers: usize, sampler: impl Fn() -> S) {
    let mut loader = DataLoader::builder(Rows(data))
        .batch_size(case.batch)
        .num_workers(workers)
        .sampler(sampler())
        .collator(DefaultCollator)
        .build();
    measure("dataloader-rs", "rows", case, workers, |start| {
        rate(loader.iter().map(|batch| batch.unwrap().1.len()), start)
    });

    let mut loader = DataLoader::builder(Numbers)
        .batch_size(case.batch)
        .num_workers(workers)
        .sampler(sampler())
        .collator(ByNumber(data))
        .build();
    measure("dataloader-rs", "numbers", case, workers, |start| {
        rate(loader.iter().map(|batch| batch.unwrap().1.len()), start)
    });
}

pub fn run(data: Mapped, case: &Case, workers: usize) {
    match case.shuffled {
        true => ways(data, case, workers, || RandomSampler::new(1)),
        false => ways(data, case, workers, || SequentialSampler),
    }
}
