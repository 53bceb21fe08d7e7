//! `cache_file`: the batches of an epoch kept in a folder, so that the stages above run once, in this process or an
//! earlier one.
//!
//! What is kept is epoch 0, whichever epoch is asked for. A pass writes what it passes on to a folder of its own,
//! which gets the name when the pass is whole; the first one there wins. A pass that is left, or that meets an error,
//! removes its folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{Batch, Length, Pool, Spec};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Placement, Pull, Run, Running, Source, Stage, Upstream};
use crate::store::{Alike, Origin, Saved, Target, Writer, saved};
use crate::stream::Stream;

/// Batches that the link holds ready.
const LINK: usize = 2;

impl Stream<Batch> {
    /// Keeps the batches of the first whole pass in the folder `dir`; later passes, in any process, read them there
    /// and do not run the stages above.
    ///
    /// **Every epoch is epoch 0** of the stages above, as with [`cache`](Stream::cache), and what makes a pass whole
    /// is the same. The folder is what [`save`](Stream::save) writes, so that [`Dataset::load`](crate::Dataset::load)
    /// opens it for every order; one saved from epoch 0 will do here too.
    ///
    /// A folder made by another pipeline is refused, with the difference: another expression, other columns, or files
    /// whose length or time changed. What a closure does and what is in memory cannot be compared: name another
    /// folder when that changes. Writers do not wait for each other, readers for nobody: each writer fills a folder
    /// of its own beside `dir` and renames it; that of a killed writer is removed by the next.
    ///
    /// **Order:** kept · **Holds:** two batches · **Threads:** one
    ///
    /// # Errors
    /// [`Error::Format`] when something else is in `dir`; [`Error::Argument`] for a stream that never ends; while
    /// iterating, [`Error::Io`] for what cannot be written, and [`Error::Item`] for a batch whose columns differ from
    /// those of the first.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// # let parent = tempfile::tempdir().expect("a folder");
    /// # let dir = parent.path().join("squares");
    /// let squares = Dataset::range(100)?.rows().map(|row| row.value::<u64>("0").map_or(0, |n| n * n));
    /// let cached = squares.batch(10).cache_file(&dir);
    /// let (first, second) = (cached.epoch(0)?.count(), cached.epoch(1)?.count()); // written, then read
    /// assert_eq!((first, second), (10, 10));
    /// let shuffled = Dataset::load(&dir)?.shuffle(Shuffle::full(7)).batch(10);
    /// # assert_eq!(shuffled.iter()?.count(), 10);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn cache_file(self, dir: impl AsRef<Path>) -> Stream<Batch> {
        self.then(|upstream| CacheFileStage { upstream, dir: dir.as_ref().to_owned() })
    }
}

struct CacheFileStage {
    upstream: Upstream<Batch>,
    dir: PathBuf,
}

impl CacheFileStage {
    /// Refuses a folder that is not this pipeline's.
    fn check(&self, saved: &Saved, upstream: &Outline) -> Result<()> {
        saved.manifest.compare(&self.dir, &Origin::new(upstream, 0), upstream.spec.as_ref())?;
        let items = saved.manifest.items.iter().map(|run| run.items).sum();
        match upstream.counted().filter(|length| *length != items) {
            None => Ok(()),
            Some(length) => {
                let words = |n: u64| format!("{n} batches");
                Err(Error::spec(self.dir.display().to_string(), words(length), words(items)))
            }
        }
    }
}

