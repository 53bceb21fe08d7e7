//! `reduce`: one value of all items of an epoch. It runs the stream; it is no stage.

use crate::error::{Result, caught};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Runs epoch 0 and gives back what is left of `start` after `f` has taken in every item.
    ///
    /// For other epochs there is [`reduce_epoch`](Stream::reduce_epoch).
    ///
    /// **Order:** kept · **Holds:** the value · **Threads:** those of the stream
    ///
    /// # Errors
    /// The first error of the epoch, an item's too; as [`epoch`](Stream::epoch).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let sum = Dataset::from_generator(|_| 0..5).reduce(0, |sum, n| sum + n)?;
    /// assert_eq!(sum, 10);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn reduce<S>(&self, start: S, f: impl FnMut(S, T) -> S) -> Result<S> {
        self.reduce_epoch(0, start, f)
    }

    /// As [`reduce`](Stream::reduce), of epoch `epoch`.
    ///
    /// **Order:** kept · **Holds:** the value · **Threads:** those of the stream
    ///
    /// # Errors
    /// As [`reduce`](Stream::reduce).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let items = Dataset::from_generator(|epoch| [epoch, 10]);
    /// assert_eq!(items.reduce_epoch(3, 0, |sum, n| sum + n)?, 13);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn reduce_epoch<S>(&self, epoch: u64, start: S, mut f: impl FnMut(S, T) -> S) -> Result<S> {
        let mut value = start;
        for (position, item) in (0..).zip(self.epoch(epoch)?) {
            let item = item?;
            value = caught("reduce", position, || Ok(f(value, item)))?;
        }
        Ok(value)
    }
}
