//! The orders and random numbers of this version line, and whole epochs under every number of threads: a change of any of these breaks
//! every user's resume, and is not made within a version line.
//!
//! What is pinned lies in `tests/fixtures/golden.json`. A test that finds something else prints what it found, in the fixture's form.

use std::collections::BTreeMap;

use gristmill::{Balance, Dataset, RandomStream, Shuffle, Stream, Threads};

use crate::common::*;

type Found = BTreeMap<String, Vec<u64>>;

fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

/// Compares a part of the fixture with what is so now.
fn pinned(part: &str, found: &Found) {
    let fixture: BTreeMap<String, Found> =
        serde_json::from_str(include_str!("../fixtures/golden.json")).unwrap();
    let wanted = &fixture[part];
    if found != wanted {
        println!("{}", serde_json::to_string(&BTreeMap::from([(part, found)])).unwrap());
        let other = found.iter().find(|(name, numbers)| wanted.get(*name) != Some(numbers));
        panic!("{part}: {other:?} is not what is pinned, {:?}", other.map(|(name, _)| wanted.get(name)));
    }
}

/// A whole epoch as one number; of a long one, some of its rows.
fn noted(found: &mut Found, rows: &Dataset, k: u64) {
    let seen = match rows.len() {
        0..70_000 => vec![digest(rows.order(k, 0, usize::MAX).unwrap())],
        // The middle of a buffer shuffle is far from its start.
        n if format!("{rows:?}").contains("buffer") || n < 8 => rows.order(k, 0, 6).unwrap(),
        n => [rows.order(k, 0, 4).unwrap(), rows.order(k, n / 2, 2).unwrap()].concat(),
    };
    found.insert(format!("{rows:?}, epoch {k}"), seen);
}

const SEEDS: [u64; 4] = [0, 7, 42, u64::MAX];

#[test]
fn shuffles_of_every_length() {
    let lengths = [
        1,
        2,
        3,
        10,
        255,
        256,
        257,
        1000,
        65_535,
        65_536,
        65_537,
        123_456,
        1 << 31,
        (1 << 32) + 1,
        (1 << 63) - 1,
    ];
    let mut found = Found::new();
    for n in lengths {
        for seed in SEEDS {
            let buffered = if n <= 65_536 { 100 } else { 1000 };
            for how in [
                Shuffle::full(seed),
                Shuffle::full(seed).fixed(),
                Shuffle::blocks(seed),
                Shuffle::blocks_of(100, 10, seed),
                Shuffle::buffer(buffered, seed),
            ] {
                (0..2).for_each(|k| noted(&mut found, &rows(n).shuffle(how), k));
            }
        }
    }
    pinned("shuffles", &found);
}

#[test]
fn splits_draws_and_mixes() {
    let mut found = Found::new();
    let lengths = Dataset::from_slices((0..1000).map(|i| i * 7 % 97).collect::<Vec<u64>>()).unwrap();
    for seed in SEEDS {
        let shuffled = rows(777).shuffle(Shuffle::full(seed));
        let (most, few) = rows(1000).split(0.9, seed).unwrap();
        let (half, other) = shuffled.split(0.5, seed).unwrap();
        let weights: Vec<f64> = (0..1000).map(|i| f64::from(i % 17)).collect();
        for made in [
            most,
            few,
            half,
            other,
            rows(1000).sample(500, seed).unwrap(),
            rows(1 << 40).sample(500, seed).unwrap(),
            rows(1000).sample_weighted(500, weights, seed).unwrap(),
            lengths.balance("0", Balance::over(seed)).unwrap(),
            lengths.balance("0", Balance::under(seed)).unwrap(),
            lengths.group_by_length("0", 16, seed).unwrap(),
            Dataset::mix([(&shuffled, 3), (&rows(500), 2)]).unwrap(),
            Dataset::choose([&shuffled, &rows(500)], [0, 1, 1, 0, 1]).unwrap(),
            shuffled.repeat(2).shard(3, 1).unwrap().shuffle(Shuffle::buffer(50, seed)).reverse(),
        ] {
            (0..3).for_each(|k| noted(&mut found, &made, k));
        }
    }
    pinned("draws", &found);
}

