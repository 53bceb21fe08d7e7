//! A dataset: rows that can be reached by number, in some order.

use std::fmt;
use std::sync::Arc;

use crate::data::Spec;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver, Source};

/// Rows that can be reached by number: a source and the order in which its rows come.
///
/// A recipe: cheap to clone, holds no position, reads nothing. Its verbs (shuffle, take, shard, split, …) are
/// arithmetic on positions and return another dataset; [`batch`](Dataset::batch) turns it into a
/// [`Stream`](crate::Stream). Rows are numbered with `u64` everywhere.
#[derive(Clone)]
pub struct Dataset {
    source: Arc<dyn Source>,
    order: Arc<dyn Order>,
}

impl Dataset {
    /// The rows of a source of your own, in its order.
    ///
    /// See `examples/own_source.rs`.
    pub fn from_source(source: impl Source + 'static) -> Dataset {
        Dataset::whole(Arc::new(source))
    }

    pub(crate) fn whole(source: Arc<dyn Source>) -> Dataset {
        let order = Arc::new(Whole { source: source.clone() });
        Dataset { source, order }
    }

    pub(crate) fn new(source: Arc<dyn Source>, order: Arc<dyn Order>) -> Dataset {
        Dataset { source, order }
    }

    /// This dataset in an order of your own, built over the present one. `shuffle`, `take` and all other order verbs are
    /// made with it.
    ///
    /// # Examples
    /// ```
    /// use std::{fmt, sync::Arc};
    /// use gristmill::plumbing::{Order, Resolver};
    /// use gristmill::{Dataset, Result};
    ///
    /// /// Neighbours change places.
    /// struct Swapped(Arc<dyn Order>);
    ///
    /// impl Order for Swapped {
    ///     fn len(&self) -> u64 { self.0.len() / 2 * 2 }
    ///     fn epochs(&self) -> u64 { self.0.epochs() }
    ///     fn locality(&self) -> Option<u64> { self.0.locality() }
    ///     fn varies(&self) -> bool { self.0.varies() }
    ///     fn open(&self) -> Result<Resolver> {
    ///         let (mut inner, len, below) = (self.0.open()?, self.len().max(1), self.0.len());
    ///         Ok(Box::new(move |at: &mut [u64]| {
    ///             at.iter_mut().for_each(|p| *p = *p / len * below + (*p % len ^ 1));
    ///             inner.resolve(at);
    ///         }))
    ///     }
    ///     fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    ///         self.0.describe(out)?;
    ///         out.write_str(".swapped()")
    ///     }
    /// }
    ///
    /// let rows = Dataset::range(5)?.reordered(|inner| Arc::new(Swapped(inner)));
    /// assert_eq!(rows.order(1, 0, 10)?, [1, 0, 3, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn reordered(&self, order: impl FnOnce(Arc<dyn Order>) -> Arc<dyn Order>) -> Dataset {
        Dataset { source: self.source.clone(), order: order(self.order.clone()) }
    }

    /// Rows of one epoch, exactly.
    pub fn len(&self) -> u64 {
        self.order.len()
    }

    /// True when an epoch has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names, element types and row shapes of the columns.
    pub fn spec(&self) -> &Arc<Spec> {
        self.source.spec()
    }

    /// The rows of `epoch` from position `from` on, `n` of them or as many as there are: row numbers of the source.
    /// Reads no rows.
    ///
    /// # Errors
    /// [`Error::Argument`] when a verb of this dataset was given what it cannot take, or
    /// the epoch is beyond what positions can number.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// let rows = Dataset::range(10)?.shuffle(Shuffle::full(7));
    /// let mut order = rows.order(0, 0, 10)?;
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn order(&self, epoch: u64, from: u64, n: usize) -> Result<Vec<u64>> {
        let (start, end) = self.positions(epoch)?;
        let from = start.saturating_add(from).min(end);
        let places = from..from.saturating_add(n as u64).min(end);
        let mut rows = Vec::new();
        let count = usize::try_from(places.end - places.start).unwrap_or(usize::MAX);
        let refused = || Error::no_memory("a list of row numbers", (count as u64).saturating_mul(8));
        rows.try_reserve_exact(count).map_err(|_| refused())?;
        rows.extend(places);
        self.order.open()?.resolve(&mut rows);
        Ok(rows)
    }

    /// First and last-plus-one position of an epoch.
    pub(crate) fn positions(&self, epoch: u64) -> Result<(u64, u64)> {
        let epochs = self.order.epochs();
        if epoch >= epochs {
            let expected = format!("an epoch below {epochs} (positions are 64-bit numbers)");
            return Err(Error::argument("epoch", expected, epoch));
        }
        let start = epoch * self.len();
        Ok((start, start + self.len()))
    }

    pub(crate) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    pub(crate) fn inner(&self) -> &Arc<dyn Order> {
        &self.order
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.order.describe(f)
    }
}

/// The lowest order: position `p` is row `p` of its epoch.
struct Whole {
    source: Arc<dyn Source>,
}

impl Order for Whole {
    fn len(&self) -> u64 {
        self.source.rows()
    }

    fn epochs(&self) -> u64 {
        u64::MAX / self.len().max(1)
    }

    fn locality(&self) -> Option<u64> {
        None
    }

    fn varies(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Resolver> {
        let rows = self.len().max(1);
        Ok(Box::new(move |at: &mut [u64]| {
            // In epoch 0, and under orders that stay inside one epoch, most positions are rows already.
            at.iter_mut().filter(|p| **p >= rows).for_each(|p| *p %= rows);
        }))
    }

    fn first_of_run(&self) -> Option<u64> {
        Some(0)
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.describe(out)
    }
}
