//! `filter`: keeps the items that a function approves.
//!
//! Holds nothing and runs with its consumer. An upstream error passes through at its place. How many items come out is
//! known only by counting.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Result, caught};
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
        self.then(|upstream| FilterStage { upstream, keep: Arc::new(keep) })
    }
}

struct FilterStage<T, F> {
    upstream: Upstream<T>,
    keep: Arc<F>,
}

impl<T, F> Stage for FilterStage<T, F>
where
    T: Send + 'static,
    F: Fn(&T) -> bool + Send + Sync + 'static,
{
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        Ok(self.upstream.outline(run)?.step("filter(..)").length(Length::Unknown))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(FilterPull { upstream: self.upstream.open(run)?, keep: self.keep.clone(), position: 0 }))
    }

    fn label(&self) -> &'static str {
        "filter"
    }
}

struct FilterPull<T, F> {
    upstream: Running<T>,
    keep: Arc<F>,
    position: u64,
}

impl<T, F: Fn(&T) -> bool + Send + Sync> Pull for FilterPull<T, F> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            if caught("filter", position, || Ok((self.keep)(&item)))? {
                return Ok(Some(item));
            }
        }
    }
}
