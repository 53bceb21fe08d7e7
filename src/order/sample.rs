//! `sample` and `sample_weighted`: rows drawn with replacement, afresh in each epoch.
//!
//! Draws are made a few at a time from a random stream of their own, so that any position is reached in O(1) without
//! starting a stream for every row.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::dataset::Dataset;
use crate::digest;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

/// Draws from one random stream: what it makes at a time.
const DRAWS: u64 = 32;

impl Dataset {
    /// `rows` rows of each epoch, drawn with replacement: each one is any row with equal chance, whatever came
    /// before. Seed and epoch fix the draws. For every row once, there is [`shuffle`](Dataset::shuffle).
    ///
    /// **Order:** drawn, by seed and epoch · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] when rows are asked of a dataset that has none.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let drawn = Dataset::range(10)?.sample(1000, 7)?;
    /// assert_eq!(drawn.len(), 1000);
    /// assert!(drawn.order(3, 0, 1000)?.iter().all(|row| *row < 10));
    /// assert_ne!(drawn.order(0, 0, 1000)?, drawn.order(1, 0, 1000)?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn sample(&self, rows: u64, seed: u64) -> Result<Dataset> {
        if self.is_empty() && rows > 0 {
            return Err(Error::argument("sample", "a dataset with rows", "one without"));
        }
        Ok(self.reordered(|inner| Arc::new(SampleOrder { inner, rows, seed, weights: None })))
    }

    /// `rows` rows of each epoch, drawn with replacement, each with a chance in proportion to its weight. A row of
    /// weight 0 never comes.
    ///
    /// Weights belong to places of the epoch, one for each, so they are refused above a shuffle that changes with the
    /// epoch. A draw is a search in a table of sums, O(log n); chances are exact to 2^-53 of the whole.
    ///
    /// **Order:** drawn, by seed and epoch · **Holds:** 8 bytes for each row there is, shared · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] unless there is one weight for each row, all of them are finite and not below 0, and their
    /// sum is finite and above 0.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let drawn = Dataset::range(3)?.sample_weighted(1000, vec![3.0, 0.0, 1.0], 7)?;
    /// let order = drawn.order(0, 0, 1000)?;
    /// let zeros = order.iter().filter(|row| **row == 0).count();
    /// assert!((700..800).contains(&zeros) && !order.contains(&1));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn sample_weighted(&self, rows: u64, weights: impl Into<Vec<f64>>, seed: u64) -> Result<Dataset> {
        super::settled("sample_weighted", self)?;
        let mut sums = weights.into();
        if sums.len() as u64 != self.len() {
            let expected = format!("one weight for each of {} rows", self.len());
            return Err(Error::argument("sample_weighted", expected, format!("{} weights", sums.len())));
        }
        let mut sum = 0.0;
        for (row, weight) in sums.iter_mut().enumerate() {
            if !(weight.is_finite() && *weight >= 0.0) {
                let found = format!("{weight} for row {row}");
                return Err(Error::argument(
                    "sample_weighted",
                    "weights that are finite and not below 0",
                    found,
                ));
            }
            sum += *weight;
            *weight = sum;
        }
        if !(sum.is_finite() && sum > 0.0) && rows > 0 {
            return Err(Error::argument("sample_weighted", "weights whose sum is finite and above 0", sum));
        }
        let digest = digest::of_list(sums.iter().map(|sum| sum.to_bits()));
        let weights = Some(Arc::new(Weights { sums, digest }));
        Ok(self.reordered(|inner| Arc::new(SampleOrder { inner, rows, seed, weights })))
    }
}

struct SampleOrder {
    inner: Arc<dyn Order>,
    rows: u64,
    seed: u64,
    weights: Option<Arc<Weights>>,
}

struct Weights {
    /// For each row, the sum of the weights up to and with its own.
    sums: Vec<f64>,
    digest: String,
}

impl SampleOrder {
    /// The draws of chunk `chunk` of an epoch.
    fn draw(&self, epoch: u64, chunk: u64) -> [u64; DRAWS as usize] {
        let tag = if self.weights.is_some() { "sample_weighted" } else { "sample" };
        let mut random = RandomStream::new(self.seed, tag, epoch, chunk);
        let mut drawn = [0; DRAWS as usize];
        for row in &mut drawn {
            *row = match &self.weights {
                None => random.below(self.inner.len()),
                Some(weights) => {
                    let sums = &weights.sums;
                    let at = random.uniform() * sums.last().copied().unwrap_or_default();
                    // Rounded, `at` stays below the last sum, and a row of weight 0 ends where the one before it does.
                    sums.partition_point(|sum| *sum <= at) as u64
                }
            };
        }
        drawn
    }
}

impl Order for SampleOrder {
    fn len(&self) -> u64 {
        self.rows
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs().min(u64::MAX / self.rows.max(1))
    }

    fn locality(&self) -> Option<u64> {
        Some(1)
    }

    fn varies(&self) -> bool {
        true
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let below = self.inner.len();
        let mut epochs = Epochs::new(self.rows);
        let this = SampleOrder { inner: self.inner.clone(), weights: self.weights.clone(), ..*self };
        let mut current = None;
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let key = (epoch, place / DRAWS);
                let drawn = match current {
                    Some((of, drawn)) if of == key => drawn,
                    _ => current.insert((key, this.draw(epoch, key.1))).1,
                };
                *position = epoch * below + drawn[(place % DRAWS) as usize];
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        match &self.weights {
            None => write!(out, ".sample({}, {})", self.rows, self.seed),
            Some(weights) => {
                let (n, digest) = (weights.sums.len(), &weights.digest);
                write!(out, ".sample_weighted({}, [{n} weights #{digest}], {})", self.rows, self.seed)
            }
        }
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
