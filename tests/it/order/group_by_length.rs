use gristmill::Shuffle;
use proptest::prelude::*;

use super::*;
use crate::common::{alone, brittle, everywhere, lets_go, reopens};

/// Rows of these lengths.
fn long(lengths: &[u32]) -> Dataset {
    Dataset::from_slices((("length", lengths.to_vec()),)).unwrap()
}

/// Lengths up to `most` that look random.
fn lengths(n: u64, most: u32) -> Vec<u32> {
    let mixed = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    (0..n).map(|i| 1 + mixed(i) % most).collect()
}

/// The share of a batch padded to its longest row that is filling, over one epoch.
fn padding(dataset: &Dataset, lengths: &[u32], batch: usize, k: u64) -> f64 {
    let order = epoch(dataset, k);
    let (mut padded, mut real) = (0, 0);
    for rows in order.chunks(batch) {
        let lengths = rows.iter().map(|row| u64::from(lengths[*row as usize]));
        padded += lengths.clone().max().unwrap_or(0) * rows.len() as u64;
        real += lengths.sum::<u64>();
    }
    1.0 - real as f64 / padded as f64
}

#[test]
fn batches_hold_rows_of_like_length() {
    let all = lengths(20_000, 1000);
    let grouped = long(&all).group_by_length("length", 32, 7).unwrap();
    for k in 0..3 {
        assert!(is_permutation(epoch(&grouped, k), 20_000));
        let (grouped, shuffled) =
            (padding(&grouped, &all, 32, k), padding(&rows(20_000).shuffle(Shuffle::full(1)), &all, 32, k));
        assert!(grouped < 0.06 && shuffled > 0.4, "{grouped} {shuffled}");
    }
    reads_the_same_in_any_way(&grouped);
}

#[test]
fn batches_come_all_mixed_and_other_ones_in_each_epoch() {
    let all = lengths(20_000, 1000);
    let grouped = long(&all).group_by_length("length", 20, 7).unwrap();
    let (first, second) = (epoch(&grouped, 0), epoch(&grouped, 1));
    let means: Vec<f64> = first
        .chunks(20)
        .map(|b| b.iter().map(|row| f64::from(all[*row as usize])).sum::<f64>() / 20.0)
        .collect();
    let half = means.iter().take(500).sum::<f64>() / 500.0;
    assert!((400.0..600.0).contains(&half), "the first half has mean length {half}");
    // How many of a row's neighbours in one epoch are so in the next.
    let mut batch_of = vec![0; 20_000];
    second.iter().enumerate().for_each(|(place, row)| batch_of[*row as usize] = place / 20);
    let again: usize = first
        .chunks(20)
        .map(|batch| {
            batch[1..].iter().filter(|row| batch_of[**row as usize] == batch_of[batch[0] as usize]).count()
        })
        .sum();
    assert!(again < 20_000 / 10, "{again} rows met the same first row again");
}

#[test]
fn equal_lengths_are_not_grouped_by_place() {
    let grouped = long(&[5; 10_000]).group_by_length("length", 10, 3).unwrap();
    let spread = epoch(&grouped, 0)
        .chunks(10)
        .filter(|b| b.iter().max().unwrap() - b.iter().min().unwrap() > 5000)
        .count();
    assert!(spread > 900, "{spread}");
}

#[test]
fn of_nothing_comes_nothing() {
    assert!(epoch(&long(&[]).group_by_length("length", 4, 1).unwrap(), 0).is_empty());
    assert_eq!(everywhere(&long(&[]).group_by_length("length", 4, 1).unwrap().batch(4)), []);
}

#[test]
fn one_row_a_full_batch_and_one_over() {
    for (n, batch) in [(1, 1), (1, 4), (4, 4), (5, 4), (8, 4), (9, 4), (3, 1), (7, 100)] {
        let grouped = long(&lengths(n, 50)).group_by_length("length", batch, 1).unwrap();
        for k in 0..5 {
            assert!(is_permutation(epoch(&grouped, k), n), "{n} rows by {batch}");
        }
    }
    // The short batch comes last, and is one of like length too.
    let all = lengths(1001, 1_000_000);
    let grouped = long(&all).group_by_length("length", 10, 1).unwrap();
    let last: Vec<u64> = (0..20).map(|k| u64::from(all[epoch(&grouped, k)[1000] as usize])).collect();
    assert!(last.iter().max().unwrap() - last.iter().min().unwrap() > 300_000, "{last:?}");
}

#[test]
fn what_is_no_length_is_refused() {
    let refused =
        |column: &str, rows: usize| long(&[1, 2]).group_by_length(column, rows, 1).unwrap_err().to_string();
    assert!(refused("z", 2).contains("\"z\"") && refused("length", 0).contains("at least one row"));
    let wide = Dataset::from_slices((("x", ndarray::arr2(&[[1f32, 2.0]])),)).unwrap();
    let wide = wide.group_by_length("x", 2, 1).unwrap_err().to_string();
    assert!(wide.contains("one number a row, found x: f32[2]"), "{wide}");
    let moved = rows(5).shuffle(Shuffle::full(1)).group_by_length("0", 2, 1).unwrap_err().to_string();
    assert!(moved.contains("group_by_length first, shuffle after"), "{moved}");
    for fatal in [false, true] {
        let read = brittle(50_000, 33_333, fatal).group_by_length("0", 4, 1).unwrap_err().to_string();
        assert!(read.contains("33333"), "{read}");
    }
}

#[test]
fn the_order_is_pinned() {
    let grouped = long(&lengths(1000, 100)).group_by_length("length", 4, 42).unwrap();
    assert_eq!(grouped.order(1, 0, 8).unwrap(), PINNED);
}

const PINNED: [u64; 8] = [343, 154, 556, 953, 807, 728, 405, 400];

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| lets_go(&rows(1000).group_by_length("0", 4, 1).unwrap().batch(4).workers(2), 3));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&long(&lengths(70, 9)).group_by_length("length", 6, 1).unwrap().batch(6));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_are_stretches_of_the_sorted_rows(n in 0..600u64, batch in 1..20usize, seed in 0..5u64, k in 0..3u64) {
        // Without equal lengths the sorted order is known: a batch lies in one group, and at most one short batch between.
        let grouped = rows(n).group_by_length("0", batch, seed).unwrap();
        let order = epoch(&grouped, k);
        prop_assert!(is_permutation(order.clone(), n));
        let group = (n / batch as u64 / 16).clamp(2, 32);
        for rows in order.chunks(batch) {
            let (least, most) = (rows.iter().min().unwrap(), rows.iter().max().unwrap());
            prop_assert!(most - least < (group + 1) * batch as u64, "{} to {}", least, most);
        }
    }
}
