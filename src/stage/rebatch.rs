//! `rebatch` and `rebatch_exact`: the same rows in batches of other sizes.
//!
//! A batch that lies within one of the upstream's shares its memory; one that joins several is a copy. The first batch of an epoch
//! fixes the columns; one that differs is an error at its place and the others go on. An upstream error passes at once, the batch
//! being filled goes on filling after it; if it ends the stream, the rows before it come first.

use std::sync::Arc;

use crate::data::{Batch, Length, Spec};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// Rows of batches: one number for all of them, or a list that is gone through again and again.
#[derive(Debug, Clone)]
pub struct Sizes(Arc<[usize]>);

impl From<usize> for Sizes {
    fn from(rows: usize) -> Sizes {
        Sizes([rows].into())
    }
}

impl<const N: usize> From<[usize; N]> for Sizes {
    fn from(rows: [usize; N]) -> Sizes {
        Sizes(rows.into())
    }
}

impl From<Vec<usize>> for Sizes {
    fn from(rows: Vec<usize>) -> Sizes {
        Sizes(rows.into())
    }
}

impl From<&[usize]> for Sizes {
    fn from(rows: &[usize]) -> Sizes {
        Sizes(rows.into())
    }
}

impl Stream<Batch> {
    /// The rows of the batches in batches of other `sizes`: a number, or a list that is gone through again and again. The last batch
    /// of an epoch has what remains.
    ///
    /// **Order:** kept · **Holds:** the batches that one batch is made of · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty list and for a size of 0. While iterating, [`Error::Item`] for a batch whose columns differ
    /// from those of the first.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let rows = |sizes: gristmill::Stream<_>| sizes.iter()?.map(|b| b.map(|b: gristmill::Batch| b.rows())).collect();
    /// let batches = Dataset::range(10)?.batch(4);
    /// let sizes: gristmill::Result<Vec<usize>> = rows(batches.clone().rebatch(6));
    /// assert_eq!(sizes?, [6, 4]);
    /// let sizes: gristmill::Result<Vec<usize>> = rows(batches.rebatch([3, 1]));
    /// assert_eq!(sizes?, [3, 1, 3, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn rebatch(self, sizes: impl Into<Sizes>) -> Stream<Batch> {
        self.resized("rebatch", sizes.into())
    }

    /// As [`rebatch`](Stream::rebatch); rows that do not fill the last batch of an epoch are left out.
    ///
    /// **Order:** kept · **Holds:** the batches that one batch is made of · **Threads:** none
    ///
    /// # Errors
    /// As [`rebatch`](Stream::rebatch).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// assert_eq!(Dataset::range(10)?.batch(4).rebatch_exact(6).iter()?.count(), 1);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn rebatch_exact(self, sizes: impl Into<Sizes>) -> Stream<Batch> {
        self.resized("rebatch_exact", sizes.into())
    }

    fn resized(self, label: &'static str, sizes: Sizes) -> Stream<Batch> {
        self.then(|upstream| RebatchStage { upstream, label, sizes })
    }
}

struct RebatchStage {
    upstream: Upstream<Batch>,
    label: &'static str,
    sizes: Sizes,
}

