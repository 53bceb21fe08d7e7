//! `distribute`: one rank's part of every global batch.
//!
//! Global batch `k` takes positions `k * rows` to `(k + 1) * rows` of the epoch, whatever the number of ranks, and
//! each rank takes its equal part of them, in order. So every rank knows the number of steps without talking to the
//! others, and a step's number means the same rows under another number of ranks. What the last step does is the
//! verb's choice.

use std::fmt;
use std::sync::Arc;

use crate::data::{Array, Batch, Bytes, DType, Projection, Spec, masked};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Outline, Pull, Resolver, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl Dataset {
    /// What rank `rank` of `world` trains on: its part of every global batch of `rows` rows. A last step that is not
    /// full is filled up with the epoch's first rows.
    ///
    /// Put side by side in the order of the ranks, the parts of step `k` are the very batch that one process would
    /// get from [`batch`](Dataset::batch). All ranks have the same number of steps and parts of the same size, and a
    /// [`Position`](crate::Position) means the same rows for every `world`: a run that is resumed on fewer machines
    /// goes on exactly. Build the dataset alike on all ranks, with the same seeds, and shuffle before this verb.
    ///
    /// **Order:** kept · **Holds:** as [`batch`](Dataset::batch) of a part · **Threads:** as
    /// [`batch`](Dataset::batch)
    ///
    /// # Errors
    /// [`Error::Argument`] unless `rank < world`, and when `world` does not divide `rows`, naming sizes that would
    /// do.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let second = Dataset::range(10)?.distribute(1, 2, 4)?;
    /// let parts: Vec<Vec<u64>> =
    ///     second.iter()?.map(|b| Ok(b?.column("0")?.to_vec())).collect::<gristmill::Result<_>>()?;
    /// assert_eq!(parts, [[2, 3], [6, 7], [0, 1]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn distribute(&self, rank: u64, world: u64, rows: usize) -> Result<Stream<Batch>> {
        self.distributed(rank, world, rows, Last::Repeat)
    }

    /// As [`distribute`](Dataset::distribute), but a last step that is not full is left out on all ranks.
    ///
    /// **Order:** kept · **Holds:** as [`distribute`](Dataset::distribute) · **Threads:** as
    /// [`batch`](Dataset::batch)
    ///
    /// # Errors
    /// As [`distribute`](Dataset::distribute).
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Length};
    ///
    /// assert_eq!(Dataset::range(10)?.distribute_exact(1, 2, 4)?.length()?, Length::Exact(2));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn distribute_exact(&self, rank: u64, world: u64, rows: usize) -> Result<Stream<Batch>> {
        self.distributed(rank, world, rows, Last::Drop)
    }

    /// As [`distribute`](Dataset::distribute), but the rows of a last step that is not full are shared out evenly,
    /// each part is filled up with zeros, and a bool column `mask` says which rows are real: for evaluation, where
    /// every row must count once. With fewer rows left than ranks, some parts have no real row at all.
    ///
    /// **Order:** kept · **Holds:** as [`distribute`](Dataset::distribute) · **Threads:** as
    /// [`batch`](Dataset::batch)
    ///
    /// # Errors
    /// As [`distribute`](Dataset::distribute).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let last = Dataset::range(11)?.distribute_masked(1, 2, 4)?.iter()?.last().expect("three steps")?;
    /// assert_eq!(last.column::<u64>("0")?, [9, 10]);
    /// let last = Dataset::range(9)?.distribute_masked(0, 2, 4)?.iter()?.last().expect("three steps")?;
    /// assert_eq!(last.column::<bool>("mask")?, [false, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn distribute_masked(&self, rank: u64, world: u64, rows: usize) -> Result<Stream<Batch>> {
        self.distributed(rank, world, rows, Last::Mask)
    }

    fn distributed(&self, rank: u64, world: u64, rows: usize, last: Last) -> Result<Stream<Batch>> {
        let share = Share::new(self.len(), rank, world, rows, last)?;
        let seam = self.inner().seam();
        let batches =
            self.reordered(|inner| Arc::new(ShareOrder { inner, share })).batch(share.part as usize);
        Ok(batches.then(|upstream| DistributeStage { upstream, share, seam, changes: String::new() }))
    }
}

/// What becomes of a last step that is not full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Repeat,
    Drop,
    Mask,
}

impl Last {
    fn verb(self) -> &'static str {
        match self {
            Last::Repeat => "distribute",
            Last::Drop => "distribute_exact",
            Last::Mask => "distribute_masked",
        }
    }
}

/// Which rows are whose.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Rows of an epoch, of a global batch, and of a rank's part of it.
    len: u64,
    rows: u64,
    part: u64,
    rank: u64,
    world: u64,
    steps: u64,
    last: Last,
}

