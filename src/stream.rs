//! A stream: a chain of stages, the settings of its runs, and the one place that decides where threads go.

use std::fmt;
use std::sync::Arc;

use crate::data::{Length, Projection, Spec};
use crate::error::{Error, Result, caught};
use crate::exec::{self, Iter};
use crate::outline::{Plan, human};
use crate::plumbing::{Outline, Placement, Pull, Run, Running, Settings, Stage, Threads, Upstream};
use crate::state::{Position, State};
use crate::sys::Process;

/// Items in motion: a chain of stages over items of type `T`.
///
/// A recipe: cheap to clone, holds no position, reads nothing and starts no thread before the first `next` of an
/// [`Iter`]. Any number of iterators of one stream live at once; each has its own threads and position.
pub struct Stream<T> {
    stage: Upstream<T>,
    settings: Settings,
    home: Process,
}

impl<T: Send + 'static> Stream<T> {
    /// A stream of a first stage of your own.
    pub fn new(stage: impl Stage<Item = T> + 'static) -> Stream<T> {
        Stream { stage: Arc::new(Placed(stage)), settings: Settings::default(), home: Process::here() }
    }

    /// This stream with one more stage, made from it by `make`. See `examples/own_stage.rs`.
    pub fn then<U, S>(self, make: impl FnOnce(Upstream<T>) -> S) -> Stream<U>
    where
        U: Send + 'static,
        S: Stage<Item = U> + 'static,
    {
        Stream { stage: Arc::new(Placed(make(self.stage))), settings: self.settings, home: self.home }
    }

    /// The stages of this stream, for a stage that joins it with another.
    pub fn upstream(&self) -> Upstream<T> {
        self.stage.clone()
    }

    /// Sets which stages get threads. Items, order and errors are the same for all choices.
    pub fn threads(mut self, threads: Threads) -> Stream<T> {
        self.settings.threads = threads;
        self
    }

    /// Sets the number of workers of gathers, and of parallel maps that do not say. Without this, one for every core this process may use,
    /// by affinity and cgroup quota, less one for the training loop, and at most 8.
    pub fn workers(mut self, workers: usize) -> Stream<T> {
        self.settings.workers = Some(workers);
        self
    }

    /// Sets the most bytes one iterator may hold. A stream whose plan needs more is refused when it is opened, with the numbers.
    pub fn budget(mut self, bytes: u64) -> Stream<T> {
        self.settings.budget_bytes = Some(bytes);
        self
    }

    /// Items of one epoch, where that is known without running.
    ///
    /// # Errors
    /// [`Error::Argument`] or [`Error::Spec`] when a stage was given what it cannot take.
    pub fn length(&self) -> Result<Length> {
        Ok(self.outline()?.length)
    }

    /// The columns of the stream's batches or rows, where they are known without running.
    ///
    /// # Errors
    /// As [`length`](Stream::length).
    pub fn spec(&self) -> Result<Option<Arc<Spec>>> {
        Ok(self.outline()?.spec)
    }

    /// Stages, threads, links and bytes of a run, and warnings about what is likely not meant. Reads nothing.
    ///
    /// # Errors
    /// As [`length`](Stream::length).
    pub fn plan(&self) -> Result<Plan> {
        Ok(self.outline()?.into_plan())
    }

    /// An iterator over epoch 0.
    ///
    /// # Errors
    /// As [`epoch`](Stream::epoch).
    pub fn iter(&self) -> Result<Iter<T>> {
        self.epoch(0)
    }

    /// An iterator over epoch `epoch`. Its items depend on the epoch's number alone, never on what was iterated before.
    ///
    /// # Errors
    /// Whatever keeps the run from starting: wrong arguments, a budget that is too small, a file that changed; [`Error::Forked`].
    pub fn epoch(&self, epoch: u64) -> Result<Iter<T>> {
        self.home.check("a stream")?;
        let run = Run::new(epoch, self.settings);
        let outline = self.outline()?;
        let identity = outline.identity();
        let plan = outline.into_plan();
        let (peak, budget) = (plan.peak_bytes(), self.settings.budget_bytes);
        if let Some(budget) = budget.filter(|budget| peak > *budget) {
            return Err(Error::Memory {
                what: format!("{plan}\nthis stream"),
                bytes: peak,
                limit: format!("the budget is {}", human(budget)),
                help: "lower batch, prefetch, buffer or workers, or raise the budget".into(),
            });
        }
        let running = self.stage.open(&run)?;
        Ok(Iter::new(running, run, plan.length, identity))
    }

    /// An iterator that continues at `position`, with the very item that would have come next. O(1) for batches of a
    /// dataset whose order is a function; stages that cannot jump replay.
    ///
    /// # Errors
    /// As [`epoch`](Stream::epoch), and what the skipped part of a replay ends with.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// let stream = Dataset::range(100)?.shuffle(Shuffle::full(7)).batch(10);
    /// let mut first = stream.epoch(3)?;
    /// first.by_ref().take(4).for_each(drop);
    /// let mut second = stream.seek(first.position())?;
    /// assert_eq!(first.next().transpose()?, second.next().transpose()?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn seek(&self, position: Position) -> Result<Iter<T>> {
        if position.item > 0 && self.outline()?.is_unordered() {
            let found = "a stream whose items come as they are ready (par_interleave_unordered)";
            return Err(Error::argument("seek", "a stream whose order is fixed", found));
        }
        let mut iter = self.epoch(position.epoch)?;
        iter.pass(position.item)?;
        Ok(iter)
    }

    /// An iterator that goes on where the one stood whose [`state`](Iter::state) this is, with the very next item, bit for bit: in
    /// another process, on another machine, with other numbers of workers, links and prefetched items. Where the order is a function
    /// it jumps there; stages that cannot jump replay.
    ///
    /// The stream must be the same: verbs, arguments, seeds, columns and numbers of rows. Functions that it calls are not compared, nor
    /// folders and times of files, which copying changes, nor what is in memory; neither are ranks and their number, while all ranks of a
    /// [`distribute`](crate::Dataset::distribute) stand at the same step: filters and rows of its batches bind a state to its rank.
    ///
    /// # Errors
    /// [`Error::Resume`] naming what differs; [`Error::Argument`] for a stream without an order; as [`seek`](Stream::seek).
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// let rows = Dataset::range(1000)?.shuffle(Shuffle::full(7));
    /// let mut iter = rows.batch(10).prefetch(2).epoch(2)?;
    /// iter.by_ref().take(41).for_each(drop);
    /// let state = iter.state();
    ///
    /// let mut again = rows.batch(10).prefetch(8).workers(3).resume(&state)?;
    /// assert_eq!(again.next().transpose()?, iter.next().transpose()?);
    /// assert!(rows.batch(20).resume(&state).is_err());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn resume(&self, state: &State) -> Result<Iter<T>> {
        self.seek(state.position_in(&self.outline()?.identity())?)
    }

    /// This stream in motion as a part of `run`, for a stage that makes streams while it runs: its arguments are checked now.
    pub(crate) fn running(&self, run: &Run) -> Result<Running<T>> {
        self.stage.outline(run)?;
        self.stage.open(run)
    }

    /// This stream with its columns changed by the last stage itself, if that stage can.
    pub(crate) fn projected(&self, change: &Projection) -> Option<Stream<T>> {
        let stage = self.stage.project(change)?;
        Some(Stream { stage, settings: self.settings, home: self.home })
    }

    pub(crate) fn outline(&self) -> Result<Outline> {
        self.stage.outline(&Run::new(0, self.settings))
    }
}

