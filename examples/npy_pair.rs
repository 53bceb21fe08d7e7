//! Two `.npy` files, shuffled, in minibatches: the whole of it.
//!
//! `cargo run --release --example npy_pair`

use gristmill::{Dataset, Npy, Result, Shuffle};

fn main() -> Result<()> {
    let features = Npy::open("examples/data/digits-features.npy")?;
    let labels = Npy::open("examples/data/digits-labels.npy")?;
    let rows = Dataset::from_slices((("x", features), ("y", labels)))?;

    let (train, valid) = rows.split(0.9, 7)?;
    let batches = train.shuffle(Shuffle::blocks(42)).batch(128).prefetch(4).typed::<(u8, u8)>()?;
    println!("{batches:?}\n{}\n", batches.plan()?);

    for epoch in 0..3 {
        let mut sum = 0u64;
        for batch in batches.epoch(epoch)? {
            let (x, y) = batch?;
            sum += x
                .view()
                .rows()
                .into_iter()
                .zip(y.as_slice())
                .map(|(x, y)| u64::from(x[20]) * u64::from(*y))
                .sum::<u64>();
        }
        println!("epoch {epoch}: {} rows, checksum {sum}", train.len());
    }
    println!("{} rows kept for validation", valid.len());
    Ok(())
}
