//! `unbatch` and `rows`: single rows out of batches, sharing the batches' memory.

use crate::data::{Batch, Length, Row};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream, pull_past};
use crate::stream::Stream;

/// Rows that `Dataset::rows` gathers at a time.
const GATHERED: usize = 256;

impl Dataset {
    /// The rows one by one, for code that works on single rows; gathered many at a time. A source of your own whose gather
    /// fails for an item fails for all rows that were gathered with it, as one error.
    ///
    /// **Order:** kept · **Holds:** a few hundred rows · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let last = Dataset::range(1000)?.rows().iter()?.last().expect("a row")?;
    /// assert_eq!(last.value::<u64>("0")?, 999);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn rows(&self) -> Stream<Row> {
        let known = Some((self.len(), GATHERED as u64));
        self.batch(GATHERED).then(|upstream| UnbatchStage { upstream, known })
    }
}

impl Stream<Batch> {
    /// The rows of the batches one by one, without copying.
    ///
    /// **Order:** kept · **Holds:** one batch · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// assert_eq!(Dataset::range(10)?.batch(4).unbatch().iter()?.count(), 10);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn unbatch(self) -> Stream<Row> {
        self.then(|upstream| UnbatchStage { upstream, known: None })
    }
}

struct UnbatchStage {
    upstream: Upstream<Batch>,
    /// Number of rows, and rows of every batch but the last, where they are known.
    known: Option<(u64, u64)>,
}

impl Stage for UnbatchStage {
    type Item = Row;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = match (self.known, upstream.length) {
            (Some((rows, _)), _) => Length::Exact(rows),
            (None, Length::Exact(0)) => Length::Exact(0),
            (None, Length::Infinite) => Length::Infinite,
            (None, _) => Length::Unknown,
        };
        let bytes = upstream.spec.as_ref().map(|spec| spec.row_bytes() as u64);
        Ok(upstream.step("unbatch()").length(length).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<Row>> {
        let upstream = self.upstream.open(run)?;
        Ok(Box::new(UnbatchPull { upstream, known: self.known, batch: None, next: 0 }))
    }

    fn label(&self) -> &'static str {
        "unbatch"
    }
}

struct UnbatchPull {
    upstream: Running<Batch>,
    /// Rows in batches still to be pulled, and rows of each, where they are known.
    known: Option<(u64, u64)>,
    batch: Option<Batch>,
    next: usize,
}

impl Pull for UnbatchPull {
    type Item = Row;

    fn pull(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.batch.as_ref().and_then(|batch| batch.row(self.next)) {
                self.next += 1;
                return Ok(Some(row));
            }
            self.batch = None;
            let pulled = self.upstream.pull();
            if let (Err(_), Some((left, each))) = (&pulled, &mut self.known) {
                *left = left.saturating_sub(*each);
            }
            let Some(batch) = pulled? else { return Ok(None) };
            if let Some((left, _)) = &mut self.known {
                *left = left.saturating_sub(batch.rows() as u64);
            }
            (self.batch, self.next) = (Some(batch), 0);
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let held = self.batch.as_ref().map_or(0, |batch| batch.rows() - self.next) as u64;
        let from_held = n.min(held);
        self.next += from_held as usize;
        let mut passed = from_held;
        if let Some((left, each)) = &mut self.known
            && n > passed
        {
            self.batch = None;
            let batches = self.upstream.skip((n - passed) / *each)?;
            let rows = (batches * *each).min(*left);
            *left -= rows;
            passed += rows;
        }
        Ok(passed + pull_past(self, n - passed)?)
    }
}
