//! `interleave` and `par_interleave`: several streams, made from items, read in turns.
//!
//! Places of a cycle are visited in turn and give a block each. A place whose stream has ended gives up the rest of its block and is
//! given the next stream when it is visited again. An upstream error comes when a place asks for a stream; the place asks again
//! after it. In the parallel form every open stream reads ahead on a thread of its own; the order is the same.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::exec;
use crate::plumbing::{MOST_WORKERS, Outline, Placement, Pull, Run, Running, Stage, Threads, Upstream};
use crate::stream::Stream;

/// Items that a stream of the parallel form has ready, unless a block is larger.
const AHEAD: usize = 16;

impl<T: Send + 'static> Stream<T> {
    /// Items of the streams that `f` makes of this stream's items, `cycle` of them open at a time: `block` items of the
    /// first, `block` of the second, …, and round again. A stream that has ended ends its block early, and the next stream takes
    /// its place when its turn comes again.
    ///
    /// Each stream is opened for the epoch that is running, under this stream's settings. With a cycle of one this is
    /// [`flat_map_stream`](Stream::flat_map_stream).
    /// What the streams hold is not in the plan, which is made before they are.
    ///
    /// **Order:** by cycle and block, whatever the threads · **Holds:** `cycle` streams · **Threads:** those of the open streams
    ///
    /// # Errors
    /// [`Error::Argument`] for a cycle or block of 0. While iterating, what keeps a stream from being opened; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let repeated = |n| Dataset::from_generator(move |_| (0..n).map(move |_| n));
    /// let mixed = Dataset::from_generator(|_| [2, 3, 4]).interleave(2, 1, repeated);
    /// assert_eq!(mixed.iter()?.collect::<Result<Vec<_>, _>>()?, [2, 3, 2, 3, 3, 4, 4, 4, 4]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn interleave<U: Send + 'static>(
        self,
        cycle: usize,
        block: usize,
        f: impl Fn(T) -> Stream<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.interleaved("interleave", Turns { cycle, block }, f)
    }

    /// As [`interleave`](Stream::interleave), each of the open streams on a thread of its own that reads ahead.
    ///
    /// **Order:** by cycle and block, whatever the threads · **Holds:** `cycle` streams, and of each two blocks or 16 items,
    /// whichever is more · **Threads:** one an open stream, and those of the streams
    ///
    /// # Errors
    /// As [`interleave`](Stream::interleave).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let squares = |n| Dataset::from_generator(move |_| (0..9u64).map(move |i| n * i * i));
    /// let one = Dataset::from_generator(|_| 0..9).interleave(4, 2, squares);
    /// let many = Dataset::from_generator(|_| 0..9).par_interleave(4, 2, squares);
    /// let (one, many): (Vec<u64>, Vec<u64>) =
    ///     (one.iter()?.collect::<Result<_, _>>()?, many.iter()?.collect::<Result<_, _>>()?);
    /// assert_eq!(one, many);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn par_interleave<U: Send + 'static>(
        self,
        cycle: usize,
        block: usize,
        f: impl Fn(T) -> Stream<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.interleaved("par_interleave", Turns { cycle, block }, f)
    }

    fn interleaved<U: Send + 'static>(
        self,
        label: &'static str,
        turns: Turns,
        f: impl Fn(T) -> Stream<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.then(|upstream| InterleaveStage { upstream, label, turns, f: Arc::new(f) })
    }
}

#[derive(Clone, Copy)]
struct Turns {
    cycle: usize,
    block: usize,
}

impl Turns {
    /// Items that each stream of the parallel form may have ready.
    fn ahead(self) -> usize {
        self.block.saturating_mul(2).clamp(AHEAD, exec::MOST_ITEMS)
    }
}

struct InterleaveStage<T, F> {
    upstream: Upstream<T>,
    label: &'static str,
    turns: Turns,
    f: Arc<F>,
}

impl<T, F> InterleaveStage<T, F> {
    /// Places whose streams get a thread in `run`; those beyond run with the consumer.
    fn threads(&self, run: &Run) -> usize {
        match run.settings.threads {
            _ if self.label == "interleave" => 0,
            Threads::None => 0,
            _ => self.turns.cycle.min(MOST_WORKERS),
        }
    }
}

