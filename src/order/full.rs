//! The full shuffle: one permutation an epoch.

use std::fmt;
use std::sync::Arc;

use super::permutation::{Permutation, Recent};
use super::{Epochs, Shuffle};
use crate::error::Result;
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

pub(super) struct FullOrder {
    pub(super) inner: Arc<dyn Order>,
    pub(super) how: Shuffle,
}

impl Order for FullOrder {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        Some(1)
    }

    fn varies(&self) -> bool {
        !self.how.fixed || self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let (len, how) = (self.len(), self.how);
        let mut epochs = Epochs::new(len);
        let mut recent = Recent::new();
        let mut current = None;
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let permutation = match &current {
                    Some((of, permutation)) if *of == epoch => permutation,
                    _ => {
                        let key = how.epoch(epoch);
                        let make = || Permutation::new(len, RandomStream::new(how.seed, "full", key, 0));
                        &current.insert((epoch, recent.get((key, 0), make))).1
                    }
                };
                *position = epoch * len + permutation.at(place);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".shuffle({})", self.how)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes).into_iter().chain(self.how.mixing(&*self.inner)).collect()
    }
}
