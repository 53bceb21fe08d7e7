//! The four contracts, for authors of orders, sources and stages. Users of the crate need none of this.
//!
//! | contract | answers | made by |
//! |---|---|---|
//! | [`Order`] | which rows? | `Dataset` verbs: shuffle, take, shard, … |
//! | [`Source`] | what rows? | `Npy`, `Raw`, memory, your own |
//! | [`Stage`] | how do items move? | `Stream` verbs: batch, map, filter, … |
//! | [`Pull`] | the next item, please | an opened stage |
//!
//! Orders and stages are recipes: they are shared, cheap to clone, and hold no position. Opening one
//! gives a run ([`Resolve`], [`Pull`]) that owns its position and belongs to one iterator.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::{Projection, Slot, Spec};
use crate::error::{Error, Result};
pub use crate::outline::{Outline, Step};

/// Which rows: a recipe that turns positions into rows.
///
/// Positions never end: `position / len` is the epoch. An order passes its positions down as positions of
/// the order below; the lowest one turns them into rows of the source.
pub trait Order: Send + Sync {
    /// Positions of one epoch.
    fn len(&self) -> u64;

    /// True when an epoch has no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many whole epochs can be numbered before a position, here or below, would pass `u64::MAX`.
    fn epochs(&self) -> u64;

    /// How many neighbouring rows of the source are read about the same time: `None` in file order, 1 when rows
    /// come from anywhere. Read-ahead follows it.
    fn locality(&self) -> Option<u64>;

    /// True when a place of an epoch may hold another row in another epoch.
    fn varies(&self) -> bool;

    /// The number of positions after which the rows below start anew inside one epoch; for warnings.
    fn seam(&self) -> Option<u64> {
        None
    }

    /// Starts resolving. Opening twice gives two independent runs.
    ///
    /// # Errors
    /// [`Error::Argument`] when the verb was given what it cannot take; [`Error::Memory`].
    fn open(&self) -> Result<Resolver>;

    /// Writes the expression that made this order, the orders below it first.
    ///
    /// # Errors
    /// Those of `out`.
    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The row at position 0 of every epoch, if the rows of each epoch are the source's from there on, one after the
    /// other.
    fn first_of_run(&self) -> Option<u64> {
        None
    }

    /// What a user should know before running this order over rows of `row_bytes` bytes; for the plan.
    fn notes(&self, row_bytes: usize) -> Vec<String> {
        let _ = row_bytes;
        Vec::new()
    }
}

/// An order in use.
pub trait Resolve: Send {
    /// Replaces every position by its row, in place.
    ///
    /// A pure order answers any positions. One that needs history (the buffer shuffle) answers
    /// ascending positions cheaply and replays its epoch for others.
    fn resolve(&mut self, at: &mut [u64]);
}

impl<F: FnMut(&mut [u64]) + Send> Resolve for F {
    fn resolve(&mut self, at: &mut [u64]) {
        self(at);
    }
}

/// An opened order.
pub type Resolver = Box<dyn Resolve>;

/// What rows: named columns of equal length that can copy chosen rows out.
///
/// Called from several threads at once.
pub trait Source: Send + Sync {
    /// Names, element types and row shapes.
    fn spec(&self) -> &Arc<Spec>;

    /// Number of rows.
    fn rows(&self) -> u64;

    /// Fills every slot (one a column of [`spec`](Source::spec), in order) with the given rows, in order.
    /// All row numbers are below [`rows`](Source::rows).
    ///
    /// # Errors
    /// [`Error::User`] and [`Error::Item`] make one batch fail and iteration go on; all others end it.
    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()>;

    /// Compares the data with what it was when opened. Asked after gathering, and before what was gathered is handed on: once
    /// for a large batch, or for several small ones. A source that reads from another one must ask that one here.
    ///
    /// # Errors
    /// [`Error::Changed`], [`Error::Io`] or another that ends the stream; what was gathered since the last call is dropped then.
    fn confirm(&self) -> Result<()> {
        Ok(())
    }

    /// Writes the expression that made this source.
    ///
    /// # Errors
    /// Those of `out`.
    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// This source made ready for rows that come in no order, if that makes a difference.
    fn scattered(&self) -> Option<Arc<dyn Source>> {
        None
    }

    /// Starts reading rows that will be gathered soon, without waiting for them. Advice only.
    fn ahead(&self, rows: Range<u64>) {
        let _ = rows;
    }

