//! `inspect`: shows every item to a function and passes it on.

use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The same items, each shown to `look` as it passes.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use gristmill::Dataset;
    ///
    /// let sum = Arc::new(AtomicU64::new(0));
    /// let seen = sum.clone();
    /// let stream = Dataset::from_generator(|_| 1..4).inspect(move |n| drop(seen.fetch_add(*n, Ordering::Relaxed)));
    /// stream.iter()?.for_each(drop);
    /// assert_eq!(sum.load(Ordering::Relaxed), 6);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn inspect(self, look: impl Fn(&T) + Send + Sync + 'static) -> Stream<T> {
        self.mapped_same("inspect", "inspect(..)".into(), move |item, _| {
            look(&item);
            Ok(item)
        })
    }
}