impl Stage for CacheFileStage {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        Target::new("cache_file", &self.dir)?;
        let upstream = self.upstream.outline(&run.at_epoch(0))?;
        if upstream.length == Length::Infinite {
            return Err(Error::argument(
                "cache_file",
                "a stream that ends",
                "one that does not; add .take(n)",
            ));
        }
        Ok(upstream.step(format!("cache_file({:?})", self.dir)).kept("cache_file"))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        let run = run.at_epoch(0);
        let upstream = self.upstream.outline(&run)?;
        if let Some(saved) = saved(&self.dir)? {
            self.check(&saved, &upstream)?;
            return Ok(Box::new(ReadPull::new(saved)?));
        }
        let target = Target::new("cache_file", &self.dir)?;
        if !target.is_vacant()? {
            return Err(Error::Format {
                path: self.dir.clone(),
                expected: "a complete cache, an empty folder, or nothing".into(),
                found: "something else".into(),
                help: "remove it or name another".into(),
            });
        }
        let origin = Origin::new(&upstream, 0);
        Ok(Box::new(FillPull {
            left: upstream.counted(),
            fill: Fill::Waiting(target, origin, upstream.spec),
            upstream: self.upstream.open(&run)?,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        "cache_file"
    }

    fn placement(&self, _run: &Run) -> Result<Placement> {
        Ok(Placement::Thread(LINK))
    }
}

/// Passes batches on and writes them.
struct FillPull {
    upstream: Running<Batch>,
    fill: Fill,
    /// Batches to come, where that is known.
    left: Option<u64>,
    /// Why the last batch could not be written; it comes after that batch.
    broken: Option<Error>,
}

enum Fill {
    /// Nothing is made before the first pull.
    Waiting(Target, Origin, Option<Arc<Spec>>),
    Writing(Box<Writer>),
    /// Whole, or given up.
    Done,
}

impl FillPull {
    /// The writer, if this pass still has one; out of its place, so that a failure drops it.
    fn writer(&mut self) -> Result<Option<Box<Writer>>> {
        match std::mem::replace(&mut self.fill, Fill::Done) {
            Fill::Waiting(target, origin, spec) => Ok(Some(Box::new(Writer::fresh(&target, origin, spec)?))),
            Fill::Writing(writer) => Ok(Some(writer)),
            Fill::Done => Ok(None),
        }
    }

    fn keep(&mut self, batch: &Batch) -> Result<()> {
        let Some(mut writer) = self.writer()? else { return Ok(()) };
        writer.write("cache_file", batch)?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.fill = Fill::Writing(writer);
        if self.left == Some(0) { self.finish() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<()> {
        match self.writer()? {
            // False when another writer was first: what it wrote is the same.
            Some(writer) => writer.finish().map(drop),
            None => Ok(()),
        }
    }
}

impl Pull for FillPull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        match self.upstream.pull() {
            Ok(Some(batch)) => {
                match self.keep(&batch) {
                    Err(error) if error.is_fatal() => self.broken = Some(error),
                    kept => kept?,
                }
                Ok(Some(batch))
            }
            Ok(None) => self.finish().map(|()| None),
            Err(error) => {
                self.fill = Fill::Done;
                Err(error)
            }
        }
    }
}

/// Reads what a whole pass wrote, in the same batches.
struct ReadPull {
    saved: Saved,
    pools: Vec<Pool>,
    /// The place in the manifest's list of items, and how many of its items are passed.
    run: usize,
    passed: u64,
    row: u64,
    rows: Vec<u64>,
}

impl ReadPull {
    fn new(saved: Saved) -> Result<ReadPull> {
        let most = saved.manifest.items.iter().map(|run| run.rows).max().unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let columns = saved.source.spec().columns.iter();
        let pools = columns.map(|column| Pool::new(column.row_bytes().saturating_mul(most))).collect();
        Ok(ReadPull { saved, pools, run: 0, passed: 0, row: 0, rows: Vec::new() })
    }

    /// The next items that are alike, as many as there are left of them.
    fn next(&mut self) -> Option<Alike> {
        loop {
            let run = self.saved.manifest.items.get(self.run)?;
            if self.passed < run.items {
                return Some(Alike { items: run.items - self.passed, rows: run.rows });
            }
            (self.run, self.passed) = (self.run + 1, 0);
        }
    }

    /// Moves past `items` of the items that come next.
    fn pass(&mut self, items: u64, rows: u64) {
        self.passed += items;
        self.row += items * rows;
    }
}

impl Pull for ReadPull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        let Some(Alike { rows, .. }) = self.next() else { return Ok(None) };
        let refused = || Error::no_memory("the row numbers of one batch", rows.saturating_mul(8));
        let count = usize::try_from(rows).map_err(|_| refused())?;
        self.rows.clear();
        self.rows.try_reserve(count).map_err(|_| refused())?;
        self.rows.extend(self.row..self.row + rows);
        let mut batch = Batch::from_pools(self.saved.source.spec(), count, &self.pools)?;
        self.saved.source.gather(&self.rows, &mut batch.slots()?)?;
        self.saved.source.confirm()?;
        self.pass(1, rows);
        Ok(Some(batch))
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n {
            let Some(Alike { items, rows }) = self.next() else { break };
            let jump = items.min(n - passed);
            self.pass(jump, rows);
            passed += jump;
        }
        Ok(passed)
    }
}
