//! `split`: two datasets without a common row, by index.
//!
//! Rows are dealt stratum by stratum: of each 64 neighbouring rows, the right share, picked at random, goes to the second
//! part. Both parts keep the file's order, so a block shuffle over them still reads whole blocks, and a file sorted by
//! class is shared out class by class. Which row stands at a position is arithmetic; nothing is stored.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

/// Rows of a stratum: as many as a machine word has bits.
const STRATUM: u64 = 64;

impl Dataset {
    /// Two datasets that share the rows out: the first gets `ratio` of them (rounded to whole rows), the second the rest. Which rows
    /// go where depends on the seed alone, so the parts are disjoint in every epoch and every process, whatever is shuffled later.
    ///
    /// The choice is random within each 64 neighbouring rows; both parts keep the order of this dataset. After a shuffle that changes
    /// with the epoch the parts would be disjoint places but other rows each time: that is refused by nobody, so split first.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] unless `ratio` is between 0 and 1.
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let (train, valid) = Dataset::range(1000)?.split(0.9, 7)?;
    /// assert_eq!((train.len(), valid.len()), (900, 100));
    /// let mut rows = [train.order(0, 0, 900)?, valid.order(0, 0, 100)?].concat();
    /// rows.sort();
    /// assert_eq!(rows, (0..1000).collect::<Vec<u64>>());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn split(&self, ratio: f64, seed: u64) -> Result<(Dataset, Dataset)> {
        if !(0.0..=1.0).contains(&ratio) {
            return Err(Error::argument("split", "a ratio from 0 to 1", ratio));
        }
        let rows = self.len();
        // Rounded, and exact up to 2^53 rows; beyond, off by less than one row in 2^53.
        let first = ((rows as f64 * ratio).round() as u64).min(rows);
        let key = RandomStream::new(seed, "split", 0, 0).next_u64();
        let parts = Parts { rows, second: rows - first, key };
        let part = |number: u8| {
            let call = format!("split({ratio}, {seed}).{number}");
            self.reordered(|inner| Arc::new(SplitOrder { inner, parts, number, call }))
        };
        Ok((part(0), part(1)))
    }
}

#[derive(Clone, Copy)]
struct Parts {
    rows: u64,
    second: u64,
    key: u64,
}

impl Parts {
    fn len(&self, number: u8) -> u64 {
        if number == 0 { self.rows - self.second } else { self.second }
    }

    /// Rows of part `number` among the first `rows` rows.
    fn before(&self, number: u8, rows: u64) -> u64 {
        let second = (u128::from(rows) * u128::from(self.second) / u128::from(self.rows)) as u64;
        if number == 0 { rows - second } else { second }
    }

    /// The stratum in which position `place` of part `number` lies: the first whose end has more than `place` of the part's rows.
    fn stratum(&self, number: u8, place: u64) -> u64 {
        let (rows, len) = (u128::from(self.rows), u128::from(self.len(number)));
        let scaled = u128::from(place) * rows;
        let needed = match number {
            0 => scaled / len + 1,
            _ => (scaled + rows).div_ceil(len),
        };
        ((needed - 1) / u128::from(STRATUM)) as u64
    }

    /// The rows of stratum `number` that go to the second part, as bits.
    fn picked(&self, stratum: u64) -> u64 {
        let start = stratum * STRATUM;
        let end = start.saturating_add(STRATUM).min(self.rows);
        let (width, wanted) = (end - start, self.before(1, end) - self.before(1, start));
        // Picking the fewer of the two kinds keeps the number of draws low.
        let invert = wanted * 2 > width;
        let draws = if invert { width - wanted } else { wanted };
        // A shuffle above may ask for another stratum with every row, so a draw is one hash of a counter.
        let mut bits = 0u64;
        let mut counter = self.key ^ stratum.wrapping_mul(0xd6e8_feb8_6659_fd93);
        while u64::from(bits.count_ones()) < draws {
            counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (counter ^ (counter >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            bits |= 1 << ((u128::from(mixed) * u128::from(width)) >> 64);
        }
        let all = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        if invert { !bits & all } else { bits }
    }
}

struct SplitOrder {
    inner: Arc<dyn Order>,
    parts: Parts,
    number: u8,
    call: String,
}

impl Order for SplitOrder {
    fn len(&self) -> u64 {
        self.parts.len(self.number)
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        self.inner.locality()
    }

    fn varies(&self) -> bool {
        self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let mut epochs = Epochs::new(self.len());
        let (parts, number) = (self.parts, self.number);
        let mut kept = Stratum { number: u64::MAX, first: 0, bits: 0 };
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let stratum = parts.stratum(number, place);
                if kept.number != stratum {
                    kept = Stratum::new(&parts, number, stratum);
                }
                *position = epoch * parts.rows + kept.row(place);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".{}", self.call)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        let mut notes = self.inner.notes(row_bytes);
        if self.inner.varies() {
            notes.push(format!(
                "{} shares out other rows in each epoch, since the order below it changes: a row of one part is in the \
                 other part later; split before the shuffle",
                self.call
            ));
        }
        notes
    }
}

/// One stratum of one part: its rows as bits, and the part's position of the first.
struct Stratum {
    number: u64,
    first: u64,
    bits: u64,
}

impl Stratum {
    fn new(parts: &Parts, part: u8, number: u64) -> Stratum {
        let picked = parts.picked(number);
        let bits = if part == 1 { picked } else { !picked };
        Stratum { number, first: parts.before(part, number * STRATUM), bits }
    }

    fn row(&self, place: u64) -> u64 {
        let mut bits = self.bits;
        for _ in self.first..place {
            bits &= bits - 1;
        }
        self.number * STRATUM + u64::from(bits.trailing_zeros())
    }
}
