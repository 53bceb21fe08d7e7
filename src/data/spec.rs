//! What a dataset's rows look like, known before anything is read.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DType;
use crate::error::{Error, Result};

/// Name, element type and row shape of one column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSpec {
    /// The column's name, unique in its [`Spec`].
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// The shape of one row; empty for one number a row.
    pub shape: Vec<usize>,
}

impl ColumnSpec {
    /// A column called `name` whose rows are `shape` elements of `dtype`.
    pub fn new(name: impl Into<String>, dtype: DType, shape: &[usize]) -> ColumnSpec {
        ColumnSpec { name: name.into(), dtype, shape: shape.to_vec() }
    }

    /// Elements of one row.
    pub fn row_elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.row_elements().saturating_mul(self.dtype.bytes())
    }
}

impl fmt::Display for ColumnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.dtype)?;
        if !self.shape.is_empty() {
            write!(f, "{:?}", self.shape)?;
        }
        Ok(())
    }
}

/// The columns of a row, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spec {
    /// The columns, in order; names are unique.
    pub columns: Vec<ColumnSpec>,
}

impl Spec {
    /// A spec of these columns.
    ///
    /// # Errors
    /// [`Error::Spec`] when two columns have one name, or when a row has more bytes than memory can number.
    pub fn new(columns: Vec<ColumnSpec>) -> Result<Arc<Spec>> {
        let mut row_bytes = Some(0usize);
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].iter().any(|c| c.name == column.name) {
                return Err(Error::spec("columns", "unique names", format!("{:?} twice", column.name)));
            }
            let bytes = column.shape.iter().try_fold(column.dtype.bytes(), |b, n| b.checked_mul(*n));
            row_bytes = row_bytes.zip(bytes).and_then(|(a, b)| a.checked_add(b));
        }
        match row_bytes {
            Some(_) => Ok(Arc::new(Spec { columns })),
            None => Err(Error::spec("columns", "rows of at most usize::MAX bytes", "larger ones")),
        }
    }

    /// The place of the column called `name`.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the columns there are.
    pub fn position(&self, name: &str) -> Result<usize> {
        let found = self.columns.iter().position(|c| c.name == name);
        found.ok_or_else(|| Error::spec("columns", format!("one called {name:?}"), self.names()))
    }

    /// Bytes of one row over all columns.
    pub fn row_bytes(&self) -> usize {
        self.columns.iter().map(ColumnSpec::row_bytes).sum()
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|c| format!("{:?}", c.name)).collect();
        names.join(", ")
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, column) in self.columns.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{column}")?;
        }
        f.write_str(")")
    }
}

/// How many items a stream yields in one epoch: an exact number, or a plain "not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// Exactly this many.
    Exact(u64),
    /// Only known by counting; it may be without end.
    Unknown,
    /// It never ends.
    Infinite,
}

impl Length {
    /// The number, where it is known.
    pub fn exact(self) -> Option<u64> {
        match self {
            Length::Exact(n) => Some(n),
            _ => None,
        }
    }

    /// The same length with its number passed through `f`.
    pub fn map(self, f: impl FnOnce(u64) -> u64) -> Length {
        match self {
            Length::Exact(n) => Length::Exact(f(n)),
            other => other,
        }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Exact(n) => write!(f, "{n}"),
            Length::Unknown => f.write_str("unknown"),
            Length::Infinite => f.write_str("infinite"),
        }
    }
}
