//! `cache`: the items of an epoch kept in memory, so that the stages above run once.
//!
//! What is kept is epoch 0, whichever epoch is asked for, so that epoch `k` still depends on `k` alone. The first
//! pass that comes to its end, without an error, fills the cache for all iterators of the stream; a pass that is left
//! or that meets an error leaves it empty. One pass at a time keeps items; another beside it only passes them on.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::data::{Batch, Length, Row};
use crate::error::{Error, Result, caught};
use crate::outline::human;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Clone + Send + Sync + 'static> Stream<T> {
    /// Keeps the items of the first whole pass in memory; later passes, of any iterator of this stream or its clones,
    /// read them there.
    ///
    /// **Every epoch is epoch 0** of the stages above: put shuffles and random maps after the cache, not before it. A
    /// pass counts as whole when it comes to the end, or to the last item of a stream of known length;
    /// `cache().take(n)` of more than `n` items never fills it, `take(n).cache()` does. A pass with an error in it keeps nothing: the error
    /// comes at its place, and again in the next pass. A pass that starts in the middle pulls what it passes over,
    /// and so still fills the cache.
    ///
    /// All items count against the stream's [`budget`](Stream::budget): a stream that is known not to fit is refused
    /// when it is opened; otherwise sizes are added up as items come (of batches and rows; other items count as they
    /// stand, without what they point to) and the one too many is an error. Rows share the memory of the batch they
    /// came from, and keep all of it.
    ///
    /// **Order:** kept · **Holds:** an epoch · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] for a stream that never ends; [`Error::Memory`], with the numbers, when it does not fit.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let slow = Dataset::from_generator(|_| 0..100).map(|n| n * n);
    /// let cached = slow.cache().shuffle_buffer(100, 7);
    /// for epoch in 0..3 {
    ///     assert_eq!(cached.epoch(epoch)?.count(), 100); // squared once, shuffled anew in each epoch
    /// }
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn cache(self) -> Stream<T> {
        self.then(|upstream| CacheStage { upstream, limit: None, shared: Arc::default() })
    }

    /// As [`cache`](Stream::cache), with at most `bytes` bytes of items.
    ///
    /// **Order:** kept · **Holds:** an epoch, of at most `bytes` bytes · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batches = Dataset::range(1000)?.batch(10);
    /// assert!(batches.clone().cache_bytes(8000).iter().is_ok());
    /// assert!(batches.cache_bytes(7999).iter().is_err());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn cache_bytes(self, bytes: u64) -> Stream<T> {
        self.then(|upstream| CacheStage { upstream, limit: Some(bytes), shared: Arc::default() })
    }
}

struct CacheStage<T> {
    upstream: Upstream<T>,
    limit: Option<u64>,
    shared: Arc<Shared<T>>,
}

/// What all iterators of a stream have in common.
struct Shared<T> {
    items: OnceLock<Vec<T>>,
    /// Whether a pass is keeping its items.
    filling: AtomicBool,
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { items: OnceLock::new(), filling: AtomicBool::new(false) }
    }
}

/// The most bytes that may be kept, and who says so.
#[derive(Clone)]
struct Limit {
    bytes: u64,
    words: String,
}

impl Limit {
    fn refused(&self, bytes: u64) -> Error {
        Error::Memory {
            what: "cache".into(),
            bytes,
            limit: self.words.clone(),
            help: "raise the limit, cache fewer or smaller items, or use cache_file".into(),
        }
    }
}

impl<T> CacheStage<T> {
    /// The limit given to this cache, or what the stages above leave of the budget.
    fn limit(&self, run: &Run, upstream: &Outline) -> Option<Limit> {
        if let Some(bytes) = self.limit {
            return Some(Limit { bytes, words: format!("its limit is {}", human(bytes)) });
        }
        let budget = run.settings.budget_bytes?;
        let bytes = budget.saturating_sub(upstream.clone().into_plan().peak_bytes());
        let words = format!("the budget of {} leaves it {}", human(budget), human(bytes));
        Some(Limit { bytes, words })
    }
}

/// Bytes of a whole epoch, where they are known.
fn whole(upstream: &Outline) -> Option<u64> {
    Some(upstream.counted()?.saturating_mul(upstream.item_bytes?))
}

