//! How rows of different shapes become rows of one: what [`padded_batch`](crate::Stream::padded_batch) takes.

use std::fmt;
use std::sync::Arc;

use super::{CellRef, ColumnSpec, DType, Element, Spec};
use crate::error::{Error, Result};

/// How cells are padded: each axis to the batch's longest and with zeros, unless said otherwise for a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pad {
    axes: Vec<(String, usize, usize)>,
    values: Vec<(String, DType, Vec<u8>)>,
    lengths: Vec<String>,
}

impl Pad {
    /// Every axis to the longest of its batch, with zeros.
    pub fn longest() -> Pad {
        Pad::default()
    }

    /// Axis `axis` of column `column` to `size` in every batch. A longer cell is an error at its item's place.
    pub fn axis(mut self, column: impl Into<String>, axis: usize, size: usize) -> Pad {
        let column = column.into();
        self.axes.retain(|(name, at, _)| (name, at) != (&column, &axis));
        self.axes.push((column, axis, size));
        self
    }

    /// Column `column` with `value`, which must be of its type.
    pub fn value<T: Element>(mut self, column: impl Into<String>, value: T) -> Pad {
        let column = column.into();
        self.values.retain(|(name, ..)| *name != column);
        self.values.push((column, T::DTYPE, bytemuck::bytes_of(&value).to_vec()));
        self
    }

    /// Adds a `u64` column named after `column` with `_length` at its end: the lengths before padding, one number a row for
    /// cells of one axis, one number an axis for others.
    pub fn lengths(mut self, column: impl Into<String>) -> Pad {
        let column = column.into();
        if !self.lengths.contains(&column) {
            self.lengths.push(column);
        }
        self
    }

    /// What a column's missing elements are filled with, if not zeros.
    pub(crate) fn filling(&self, column: &str) -> Option<&[u8]> {
        self.values.iter().find(|(name, ..)| name == column).map(|(_, _, bytes)| &bytes[..])
    }

    /// Whether a column's lengths are wanted.
    pub(crate) fn counts(&self, column: &str) -> bool {
        self.lengths.iter().any(|name| name == column)
    }

    /// Whether a cell can be padded so.
    pub(crate) fn check(&self, cell: &CellRef<'_>) -> Result<()> {
        let longer = |(name, axis, size): &&(String, usize, usize)| {
            name == cell.name && cell.shape.get(*axis).is_some_and(|length| length > size)
        };
        match self.axes.iter().find(longer) {
            Some((name, axis, size)) => {
                let expected = format!("at most {size} along axis {axis} of column {name:?}");
                Err(Error::spec("item", expected, cell.shape[*axis]))
            }
            None => Ok(()),
        }
    }

    /// Whether these columns (name, type, number of axes) are the ones that were meant.
    pub(crate) fn fits<'a>(
        &self,
        verb: &'static str,
        columns: impl Iterator<Item = (&'a str, DType, usize)>,
    ) -> Result<()> {
        let columns: Vec<_> = columns.collect();
        let refused = |expected: String, found: &dyn fmt::Display| Error::argument(verb, expected, found);
        let column = |name: &str| {
            let found = columns.iter().find(|(column, ..)| *column == name);
            let names: Vec<_> = columns.iter().map(|(name, ..)| *name).collect();
            found.ok_or_else(|| refused(format!("one of the columns {names:?}"), &format!("{name:?}")))
        };
        for (name, axis, _) in &self.axes {
            let (_, _, axes) = column(name)?;
            if axis >= axes {
                return Err(refused(format!("an axis of column {name:?}, which has {axes}"), axis));
            }
        }
        for (name, dtype, _) in &self.values {
            let (_, expected, _) = column(name)?;
            if dtype != expected {
                return Err(refused(
                    format!("a padding value of type {expected} for column {name:?}"),
                    dtype,
                ));
            }
        }
        for name in &self.lengths {
            if column(name)?.2 == 0 {
                return Err(refused(format!("a column with axes to give lengths of, not {name:?}"), &"none"));
            }
        }
        Ok(())
    }

    /// The columns of a batch whose longest cells are those of `longest`.
    pub(crate) fn spec(&self, longest: &Spec) -> Result<Arc<Spec>> {
        let mut columns = longest.columns.clone();
        for column in &mut columns {
            for (_, axis, size) in self.axes.iter().filter(|(name, ..)| *name == column.name) {
                if let Some(length) = column.shape.get_mut(*axis) {
                    *length = *size;
                }
            }
        }
        for column in longest.columns.iter().filter(|column| self.counts(&column.name)) {
            let axes = column.shape.len();
            let shape = if axes == 1 { vec![] } else { vec![axes] };
            columns.push(ColumnSpec { name: format!("{}_length", column.name), dtype: DType::U64, shape });
        }
        Spec::new(columns)
    }
}

impl fmt::Display for Pad {
    /// The expression that made it, after `Pad::`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("longest()")?;
        self.axes.iter().try_for_each(|(name, axis, size)| write!(f, ".axis({name:?}, {axis}, {size})"))?;
        self.values.iter().try_for_each(|(name, dtype, _)| write!(f, ".value::<{dtype}>({name:?}, ..)"))?;
        self.lengths.iter().try_for_each(|name| write!(f, ".lengths({name:?})"))
    }
}
