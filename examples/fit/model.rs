//! A small classifier with the face of a Keras model: dense layers, Adam, cross entropy. candle does the mathematics.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use candle_core::{D, DType, Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use gristmill::{RandomStream, Stream};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Minibatches: features and labels.
pub(crate) type Batches = Stream<(gristmill::Tensor<f32>, gristmill::Tensor<u32>)>;

/// One value an epoch of each measure, as Keras' History has them.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) loss: Vec<f64>,
    pub(crate) accuracy: Vec<f64>,
    pub(crate) val_loss: Vec<f64>,
    pub(crate) val_accuracy: Vec<f64>,
    /// Rows trained on, time in the training loops, and the part of it spent waiting for batches.
    pub(crate) rows: u64,
    pub(crate) time: Duration,
    pub(crate) waited: Duration,
}

pub(crate) struct Model {
    layers: Vec<(Var, Var)>,
    scale: f64,
    optimizer: AdamW,
}

impl Model {
    /// Dense layers of these widths, from the features to the classes; all but the last with ReLU. `scale` is what the features are
    /// multiplied with.
    pub(crate) fn new(widths: &[usize], scale: f64, learning_rate: f64, seed: u64) -> Result<Model> {
        let mut layers = Vec::new();
        for (i, pair) in widths.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            // He's uniform initialisation, from a stream of its own for each layer: the same on every run.
            let bound = (6.0 / from as f64).sqrt();
            let mut random = RandomStream::new(seed, "dense", 0, i as u64);
            let weights: Vec<f32> =
                (0..from * to).map(|_| (bound * (2.0 * random.uniform() - 1.0)) as f32).collect();
            let weights = Var::from_tensor(&Tensor::from_vec(weights, (from, to), &Device::Cpu)?)?;
            layers.push((weights, Var::zeros(to, DType::F32, &Device::Cpu)?));
        }
        let variables = layers.iter().flat_map(|(w, b)| [w.clone(), b.clone()]).collect();
        let adam = ParamsAdamW { lr: learning_rate, weight_decay: 0.0, ..ParamsAdamW::default() };
        Ok(Model { layers, scale, optimizer: AdamW::new(variables, adam)? })
    }

    /// Trains for `epochs` epochs and validates after each.
    pub(crate) fn fit(&mut self, train: &Batches, valid: &Batches, epochs: u64) -> Result<History> {
        let mut history = History::default();
        let steps = train.length()?.exact();
        for epoch in 0..epochs {
            let bar = bar(steps, epoch, epochs)?;
            let start = Instant::now();
            let mut measure = Measure::default();
            let mut batches = train.epoch(epoch)?;
            for batch in &mut batches {
                let (x, y) = batch?;
                let (loss, right) = self.step(&x, &y)?;
                measure.add(y.as_slice().len(), loss, right);
                bar.set_message(measure.to_string());
                bar.inc(1);
            }
            history.time += start.elapsed();
            history.waited += batches.waited();
            history.rows += measure.rows;
            let (val_loss, val_accuracy) = self.evaluate(valid)?;
            let line = format!("{measure} val_loss={val_loss:.4} val_accuracy={val_accuracy:.4}");
            if bar.is_hidden() {
                let rate = steps.unwrap_or(0) as f64 / start.elapsed().as_secs_f64().max(1e-9);
                println!("epoch {}/{epochs} {rate:.0} steps/s {line}", epoch + 1);
            }
            bar.finish_with_message(line);
            history.loss.push(measure.loss());
            history.accuracy.push(measure.accuracy());
            history.val_loss.push(val_loss);
            history.val_accuracy.push(val_accuracy);
        }
        Ok(history)
    }

    /// Loss and accuracy over all of `batches`.
    pub(crate) fn evaluate(&self, batches: &Batches) -> Result<(f64, f64)> {
        let mut measure = Measure::default();
        for batch in batches.iter()? {
            let (x, y) = batch?;
            let (logits, labels) = self.forward(&x, &y)?;
            let loss = candle_nn::loss::cross_entropy(&logits, &labels)?;
            measure.add(y.as_slice().len(), f64::from(loss.to_scalar::<f32>()?), right(&logits, &labels)?);
        }
        Ok((measure.loss(), measure.accuracy()))
    }

    fn step(&mut self, x: &gristmill::Tensor<f32>, y: &gristmill::Tensor<u32>) -> Result<(f64, u64)> {
        let (logits, labels) = self.forward(x, y)?;
        let loss = candle_nn::loss::cross_entropy(&logits, &labels)?;
        self.optimizer.backward_step(&loss)?;
        Ok((f64::from(loss.to_scalar::<f32>()?), right(&logits, &labels)?))
    }

    fn forward(&self, x: &gristmill::Tensor<f32>, y: &gristmill::Tensor<u32>) -> Result<(Tensor, Tensor)> {
        let rows = y.as_slice().len();
        let columns = x.as_slice().len() / rows.max(1);
        let mut at = (Tensor::from_slice(x.as_slice(), (rows, columns), &Device::Cpu)? * self.scale)?;
        for (i, (weights, bias)) in self.layers.iter().enumerate() {
            at = at.matmul(weights)?.broadcast_add(bias)?;
            if i + 1 < self.layers.len() {
                at = at.relu()?;
            }
        }
        Ok((at, Tensor::from_slice(y.as_slice(), rows, &Device::Cpu)?))
    }
}

fn right(logits: &Tensor, labels: &Tensor) -> Result<u64> {
    let hits = logits.argmax(D::Minus1)?.eq(labels)?.to_dtype(DType::U32)?.sum_all()?;
    Ok(u64::from(hits.to_scalar::<u32>()?))
}

/// A running mean of loss and accuracy.
#[derive(Default)]
struct Measure {
    rows: u64,
    loss: f64,
    right: u64,
}

impl Measure {
    fn add(&mut self, rows: usize, loss: f64, right: u64) {
        self.rows += rows as u64;
        self.loss += loss * rows as f64;
        self.right += right;
    }

    fn loss(&self) -> f64 {
        self.loss / self.rows.max(1) as f64
    }

    fn accuracy(&self) -> f64 {
        self.right as f64 / self.rows.max(1) as f64
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "loss={:.4} accuracy={:.4}", self.loss(), self.accuracy())
    }
}

fn bar(steps: Option<u64>, epoch: u64, epochs: u64) -> Result<ProgressBar> {
    if !std::io::stdout().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = "{prefix} {bar:20} {pos}/{len} {per_sec} {msg}";
    let bar = steps.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.set_style(ProgressStyle::with_template(style)?);
    bar.set_prefix(format!("epoch {}/{epochs}", epoch + 1));
    Ok(bar)
}