impl<T: Clone + Send + Sync + 'static> Stage for CacheStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(&run.at_epoch(0))?;
        let call = self.limit.map_or("cache()".into(), |bytes| format!("cache_bytes({bytes})"));
        let holds = match (upstream.length, self.limit, upstream.item_bytes) {
            (Length::Infinite, ..) => {
                return Err(Error::argument(
                    "cache",
                    "a stream that ends",
                    "one that does not; add .take(n)",
                ));
            }
            (Length::Exact(items), ..) => items,
            (Length::Unknown, Some(limit), Some(item)) => limit / item.max(1),
            (Length::Unknown, ..) => 0,
        };
        if let (Some(bytes), Some(_)) = (whole(&upstream), self.limit)
            && let Some(limit) = self.limit(run, &upstream).filter(|limit| bytes > limit.bytes)
        {
            return Err(limit.refused(bytes));
        }
        let unbounded = upstream.length == Length::Unknown && self.limit.is_none();
        let outline = upstream.step(call).holds(holds).kept("cache");
        Ok(match unbounded {
            true => outline.warn("cache() holds an epoch of unknown length, which is not in these numbers"),
            false => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let run = run.at_epoch(0);
        let outline = self.upstream.outline(&run)?;
        let upstream = match self.shared.items.get() {
            Some(_) => None,
            None => Some(self.upstream.open(&run)?),
        };
        Ok(Box::new(CachePull {
            shared: self.shared.clone(),
            upstream,
            position: 0,
            started: false,
            filling: None,
            length: outline.counted(),
            // A whole epoch of known size was compared with the budget when the stream was opened.
            limit: self.limit(&run, &outline).filter(|_| whole(&outline).is_none()),
            item_bytes: outline.item_bytes,
        }))
    }

    fn label(&self) -> &'static str {
        "cache"
    }
}

struct CachePull<T> {
    shared: Arc<Shared<T>>,
    /// None once the items come from the cache.
    upstream: Option<Running<T>>,
    position: u64,
    started: bool,
    filling: Option<Filling<T>>,
    length: Option<u64>,
    limit: Option<Limit>,
    item_bytes: Option<u64>,
}

/// The items of a pass so far. There is one at a time; dropping it lets another pass try.
struct Filling<T> {
    shared: Arc<Shared<T>>,
    items: Vec<T>,
    bytes: u64,
}

impl<T> Filling<T> {
    fn claim(shared: &Arc<Shared<T>>) -> Option<Filling<T>> {
        let taken = shared.filling.swap(true, Ordering::AcqRel);
        (!taken).then(|| Filling { shared: shared.clone(), items: Vec::new(), bytes: 0 })
    }

    fn publish(mut self) {
        // Set already by a pass that ended between this one's look and its claim: the items are the same.
        let _ = self.shared.items.set(std::mem::take(&mut self.items));
    }
}

impl<T> Drop for Filling<T> {
    fn drop(&mut self) {
        self.shared.filling.store(false, Ordering::Release);
    }
}

/// Bytes of an item: measured where it is known how, else as planned.
fn bytes_of<T: 'static>(item: &T, planned: Option<u64>) -> u64 {
    let any: &dyn Any = item;
    match (any.downcast_ref::<Batch>(), any.downcast_ref::<Row>()) {
        (Some(batch), _) => batch.bytes() as u64,
        (_, Some(row)) => row.spec().row_bytes() as u64,
        _ => planned.unwrap_or(size_of::<T>() as u64),
    }
}

impl<T: Clone + Send + Sync + 'static> CachePull<T> {
    /// Looks for a cache that was filled since this run was opened, or starts filling it.
    fn start(&mut self) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        match self.shared.items.get() {
            Some(_) => self.upstream = None,
            None => self.filling = Filling::claim(&self.shared),
        }
    }

    fn keep(&mut self, item: &T) -> Result<()> {
        let Some(filling) = &mut self.filling else { return Ok(()) };
        filling.bytes = filling.bytes.saturating_add(bytes_of(item, self.item_bytes));
        if let Some(limit) = self.limit.as_ref().filter(|limit| filling.bytes > limit.bytes) {
            return Err(limit.refused(filling.bytes));
        }
        filling.items.try_reserve(1).map_err(|_| Error::no_memory("cache", filling.bytes))?;
        filling.items.push(caught("cache", self.position, || Ok(item.clone()))?);
        if self.length == Some(filling.items.len() as u64) {
            self.publish();
        }
        Ok(())
    }

    fn publish(&mut self) {
        if let Some(filling) = self.filling.take() {
            filling.publish();
            self.upstream = None;
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Pull for CachePull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        self.start();
        let Some(upstream) = &mut self.upstream else {
            let at = usize::try_from(self.position).unwrap_or(usize::MAX);
            let Some(item) = self.shared.items.get().and_then(|items| items.get(at)) else { return Ok(None) };
            let item = caught("cache", self.position, || Ok(item.clone()))?;
            self.position += 1;
            return Ok(Some(item));
        };
        let kept = match upstream.pull() {
            Ok(Some(item)) => self.keep(&item).map(|()| Some(item)),
            Ok(None) => {
                self.publish();
                return Ok(None);
            }
            Err(error) => Err(error),
        };
        self.position += 1;
        if kept.is_err() {
            self.filling = None;
        }
        kept
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        self.start();
        let mut passed = 0;
        while passed < n {
            if self.upstream.is_none() {
                let items = self.shared.items.get().map_or(0, |items| items.len() as u64);
                let jump = (n - passed).min(items.saturating_sub(self.position));
                self.position += jump;
                return Ok(passed + jump);
            }
            match self.pull() {
                Ok(None) => break,
                Err(error) if error.is_fatal() => return Err(error),
                _ => passed += 1,
            }
        }
        Ok(passed)
    }
}
