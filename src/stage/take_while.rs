//! `take_while`: the items before the first that a function refuses.
//!
//! After that one nothing more is pulled, and the stages above are let go. An upstream error passes through at its place and is not
//! asked about. How many items come out is known only by counting.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The items of each epoch up to the first for which `go_on` returns false; that one is left out.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let small = Dataset::from_generator(|_| 0..).take_while(|n| n * n < 10);
    /// assert_eq!(small.iter()?.collect::<Result<Vec<_>, _>>()?, [0, 1, 2, 3]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn take_while(self, go_on: impl Fn(&T) -> bool + Send + Sync + 'static) -> Stream<T> {
        self.then(|upstream| TakeWhileStage { upstream, go_on: Arc::new(go_on) })
    }
}

struct TakeWhileStage<T, F> {
    upstream: Upstream<T>,
    go_on: Arc<F>,
}

impl<T, F> Stage for TakeWhileStage<T, F>
where
    T: Send + 'static,
    F: Fn(&T) -> bool + Send + Sync + 'static,
{
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        Ok(self.upstream.outline(run)?.step("take_while(..)").length(Length::Unknown))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let (upstream, go_on) = (Some(self.upstream.open(run)?), self.go_on.clone());
        Ok(Box::new(TakeWhilePull { upstream, go_on, position: 0 }))
    }

    fn label(&self) -> &'static str {
        "take_while"
    }
}

struct TakeWhilePull<T, F> {
    upstream: Option<Running<T>>,
    go_on: Arc<F>,
    position: u64,
}

impl<T, F: Fn(&T) -> bool + Send + Sync> Pull for TakeWhilePull<T, F> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        let position = self.position;
        self.position += 1;
        if let Some(item) = upstream.pull()?
            && caught("take_while", position, || Ok((self.go_on)(&item)))?
        {
            return Ok(Some(item));
        }
        self.upstream = None;
        Ok(None)
    }
}
