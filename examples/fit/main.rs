//! Trains a classifier from two `.npy` files that are never loaded: mapped, split, shuffled, cast, batched and prefetched.
//!
//! ```text
//! cargo run --release --example fit
//! cargo run --release --example fit -- --features F.npy --labels L.npy [--batch N] [--epochs N]
//!                                      [--shuffle full|blocks|buffer:N] [--seed N]
//! ```

mod model;

use gristmill::{Dataset, Npy, Shuffle};
use model::{Batches, Model, Result};

struct Options {
    features: String,
    labels: String,
    batch: usize,
    epochs: u64,
    shuffle: String,
    seed: u64,
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = options(std::env::args().skip(1))?;
    let features = Npy::open(&options.features)?;
    let labels = Npy::open(&options.labels)?;
    let rows = Dataset::from_slices((("x", features), ("y", labels)))?;
    let (train, valid) = rows.split(0.8, options.seed)?;
    let [width, per_label] = [0, 1].map(|at| rows.spec().columns[at].row_elements());
    if per_label != 1 {
        return Err(format!("labels must be one number a row; {} has {per_label}", options.labels).into());
    }

    let batches = |rows: &Dataset| -> Result<Batches> {
        let batches = rows.batch(options.batch).cast::<f32>("x").cast::<u32>("y");
        Ok(batches.prefetch(4).typed::<(f32, u32)>()?)
    };
    let train = batches(&train.shuffle(shuffle(&options.shuffle, options.seed)?))?;
    let valid = batches(&valid)?;
    println!("{train:?}\n{}\n", train.plan()?);

    let (classes, largest) = survey(&train)?;
    let scale = if largest > 0.0 { 1.0 / f64::from(largest) } else { 1.0 };
    let mut model = Model::new(&[width, 64, classes], scale, 0.005, options.seed)?;
    let history = model.fit(&train, &valid, options.epochs)?;

    let (time, waited) = (history.time.as_secs_f64(), history.waited.as_secs_f64());
    let share = 100.0 * waited / time.max(1e-9);
    let verdict =
        if share > 20.0 { "the input is worth speeding up" } else { "the model is what takes time" };
    println!(
        "\nof {time:.2} s of training, {waited:.2} s ({share:.1}%) were spent waiting for batches: {verdict}"
    );
    let accuracy = history.val_accuracy.last().copied().unwrap_or(0.0);
    let speed = history.rows as f64 / time.max(1e-9);
    println!(
        "result val_accuracy={accuracy:.4} epochs={} rows_per_s={speed:.0} input_wait={share:.1}%",
        history.loss.len()
    );
    Ok(())
}

/// One pass over the training rows: the number of classes, and the largest feature, by which all are scaled.
fn survey(batches: &Batches) -> Result<(usize, f32)> {
    let (mut classes, mut largest) = (0, 0f32);
    for batch in batches.iter()? {
        let (x, y) = batch?;
        classes = y.as_slice().iter().fold(classes, |most, y| most.max(*y as usize + 1));
        largest = x.as_slice().iter().fold(largest, |most, x| most.max(x.abs()));
    }
    match classes {
        0 => Err("there are no rows to train on".into()),
        1..=100_000 => Ok((classes, largest)),
        _ => Err(format!(
            "labels must be class numbers from 0; found {} (negative ones read as large ones)",
            classes - 1
        )
        .into()),
    }
}

fn shuffle(text: &str, seed: u64) -> Result<Shuffle> {
    match text.split_once(':') {
        None if text == "full" => Ok(Shuffle::full(seed)),
        None if text == "blocks" => Ok(Shuffle::blocks(seed)),
        Some(("buffer", rows)) => Ok(Shuffle::buffer(number("--shuffle buffer", rows)?, seed)),
        _ => Err(format!("--shuffle takes full, blocks or buffer:N, not {text:?}").into()),
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| format!("{flag} takes a number, not {text:?}").into())
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        features: "examples/data/digits-features.npy".into(),
        labels: "examples/data/digits-labels.npy".into(),
        batch: 32,
        epochs: 15,
        shuffle: "blocks".into(),
        seed: 42,
    };
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag} takes a value"))?;
        match flag.as_str() {
            "--features" => options.features = value,
            "--labels" => options.labels = value,
            "--batch" => options.batch = number(&flag, &value)?,
            "--epochs" => options.epochs = number(&flag, &value)?,
            "--shuffle" => options.shuffle = value,
            "--seed" => options.seed = number(&flag, &value)?,
            _ => {
                return Err(
                    format!("unknown option {flag}; see the first lines of examples/fit/main.rs").into()
                );
            }
        }
    }
    Ok(options)
}
