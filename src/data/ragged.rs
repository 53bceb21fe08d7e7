//! Rows whose cells differ in shape, waiting to become a batch; and batches of them.
//!
//! A row's cells are copied once when it comes, one after the other, and once more into the batch: what the batch looks
//! like is known only then.

use std::fmt;
use std::sync::Arc;

use super::{Array, Batch, Bytes, CellRef, Collate, ColumnSpec, DType, Element, Pad, Spec};
use crate::error::{Error, Result, caught};

/// Rows of equal column names, types and numbers of axes, but any shapes.
#[derive(Default)]
pub(crate) struct Ragged {
    rows: usize,
    columns: Vec<Column>,
}

/// The cells of one column, end to end.
struct Column {
    name: String,
    dtype: DType,
    axes: usize,
    bytes: Vec<u8>,
    /// `axes` numbers a row.
    shapes: Vec<usize>,
}

impl Column {
    fn shape(&self, row: usize) -> &[usize] {
        &self.shapes[row * self.axes..(row + 1) * self.axes]
    }

    fn cut(&mut self, bytes: usize, rows: usize) {
        self.bytes.truncate(bytes);
        self.shapes.truncate(rows * self.axes);
    }

    fn put(&mut self, cell: &CellRef<'_>) -> Result<()> {
        if cell.name != self.name || cell.dtype != self.dtype || cell.shape.len() != self.axes {
            let form = |name: &str, dtype, axes| format!("{name} {dtype} of {axes} axes");
            let found = form(cell.name, cell.dtype, cell.shape.len());
            return Err(Error::spec("item", form(&self.name, self.dtype, self.axes), found));
        }
        let elements = cell.shape.iter().try_fold(cell.dtype.bytes(), |n, axis| n.checked_mul(*axis));
        if elements != Some(cell.bytes.len()) {
            let expected = format!("the bytes of {}{:?}", cell.dtype, cell.shape);
            return Err(Error::spec("item", expected, format!("{} bytes", cell.bytes.len())));
        }
        let held = (self.bytes.len().saturating_add(cell.bytes.len()) as u64).saturating_mul(2);
        let refused = |_| Error::no_memory("rows of a batch", held);
        self.bytes.try_reserve(cell.bytes.len()).map_err(refused)?;
        self.shapes.try_reserve(self.axes).map_err(refused)?;
        self.bytes.extend_from_slice(cell.bytes);
        self.shapes.extend_from_slice(cell.shape);
        Ok(())
    }
}

impl Ragged {
    /// Rows held.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Forgets the rows; columns and memory stay.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(|column| column.cut(0, 0));
    }

    /// Adds item `position` of `stage` as a row. The first one fixes the columns. `check` may refuse a cell; a refused row
    /// leaves nothing behind.
    pub(crate) fn push<T: Collate>(
        &mut self,
        (stage, position): (&'static str, u64),
        item: &T,
        mut check: impl FnMut(&CellRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let before: Vec<usize> = self.columns.iter().map(|column| column.bytes.len()).collect();
        let (known, columns) = (before.len(), &mut self.columns);
        let mut at = 0;
        let mut visit = |cell: CellRef<'_>| {
            check(&cell)?;
            if known == 0 {
                let (name, axes) = (cell.name.to_owned(), cell.shape.len());
                let (bytes, shapes) = (Vec::new(), Vec::new());
                columns.push(Column { name, dtype: cell.dtype, axes, bytes, shapes });
            }
            match columns.get_mut(at) {
                Some(column) => column.put(&cell)?,
                None => return Err(Error::spec("item", format!("{known} columns"), "more")),
            }
            at += 1;
            Ok(())
        };
        let mut outcome = caught(stage, position, || item.cells(&mut visit));
        if outcome.is_ok() && at != self.columns.len() {
            outcome = Err(Error::spec("item", format!("{} columns", self.columns.len()), at));
        }
        match outcome {
            Ok(()) => self.rows += 1,
            Err(_) if known == 0 => self.columns.clear(),
            Err(_) => {
                let rows = self.rows;
                self.columns.iter_mut().zip(before).for_each(|(column, bytes)| column.cut(bytes, rows));
            }
        }
        outcome.map_err(|error| error.at(stage, position))
    }

    /// The columns' names, types and numbers of axes.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, DType, usize)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.dtype, column.axes))
    }

    /// The columns' bytes, all rows of each end to end.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.columns.iter().map(|column| &column.bytes[..])
    }

    /// The rows padded to equal shapes.
    pub(crate) fn padded(&self, pad: &Pad) -> Result<Batch> {
        let mut specs = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let mut shape = vec![0; column.axes];
            for row in 0..self.rows {
                shape.iter_mut().zip(column.shape(row)).for_each(|(most, axis)| *most = (*axis).max(*most));
            }
            specs.push(ColumnSpec { name: column.name.clone(), dtype: column.dtype, shape });
        }
        let spec = pad.spec(&Spec { columns: specs })?;
        let mut batch = Batch::zeroed(&spec, self.rows)?;
        let mut slots = batch.slots()?.into_iter();
        for (column, mut slot) in self.columns.iter().zip(&mut slots) {
            let shape = slot.spec().shape.clone();
            let row_bytes = slot.spec().row_bytes();
            if let Some(value) = pad.filling(&column.name) {
                slot.bytes()
                    .chunks_exact_mut(value.len().max(1))
                    .for_each(|cell| cell.copy_from_slice(value));
            }
            let mut from = &column.bytes[..];
            for (row, into) in slot.bytes().chunks_exact_mut(row_bytes.max(1)).take(self.rows).enumerate() {
                let bytes = column.shape(row).iter().product::<usize>() * column.dtype.bytes();
                let (cell, rest) = from.split_at(bytes);
                place(cell, column.shape(row), into, &shape);
                from = rest;
            }
        }
        for (column, mut slot) in self.columns.iter().filter(|c| pad.counts(&c.name)).zip(slots) {
            let lengths = slot.elements::<u64>()?;
            lengths.iter_mut().zip(&column.shapes).for_each(|(length, axis)| *length = *axis as u64);
        }
        Ok(batch)
    }

    /// The rows end to end, with the offsets of their first axes.
    pub(crate) fn ragged(&self) -> Result<RaggedBatch> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let lengths = column.shapes.iter().step_by(column.axes.max(1));
            let total: usize = if column.axes == 0 { self.rows } else { lengths.clone().sum() };
            let mut shape = vec![total];
            shape.extend_from_slice(column.shapes.get(1..column.axes.max(1)).unwrap_or(&[]));
            let values = Array::new(column.dtype, shape, Bytes::copied(&column.bytes)?);
            let mut offsets: Vec<u64> = vec![0];
            if column.axes > 0 {
                let mut end = 0;
                offsets.extend(lengths.map(|length| {
                    end += *length as u64;
                    end
                }));
            } else {
                offsets.extend(1..=self.rows as u64);
            }
            let offsets = Array::from_elements(&offsets, &[offsets.len()])?;
            columns.push((column.name.clone(), values, offsets));
        }
        Ok(RaggedBatch { rows: self.rows, columns: columns.into() })
    }
}

