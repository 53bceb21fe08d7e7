//! `batch` on a stream of single items: stacks them, copying each into the batch being filled.
//!
//! The first item of an epoch fixes the columns; an item that differs is an error at its place and the others go on. An
//! upstream error passes at once, the batch being filled goes on filling after it; if it ends the stream, the
//! rows before it come first.

use std::sync::Arc;

use super::batch::Last;
use crate::data::{Batch, Collate, ColumnSpec, Pool, Spec, masked};
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// A batch starts with at most this many bytes of memory (but at least one row) and grows: a huge `rows` that means "all of them" is fine.
const START_BYTES: usize = 16 << 20;

impl<T: Collate> Stream<T> {
    /// Batches of `rows` items; the last one of an epoch has what remains.
    ///
    /// **Order:** kept · **Holds:** one batch · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`] for an item whose columns differ from those of the first.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batches = Dataset::from_generator(|_| (0..5).map(|i| (i as f32, [i, -i]))).batch(3);
    /// let first = batches.iter()?.next().expect("a batch")?;
    /// assert_eq!(first.column::<f32>("0")?, [0.0, 1.0, 2.0]);
    /// assert_eq!(first.column::<i32>("1")?, [0, 0, 1, -1, 2, -2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch(self, rows: usize) -> Stream<Batch> {
        self.stacked(rows, Last::Keep)
    }

    /// Batches of exactly `rows` items; items that do not fill one at the end of an epoch are left out.
    ///
    /// **Order:** kept · **Holds:** one batch · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::from_generator(|_| 0..5).batch_exact(2).iter()?.count(), 2);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch_exact(self, rows: usize) -> Stream<Batch> {
        self.stacked(rows, Last::Drop)
    }

    /// Batches of exactly `rows` items; the last one is filled up with zeros, and a bool column `mask` says which rows are real.
    ///
    /// **Order:** kept · **Holds:** one batch · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let last = Dataset::from_generator(|_| 0..5i64).batch_masked(3).iter()?.last().expect("two batches")?;
    /// assert_eq!(last.column::<bool>("mask")?, [true, true, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch_masked(self, rows: usize) -> Stream<Batch> {
        self.stacked(rows, Last::Mask)
    }

    fn stacked(self, rows: usize, last: Last) -> Stream<Batch> {
        self.then(|upstream| StackStage { upstream, rows, last })
    }
}

struct StackStage<T> {
    upstream: Upstream<T>,
    rows: usize,
    last: Last,
}

