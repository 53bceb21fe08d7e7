//! `prefetch`: items made ready ahead of the consumer.
//!
//! The stage itself does nothing: it asks for a thread and a link of its depth, and whoever places stages gives it both. What
//! stands directly above runs on that same thread.

use crate::error::{Error, Result};
use crate::exec::MOST_ITEMS;
use crate::plumbing::{Outline, Placement, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// Bytes an automatic prefetch may hold where no budget is set; a share of a budget otherwise.
const AUTO_BYTES: u64 = 16 << 20;

/// Most items of an automatic prefetch: more would only hide a slow consumer.
const AUTO_ITEMS: u64 = 1024;

#[derive(Clone, Copy)]
enum Depth {
    Items(usize),
    Bytes(u64),
    Auto,
}

impl<T: Send + 'static> Stream<T> {
    /// Up to `items` items (at most 1,048,576) made ready on a thread of their own; 0 changes nothing.
    ///
    /// **Order:** kept · **Holds:** `items` items · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batches = Dataset::range(10)?.batch(4).prefetch(2);
    /// assert_eq!(batches.iter()?.count(), 3);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn prefetch(self, items: usize) -> Stream<T> {
        self.prefetched(Depth::Items(items))
    }

    /// As many items made ready as fit in `bytes`, but at least one. The stream must know how large its items are.
    ///
    /// **Order:** kept · **Holds:** `bytes` bytes, or one item · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let plan = Dataset::range(1000)?.batch(10).prefetch_bytes(800).plan()?;
    /// assert_eq!(plan.steps.last().map(|step| step.link), Some(10));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn prefetch_bytes(self, bytes: u64) -> Stream<T> {
        self.prefetched(Depth::Bytes(bytes))
    }

    /// Items made ready, as many as fit in an eighth of the stream's [`budget`](Stream::budget) (without one, in 16 MiB): from 2 to 1024.
    ///
    /// **Order:** kept · **Holds:** what the plan says · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// println!("{}", Dataset::range(1000)?.batch(10).prefetch_auto().plan()?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn prefetch_auto(self) -> Stream<T> {
        self.prefetched(Depth::Auto)
    }

    fn prefetched(self, depth: Depth) -> Stream<T> {
        match depth {
            Depth::Items(0) => self,
            _ => self.then(|upstream| PrefetchStage { upstream, depth }),
        }
    }
}

struct PrefetchStage<T> {
    upstream: Upstream<T>,
    depth: Depth,
}

impl<T: Send + 'static> PrefetchStage<T> {
    /// Items to make ready, for items of the upstream's size.
    fn items(&self, run: &Run, item_bytes: Option<u64>) -> Result<usize> {
        let fit = |bytes: u64, item: u64| bytes / item.max(1);
        let items = match (self.depth, item_bytes) {
            (Depth::Items(items), _) => return Ok(items.min(MOST_ITEMS)),
            (Depth::Bytes(bytes), Some(item)) => fit(bytes, item).max(1),
            (Depth::Bytes(_), None) => {
                let expected = "a stream whose items have a known size (batches of a dataset)";
                return Err(Error::argument(
                    "prefetch_bytes",
                    expected,
                    "items of unknown size; use prefetch(n)",
                ));
            }
            (Depth::Auto, item) => {
                let share = run.settings.budget_bytes.map_or(AUTO_BYTES, |budget| budget / 8);
                item.map_or(2, |item| fit(share, item).clamp(2, AUTO_ITEMS))
            }
        };
        Ok(usize::try_from(items).unwrap_or(usize::MAX).min(MOST_ITEMS))
    }
}

impl<T: Send + 'static> Stage for PrefetchStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(&run.hosted())?;
        let call = match self.depth {
            Depth::Items(items) => format!("prefetch({items})"),
            Depth::Bytes(bytes) => format!("prefetch_bytes({bytes})"),
            Depth::Auto => "prefetch_auto()".into(),
        };
        Ok(upstream.step(call).identified(""))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        self.upstream.open(&run.hosted())
    }

    fn label(&self) -> &'static str {
        "prefetch"
    }

    fn placement(&self, run: &Run) -> Result<Placement> {
        let item_bytes = match self.depth {
            Depth::Items(_) => None,
            _ => self.upstream.outline(&run.hosted())?.item_bytes,
        };
        Ok(Placement::Link(self.items(run, item_bytes)?))
    }
}