/// Copies a cell of shape `from` into the corner of one of shape `to`; both in C order.
fn place(cell: &[u8], from: &[usize], into: &mut [u8], to: &[usize]) {
    match (from, to) {
        ([first, inner @ ..], [room, outer @ ..]) if inner != outer => {
            let (cell_step, into_step) = (cell.len() / (*first).max(1), into.len() / (*room).max(1));
            let cells = cell.chunks_exact(cell_step.max(1)).zip(into.chunks_exact_mut(into_step.max(1)));
            cells.for_each(|(cell, into)| place(cell, inner, into, outer));
        }
        // What lies inside is of one shape, so rows of it stand side by side in both.
        _ => into[..cell.len()].copy_from_slice(cell),
    }
}

/// Rows of different lengths: for each column its values end to end, and where each row starts.
///
/// Cheap to clone; the memory is shared.
#[derive(Clone, PartialEq)]
pub struct RaggedBatch {
    rows: usize,
    columns: Arc<[(String, Array, Array)]>,
}

impl RaggedBatch {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _, _)| name.as_str())
    }

    /// The values of the column called `name`, all rows end to end: rows along the first axis.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the columns there are.
    pub fn values(&self, name: &str) -> Result<&Array> {
        Ok(&self.column(name)?.1)
    }

    /// Where each row of the column called `name` starts among its [`values`](RaggedBatch::values), and at last where
    /// the last one ends: one `u64` more than there are rows.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the columns there are.
    pub fn offsets(&self, name: &str) -> Result<&[u64]> {
        self.column(name)?.2.elements()
    }

    /// The elements of row `row` of the column called `name`.
    ///
    /// # Errors
    /// [`Error::Spec`] when there is no such column or it does not hold `T`; [`Error::Row`] past the end.
    pub fn row<T: Element>(&self, name: &str, row: usize) -> Result<&[T]> {
        let (_, values, offsets) = self.column(name)?;
        let inner: usize = values.shape().iter().skip(1).product();
        match offsets.elements::<u64>()?.get(row..row.saturating_add(2)) {
            Some([from, to]) => Ok(&values.elements()?[*from as usize * inner..*to as usize * inner]),
            _ => Err(Error::Row { row: row as u64, rows: self.rows as u64 }),
        }
    }

    fn column(&self, name: &str) -> Result<&(String, Array, Array)> {
        let names = || format!("{:?}", self.names().collect::<Vec<_>>());
        let found = self.columns.iter().find(|column| column.0 == name);
        found.ok_or_else(|| Error::spec("columns", format!("one called {name:?}"), names()))
    }
}

impl fmt::Debug for RaggedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_map();
        for (name, values, _) in self.columns.iter() {
            out.entry(name, values);
        }
        out.finish()
    }
}
