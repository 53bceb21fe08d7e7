//! `flat_map` and `flat_map_stream`: each item becomes a sequence, and the sequences come one after the other.
//!
//! One sequence is open at a time; the next item is pulled when it has ended. An upstream error passes at its place, between
//! two sequences. How many items come out is known only by counting.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Stop, Upstream};
use crate::stream::Stream;

/// Makes an item, the `position`-th of the upstream, into a sequence in motion.
type Open<T, U> = dyn Fn(T, u64, &Run) -> Result<Running<U>> + Send + Sync;

impl<T: Send + 'static> Stream<T> {
    /// All items of the sequence that `f` makes of the first item, then those of the second's, and so on.
    ///
    /// An `f` that may fail is a [`try_map`](Stream::try_map) to sequences with `flat_map(|sequence| sequence)` below it.
    ///
    /// **Order:** kept · **Holds:** one sequence · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let words = Dataset::from_generator(|_| ["a b", "", "c"]).flat_map(|line| line.split_whitespace());
    /// assert_eq!(words.iter()?.collect::<Result<Vec<_>, _>>()?, ["a", "b", "c"]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn flat_map<I>(self, f: impl Fn(T) -> I + Send + Sync + 'static) -> Stream<I::Item>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        I::IntoIter: Send + 'static,
    {
        self.flattened("flat_map", move |item, position, run| {
            let items = f(item).into_iter();
            Ok(Box::new(Items { items, stop: run.stop.clone(), position }))
        })
    }

    /// All items of the stream that `f` makes of the first item, then those of the second's, and so on. Each is opened for the
    /// epoch that is running, under this stream's settings.
    ///
    /// It is [`interleave`](Stream::interleave) with a cycle of one.
    /// What the streams hold is not in the plan, which is made before they are.
    ///
    /// **Order:** kept · **Holds:** one stream · **Threads:** those of the stream that is open
    ///
    /// # Errors
    /// While iterating, what keeps a stream from being opened; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let counted = Dataset::from_generator(|_| [2, 0, 3])
    ///     .flat_map_stream(|n| Dataset::from_generator(move |epoch| (0..n).map(move |i| (epoch, i))));
    /// let items: Vec<(u64, i32)> = counted.epoch(7)?.collect::<Result<_, _>>()?;
    /// assert_eq!(items, [(7, 0), (7, 1), (7, 0), (7, 1), (7, 2)]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn flat_map_stream<U: Send + 'static>(
        self,
        f: impl Fn(T) -> Stream<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.flattened("flat_map_stream", move |item, _, run| f(item).running(run))
    }

    fn flattened<U: Send + 'static>(
        self,
        label: &'static str,
        open: impl Fn(T, u64, &Run) -> Result<Running<U>> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.then(|upstream| FlatMapStage { upstream, label, open: Arc::new(open) })
    }
}

struct FlatMapStage<T, U> {
    upstream: Upstream<T>,
    label: &'static str,
    open: Arc<Open<T, U>>,
}

impl<T: Send + 'static, U: Send + 'static> Stage for FlatMapStage<T, U> {
    type Item = U;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let call = format!("{}(..)", self.label);
        Ok(self.upstream.outline(run)?.step(call).length(Length::Unknown).columns(None).sized(None))
    }

    fn open(&self, run: &Run) -> Result<Running<U>> {
        Ok(Box::new(FlatMapPull {
            upstream: self.upstream.open(run)?,
            run: run.clone(),
            label: self.label,
            open: self.open.clone(),
            position: 0,
            current: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct FlatMapPull<T, U> {
    upstream: Running<T>,
    run: Run,
    label: &'static str,
    open: Arc<Open<T, U>>,
    position: u64,
    current: Option<Running<U>>,
}

impl<T, U> FlatMapPull<T, U> {
    /// The sequence that is open, or the next one; `None` after the last.
    fn current(&mut self) -> Result<Option<&mut Running<U>>> {
        if self.current.is_none() {
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            self.current = Some(caught(self.label, position, || (self.open)(item, position, &self.run))?);
        }
        Ok(self.current.as_mut())
    }
}

impl<T, U> Pull for FlatMapPull<T, U> {
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        while let Some(current) = self.current()? {
            match current.pull() {
                Ok(None) => self.current = None,
                item => return item,
            }
        }
        Ok(None)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n {
            let wanted = n - passed;
            match self.current() {
                Ok(Some(current)) => {
                    let done = current.skip(wanted)?;
                    passed += done;
                    if done < wanted {
                        self.current = None;
                    }
                }
                Ok(None) => break,
                Err(error) if error.is_fatal() => return Err(error),
                // An upstream error is an item of its own.
                Err(_) => passed += 1,
            }
        }
        Ok(passed)
    }
}

/// A user's iterator as a sequence in motion. It makes items without pulling, so it listens whether they are still wanted.
struct Items<I> {
    items: I,
    stop: Stop,
    position: u64,
}

impl<I: Iterator + Send> Pull for Items<I> {
    type Item = I::Item;

    fn pull(&mut self) -> Result<Option<I::Item>> {
        self.stop.check()?;
        caught("flat_map", self.position, || Ok(self.items.next()))
    }
}
