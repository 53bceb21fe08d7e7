//! `padded_batch`: batches of items whose cells differ in shape, padded to one.
//!
//! The first item of an epoch fixes the columns' names, types and numbers of axes; an item that differs is an error at its
//! place. An upstream error passes at once and the batch fills on after it; if it ends the stream, the rows before it
//! come first.

use std::sync::Arc;

use crate::data::{Batch, Collate, Pad, Ragged, Spec};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Collate> Stream<T> {
    /// Batches of `rows` items whose cells may differ in shape, padded as `pad` says; the last one of an epoch has what
    /// remains.
    ///
    /// Every batch is as wide as its longest row needs, so shapes differ from batch to batch unless
    /// [`Pad::axis`] fixes them. No mask is added; [`Pad::lengths`] adds what tells data from filling.
    ///
    /// **Order:** kept · **Holds:** one batch, and the cells of its rows · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`] for an item whose columns are others than those of the first, or that is longer
    /// than a fixed axis; [`Error::Argument`] when `pad` names a column that is not there, or a value of another type.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Pad};
    ///
    /// let rows = Dataset::from_generator(|_| (1..4).map(|n| vec![n; n as usize]));
    /// let batches = rows.padded_batch(2, Pad::longest().value("0", -1i32).lengths("0"));
    /// let first = batches.iter()?.next().expect("a batch")?;
    /// assert_eq!(first.column::<i32>("0")?, [1, -1, 2, 2]);
    /// assert_eq!(first.column::<u64>("0_length")?, [1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn padded_batch(self, rows: usize, pad: Pad) -> Stream<Batch> {
        self.then(|upstream| PaddedBatchStage { upstream, rows, pad, exact: false })
    }

    /// As [`padded_batch`](Stream::padded_batch), but every batch has exactly `rows` items; those that do not fill one at
    /// the end of an epoch are left out.
    ///
    /// **Order:** kept · **Holds:** one batch, and the cells of its rows · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Pad};
    ///
    /// let rows = Dataset::from_generator(|_| (1..6).map(|n| vec![n; n as usize]));
    /// let shapes = rows.padded_batch_exact(2, Pad::longest()).map(|b| b.arrays()[0].shape().to_vec());
    /// assert_eq!(shapes.iter()?.collect::<Result<Vec<_>, _>>()?, [[2, 2], [2, 4]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn padded_batch_exact(self, rows: usize, pad: Pad) -> Stream<Batch> {
        self.then(|upstream| PaddedBatchStage { upstream, rows, pad, exact: true })
    }
}

struct PaddedBatchStage<T> {
    upstream: Upstream<T>,
    rows: usize,
    pad: Pad,
    exact: bool,
}

impl<T> PaddedBatchStage<T> {
    fn verb(&self) -> &'static str {
        if self.exact { "padded_batch_exact" } else { "padded_batch" }
    }
}

impl<T: Collate> Stage for PaddedBatchStage<T> {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let (verb, rows) = (self.verb(), self.rows as u64);
        if rows == 0 {
            return Err(Error::argument(verb, "at least one row", 0));
        }
        let upstream = self.upstream.outline(run)?;
        // Rows of known columns all have these shapes, and nothing but fixed axes can change them.
        let spec = upstream.spec.clone().map(|spec| padded(verb, &self.pad, &spec)).transpose()?;
        let bytes = spec.as_ref().map(|spec| (spec.row_bytes() as u64).saturating_mul(rows));
        let length = upstream.length.map(|n| if self.exact { n / rows } else { n.div_ceil(rows) });
        let call = format!("{verb}({rows}, {})", self.pad);
        Ok(upstream.step(call).uncounted().length(length).columns(spec).sized(bytes).holds(2))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        Ok(Box::new(PaddedBatchPull {
            upstream: self.upstream.open(run)?,
            verb: self.verb(),
            rows: self.rows,
            pad: self.pad.clone(),
            exact: self.exact,
            position: 0,
            filling: Ragged::default(),
            checked: false,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.verb()
    }
}

fn padded(verb: &'static str, pad: &Pad, rows: &Spec) -> Result<Arc<Spec>> {
    pad.fits(verb, rows.columns.iter().map(|c| (c.name.as_str(), c.dtype, c.shape.len())))?;
    pad.spec(rows)
}

struct PaddedBatchPull<T> {
    upstream: Running<T>,
    verb: &'static str,
    rows: usize,
    pad: Pad,
    exact: bool,
    position: u64,
    filling: Ragged,
    /// Whether the padding was compared with the columns.
    checked: bool,
    broken: Option<Error>,
}

impl<T: Collate> PaddedBatchPull<T> {
    /// Adds the next item; false when the upstream has ended.
    fn fill(&mut self) -> Result<bool> {
        let position = self.position;
        self.position += 1;
        let Some(item) = self.upstream.pull()? else { return Ok(false) };
        self.filling.push((self.verb, position), &item, |cell| self.pad.check(cell))?;
        if !self.checked {
            self.pad.fits(self.verb, self.filling.columns())?;
            self.checked = true;
        }
        Ok(true)
    }

    fn finish(&mut self) -> Result<Option<Batch>> {
        let rows = self.filling.rows();
        if rows == 0 || (self.exact && rows < self.rows) {
            return Ok(None);
        }
        let batch = self.filling.padded(&self.pad);
        self.filling.clear();
        batch.map(Some)
    }
}

impl<T: Collate> Pull for PaddedBatchPull<T> {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
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
                Err(error) if error.is_fatal() && self.checked => match self.finish()? {
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
