//! `ragged_batch`: batches of items of different lengths, without padding.
//!
//! The first item of an epoch fixes the columns' names, types and numbers of axes, the first item of a batch the axes after
//! the first; an item that differs is an error at its place. An upstream error passes at once and the batch fills on after
//! it; if it ends the stream, the rows before it come first.

use crate::data::{CellRef, Collate, Ragged, RaggedBatch};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Collate> Stream<T> {
    /// Batches of `rows` items whose cells may differ along their first axis: the values end to end, and the offsets at
    /// which rows start. The last batch of an epoch has what remains.
    ///
    /// **Order:** kept · **Holds:** one batch, and the cells of its rows · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`] for an item whose columns are others than those of the first, or whose further
    /// axes differ from those of its batch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let rows = Dataset::from_generator(|_| (0..3u8).map(|n| (0..n).collect::<Vec<u8>>()));
    /// let batch = rows.ragged_batch(3).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.values("0")?.elements::<u8>()?, [0, 0, 1]);
    /// assert_eq!(batch.offsets("0")?, [0, 0, 1, 3]);
    /// assert_eq!(batch.row::<u8>("0", 2)?, [0, 1]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn ragged_batch(self, rows: usize) -> Stream<RaggedBatch> {
        self.then(|upstream| RaggedBatchStage { upstream, rows, exact: false })
    }

    /// As [`ragged_batch`](Stream::ragged_batch), but every batch has exactly `rows` items; those that do not fill one at
    /// the end of an epoch are left out.
    ///
    /// **Order:** kept · **Holds:** one batch, and the cells of its rows · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let rows = Dataset::from_generator(|_| (0..5u8).map(|n| vec![n; n.into()]));
    /// assert_eq!(rows.ragged_batch_exact(2).iter()?.count(), 2);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn ragged_batch_exact(self, rows: usize) -> Stream<RaggedBatch> {
        self.then(|upstream| RaggedBatchStage { upstream, rows, exact: true })
    }
}

struct RaggedBatchStage<T> {
    upstream: Upstream<T>,
    rows: usize,
    exact: bool,
}

impl<T> RaggedBatchStage<T> {
    fn verb(&self) -> &'static str {
        if self.exact { "ragged_batch_exact" } else { "ragged_batch" }
    }
}

impl<T: Collate> Stage for RaggedBatchStage<T> {
    type Item = RaggedBatch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let rows = self.rows as u64;
        if rows == 0 {
            return Err(Error::argument(self.verb(), "at least one row", 0));
        }
        let upstream = self.upstream.outline(run)?;
        let bytes = upstream.item_bytes.map(|item| item.saturating_mul(rows));
        let length = upstream.length.map(|n| if self.exact { n / rows } else { n.div_ceil(rows) });
        let call = format!("{}({rows})", self.verb());
        Ok(upstream.step(call).uncounted().length(length).columns(None).sized(bytes).holds(2))
    }

    fn open(&self, run: &Run) -> Result<Running<RaggedBatch>> {
        Ok(Box::new(RaggedBatchPull {
            upstream: self.upstream.open(run)?,
            verb: self.verb(),
            rows: self.rows,
            exact: self.exact,
            position: 0,
            filling: Ragged::default(),
            inner: Vec::new(),
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.verb()
    }
}

struct RaggedBatchPull<T> {
    upstream: Running<T>,
    verb: &'static str,
    rows: usize,
    exact: bool,
    position: u64,
    filling: Ragged,
    /// The axes after the first of each column, in the batch being filled.
    inner: Vec<Vec<usize>>,
    broken: Option<Error>,
}

impl<T: Collate> RaggedBatchPull<T> {
    /// Adds the next item; false when the upstream has ended.
    fn fill(&mut self) -> Result<bool> {
        let position = self.position;
        self.position += 1;
        let Some(item) = self.upstream.pull()? else { return Ok(false) };
        let (filling, inner) = (&mut self.filling, &mut self.inner);
        let first = filling.rows() == 0;
        if first {
            inner.clear();
        }
        let mut at = 0;
        let check = |cell: &CellRef<'_>| {
            let axes = cell.shape.get(1..).unwrap_or(&[]);
            if first {
                inner.push(axes.to_vec());
            }
            at += 1;
            match inner.get(at - 1) {
                Some(expected) if expected != axes => {
                    let expected = format!("{} {} of rows {expected:?}", cell.name, cell.dtype);
                    Err(Error::spec("item", expected, format!("{axes:?}")))
                }
                _ => Ok(()),
            }
        };
        filling.push((self.verb, position), &item, check)?;
        Ok(true)
    }

    fn finish(&mut self) -> Result<Option<RaggedBatch>> {
        let rows = self.filling.rows();
        if rows == 0 || (self.exact && rows < self.rows) {
            return Ok(None);
        }
        let batch = self.filling.ragged();
        self.filling.clear();
        batch.map(Some)
    }
}

impl<T: Collate> Pull for RaggedBatchPull<T> {
    type Item = RaggedBatch;

    fn pull(&mut self) -> Result<Option<RaggedBatch>> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        while self.filling.rows() < self.rows {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => {
                    let last = self.finish();
                    self.filling.clear();
                    return last;
                }
                Err(error) if error.is_fatal() => match self.finish()? {
                    Some(batch) => {
                        self.broken = Some(error);
                        return Ok(Some(batch));
                    }
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        self.finish()
    }
}
