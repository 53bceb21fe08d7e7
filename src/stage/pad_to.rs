//! `pad_to`: as many batches, or rows, as were asked for, the missing ones zeros under a mask.
//!
//! Added items have the form of the first one of the epoch, or the known columns where there is none. Upstream errors keep
//! their places and count as items.

use std::sync::Arc;

use crate::data::{Batch, DType, Length, Row, Spec, masked};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// The column that tells data from filling, as in `batch_masked`.
const MASK: &str = "mask";

impl Stream<Batch> {
    /// These batches, and batches of zeros after them until there are `batches` in an epoch: the same number of steps for
    /// every worker, and no row left out. A bool column `mask` says which rows are real.
    ///
    /// Added batches have as many rows as the first one. A mask that is there already
    /// ([`batch_masked`](Stream::batch_masked)) stays as it is in the batches that have it.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Argument`] unless the length of the stream is known and not greater; or when there is no
    /// batch at all to take the form from.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batches = Dataset::range(4)?.batch(2).pad_to(3);
    /// let last = batches.iter()?.last().expect("three batches")?;
    /// assert_eq!(last.column::<u64>("0")?, [0, 0]);
    /// assert_eq!(last.column::<bool>("mask")?, [false, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn pad_to(self, batches: u64) -> Stream<Batch> {
        self.then(|upstream| PadToStage { upstream, count: batches })
    }
}

impl Stream<Row> {
    /// These rows, and rows of zeros after them until there are `rows` in an epoch. A bool column `mask` says which rows
    /// are real.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Argument`] unless the length of the stream is known and not greater.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batch = Dataset::range(2)?.rows().pad_to(3).batch(3).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.column::<bool>("mask")?, [true, true, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn pad_to(self, rows: u64) -> Stream<Row> {
        self.then(|upstream| PadToStage { upstream, count: rows })
    }
}

/// An item that can be marked as real, and of whose form there can be one of zeros.
trait Padded: Sized + Send + 'static {
    fn batch(&self) -> &Batch;

    /// The item that `batch` holds.
    fn of(batch: Batch) -> Result<Self>;

    /// Rows of an item where none has come, if that is known.
    const ROWS: Option<usize>;
}

impl Padded for Batch {
    const ROWS: Option<usize> = None;

    fn batch(&self) -> &Batch {
        self
    }

    fn of(batch: Batch) -> Result<Batch> {
        Ok(batch)
    }
}

impl Padded for Row {
    const ROWS: Option<usize> = Some(1);

    fn batch(&self) -> &Batch {
        Row::batch(self)
    }

    fn of(batch: Batch) -> Result<Row> {
        batch.row(0).ok_or_else(|| Error::spec("pad_to", "a row", "none"))
    }
}

/// `spec` with a mask, its own or one more column.
fn marked(spec: &Arc<Spec>) -> Result<Arc<Spec>> {
    match spec.columns.iter().find(|column| column.name == MASK) {
        Some(own) if own.dtype == DType::Bool && own.shape.is_empty() => Ok(spec.clone()),
        _ => masked(spec),
    }
}

struct PadToStage<T> {
    upstream: Upstream<T>,
    count: u64,
}

impl<T: Padded> Stage for PadToStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let spec = upstream.spec.as_ref().map(marked).transpose()?;
        match upstream.length {
            Length::Exact(0) if self.count > 0 && (T::ROWS.is_none() || spec.is_none()) => {
                return Err(Error::argument("pad_to", "an item to take the form of the others from", "none"));
            }
            Length::Exact(n) if n <= self.count => {}
            other => {
                let expected = format!("a stream of known length, at most {}", self.count);
                return Err(Error::argument("pad_to", expected, other));
            }
        }
        let bytes = upstream.item_bytes.zip(upstream.spec.as_ref()).zip(spec.as_ref());
        let bytes = bytes.map(|((bytes, before), after)| {
            (bytes / before.row_bytes().max(1) as u64).saturating_mul(after.row_bytes() as u64)
        });
        let call = format!("pad_to({})", self.count);
        Ok(upstream.step(call).length(Length::Exact(self.count)).columns(spec).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let spec = self.outline(run)?.spec;
        Ok(Box::new(PadToPull {
            upstream: self.upstream.open(run)?,
            count: self.count,
            position: 0,
            ended: false,
            form: spec.zip(T::ROWS),
        }))
    }

    fn label(&self) -> &'static str {
        "pad_to"
    }
}

struct PadToPull<T> {
    upstream: Running<T>,
    count: u64,
    position: u64,
    ended: bool,
    /// Columns and rows of an item, once known.
    form: Option<(Arc<Spec>, usize)>,
}

impl<T: Padded> PadToPull<T> {
    fn mark(&mut self, item: T) -> Result<T> {
        let batch = item.batch();
        let spec = marked(batch.spec())?;
        self.form.get_or_insert_with(|| (spec.clone(), batch.rows()));
        if spec.columns.len() == batch.spec().columns.len() {
            return Ok(item);
        }
        let mut mask = Batch::zeroed(&masked(&Spec::default())?, batch.rows())?;
        mask.column_mut::<bool>(MASK)?.fill(true);
        let arrays = batch.arrays().iter().chain(mask.arrays()).cloned().collect();
        T::of(Batch::from_parts(spec, batch.rows(), arrays))
    }

    fn filling(&self) -> Result<T> {
        match &self.form {
            Some((spec, rows)) => T::of(Batch::zeroed(spec, *rows)?),
            None => {
                let (expected, found) = ("a form known from an item before".into(), "none".into());
                Err(Error::Item { stage: "pad_to", position: self.position, expected, found })
            }
        }
    }
}

impl<T: Padded> Pull for PadToPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let item = if self.ended { Ok(None) } else { self.upstream.pull() };
        let item = match item {
            Ok(Some(item)) => self.mark(item),
            Ok(None) if self.position >= self.count => return Ok(None),
            Ok(None) => {
                self.ended = true;
                self.filling()
            }
            Err(error) => Err(error),
        };
        self.position += 1;
        item.map(Some)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        // The items to be added have the form of the first one, which is not passed over for that.
        while passed < n && self.form.is_none() && !self.ended {
            match self.pull() {
                Ok(None) => return Ok(passed),
                Err(error) if error.is_fatal() => return Err(error),
                _ => passed += 1,
            }
        }
        if !self.ended && passed < n {
            let done = self.upstream.skip(n - passed)?;
            self.ended = done < n - passed;
            self.position += done;
            passed += done;
        }
        let added = (n - passed).min(self.count.saturating_sub(self.position));
        self.position += added;
        Ok(passed + added)
    }
}
