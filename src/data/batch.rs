//! A batch: some rows of every column. A row: one of them.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Array, Bytes, ColumnSpec, Element, Pool, Slot, Slots, Spec};
use crate::error::{Error, Result};

/// The column that marks real rows in a padded batch: `true` for data, `false` for filling.
pub(crate) const MASK: &str = "mask";

/// Rows of named columns, in memory of its own: valid for as long as it is held, `Send`, and
/// cheap to clone (the memory is shared).
#[derive(Clone, PartialEq)]
pub struct Batch {
    spec: Arc<Spec>,
    rows: usize,
    arrays: Arrays,
}

/// The arrays of a batch; features and labels cost no allocation.
type Arrays = SmallVec<[Array; 2]>;

impl Batch {
    /// A batch of named arrays with equal first axes.
    ///
    /// # Errors
    /// [`Error::Spec`] when a name stands twice or an array has no first axis; [`Error::Rows`] when the
    /// first axes differ.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Array, Batch};
    ///
    /// let x = Array::from_elements(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let y = Array::from_elements(&[0i64, 1], &[2])?;
    /// let batch = Batch::new([("x", x), ("y", y)])?;
    /// assert_eq!(batch.rows(), 2);
    /// assert_eq!(batch.column::<i64>("y")?, [0, 1]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, Array)>) -> Result<Batch> {
        let mut specs: Vec<ColumnSpec> = Vec::new();
        let mut arrays = Arrays::new();
        for (name, array) in columns {
            let name = name.into();
            let Some((_, shape)) = array.shape().split_first() else {
                return Err(Error::spec(format!("column {name:?}"), "an axis of rows", "a single element"));
            };
            specs.push(ColumnSpec::new(name, array.dtype(), shape));
            arrays.push(array);
        }
        let rows = arrays.first().map_or(0, |a| a.shape()[0]);
        for (spec, array) in specs.iter().zip(&arrays) {
            if array.shape()[0] != rows {
                return Err(Error::Rows {
                    left: specs[0].name.clone(),
                    left_rows: rows as u64,
                    right: spec.name.clone(),
                    right_rows: array.shape()[0] as u64,
                });
            }
        }
        Ok(Batch { spec: Spec::new(specs)?, rows, arrays })
    }

    pub(crate) fn from_parts(spec: Arc<Spec>, rows: usize, arrays: Vec<Array>) -> Batch {
        Batch { spec, rows, arrays: arrays.into() }
    }

    /// A batch of `rows` rows in buffers of `pools` (one a column), its content still to be written.
    pub(crate) fn from_pools(spec: &Arc<Spec>, rows: usize, pools: &[Pool]) -> Result<Batch> {
        Batch::from_blocks(spec, rows, pools.iter().map(Pool::take))
    }

    /// A batch of `rows` rows of zeros.
    pub(crate) fn zeroed(spec: &Arc<Spec>, rows: usize) -> Result<Batch> {
        let bytes = |column: &ColumnSpec| column.row_bytes().saturating_mul(rows);
        Batch::from_blocks(spec, rows, spec.columns.iter().map(|c| Bytes::zeroed(bytes(c))))
    }

    fn from_blocks(
        spec: &Arc<Spec>,
        rows: usize,
        blocks: impl Iterator<Item = Result<Bytes>>,
    ) -> Result<Batch> {
        let mut arrays = Arrays::with_capacity(spec.columns.len());
        for (column, block) in spec.columns.iter().zip(blocks) {
            let mut shape = SmallVec::with_capacity(column.shape.len() + 1);
            shape.push(rows);
            shape.extend_from_slice(&column.shape);
            arrays.push(Array::new(column.dtype, shape, block?.first(rows * column.row_bytes())));
        }
        Ok(Batch { spec: spec.clone(), rows, arrays })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns' names, types and row shapes.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// Bytes of all columns.
    pub fn bytes(&self) -> usize {
        self.arrays.iter().map(|a| a.bytes().len()).sum()
    }

    /// The columns' arrays, in order.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// The array of the column called `name`.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the columns there are.
    pub fn array(&self, name: &str) -> Result<&Array> {
        Ok(&self.arrays[self.spec.position(name)?])
    }

    /// The elements of the column called `name`, rows one after the other.
    ///
    /// # Errors
    /// [`Error::Spec`] when there is no such column, or when it does not hold `T`.
    pub fn column<T: Element>(&self, name: &str) -> Result<&[T]> {
        self.array(name)?.elements()
    }

    /// The elements of the column called `name` for writing; copies them first if the memory is shared.
    ///
    /// # Errors
    /// As [`column`](Batch::column); [`Error::Memory`].
    pub fn column_mut<T: Element>(&mut self, name: &str) -> Result<&mut [T]> {
        let at = self.spec.position(name)?;
        self.arrays[at].elements_mut()
    }

    /// The arrays, in order, without their names.
    pub fn into_arrays(self) -> Vec<Array> {
        self.arrays.into_vec()
    }

    /// Rows `from..to` as a batch that shares this one's memory; the range is cut to the rows there are.
    pub fn slice(&self, from: usize, to: usize) -> Batch {
        let to = to.min(self.rows);
        let range = from.min(to)..to;
        let arrays = self.arrays.iter().map(|a| a.slice(range.clone())).collect();
        Batch { spec: self.spec.clone(), rows: range.len(), arrays }
    }

    /// Row `i`, sharing this batch's memory; `None` past the end.
    pub fn row(&self, i: usize) -> Option<Row> {
        (i < self.rows).then(|| Row { batch: self.slice(i, i + 1) })
    }

    /// The columns as slots to be filled. Copies shared memory first.
    pub(crate) fn slots(&mut self) -> Result<Slots<'_>> {
        let columns = self.spec.columns.iter().zip(&mut self.arrays);
        columns.map(|(spec, array)| Ok(Slot::new(spec, array.bytes_mut()?))).collect()
    }

    /// Marks the first `filled` rows as real in the column `mask`, and makes the others zeros.
    pub(crate) fn mask(&mut self, filled: usize) -> Result<()> {
        let rows = self.rows;
        for mut slot in self.slots()? {
            slot.part(filled..rows).bytes().fill(0);
        }
        let mask = self.column_mut::<bool>(MASK)?;
        mask[..filled].fill(true);
        Ok(())
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_map();
        for (column, array) in self.spec.columns.iter().zip(&self.arrays) {
            out.entry(&column.name, array);
        }
        out.finish()
    }
}

