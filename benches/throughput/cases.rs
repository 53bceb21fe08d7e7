//! The cases. Rates are of the features' and labels' bytes as they stand in the files.

use std::hint::black_box;
use std::time::Instant;

use gristmill::{Batch, Dataset, Npy, Shuffle, Stream, Threads};

use crate::files::{self, Pair};
use crate::limit::Mapped;
use crate::{Options, Outcome, alternate, cold, heap, median, seconds};

pub type Case = fn(&Options) -> Outcome;

pub const ALL: [(&str, Case); 19] = [
    ("seq-1024", seq),
    ("full-128", |o| shuffled(o, 128, 128, Shuffle::full(1), 1, "0.85")),
    ("full-1024", |o| shuffled(o, 128, 1024, Shuffle::full(1), 1, "0.90")),
    ("full-1024-2", |o| shuffled(o, 128, 1024, Shuffle::full(1), 2, "0.80")),
    ("blocks-1024", |o| shuffled(o, 128, 1024, Shuffle::blocks(1), 1, "0.90")),
    ("buffer-1024", |o| shuffled(o, 128, 1024, Shuffle::buffer(10_000, 1), 1, "0.90")),
    ("small-1024", |o| shuffled(o, 4, 1024, Shuffle::full(1), 1, "0.80")),
    ("wide-32", wide),
    ("inline-1024", inline),
    ("tiny-32", |o| tiny(o, Threads::Auto, "at most 500 ns above the limit")),
    ("tiny-inline", |o| tiny(o, Threads::None, "-")),
    ("generator", generator),
    ("par-map", par_map),
    ("cold-seq", |o| cold::case(o, "seq", "0.90")),
    ("cold-blocks", |o| cold::case(o, "blocks", "0.85")),
    ("first-batch", first_batch),
    ("flat-heap", flat_heap),
    ("order-cost", order_cost),
    ("split-cost", split_cost),
];

pub fn size(options: &Options) -> u64 {
    if options.small { 256 << 20 } else { 2 << 30 }
}

pub fn open(pair: &Pair) -> Dataset {
    let (features, labels) = (Npy::open(&pair.features).unwrap(), Npy::open(&pair.labels).unwrap());
    Dataset::from_slices((("x", features), ("y", labels))).unwrap()
}

/// Runs one epoch, looking at a byte of every batch.
pub fn drain(stream: &Stream<Batch>, epoch: u64) {
    for batch in stream.epoch(epoch).unwrap() {
        let batch = batch.unwrap();
        black_box(batch.arrays()[0].bytes()[0]);
    }
}

/// A pair mapped once for all rounds, as the pipeline maps it: neither side pays for mapping or its page faults again.
fn mapped(pair: &Pair) -> (Mapped, Mapped) {
    (Mapped::open(&pair.features, pair.row_bytes), Mapped::open(&pair.labels, 4))
}

/// Row numbers in parts that a thread each works on, batch by batch, into its own reused buffers.
fn by_hand((x, y): &(Mapped, Mapped), rows: &[u64], batch: usize, threads: usize) {
    std::thread::scope(|scope| {
        for part in rows.chunks(rows.len().div_ceil(threads)) {
            scope.spawn(move || {
                let (mut xs, mut ys) = (vec![0; batch * x.row_bytes()], vec![0; batch * 4]);
                for rows in part.chunks(batch) {
                    x.gather(rows, &mut xs);
                    y.gather(rows, &mut ys);
                    black_box((&xs, &ys));
                }
            });
        }
    });
}

pub fn rates(pair: &Pair, (ours, limit): (f64, f64), bar: &'static str) -> Outcome {
    let bytes = (pair.rows * (pair.row_bytes as u64 + 4)) as f64;
    let rows = Some(pair.rows as f64 / ours);
    Outcome { value: bytes / ours / 1e9, unit: "GB/s", limit: Some(bytes / limit / 1e9), rows, bar }
}

