//! Items made by code: a factory gives each epoch its iterator; items are stacked into batches.
//!
//! `cargo run --release --example generator`

use gristmill::{Dataset, RandomStream, Result};

/// Noisy points on two circles, a new set for every epoch.
fn circles(epoch: u64) -> impl Iterator<Item = ([f32; 2], i64)> + Send {
    let mut random = RandomStream::new(42, "circles", epoch, 0);
    (0..1000).map(move |_| {
        let label = i64::from(random.chance(0.5));
        let angle = random.uniform() * std::f64::consts::TAU;
        let radius = 1.0 + label as f64 + 0.1 * (random.uniform() - 0.5);
        ([(radius * angle.cos()) as f32, (radius * angle.sin()) as f32], label)
    })
}

fn main() -> Result<()> {
    let batches = Dataset::from_generator(circles)
        .filter(|(point, _)| point[0].abs() > 0.01)
        .shuffle_buffer(256, 7)
        .batch(100)
        .prefetch(2)
        .typed::<(f32, i64)>()?;
    println!("{}\n", batches.plan()?);

    for epoch in 0..2 {
        let (mut rows, mut outer) = (0, 0);
        for batch in batches.epoch(epoch)? {
            let (points, labels) = batch?;
            rows += points.shape()[0];
            outer += labels.as_slice().iter().sum::<i64>();
        }
        println!("epoch {epoch}: {rows} points, {outer} of them on the outer circle");
    }
    Ok(())
}
