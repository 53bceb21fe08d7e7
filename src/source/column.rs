//! What can be a column, and what can be a set of them.

use std::fmt;
use std::sync::Arc;

use super::cells::Cells;
use crate::data::ColumnSpec;
use crate::error::Result;

/// One column of a dataset: rows of one element type and shape, in a file or in memory. Cheap to clone.
#[derive(Clone)]
pub struct Column {
    pub(super) name: Option<String>,
    pub(super) cells: Arc<dyn Cells>,
}

impl Column {
    pub(super) fn new(cells: impl Cells + 'static) -> Column {
        Column { name: None, cells: Arc::new(cells) }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.cells.rows()
    }

    /// The column's spec under the name it was given, or under `place`.
    pub(super) fn spec(&self, place: usize) -> ColumnSpec {
        let name = self.name.clone().unwrap_or_else(|| place.to_string());
        ColumnSpec::new(name, self.cells.dtype(), self.cells.shape())
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cells.describe(f)
    }
}

/// What can be one column: [`Npy`](crate::Npy), [`Raw`](crate::Raw), `Vec`, boxed, `Arc` and static slices, ndarray
/// arrays; and any of these in a pair with a name.
pub trait IntoColumn {
    /// Makes the column.
    ///
    /// # Errors
    /// Those of opening a file.
    fn into_column(self) -> Result<Column>;
}

impl IntoColumn for Column {
    fn into_column(self) -> Result<Column> {
        Ok(self)
    }
}

impl<C: IntoColumn> IntoColumn for (&str, C) {
    fn into_column(self) -> Result<Column> {
        Ok(Column { name: Some(self.0.to_owned()), ..self.1.into_column()? })
    }
}

impl<C: IntoColumn> IntoColumn for (String, C) {
    fn into_column(self) -> Result<Column> {
        Ok(Column { name: Some(self.0), ..self.1.into_column()? })
    }
}

/// What can be a dataset's columns: tuples of up to twelve of what can be one column, a `Vec` of any number of
/// [`Column`]s, or a single column by itself.
pub trait IntoColumns {
    /// Makes the columns.
    ///
    /// # Errors
    /// Those of opening a file.
    fn into_columns(self) -> Result<Vec<Column>>;
}

impl IntoColumns for Column {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self])
    }
}

impl IntoColumns for Vec<Column> {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(self)
    }
}

macro_rules! columns_tuple {
    ($($column:ident $at:tt $name:literal),*) => {
        impl<$($column: IntoColumn),*> IntoColumns for ($($column,)*) {
            fn into_columns(self) -> Result<Vec<Column>> {
                Ok(vec![$(self.$at.into_column()?),*])
            }
        }
    };
}

crate::data::tuples!(columns_tuple);