impl Stage for RebatchStage {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let found = match &*self.sizes.0 {
            [one] => one.to_string(),
            list => format!("{list:?}"),
        };
        if self.sizes.0.is_empty() || self.sizes.0.contains(&0) {
            return Err(Error::argument(self.label, "batches of at least one row", found));
        }
        let upstream = self.upstream.outline(run)?;
        let length = match upstream.length {
            Length::Exact(1..) => Length::Unknown,
            other => other,
        };
        let most = self.sizes.0.iter().copied().max().unwrap_or(0) as u64;
        let all = upstream
            .item_bytes
            .zip(upstream.length.exact())
            .map(|(bytes, batches)| bytes.saturating_mul(batches));
        let bytes = upstream.spec.as_ref().map(|spec| (spec.row_bytes() as u64).saturating_mul(most));
        let bytes = bytes.map(|bytes| bytes.min(all.unwrap_or(u64::MAX)));
        // The batch being made, and as many rows in the batches it is made of.
        Ok(upstream.step(format!("{}({found})", self.label)).uncounted().length(length).sized(bytes).holds(2))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        Ok(Box::new(RebatchPull {
            upstream: Some(self.upstream.open(run)?),
            label: self.label,
            sizes: self.sizes.clone(),
            turn: 0,
            position: 0,
            spec: None,
            parts: Vec::new(),
            rows: 0,
            rest: None,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct RebatchPull {
    /// Gone when it has ended.
    upstream: Option<Running<Batch>>,
    label: &'static str,
    sizes: Sizes,
    /// Which of the sizes is next.
    turn: usize,
    /// The number of the upstream's next batch.
    position: u64,
    /// The columns, fixed by the first batch.
    spec: Option<Arc<Spec>>,
    /// What the next batch is made of, and the rows in that.
    parts: Vec<Batch>,
    rows: usize,
    /// Rows of the upstream's last batch that nobody has taken.
    rest: Option<Batch>,
    broken: Option<Error>,
}

impl RebatchPull {
    /// Collects the parts of the next batch; false when there is none.
    fn collect(&mut self) -> Result<bool> {
        let size = self.sizes.0[self.turn];
        while self.rows < size {
            let Some(batch) = self.next()? else { break };
            if batch.rows() == 0 {
                continue;
            }
            let taken = (size - self.rows).min(batch.rows());
            if taken < batch.rows() {
                self.rest = Some(batch.slice(taken, batch.rows()));
            }
            let bytes = (2 * self.parts.len() * size_of::<Batch>()) as u64;
            self.parts.try_reserve(1).map_err(|_| Error::no_memory("the parts of a batch", bytes))?;
            self.parts.push(batch.slice(0, taken));
            self.rows += taken;
        }
        if self.rows == 0 || self.rows < size && self.label == "rebatch_exact" {
            self.parts.clear();
            self.rows = 0;
            return self.broken.take().map_or(Ok(false), Err);
        }
        self.turn = (self.turn + 1) % self.sizes.0.len();
        self.rows = 0;
        Ok(true)
    }

    /// The rows that come next, while there are any.
    fn next(&mut self) -> Result<Option<Batch>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        let position = self.position;
        self.position += 1;
        let batch = match upstream.pull() {
            Ok(Some(batch)) => batch,
            Err(error) if !error.is_fatal() => return Err(error),
            other => {
                self.broken = other.err();
                self.upstream = None;
                return Ok(None);
            }
        };
        let spec = self.spec.get_or_insert_with(|| batch.spec().clone());
        if spec != batch.spec() {
            let (expected, found) = (spec.to_string(), batch.spec().to_string());
            return Err(Error::Item { stage: self.label, position, expected, found });
        }
        Ok(Some(batch))
    }
}

/// One batch of all these rows.
fn joined(mut parts: Vec<Batch>) -> Result<Option<Batch>> {
    if parts.len() < 2 {
        return Ok(parts.pop());
    }
    let mut whole = Batch::zeroed(parts[0].spec(), parts.iter().map(Batch::rows).sum())?;
    for (column, mut slot) in whole.slots()?.into_iter().enumerate() {
        let mut to = slot.bytes();
        for part in &parts {
            let from = part.arrays()[column].bytes();
            let (head, tail) = to.split_at_mut(from.len());
            head.copy_from_slice(from);
            to = tail;
        }
    }
    Ok(Some(whole))
}

impl Pull for RebatchPull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        match self.collect()? {
            true => joined(std::mem::take(&mut self.parts)),
            false => Ok(None),
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        for done in 0..n {
            match self.collect() {
                Ok(true) => self.parts.clear(),
                Ok(false) => return Ok(done),
                Err(error) if error.is_fatal() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(n)
    }
}
