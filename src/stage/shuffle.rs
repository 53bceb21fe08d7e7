//! `shuffle_buffer` on a stream: tf.data's shuffle buffer, on items.
//!
//! Holds a buffer of items; gives out one at random and takes the next in its place. Random numbers are named by seed and
//! epoch. An upstream error passes at once; one that ends the stream comes after the items in the buffer.

use std::any::TypeId;

use crate::data::Batch;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::rng::RandomStream;
use crate::stream::Stream;
use crate::sys::fetch;

impl<T: Send + 'static> Stream<T> {
    /// Items in an order shuffled through a buffer of `items` of them: each epoch in its own order, fixed by the seed and
    /// the epoch's number. An item never comes earlier than `items - 1` places before its turn.
    ///
    /// Rows of a dataset are better shuffled by [`Dataset::shuffle`](crate::Dataset::shuffle), which moves row numbers
    /// instead of rows and reaches the whole file.
    ///
    /// **Order:** permuted, by seed and epoch · **Holds:** `items` items · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let shuffled = Dataset::from_generator(|_| 0..100).shuffle_buffer(100, 7);
    /// let mut items: Vec<i32> = shuffled.iter()?.collect::<Result<_, _>>()?;
    /// assert_ne!(items, (0..100).collect::<Vec<_>>());
    /// items.sort();
    /// assert_eq!(items, (0..100).collect::<Vec<_>>());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn shuffle_buffer(self, items: usize, seed: u64) -> Stream<T> {
        self.then(|upstream| ShuffleStage { upstream, items, seed })
    }
}

struct ShuffleStage<T> {
    upstream: Upstream<T>,
    items: usize,
    seed: u64,
}

impl<T: Send + 'static> Stage for ShuffleStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        if self.items == 0 {
            return Err(Error::argument("shuffle_buffer", "a buffer of at least one item", 0));
        }
        let upstream = self.upstream.outline(run)?;
        let holds = upstream.length.exact().unwrap_or(u64::MAX).min(self.items as u64);
        let outline = upstream
            .step(format!("shuffle_buffer({}, {})", self.items, self.seed))
            .holds(holds)
            .varying("shuffle_buffer");
        Ok(match TypeId::of::<T>() == TypeId::of::<Batch>() {
            true => outline.warn(
                "shuffle_buffer above batch moves whole batches: the rows in each stay together; shuffle the rows first, \
                 by Dataset::shuffle or by shuffle_buffer before batch",
            ),
            false => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let mut random = RandomStream::new(self.seed, "shuffle_buffer", run.epoch, 0);
        Ok(Box::new(ShufflePull {
            upstream: Some(self.upstream.open(run)?),
            items: self.items,
            buffer: Vec::new(),
            broken: None,
            bits: random.next_u64(),
            random,
        }))
    }

    fn label(&self) -> &'static str {
        "shuffle_buffer"
    }
}

struct ShufflePull<T> {
    upstream: Option<Running<T>>,
    items: usize,
    /// Between pulls at least one place is free: the next item takes the place of the one that is given out.
    buffer: Vec<T>,
    broken: Option<Error>,
    random: RandomStream,
    /// The next pick's random bits.
    bits: u64,
}

impl<T> ShufflePull<T> {
    /// The next item of the upstream, while there are any.
    fn next(&mut self) -> Result<Option<T>> {
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        match upstream.pull() {
            Ok(Some(item)) => return Ok(Some(item)),
            Ok(None) => {}
            Err(error) if error.is_fatal() => self.broken = Some(error),
            Err(error) => return Err(error),
        }
        self.upstream = None;
        Ok(None)
    }
}

impl<T: Send> Pull for ShufflePull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        while self.buffer.len() + 1 < self.items
            && let Some(item) = self.next()?
        {
            let bytes = (size_of::<T>() * 2 * self.buffer.len()) as u64;
            self.buffer.try_reserve(1).map_err(|_| Error::no_memory("the shuffle buffer", bytes))?;
            self.buffer.push(item);
        }
        let last = self.next()?;
        let items = self.buffer.len() + usize::from(last.is_some());
        if items == 0 {
            return self.broken.take().map_or(Ok(None), Err);
        }
        let pick = self.random.below_from(self.bits, items as u64) as usize;
        let item = match (last, self.buffer.get_mut(pick)) {
            (Some(last), Some(place)) => std::mem::replace(place, last),
            (Some(last), None) => last,
            (None, _) => self.buffer.swap_remove(pick),
        };
        // The buffer is larger than the caches: waiting for the next pick's lines would be half the cost of an item.
        self.bits = self.random.next_u64();
        // The next item comes in first.
        let places = self.buffer.len() + usize::from(self.upstream.is_some());
        let next = (u128::from(self.bits) * places as u128) >> 64;
        if let Some(item) = self.buffer.get(next as usize) {
            fetch(item);
        }
        Ok(Some(item))
    }
}