/// `spec` with the mask column of padded batches at its end.
pub(crate) fn masked(spec: &Spec) -> Result<Arc<Spec>> {
    let mut columns = spec.columns.clone();
    columns.push(ColumnSpec::new(MASK, super::DType::Bool, &[]));
    Spec::new(columns)
}

/// One row of named columns: a batch of one without its first axis.
#[derive(Clone, PartialEq)]
pub struct Row {
    batch: Batch,
}

impl Row {
    /// The elements of the column called `name` in this row.
    ///
    /// # Errors
    /// [`Error::Spec`] when there is no such column, or when it does not hold `T`.
    pub fn column<T: Element>(&self, name: &str) -> Result<&[T]> {
        self.batch.column(name)
    }

    /// The single element of the column called `name` in this row.
    ///
    /// # Errors
    /// As [`column`](Row::column); [`Error::Spec`] when the column holds more than one element a row.
    pub fn value<T: Element>(&self, name: &str) -> Result<T> {
        match self.column::<T>(name)? {
            [value] => Ok(*value),
            many => Err(Error::spec(format!("column {name:?}"), "one element a row", many.len())),
        }
    }

    /// The columns' names, types and row shapes.
    pub fn spec(&self) -> &Arc<Spec> {
        self.batch.spec()
    }

    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }
}

impl From<Row> for Batch {
    /// The row as a batch of one, sharing its memory.
    fn from(row: Row) -> Batch {
        row.batch
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.batch, f)
    }
}