impl<T: Collate> Stage for StackStage<T> {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let verb = self.last.verb();
        if self.rows == 0 {
            return Err(Error::argument(verb, "at least one row", 0));
        }
        let upstream = self.upstream.outline(run)?;
        let seam = upstream.seam();
        let mut upstream = upstream.mixing(seam, self.rows as u64);
        if let (Last::Drop, Some(items)) = (self.last, upstream.length.exact()) {
            upstream = upstream.dropping(items, self.rows as u64);
        }
        let spec = match (&upstream.spec, self.last) {
            (Some(spec), Last::Mask) => Some(masked(spec)?),
            (spec, _) => spec.clone(),
        };
        let bytes = upstream.item_bytes.map(|item| item.saturating_mul(self.rows as u64));
        let length = upstream.length.map(|items| self.last.batches(items, self.rows as u64));
        let call = format!("{verb}({})", self.rows);
        Ok(upstream.step(call).uncounted().length(length).columns(spec).sized(bytes).holds(1))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        Ok(Box::new(StackPull {
            upstream: self.upstream.open(run)?,
            rows: self.rows,
            last: self.last,
            position: 0,
            form: None,
            filling: None,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.last.verb()
    }
}

struct StackPull<T> {
    upstream: Running<T>,
    rows: usize,
    last: Last,
    position: u64,
    form: Option<Form>,
    filling: Option<Filling>,
    broken: Option<Error>,
}

/// The columns, fixed by the first item, and the memory for them.
struct Form {
    items: Arc<Spec>,
    batches: Arc<Spec>,
    room: usize,
    pools: Vec<Pool>,
}

/// A batch and how many of its rows are filled.
struct Filling {
    batch: Batch,
    rows: usize,
}

impl Form {
    fn of<T: Collate>(item: &T, rows: usize, last: Last) -> Result<Form> {
        let mut columns = Vec::new();
        item.cells(&mut |cell| {
            columns.push(ColumnSpec::new(cell.name, cell.dtype, cell.shape));
            Ok(())
        })?;
        let items = Spec::new(columns)?;
        let batches = if last == Last::Mask { masked(&items)? } else { items.clone() };
        let room = rows.min((START_BYTES / batches.row_bytes().max(1)).max(1));
        let pools = batches.columns.iter().map(|c| Pool::new(c.row_bytes() * room)).collect();
        Ok(Form { items, batches, room, pools })
    }

    fn batch(&self) -> Result<Filling> {
        Ok(Filling { batch: Batch::from_pools(&self.batches, self.room, &self.pools)?, rows: 0 })
    }

    /// Copies one item into row `row`.
    fn put<T: Collate>(&self, item: &T, row: usize, slots: &mut [crate::data::Slot<'_>]) -> Result<()> {
        let mut at = 0;
        item.cells(&mut |cell| {
            cell.check(&self.items, at)?;
            let bytes = cell.bytes.len();
            slots[at].bytes()[row * bytes..(row + 1) * bytes].copy_from_slice(cell.bytes);
            at += 1;
            Ok(())
        })?;
        match at == self.items.columns.len() {
            true => Ok(()),
            false => Err(Error::spec("item", format!("{} columns", self.items.columns.len()), at)),
        }
    }
}

/// A batch of `rows` rows that starts with those of `batch`, the others zeros.
fn grown(batch: &Batch, rows: usize) -> Result<Batch> {
    let mut larger = Batch::zeroed(batch.spec(), rows)?;
    for (mut slot, from) in larger.slots()?.into_iter().zip(batch.arrays()) {
        slot.bytes()[..from.bytes().len()].copy_from_slice(from.bytes());
    }
    Ok(larger)
}

impl<T: Collate> StackPull<T> {
    /// Puts items into the batch until its memory is full; false when the upstream has ended.
    fn fill(&mut self, form: &Form, filling: &mut Filling) -> Result<bool> {
        let room = filling.batch.rows().min(self.rows);
        let mut slots = filling.batch.slots()?;
        while filling.rows < room {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(false) };
            put(form, &item, position, self.last, filling.rows, &mut slots)?;
            filling.rows += 1;
        }
        Ok(true)
    }

    fn finish(&self, filling: Filling) -> Result<Option<Batch>> {
        let Filling { mut batch, rows } = filling;
        let short = rows < self.rows;
        match self.last {
            _ if rows == 0 => Ok(None),
            Last::Drop if short => Ok(None),
            Last::Mask => {
                if batch.rows() < self.rows {
                    batch = grown(&batch, self.rows)?;
                }
                batch.mask(rows)?;
                Ok(Some(batch))
            }
            _ if batch.rows() == rows => Ok(Some(batch)),
            _ => Ok(Some(batch.slice(0, rows))),
        }
    }
}

fn put<T: Collate>(
    form: &Form,
    item: &T,
    position: u64,
    last: Last,
    row: usize,
    slots: &mut [crate::data::Slot<'_>],
) -> Result<()> {
    caught(last.verb(), position, || form.put(item, row, slots)).map_err(|error| match error {
        Error::Spec { expected, found, .. } => Error::Item { stage: last.verb(), position, expected, found },
        other => other,
    })
}

impl<T: Collate> Pull for StackPull<T> {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let form = match self.form.take() {
            Some(form) => form,
            None => {
                let position = self.position;
                self.position += 1;
                let Some(item) = self.upstream.pull()? else { return Ok(None) };
                let form = caught(self.last.verb(), position, || Form::of(&item, self.rows, self.last))?;
                let mut filling = form.batch()?;
                put(&form, &item, position, self.last, 0, &mut filling.batch.slots()?)?;
                filling.rows = 1;
                self.filling = Some(filling);
                form
            }
        };
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => form.batch()?,
        };
        let outcome = loop {
            match self.fill(&form, &mut filling) {
                Ok(true) if filling.rows == self.rows => break self.finish(filling),
                Ok(true) => match grown(&filling.batch, filling.rows.saturating_mul(2).min(self.rows)) {
                    Ok(larger) => filling.batch = larger,
                    Err(error) => break Err(error),
                },
                Ok(false) => break self.finish(filling),
                Err(error) if error.is_fatal() => match self.finish(filling) {
                    Ok(Some(batch)) => {
                        self.broken = Some(error);
                        break Ok(Some(batch));
                    }
                    _ => break Err(error),
                },
                Err(error) => {
                    self.filling = Some(filling);
                    break Err(error);
                }
            }
        };
        self.form = Some(form);
        outcome
    }
}
