//! The orders: each against a plain model, and each epoch a permutation.

mod balance;
mod blocks;
mod buffer;
mod chains;
mod concat;
mod cut;
mod full;
mod group_by_length;
mod keep_where;
mod mix;
mod repeat;
mod sample;
mod select;
mod split;
mod windows;

use gristmill::Dataset;

/// The rows 0 to n-1.
fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

/// All row numbers of one epoch.
fn epoch(dataset: &Dataset, k: u64) -> Vec<u64> {
    dataset.order(k, 0, usize::MAX).unwrap()
}

fn is_permutation(mut seen: Vec<u64>, n: u64) -> bool {
    seen.sort_unstable();
    seen == (0..n).collect::<Vec<_>>()
}

/// Mean total variation between the labels of a batch and all labels, on rows sorted into ten classes: 0.9 in file
/// order.
fn label_distance(order: &[u64], batch: usize) -> f64 {
    let n = order.len() as u64;
    let distance = |rows: &[u64]| {
        let mut counts = [0f64; 10];
        rows.iter().for_each(|row| counts[(row * 10 / n) as usize] += 1.0 / rows.len() as f64);
        counts.iter().map(|share| (share - 0.1).abs()).sum::<f64>() / 2.0
    };
    let batches: Vec<f64> = order.chunks_exact(batch).map(distance).collect();
    batches.iter().sum::<f64>() / batches.len() as f64
}

/// Asks for the rows of an epoch in pieces, from the middle, and backwards: all must agree with the whole.
fn reads_the_same_in_any_way(dataset: &Dataset) {
    for k in [0, 1, 5] {
        let whole = epoch(dataset, k);
        assert_eq!(whole.len() as u64, dataset.len());
        for from in (0..whole.len()).step_by(1 + whole.len() / 17) {
            let piece = dataset.order(k, from as u64, 10).unwrap();
            assert_eq!(piece, whole[from..whole.len().min(from + 10)], "{dataset:?} epoch {k} from {from}");
        }
    }
}