#[test]
fn random_numbers_of_every_kind() {
    let mut found = Found::new();
    for (seed, tag, epoch, place) in
        [(0, "", 0, 0), (7, "map", 1, 2), (42, "a longer tag", 1 << 40, 9), (u64::MAX, "map", 3, u64::MAX)]
    {
        let mut random = RandomStream::new(seed, tag, epoch, place);
        let mut items: Vec<u64> = (0..100).collect();
        random.shuffle(&mut items);
        let below = [1, 2, 7, 1000, (1 << 63) + 1, u64::MAX].map(|n| random.below(n));
        let others =
            [random.next_u64(), random.uniform().to_bits(), u64::from(random.chance(0.5)), digest(items)];
        found.insert(format!("{seed}, {tag:?}, {epoch}, {place}"), [&below[..], &others].concat());
    }
    pinned("random", &found);
}

/// How a run may be shared out among threads.
#[derive(Clone, Copy)]
struct Speed {
    workers: usize,
    ahead: usize,
}

type Make = fn(Speed) -> Stream<Vec<u64>>;

/// Streams with an order of every sort, which all speeds must leave as it is.
const EPOCHS: [(&str, Make); 8] = [
    ("full, batched", |s| rows(5000).shuffle(Shuffle::full(7)).batch(64).prefetch(s.ahead).map(|b| ids(&b))),
    ("blocks, cast and mapped", |s| {
        let batches =
            rows(5000).shuffle(Shuffle::blocks_of(64, 8, 3)).batch(32).cast::<f64>("0").prefetch(s.ahead);
        batches.par_map(s.workers, |b| b.column::<f64>("0").unwrap().iter().map(|x| x.to_bits()).collect())
    }),
    ("buffer, repeated and sharded", |s| {
        let part = rows(900).shuffle(Shuffle::buffer(300, 5)).repeat(2).shard(3, 2).unwrap();
        part.batch_exact(7).prefetch(s.ahead).map(|b| ids(&b))
    }),
    ("random numbers", |s| {
        let drawn = rows(3000).sample(1000, 9).unwrap().batch(10);
        let mapped =
            drawn.par_map_seeded(s.workers, 11, |b, random| [ids(&b), vec![random.next_u64()]].concat());
        mapped.prefetch(s.ahead).map_seeded(4, |ids, random| [ids, vec![random.below(9)]].concat())
    }),
    ("a buffer of items", |s| {
        let items = numbers(4000).par_map(s.workers, |n| n * n).shuffle_buffer(500, 8).prefetch(s.ahead);
        items.resample(3, [(0.5, 0.2), (0.5, 0.8)], |n| *n as usize % 2).window(5, 3, 1)
    }),
    ("interleaved", |s| {
        let files = numbers(60).par_interleave(4, 3, |n| numbers(n).map(move |i| 100 * n + i));
        files.prefetch(s.ahead).group_by_window(6, |n| n % 5)
    }),
    ("mixed", |s| {
        let of_rows = Dataset::mix([(&rows(500).shuffle(Shuffle::full(1)), 2), (&rows(300), 1)]).unwrap();
        let batches = of_rows.batch(5).map(|b| ids(&b)).prefetch(s.ahead);
        Stream::mix_to_end([(batches, 3), (numbers(70).par_map(s.workers, |n| vec![n]), 1)])
    }),
    ("one rank", |s| {
        let part = rows(2000).shuffle(Shuffle::full(6)).distribute(1, 4, 32).unwrap();
        part.prefetch(s.ahead).map(|b| ids(&b))
    }),
];

#[test]
fn whole_epochs_under_every_number_of_threads() {
    within(120, || {
        let mut found = Found::new();
        for (name, make) in EPOCHS {
            for k in 0..2 {
                let of = |workers, ahead, threads| {
                    let stream = make(Speed { workers, ahead }).workers(workers).threads(threads);
                    digest(
                        epoch(&stream, k)
                            .into_iter()
                            .flat_map(|item| [vec![item.len() as u64], item].concat()),
                    )
                };
                let one = of(1, 0, Threads::None);
                for (workers, ahead) in
                    [1, 2, 4, 16].into_iter().flat_map(|n| [0, 1, 9, 64].map(|ahead| (n, ahead)))
                {
                    for threads in THREADS {
                        let other = of(workers, ahead, threads);
                        assert_eq!(
                            other, one,
                            "{name}, epoch {k}: {workers} workers, {ahead} ahead, {threads:?}"
                        );
                    }
                }
                found.insert(format!("{name}, epoch {k}"), vec![one]);
            }
        }
        pinned("epochs", &found);
    });
}
