//! `batch` on a dataset: where order, source and stream meet. The only place where rows are copied.
//!
//! Positions are cut into batches, resolved to row numbers, and gathered column by column into recycled buffers. With
//! several workers, whole batches are gathered on lanes; a very large batch is split among them instead, so that
//! fewer bytes are in flight.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ahead::{Ahead, Cold};
use crate::data::{Batch, Length, Pool, Projection, Slot, Slots, Spec, masked};
use crate::dataset::Dataset;
use crate::error::{Error, Result, caught};
use crate::exec::{self, Crew};
use crate::plumbing::{
    Outline, Placement, Pull, Resolver, Run, Running, Source, Stage, Stop, Threads, Upstream,
};
use crate::stream::Stream;

/// Batches that a gather's own link holds ready.
const LINK: usize = 2;

/// From this many bytes on, a batch is split among the workers instead of giving each its own.
const SPLIT_BYTES: u64 = 8 << 20;

/// Small batches are gathered in bursts of at most this many, and of at most so many bytes together: asking a source to
/// confirm them costs 1.5 us for two files. Shared by 32 that is 6 % of the smallest batch's cost, and beside 256 KiB at most as much.
const BURST: u64 = 32;
const BURST_BYTES: u64 = 256 << 10;

/// What becomes of rows that do not fill the last batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Keep,
    Drop,
    Mask,
}

impl Last {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Last::Keep => "batch",
            Last::Drop => "batch_exact",
            Last::Mask => "batch_masked",
        }
    }

    /// Batches made of `items` items, `rows` to each.
    pub(super) fn batches(self, items: u64, rows: u64) -> u64 {
        match self {
            Last::Drop => items / rows.max(1),
            Last::Keep | Last::Mask => items.div_ceil(rows.max(1)),
        }
    }
}

impl Dataset {
    /// Batches of `rows` rows; the last one of an epoch has what remains.
    ///
    /// Each row is copied once, from the file or memory straight into its batch. A batch's memory is its own: it stays as it is for
    /// as long as it is held, and is used again afterwards.
    ///
    /// **Order:** kept · **Holds:** three batches, up to 34 small ones of files, or two a worker and four · **Threads:** one, or the
    /// [`workers`](Stream::workers); one more while shuffled rows have to be waited for
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batches = Dataset::range(5)?.batch(2);
    /// let rows: Vec<usize> = batches.iter()?.map(|b| b.map(|b| b.rows())).collect::<Result<_, _>>()?;
    /// assert_eq!(rows, [2, 2, 1]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch(&self, rows: usize) -> Stream<Batch> {
        self.batched(rows, Last::Keep)
    }

    /// Batches of exactly `rows` rows; rows that do not fill one at the end of an epoch are left out.
    ///
    /// **Order:** kept · **Holds:** as [`batch`](Dataset::batch) · **Threads:** as [`batch`](Dataset::batch)
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Length};
    ///
    /// assert_eq!(Dataset::range(5)?.batch_exact(2).length()?, Length::Exact(2));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch_exact(&self, rows: usize) -> Stream<Batch> {
        self.batched(rows, Last::Drop)
    }

    /// Batches of exactly `rows` rows; the last one of an epoch is filled up with zeros, and a bool column `mask` says which
    /// rows are real.
    ///
    /// **Order:** kept · **Holds:** as [`batch`](Dataset::batch) · **Threads:** as [`batch`](Dataset::batch)
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let last = Dataset::range(5)?.batch_masked(3).iter()?.last().expect("two batches")?;
    /// assert_eq!(last.column::<u64>("0")?, [3, 4, 0]);
    /// assert_eq!(last.column::<bool>("mask")?, [true, true, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn batch_masked(&self, rows: usize) -> Stream<Batch> {
        self.batched(rows, Last::Mask)
    }

    fn batched(&self, rows: usize, last: Last) -> Stream<Batch> {
        Stream::new(BatchStage { dataset: self.clone(), rows, last, changes: String::new() })
    }
}

struct BatchStage {
    dataset: Dataset,
    rows: usize,
    last: Last,
    /// Column work that the source does while gathering, as the user wrote it.
    changes: String,
}

impl BatchStage {
    fn spec(&self) -> Result<Arc<Spec>> {
        match self.last {
            Last::Mask => masked(self.dataset.spec()),
            _ => Ok(self.dataset.spec().clone()),
        }
    }

    /// Rows of memory that a batch takes: not more than there are, unless it is filled up.
    fn room(&self) -> usize {
        let len = usize::try_from(self.dataset.len()).unwrap_or(usize::MAX);
        if self.last == Last::Mask { self.rows } else { self.rows.min(len) }
    }

    /// Bytes of a batch, its mask included.
    fn bytes(&self) -> u64 {
        let mask = u64::from(self.last == Last::Mask);
        (self.dataset.spec().row_bytes() as u64).saturating_add(mask).saturating_mul(self.room() as u64)
    }

