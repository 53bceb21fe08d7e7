//! `repeat`: several epochs as one.

use std::fmt;
use std::sync::Arc;

use crate::dataset::Dataset;
use crate::plumbing::{Order, Resolver};

impl Dataset {
    /// `times` epochs one after the other as a single longer epoch. A shuffle below gives each its own order.
    ///
    /// Batches made from it go across the seams. Costs nothing: positions are the same, only `len` is longer.
    /// (For a stream without end, see [`Stream::repeat_forever`](crate::Stream::repeat_forever).)
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(3)?.repeat(2).order(0, 0, 10)?, [0, 1, 2, 0, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn repeat(&self, times: u64) -> Dataset {
        self.reordered(|inner| Arc::new(RepeatOrder { inner, times }))
    }
}

struct RepeatOrder {
    inner: Arc<dyn Order>,
    times: u64,
}

impl Order for RepeatOrder {
    fn len(&self) -> u64 {
        self.inner.len().saturating_mul(self.times)
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs() / self.times.max(1)
    }

    fn locality(&self) -> Option<u64> {
        self.inner.locality()
    }

    fn varies(&self) -> bool {
        self.inner.varies()
    }

    fn seam(&self) -> Option<u64> {
        (self.times > 1 && !self.inner.is_empty()).then(|| self.inner.seam().unwrap_or(self.inner.len()))
    }

    fn open(&self) -> crate::Result<Resolver> {
        self.inner.open()
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".repeat({})", self.times)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