impl<T, U, F> Stage for InterleaveStage<T, F>
where
    T: Send + 'static,
    U: Send + 'static,
    F: Fn(T) -> Stream<U> + Send + Sync + 'static,
{
    type Item = U;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let Turns { cycle, block } = self.turns;
        if cycle == 0 || block == 0 {
            let found = format!("{cycle} streams in blocks of {block}");
            return Err(Error::argument(
                self.label,
                "at least one stream at a time, and one item a block",
                found,
            ));
        }
        let upstream = self.upstream.outline(run)?;
        let call = format!("{}({cycle}, {block}, ..)", self.label);
        let outline = upstream.step(call).length(Length::Unknown).columns(None).sized(None);
        Ok(match self.threads(run) {
            0 => outline,
            threads => {
                outline.threads(threads, 0).holds((threads as u64).saturating_mul(self.turns.ahead() as u64))
            }
        })
    }

    fn open(&self, run: &Run) -> Result<Running<U>> {
        Ok(Box::new(InterleavePull {
            upstream: Some(self.upstream.open(run)?),
            run: run.clone(),
            label: self.label,
            turns: self.turns,
            threads: self.threads(run),
            f: self.f.clone(),
            position: 0,
            places: Vec::new(),
            at: 0,
            left: self.turns.block,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn placement(&self, run: &Run) -> Result<Placement> {
        Ok(if self.threads(run) > 0 { Placement::Own } else { Placement::Consumer })
    }
}

struct InterleavePull<T, U, F> {
    /// Gone when it has ended.
    upstream: Option<Running<T>>,
    run: Run,
    label: &'static str,
    turns: Turns,
    threads: usize,
    f: Arc<F>,
    position: u64,
    /// The places of the cycle that were visited so far. After the upstream's end, places without a stream are taken out.
    places: Vec<Option<Running<U>>>,
    /// The place whose turn it is, and the items it may still give.
    at: usize,
    left: usize,
}

impl<T, U, F> InterleavePull<T, U, F>
where
    T: Send + 'static,
    U: Send + 'static,
    F: Fn(T) -> Stream<U> + Send + Sync,
{
    /// The stream whose turn it is; `None` when all have ended.
    fn current(&mut self) -> Result<Option<&mut Running<U>>> {
        loop {
            if self.at == self.places.len() {
                let full = self.at == self.turns.cycle;
                if !full && self.upstream.is_some() {
                    let bytes = (2 * self.at * size_of::<Running<U>>()) as u64;
                    self.places.try_reserve(1).map_err(|_| Error::no_memory("the cycle", bytes))?;
                    self.places.push(None);
                } else if self.places.is_empty() {
                    return Ok(None);
                } else {
                    self.at = 0;
                }
            }
            if self.places[self.at].is_none() {
                match self.next()? {
                    Some(stream) => self.places[self.at] = Some(stream),
                    None => {
                        self.places.remove(self.at);
                        continue;
                    }
                }
            }
            return Ok(self.places[self.at].as_mut());
        }
    }

    /// The stream that the next item becomes, while there are any.
    fn next(&mut self) -> Result<Option<Running<U>>> {
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        let position = self.position;
        self.position += 1;
        let Some(item) = upstream.pull()? else {
            self.upstream = None;
            return Ok(None);
        };
        caught(self.label, position, || {
            let stream = (self.f)(item);
            if self.at >= self.threads {
                return stream.running(&self.run).map(Some);
            }
            let stop = self.run.stop.child();
            let running = stream.running(&Run { stop: stop.clone(), ..self.run.hosted() })?;
            Ok(Some(exec::link(self.label, self.turns.ahead(), running, stop)))
        })
    }

    /// The stream whose turn it is gave `items` items, or has `ended`.
    fn gave(&mut self, items: usize, ended: bool) {
        self.left -= items;
        if ended {
            self.places[self.at] = None;
        }
        if ended || self.left == 0 {
            self.at += 1;
            self.left = self.turns.block;
        }
    }
}

impl<T, U, F> Pull for InterleavePull<T, U, F>
where
    T: Send + 'static,
    U: Send + 'static,
    F: Fn(T) -> Stream<U> + Send + Sync,
{
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        while let Some(current) = self.current()? {
            let item = current.pull();
            if let Ok(None) = item {
                self.gave(0, true);
                continue;
            }
            self.gave(1, false);
            return item;
        }
        Ok(None)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n {
            let wanted = (n - passed).min(self.left as u64);
            match self.current() {
                Ok(Some(current)) => {
                    let done = current.skip(wanted)?;
                    passed += done;
                    self.gave(done as usize, done < wanted);
                }
                Ok(None) => break,
                Err(error) if error.is_fatal() => return Err(error),
                // An upstream error is an item of its own, of no block.
                Err(_) => passed += 1,
            }
        }
        Ok(passed)
    }
}
