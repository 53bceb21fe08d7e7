//! `select`: the rows of a list.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::dataset::Dataset;
use crate::digest;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};

impl Dataset {
    /// The rows at these places of each epoch, in the list's order; a place may stand several times.
    ///
    /// **Order:** the list's · **Holds:** the list, 8 bytes a row, shared · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Row`] naming the first place that is not below [`len`](Dataset::len).
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// assert_eq!(Dataset::range(10)?.select([7, 1, 1])?.order(0, 0, 10)?, [7, 1, 1]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn select(&self, rows: impl Into<Vec<u64>>) -> Result<Dataset> {
        let list: Arc<[u64]> = rows.into().into();
        match list.iter().find(|row| **row >= self.len()) {
            Some(row) => Err(Error::Row { row: *row, rows: self.len() }),
            None => {
                let digest = digest::of_list(list.iter().copied());
                Ok(self.reordered(|inner| Arc::new(SelectOrder { inner, list, digest })))
            }
        }
    }
}

struct SelectOrder {
    inner: Arc<dyn Order>,
    list: Arc<[u64]>,
    digest: String,
}

impl Order for SelectOrder {
    fn len(&self) -> u64 {
        self.list.len() as u64
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs().min(u64::MAX / self.len().max(1))
    }

    fn locality(&self) -> Option<u64> {
        Some(1)
    }

    fn varies(&self) -> bool {
        self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let mut epochs = Epochs::new(self.len());
        let (list, below) = (self.list.clone(), self.inner.len());
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                *position = epoch * below + list[place as usize];
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".select([{} rows #{}])", self.list.len(), self.digest)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
