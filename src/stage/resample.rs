//! `resample`: another mix of classes, by leaving items out at random.
//!
//! Whether an item stays depends on the seed, the epoch, its position and its class. An upstream error passes through at its place. How
//! many items come out is known only by counting.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::rng::RandomStream;
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Items left out at random so that the classes come in other shares: `shares` has for each class the share there is and the
    /// share that is wanted, and `class` tells an item's class, counted from 0. As few as possible are left out: of the class that
    /// is wanted most, compared with what there is, every item stays.
    ///
    /// Shares are relative, so counts will do. No item is repeated. Rows of a dataset with a column of labels are better balanced
    /// there, by their numbers.
    ///
    /// **Order:** kept; the choice by seed and epoch · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] for a share that is negative or not a number, for a class that is wanted but not there, and if none is
    /// wanted. While iterating, [`Error::Item`] for an item of a class that has no shares.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let nine_to_one = Dataset::from_generator(|_| (0..10_000).map(|i| usize::from(i % 10 == 0)));
    /// let balanced = nine_to_one.resample(7, [(0.9, 0.5), (0.1, 0.5)], |class| *class);
    /// let counts = balanced.reduce([0, 0], |mut counts, class| {
    ///     counts[class] += 1;
    ///     counts
    /// })?;
    /// assert!(counts[1] == 1000 && (900..1100).contains(&counts[0]));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn resample(
        self,
        seed: u64,
        shares: impl Into<Vec<(f64, f64)>>,
        class: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Stream<T> {
        let shares = shares.into();
        self.then(|upstream| ResampleStage { upstream, seed, shares, class: Arc::new(class) })
    }
}

struct ResampleStage<T, F> {
    upstream: Upstream<T>,
    seed: u64,
    shares: Vec<(f64, f64)>,
    class: Arc<F>,
}

impl<T, F> ResampleStage<T, F> {
    /// For each class how likely its items stay.
    fn chances(&self) -> Result<Vec<f64>> {
        let shares = || self.shares.iter().copied();
        let number = |share: f64| share.is_finite() && share >= 0.0;
        let possible =
            |(there, wanted): (f64, f64)| number(there) && number(wanted) && (there > 0.0 || wanted == 0.0);
        let ratio = |(there, wanted): (f64, f64)| if wanted > 0.0 { wanted / there } else { 0.0 };
        let most = shares().map(ratio).fold(0.0, f64::max);
        if !shares().all(possible) || most == 0.0 || most.is_infinite() {
            let expected = "shares of at least 0, some wanted, and those there";
            return Err(Error::argument("resample", expected, format!("{:?}", self.shares)));
        }
        Ok(shares().map(|share| ratio(share) / most).collect())
    }
}

impl<T, F> Stage for ResampleStage<T, F>
where
    T: Send + 'static,
    F: Fn(&T) -> usize + Send + Sync + 'static,
{
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        self.chances()?;
        let call = format!("resample({}, {:?}, ..)", self.seed, self.shares);
        Ok(self.upstream.outline(run)?.step(call).length(Length::Unknown).varying("resample"))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(ResamplePull {
            upstream: self.upstream.open(run)?,
            chances: self.chances()?,
            class: self.class.clone(),
            seed: self.seed,
            epoch: run.epoch,
            position: 0,
        }))
    }

    fn label(&self) -> &'static str {
        "resample"
    }
}

struct ResamplePull<T, F> {
    upstream: Running<T>,
    chances: Vec<f64>,
    class: Arc<F>,
    seed: u64,
    epoch: u64,
    position: u64,
}

impl<T, F: Fn(&T) -> usize + Send + Sync> Pull for ResamplePull<T, F> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            let class = caught("resample", position, || Ok((self.class)(&item)))?;
            let Some(chance) = self.chances.get(class) else {
                let expected = format!("one of {} classes, counted from 0", self.chances.len());
                return Err(Error::Item { stage: "resample", position, expected, found: class.to_string() });
            };
            if RandomStream::new(self.seed, "resample", self.epoch, position).chance(*chance) {
                return Ok(Some(item));
            }
        }
    }
}