    /// Batches that are gathered before the first of them is handed on, where there is one lane. Only files have to be confirmed.
    fn burst(&self) -> u64 {
        if self.dataset.source().stamps().is_empty() {
            return 1;
        }
        let batches = self.last.batches(self.dataset.len(), self.rows as u64);
        (BURST_BYTES / self.bytes().max(1)).min(BURST).min(batches).max(1)
    }

    /// How many batches are gathered at once, and how many parts each is split into.
    fn workers(&self, run: &Run) -> (usize, usize) {
        match run.settings.threads {
            Threads::None => (1, 1),
            _ if self.bytes() >= SPLIT_BYTES => (1, run.workers()),
            _ => (run.workers(), 1),
        }
    }
}

impl Stage for BatchStage {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let verb = self.last.verb();
        if self.rows == 0 {
            return Err(Error::argument(verb, "at least one row", 0));
        }
        drop(self.dataset.inner().open()?);
        let spec = self.spec()?;
        let bytes = self.bytes();
        let length = Length::Exact(self.last.batches(self.dataset.len(), self.rows as u64));
        let (lanes, parts) = self.workers(run);
        let mut outline = Outline::source(format!("{:?}", self.dataset), Length::Exact(self.dataset.len()))
            .sized(Some(spec.row_bytes() as u64))
            .read_from(self.dataset.source().stamps())
            .over(self.dataset.source().rows(), self.dataset.source().spec())
            .step(format!("{verb}({}){}", self.rows, self.changes))
            .length(length)
            .columns(Some(spec))
            .sized(Some(bytes))
            .holds(if lanes > 1 { exec::in_flight(lanes) as u64 } else { self.burst() });
        if lanes > 1 || parts > 1 {
            outline = outline.threads(lanes.max(parts), 0);
        }
        outline = outline.mixing(self.dataset.inner().seam(), self.rows as u64);
        if self.last == Last::Drop {
            outline = outline.dropping(self.dataset.len(), self.rows as u64);
        }
        if self.dataset.inner().varies() {
            outline = outline.varying("the order of the rows");
        }
        let notes = self.dataset.inner().notes(self.dataset.spec().row_bytes());
        Ok(notes.into_iter().chain(self.dataset.source().notes()).fold(outline, Outline::warn))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        let (start, end) = self.dataset.positions(run.epoch)?;
        let rows = self.rows as u64;
        let end = if self.last == Last::Drop { end - (end - start) % rows.max(1) } else { end };
        let spec = self.spec()?;
        let (lanes, parts) = self.workers(run);
        let stop = if lanes > 1 { run.stop.child() } else { run.stop.clone() };
        let run = Run { stop: stop.clone(), ..run.clone() };
        let jobs = Jobs {
            resolver: self.dataset.inner().open()?,
            next: start,
            end,
            rows: self.room(),
            stop: stop.clone(),
        };
        let gather = Gather::new(self, spec, parts)?;
        let jobs: Running<Vec<u64>> = match (&gather.cold, self.dataset.inner().locality()) {
            (Some(cold), Some(near)) => {
                Box::new(Ahead::new(Box::new(jobs), gather.source.clone(), near, cold.clone(), &run))
            }
            _ => Box::new(jobs),
        };
        if lanes == 1 {
            let (ready, most) = (VecDeque::new(), self.burst() as usize);
            return Ok(Box::new(BatchPull { jobs, gather, position: 0, ready, burst: 1, most }));
        }
        let work = move |rows: Vec<u64>, position| {
            let batch = gather.batch(&rows, position)?;
            gather.source.confirm().map(|()| batch)
        };
        Ok(exec::lanes(self.last.verb(), lanes, jobs, stop, work))
    }

    fn label(&self) -> &'static str {
        self.last.verb()
    }

    fn placement(&self, run: &Run) -> Result<Placement> {
        let (lanes, _) = self.workers(run);
        Ok(if lanes > 1 { Placement::Own } else { Placement::Thread(LINK) })
    }

    fn project(&self, change: &Projection) -> Option<Upstream<Batch>> {
        let choosing = matches!(change, Projection::Select(_));
        if choosing && self.last == Last::Mask {
            // The mask is not the source's to choose.
            return None;
        }
        let source = self.dataset.source().project(change)?;
        let dataset = Dataset::new(source, self.dataset.inner().clone());
        let changes = format!("{}.{change}", self.changes);
        Some(Stream::new(BatchStage { dataset, rows: self.rows, last: self.last, changes }).upstream())
    }
}

/// The row numbers of one batch after the other.
struct Jobs {
    resolver: Resolver,
    next: u64,
    end: u64,
    rows: usize,
    stop: Stop,
}

impl Jobs {
    /// Positions of the next batch.
    fn take(&mut self) -> std::ops::Range<u64> {
        let start = self.next;
        self.next = start.saturating_add(self.rows as u64).min(self.end);
        start..self.next
    }
}

impl Pull for Jobs {
    type Item = Vec<u64>;