impl<T> Clone for Stream<T> {
    fn clone(&self) -> Stream<T> {
        Stream { stage: self.stage.clone(), settings: self.settings, home: self.home }
    }
}

impl<T: Send + 'static> fmt::Debug for Stream<T> {
    /// The expression that made the stream.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outline() {
            Ok(outline) => f.write_str(outline.expression()),
            Err(error) => write!(f, "Stream(refused: {error})"),
        }
    }
}

/// Every stage of every stream stands in one of these: it alone decides whether the stage gets a thread.
struct Placed<S>(S);

impl<S: Stage> Placed<S> {
    /// The depth of the link to put behind the stage, or `None` to run it with its consumer; and the run to open it with.
    fn place(&self, run: &Run) -> Result<(Option<usize>, Run)> {
        let below = Run { hosted: false, ..run.clone() };
        let link = match (run.settings.threads, self.0.placement(&below)?) {
            (Threads::None, _) | (_, Placement::Own) => None,
            (_, Placement::Thread(_)) if run.hosted => None,
            (_, Placement::Thread(depth) | Placement::Link(depth)) => Some(depth),
            (Threads::EachStage, Placement::Consumer) => Some(1),
            (Threads::Auto, Placement::Consumer) => None,
        };
        Ok((link, below))
    }
}

impl<S: Stage> Stage for Placed<S> {
    type Item = S::Item;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let (link, below) = self.place(run)?;
        let outline = self.0.outline(&below)?;
        Ok(match link {
            Some(depth) => outline.threads(1, depth),
            None => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<S::Item>> {
        let (link, mut below) = self.place(run)?;
        match link {
            None => Ok(Box::new(Guard { label: self.0.label(), position: 0, running: self.0.open(&below)? })),
            Some(depth) => {
                below.stop = run.stop.child();
                let running = self.0.open(&below)?;
                Ok(exec::link(self.0.label(), depth, running, below.stop))
            }
        }
    }

    fn label(&self) -> &'static str {
        self.0.label()
    }

    fn project(&self, change: &Projection) -> Option<Upstream<S::Item>> {
        self.0.project(change)
    }
}

/// Calls a stage that runs with its consumer, and tells its panic as its own thread would.
struct Guard<T> {
    label: &'static str,
    position: u64,
    running: Running<T>,
}

impl<T> Pull for Guard<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let position = self.position;
        self.position += 1;
        caught(self.label, position, || self.running.pull())
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let passed = caught(self.label, self.position, || self.running.skip(n))?;
        self.position += passed;
        Ok(passed)
    }
}
