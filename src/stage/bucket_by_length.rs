//! `bucket_by_length`: batches of items of like length, so that little of a batch is padding.
//!
//! Each bucket fills a batch of its own; a full one comes out at once, what is left at the end in the order of the buckets.
//! An upstream error passes at once and the buckets fill on after it; if it ends the stream, their rows come first.

use std::fmt;
use std::sync::Arc;

use crate::data::{Batch, Collate, Length, Pad, Ragged};
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Collate> Stream<T> {
    /// Batches of items whose lengths, as `length` tells them, fall into one of `buckets`; padded to the longest of each
    /// batch.
    ///
    /// **Order:** kept within a bucket; batches come as they fill · **Holds:** one batch a bucket · **Threads:** none
    ///
    /// # Errors
    /// As [`padded_batch`](Stream::padded_batch).
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Buckets, Dataset};
    ///
    /// let rows = Dataset::from_generator(|_| [1usize, 4, 3, 5, 6, 2].map(|n| vec![n as u8; n]));
    /// let batches = rows.bucket_by_length(Buckets::new([3, 5], [2, 2, 2]), |row: &Vec<u8>| row.len());
    /// let shapes = batches.map(|batch| batch.arrays()[0].shape().to_vec());
    /// assert_eq!(shapes.iter()?.collect::<Result<Vec<_>, _>>()?, [[2, 4], [2, 6], [2, 2]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn bucket_by_length(
        self,
        buckets: Buckets,
        length: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Stream<Batch> {
        self.then(|upstream| BucketStage { upstream, buckets, length: Arc::new(length) })
    }
}

/// Ranges of length, and how many items of each make a batch: what [`bucket_by_length`](Stream::bucket_by_length) takes.
///
/// Boundaries `[a, b]` make three buckets: lengths below `a`, from `a` to `b - 1`, and from `b` on.
#[derive(Debug, Clone)]
pub struct Buckets {
    boundaries: Vec<usize>,
    rows: Vec<usize>,
    pad: Pad,
    exact: bool,
    to_boundary: Vec<String>,
}

impl Buckets {
    /// Buckets with these ascending boundaries, and as many rows to a batch of each; `rows` has one number more than `boundaries`.
    pub fn new(boundaries: impl Into<Vec<usize>>, rows: impl Into<Vec<usize>>) -> Buckets {
        let (boundaries, rows) = (boundaries.into(), rows.into());
        Buckets { boundaries, rows, pad: Pad::longest(), exact: false, to_boundary: Vec::new() }
    }

    /// Pads as `pad` says.
    pub fn pad(self, pad: Pad) -> Buckets {
        Buckets { pad, ..self }
    }

    /// Leaves out the items of each bucket that do not fill a batch at the end of an epoch.
    pub fn exact(self) -> Buckets {
        Buckets { exact: true, ..self }
    }

    /// Pads the first axis of column `column` to the greatest length of its bucket, one less than its upper boundary, so that
    /// there are no more shapes than buckets. An item of the last bucket, which has no boundary, is an error then.
    pub fn to_boundary(mut self, column: impl Into<String>) -> Buckets {
        self.to_boundary.push(column.into());
        self
    }

    fn check(&self) -> Result<()> {
        let refused =
            |expected: &str, found: String| Err(Error::argument("bucket_by_length", expected, found));
        let (boundaries, rows) = (&self.boundaries, &self.rows);
        if rows.len() != boundaries.len() + 1 {
            let found = format!("{} for {} boundaries", rows.len(), boundaries.len());
            return refused("one batch size more than boundaries", found);
        }
        if !boundaries.is_sorted_by(|a, b| a < b) || boundaries.first() == Some(&0) {
            return refused("ascending boundaries above 0", format!("{boundaries:?}"));
        }
        if rows.contains(&0) {
            return refused("batches of at least one row", format!("{rows:?}"));
        }
        Ok(())
    }

    fn open(&self) -> Vec<Bucket> {
        let bucket = |(at, rows): (usize, &usize)| {
            let columns = self.to_boundary.iter();
            let pad = match self.boundaries.get(at) {
                Some(end) => columns.fold(self.pad.clone(), |pad, column| pad.axis(column, 0, end - 1)),
                None => self.pad.clone(),
            };
            Bucket { rows: *rows, pad, filling: Ragged::default(), checked: false }
        };
        self.rows.iter().enumerate().map(bucket).collect()
    }
}

