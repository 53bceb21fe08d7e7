//! `filter` and `try_filter`: keep the items that a function approves.
//!
//! Holds nothing and runs with its consumer. An upstream error passes through at its place. How many items come out is
//! known only by counting.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{BoxError, Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The items for which `keep` returns true.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let even = Dataset::from_generator(|_| 0..6).filter(|n| n % 2 == 0);
    /// assert_eq!(even.iter()?.collect::<Result<Vec<_>, _>>()?, [0, 2, 4]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn filter(self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Stream<T> {
        self.filtered("filter", move |item, _| Ok(keep(item)))
    }

    /// The items for which `keep` returns true; where it fails, the error takes the item's place, and iteration goes on after it.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::User`] for an item at which `keep` fails.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let words = Dataset::from_generator(|_| ["7", "x", "0"]);
    /// let above = words.try_filter(|word| word.parse::<i32>().map(|n| n > 0));
    /// assert_eq!(above.iter()?.map(|item| item.is_ok()).collect::<Vec<_>>(), [true, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn try_filter<E: Into<BoxError>>(
        self,
        keep: impl Fn(&T) -> Result<bool, E> + Send + Sync + 'static,
    ) -> Stream<T> {
        self.filtered("try_filter", move |item, position| {
            keep(item).map_err(|e| Error::User { stage: "try_filter", position, source: e.into() })
        })
    }

    fn filtered(
        self,
        label: &'static str,
        keep: impl Fn(&T, u64) -> Result<bool> + Send + Sync + 'static,
    ) -> Stream<T> {
        self.then(|upstream| FilterStage { upstream, label, keep: Arc::new(keep) })
    }
}

struct FilterStage<T, F> {
    upstream: Upstream<T>,
    label: &'static str,
    keep: Arc<F>,
}

impl<T, F> Stage for FilterStage<T, F>
where
    T: Send + 'static,
    F: Fn(&T, u64) -> Result<bool> + Send + Sync + 'static,
{
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        Ok(self.upstream.outline(run)?.step(format!("{}(..)", self.label)).length(Length::Unknown))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let (upstream, keep) = (self.upstream.open(run)?, self.keep.clone());
        Ok(Box::new(FilterPull { upstream, label: self.label, keep, position: 0 }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct FilterPull<T, F> {
    upstream: Running<T>,
    label: &'static str,
    keep: Arc<F>,
    position: u64,
}

impl<T, F: Fn(&T, u64) -> Result<bool> + Send + Sync> Pull for FilterPull<T, F> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            if caught(self.label, position, || (self.keep)(&item, position))? {
                return Ok(Some(item));
            }
        }
    }
}
