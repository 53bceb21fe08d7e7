//! Column work: choosing, renaming and casting, as a value that sources may carry out while gathering.

use std::sync::Arc;

use super::{Array, Batch, Bytes, ColumnSpec, Convert, DType, Spec};
use crate::error::{Error, Result};

/// A change of columns that touches no row order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Projection {
    /// Keep these columns, in this order.
    Select(Vec<String>),
    /// Call the first column by the second name.
    Rename(String, String),
    /// Convert a column's numbers to another type.
    Cast(String, DType),
}

impl Projection {
    /// For every resulting column: which one it comes from, and its spec.
    ///
    /// # Errors
    /// [`Error::Spec`] when a column does not exist, a name would stand twice, or the types do not convert.
    pub fn apply(&self, spec: &Spec) -> Result<Vec<(usize, ColumnSpec)>> {
        let mut columns: Vec<_> = spec.columns.iter().cloned().enumerate().collect();
        match self {
            Projection::Select(names) => {
                let at: Result<Vec<usize>> = names.iter().map(|n| spec.position(n)).collect();
                columns = at?.into_iter().map(|at| (at, spec.columns[at].clone())).collect();
            }
            Projection::Rename(from, to) => columns[spec.position(from)?].1.name = to.clone(),
            Projection::Cast(name, to) => {
                let (_, column) = &mut columns[spec.position(name)?];
                if Convert::new(column.dtype, false, *to).is_none() {
                    let what = format!("cast of column {name:?} to {to}");
                    return Err(Error::spec(what, "bool, integer or float numbers", column.dtype));
                }
                column.dtype = *to;
            }
        }
        Spec::new(columns.iter().map(|(_, column)| column.clone()).collect())?;
        Ok(columns)
    }

    /// The spec after the change.
    ///
    /// # Errors
    /// As [`apply`](Projection::apply).
    pub fn spec(&self, spec: &Spec) -> Result<Arc<Spec>> {
        Spec::new(self.apply(spec)?.into_iter().map(|(_, column)| column).collect())
    }

    /// The batch after the change; columns that keep their type keep their memory.
    ///
    /// # Errors
    /// As [`apply`](Projection::apply); [`Error::Memory`].
    pub fn batch(&self, batch: &Batch) -> Result<Batch> {
        let columns = self.apply(batch.spec())?;
        let arrays: Result<Vec<Array>> =
            columns.iter().map(|(at, column)| cast(&batch.arrays()[*at], column.dtype)).collect();
        let spec = Spec::new(columns.into_iter().map(|(_, column)| column).collect())?;
        Ok(Batch::from_parts(spec, batch.rows(), arrays?))
    }
}

fn cast(array: &Array, to: DType) -> Result<Array> {
    let convert = match array.dtype() == to {
        true => return Ok(array.clone()),
        false => Convert::new(array.dtype(), false, to)
            .ok_or_else(|| Error::spec("cast", "numbers", array.dtype()))?,
    };
    let (from_size, to_size) = convert.ratio();
    let elements = array.bytes().len() / from_size;
    // The conversion works in its input, which may be shared: on a copy, then.
    let mut from = Bytes::copied(array.bytes())?;
    let mut into = Bytes::zeroed(elements * to_size)?;
    convert.run(from.as_mut_slice().unwrap_or_default(), into.as_mut_slice().unwrap_or_default());
    Ok(Array::new(to, array.shape().to_vec(), into))
}
