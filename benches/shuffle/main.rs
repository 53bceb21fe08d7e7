//! What a shuffle is worth and what it costs: the orders of a class-sorted file, judged on row numbers alone.
//!
//! `cargo bench --bench shuffle [-- --json FILE]`
//!
//! The file has 4 Mi rows of 512 bytes (2 GiB, sparse), sorted by class. Batches have 256 rows. The columns:
//!
//! | column | what it is | best |
//! |---|---|---|
//! | label | total variation between a batch's classes (100 of them) and the file's, mean | that of full |
//! | prefix | distance between the rows seen so far and the whole file (Kolmogorov–Smirnov, times the root of their number), mean | about 0.87 |
//! | lag | largest correlation of places 1, 2, 4 … 256 apart | 0 |
//! | together | how much likelier than by chance two rows of a batch meet again in the next epoch's | 1 |
//! | moved | mean distance that a row moves, as a part of a third of the file | 1 |
//! | blocks | different blocks of 64 KiB in a batch, mean | 256 |
//! | read | bytes read for each byte used, out of a file far larger than the 128 MiB that are cached | 1 |
//! | accuracy | of a linear classifier of 10 classes after one epoch in this order | that of full |
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod model;

use std::fs::File;
use std::path::PathBuf;

use gristmill::{Dataset, Npy, Shuffle};

const ROWS: u64 = 4 << 20;
const ROW_BYTES: u64 = 512;
const BATCH: usize = 256;
const CLASSES: u64 = 100;
const BLOCK_ROWS: u64 = (64 << 10) / ROW_BYTES;
const PAGE: u64 = 4096;
const CACHED_BYTES: u64 = 128 << 20;

struct Judged {
    name: String,
    label: f64,
    prefix: f64,
    lag: f64,
    together: f64,
    moved: f64,
    blocks: f64,
    read: f64,
    accuracy: f64,
}

/// A sparse file: only row numbers are used.
fn file() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sorted.npy");
    let mut text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {}), }}", ROW_BYTES / 4);
    text.push_str(&" ".repeat(117 - text.len()));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.as_bytes());
    std::fs::write(&path, &head).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(head.len() as u64 + ROWS * ROW_BYTES).unwrap();
    path
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    values.for_each(|v| (sum, n) = (sum + v, n + 1.0));
    sum / f64::max(n, 1.0)
}

/// Total variation between the classes of a batch and equal shares.
fn label_distance(batch: &[u64]) -> f64 {
    let mut counts = [0f64; CLASSES as usize];
    batch.iter().for_each(|row| counts[(row * CLASSES / ROWS) as usize] += 1.0);
    counts.iter().map(|n| (n / batch.len() as f64 - 1.0 / CLASSES as f64).abs()).sum::<f64>() / 2.0
}

/// At each hundredth of the epoch, how far the rows so far are from a fair sample of the file.
fn prefix_distance(order: &[u64]) -> f64 {
    const BINS: usize = 4096;
    let mut counts = vec![0u64; BINS];
    let step = order.len() / 100;
    mean(order.chunks_exact(step).take(50).enumerate().map(|(i, rows)| {
        rows.iter().for_each(|row| counts[(*row * BINS as u64 / ROWS) as usize] += 1);
        let seen = ((i + 1) * step) as f64;
        let mut sum = 0;
        let distances = counts.iter().enumerate().map(|(bin, n)| {
            sum += n;
            (sum as f64 / seen - (bin + 1) as f64 / BINS as f64).abs()
        });
        distances.fold(0.0, f64::max) * (seen / (1.0 - seen / order.len() as f64)).sqrt()
    }))
}

fn lag_correlation(order: &[u64]) -> f64 {
    let at = |i: usize| order[i] as f64 / ROWS as f64 - 0.5;
    let correlation = |lag: usize| mean((0..order.len() - lag).map(|i| at(i) * at(i + lag))) * 12.0;
    (0..=8).map(|power| correlation(1 << power).abs()).fold(0.0, f64::max)
}