impl Share {
    fn new(len: u64, rank: u64, world: u64, rows: usize, last: Last) -> Result<Share> {
        let (verb, all) = (last.verb(), rows as u64);
        if rank >= world {
            let found = format!("rank {rank} of {world}");
            return Err(Error::argument(verb, "a rank below the number of ranks", found));
        }
        if all == 0 || !all.is_multiple_of(world) {
            let below = all / world * world;
            let (below, above) = (below.max(world), below.saturating_add(world));
            let sizes = if below == above { below.to_string() } else { format!("{below} or {above}") };
            let expected = format!("a global batch that {world} ranks share equally, such as {sizes} rows");
            return Err(Error::argument(verb, expected, format!("{rows} rows")));
        }
        let steps = if last == Last::Drop { len / all } else { len.div_ceil(all) };
        if steps.checked_mul(all).is_none() {
            return Err(Error::argument(verb, "steps of at most 2^64 rows together", "more"));
        }
        Ok(Share { len, rows: all, part: all / world, rank, world, steps, last })
    }

    /// The part of a rank in the rows of a last step that is not full, shared out evenly.
    fn remainder(&self) -> (u64, u64) {
        let left = u128::from(self.len % self.rows);
        let before = |rank: u64| (u128::from(rank) * left / u128::from(self.world)) as u64;
        (before(self.rank), before(self.rank + 1))
    }

    /// Real rows of the part in step `step`.
    fn filled(&self, step: u64) -> u64 {
        let (from, to) = self.remainder();
        if (step + 1).saturating_mul(self.rows) <= self.len { self.part } else { to - from }
    }

    /// The place in the epoch of the rank's row number `place`.
    fn place(&self, place: u64) -> u64 {
        let (start, i) = (place / self.part * self.rows, place % self.part);
        let whole = start + self.rank * self.part + i;
        if self.len - start >= self.rows {
            return whole;
        }
        let (from, to) = self.remainder();
        match self.last {
            Last::Mask if i < to - from => start + from + i,
            // Zeros will stand there; this row is near.
            Last::Mask => start,
            Last::Repeat | Last::Drop => whole % self.len,
        }
    }
}

/// The rows of one rank.
struct ShareOrder {
    inner: Arc<dyn Order>,
    share: Share,
}

impl Order for ShareOrder {
    fn len(&self) -> u64 {
        self.share.steps * self.share.part
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs().min(u64::MAX / self.len().max(1))
    }

    fn locality(&self) -> Option<u64> {
        self.inner.locality()
    }

    fn varies(&self) -> bool {
        self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let (share, len) = (self.share, self.len().max(1));
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                *position = *position / len * share.len + share.place(*position % len);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}

/// Stands above the batches of a rank, and marks their real rows.
struct DistributeStage {
    upstream: Upstream<Batch>,
    share: Share,
    /// Where the dataset has a seam inside its epochs.
    seam: Option<u64>,
    /// Column work that is done below, as the user wrote it.
    changes: String,
}

impl Stage for DistributeStage {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let Share { len, rows, part, rank, world, last, .. } = self.share;
        let (verb, changes) = (last.verb(), &self.changes);
        let mut outline = self
            .upstream
            .outline(run)?
            .called(format!("{verb}({rank}, {world}, {rows}){changes}"))
            // A step is the same for every rank of any number of them.
            .identified(&format!("{verb}({rows}){changes}"))
            .ranked(rank, world)
            .mixing(self.seam, rows);
        if last == Last::Drop {
            outline = outline.dropping(len, rows);
        }
        if let (Last::Mask, Some(spec), Some(bytes)) = (last, &outline.spec, outline.item_bytes) {
            let spec = masked(spec)?;
            outline = outline.columns(Some(spec)).sized(Some(bytes.saturating_add(part)));
        }
        Ok(outline)
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        let upstream = self.upstream.open(run)?;
        Ok(match self.share.last {
            Last::Mask => Box::new(DistributePull { upstream, share: self.share, step: 0, spec: None }),
            _ => upstream,
        })
    }

    fn label(&self) -> &'static str {
        self.share.last.verb()
    }

    fn project(&self, change: &Projection) -> Option<Upstream<Batch>> {
        if self.share.last == Last::Mask && matches!(change, Projection::Select(_)) {
            // The mask is not the source's to choose.
            return None;
        }
        let (upstream, changes) = (self.upstream.project(change)?, format!("{}.{change}", self.changes));
        Some(Stream::new(DistributeStage { upstream, changes, ..*self }).upstream())
    }
}

struct DistributePull {
    upstream: Running<Batch>,
    share: Share,
    step: u64,
    /// The columns with the mask, once a batch was seen.
    spec: Option<Arc<Spec>>,
}

impl Pull for DistributePull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        let step = self.step;
        self.step += 1;
        let Some(batch) = self.upstream.pull()? else { return Ok(None) };
        let spec = match &self.spec {
            Some(spec) => spec,
            None => self.spec.insert(masked(batch.spec())?),
        };
        let rows = batch.rows();
        let mut arrays = batch.into_arrays();
        arrays.push(Array::new(DType::Bool, vec![rows], Bytes::zeroed(rows)?));
        let mut batch = Batch::from_parts(spec.clone(), rows, arrays);
        batch.mask(self.share.filled(step) as usize)?;
        Ok(Some(batch))
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let passed = self.upstream.skip(n)?;
        self.step += passed;
        Ok(passed)
    }
}
