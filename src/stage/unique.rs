//! `unique` and `unique_by`: each value once, where it comes first.
//!
//! Holds every value it has let pass, or their keys: memory grows with the number of different values. An upstream error passes
//! through at its place. How many items come out is known only by counting.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The items of each epoch without those that came before.
    ///
    /// **Order:** kept · **Holds:** every different item · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let unique = Dataset::from_generator(|_| ["b", "a", "b", "c", "a"]).unique();
    /// assert_eq!(unique.iter()?.collect::<Result<Vec<_>, _>>()?, ["b", "a", "c"]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn unique(self) -> Stream<T>
    where
        T: Hash + Eq + Clone,
    {
        self.without_doubles("unique", T::clone)
    }

    /// The items of each epoch without those whose key, made by `key`, came before.
    ///
    /// **Order:** kept · **Holds:** every different key · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let one_a_length = Dataset::from_generator(|_| ["one", "two", "three", "four"]).unique_by(|word| word.len());
    /// assert_eq!(one_a_length.iter()?.collect::<Result<Vec<_>, _>>()?, ["one", "three", "four"]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn unique_by<K>(self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Stream<T>
    where
        K: Hash + Eq + Send + 'static,
    {
        self.without_doubles("unique_by", key)
    }

    fn without_doubles<K>(
        self,
        label: &'static str,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> Stream<T>
    where
        K: Hash + Eq + Send + 'static,
    {
        self.then(|upstream| UniqueStage { upstream, label, key: Arc::new(key) })
    }
}

struct UniqueStage<T, F> {
    upstream: Upstream<T>,
    label: &'static str,
    key: Arc<F>,
}

impl<T, K, F> Stage for UniqueStage<T, F>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: Fn(&T) -> K + Send + Sync + 'static,
{
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        // Every item may be a new one.
        let most = upstream.length.exact().unwrap_or(u64::MAX);
        let call = if self.label == "unique" { "unique()" } else { "unique_by(..)" };
        Ok(upstream.step(call).length(Length::Unknown).holds(most))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(UniquePull {
            upstream: self.upstream.open(run)?,
            label: self.label,
            key: self.key.clone(),
            seen: HashSet::new(),
            position: 0,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct UniquePull<T, K, F> {
    upstream: Running<T>,
    label: &'static str,
    key: Arc<F>,
    seen: HashSet<K>,
    position: u64,
}

impl<T, K, F> Pull for UniquePull<T, K, F>
where
    K: Hash + Eq + Send,
    F: Fn(&T) -> K + Send + Sync,
{
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            // Making room may call the keys' own hash, and so may fail like the key itself.
            let new = caught(self.label, position, || {
                let bytes = (size_of::<K>() * 2 * self.seen.len()) as u64;
                self.seen.try_reserve(1).map_err(|_| Error::no_memory("the set of what was seen", bytes))?;
                Ok(self.seen.insert((self.key)(&item)))
            })?;
            if new {
                return Ok(Some(item));
            }
        }
    }
}