/// How often two rows of a batch share one in the next epoch, against chance.
fn together(order: &[u64], next: &[u64]) -> f64 {
    let mut batch_of = vec![0u32; order.len()];
    next.iter().enumerate().for_each(|(place, row)| batch_of[*row as usize] = (place / BATCH) as u32);
    let again = order.chunks_exact(BATCH).step_by(4).map(|batch| {
        let mut batches: Vec<u32> = batch.iter().map(|row| batch_of[*row as usize]).collect();
        batches.sort_unstable();
        let pairs: usize = batches.chunk_by(|a, b| a == b).map(|same| same.len() * (same.len() - 1)).sum();
        pairs as f64 / (BATCH * (BATCH - 1)) as f64
    });
    mean(again) / ((BATCH - 1) as f64 / (order.len() - 1) as f64)
}

fn distinct_blocks(batch: &[u64]) -> f64 {
    let mut blocks: Vec<u64> = batch.iter().map(|row| row / BLOCK_ROWS).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.len() as f64
}

/// Bytes of pages that are read for each byte used, when the last 128 MiB that were read are in memory.
fn read_ratio(order: &[u64]) -> f64 {
    let rows = PAGE / ROW_BYTES;
    let mut read_at = vec![u64::MAX; (ROWS / rows) as usize];
    let mut reads = 0;
    for row in order {
        let page = &mut read_at[(row / rows) as usize];
        if *page == u64::MAX || reads - *page > CACHED_BYTES / PAGE {
            *page = reads;
            reads += 1;
        }
    }
    (reads * PAGE) as f64 / (order.len() as u64 * ROW_BYTES) as f64
}

fn judge(name: String, rows: &Dataset) -> Judged {
    let order = rows.order(0, 0, usize::MAX).unwrap();
    let next = rows.order(1, 0, usize::MAX).unwrap();
    let batches = || order.chunks_exact(BATCH).step_by(4);
    let moved = order.iter().enumerate().map(|(place, row)| (*row as f64 - place as f64).abs());
    Judged {
        label: mean(batches().map(label_distance)),
        prefix: prefix_distance(&order),
        lag: lag_correlation(&order),
        together: together(&order, &next),
        moved: mean(moved) / (ROWS as f64 / 3.0),
        blocks: mean(batches().map(distinct_blocks)),
        read: read_ratio(&order),
        accuracy: model::accuracy(&order, BATCH, ROWS),
        name,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let json = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["--json", path] => Some(path.to_owned()),
        _ => panic!("expected nothing or --json FILE, found {arguments:?}"),
    };
    let rows = Dataset::from_slices(Npy::open(file()).unwrap()).unwrap();
    let kib =
        |kib: u64, group_mib: u64| Shuffle::blocks_of(kib * 1024 / ROW_BYTES, group_mib * 1024 / kib, 1);
    let mut cases = vec![
        ("none".to_owned(), rows.clone()),
        ("full".into(), rows.shuffle(Shuffle::full(1))),
        ("blocks (the default)".into(), rows.shuffle(Shuffle::blocks(1))),
    ];
    for (block, group) in [(4, 16), (16, 64), (64, 16), (256, 64), (256, 256), (1024, 64), (8192, 64)] {
        cases.push((format!("blocks of {block} KiB in {group} MiB"), rows.shuffle(kib(block, group))));
    }
    for buffer in [10_000, 100_000, 1_000_000] {
        cases.push((format!("buffer of {buffer} rows"), rows.shuffle(Shuffle::buffer(buffer, 1))));
    }
    println!(
        "{:<28} {:>6} {:>8} {:>7} {:>9} {:>6} {:>7} {:>6} {:>9}",
        "order", "label", "prefix", "lag", "together", "moved", "blocks", "read", "accuracy"
    );
    let mut all = Vec::new();
    for (name, rows) in cases {
        let j = judge(name, &rows);
        println!(
            "{:<28} {:>6.3} {:>8.2} {:>7.4} {:>9.2} {:>6.3} {:>7.1} {:>6.2} {:>9.4}",
            j.name, j.label, j.prefix, j.lag, j.together, j.moved, j.blocks, j.read, j.accuracy
        );
        all.push(serde_json::json!({
            "order": j.name, "label": j.label, "prefix": j.prefix, "lag": j.lag, "together": j.together,
            "moved": j.moved, "blocks": j.blocks, "read": j.read, "accuracy": j.accuracy,
        }));
    }
    if let Some(path) = json {
        std::fs::write(&path, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
    }
}
