//! A model small enough to be trained in every order: softmax regression on ten noisy clusters.

use gristmill::RandomStream;

const CLASSES: usize = 10;
const WIDTH: usize = 16;
const RATE: f32 = 0.05;
/// How far clusters lie from the middle, in standard deviations of their noise an axis: they overlap.
const APART: f32 = 0.5;

struct Clusters([[f32; WIDTH]; CLASSES]);

impl Clusters {
    fn new() -> Clusters {
        let mut random = RandomStream::new(1, "clusters", 0, 0);
        Clusters(std::array::from_fn(|_| std::array::from_fn(|_| APART * normal(random.next_u64()))))
    }

    /// The features of a row of this class.
    fn features(&self, class: usize, row: u64) -> [f32; WIDTH] {
        let mut bits = row;
        std::array::from_fn(|axis| {
            // SplitMix64: good enough for noise, and cheap.
            bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            self.0[class][axis] + normal(mixed ^ (mixed >> 31))
        })
    }
}

/// Nearly normal: the sum of four uniform numbers.
fn normal(bits: u64) -> f32 {
    let sum: f32 =
        bits.to_le_bytes().as_chunks::<2>().0.iter().map(|two| f32::from(u16::from_le_bytes(*two))).sum();
    (sum / 65535.0 - 2.0) * 3f32.sqrt()
}

#[derive(Default)]
struct Model {
    weights: [[f32; WIDTH]; CLASSES],
    bias: [f32; CLASSES],
}

impl Model {
    fn scores(&self, x: &[f32; WIDTH]) -> [f32; CLASSES] {
        std::array::from_fn(|class| {
            self.bias[class] + self.weights[class].iter().zip(x).map(|(w, x)| w * x).sum::<f32>()
        })
    }

    fn step(&mut self, batch: impl Iterator<Item = ([f32; WIDTH], usize)>, rows: usize) {
        let mut slope = Model::default();
        for (x, y) in batch {
            let scores = self.scores(&x);
            let most = scores.iter().fold(f32::MIN, |a, b| a.max(*b));
            let shares = scores.map(|score| (score - most).exp());
            let sum: f32 = shares.iter().sum();
            for (class, share) in shares.iter().enumerate() {
                let error = share / sum - f32::from(u8::from(class == y));
                slope.bias[class] += error;
                slope.weights[class].iter_mut().zip(&x).for_each(|(w, x)| *w += error * x);
            }
        }
        let rate = RATE / rows as f32;
        for class in 0..CLASSES {
            self.bias[class] -= rate * slope.bias[class];
            self.weights[class].iter_mut().zip(&slope.weights[class]).for_each(|(w, s)| *w -= rate * s);
        }
    }
}

/// The share of fresh rows that a model knows after one epoch in `order`, in which classes are runs of `rows / 10` rows.
pub fn accuracy(order: &[u64], batch: usize, rows: u64) -> f64 {
    const TESTED: u64 = 50_000;
    let clusters = Clusters::new();
    let mut model = Model::default();
    for places in order.chunks_exact(batch) {
        let items = places.iter().map(|row| {
            let class = (row * CLASSES as u64 / rows) as usize;
            (clusters.features(class, *row), class)
        });
        model.step(items, batch);
    }
    let right = (0..TESTED).filter(|row| {
        let class = (row % CLASSES as u64) as usize;
        let scores = model.scores(&clusters.features(class, rows + row));
        scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).is_some_and(|(best, _)| best == class)
    });
    right.count() as f64 / TESTED as f64
}
