//! `scan`: a map with a memory.
//!
//! The state is made anew for every run of an epoch and seen by one item after the other, so passing over items works on them. An
//! upstream error passes through at its place, and the state stays as it was.

use std::sync::Arc;

use crate::error::{Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Each item passed through `f` together with a state that `f` may change: what it leaves there, the next item finds.
    /// `start` makes the state of every epoch, given the epoch's number.
    ///
    /// **Order:** kept · **Holds:** the state · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let sums = Dataset::from_generator(|_| 1..5).scan(|_epoch| 0, |sum, n| {
    ///     *sum += n;
    ///     *sum
    /// });
    /// assert_eq!(sums.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 3, 6, 10]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn scan<S: Send + 'static, U: Send + 'static>(
        self,
        start: impl Fn(u64) -> S + Send + Sync + 'static,
        f: impl Fn(&mut S, T) -> U + Send + Sync + 'static,
    ) -> Stream<U> {
        self.then(|upstream| ScanStage { upstream, start: Arc::new(start), f: Arc::new(f) })
    }
}

struct ScanStage<T, G, F> {
    upstream: Upstream<T>,
    start: Arc<G>,
    f: Arc<F>,
}

impl<T, U, S, G, F> Stage for ScanStage<T, G, F>
where
    T: Send + 'static,
    U: Send + 'static,
    S: Send + 'static,
    G: Fn(u64) -> S + Send + Sync + 'static,
    F: Fn(&mut S, T) -> U + Send + Sync + 'static,
{
    type Item = U;

    fn outline(&self, run: &Run) -> Result<Outline> {
        Ok(self.upstream.outline(run)?.step("scan(..)").columns(None).sized(None))
    }

    fn open(&self, run: &Run) -> Result<Running<U>> {
        Ok(Box::new(ScanPull {
            upstream: self.upstream.open(run)?,
            epoch: run.epoch,
            start: self.start.clone(),
            f: self.f.clone(),
            state: None,
            position: 0,
        }))
    }

    fn label(&self) -> &'static str {
        "scan"
    }
}

struct ScanPull<T, S, G, F> {
    upstream: Running<T>,
    epoch: u64,
    start: Arc<G>,
    f: Arc<F>,
    /// Made for the first item.
    state: Option<S>,
    position: u64,
}

impl<T, U, S, G, F> Pull for ScanPull<T, S, G, F>
where
    S: Send,
    G: Fn(u64) -> S + Send + Sync,
    F: Fn(&mut S, T) -> U + Send + Sync,
{
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        let position = self.position;
        self.position += 1;
        let Some(item) = self.upstream.pull()? else { return Ok(None) };
        caught("scan", position, || {
            let state = self.state.get_or_insert_with(|| (self.start)(self.epoch));
            Ok(Some((self.f)(state, item)))
        })
    }
}