    /// This source with its columns changed, if it can do that while gathering.
    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let _ = change;
        None
    }

    /// A source whose row `i` is this one's rows from `first + i * stride` on, `context` of them under one more axis, if it
    /// can copy them in one piece.
    fn windows(&self, first: u64, context: usize, stride: u64) -> Option<Arc<dyn Source>> {
        let _ = (first, context, stride);
        None
    }

    /// What a user should know before reading this source; for the plan.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What tells the data it reads from other data of the same expression: lengths and times of files. What was made
    /// from rows with other stamps is stale.
    fn stamps(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How items move: a recipe for a stream.
pub trait Stage: Send + Sync {
    /// What it yields.
    type Item: Send + 'static;

    /// What is known before the run: the expression, length, columns and needs. Reads no data. Arguments
    /// are checked here, so that a wrong one is refused before anything starts.
    ///
    /// # Errors
    /// [`Error::Argument`] and [`Error::Spec`].
    fn outline(&self, run: &Run) -> Result<Outline>;

    /// Starts one run. Opening twice gives two independent runs; nothing is read before the first pull.
    ///
    /// # Errors
    /// Whatever keeps the run from starting.
    fn open(&self, run: &Run) -> Result<Running<Self::Item>>;

    /// The verb: the name of its thread, and what errors call it.
    fn label(&self) -> &'static str;

    /// Where this stage would best run. Light stages run with their consumer.
    ///
    /// # Errors
    /// As [`outline`](Stage::outline).
    fn placement(&self, run: &Run) -> Result<Placement> {
        let _ = run;
        Ok(Placement::Consumer)
    }

    /// This stage with its columns changed, if it can do that on the way.
    fn project(&self, change: &Projection) -> Option<Upstream<Self::Item>> {
        let _ = change;
        None
    }
}

/// A stream in motion.
pub trait Pull: Send {
    /// What it yields.
    type Item;

    /// The next item, or `None`: once, and then for ever.
    ///
    /// # Errors
    /// An error that is not [fatal](Error::is_fatal) takes one item's place; pulling may go on.
    fn pull(&mut self) -> Result<Option<Self::Item>>;

    /// Passes over up to `n` items and says how many there were. An item's error counts as its item.
    ///
    /// # Errors
    /// Fatal ones.
    fn skip(&mut self, n: u64) -> Result<u64> {
        pull_past(self, n)
    }
}

/// Passes over items by pulling them: what [`Pull::skip`] does where there is no cheaper way.
///
/// # Errors
/// Fatal ones.
pub fn pull_past<P: Pull + ?Sized>(pull: &mut P, n: u64) -> Result<u64> {
    for done in 0..n {
        match pull.pull() {
            Ok(None) => return Ok(done),
            Err(error) if error.is_fatal() => return Err(error),
            _ => {}
        }
    }
    Ok(n)
}

/// The stage above which another stands.
pub type Upstream<T> = Arc<dyn Stage<Item = T>>;

/// An opened stage.
pub type Running<T> = Box<dyn Pull<Item = T>>;

/// Where a stage would best run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On whatever thread pulls it.
    Consumer,
    /// On a thread of its own, behind a link that holds up to this many items; if the puller was given a thread for
    /// it, on that one.
    Thread(usize),
    /// Behind a link that holds up to this many items, whoever pulls.
    Link(usize),
    /// It starts the threads it needs itself.
    Own,
}

/// Which stages get threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threads {
    /// Generators, gathers, parallel maps and prefetch; light stages run with their consumer.
    #[default]
    Auto,
    /// Every stage.
    EachStage,
    /// None at all: everything runs on the thread that calls `next`.
    None,
}

/// What a user may set for a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Which stages get threads.
    pub threads: Threads,
    /// Workers of gathers and of parallel maps that do not say; chosen from the machine if `None`.
    pub workers: Option<usize>,
    /// The most bytes a run may hold; unlimited if `None`.
    pub budget_bytes: Option<u64>,
}

/// Most workers of one stage; more are taken as this many.
pub const MOST_WORKERS: usize = 1024;

/// One run of a stream: which epoch, under which settings, and whether it is still wanted.
#[derive(Debug, Clone)]
pub struct Run {
    /// The epoch.
    pub epoch: u64,
    /// The user's settings.
    pub settings: Settings,
    /// Says when the run is no longer wanted.
    pub stop: Stop,
    /// The puller already runs this stage on a thread made for it.
    pub(crate) hosted: bool,
}

impl Run {
    /// A run of `epoch`.
    pub fn new(epoch: u64, settings: Settings) -> Run {
        Run { epoch, settings, stop: Stop::default(), hosted: false }
    }

    /// The same run for another epoch.
    pub fn at_epoch(&self, epoch: u64) -> Run {
        Run { epoch, ..self.clone() }
    }

    /// The same run for a stage whose puller has a thread to spare for it.
    pub(crate) fn hosted(&self) -> Run {
        Run { hosted: true, ..self.clone() }
    }

    /// Workers to use where the user named none: the machine's share for this process, by affinity and
    /// cgroup quota, less one for the training loop.
    pub fn workers(&self) -> usize {
        match (self.settings.threads, self.settings.workers) {
            (Threads::None, _) => 1,
            (_, Some(n)) => n.clamp(1, MOST_WORKERS),
            (_, None) => {
                std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).clamp(1, 8))
            }
        }
    }
}

/// A flag that says "no longer wanted", and whose children hear it too.
///
/// Stages that produce items without pulling from another stage look at it before each item, so that a
/// filter that finds nothing, or a repeat that never ends, lets go of a thread that is to be joined.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<Stop>>,
}

impl Stop {
    /// A flag of its own that also hears this one.
    pub fn child(&self) -> Stop {
        Stop { flag: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Says it.
    pub fn stop(&self) {
        // Relaxed: the flag carries no data; threads are joined by other means.
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Listens.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when this flag or one above it was raised.
    pub fn check(&self) -> Result<()> {
        let mut at = Some(self);
        while let Some(stop) = at {
            if stop.flag.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            at = stop.parent.as_deref();
        }
        Ok(())
    }
}