    fn pull(&mut self) -> Result<Option<Vec<u64>>> {
        self.stop.check()?;
        let positions = self.take();
        if positions.is_empty() {
            return Ok(None);
        }
        let count = (positions.end - positions.start) as usize;
        let refused = || Error::no_memory("the row numbers of one batch", count as u64 * 8);
        let mut rows = Vec::new();
        rows.try_reserve_exact(count).map_err(|_| refused())?;
        rows.extend(positions);
        self.resolver.resolve(&mut rows);
        Ok(Some(rows))
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let rows = (self.rows as u64).max(1);
        let left = (self.end - self.next).div_ceil(rows);
        let passed = n.min(left);
        self.next = self.next.saturating_add(passed.saturating_mul(rows)).min(self.end);
        Ok(passed)
    }
}

/// Copies rows into batches.
struct Gather {
    source: Arc<dyn Source>,
    spec: Arc<Spec>,
    pools: Vec<Pool>,
    /// Rows of every batch, when short ones are filled up.
    filled_to: Option<usize>,
    verb: &'static str,
    crew: Option<(Crew, usize)>,
    /// Watched when rows come in no file order.
    cold: Option<Cold>,
}

impl Gather {
    fn new(stage: &BatchStage, spec: Arc<Spec>, parts: usize) -> Result<Gather> {
        let room = stage.room();
        let pool = |row: usize| {
            let bytes = row.checked_mul(room).filter(|bytes| isize::try_from(*bytes).is_ok());
            let refused =
                || Error::no_memory(format!("a batch of {room} rows"), row.saturating_mul(room) as u64);
            bytes.map(Pool::new).ok_or_else(refused)
        };
        let pools: Result<Vec<Pool>> = spec.columns.iter().map(|c| pool(c.row_bytes())).collect();
        let scattered = stage.dataset.inner().locality().and_then(|_| stage.dataset.source().scattered());
        Ok(Gather {
            cold: scattered.is_some().then(Cold::default),
            source: scattered.unwrap_or_else(|| stage.dataset.source().clone()),
            pools: pools?,
            spec,
            filled_to: (stage.last == Last::Mask).then_some(room),
            verb: stage.last.verb(),
            crew: (parts > 1).then(|| (Crew::new(parts), parts)),
        })
    }

    /// One batch, to be confirmed by the source.
    fn batch(&self, rows: &[u64], position: u64) -> Result<Batch> {
        let mut batch = Batch::from_pools(&self.spec, self.filled_to.unwrap_or(rows.len()), &self.pools)?;
        let mut slots = batch.slots()?;
        if self.filled_to.is_some() {
            // The last column is the mask.
            slots.pop();
            slots = slots.into_iter().map(|slot| slot.split(rows.len()).0).collect();
        }
        caught(self.verb, position, || self.gather(rows, slots))?;
        if self.filled_to.is_some() {
            batch.mask(rows.len())?;
        }
        Ok(batch)
    }

    fn gather(&self, rows: &[u64], mut slots: Slots<'_>) -> Result<()> {
        let Some((crew, parts)) = &self.crew else {
            return self.copy(rows, &mut slots);
        };
        let each = rows.len().div_ceil(*parts).max(1);
        let mut shares = Vec::with_capacity(*parts);
        for rows in rows.chunks(each) {
            let (heads, tails): (Slots<'_>, Slots<'_>) =
                slots.into_iter().map(|slot| slot.split(rows.len())).unzip();
            shares.push((rows, heads));
            slots = tails;
        }
        crew.each(shares, |(rows, mut slots)| self.copy(rows, &mut slots))
    }

    fn copy(&self, rows: &[u64], slots: &mut [Slot<'_>]) -> Result<()> {
        match &self.cold {
            Some(cold) => cold.watch(|| self.source.gather(rows, slots)),
            None => self.source.gather(rows, slots),
        }
    }
}

/// Resolves and gathers with its consumer.
struct BatchPull {
    jobs: Running<Vec<u64>>,
    gather: Gather,
    position: u64,
    /// Gathered and confirmed.
    ready: VecDeque<Result<Batch>>,
    /// Batches of the next burst: one at first, so that the first batch comes at once, and more each time.
    burst: usize,
    most: usize,
}

impl BatchPull {
    fn fill(&mut self) -> Result<()> {
        while self.ready.len() < self.burst {
            let Some(rows) = self.jobs.pull().transpose() else { break };
            let batch = rows.and_then(|rows| self.gather.batch(&rows, self.position));
            self.position += 1;
            let ends = batch.as_ref().is_err_and(Error::is_fatal);
            self.ready.push_back(batch);
            if ends {
                break;
            }
        }
        if self.ready.is_empty() {
            return Ok(());
        }
        // While the disk is waited for, whoever waits for the first batch should not wait for the others.
        let cold = self.gather.cold.as_ref().is_some_and(Cold::is_cold);
        self.burst = if cold { 1 } else { (self.burst * 2).min(self.most) };
        self.gather.source.confirm().inspect_err(|_| self.ready.clear())
    }
}

impl Pull for BatchPull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        self.ready.pop_front().transpose()
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n
            && let Some(batch) = self.ready.pop_front()
        {
            if let Err(error) = batch
                && error.is_fatal()
            {
                return Err(error);
            }
            passed += 1;
        }
        let jumped = self.jobs.skip(n - passed)?;
        self.position += jumped;
        Ok(passed + jumped)
    }
}
