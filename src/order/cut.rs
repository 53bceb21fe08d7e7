//! `take`, `skip`, `shard` and `reverse`: evenly spaced places of each epoch.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};

impl Dataset {
    /// The first `rows` rows of each epoch, or all if there are fewer.
    ///
    /// After a shuffle that changes with the epoch, these are other rows in each epoch; to cut a
    /// dataset in two for good, use [`split`](Dataset::split), or take before the shuffle.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(10)?.take(3).order(0, 0, 10)?, [0, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn take(&self, rows: u64) -> Dataset {
        let call = format!("take({rows})");
        self.cut(call, 0, 1, self.len().min(rows))
    }

    /// All rows of each epoch but the first `rows`.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(10)?.skip(7).order(0, 0, 10)?, [7, 8, 9]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn skip(&self, rows: u64) -> Dataset {
        let start = self.len().min(rows);
        self.cut(format!("skip({rows})"), start, 1, self.len() - start)
    }

    /// Every `count`-th row of each epoch, from row `index` on: what worker `index` of `count` reads.
    ///
    /// The `count` shards of one dataset share its rows out exactly, also after a shuffle. Their lengths differ by at most one.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] unless `index < count`.
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(10)?.shard(3, 1)?.order(0, 0, 10)?, [1, 4, 7]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn shard(&self, count: u64, index: u64) -> Result<Dataset> {
        if index >= count {
            let found = format!("shard({count}, {index})");
            return Err(Error::argument("shard", "an index below the number of shards", found));
        }
        let rows = self.len().saturating_sub(index).div_ceil(count);
        Ok(self.cut(format!("shard({count}, {index})"), index, count, rows))
    }

    /// The rows of each epoch, last first.
    ///
    /// **Order:** reversed · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(4)?.reverse().order(0, 0, 10)?, [3, 2, 1, 0]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn reverse(&self) -> Dataset {
        // A step of u64::MAX goes back by one, in wrapping arithmetic.
        self.cut("reverse()".into(), self.len().saturating_sub(1), u64::MAX, self.len())
    }

    fn cut(&self, call: String, start: u64, step: u64, len: u64) -> Dataset {
        self.reordered(|inner| Arc::new(CutOrder { inner, call, start, step, len }))
    }
}

struct CutOrder {
    inner: Arc<dyn Order>,
    call: String,
    start: u64,
    step: u64,
    len: u64,
}

impl Order for CutOrder {
    fn len(&self) -> u64 {
        self.len
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

    fn seam(&self) -> Option<u64> {
        // A skip moves the seams, a shard thins them out: not followed.
        self.inner.seam().filter(|_| self.start == 0 && self.step == 1)
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let mut epochs = Epochs::new(self.len);
        let (start, step, below) = (self.start, self.step, self.inner.len());
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                *position = epoch * below + start.wrapping_add(place.wrapping_mul(step));
            }
            inner.resolve(at);
        }))
    }

    fn first_of_run(&self) -> Option<u64> {
        // A step makes no difference where there is nothing to step over.
        let first = self.inner.first_of_run().filter(|_| self.step == 1 || self.len <= 1)?;
        first.checked_add(self.start)
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".{}", self.call)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        let mut notes = self.inner.notes(row_bytes);
        // A take or a skip that leaves rows out.
        if self.step == 1 && self.len < self.inner.len() && self.inner.varies() {
            notes.push(format!(
                "{} leaves out other rows in each epoch, since the order below it changes; cut before the shuffle, \
                 use split, or make the shuffle fixed()",
                self.call
            ));
        }
        notes
    }
}