impl fmt::Display for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "new({:?}, {:?})", self.boundaries, self.rows)?;
        if self.pad != Pad::longest() {
            write!(f, ".pad({})", self.pad)?;
        }
        self.to_boundary.iter().try_for_each(|column| write!(f, ".to_boundary({column:?})"))?;
        if self.exact { f.write_str(".exact()") } else { Ok(()) }
    }
}

struct BucketStage<T, F> {
    upstream: Upstream<T>,
    buckets: Buckets,
    length: Arc<F>,
}

impl<T, F> Stage for BucketStage<T, F>
where
    T: Collate,
    F: Fn(&T) -> usize + Send + Sync + 'static,
{
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        self.buckets.check()?;
        let upstream = self.upstream.outline(run)?;
        let length = match upstream.length {
            Length::Exact(1..) => Length::Unknown,
            other => other,
        };
        let most = self.buckets.rows.iter().fold(0u64, |most, rows| most.max(*rows as u64));
        let bytes = upstream.item_bytes.map(|item| item.saturating_mul(most));
        let call = format!("bucket_by_length({}, ..)", self.buckets);
        let holds = self.buckets.rows.len() as u64 + 1;
        Ok(upstream.step(call).length(length).columns(None).sized(bytes).holds(holds))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        Ok(Box::new(BucketPull {
            upstream: Some(self.upstream.open(run)?),
            buckets: self.buckets.open(),
            boundaries: self.buckets.boundaries.clone(),
            bounded: !self.buckets.to_boundary.is_empty(),
            exact: self.buckets.exact,
            length: self.length.clone(),
            position: 0,
            left: 0,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        "bucket_by_length"
    }
}

struct Bucket {
    rows: usize,
    pad: Pad,
    filling: Ragged,
    /// Whether the padding was compared with the columns.
    checked: bool,
}

impl Bucket {
    fn push<T: Collate>(&mut self, item: &T, position: u64) -> Result<()> {
        self.filling.push(("bucket_by_length", position), item, |cell| self.pad.check(cell))?;
        if !self.checked {
            self.pad.fits("bucket_by_length", self.filling.columns())?;
            self.checked = true;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Batch> {
        let batch = self.filling.padded(&self.pad);
        self.filling.clear();
        batch
    }
}

struct BucketPull<T, F> {
    upstream: Option<Running<T>>,
    buckets: Vec<Bucket>,
    boundaries: Vec<usize>,
    /// Whether the last bucket takes no items.
    bounded: bool,
    exact: bool,
    length: Arc<F>,
    position: u64,
    /// The bucket to come out next, once the upstream has ended.
    left: usize,
    broken: Option<Error>,
}

impl<T: Collate, F: Fn(&T) -> usize> BucketPull<T, F> {
    /// Puts the next item into its bucket, and says which; `None` at the end.
    fn fill(&mut self) -> Result<Option<usize>> {
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        let position = self.position;
        self.position += 1;
        let Some(item) = upstream.pull()? else { return Ok(None) };
        let length = caught("bucket_by_length", position, || Ok((self.length)(&item)))?;
        let at = self.boundaries.partition_point(|boundary| *boundary <= length);
        if let (true, Some(end)) = (self.bounded && at == self.boundaries.len(), self.boundaries.last()) {
            let expected = format!("a length below the last boundary, {end}");
            return Err(Error::spec("item", expected, length).at("bucket_by_length", position));
        }
        self.buckets[at].push(&item, position)?;
        Ok(Some(at))
    }
}

impl<T: Collate, F: Fn(&T) -> usize + Send + Sync> Pull for BucketPull<T, F> {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        while self.upstream.is_some() {
            match self.fill() {
                Ok(Some(at)) if self.buckets[at].filling.rows() == self.buckets[at].rows => {
                    return self.buckets[at].take().map(Some);
                }
                Ok(Some(_)) => {}
                Ok(None) => self.upstream = None,
                Err(error) if error.is_fatal() => {
                    self.upstream = None;
                    self.broken = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        while let Some(bucket) = self.buckets.get_mut(self.left) {
            self.left += 1;
            // Rows for which the padding is wrong cannot come out.
            if bucket.filling.rows() > 0 && bucket.checked && !self.exact {
                return bucket.take().map(Some);
            }
        }
        self.broken.take().map_or(Ok(None), Err)
    }
}