fn seq(options: &Options) -> Outcome {
    let pair = files::pair(128, size(options));
    let stream = open(&pair).batch(1024).prefetch(4).workers(1);
    let (x, y) = mapped(&pair);
    let by_hand = || {
        let (mut xs, mut ys) = (vec![0; 1024 * pair.row_bytes], vec![0; 1024 * 4]);
        for from in (0..pair.rows).step_by(1024) {
            let n = (pair.rows - from).min(1024) as usize;
            x.copy(from, n, &mut xs);
            y.copy(from, n, &mut ys);
            black_box((&xs, &ys));
        }
    };
    let times = alternate(options.rounds, || seconds(|| drain(&stream, 0)), || seconds(by_hand));
    rates(&pair, times, "0.90")
}

fn shuffled(
    options: &Options,
    width: usize,
    batch: usize,
    how: Shuffle,
    lanes: usize,
    bar: &'static str,
) -> Outcome {
    let bytes = if width < 16 { size(options) / 8 } else { size(options) };
    let pair = files::pair(width, bytes);
    let rows = open(&pair).shuffle(how);
    let stream = rows.batch(batch).prefetch(4).workers(lanes);
    let maps = mapped(&pair);
    let limit = || seconds(|| by_hand(&maps, &rows.order(0, 0, usize::MAX).unwrap(), batch, lanes));
    let times = alternate(options.rounds, || seconds(|| drain(&stream, 0)), limit);
    rates(&pair, times, bar)
}

fn wide(options: &Options) -> Outcome {
    let pair = files::images(size(options) / 2);
    let rows = open(&pair).shuffle(Shuffle::full(1));
    let stream = rows.batch(32).cast::<f32>("x").prefetch(4).workers(1);
    let (x, y) = mapped(&pair);
    let by_hand = || {
        let order = rows.order(0, 0, usize::MAX).unwrap();
        let (mut xs, mut ys) = (vec![0f32; 32 * pair.row_bytes], vec![0; 32 * 4]);
        for rows in order.chunks(32) {
            x.gather_f32(rows, &mut xs);
            y.gather(rows, &mut ys);
            black_box((&xs, &ys));
        }
    };
    let times = alternate(options.rounds, || seconds(|| drain(&stream, 0)), || seconds(by_hand));
    rates(&pair, times, "0.90")
}

fn inline(options: &Options) -> Outcome {
    let pair = files::pair(128, size(options));
    let rows = open(&pair).shuffle(Shuffle::full(1));
    let stream = rows.batch(1024).threads(Threads::None);
    let maps = mapped(&pair);
    let limit = || seconds(|| by_hand(&maps, &rows.order(0, 0, usize::MAX).unwrap(), 1024, 1));
    let times = alternate(options.rounds, || seconds(|| drain(&stream, 0)), limit);
    rates(&pair, times, "0.95")
}

/// Without a thread in between, what is left is what a batch costs by itself; the rest is the cost of handing it to another core.
fn tiny(options: &Options, threads: Threads, bar: &'static str) -> Outcome {
    let pair = files::pair(4, size(options) / 8);
    let stream = open(&pair).batch(32).prefetch(256).workers(1).threads(threads);
    let (x, y) = mapped(&pair);
    let by_hand = || {
        let (mut xs, mut ys) = (vec![0; 32 * 16], vec![0; 32 * 4]);
        for from in (0..pair.rows).step_by(32) {
            let n = (pair.rows - from).min(32) as usize;
            x.copy(from, n, &mut xs);
            y.copy(from, n, &mut ys);
            black_box((&xs, &ys));
        }
    };
    let (ours, limit) = alternate(options.rounds, || seconds(|| drain(&stream, 0)), || seconds(by_hand));
    let each = 1e9 / pair.rows.div_ceil(32) as f64;
    Outcome {
        value: ours * each,
        unit: "ns/batch",
        limit: Some(limit * each),
        rows: Some(pair.rows as f64 / ours),
        bar,
    }
}

fn generator(options: &Options) -> Outcome {
    const ITEMS: u64 = 2_000_000;
    let items = Dataset::from_generator(|_| (0..ITEMS).map(|i| ([i as f32; 16], i as i32)));
    let stream = items.shuffle_buffer(10_000, 1).batch(128).prefetch(4);
    let (time, _) = alternate(options.rounds, || seconds(|| drain(&stream, 0)), || 0.0);
    let value = time * 1e9 / ITEMS as f64;
    Outcome { value, unit: "ns/item", limit: None, rows: Some(ITEMS as f64 / time), bar: "at most 100 ns" }
}

