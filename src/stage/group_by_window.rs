//! `group_by_window`: items of one key together.
//!
//! A group comes out as soon as it is full; what is left at the end comes in ascending order of the keys. An upstream
//! error passes at once and the groups fill on after it; if it ends the stream, the groups come first.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Groups of `size` items of equal key; at the end the groups that are not full, in ascending order of their keys.
    ///
    /// **Order:** kept within a key; groups come as they fill · **Holds:** one group a key · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let parity = Dataset::from_generator(|_| 0..5).group_by_window(2, |n| n % 2);
    /// let groups: Vec<Vec<i32>> = parity.iter()?.collect::<Result<_, _>>()?;
    /// assert_eq!(groups, [vec![0, 2], vec![1, 3], vec![4]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn group_by_window<K: Ord + Send + 'static>(
        self,
        size: usize,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> Stream<Vec<T>> {
        let sizes = Sizes::One(size);
        self.then(|upstream| GroupStage { upstream, sizes, key: Arc::new(key) })
    }

    /// As [`group_by_window`](Stream::group_by_window), with groups of `size(key)` items. The size of a group is asked for
    /// when its first item comes.
    ///
    /// **Order:** kept within a key; groups come as they fill · **Holds:** one group a key · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`] for an item whose key has a size of 0.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let groups = Dataset::from_generator(|_| [1, 1, 3, 1, 3, 3]).group_by_window_sized(|n| *n, |n| *n);
    /// let groups: Vec<Vec<usize>> = groups.iter()?.collect::<Result<_, _>>()?;
    /// assert_eq!(groups, [vec![1], vec![1], vec![1], vec![3, 3, 3]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn group_by_window_sized<K: Ord + Send + 'static>(
        self,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
        size: impl Fn(&K) -> usize + Send + Sync + 'static,
    ) -> Stream<Vec<T>> {
        let sizes = Sizes::ByKey(Arc::new(size));
        self.then(|upstream| GroupStage { upstream, sizes, key: Arc::new(key) })
    }
}

enum Sizes<K> {
    One(usize),
    ByKey(Arc<dyn Fn(&K) -> usize + Send + Sync>),
}

impl<K> Clone for Sizes<K> {
    fn clone(&self) -> Sizes<K> {
        match self {
            Sizes::One(size) => Sizes::One(*size),
            Sizes::ByKey(size) => Sizes::ByKey(size.clone()),
        }
    }
}

struct GroupStage<T, K, F> {
    upstream: Upstream<T>,
    sizes: Sizes<K>,
    key: Arc<F>,
}

impl<T, K, F> GroupStage<T, K, F> {
    fn verb(&self) -> &'static str {
        match self.sizes {
            Sizes::One(_) => "group_by_window",
            Sizes::ByKey(_) => "group_by_window_sized",
        }
    }
}

impl<T, K, F> Stage for GroupStage<T, K, F>
where
    T: Send + 'static,
    K: Ord + Send + 'static,
    F: Fn(&T) -> K + Send + Sync + 'static,
{
    type Item = Vec<T>;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let (call, bytes) = match self.sizes {
            Sizes::One(0) => return Err(Error::argument(self.verb(), "groups of at least one item", 0)),
            Sizes::One(size) => (format!("{}({size}, ..)", self.verb()), Some(size as u64)),
            Sizes::ByKey(_) => (format!("{}(..)", self.verb()), None),
        };
        let upstream = self.upstream.outline(run)?;
        let bytes = upstream.item_bytes.zip(bytes).map(|(item, size)| item.saturating_mul(size));
        let (length, holds) = match upstream.length {
            // With a key for each item, all of them are held.
            Length::Exact(n @ 1..) => (Length::Unknown, n),
            other => (other, 1),
        };
        let outline = upstream.step(call).columns(None).sized(bytes).holds(holds);
        Ok(match length {
            Length::Exact(_) => outline.length(length),
            _ => outline.length(length).warn(format!(
                "{} holds a group for every key, and how many keys there are is not known",
                self.verb()
            )),
        })
    }

    fn open(&self, run: &Run) -> Result<Running<Vec<T>>> {
        Ok(Box::new(GroupPull {
            upstream: Some(self.upstream.open(run)?),
            verb: self.verb(),
            sizes: self.sizes.clone(),
            key: self.key.clone(),
            position: 0,
            groups: BTreeMap::new(),
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.verb()
    }
}

struct GroupPull<T, K, F> {
    upstream: Option<Running<T>>,
    verb: &'static str,
    sizes: Sizes<K>,
    key: Arc<F>,
    position: u64,
    /// Size and items of the groups that are not full.
    groups: BTreeMap<K, (usize, Vec<T>)>,
    broken: Option<Error>,
}

impl<T, K: Ord, F: Fn(&T) -> K> GroupPull<T, K, F> {
    /// Puts `item` into its group; gives the group if it is full now. A user's order of keys is called, too, so this runs
    /// inside `caught`.
    fn put(&mut self, item: T, position: u64) -> Result<Option<Vec<T>>> {
        let key = (self.key)(&item);
        let size = match (self.groups.get(&key), &self.sizes) {
            (Some((size, _)), _) => *size,
            (None, Sizes::One(size)) => *size,
            (None, Sizes::ByKey(size)) => size(&key),
        };
        if size <= 1 {
            return match size {
                0 => {
                    let expected = "a group of at least one item".into();
                    Err(Error::Item { stage: self.verb, position, expected, found: "0".into() })
                }
                _ => Ok(Some(vec![item])),
            };
        }
        let held = (size_of::<T>() as u64).saturating_mul(2);
        if let Some((_, group)) = self.groups.get_mut(&key) {
            let bytes = held.saturating_mul(group.len() as u64);
            group.try_reserve(1).map_err(|_| Error::no_memory("a group", bytes))?;
            group.push(item);
            let full = group.len() == size;
            return Ok(if full { self.groups.remove(&key).map(|(_, group)| group) } else { None });
        }
        self.groups.insert(key, (size, vec![item]));
        Ok(None)
    }
}

impl<T, K, F> Pull for GroupPull<T, K, F>
where
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Send + Sync,
{
    type Item = Vec<T>;

    fn pull(&mut self) -> Result<Option<Vec<T>>> {
        while let Some(upstream) = &mut self.upstream {
            let position = self.position;
            self.position += 1;
            let group = match upstream.pull() {
                Ok(Some(item)) => caught(self.verb, position, || self.put(item, position)),
                Ok(None) => {
                    self.upstream = None;
                    continue;
                }
                Err(error) => Err(error),
            };
            match group {
                Ok(None) => {}
                Err(error) if error.is_fatal() => {
                    self.upstream = None;
                    self.broken = Some(error);
                }
                other => return other,
            }
        }
        match self.groups.pop_first() {
            Some((_, (_, group))) => Ok(Some(group)),
            None => self.broken.take().map_or(Ok(None), Err),
        }
    }
}
