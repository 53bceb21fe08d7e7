//! Next-token batches from a raw file of tokens, as language models are trained on: overlapping windows are cut out of the
//! mapped file, the inputs are all tokens of a window but the last, the targets all but the first.
//!
//! `cargo run --release --example tokens`

use gristmill::{Array, Batch, DType, Dataset, Raw, Result, Shuffle};

const CONTEXT: usize = 64;

/// Inputs `x` and targets `y` of a batch of windows of one token more than the context.
fn next_token(batch: Batch) -> Result<Batch> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for window in batch.column::<u32>("tokens")?.chunks(CONTEXT + 1) {
        x.extend_from_slice(&window[..CONTEXT]);
        y.extend_from_slice(&window[1..]);
    }
    let shape = [batch.rows(), CONTEXT];
    Batch::new([("x", Array::from_elements(&x, &shape)?), ("y", Array::from_elements(&y, &shape)?)])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A text in which each token but the first follows from the one before.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tokens.bin");
    let text = std::iter::successors(Some(1u16), |token| Some((u32::from(*token) * 3 % 50_021) as u16));
    std::fs::write(&path, text.take(100_000).flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;

    let tokens = Dataset::from_slices((("tokens", Raw::new(&path, DType::U16, &[])),))?;
    // The last tenth is held back: cut before the windows are, so that no window lies in both parts.
    let held = tokens.len() / 10;
    let train = tokens.take(tokens.len() - held).windows(CONTEXT + 1, CONTEXT as u64)?;
    let valid = tokens.skip(tokens.len() - held).windows(CONTEXT + 1, CONTEXT as u64)?;
    let batches =
        train.shuffle(Shuffle::full(7)).batch_exact(32).cast::<u32>("tokens").try_map(next_token).prefetch(4);
    println!("{} windows to train on, {} held back\n{}\n", train.len(), valid.len(), batches.plan()?);

    let (mut steps, mut right, mut seen) = (0, 0, 0);
    for batch in batches.epoch(0)? {
        let batch = batch?;
        let pairs = batch.column::<u32>("x")?.iter().zip(batch.column::<u32>("y")?);
        seen += pairs.len();
        right += pairs.filter(|(x, y)| *x * 3 % 50_021 == **y).count();
        steps += 1;
    }
    println!("{steps} steps, {right} of {seen} targets follow from their inputs");
    Ok(())
}
