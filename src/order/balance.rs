//! `balance`: every class equally often.
//!
//! One pass reads the labels and lists the places of each class. An epoch is made of rounds; a round holds each class
//! once, in an order of its own. The rows of a class come in permuted passes, so that none comes a second time before
//! all of its class came once. All of it is arithmetic on permutations: nothing but the list is held.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Epochs;
use super::permutation::{Permutation, Recent};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

/// How often each class comes. Each epoch has its own choice and order of rows, fixed by the seed and the epoch's
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Balance {
    kind: Kind,
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Kind {
    Over,
    Under,
}

impl Balance {
    /// As often as the most frequent class: every row comes, rows of rare classes several times.
    pub fn over(seed: u64) -> Balance {
        Balance { kind: Kind::Over, seed }
    }

    /// As often as the rarest class: no row comes twice in an epoch, and frequent classes show other rows in each
    /// epoch.
    pub fn under(seed: u64) -> Balance {
        Balance { kind: Kind::Under, seed }
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.kind == Kind::Over { "over" } else { "under" };
        write!(f, "{verb}({})", self.seed)
    }
}

impl Dataset {
    /// Rows in which each class of the column `label` comes equally often, shuffled as they are. Reads that column
    /// once, now.
    ///
    /// Any `c` rows in a row, from a multiple of `c` on, hold each of the `c` classes once, so batches are balanced
    /// too. A class is a value of the column, whatever its type and shape: its bytes are compared. The rows of a
    /// class come in a new random order in each epoch, and again in another one when they have all come.
    ///
    /// **Order:** drawn, by seed and epoch · **Holds:** 8 bytes a row, shared, and up to 4 more for each iterator ·
    /// **Threads:** during the pass
    ///
    /// # Errors
    /// [`Error::Spec`] when there is no such column; [`Error::Argument`] above a shuffle that changes with the epoch;
    /// those of reading.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Balance, Dataset};
    ///
    /// let rows = Dataset::from_slices((("x", vec![0u8, 1, 2, 3]), ("y", vec![7i64, 7, 7, 9])))?;
    /// let balanced = rows.balance("y", Balance::over(1))?;
    /// let labels = balanced.batch(6).iter()?.next().expect("a batch")?.column::<i64>("y")?.to_vec();
    /// assert_eq!(labels.iter().filter(|y| **y == 9).count(), 3);
    /// assert_eq!(rows.balance("y", Balance::under(1))?.len(), 2);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn balance(&self, label: &str, how: Balance) -> Result<Dataset> {
        super::settled("balance", self)?;
        let classes = Arc::new(Classes::read(self, label)?);
        let sizes = || classes.ranges.iter().map(|(from, to)| (to - from) as u64);
        let each = if how.kind == Kind::Over { sizes().max() } else { sizes().min() };
        let Some(len) = each.unwrap_or(0).checked_mul(classes.ranges.len() as u64) else {
            return Err(Error::argument("balance", "an epoch of at most 2^64 rows", "a longer one"));
        };
        let label = label.to_owned();
        Ok(self.reordered(|inner| Arc::new(BalanceOrder { inner, classes, label, how, len })))
    }
}

/// The places of each class.
struct Classes {
    /// Places, class after class, in the order in which the classes were met.
    places: Vec<u64>,
    ranges: Vec<(usize, usize)>,
}

impl Classes {
    fn read(dataset: &Dataset, label: &str) -> Result<Classes> {
        let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut class_of: Vec<u32> = super::list_of(dataset.len())?;
        let cell = dataset.spec().columns[dataset.spec().position(label)?].row_bytes();
        let rows = super::rows_at_once(dataset, &[label.to_owned()])?;
        for batch in dataset.batch(rows).select([label]).iter()? {
            let batch = batch?;
            let bytes = batch.array(label)?.bytes();
            for row in 0..batch.rows() {
                let value = &bytes[row * cell..(row + 1) * cell];
                let class = match numbers.get(value) {
                    Some(class) => *class,
                    None => {
                        let class = u32::try_from(counts.len()).map_err(|_| {
                            Error::argument("balance", "fewer than 2^32 classes", format!("column {label:?}"))
                        })?;
                        numbers.insert(value.into(), class);
                        counts.push(0);
                        class
                    }
                };
                counts[class as usize] += 1;
                class_of.push(class);
            }
        }
        let mut places: Vec<u64> = super::list_of(dataset.len())?;
        places.resize(class_of.len(), 0);
        let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(counts.len());
        for count in counts {
            let from = ranges.last().map_or(0, |(_, to)| *to);
            ranges.push((from, from + count));
        }
        let mut next: Vec<usize> = ranges.iter().map(|(from, _)| *from).collect();
        for (place, class) in class_of.into_iter().enumerate() {
            places[next[class as usize]] = place as u64;
            next[class as usize] += 1;
        }
        Ok(Classes { places, ranges })
    }
}

struct BalanceOrder {
    inner: Arc<dyn Order>,
    classes: Arc<Classes>,
    label: String,
    how: Balance,
    len: u64,
}

impl Order for BalanceOrder {
    fn len(&self) -> u64 {
        self.len
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs().min(u64::MAX / self.len.max(1))
    }

    fn locality(&self) -> Option<u64> {
        Some(1)
    }

    fn varies(&self) -> bool {
        true
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let (below, seed, classes) = (self.inner.len(), self.how.seed, self.classes.clone());
        let count = classes.ranges.len() as u64;
        let mut epochs = Epochs::new(self.len);
        let mut rounds = Recent::new();
        // The pass of each class that is under way, by epoch and number.
        let mut passes: Vec<Option<((u64, u64), Permutation)>> =
            classes.ranges.iter().map(|_| None).collect();
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let (round, turn) = (place / count, place % count);
                let deal = || Permutation::new(count, RandomStream::new(seed, "balance round", epoch, round));
                let class = rounds.get((epoch, round), deal).at(turn) as usize;
                let (from, to) = classes.ranges[class];
                let size = (to - from) as u64;
                let key = (epoch, round / size);
                let pass = match &mut passes[class] {
                    Some((of, pass)) if *of == key => pass,
                    slot => {
                        // A class and a pass name the stream: classes never make up more than all rows.
                        let name = class as u64 + key.1 * count;
                        let random = RandomStream::new(seed, "balance", epoch, name);
                        &mut slot.insert((key, Permutation::new(size, random))).1
                    }
                };
                *position = epoch * below + classes.places[from + pass.at(round % size) as usize];
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".balance({:?}, {})", self.label, self.how)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
