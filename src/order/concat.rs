//! `concat`: the rows of one dataset after those of another.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use super::join::Joined;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};

impl Dataset {
    /// In each epoch, all rows of this dataset and then all of `other`, each in its own order.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Spec`] when the columns differ; [`Error::Argument`] when there are more than 2^64 rows.
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let rows = Dataset::range(2)?.concat(&Dataset::range(3)?.reverse())?;
    /// assert_eq!(rows.batch(10).iter()?.next().unwrap()?.column::<u64>("0")?, [0, 1, 2, 1, 0]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn concat(&self, other: &Dataset) -> Result<Dataset> {
        let joined = Joined::new("concat", &[self, other])?;
        let Some(len) = self.len().checked_add(other.len()) else {
            return Err(Error::argument("concat", "at most 2^64 rows together", "more"));
        };
        Ok(Dataset::new(joined.source(), Arc::new(ConcatOrder { joined, len })))
    }
}

struct ConcatOrder {
    joined: Joined,
    len: u64,
}

impl Order for ConcatOrder {
    fn len(&self) -> u64 {
        self.len
    }

    fn epochs(&self) -> u64 {
        self.joined.epochs().min(u64::MAX / self.len.max(1))
    }

    fn locality(&self) -> Option<u64> {
        self.joined.locality()
    }

    fn varies(&self) -> bool {
        self.joined.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let lens = self.joined.lens();
        let mut epochs = Epochs::new(self.len);
        self.joined.open(move |position| {
            let (epoch, place) = epochs.locate(position);
            match place.checked_sub(lens[0]) {
                None => (0, epoch * lens[0] + place),
                Some(place) => (1, epoch * lens[1] + place),
            }
        })
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, order) in self.joined.orders().enumerate() {
            out.write_str(if i > 0 { ".concat(" } else { "" })?;
            order.describe(out)?;
        }
        out.write_str(")")
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.joined.notes(row_bytes)
    }
}