fn par_map(options: &Options) -> Outcome {
    const ITEMS: u64 = 2000;
    let work = |n: u64| (0..200_000).fold(n, |h, i| (h ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let run = |workers| {
        let stream = Dataset::from_generator(|_| 0..ITEMS).par_map(workers, work);
        seconds(|| stream.iter().unwrap().for_each(|item| drop(black_box(item))))
    };
    let (two, one) = alternate(options.rounds.min(5), || run(2), || run(1));
    let rows = Some(ITEMS as f64 / two);
    Outcome { value: one / two, unit: "times", limit: Some(2.0), rows, bar: "0.95" }
}

fn first_batch(options: &Options) -> Outcome {
    let path = files::sparse(1 << 40);
    let once = || {
        let start = Instant::now();
        let rows = Dataset::from_slices(Npy::open(&path).unwrap()).unwrap();
        let stream = rows.shuffle(Shuffle::full(start.elapsed().as_nanos() as u64)).batch(128).prefetch(4);
        let mut iter = stream.iter().unwrap();
        black_box(iter.next().unwrap().unwrap());
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..options.rounds).map(|_| once()).collect();
    Outcome { value: median(&mut times), unit: "ms", limit: None, rows: None, bar: "at most 20 ms" }
}

fn flat_heap(_: &Options) -> Outcome {
    let peak = |gib: u64| {
        let path = files::sparse(gib << 30);
        heap::reset();
        let stream = Dataset::from_slices(Npy::open(&path).unwrap())
            .unwrap()
            .shuffle(Shuffle::full(1))
            .batch(64)
            .prefetch(4);
        stream.iter().unwrap().take(20).for_each(|batch| drop(black_box(batch)));
        heap::peak() as f64
    };
    let peaks = [1, 16, 256].map(peak);
    let spread = peaks.iter().fold(0f64, |a, b| a.max(*b)) - peaks.iter().fold(f64::MAX, |a, b| a.min(*b));
    Outcome { value: spread, unit: "bytes", limit: None, rows: None, bar: "at most 1 MiB apart" }
}

/// Nanoseconds an index for each order and length; the value is the full shuffle's dearest.
fn order_cost(options: &Options) -> Outcome {
    let cost = |rows: &Dataset| {
        let n = rows.len().min(1_000_000) as usize;
        let rounds = 1_000_000 / n;
        let once =
            || seconds(|| (0..rounds as u64).for_each(|k| drop(black_box(rows.order(k, 0, n).unwrap()))));
        let mut times: Vec<f64> = (0..options.rounds).map(|_| once()).collect();
        median(&mut times) * 1e9 / (n * rounds) as f64
    };
    let mut dearest = 0f64;
    for (name, how) in [
        ("full", Shuffle::full(1)),
        ("blocks", Shuffle::blocks_of(128, 1024, 1)),
        ("buffer", Shuffle::buffer(10_000, 1)),
    ] {
        let costs: Vec<f64> =
            (4..=10).map(|digits| cost(&Dataset::range(10u64.pow(digits)).unwrap().shuffle(how))).collect();
        let texts: Vec<String> = costs.iter().map(|c| format!("{c:.1}")).collect();
        println!("  {name:<7} ns an index at 10^4 .. 10^10 rows: {}", texts.join(" "));
        if name == "full" {
            dearest = costs.iter().fold(0.0, |a, b| a.max(*b));
        }
    }
    Outcome {
        value: dearest,
        unit: "ns/index",
        limit: None,
        rows: None,
        bar: "full at most 20 ns, flat within 1.5x",
    }
}

/// A full shuffle over a split costs two lookups an index.
fn split_cost(options: &Options) -> Outcome {
    let rows = Dataset::range(100_000_000).unwrap().split(0.9, 1).unwrap().0.shuffle(Shuffle::full(1));
    let once = || seconds(|| drop(black_box(rows.order(0, 0, 1_000_000).unwrap())));
    let mut times: Vec<f64> = (0..options.rounds).map(|_| once()).collect();
    Outcome { value: median(&mut times) * 1e3, unit: "ns/index", limit: None, rows: None, bar: "-" }
}
