//! Burn's DataLoader: a `BatchDataLoader` without workers, a `MultiThreadDataLoader` with them.
//!
//! - "rows": the Burn Book's way. An item owns its row; the batcher makes a tensor of each and concatenates them.
//! - "numbers": goes further than the book. Items are row numbers, and the batcher copies each row once, into the batch.
//!
//! Two workers in file order read a half of the file each.

use std::sync::Arc;

use burn_core::data::dataloader::batcher::Batcher;
use burn_core::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn_core::data::dataset::{Dataset, DatasetError};
use burn_core::tensor::{Device, Int, Tensor, TensorData};

use crate::clock::{Case, measure, rate};
use crate::data::{Mapped, ROWS, WIDTH};

#[derive(Clone, Debug)]
struct Batch {
    _x: Tensor<2>,
    y: Tensor<1, Int>,
}

#[derive(Clone, Debug)]
struct Row {
    x: [f32; WIDTH],
    y: i32,
}

struct Rows(Mapped);

impl Dataset<Row> for Rows {
    fn get(&self, row: usize) -> Result<Row, DatasetError> {
        Ok(Row { x: self.0.row(row).try_into().unwrap(), y: self.0.y[row] })
    }

    fn len(&self) -> usize {
        ROWS
    }
}

struct ByRow;

impl Batcher<Row, Batch> for ByRow {
    fn batch(&self, items: Vec<Row>, device: &Device) -> Batch {
        let x = items.iter().map(|row| Tensor::<2>::from_data([row.x], device)).collect();
        let y = items.iter().map(|row| Tensor::<1, Int>::from_data([row.y], device)).collect();
        Batch { _x: Tensor::cat(x, 0), y: Tensor::cat(y, 0) }
    }
}

struct Numbers;

impl Dataset<usize> for Numbers {
    fn get(&self, row: usize) -> Result<usize, DatasetError> {
        Ok(row)
    }

    fn len(&self) -> usize {
        ROWS
    }
}

struct ByNumber(Mapped);

impl Batcher<usize, Batch> for ByNumber {
    fn batch(&self, rows: Vec<usize>, device: &Device) -> Batch {
        let (x, y) = self.0.gather(&rows);
        let x = Tensor::from_data(TensorData::new(x, [rows.len(), WIDTH]), device);
        let y = Tensor::from_data(TensorData::new(y, [rows.len()]), device);
        Batch { _x: x, y }
    }
}

fn loader<I, B, D>(case: &Case, workers: usize, batcher: B, dataset: D) -> Arc<dyn DataLoader<Batch>>
where
    I: Send + Sync + Clone + std::fmt::Debug + 'static,
    B: Batcher<I, Batch> + 'static,
    D: Dataset<I> + 'static,
{
    let builder = DataLoaderBuilder::new(batcher).batch_size(case.batch).num_workers(workers);
    if case.shuffled { builder.shuffle(1).build(dataset) } else { builder.build(dataset) }
}

pub fn run(data: Mapped, case: &Case, workers: usize) {
    let ways = [
        ("rows", loader(case, workers, ByRow, Rows(data))),
        ("numbers", loader(case, workers, ByNumber(data), Numbers)),
    ];
    for (way, loader) in ways {
        measure("Burn", way, case, workers, |start| {
            rate(loader.iter().map(|batch| batch.unwrap().y.dims()[0]), start)
        });
    }
}
