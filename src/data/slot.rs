//! Where a source writes: one column of a batch being filled.

use std::ops::Range;

use smallvec::SmallVec;

use super::{ColumnSpec, Element};
use crate::error::{Error, Result};

/// The memory for some rows of one column, to be filled by a [`Source`](crate::plumbing::Source).
///
/// Its bytes hold whatever the buffer held before: a source overwrites all of them.
#[derive(Debug)]
pub struct Slot<'a> {
    spec: &'a ColumnSpec,
    bytes: &'a mut [u8],
}

/// The slots of one batch.
pub(crate) type Slots<'a> = SmallVec<[Slot<'a>; 4]>;

impl<'a> Slot<'a> {
    pub(crate) fn new(spec: &'a ColumnSpec, bytes: &'a mut [u8]) -> Slot<'a> {
        Slot { spec, bytes }
    }

    /// The column to be filled.
    pub fn spec(&self) -> &ColumnSpec {
        self.spec
    }

    /// All bytes, rows one after the other.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// All elements, rows one after the other.
    ///
    /// # Errors
    /// [`Error::Spec`] when the column does not hold `T`.
    pub fn elements<T: Element>(&mut self) -> Result<&mut [T]> {
        if self.spec.dtype != T::DTYPE {
            return Err(Error::spec(format!("column {:?}", self.spec.name), T::DTYPE, self.spec.dtype));
        }
        let name = &self.spec.name;
        bytemuck::checked::try_cast_slice_mut(self.bytes)
            .map_err(|e| Error::spec(format!("column {name:?}"), T::DTYPE, e))
    }

    /// The slot of some of these rows.
    pub(crate) fn part(&mut self, rows: Range<usize>) -> Slot<'_> {
        let row = self.spec.row_bytes();
        Slot { spec: self.spec, bytes: &mut self.bytes[rows.start * row..rows.end * row] }
    }

    /// This slot in two: its first `rows` rows, and the rest.
    pub(crate) fn split(self, rows: usize) -> (Slot<'a>, Slot<'a>) {
        let at = (rows * self.spec.row_bytes()).min(self.bytes.len());
        let (head, tail) = self.bytes.split_at_mut(at);
        (Slot { spec: self.spec, bytes: head }, Slot { spec: self.spec, bytes: tail })
    }
}
