//! The buffer shuffle: tf.data's, on positions instead of rows.

use std::fmt;
use std::sync::Arc;

use super::{Epochs, Shuffle};
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

pub(super) struct BufferOrder {
    pub(super) inner: Arc<dyn Order>,
    pub(super) how: Shuffle,
    pub(super) rows: u64,
}

impl Order for BufferOrder {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        self.inner.locality()
    }

    fn varies(&self) -> bool {
        !self.how.fixed || self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        if self.rows == 0 {
            return Err(Error::argument("shuffle", "a buffer of at least one row", self.how));
        }
        let mut inner = self.inner.open()?;
        let (len, how) = (self.len(), self.how);
        let mut epochs = Epochs::new(len);
        let mut replay = Replay::new(len, self.rows, how)?;
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                *position = epoch * len + replay.at(epoch, place);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".shuffle({})", self.how)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        let mut notes = self.inner.notes(row_bytes);
        notes.extend(self.how.mixing(&*self.inner));
        if self.rows.saturating_mul(4) < self.len() {
            notes.push(format!(
                "a buffer of {} rows over {} rows mixes only neighbours: a file sorted by class stays sorted. \
                 Shuffle::blocks({seed}) or Shuffle::full({seed}) mix the whole file in less memory",
                self.rows,
                self.len(),
                seed = self.how.seed
            ));
        }
        notes
    }
}

/// One epoch being replayed: the buffer's content after `given` places have been given out.
struct Replay {
    len: u64,
    capacity: usize,
    how: Shuffle,
    epoch: Option<u64>,
    buffer: Vec<u64>,
    next: u64,
    given: u64,
    last: u64,
    stream: RandomStream,
}

impl Replay {
    fn new(len: u64, rows: u64, how: Shuffle) -> Result<Replay> {
        let capacity = usize::try_from(rows.min(len)).unwrap_or(usize::MAX);
        let mut buffer = Vec::new();
        let bytes = (capacity as u64).saturating_mul(8);
        buffer.try_reserve_exact(capacity).map_err(|_| Error::no_memory("the shuffle buffer", bytes))?;
        let stream = RandomStream::new(how.seed, "buffer", 0, 0);
        Ok(Replay { len, capacity, how, epoch: None, buffer, next: 0, given: 0, last: 0, stream })
    }

    fn at(&mut self, epoch: u64, place: u64) -> u64 {
        if self.epoch != Some(epoch) || place + 1 < self.given {
            self.restart(epoch);
        }
        while self.given <= place {
            self.step();
        }
        self.last
    }

    fn restart(&mut self, epoch: u64) {
        self.epoch = Some(epoch);
        self.buffer.clear();
        self.buffer.extend(0..self.capacity as u64);
        (self.next, self.given) = (self.capacity as u64, 0);
        self.stream = RandomStream::new(self.how.seed, "buffer", self.how.epoch(epoch), 0);
    }

    fn step(&mut self) {
        let pick = self.stream.below(self.buffer.len() as u64) as usize;
        if self.next < self.len {
            self.last = std::mem::replace(&mut self.buffer[pick], self.next);
            self.next += 1;
        } else {
            self.last = self.buffer.swap_remove(pick);
        }
        self.given += 1;
    }
}
